"""Room that is promised to one claimant from notice to hand-over, as everybody else must see the cluster.

Whoever plans for somebody else plans on ``respecting(snapshot, promises)``: what is promised is no room of its node,
now or later, and a sleeper that was called lends nothing.  For the minute that a promise lasts this is on the safe
side: room beside those who are leaving counts as taken until they have left.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import numpy as np

from scheduler.cluster.errors import ParamError
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.rows import frozen
from scheduler.cluster.snapshot import UNKNOWN, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """``claimant``: namespace/name of a pod or gang, or ``lease:<uid>``.  Raises ``ParamError`` for negative amounts.

    ``until_s``: on the snapshot's clock; None: until somebody takes it back.
    """

    cluster: str
    node: str
    claimant: str
    gpu_milli: int
    cpu_milli: int = 0
    memory_mib: int = 0
    until_s: int | None = None

    def __post_init__(self) -> None:
        for field in ("gpu_milli", "cpu_milli", "memory_mib"):
            if getattr(self, field) < 0:
                raise ParamError(field, getattr(self, field), "must not be negative")

    def lasts(self, now_s: int) -> bool:
        return self.until_s is None or self.until_s > now_s


def respecting(
    snapshot: Snapshot, promises: Collection[Promise], *, but: str = "", now_s: int | None = None
) -> Snapshot:
    """The snapshot for planning on behalf of anybody but the claimants; ``but``: the one whose plan it is.

    Only capacity and sleep differ; rows and names are the same, and so is the digest, so nothing of it is archived or
    measured.  A claimant that is bound to the node already has its room by standing there: it only stops lending.
    """
    instant = snapshot.now_s if now_s is None else now_s
    kept = [one for one in promises if one.lasts(instant) and one.claimant != but]
    if not kept:
        return snapshot
    nodes = {(snapshot.clusters[c].name, name): n for n, (c, name) in enumerate(_named(snapshot))}
    bound = _bound(snapshot, {one.claimant for one in kept})
    gpus, cpu = snapshot.node_allocatable.copy(), snapshot.node_cpu_milli.copy()
    memory, standby = snapshot.node_memory_mib.copy(), snapshot.pod_standby.copy()
    for one in kept:
        n = nodes.get((one.cluster, one.node), UNKNOWN)
        if n == UNKNOWN:
            continue  # a node that is gone has no room for anybody
        sitting = [p for p in bound.get(one.claimant, ()) if int(snapshot.pod_node[p]) == n]
        if sitting:
            standby[sitting] = False
            continue
        gpus[n] = max(0, int(gpus[n]) + -one.gpu_milli // WHOLE_GPU_MILLI)
        cpu[n] = max(0, int(cpu[n]) - one.cpu_milli)
        memory[n] = max(0, int(memory[n]) - one.memory_mib)
    return replace(
        snapshot, node_allocatable=frozen(gpus), node_cpu_milli=frozen(cpu), node_memory_mib=frozen(memory),
        pod_standby=frozen(standby),
    )  # fmt: skip


def _named(snapshot: Snapshot) -> Iterable[tuple[int, str]]:
    return zip(snapshot.node_cluster.tolist(), snapshot.node_name, strict=True)


def _bound(snapshot: Snapshot, claimants: set[str]) -> dict[str, list[int]]:
    """The claimants that stand on a node: pods by their own key, and of a gang the members that sleep.

    Members of a gang that run beside a promise to it are others than those it waits for.
    """
    spaces = {claimant.split("/", 1)[0] for claimant in claimants}
    rows = snapshot.pod_live & np.isin(
        snapshot.pod_namespace, [i for i, name in enumerate(snapshot.namespaces) if name in spaces]
    )
    found: dict[str, list[int]] = {}
    for p in np.flatnonzero(rows).tolist():
        gang, keys = int(snapshot.pod_gang[p]), {snapshot.pod_key(p)}
        if gang != UNKNOWN and snapshot.pod_standby[p]:
            keys.add(f"{snapshot.gangs[gang].namespace}/{snapshot.gangs[gang].name}")
        for key in keys & claimants:
            found.setdefault(key, []).append(p)
    return found
