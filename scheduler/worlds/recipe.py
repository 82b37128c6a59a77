"""The worlds llm78, llm90, small78, small68c and openb70c: three pools, best fit, then pods leave at random.

Their recipe is in docs/worlds.md.  Nodes stand in order of pool and ASW, so that a pool and an ASW are slices.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import WHOLE_GPU_MILLI, Document, NodeRecord, PodRecord
from scheduler.worlds.fill import NOWHERE, Free, shares_fit
from scheduler.worlds.quota import largest_remainder
from scheduler.worlds.shapes import PerGpuDraw, Shape

GPUS_PER_NODE = 8
NODES_PER_ASW = 50
POOLS = (("GPU-A", 0.5), ("GPU-B", 0.3), ("GPU-C", 0.2))
FLAVOURS = ((96_000, 384 * 1024, 0.8), (128_000, 768 * 1024, 0.1), (96_000, 768 * 1024, 0.1))
GROUP_CHANCE = 0.15 / 9.5
GROUP_SIZES = (4, 16)
TIED_CHANCE = 0.10
FILL_SHARE = 0.95
FAILURES_PER_NODE = 3
LOCKED_SHARE = 0.40
CLUSTERED_LOCKS = (0.75, 0.05)
ASW_LABEL = "asw"
GROUP_LABEL = "group"


@dataclass(frozen=True, slots=True)
class Recipe:
    """``sizes`` = (whole GPUs, share of pods), empty for shapes as published; ``target`` share of GPUs in use."""

    target: float
    clustered_locks: bool
    sizes: tuple[tuple[int, float], ...] = ()


_LLM = ((1, 0.55), (2, 0.15), (4, 0.12), (8, 0.18))
_SMALL = ((1, 0.75), (2, 0.12), (4, 0.08), (8, 0.05))
RECIPES = {
    "llm78": Recipe(0.78, False, _LLM),
    "llm90": Recipe(0.90, False, _LLM),
    "small78": Recipe(0.78, False, _SMALL),
    "small68c": Recipe(0.68, True, _SMALL),
    "openb70c": Recipe(0.70, True),
}


@dataclass(slots=True)
class _Placed:
    node: int
    shape: Shape
    devices: tuple[int, ...]
    pool: int
    group: int | None
    tied: bool


@dataclass(slots=True)
class _Floor:
    """The nodes by position: ASW a holds nodes 50 a to 50 a + 49, pool k the ASWs pool_asw[k] to pool_asw[k + 1]."""

    nodes: int
    pool_asw: NDArray[np.int64]
    cpu_milli: NDArray[np.int64]
    memory_mib: NDArray[np.int64]
    placed: list[_Placed] = field(default_factory=list)

    def pool_range(self, pool: int) -> tuple[int, int]:
        lo, hi = self.pool_asw[pool] * NODES_PER_ASW, self.pool_asw[pool + 1] * NODES_PER_ASW
        return int(lo), min(int(hi), self.nodes)

    def asw_range(self, asw: int) -> tuple[int, int]:
        return asw * NODES_PER_ASW, min((asw + 1) * NODES_PER_ASW, self.nodes)


def named_world(name: str, nodes: int, seed: int, taken_at: str, shapes: Sequence[Shape] | None) -> Document:
    """One of ``RECIPES`` with ``nodes`` nodes; equal arguments give an equal document.

    Raises InputError for a world of published shapes when none are given.
    """
    recipe = RECIPES[name]
    if not recipe.sizes and not shapes:
        raise InputError("shapes", None, f"world {name} draws its pods from a trace: give its pod list")
    rng = np.random.default_rng(seed)
    floor = _lay_floor(nodes, rng)
    free = Free(np.full(nodes, GPUS_PER_NODE), floor.cpu_milli, floor.memory_mib)
    _fill(floor, free, _ShapeSource(recipe, shapes), rng)
    placed = _drain(floor.placed, free, nodes, recipe.target, rng)
    locked = _locks(placed, nodes, recipe.clustered_locks, rng)
    bound = _bound_shares(placed)
    pods = [_pod(i, p, bool(locked[i]), i in bound) for i, p in enumerate(placed)]
    return Document(taken_at=taken_at, now_s=0, nodes=_nodes(floor), pods=pods)


def _lay_floor(nodes: int, rng: np.random.Generator) -> _Floor:
    asws = -(-nodes // NODES_PER_ASW)
    pools = largest_remainder(asws, [share for _, share in POOLS])
    flavour = np.repeat(np.arange(len(FLAVOURS)), largest_remainder(asws, [share for *_, share in FLAVOURS]))
    of_node = np.repeat(rng.permutation(flavour), NODES_PER_ASW)[:nodes]
    cpu, memory = (np.array([f[k] for f in FLAVOURS], dtype=np.int64)[of_node] for k in (0, 1))
    return _Floor(nodes, np.concatenate([[0], np.cumsum(pools)]), cpu, memory)


class _ShapeSource:
    """Draws one arrival's shape."""

    def __init__(self, recipe: Recipe, shapes: Sequence[Shape] | None) -> None:
        self._published = list(shapes or ()) if not recipe.sizes else []
        self._gpus = [gpus for gpus, _ in recipe.sizes]
        self._steps = np.cumsum([share for _, share in recipe.sizes])
        self._per_gpu = PerGpuDraw(shapes)

    def draw(self, rng: np.random.Generator) -> Shape:
        if self._published:
            return self._published[int(rng.integers(len(self._published)))]
        step = int(np.searchsorted(self._steps, rng.random(), side="right"))
        return self._per_gpu.shape(self._gpus[min(step, len(self._gpus) - 1)], rng)


