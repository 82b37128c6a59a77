"""Jobs that wait: a gang with its pending members, or a pod without a gang."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.mobility import required_levels
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Snapshot
from scheduler.fragmentation.shapes import HOST
from scheduler.placement.parts import Part, Shape
from scheduler.plan.waiting import mates, pending


@dataclass(frozen=True, slots=True)
class Job:
    """``pods`` are the pending ones; all of them start together or none does."""

    key: str  # namespace/name of the gang, or of the pod
    cluster: int
    gang: int  # UNKNOWN without one
    tenant: str | None  # None: nobody's
    lp: bool
    priority: int  # the highest of its pods
    pods: tuple[int, ...]
    parts: tuple[Part, ...]  # most GPUs of a pod first
    gpu_milli: int  # together
    cpu_milli: int
    models: tuple[str, ...]  # GPU models on which all of its pods accept to run; () any, or it asks for no GPU
    contrary: bool  # its pods accept no model in common
    levels: tuple[str, ...]  # at which it requires one domain
    running: tuple[int, ...]  # live members that are not leaving, rows
    mixes: bool = False  # nobody wants one job on several GPU models, and no gang says that it may

    @property
    def gpus(self) -> int:
        """Devices that its pending pods touch together, rounded up."""
        return -(-self.gpu_milli // WHOLE_GPU_MILLI)

    def charged_at(self, snapshot: Snapshot) -> tuple[str, str, bool]:
        """Where an hour of it is priced: cluster, the first model that it accepts ("" where it is not said), tier."""
        model = next(iter(self.models), snapshot.models[0] if len(snapshot.models) == 1 else "")
        return snapshot.clusters[self.cluster].name, model, self.lp

    @property
    def kind(self) -> tuple[object, ...]:
        """Jobs of one kind wait for the same: what one of them is told holds for all."""
        parts = tuple((part.shape, len(part.pods)) for part in self.parts)
        gang = self.gang if self.gang != UNKNOWN and (self.running or len(self.pods) == 0) else UNKNOWN
        return self.cluster, self.lp, self.levels, parts, gang


def pending_jobs(snapshot: Snapshot, pod_class: Iterable[int]) -> tuple[Job, ...]:
    """In the order of cluster and key; ``pod_class`` [p] as ``Eligibility`` numbers them."""
    groups: dict[tuple[int, int], list[int]] = {}
    for p in np.flatnonzero(pending(snapshot)).tolist():
        gang = int(snapshot.pod_gang[p])
        groups.setdefault((gang, UNKNOWN) if gang != UNKNOWN else (UNKNOWN, p), []).append(p)
    classes = np.asarray(pod_class)
    jobs = [_job(snapshot, gang, tuple(rows), classes) for (gang, _), rows in groups.items()]
    return tuple(sorted(jobs, key=lambda job: (job.cluster, job.key, job.gang)))


def _job(
    snapshot: Snapshot, gang: int, rows: tuple[int, ...], classes: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> Job:
    first, chosen = rows[0], list(rows)
    record = None if gang == UNKNOWN else snapshot.gangs[gang]
    tenants = snapshot.pod_tenant[chosen]
    models = _models(snapshot, rows)
    wished = {level for spec in {int(snapshot.pod_spec[p]): p for p in rows}.values()
              for level in required_levels(snapshot, spec)}  # fmt: skip
    order = {name: i for i, name in enumerate((HOST, *snapshot.levels))}
    milli = np.where(
        _sliced(snapshot, rows), 0, snapshot.pod_gpus[chosen].astype(np.int64) * snapshot.pod_gpu_milli[chosen]
    )
    return Job(
        key=snapshot.pod_key(first) if record is None else f"{record.namespace}/{record.name}",
        cluster=int(snapshot.pod_cluster[first]),
        gang=gang,
        tenant=None if tenants[0] == UNKNOWN else snapshot.tenants[tenants[0]],
        lp=bool(snapshot.pod_lp[chosen].all()),
        priority=int(snapshot.pod_priority[chosen].max()),
        pods=rows,
        parts=_parts(snapshot, rows, classes),
        gpu_milli=int(milli.sum()),
        cpu_milli=int(snapshot.pod_cpu_milli[chosen].sum()),
        models=models or (),
        contrary=models is None,
        levels=tuple(sorted(wished, key=lambda level: (order.get(level, len(order)), level))),
        running=tuple(p for p in mates(snapshot, gang).tolist() if not snapshot.pod_terminating[p]),
    )


def _sliced(snapshot: Snapshot, rows: tuple[int, ...]) -> list[bool]:
    return [bool(snapshot.pod_specs[snapshot.pod_spec[p]].mig) for p in rows]


def _models(snapshot: Snapshot, rows: tuple[int, ...]) -> tuple[str, ...] | None:
    """Models that all pods with GPUs accept, () any; None where there is no such model."""
    named: set[str] | None = None
    for p in rows:
        spec = snapshot.pod_specs[snapshot.pod_spec[p]]
        if spec.gpu_models and (snapshot.pod_gpus[p] or spec.mig):
            named = set(spec.gpu_models) if named is None else named & set(spec.gpu_models)
    if named is None:
        return ()
    return tuple(sorted(named)) or None


def _parts(
    snapshot: Snapshot, rows: tuple[int, ...], classes: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> tuple[Part, ...]:
    found: dict[Shape, list[int]] = {}
    for p in rows:
        shape = (
            int(classes[p]), int(snapshot.pod_spec[p]), int(snapshot.pod_gpus[p]), int(snapshot.pod_gpu_milli[p]),
            int(snapshot.pod_gpu_memory_mib[p]), int(snapshot.pod_cpu_milli[p]), int(snapshot.pod_memory_mib[p]),
            int(snapshot.pod_lender[p]),
        )  # fmt: skip
        found.setdefault(shape, []).append(p)
    parts = [Part(shape, tuple(pods)) for shape, pods in found.items()]
    return tuple(sorted(parts, key=lambda part: (-part.shape[2] * part.shape[3], -part.shape[5], part.pods)))
