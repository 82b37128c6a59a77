"""Pods of the newest readings that may sleep, or do."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from console.inventory import services as inventory
from console.inventory.models import Source
from console.inventory.selectors.pods import workload_name
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, Snapshot


@dataclass(frozen=True, slots=True)
class Found:
    """A live high-priority pod with GPUs.  ``lent_milli``: borrowers have so much; ``device_mib`` None: unknown."""

    cluster: str
    pod: str
    uid: str
    node: str
    tenant: str
    namespace: str
    workload: str
    gpu_model: str
    gpu_milli: int
    memory_mib: int
    device_mib: int | None
    asleep: bool
    terminating: bool
    lent_milli: int


def reading(source: Source) -> Snapshot | None:
    """The newest; None before the first."""
    found = inventory.newest(source)
    return None if found is None else found[1]


def of_workload(snapshot: Snapshot, cluster: str, namespace: str, workload: str) -> list[Found]:
    """Its high-priority pods that run, in order of their names."""
    if cluster not in (one.name for one in snapshot.clusters) or namespace not in snapshot.namespaces:
        return []
    specs = np.array([workload_name(spec) == workload for spec in snapshot.pod_specs], np.bool_)
    chosen = _candidates(snapshot) & (snapshot.pod_namespace == snapshot.namespaces.index(namespace))
    return sorted(
        (one for one in _found(snapshot, np.flatnonzero(chosen & specs[snapshot.pod_spec])) if one.cluster == cluster),
        key=lambda one: one.pod,
    )


def asleep_in(snapshot: Snapshot) -> list[Found]:
    return list(_found(snapshot, np.flatnonzero(_candidates(snapshot) & snapshot.pod_standby)))


def of_tenant(snapshot: Snapshot, tenant: str) -> list[Found]:
    return [one for one in _found(snapshot, np.flatnonzero(_candidates(snapshot))) if one.tenant == tenant]


def one_of(snapshot: Snapshot, cluster: str, key: str) -> Found | None:
    """The pod of that name where it is a live high-priority one with GPUs."""
    rows = np.flatnonzero(_candidates(snapshot))
    mine = (p for p in rows.tolist() if snapshot.pod_key(p) == key)
    return next((one for one in _found(snapshot, mine) if one.cluster == cluster), None)


def _candidates(snapshot: Snapshot) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.asarray(snapshot.pod_live & ~snapshot.pod_lp & ~snapshot.pod_agent & (snapshot.pod_gpus > 0))


def _found(snapshot: Snapshot, rows: Iterable[int]) -> Iterator[Found]:
    borrows = snapshot.pod_live & (snapshot.pod_lender != UNKNOWN)
    lent = np.zeros(len(snapshot.pod_name), np.int64)
    np.add.at(lent, snapshot.pod_lender[borrows], (snapshot.pod_gpus * snapshot.pod_gpu_milli)[borrows])
    for p in rows:
        node, tenant = int(snapshot.pod_node[p]), int(snapshot.pod_tenant[p])
        milli = int(snapshot.pod_gpus[p]) * int(snapshot.pod_gpu_milli[p])
        model = int(snapshot.node_model[node])
        yield Found(
            cluster=snapshot.clusters[int(snapshot.pod_cluster[p])].name,
            pod=snapshot.pod_key(p), uid=snapshot.pod_uid[p], node=snapshot.node_name[node],
            tenant="" if tenant == UNKNOWN else snapshot.tenants[tenant],
            namespace=snapshot.namespaces[int(snapshot.pod_namespace[p])],
            workload=workload_name(snapshot.pod_specs[int(snapshot.pod_spec[p])]) or "",
            gpu_model="" if model == UNKNOWN else snapshot.models[model],
            gpu_milli=milli, memory_mib=int(snapshot.pod_memory_mib[p]),
            device_mib=_device_mib(snapshot, p, node, milli),
            asleep=bool(snapshot.pod_standby[p]), terminating=bool(snapshot.pod_terminating[p]),
            lent_milli=min(int(lent[p]), milli),
        )  # fmt: skip


def _device_mib(snapshot: Snapshot, pod: int, node: int, milli: int) -> int | None:
    """What it asked for; where it did not say, it may hold all of its share of the devices."""
    asked = int(snapshot.pod_gpu_memory_mib[pod])
    if asked:
        return asked * int(snapshot.pod_gpus[pod])
    each = int(snapshot.node_gpu_memory_mib[node])
    return None if each == ABSENT else each * milli // WHOLE_GPU_MILLI
