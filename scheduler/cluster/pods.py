"""Pod records to columns, and the names in them to rows of other tables."""

from collections.abc import Mapping, Sequence

import numpy as np

from scheduler.cluster.podchecks import check_spec
from scheduler.cluster.records import AGENT_OWNERS, DEFAULT_NAMESPACE, FINISHED_PHASES, OwnerRecord, PodRecord
from scheduler.cluster.rows import MAX_DEVICES, MAX_TIME, Rows, frozen, ranks
from scheduler.cluster.snapshot import ABSENT, MOVE_MODES, ORPHAN, UNKNOWN, WORK_CLASSES, Ints, PodSpec

Fields = dict[str, object]
TIMES = (
    "standby_until_s",
    "locked_until_s",
    "deleted_at_s",
    "started_s",
    "checkpoint_s",
)
DURATIONS = ("grace_s", "checkpoint_interval_s", "min_runtime_s")


def pod_fields(
    rows: Rows[PodRecord],
    *,
    clusters: Sequence[str],
    namespaces: Sequence[str],
    tenants: Sequence[str],
    nodes: Mapping[tuple[str, str], int],
    gangs: Mapping[tuple[str, str, str], int],
) -> Fields:
    """The ``pod_*`` fields of the snapshot; raises ``InputError`` for values out of range and unknown gangs."""
    pods = rows.records
    node, orphans = _nodes(pods, nodes)
    specs, spec_ix = _specs(rows)
    agent = np.array([s.owner is not None and s.owner.kind in AGENT_OWNERS for s in specs], np.bool_)
    finished = np.array([pod.phase in FINISHED_PHASES for pod in pods], np.bool_)
    return {
        "pod_name": rows.texts("name"),
        "pod_namespace": frozen(ranks(rows.texts("namespace"), namespaces)),
        "pod_cluster": frozen(ranks(rows.texts("cluster"), clusters)),
        "pod_uid": rows.texts("uid"),
        "pod_node": frozen(node),
        "pod_orphan_node": orphans,
        "pod_tenant": frozen(ranks(rows.texts("tenant"), ["", *tenants]) - np.int32(1)),
        "pod_gang": frozen(_gangs(rows, gangs)),
        "pod_lender": frozen(_lenders(rows)),
        **_amounts(rows),
        "pod_lp": frozen(np.array([pod.tier == "LP" for pod in pods], np.bool_)),
        "pod_standby": frozen(rows.flags("standby")),
        "pod_locked": frozen(rows.flags("locked")),
        "pod_terminating": frozen(rows.flags("terminating")),
        "pod_agent": frozen(agent[spec_ix]),
        "pod_live": frozen((node >= 0) & ~finished),
        "pod_phase": rows.texts("phase"),
        "pod_move": frozen(np.array([MOVE_MODES.index(pod.move) for pod in pods], np.int8)),
        "pod_work_class": frozen(_work_classes(pods)),
        **{f"pod_{name}": frozen(rows.optional(name, low=-MAX_TIME, high=MAX_TIME)) for name in TIMES},
        **{f"pod_{name}": frozen(rows.optional(name, high=MAX_TIME)) for name in DURATIONS},
        "pod_spec": frozen(spec_ix),
        "pod_specs": specs,
        "pod_devices": _devices(rows),
    }


def _amounts(rows: Rows[PodRecord]) -> Fields:
    gpus = rows.integers("gpus", high=MAX_DEVICES)
    share = rows.integers("gpu_milli", high=1000)
    nothing = (gpus > 0) & (share == 0)
    if nothing.any():
        raise rows.refuse(int(nothing.argmax()), "gpu_milli", 0, "must be from 1 to 1000")
    stated = rows.optional("gpu_memory_mib")
    return {
        "pod_gpus": frozen(gpus.astype(np.int32)),
        "pod_gpu_milli": frozen(share.astype(np.int32)),
        "pod_gpu_memory_mib": frozen(np.where(stated == ABSENT, 0, stated)),
        "pod_cpu_milli": frozen(rows.integers("cpu_milli")),
        "pod_memory_mib": frozen(rows.integers("memory_mib")),
        "pod_priority": frozen(rows.integers("priority", low=-MAX_TIME, high=MAX_TIME)),
    }


def _nodes(pods: Sequence[PodRecord], nodes: Mapping[tuple[str, str], int]) -> tuple[Ints, dict[int, str]]:
    """[p] Node of each pod, and the names of those that the snapshot does not list."""
    found = np.array(
        [UNKNOWN if pod.node is None else nodes.get((pod.cluster, pod.node), ORPHAN) for pod in pods], np.int32
    )
    return found, {p: str(pods[p].node) for p in np.flatnonzero(found == ORPHAN).tolist()}


