"""What it costs to interrupt a pod: GPU time by term, and what travels over the network.

A copy costs the time in which both stand; a restart costs the time in which nobody does, and the work since the last
checkpoint.  What nobody observes is stated by an operator (``Rates``) and named as assumed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from scheduler.cluster.hardware import accelerator
from scheduler.cluster.mobility import gang_spare
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import ABSENT, MOVE_RESTART, UNKNOWN, WORK_CLASSES, Snapshot

MIB_PER_GB = 1e9 / 2**20
ONLINE = WORK_CLASSES.index("online")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What an operator states of the pods of one pool and tenant."""

    start_s: float = 60  # from bound to at work, without what is fetched
    image_mib: float = 20_480  # to be pulled where the pod has not run before
    state_percent: float = 50  # of the device memory it holds, read back from the store
    network_mib_per_s: float = 2_000  # into one node
    store_mib_per_s: float = 1_000  # out of the store, to one pod
    rebuild_s: float = 300  # of full work lost to cold caches, services only
    checkpoint_age_s: float = 1_800  # of jobs that report none
    failure_percent: float = 1  # moves that end badly, for HP; half of it for LP
    recovery_s: float = 900  # in which such a pod does not work


RatesOf = Callable[[str, str], Rates]  # GPU model of the pod's node, tenant; "" where unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of one interruption.  GPU time in GPU-seconds, the first five terms apart; ``seconds`` from bound to at work."""

    seconds: float
    start: float  # both copies stand, or nobody works
    rebuild: float
    lost: float  # since the last checkpoint, the whole gang where it cannot spare the pod
    risk: float
    image_mib: float
    state_mib: float
    next_checkpoint_s: float | None  # until the job writes again; None where it does not tell
    assumed: tuple[str, ...]  # rates that stand for what nobody observes

    @property
    def gpu_seconds(self) -> float:
        return self.start + self.rebuild + self.lost + self.risk

    @property
    def at_checkpoint(self) -> float:
        """GPU-seconds if the move waits for the next checkpoint."""
        return self.gpu_seconds - (self.lost if self.next_checkpoint_s is not None else 0)


def after_waiting(cost: Cost, lost_s: float, lost_after_s: float) -> Cost:
    """The cost of a move that waits until its pod loses ``lost_after_s`` seconds of work in place of ``lost_s``."""
    return replace(cost, lost=cost.lost * lost_after_s / lost_s if lost_s else cost.lost)


def costs(snapshot: Snapshot, pods: Sequence[int], rates_of: RatesOf) -> tuple[Cost, ...]:
    """One cost per pod, each at the rates of its pool and tenant."""
    spare = gang_spare(snapshot).tolist()
    models, tenants = (*snapshot.models, ""), (*snapshot.tenants, "")  # UNKNOWN is the last one
    found = []
    for pod in pods:
        gang = int(snapshot.pod_gang[pod])
        rates = rates_of(models[snapshot.node_model[snapshot.pod_node[pod]]], tenants[snapshot.pod_tenant[pod]])
        found.append(interruption(snapshot, pod, rates, spare[gang] if gang != UNKNOWN else None))
    return tuple(found)


def interruption(snapshot: Snapshot, pod: int, rates: Rates, spare: int | None = None) -> Cost:
    """The cost of moving one live pod.  ``spare``: members its gang can do without, asked for where not given."""
    gpus = float(snapshot.pod_gpus[pod]) * float(snapshot.pod_gpu_milli[pod]) / WHOLE_GPU_MILLI
    state = device_memory_mib(snapshot, pod)
    state_mib = None if state is None else state * rates.state_percent / 100
    fetch = rates.image_mib / rates.network_mib_per_s + (state_mib or 0) / rates.store_mib_per_s
    seconds = rates.start_s + fetch
    lost, wait, assumed = _lost(snapshot, pod, gpus, rates, spare)
    weight = 0.5 if snapshot.pod_lp[pod] else 1.0
    return Cost(
        seconds=seconds,
        start=gpus * seconds,
        rebuild=gpus * rates.rebuild_s if snapshot.pod_work_class[pod] == ONLINE else 0.0,
        lost=lost,
        risk=gpus * rates.recovery_s * rates.failure_percent / 100 * weight,
        image_mib=rates.image_mib,
        state_mib=state_mib or 0.0,
        next_checkpoint_s=wait,
        assumed=(*assumed, *(("device_memory",) if state is None else ())),
    )


def device_memory_mib(snapshot: Snapshot, pod: int) -> float | None:
    """Device memory that the pod holds: as asked, else its share of the devices; None where neither is known."""
    gpus = float(snapshot.pod_gpus[pod])
    if gpus == 0:
        return 0.0
    if snapshot.pod_gpu_memory_mib[pod] > 0:
        return gpus * float(snapshot.pod_gpu_memory_mib[pod])
    node = int(snapshot.pod_node[pod])
    each = _memory_of(snapshot, node) if node >= 0 else None
    return None if each is None else gpus * each * float(snapshot.pod_gpu_milli[pod]) / WHOLE_GPU_MILLI


def _memory_of(snapshot: Snapshot, node: int) -> float | None:
    if snapshot.node_gpu_memory_mib[node] != ABSENT:
        return float(snapshot.node_gpu_memory_mib[node])
    model = int(snapshot.node_model[node])
    known = accelerator(snapshot.models[model]) if model != UNKNOWN else None
    return None if known is None or known.memory_gb is None else known.memory_gb * MIB_PER_GB


def _lost(
    snapshot: Snapshot, pod: int, gpus: float, rates: Rates, spare: int | None
) -> tuple[float, float | None, tuple[str, ...]]:
    """GPU-seconds of work done again, seconds until the next checkpoint, and what was assumed.

    C = G (now - last checkpoint) of the OSDI '26 study; for the whole gang where stopping the pod stops it.
    """
    if snapshot.pod_move[pod] != MOVE_RESTART:
        return 0.0, None, ()
    age, assumed = _age(snapshot, pod, rates)
    interval = float(snapshot.pod_checkpoint_interval_s[pod])
    tells = interval > 0 and snapshot.pod_checkpoint_s[pod] != ABSENT
    wait = interval - age % interval if tells else None
    return max(gpus, _gang_gpus(snapshot, pod, spare)) * age, wait, assumed


def _age(snapshot: Snapshot, pod: int, rates: Rates) -> tuple[float, tuple[str, ...]]:
    """Seconds since the last checkpoint; a silent job's is assumed, and no older than the job."""
    if snapshot.pod_checkpoint_s[pod] != ABSENT:
        return float(max(0, snapshot.now_s - int(snapshot.pod_checkpoint_s[pod]))), ()
    started = int(snapshot.pod_started_s[pod])
    running = float("inf") if started == ABSENT else float(max(0, snapshot.now_s - started))
    return min(rates.checkpoint_age_s, running), ("checkpoint_age_s",)


def _gang_gpus(snapshot: Snapshot, pod: int, spare: int | None) -> float:
    """GPUs of the whole gang where it cannot spare the pod, else 0."""
    gang = int(snapshot.pod_gang[pod])
    if gang == UNKNOWN:
        return 0.0
    left = int(gang_spare(snapshot)[gang]) if spare is None else spare
    if left > 0:
        return 0.0
    members = snapshot.pod_live & (snapshot.pod_gang == gang)
    return float((snapshot.pod_gpus[members] * snapshot.pod_gpu_milli[members]).sum()) / WHOLE_GPU_MILLI