def _fill(floor: _Floor, free: Free, source: _ShapeSource, rng: np.random.Generator) -> None:
    """Arrivals in order until 95 % of the GPUs are used or 3 placements per node have failed."""
    goal = FILL_SHARE * floor.nodes * GPUS_PER_NODE * WHOLE_GPU_MILLI
    pool_edges = [floor.pool_range(k)[1] for k in range(len(POOLS))]
    used = failures = groups = 0
    while used < goal and failures < FAILURES_PER_NODE * floor.nodes:
        shape = source.draw(rng)
        pool = int(np.searchsorted(pool_edges, rng.integers(floor.nodes), side="right"))
        group, count = None, 1
        if rng.random() < GROUP_CHANCE:
            group, count, groups = groups, int(rng.integers(GROUP_SIZES[0], GROUP_SIZES[1] + 1)), groups + 1
        before = len(floor.placed)
        _place(floor, free, (shape, pool, group, count), rng)
        new = len(floor.placed) - before
        used += new * shape.total_milli
        failures += count - new


def _place(floor: _Floor, free: Free, arrival: tuple[Shape, int, int | None, int], rng: np.random.Generator) -> None:
    """Place ``count`` equal pods, each on a node of its own if they form a group."""
    shape, pool, group, count = arrival
    tied = rng.random() < TIED_CHANCE
    span = floor.pool_range(pool)
    if tied:
        span = floor.asw_range(int(rng.integers(floor.pool_asw[pool], floor.pool_asw[pool + 1])))
    banned: list[int] = []
    for _ in range(count):
        node = free.best_fit(*span, shape, banned)
        if node == NOWHERE:
            return
        floor.placed.append(_Placed(node, shape, free.take(node, shape), pool, group, tied))
        if group is not None:
            banned.append(node)


def _drain(placed: list[_Placed], free: Free, nodes: int, target: float, rng: np.random.Generator) -> list[_Placed]:
    """Random pods leave until the GPUs in use are down to the target."""
    goal = target * nodes * GPUS_PER_NODE * WHOLE_GPU_MILLI
    used = sum(p.shape.total_milli for p in placed)
    stays = np.ones(len(placed), dtype=bool)
    for i in rng.permutation(len(placed)).tolist():
        if used <= goal:
            break
        stays[i] = False
        used -= placed[i].shape.total_milli
        free.give(placed[i].node, placed[i].shape, placed[i].devices)
    return [p for p, stay in zip(placed, stays.tolist(), strict=True) if stay]


def _locks(placed: list[_Placed], nodes: int, clustered: bool, rng: np.random.Generator) -> NDArray[np.bool_]:
    """[p] which pods may not move: 40 % at random, or 75 % on one half of the nodes and 5 % on the other."""
    if not clustered:
        locked = np.zeros(len(placed), dtype=bool)
        locked[rng.permutation(len(placed))[: round(LOCKED_SHARE * len(placed))]] = True
        return locked
    heavy = np.zeros(nodes, dtype=bool)
    heavy[rng.permutation(nodes)[: nodes // 2]] = True
    at = np.array([p.node for p in placed], dtype=np.int64)
    return np.asarray(rng.random(len(placed)) < np.where(heavy[at], *CLUSTERED_LOCKS))


def _bound_shares(placed: list[_Placed]) -> set[int]:
    """Pods that must name their devices, because laying their node's shares anew would not fit."""
    by_node: dict[int, list[int]] = {}
    whole: dict[int, int] = {}
    for i, p in enumerate(placed):
        if p.shape.shared:
            by_node.setdefault(p.node, []).append(i)
        else:
            whole[p.node] = whole.get(p.node, 0) + p.shape.gpus
    bound: set[int] = set()
    for node, members in by_node.items():
        shares = [placed[i].shape.gpu_milli for i in members]
        if not shares_fit(shares, GPUS_PER_NODE - whole.get(node, 0)):
            bound.update(members)
    return bound


def _pod(index: int, placed: _Placed, locked: bool, bound: bool) -> PodRecord:
    group = f"g-{placed.group:05d}" if placed.group is not None else None
    shape = placed.shape
    return PodRecord(
        name=f"p-{index:06d}",
        node=_node_name(placed.node),
        gpus=shape.gpus,
        gpu_milli=shape.gpu_milli if shape.gpus else WHOLE_GPU_MILLI,
        cpu_milli=shape.cpu_milli,
        memory_mib=shape.memory_mib,
        devices=list(placed.devices) if bound else [],
        gpu_model=POOLS[placed.pool][0],
        locked=locked,
        labels={GROUP_LABEL: group} if group else {},
        anti_affinity=[f"{GROUP_LABEL}={group}"] if group else [],
        node_selector={ASW_LABEL: _asw_name(placed.node)} if placed.tied else {},
    )


def _nodes(floor: _Floor) -> list[NodeRecord]:
    pool_edges = [floor.pool_range(k)[1] for k in range(len(POOLS))]
    models = np.searchsorted(pool_edges, np.arange(floor.nodes), side="right")
    return [
        NodeRecord(
            name=_node_name(i),
            gpu_model=POOLS[int(models[i])][0],
            gpus=GPUS_PER_NODE,
            cpu_milli=int(floor.cpu_milli[i]),
            memory_mib=int(floor.memory_mib[i]),
            asw=_asw_name(i),
            labels={ASW_LABEL: _asw_name(i)},
        )
        for i in range(floor.nodes)
    ]


def _node_name(node: int) -> str:
    return f"node-{node:05d}"


def _asw_name(node: int) -> str:
    return f"asw-{node // NODES_PER_ASW:04d}"
