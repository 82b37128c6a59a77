"""Whether a node holds the pods that stand on it and those that arrive: capacity, ports and company.

Used for one pod against one node, and by ``plan.verify`` for all arrivals of a wave.  Over-commitment that was there
before is nobody's fault here; it only means that nobody may arrive.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.layout import layout, lender_of, slices
from scheduler.cluster.mobility import ANYWHERE
from scheduler.cluster.ports import in_conflict
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Ints, PodSpec, Snapshot


@dataclass(frozen=True, slots=True)
class Block:
    """A reason of ``reasons.BLOCKING``; ``missing`` in ``unit``, None where the reason has no amount."""

    reason: str
    missing: int | None = None
    unit: str | None = None
    pods: tuple[int, ...] = ()  # the arrivals it concerns; none if it concerns the node as a whole


def blocking_reason(
    snapshot: Snapshot,
    pod: int,
    node: int,
    residents: Sequence[int],
    homes: Mapping[int, int] | None = None,
    leaving: Collection[int] = (),
) -> Block | None:
    """Why ``pod`` cannot arrive on ``node`` beside ``residents``, of which those in ``leaving`` still stand there.

    ``homes`` = ``mobility.bound_domains(snapshot).get(pod)``.  Eligibility is another question (``Eligibility``).
    """
    if snapshot.node_cordoned[node]:
        return Block("cordoned")
    if not snapshot.node_ready[node]:
        return Block("not_ready")
    if homes and not at_home(snapshot, node, homes):
        return Block("topology")
    return next(faults(snapshot, node, residents, [pod], leaving), None)


def at_home(snapshot: Snapshot, node: int, homes: Mapping[int, int]) -> bool:
    """Whether the node lies in the domains that hold the pod; an unknown domain is none."""
    for level, domain in homes.items():
        here = UNKNOWN if level == UNKNOWN else int(snapshot.node_at_level[level, node])
        if here == UNKNOWN or domain not in (ANYWHERE, here):
            return False
    return True


def faults(
    snapshot: Snapshot, node: int, residents: Sequence[int], arrivals: Sequence[int], leaving: Collection[int] = ()
) -> Iterator[Block]:
    """Everything that forbids ``arrivals`` together on ``node`` beside all ``residents``."""
    yield from _capacity(snapshot, node, [*residents, *arrivals], arrivals)
    yield from company_faults(snapshot, residents, arrivals, leaving)


def company_faults(
    snapshot: Snapshot, residents: Sequence[int], arrivals: Sequence[int], leaving: Collection[int] = ()
) -> Iterator[Block]:
    """What forbids the arrivals however large the node is: ports and (anti-)affinity."""
    everybody = [*residents, *arrivals]
    yield from _ports(snapshot, residents, arrivals)
    refused = tuple(p for p in arrivals if refuses(snapshot, p, (q for q in everybody if q != p)))
    if refused:
        yield Block("anti_affinity", pods=refused)
    company = [p for p in residents if p not in leaving]
    lonely = tuple(p for p in arrivals if not attracted(snapshot, p, company))
    if lonely:
        yield Block("affinity", pods=lonely)


def _capacity(snapshot: Snapshot, node: int, pods: Sequence[int], arrivals: Sequence[int]) -> Iterator[Block]:
    spare = int(snapshot.node_max_pods[node]) - len(pods)
    if spare < 0:
        yield Block("max_pods", -spare, "pods")
    if any(snapshot.pod_gpus[p] for p in pods):
        yield from _devices(snapshot, node, pods, arrivals)
    short = slices(snapshot, node, pods).short
    if short:
        yield Block("mig", sum(short.values()), "slices")
    scarce = short_of(snapshot, node, pods)
    if scarce:
        name, missing = next(iter(scarce.items()))
        yield Block("resource", missing, name)
    cpu = used_cpu_milli(snapshot, pods) - int(snapshot.node_cpu_milli[node])
    if cpu > 0:
        yield Block("cpu", cpu, "cpu_milli")
    memory = int(snapshot.pod_memory_mib[list(pods)].sum()) - int(snapshot.node_memory_mib[node])
    if memory > 0:
        yield Block("memory", memory, "memory_mib")


def _devices(snapshot: Snapshot, node: int, pods: Sequence[int], arrivals: Sequence[int]) -> Iterator[Block]:
    laid = layout(snapshot, node, pods)
    if laid.fits:
        return
    if laid.memory_short_mib:
        yield Block("gpu_share", laid.memory_short_mib, "memory_mib")
        return
    missing = max(laid.over_milli, WHOLE_GPU_MILLI * (laid.touched - laid.allocatable))
    if any(0 < snapshot.pod_gpu_milli[p] < WHOLE_GPU_MILLI for p in arrivals if snapshot.pod_gpus[p]):
        yield Block("gpu_share", missing, "gpu_milli")
    else:
        yield Block("gpus", -(-missing // WHOLE_GPU_MILLI), "gpus")


def short_of(snapshot: Snapshot, node: int, pods: Sequence[int]) -> dict[str, int]:
    """What the pods together ask of counted resources beyond what the node has, by name."""
    asked: Counter[str] = Counter()
    for p in pods:
        for name, amount in _spec(snapshot, p).resources:
            asked[name] += amount
    if not asked:
        return {}
    has = dict(snapshot.node_specs[int(snapshot.node_spec[node])].resources)
    return {name: amount - has.get(name, 0) for name, amount in sorted(asked.items()) if amount > has.get(name, 0)}


def used_cpu_milli(snapshot: Snapshot, pods: Sequence[int]) -> int:
    """CPU of pods that stand together; a sleeping pod and its borrowers count as the larger of the two."""
    here = set(pods)
    own: dict[int, int] = {}
    lent: Counter[int] = Counter()
    for p in here:
        lender = lender_of(snapshot, p, here)
        if lender == UNKNOWN:
            own[p] = int(snapshot.pod_cpu_milli[p])
        else:
            lent[lender] += int(snapshot.pod_cpu_milli[p])
    return sum(max(amount, lent[p]) for p, amount in own.items())


def _ports(snapshot: Snapshot, residents: Sequence[int], arrivals: Sequence[int]) -> Iterator[Block]:
    clash = in_conflict([(p, port) for p in (*residents, *arrivals) for port in _spec(snapshot, p).host_ports])
    if clash:
        yield Block("host_port", pods=tuple(p for p in arrivals if p in clash))


def refuses(snapshot: Snapshot, pod: int, others: Iterable[int]) -> bool:
    """Anti-affinity in either direction, inside one namespace."""
    mine = _spec(snapshot, pod)
    terms, labels = set(mine.anti_affinity), _terms(mine)
    for other in others:
        if snapshot.pod_namespace[other] != snapshot.pod_namespace[pod]:
            continue
        theirs = _spec(snapshot, other)
        if (terms and terms & _terms(theirs)) or (theirs.anti_affinity and labels & set(theirs.anti_affinity)):
            return True
    return False


def attracted(snapshot: Snapshot, pod: int, others: Iterable[int]) -> bool:
    """Every entry of the pod's affinity is met by some other pod of its namespace."""
    missing = set(_spec(snapshot, pod).affinity)
    if missing:
        namespace = snapshot.pod_namespace[pod]
        for other in others:
            if other != pod and snapshot.pod_namespace[other] == namespace:
                missing -= _terms(_spec(snapshot, other))
    return not missing


def _spec(snapshot: Snapshot, pod: int) -> PodSpec:
    return snapshot.pod_specs[int(snapshot.pod_spec[pod])]


def _terms(spec: PodSpec) -> set[str]:
    return {f"{key}={value}" for key, value in spec.labels}


def pods_by_node(snapshot: Snapshot) -> tuple[Ints, Ints]:
    """Live pods sorted by node, and the first position of each node [n + 1] in that list."""
    rows = np.flatnonzero(snapshot.pod_live)
    order = rows[np.argsort(snapshot.pod_node[rows], kind="stable")].astype(np.int32)
    starts = np.searchsorted(snapshot.pod_node[order], np.arange(len(snapshot.node_name) + 1)).astype(np.int32)
    return order, starts
