"""The hardware of the worlds asi, fleet and uniform8: clusters, models, switches, nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.records import DEFAULT_CLUSTER
from scheduler.worlds import marginals
from scheduler.worlds.marginals import MODELS, Model
from scheduler.worlds.quota import largest_remainder

NO_ASW = -1
UNIFORM_NODES_PER_ASW = 50
UNIFORM_MODELS = (("H20", 0.5), ("XPU-A", 0.3), ("H800", 0.2))


@dataclass(frozen=True, slots=True)
class Pool:
    """The nodes ``lo:hi`` of a site: one cluster, one model, one number of GPUs."""

    cluster: str
    model: Model
    gpus: int
    lo: int
    hi: int

    @property
    def total_gpus(self) -> int:
        return (self.hi - self.lo) * self.gpus


@dataclass(frozen=True, slots=True)
class Site:
    """``asw[n]`` numbers the switch of each node, NO_ASW where it has no label; pools cover all nodes in order."""

    pools: tuple[Pool, ...]
    asw: NDArray[np.int64]
    gpus: NDArray[np.int64]
    cpu_milli: NDArray[np.int64]
    memory_mib: NDArray[np.int64]

    @property
    def clusters(self) -> tuple[str, ...]:
        return tuple(sorted({pool.cluster for pool in self.pools}))


def asi_site(nodes: int, rng: np.random.Generator) -> Site:
    """``nodes`` nodes in the proportions of the fleet; the fleet itself at its own size."""
    kinds = _kinds(nodes)
    cuts = np.cumsum(largest_remainder(nodes, _cluster_weights(nodes)))
    counts = np.zeros((len(cuts), len(kinds)), dtype=np.int64)
    start = 0
    for kind, size in _shuffled_blocks([count for *_, count in kinds], rng):
        while size:
            cluster = int(np.searchsorted(cuts, start, side="right"))
            part = min(size, int(cuts[cluster]) - start)
            counts[cluster, kind] += part
            start, size = start + part, size - part
    pools = _pools([f"c{i:02d}" for i in range(len(cuts))], [k[:2] for k in kinds], counts)
    return _site(pools, _asws(pools, rng))


def uniform_site(nodes: int) -> Site:
    """``nodes`` nodes of 8 GPUs in one cluster, 50 per ASW, three models."""
    asws = -(-nodes // UNIFORM_NODES_PER_ASW)
    by_name = {model.name: model for model in MODELS}
    parts = largest_remainder(asws, [share for _, share in UNIFORM_MODELS])
    edges = np.minimum(np.concatenate([[0], np.cumsum(parts)]) * UNIFORM_NODES_PER_ASW, nodes)
    kinds = [(by_name[name], 8) for name, _ in UNIFORM_MODELS]
    pools = _pools([DEFAULT_CLUSTER], kinds, np.diff(edges)[None, :])
    return _site(pools, np.arange(nodes) // UNIFORM_NODES_PER_ASW)


def _kinds(nodes: int) -> list[tuple[Model, int, int]]:
    """(model, GPUs per node, nodes), with one model in two sizes to meet the fleet's GPUs per node."""
    parts = largest_remainder(nodes, [model.servers for model in MODELS]).tolist()
    goal = round(nodes * marginals.FLEET_GPUS / marginals.FLEET_NODES)
    missing = goal - sum(model.gpus * count for model, count in zip(MODELS, parts, strict=True))
    kinds: list[tuple[Model, int, int]] = []
    for model, count in zip(MODELS, parts, strict=True):
        large = min(count, max(0, missing) // model.gpus) if model.name == marginals.TWO_SIZES else 0
        kinds += [(model, model.gpus, count - large), (model, 2 * model.gpus, large)]
    return _to_exact(kinds, goal)


def _to_exact(kinds: list[tuple[Model, int, int]], goal: int) -> list[tuple[Model, int, int]]:
    """Give the last one to three GPUs that are missing to nodes of the one-GPU model, as nodes of two."""
    missing = goal - sum(gpus * count for _, gpus, count in kinds)
    exact: list[tuple[Model, int, int]] = []
    for model, gpus, count in kinds:
        if gpus == 1 and missing > 0:
            extra = min(missing, count)
            exact += [(model, 1, count - extra), (model, 2, extra)]
        else:
            exact.append((model, gpus, count))
    return [kind for kind in exact if kind[2]]


def _cluster_weights(nodes: int) -> Sequence[int]:
    count = max(1, min(marginals.FLEET_CLUSTERS, nodes // marginals.SMALL_WORLD_NODES_PER_CLUSTER))
    return marginals.CLUSTER_SERVERS[:count]


def _shuffled_blocks(counts: list[int], rng: np.random.Generator) -> list[tuple[int, int]]:
    """(kind, nodes) in random order: models come in blocks, so that each cluster has its own mix."""
    blocks = []
    for kind, count in enumerate(counts):
        size = max(8, count // 12)
        blocks += [(kind, min(size, count - at)) for at in range(0, count, size)]
    return [blocks[i] for i in rng.permutation(len(blocks)).tolist()]


def _pools(clusters: list[str], kinds: Sequence[tuple[Model, int]], counts: NDArray[np.int64]) -> tuple[Pool, ...]:
    pools, lo = [], 0
    for cluster, row in zip(clusters, counts.tolist(), strict=True):
        for (model, gpus), count in zip(kinds, row, strict=True):
            if count:
                pools.append(Pool(cluster, model, gpus, lo, lo + count))
                lo += count
    return tuple(pools)


def _asws(pools: tuple[Pool, ...], rng: np.random.Generator) -> NDArray[np.int64]:
    """Cut each pool into switches of the published sizes, then label whole switches up to the published share."""
    levels, sizes = np.array(marginals.ASW_SERVERS).T
    spans = []
    for pool in pools:
        at = pool.lo
        while at < pool.hi:
            size = max(1, round(float(np.interp(rng.random(), levels, sizes))))
            spans.append((at, min(at + size, pool.hi)))
            at += size
    asw = np.full(pools[-1].hi, NO_ASW, dtype=np.int64)
    left = round((1 - marginals.UNLABELLED) * len(asw))
    for number in rng.permutation(len(spans)).tolist():
        lo, hi = spans[number]
        asw[lo : min(hi, lo + left)] = number
        left -= min(hi - lo, left)
    return asw


def _site(pools: tuple[Pool, ...], asw: NDArray[np.int64]) -> Site:
    sizes = [pool.hi - pool.lo for pool in pools]
    gpus = np.repeat([pool.gpus for pool in pools], sizes).astype(np.int64)
    cpu = np.repeat([pool.model.cores * 1000 for pool in pools], sizes).astype(np.int64)
    memory = np.repeat([pool.model.memory_gib * 1024 for pool in pools], sizes).astype(np.int64)
    return Site(pools, asw, gpus, cpu, memory)
