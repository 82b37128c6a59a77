"""What it costs to stop LP pods, term by term, for all of them at once.

The OSDI '26 study counts C = G (now - last checkpoint).  Beside that: the time in which a job that was told to leave
holds its GPUs and works for nobody, a checkpoint that is written on notice, starting again, reading the checkpoint
back, caches that are cold, and what is owed for a run time that was guaranteed.

A job that writes a checkpoint on notice loses its work only where its hook is killed.  A job that reports none is
assumed to lose no more than the others do in the mean, nor than the most frequent writer among them: so silence never
protects, whatever it hides.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache

import numpy as np

from scheduler.cluster.hardware import accelerator
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Bools, Longs, Snapshot
from scheduler.performance.exit_times import GRACE_S, ExitLaw
from scheduler.performance.interruption import MIB_PER_GB, ONLINE, Rates, RatesOf
from scheduler.performance.leaving import Floats, Leaving, fitted, later_by, law_of

ON_NOTICE = "slackline.io/checkpoint-on-notice"  # label: "true"
HOOK_S = "slackline.io/exit-hook-s"  # label: seconds that the owner says its hook takes
GPU_SECOND = 1000  # costs are counted in thousandths


@dataclass(frozen=True, slots=True)
class Habit:
    """What the exits of one workload were: seconds from notice to gone of each, and how many of them were killed."""

    seconds: tuple[float, ...]
    killed: int = 0

    def law(self, prior: Leaving, grace_s: int) -> Leaving:
        """The killed ones are the longest."""
        longest = sorted(self.seconds)
        kept = len(longest) - self.killed
        return fitted([(s, at >= kept) for at, s in enumerate(longest)], prior, grace_s=grace_s)


def plain_rates(_model: str, _tenant: str) -> Rates:
    return Rates()


@dataclass(frozen=True, slots=True, kw_only=True)
class StopCosts:
    """What is stated of stopping.  ``rates_of``: by GPU model of the node and tenant, as for moves."""

    rates_of: RatesOf = plain_rates
    write_mib_per_s: float = 2_000  # into the store, from each GPU
    law: ExitLaw = "paper"  # of hooks of which nobody has seen anything
    usual: Leaving | None = None  # in place of that law: fitted to what was seen of everybody, cut at the grace time
    grace_s: int = GRACE_S
    habits: Mapping[str, Habit] = field(default_factory=dict)  # by ``workload_key``: what has been seen of exits


RateField = Callable[[Rates], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Of one pod, or of many together, in GPU-seconds.  ``saved``: its work since the last checkpoint is, as a rule."""

    lost: float = 0.0  # work since the last checkpoint; of a job that writes on notice where its hook is killed
    write: float = 0.0  # of the checkpoint on notice
    leave: float = 0.0  # from notice to gone beside that
    start: float = 0.0
    restore: float = 0.0  # the checkpoint read back
    rebuild: float = 0.0  # cold caches
    credit: float = 0.0  # of the run time that was guaranteed and is not given

    @property
    def total(self) -> float:
        return float(sum(getattr(self, one.name) for one in fields(self)))

    def __add__(self, other: "Terms") -> "Terms":
        return Terms(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})


TERMS = tuple(one.name for one in fields(Terms))


@dataclass(frozen=True, slots=True, eq=False)
class Stops:
    """Axis p: pods; 0 for pods that are not LP or not live.  Costs in thousandths of GPU-seconds."""

    age_s: Longs  # work that is lost, in seconds: since the last checkpoint, or the writing of one on notice
    assumed: Bools  # its age is: it reports no checkpoint
    on_notice: Bools  # it writes one when it is told to leave
    killed: Floats  # probability that its hook is
    write_s: Longs  # seconds in which it writes, 0 for those who do not
    state_mib: Floats  # what it writes and reads back
    parts: dict[str, Longs]  # by name of ``TERMS``
    total: Longs  # their sum
    assumed_age_s: int  # what silent jobs are taken to lose

    def terms(self, pod: int) -> Terms:
        return Terms(**{name: int(part[pod]) / GPU_SECOND for name, part in self.parts.items()})


@dataclass(slots=True, eq=False)
class _Laws:
    """Means and kills by what the hook is known for; seconds."""

    costs: StopCosts

    def of(self, key: str, write_s: int) -> Leaving:
        """What was seen of a workload includes its writing; nothing has been seen of the others."""
        habit = self.costs.habits.get(key)
        usual = self.costs.usual
        shifted = (
            _shifted(self.costs.law, self.costs.grace_s, write_s)
            if usual is None
            else later_by(usual, write_s, self.costs.grace_s)
        )
        return shifted if habit is None or not habit.seconds else habit.law(shifted, self.costs.grace_s)


