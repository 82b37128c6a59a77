"""The plan that takes another one back: pods return from where they went to where they stood.

Last moves first, each under the rules that hold for every move.  What cannot go back stays where it is, and the plan
says so in ``kept``: the node that waits in vain, and for each of its pods the reason.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from scheduler.cluster.mobility import immovable
from scheduler.cluster.reasons import IMMOVABLE
from scheduler.cluster.room import Block
from scheduler.cluster.snapshot import MOVE_MODES, UNKNOWN, Bytes, Snapshot
from scheduler.plan.operations import Migrate
from scheduler.plan.plan import ROLLBACK, Blocker, Counts, Kept, Plan
from scheduler.plan.resolve import Rows, resolve
from scheduler.plan.statement import Statement, no_bound, settled, statement

PLANNER = "inverse/1"
# Why a pod does not go back, beside the reasons for which pods do not move and nodes are no targets.
GONE = "gone"  # it has ended, or its name has
MOVED_ON = "moved_on"  # it no longer stands where the plan took it
BACK = "back"  # it stands where it stood already
NODE_GONE = "node_gone"  # the node that it came from is no longer there
REFILLED = "refilled"  # the node was emptied, and others have taken its room since
REASONS = (GONE, MOVED_ON, BACK, NODE_GONE, REFILLED)
_ROOM = frozenset({"max_pods", "gpus", "gpu_share", "mig", "resource", "cpu", "memory", "host_port"})


@dataclass(frozen=True, slots=True)
class _Case:
    plan: Plan
    rows: Rows
    codes: Bytes  # [p]
    trial: Statement

    @property
    def snapshot(self) -> Snapshot:
        return self.rows.snapshot


def inverse(plan: Plan, done: Collection[int], snapshot: Snapshot) -> Plan:
    """Of the moves ``done`` (by index) those that can be taken back on ``snapshot``, as a plan of its own.

    Forward and back again is where one began, if nothing else has happened.  The plan may have no moves.  Raises
    ``InputError`` if the snapshot has not the plan's cluster.
    """
    rows = resolve(plan, snapshot)
    case = _Case(plan, rows, immovable(rows.snapshot), statement(rows.snapshot))
    waiting = sorted(done, key=lambda i: (-plan.wave_of[i], -i))
    left = {i: word for i in waiting if (word := _held(case, i)) is not None}
    order, blocked = _walk(case, [i for i in waiting if i not in left])
    chain = {old: new for new, old in enumerate(dict.fromkeys(plan.moves[i].chain for i in order))}
    rough = Plan(
        kind=ROLLBACK,
        cluster=plan.cluster,
        snapshot_digest=rows.snapshot.digest,
        planner=PLANNER,
        params={"undoes": plan.digest()},
        seed=plan.seed,
        moves=tuple(_back(case, i, chain[plan.moves[i].chain]) for i in order),
        wave_of=(0,) * len(order),
        emptied_nodes=(),
        before=_NONE,
        after=_NONE,
        kept=_kept(plan, waiting, {**{i: Block(word) for i, word in left.items()}, **blocked}),
        bound=no_bound(0),
        notes=_notes(len(waiting), len(order)),
    )
    result = settled(rough, rows.snapshot)
    return msgspec.structs.replace(result, bound=no_bound(result.net_emptied))


_NONE = Counts(slack_nodes=0, empty_nodes=0, full_nodes=0)


def _notes(done: int, back: int) -> tuple[str, ...]:
    return () if done == back else (f"{done - back} of {done} moves cannot be taken back",)


def _held(case: _Case, i: int) -> str | None:
    """Why this pod goes nowhere, whatever room there is."""
    snapshot, pod = case.snapshot, case.rows.pod[i]
    if pod == UNKNOWN or not snapshot.pod_live[pod]:
        return GONE
    where = int(snapshot.pod_node[pod])
    if case.rows.source[i] == UNKNOWN:
        return NODE_GONE
    if where == case.rows.source[i]:
        return BACK
    if where != case.rows.target[i]:
        return MOVED_ON
    return IMMOVABLE[case.codes[pod]] or None


def _walk(case: _Case, waiting: Sequence[int]) -> tuple[list[int], dict[int, Block]]:
    """An order in which the moves are legal one by one, and what is in the way of the others at its end.

    Again and again, since a pod that goes back may make the room for which another one waits.
    """
    order: list[int] = []
    pending = list(waiting)
    while True:
        stuck: dict[int, Block] = {}
        for i in pending:
            block = case.trial.move(case.rows.pod[i], case.rows.source[i])
            if block is None:
                order.append(i)
            else:
                stuck[i] = block
        if len(stuck) in (0, len(pending)):
            return order, {i: _told(case, i, block) for i, block in stuck.items()}
        pending = list(stuck)


def _told(case: _Case, i: int, block: Block) -> Block:
    """Of a node that the plan had emptied: others have taken its room, and not merely that it has none."""
    source = case.rows.source[i]
    if block.reason not in _ROOM or case.plan.moves[i].source not in case.plan.emptied_nodes:
        return block
    own = set(case.rows.pod)
    others = [p for p in case.trial.pods_on(source) if p not in own and not case.snapshot.pod_agent[p]]
    return Block(REFILLED, block.missing, block.unit) if others else block


def _back(case: _Case, i: int, chain: int) -> Migrate:
    move, pod = case.plan.moves[i], case.rows.pod[i]
    return msgspec.structs.replace(
        move,
        uid=case.snapshot.pod_uid[pod],  # a copy is another object of the same name
        source=move.target,
        target=move.source,
        mode="restart" if MOVE_MODES[case.snapshot.pod_move[pod]] == "restart" else "copy",
        chain=chain,
        after=(),
        after_checkpoint=msgspec.UNSET,
    )


def _kept(plan: Plan, waiting: Iterable[int], left: dict[int, Block]) -> tuple[Kept, ...]:
    """By the node to which pods do not return."""
    found: dict[str, list[Blocker]] = defaultdict(list)
    for i in waiting:
        if i in left:
            block = left[i]
            row = Blocker(pod=plan.moves[i].pod, constraint=block.reason, missing=block.missing, unit=block.unit)
            found[plan.moves[i].source].append(row)
    return tuple(
        Kept(node=node, reason=rows[0].constraint, blockers=tuple(rows), targets={})
        for node, rows in sorted(found.items())
    )
