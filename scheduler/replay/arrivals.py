"""A node list and a pod list of OpenB as arrivals at an empty cluster, in an order that is given or drawn."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import WHOLE_GPU_MILLI, NodeRecord
from scheduler.cluster.snapshot import Longs
from scheduler.replay.filling import ABSENT, Floats, Mix, Nodes, Requests
from scheduler.worlds.openb import TracePod

TYPICAL_PER_CENT = 95  # of the pods of a list; what is rarer than that is not typical


@dataclass(frozen=True, slots=True)
class Order:
    """Names of pods as they arrive, and the rank of each node among equals."""

    pods: tuple[str, ...]
    ranks: dict[str, int]


def read_order(text: bytes, file: str = "order") -> Order:
    """Lines ``P pod`` in order of arrival and ``N node rank``.  Raises InputError naming file, line and reason."""
    pods: list[str] = []
    ranks: dict[str, int] = {}
    for number, line in enumerate(text.decode("utf-8", errors="replace").splitlines(), 1):
        match line.split():
            case []:
                continue
            case ["P", pod]:
                pods.append(pod)
            case ["N", node, rank] if rank.isdecimal() and node not in ranks:
                ranks[node] = int(rank)
            case _:
                raise InputError(f"{file}:{number}", line[:80], "expected 'P pod', or 'N node rank' once for a node")
    return Order(tuple(pods), ranks)


def draw_order(nodes: Sequence[NodeRecord], pods: Sequence[TracePod], *, load: float, seed: int) -> Order:
    """Every pod once in a drawn order, then drawn ones again, until ``load`` times the GPUs have been asked for."""
    rng = np.random.default_rng(seed)
    asked = np.array([pod.shape.total_milli for pod in pods])
    wanted = load * WHOLE_GPU_MILLI * sum(node.gpus for node in nodes)
    if not asked.any():
        raise InputError("pods", None, "no pod of the list asks for a GPU")
    order = rng.permutation(len(pods))
    while asked[order].sum() < wanted:
        order = np.concatenate([order, rng.integers(0, len(pods), len(pods))])
    upto = int(np.searchsorted(asked[order].cumsum(), wanted)) + 1
    ranks = rng.permutation(len(nodes)).tolist()
    return Order(
        tuple(pods[row].name for row in order[:upto].tolist()),
        {node.name: rank for node, rank in zip(nodes, ranks, strict=True)},
    )


def open_nodes(nodes: Sequence[NodeRecord], order: Order) -> Nodes:
    """The empty cluster.  Raises InputError for a node that the order does not rank."""
    missing = next((node.name for node in nodes if node.name not in order.ranks), None)
    if missing is not None:
        raise InputError("order", missing, "this node has no rank: add a line 'N node rank'")
    devices = np.array([node.gpus for node in nodes], dtype=np.int64)
    left = np.full((len(nodes), max(1, int(devices.max(initial=0)))), ABSENT, dtype=np.int64)
    left[np.arange(left.shape[1]) < devices[:, None]] = WHOLE_GPU_MILLI
    bits = model_bits(nodes)
    return Nodes(
        cpu_milli=np.array([node.cpu_milli for node in nodes], dtype=np.int64),
        memory_mib=np.array([node.memory_mib for node in nodes], dtype=np.int64),
        left_milli=left,
        devices=devices,
        model_bit=np.array([bits.get(node.gpu_model or "", 0) for node in nodes], dtype=np.int64),
        rank=np.array([order.ranks[node.name] for node in nodes], dtype=np.int64),
    )


def model_bits(nodes: Sequence[NodeRecord]) -> dict[str, int]:
    models = sorted({node.gpu_model for node in nodes if node.gpu_model})
    if len(models) > 62:
        raise InputError("nodes", len(models), "at most 62 GPU models")
    return {model: 1 << row for row, model in enumerate(models)}


def requests_of(pods: Sequence[TracePod], order: Order, bits: dict[str, int]) -> Requests:
    """The arrivals.  Raises InputError for a pod that the list does not have, or for models that no node has."""
    place = {pod.name: row for row, pod in enumerate(pods)}
    unknown = next((name for name in order.pods if name not in place), None)
    if unknown is not None:
        raise InputError("order", unknown, "the pod list has no such pod")
    columns = np.array([_columns(pod, bits) for pod in pods], dtype=np.int64).reshape(len(pods), 5)
    kinds = np.unique(columns[:, [0, 2, 3, 4]], axis=0, return_inverse=True)[1].reshape(-1)
    rows = np.array([place[name] for name in order.pods], dtype=np.int64)
    cpu, memory, gpus, milli, models = (np.ascontiguousarray(columns[rows, column]) for column in range(5))
    return Requests(cpu, memory, gpus, milli, models, kinds[rows].astype(np.int64))


def typical_mix(pods: Sequence[TracePod], bits: dict[str, int]) -> Mix:
    """The most frequent shapes that make up 95 % of a list; of equally frequent ones the larger comes first."""
    keys = [(one[0], one[3], one[2], one[4]) for one in (_columns(pod, bits) for pod in pods)]
    ranked = sorted(Counter(keys).items(), key=lambda found: (-found[1], [-size for size in found[0]]))
    counts = np.array([count for _, count in ranked], dtype=np.int64)
    enough = int(np.searchsorted(counts.cumsum() * 100, TYPICAL_PER_CENT * len(pods))) + 1
    cpu, milli, gpus, models = (
        np.array([key[column] for key, _ in ranked[:enough]], dtype=np.int64) for column in range(4)
    )
    return Mix(cpu, gpus, milli, models, counts[:enough] / counts[:enough].sum())


def _columns(pod: TracePod, bits: dict[str, int]) -> tuple[int, int, int, int, int]:
    shape = pod.shape
    unknown = next((model for model in pod.models if model not in bits), None)
    if unknown is not None and not any(model in bits for model in pod.models):
        raise InputError("pods", f"{pod.name}: {unknown}", "no node has this GPU model")
    models = sum({bits[model] for model in pod.models if model in bits})
    return shape.cpu_milli, shape.memory_mib, shape.gpus, shape.gpu_milli if shape.gpus else 0, models


def by_arrival(requests: Requests, values: Floats | Longs, capacity_milli: int, *, digits: int = 2) -> dict[int, float]:
    """Per cent of ``capacity_milli``, by per cent of it that has been asked for: the mean over the arrivals there.

    Both are rounded as the published tables round: columns half to even, allocated thousandths each before the mean.
    """
    arrived = (requests.gpus * requests.gpu_milli).cumsum()
    column = np.round(arrived * 100 / capacity_milli).astype(np.int64)
    said = values * 100 / capacity_milli
    if np.issubdtype(values.dtype, np.integer):
        said = np.round(said, digits)
    return {int(one): round(float(said[column == one].mean()), digits) for one in np.unique(column)}