@lru_cache(maxsize=256)
def _shifted(law: ExitLaw, grace_s: int, write_s: int) -> Leaving:
    return later_by(law_of(law, grace_s), write_s, grace_s)


def workload_key(snapshot: Snapshot, pod: int) -> str:
    """Under what the exits of a pod are remembered: its workload, else its gang, else itself; in its namespace."""
    space, gang = snapshot.namespaces[snapshot.pod_namespace[pod]], int(snapshot.pod_gang[pod])
    name = snapshot.pod_specs[snapshot.pod_spec[pod]].workload
    return f"{space}/{name or (snapshot.gangs[gang].name if gang != UNKNOWN else snapshot.pod_name[pod])}"


def stops_of(
    snapshot: Snapshot,
    now_s: int,
    assumed_age_s: int,
    costs: StopCosts | None = None,
) -> Stops:
    """``assumed_age_s``: the most that a silent job is taken to lose; see ``_ages`` for when it is less."""
    costs = costs or StopCosts()
    rows = np.flatnonzero(snapshot.pod_live & snapshot.pod_lp)
    gpus = snapshot.pod_gpus.astype(np.int64) * snapshot.pod_gpu_milli
    age, assumed, limit = _ages(snapshot, rows, gpus, now_s, assumed_age_s)
    state, _ = states_mib(snapshot, rows)
    rates = _Rated(snapshot, rows, costs)
    restored = state * rates.column(lambda r: r.state_percent) / 100
    writes = _writes(snapshot, rows, costs)
    lanes = np.maximum(snapshot.pod_gpus[rows], 1) * costs.write_mib_per_s
    write_s = np.where(writes, np.ceil(restored / lanes), 0).astype(np.int64)
    leave_s, killed = _leaving(snapshot, rows, write_s, _Laws(costs))
    on_time = writes & (write_s < costs.grace_s) & (write_s * (1 - killed) + age[rows] * killed < age[rows])
    unsaved = np.where(on_time, killed, 1.0)
    seconds = {
        "lost": age[rows] * unsaved,
        "write": np.where(on_time, np.minimum(write_s, leave_s), 0),
        "start": rates.column(lambda r: r.start_s + r.image_mib / r.network_mib_per_s),
        "restore": restored / rates.column(lambda r: r.store_mib_per_s),
        "rebuild": np.where(snapshot.pod_work_class[rows] == ONLINE, rates.column(lambda r: r.rebuild_s), 0),
        "credit": np.maximum(guaranteed_left_s(snapshot, rows, now_s), 0),
    }
    seconds["leave"] = leave_s - seconds["write"]
    parts = {name: _whole(len(gpus), rows, gpus[rows] * seconds[name]) for name in TERMS}
    lasts = np.where(on_time, np.rint(write_s * (1 - killed) + age[rows] * killed), age[rows]).astype(np.int64)
    return Stops(
        age_s=_whole(len(gpus), rows, lasts) + np.where(snapshot.pod_live & ~snapshot.pod_lp, age, 0),
        assumed=assumed,
        on_notice=_whole(len(gpus), rows, on_time).astype(np.bool_),
        killed=_floats(len(gpus), rows, killed),
        write_s=_whole(len(gpus), rows, np.where(on_time, write_s, 0)),
        state_mib=_floats(len(gpus), rows, restored),
        parts=parts,
        total=np.sum(list(parts.values()), axis=0),
        assumed_age_s=limit,
    )


def law_for(snapshot: Snapshot, stops: Stops, pod: int, costs: StopCosts) -> Leaving:
    """How long this pod takes to leave, by what was seen of its workload and what it writes."""
    return _Laws(costs).of(workload_key(snapshot, pod), int(stops.write_s[pod]))


def guaranteed_left_s(snapshot: Snapshot, rows: Longs, now_s: int) -> Longs:
    """[rows] Seconds of a guaranteed run time that are to come; all of it where nobody knows the start."""
    promised, started = snapshot.pod_min_runtime_s[rows], snapshot.pod_started_s[rows]
    left = np.where(started == ABSENT, promised, started + promised - now_s)
    return np.where((promised != ABSENT) & (promised > 0), left, 0)


def states_mib(snapshot: Snapshot, rows: Longs) -> tuple[Floats, Bools]:
    """[rows] Device memory that each pod holds, and whether that is known: as asked, else its share of its devices."""
    node, gpus = snapshot.pod_node[rows], snapshot.pod_gpus[rows].astype(np.float64)
    asked = snapshot.pod_gpu_memory_mib[rows]
    by_model = np.array([_catalogued(model) for model in (*snapshot.models, "")], np.float64)
    told = snapshot.node_gpu_memory_mib[node]
    each = np.where(told != ABSENT, told, by_model[snapshot.node_model[node]])
    share = snapshot.pod_gpu_milli[rows] / WHOLE_GPU_MILLI
    found = np.where(asked > 0, gpus * asked, gpus * each * share)
    known = (gpus == 0) | ~np.isnan(found)
    return np.where(known & (gpus > 0), found, 0.0), known


