"""The OpenB trace (cluster-trace-gpu-v2023) as a cluster that is loaded with its pods.

The trace never fills its own cluster, so pods are placed first-fit in order of creation until the GPUs asked for reach
a load.  What a phase says is the pod's last one, months later, and plays no part in that.
"""

from dataclasses import dataclass

import msgspec
import numpy as np

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import WHOLE_GPU_MILLI, Document, NodeRecord, PodRecord, Tier
from scheduler.worlds.fill import NOWHERE, Free
from scheduler.worlds.rows import Row, header_of, read_rows, require_columns
from scheduler.worlds.shapes import Shape

NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
HP_QOS = ("LS", "Guaranteed")
LP_QOS = ("BE", "Burstable")
# The trace has no calendar; its second 0 is given a fixed instant, so that equal input gives an equal document.
TAKEN_AT = "2023-07-01T00:00:00Z"
LARGEST_NODE_GPUS = 1024
QOS_LABEL = "qos"


@dataclass(frozen=True, slots=True)
class TracePod:
    """One row of a pod list; times in seconds, None where the list has none."""

    name: str
    shape: Shape
    models: tuple[str, ...]
    qos: str | None
    created_s: int | None
    scheduled_s: int | None
    deleted_s: int | None = None


def read_openb(
    nodes_csv: bytes,
    pods_csv: bytes,
    *,
    load: float,
    seed: int,
    lock: float,
    nodes_file: str = "nodes",
    pods_file: str = "pods",
) -> Document:
    """A node list and a pod list as one snapshot.

    Pods arrive in order of creation until they ask for ``load`` times the GPUs of the cluster; each goes to the first
    node that fits, one that fits nowhere is pending.  LS and Guaranteed are HP, BE and Burstable LP; a list that says
    nothing of qos leaves the default, HP.  ``lock`` is the share of placed pods that are locked, drawn by ``seed``.
    Raises InputError naming file, line and field.
    """
    _check(load, seed, lock)
    nodes = read_nodes(nodes_csv, nodes_file)
    pods = _up_to_load(read_pods(pods_csv, pods_file), load * sum(node.gpus for node in nodes))
    homes = _first_fit(nodes, pods)
    records = [_record(pod, home, nodes) for pod, home in zip(pods, homes, strict=True)]
    times = [time for pod in pods for time in (pod.created_s, pod.scheduled_s) if time is not None]
    return Document(taken_at=TAKEN_AT, now_s=max(times, default=0), nodes=nodes, pods=_locked(records, lock, seed))


def read_nodes(nodes_csv: bytes, file: str = "nodes") -> list[NodeRecord]:
    """The node list; CPU-only nodes have no model."""
    require_columns(nodes_csv, file, NODE_COLUMNS)
    nodes: list[NodeRecord] = []
    seen: set[str] = set()
    for row in read_rows(nodes_csv, file):
        name = row.text("sn")
        if name in seen:
            raise row.fault("sn", "node stands twice")
        seen.add(name)
        gpus, model = row.whole("gpu"), row.cells.get("model", "")
        if gpus > LARGEST_NODE_GPUS:
            raise row.fault("gpu", f"must be at most {LARGEST_NODE_GPUS}")
        if gpus and not model:
            raise row.fault("model", "a node with GPUs needs a model")
        nodes.append(
            NodeRecord(
                name=name,
                gpu_model=model,
                gpus=gpus,
                cpu_milli=row.whole("cpu_milli"),
                memory_mib=row.whole("memory_mib"),
            )
        )
    return nodes


def read_pods(pods_csv: bytes, file: str = "pods") -> list[TracePod]:
    """The pod list in order of creation; lists of five columns have no times, no qos and no models."""
    require_columns(pods_csv, file, POD_COLUMNS)
    pods: list[TracePod] = []
    seen: set[str] = set()
    timed = "creation_time" in header_of(pods_csv, file)
    for row in read_rows(pods_csv, file):
        pod = _trace_pod(row, timed)
        if pod.name in seen:
            raise row.fault("name", "pod stands twice")
        seen.add(pod.name)
        pods.append(pod)
    return sorted(pods, key=lambda pod: pod.created_s or 0)


def read_shapes(pods_csv: bytes, file: str = "pods") -> tuple[Shape, ...]:
    """The requests of a pod list, one per pod: what worlds draw their pods from."""
    shapes = tuple(pod.shape for pod in read_pods(pods_csv, file))
    if not any(shape.gpus for shape in shapes):
        raise InputError(file, None, "no pod of the list asks for a GPU")
    return shapes