def _gangs(rows: Rows[PodRecord], gangs: Mapping[tuple[str, str, str], int]) -> Ints:
    found = np.full(len(rows.records), UNKNOWN, np.int32)
    for p, pod in enumerate(rows.records):
        if pod.gang is not None:
            gang = gangs.get((pod.cluster, pod.namespace, pod.gang))
            if gang is None:  # a gang that is listed without a namespace is open to pods of any
                gang = gangs.get((pod.cluster, DEFAULT_NAMESPACE, pod.gang))
            if gang is None:
                where = f"namespace {pod.namespace} of cluster {pod.cluster}"
                raise rows.refuse(p, "gang", pod.gang, f"no such gang in {where}")
            found[p] = gang
    return found


def _lenders(rows: Rows[PodRecord]) -> Ints:
    """[p] The pod named by ``lent_by``; a lender that is not listed lends nothing, so its borrower stands alone."""
    found = np.full(len(rows.records), UNKNOWN, np.int32)
    borrowers = [p for p, pod in enumerate(rows.records) if pod.lent_by is not None]
    if not borrowers:
        return found
    wanted = {(rows.records[p].cluster, rows.records[p].lent_by) for p in borrowers}
    known = {
        key: p for p, pod in enumerate(rows.records) if (key := (pod.cluster, f"{pod.namespace}/{pod.name}")) in wanted
    }
    for p in borrowers:
        lender = known.get((rows.records[p].cluster, str(rows.records[p].lent_by)), UNKNOWN)
        if lender == p:
            raise rows.refuse(p, "lent_by", rows.records[p].lent_by, "a pod cannot borrow from itself")
        found[p] = lender
    return found


def _work_classes(pods: Sequence[PodRecord]) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    index = {name: i for i, name in enumerate(WORK_CLASSES)} | {None: UNKNOWN}
    return np.array([index[pod.work_class] for pod in pods], np.int8)


def _devices(rows: Rows[PodRecord]) -> dict[int, tuple[int, ...]]:
    listed = {p: tuple(pod.devices) for p, pod in enumerate(rows.records) if pod.devices}
    for p, indices in listed.items():
        if len(set(indices)) < len(indices):
            raise rows.refuse(p, "devices", list(indices), "the same device is listed twice")
        pod = rows.records[p]
        if len(indices) != pod.gpus and not pod.mig:
            raise rows.refuse(p, "devices", list(indices), f"must list as many devices as gpus ({pod.gpus})")
    return listed


def check_device_range(rows: Rows[PodRecord], listed: Mapping[int, Sequence[int]], node: Ints, gpus: Ints) -> None:
    """A listed device must exist on the pod's node; raises ``InputError``."""
    for p, indices in listed.items():
        count = int(gpus[node[p]]) if node[p] >= 0 else MAX_DEVICES
        for i, index in enumerate(indices):
            if not 0 <= index < count:
                raise rows.refuse(p, f"devices[{i}]", index, f"no such device on a node of {count} GPUs")


def _specs(rows: Rows[PodRecord]) -> tuple[tuple[PodSpec, ...], Ints]:
    """Interned specs in the order of first use, which is canonical because the rows are."""
    seen: dict[tuple[object, ...], int] = {}
    specs: list[PodSpec] = []
    index = np.empty(len(rows.records), np.int32)
    for p, pod in enumerate(rows.records):
        key = (  # the fields of PodSpec, in its order
            tuple(sorted(pod.mig.items())) if pod.mig else (),
            ()
            if pod.gpu_model is None
            else (pod.gpu_model,)
            if isinstance(pod.gpu_model, str)
            else tuple(pod.gpu_model),
            OwnerRecord(kind=pod.owner) if isinstance(pod.owner, str) else pod.owner,
            pod.workload,
            tuple(sorted(pod.labels.items())) if pod.labels else (),
            tuple(sorted(pod.node_selector.items())) if pod.node_selector else (),
            pod.only_node,
            tuple(pod.tolerations) if pod.tolerations else (),
            tuple(pod.affinity) if pod.affinity else (),
            tuple(pod.anti_affinity) if pod.anti_affinity else (),
            pod.topology,
            tuple(pod.host_ports) if pod.host_ports else (),
            pod.volume_zone,
            pod.locked_by,
            pod.lock_reason,
            pod.replicas,
            pod.parallelism,
        )
        found = seen.setdefault(key, len(specs))
        if found == len(specs):
            check_spec(rows, p)
            specs.append(PodSpec(*key))
        index[p] = found
    return tuple(specs), index