def _catalogued(model: str) -> float:
    known = accelerator(model) if model else None
    return float("nan") if known is None or known.memory_gb is None else known.memory_gb * MIB_PER_GB


def _ages(snapshot: Snapshot, rows: Longs, gpus: Longs, now_s: int, assumed_age_s: int) -> tuple[Longs, Bools, int]:
    """[p] Seconds since the last checkpoint, at most since the start; who is silent; and what silence is taken for."""
    silent = snapshot.pod_checkpoint_s == ABSENT
    started = snapshot.pod_started_s
    running = np.where(started == ABSENT, np.iinfo(np.int64).max, now_s - started)
    told = np.maximum(np.minimum(np.where(silent, 0, now_s - snapshot.pod_checkpoint_s), running), 0)
    honest = rows[~silent[rows] & (gpus[rows] > 0)]
    weight, limit = int(gpus[honest].sum()), assumed_age_s
    if weight:
        limit = min(limit, int((told[honest].astype(np.float64) * gpus[honest]).sum() / weight))
    every = snapshot.pod_checkpoint_interval_s[honest]
    if (every > 0).any():  # whoever writes often and says nothing of it is no better off than by saying so
        limit = min(limit, int(every[every > 0].min()) // 2)
    return np.where(silent, np.maximum(np.minimum(limit, running), 0), told), silent, limit


def _writes(snapshot: Snapshot, rows: Longs, costs: StopCosts) -> Bools:
    """[rows] It offers a checkpoint on notice, and its hook does not need longer than there is."""
    offered = np.array([_offers(dict(spec.labels), costs.grace_s) for spec in snapshot.pod_specs] or [False], np.bool_)
    return np.asarray(offered[snapshot.pod_spec[rows]])


def _offers(labels: Mapping[str, str], grace_s: int) -> bool:
    if labels.get(ON_NOTICE) != "true":
        return False
    told = labels.get(HOOK_S, "")
    return not told.isdigit() or int(told) <= grace_s


def _leaving(snapshot: Snapshot, rows: Longs, write_s: Longs, laws: _Laws) -> tuple[Floats, Floats]:
    """[rows] Mean seconds from notice to gone, and the probability of a kill; by law of those that write as long."""
    mean, killed = np.zeros(len(rows)), np.zeros(len(rows))
    for seconds in np.unique(write_s).tolist():
        law, mine = laws.of("", seconds), write_s == seconds
        mean[mine], killed[mine] = law.mean_s, law.killed
    for at, key in _known(snapshot, rows, laws.costs.habits):
        law = laws.of(key, int(write_s[at]))
        mean[at], killed[at] = law.mean_s, law.killed
    return mean, killed


def _known(snapshot: Snapshot, rows: Longs, habits: Mapping[str, Habit]) -> Iterator[tuple[int, str]]:
    """Positions in ``rows`` of pods of which somebody has seen exits, and under what key."""
    names = {key.split("/", 1)[-1] for key in habits}
    may = np.array(
        [spec.workload is None or spec.workload in names for spec in snapshot.pod_specs] or [False], np.bool_
    )
    for at in np.flatnonzero(may[snapshot.pod_spec[rows]]).tolist() if habits else ():
        key = workload_key(snapshot, int(rows[at]))
        if key in habits:
            yield at, key


class _Rated:
    """Rates of pools and tenants as columns."""

    def __init__(self, snapshot: Snapshot, rows: Longs, costs: StopCosts) -> None:
        models, tenants = (*snapshot.models, ""), (*snapshot.tenants, "")
        pair = (snapshot.node_model[snapshot.pod_node[rows]] % len(models)) * len(tenants)
        pair = pair + snapshot.pod_tenant[rows] % len(tenants)
        self._kinds, self._of = np.unique(pair, return_inverse=True)
        self._rates = [
            costs.rates_of(models[k // len(tenants)], tenants[k % len(tenants)]) for k in self._kinds.tolist()
        ]

    def column(self, field_of: RateField) -> Floats:
        """[rows]"""
        if not self._rates:
            return np.zeros(0)
        return np.array([float(field_of(one)) for one in self._rates])[self._of]


def _whole(count: int, rows: Longs, values: Floats | Longs | Bools) -> Longs:
    found = np.zeros(count, np.int64)
    found[rows] = np.rint(values).astype(np.int64)
    return found


def _floats(count: int, rows: Longs, values: Floats) -> Floats:
    found = np.zeros(count)
    found[rows] = values
    return found