def _trace_pod(row: Row, timed: bool) -> TracePod:
    qos = row.cells.get("qos", "").strip() or None
    if qos is not None and qos not in HP_QOS + LP_QOS:
        raise row.fault("qos", f"expected one of {', '.join(HP_QOS + LP_QOS)}")
    models = dict.fromkeys(part.strip() for part in row.cells.get("gpu_spec", "").split("|"))
    return TracePod(
        name=row.text("name"),
        shape=_shape(row),
        models=tuple(model for model in models if model),
        qos=qos,
        created_s=row.whole("creation_time") if timed else None,
        scheduled_s=row.whole_or_none("scheduled_time"),
        deleted_s=row.whole_or_none("deletion_time"),
    )


def _shape(row: Row) -> Shape:
    gpus, milli = row.whole("num_gpu"), row.whole("gpu_milli")
    if milli > WHOLE_GPU_MILLI:
        raise row.fault("gpu_milli", f"must be at most {WHOLE_GPU_MILLI}")
    if gpus and not milli:
        raise row.fault("gpu_milli", "a pod with GPUs needs a share of each")
    if gpus > LARGEST_NODE_GPUS:
        raise row.fault("num_gpu", f"must be at most {LARGEST_NODE_GPUS}")
    return Shape(gpus, milli if gpus else WHOLE_GPU_MILLI, row.whole("cpu_milli"), row.whole("memory_mib"))


def _check(load: float, seed: int, lock: float) -> None:
    if not 0 < load <= 10:
        raise InputError("load", load, "must be above 0 and at most 10")
    if seed < 0:
        raise InputError("seed", seed, "must not be negative")
    if not 0 <= lock <= 1:
        raise InputError("lock", lock, "must be 0 to 1")


def _up_to_load(pods: list[TracePod], gpus: float) -> list[TracePod]:
    asked = np.cumsum([pod.shape.total_milli for pod in pods])
    return pods[: int(np.searchsorted(asked, gpus * WHOLE_GPU_MILLI, side="right"))]


def _first_fit(nodes: list[NodeRecord], pods: list[TracePod]) -> list[tuple[int, tuple[int, ...]]]:
    """(node, devices) of each pod; NOWHERE for one that fits on no node of its models."""
    free = Free(
        np.array([node.gpus for node in nodes], dtype=np.int64),
        np.array([node.cpu_milli for node in nodes], dtype=np.int64),
        np.array([node.memory_mib for node in nodes], dtype=np.int64),
    )
    model = np.array([node.gpu_model for node in nodes], dtype=object)
    homes: list[tuple[int, tuple[int, ...]]] = []
    for pod in pods:
        room = free.fits(0, len(nodes), pod.shape)
        if pod.models:
            room &= np.isin(model, pod.models)
        node = int(room.argmax()) if room.any() else NOWHERE
        homes.append((node, free.take(node, pod.shape) if node != NOWHERE else ()))
    return homes


def _record(pod: TracePod, home: tuple[int, tuple[int, ...]], nodes: list[NodeRecord]) -> PodRecord:
    node, devices = home
    placed = node != NOWHERE
    tier: Tier = "LP" if pod.qos in LP_QOS else "HP"
    since = pod.scheduled_s if pod.scheduled_s is not None else pod.created_s
    return PodRecord(
        name=pod.name,
        node=nodes[node].name if placed else None,
        gpus=pod.shape.gpus,
        gpu_milli=pod.shape.gpu_milli,
        cpu_milli=pod.shape.cpu_milli,
        memory_mib=pod.shape.memory_mib,
        devices=list(devices) if pod.shape.shared else [],
        gpu_model=list(pod.models) if len(pod.models) > 1 else pod.models[0] if pod.models else None,
        tier=tier,
        labels={QOS_LABEL: pod.qos} if pod.qos else {},
        started_s=since if placed else None,
    )


def _locked(records: list[PodRecord], lock: float, seed: int) -> list[PodRecord]:
    placed = [i for i, record in enumerate(records) if record.node is not None]
    order = np.random.default_rng(seed).permutation(len(placed))
    chosen = {placed[i] for i in order[: round(lock * len(placed))].tolist()}
    return [msgspec.structs.replace(record, locked=True) if i in chosen else record for i, record in enumerate(records)]
