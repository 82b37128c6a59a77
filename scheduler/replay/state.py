"""The loop's state: made from a world, its work and a policy; packed at any instant and taken up again."""

import io
from collections.abc import Sequence

import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import Longs
from scheduler.performance.exit_times import HANGING, SHAPES
from scheduler.replay import columns as c
from scheduler.replay.accounts import Quotas, quota_rows
from scheduler.replay.columns import State
from scheduler.replay.events import RESUME_SIGMA
from scheduler.replay.preempting import MOST
from scheduler.replay.rules import ORDERS, PREEMPTS, Rules, Ways
from scheduler.replay.turning import MARGIN, open_up
from scheduler.replay.world import Work, World, mix_of, never_fits

MOST_KINDS = 2000  # of requests whose scores are kept
LANE_KEYS = (
    *(c.J_TIER, c.J_TENANT, c.J_POOLS, c.J_WORKERS, c.J_GPUS, c.J_MILLI),
    *(c.J_CPU, c.J_MEMORY, c.J_TOPOLOGY),
)  # in the order of the lane columns L_TIER to L_TOPOLOGY


def new_state(
    world: World,
    work: Work,
    rules: Rules,
    ways: Ways,
    *,
    seed: int,
    quota: Quotas | None = None,
    weights: Longs | None = None,
) -> State:
    """The empty cluster before the first arrival.  ``quota`` from ``quota_rows``; ``weights`` [tenant] thousandths."""
    lanes, lane_of = lane_table(world, work)
    job = _jobs(work, lanes, lane_of)
    quota = quota or quota_rows((), work.tenants or ("",), world.pools)
    tenants = max(1, len(work.tenants))
    widest = max(1, int(world.gpus.max(initial=1)))
    longest = max(MOST, len(lanes), len(world.asws), int(job[:, c.J_WORKERS].max(initial=1)), widest)
    state = State(
        node=_nodes(world),
        left=np.where(np.arange(widest) < world.gpus[:, None], WHOLE_GPU_MILLI, 0).astype(np.int64),
        lent=np.zeros((len(world.names), widest), np.int64),
        task=_tasks(job),
        job=job,
        lane=lanes,
        active=np.zeros(len(lanes) + 1, np.int64),
        pool=_pools(world, quota.models),
        quota=quota.table.copy(),
        account=quota.account.copy(),
        window=np.ascontiguousarray(work.windows[:, 1:]),
        called=np.zeros(c.SLOWEST + 1, np.int64),
        weight=np.full(tenants, WHOLE_GPU_MILLI, np.int64) if weights is None else weights.astype(np.int64),
        heap=np.zeros((2 * MARGIN + 2 * len(world.names), 3), np.int64),
        clock=np.zeros(c.CLOCK_COLUMNS, np.int64),
        setting=_settings(rules, ways, seed, tenants, quota.bind),
        weights=_weights(rules),
        mix=mix_of(work),
        kept=np.zeros((int(lanes[:, c.L_KIND].max(initial=-1)) + 1, len(world.names)), np.int64),
        scratch=np.zeros((c.SCRATCH, longest + 1), np.int64),
    )
    open_up(state)
    return state


def lane_table(world: World, work: Work) -> tuple[Longs, Longs]:
    """(lanes, [j] lane)."""
    keys, at = np.unique(work.asked[:, LANE_KEYS], axis=0, return_inverse=True)
    lanes = np.zeros((len(keys), c.LANE_COLUMNS), np.int64)
    lanes[:, : len(LANE_KEYS)] = keys
    lanes[:, [c.L_HEAD, c.L_PLACE, c.L_TAIL]] = c.NONE
    kinds = np.unique(lanes[:, [c.L_GPUS, c.L_MILLI, c.L_CPU]], axis=0, return_inverse=True)[1].reshape(-1)
    lanes[:, c.L_KIND] = np.where(kinds < MOST_KINDS, kinds, c.NONE)
    return lanes, at.reshape(-1)


def _jobs(work: Work, lanes: Longs, lane_of: Longs) -> Longs:
    job = np.zeros((len(work), c.JOB_COLUMNS), np.int64)
    job[:, c.ASKED] = work.asked
    job[:, c.J_LANE] = lane_of
    job[:, c.J_TASK] = np.cumsum(job[:, c.J_WORKERS]) - job[:, c.J_WORKERS]
    job[:, [c.J_FIRST, c.J_END, c.J_CLAIMANT, c.J_NEXT, c.J_POOL, c.J_RECALLED, c.J_SERVED]] = c.NONE
    owner = work.windows[:, 0]
    job[:, c.J_WINDOW], job[:, c.J_WINDOWS] = (
        np.searchsorted(owner, np.arange(len(job))), np.bincount(owner, minlength=len(job))
    )  # fmt: skip
    return job


def refuse(state: State, world: World) -> None:
    """Mark jobs that would not start on the empty cluster, or ask for MIG slices: they wait for nothing."""
    hopeless = never_fits(world, state.lane)
    state.job[hopeless[state.job[:, c.J_LANE]] | (state.job[:, c.J_SLICED] == 1), c.J_STATUS] = c.NEVER


def _tasks(job: Longs) -> Longs:
    task = np.full((int(job[:, c.J_WORKERS].sum()), c.TASK_COLUMNS), c.NONE, np.int64)
    task[:, c.T_JOB] = np.repeat(np.arange(len(job)), job[:, c.J_WORKERS])
    task[:, [c.T_DEVICES, c.T_BORROWS, c.T_MOVING_DEVICES]] = 0
    return task


def _nodes(world: World) -> Longs:
    node = np.zeros((len(world.names), c.NODE_COLUMNS), np.int64)
    node[:, c.N_POOL], node[:, c.N_GPUS], node[:, c.N_ASW] = world.pool, world.gpus, world.asw
    node[:, c.N_CPU], node[:, c.N_MEMORY] = world.cpu_milli, world.memory_mib
    node[:, c.N_WHOLE], node[:, c.N_FREE] = world.gpus, world.gpus * WHOLE_GPU_MILLI
    node[:, c.N_UP] = 1
    node[:, [c.N_FIRST, c.N_HELD]] = c.NONE
    return node


def _pools(world: World, models: Sequence[str]) -> Longs:
    pool = np.zeros((len(world.pools), c.POOL_COLUMNS), np.int64)
    rows = np.arange(len(world.pools))
    pool[:, c.P_LOW] = np.searchsorted(world.pool, rows, side="left")
    pool[:, c.P_HIGH] = np.searchsorted(world.pool, rows, side="right")
    pool[:, c.P_HOLDER] = c.NONE
    pool[:, c.P_CAP] = c.NO_LIMIT
    np.maximum.at(pool[:, c.P_WIDE], world.pool, world.gpus)
    pool[:, c.P_MODEL] = [models.index(model) for _, model in world.pools]
    return pool


def _settings(rules: Rules, ways: Ways, seed: int, tenants: int, bind: bool) -> Longs:
    setting = np.zeros(c.SETTING_COLUMNS, np.int64)
    setting[c.S_ORDER], setting[c.S_PREEMPT] = ORDERS[rules.order], PREEMPTS[rules.preempt]
    setting[c.S_GUARANTEE], setting[c.S_BACKFILL_GPUS] = rules.guarantee_s, rules.backfill_gpus
    setting[c.S_LEND], setting[c.S_SEED], setting[c.S_TENANTS] = rules.lend, seed, tenants
    setting[c.S_FAIL_MEAN], setting[c.S_REPAIR_MEAN] = ways.fail_mean_s, ways.repair_mean_s
    setting[c.S_OVERHEAD_SMALL], setting[c.S_OVERHEAD_LARGE] = ways.restart_s, ways.restart_large_s
    setting[c.S_QUOTA], setting[c.S_RECLAIM], setting[c.S_BORROWED] = bind, rules.reclaim, rules.borrowed_s
    median_s, sigma = SHAPES[ways.exits] if ways.exits in SHAPES else SHAPES["paper"]
    setting[c.S_EXIT_MEDIAN], setting[c.S_EXIT_SIGMA] = round(1000 * median_s), round(1000 * sigma)
    setting[c.S_EXIT_HANGS] = round(1000 * HANGING) if ways.exits == "hangs" else 0
    setting[c.S_RESUME], setting[c.S_RESUME_SIGMA] = round(1000 * ways.resume_s), round(1000 * RESUME_SIGMA)
    setting[c.S_AHEAD], setting[c.S_BORROW_FIRST], setting[c.S_WINDOWS] = (
        rules.ahead_s, rules.borrow_first, rules.heed_windows
    )  # fmt: skip
    setting[c.S_SHORT_FIRST], setting[c.S_RESERVE] = rules.short_first, rules.reserve_ahead_s
    setting[c.S_KEEP_WHOLE], setting[c.S_ENTROPY] = rules.placement.keep_whole, rules.placement.entropy > 0
    return setting


def _weights(rules: Rules) -> c.Doubles:
    weights, placement = np.zeros(c.TERMS), rules.placement
    weights[c.W_PACKING], weights[c.W_SAME_CLASS] = placement.packing, placement.same_class
    weights[c.W_EVICTIONS], weights[c.W_GRADIENT] = placement.eviction_history, placement.fragmentation
    weights[c.W_TOGETHER] = rules.end_together
    return weights


def grown(state: State) -> State:
    """The same state with room for twice as many events."""
    return state._replace(heap=np.concatenate([state.heap, np.zeros_like(state.heap)]))


def pack(state: State) -> bytes:
    """All of the state; ``unpack`` takes it up again."""
    blob = io.BytesIO()
    np.savez_compressed(blob, **state._asdict())
    return blob.getvalue()


def unpack(blob: bytes) -> State:
    with np.load(io.BytesIO(blob), allow_pickle=False) as arrays:
        return State(**{name: arrays[name] for name in State._fields})
