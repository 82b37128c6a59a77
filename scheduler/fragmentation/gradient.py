"""F_n(M), the statistical fragmentation of Weng et al. (ATC '23), and its gradient for one placement.

For a node n and a request class m let R be the GPU thousandths of n that nobody holds.  Then

    F_n(m) = R                                  if m asks for no GPU, or cannot run on n at all
                                                (CPU, memory, GPU model, not enough devices with room for its share)
    F_n(m) = sum of the device rests below the  otherwise: what m leaves behind because no device there can serve it
             share that m needs
    F_n(M) = sum over m of p_m * F_n(m),  F(M) = sum over n of F_n(M)

A node that is cordoned or not ready has no R: its GPUs are lost to everybody and counted as unhealthy instead.
All sums are whole numbers: fragments are kept as thousandths of a GPU times the total weight of the mix, so a
result depends neither on binary floats nor on the order of rows.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import Bools, Longs
from scheduler.fragmentation.demand import DemandClass, Mix
from scheduler.fragmentation.sums import sum_by


@dataclass(frozen=True, slots=True)
class OpenNode:
    """What one node still offers: thousandths left on each device, milli-cores, MiB, its GPU model ("" for none)."""

    rests: tuple[int, ...]
    cpu_milli: int
    memory_mib: int
    model: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class OpenNodes:
    """The same for all nodes.  Axes: n node, r touched device with something left (r is ordered by node)."""

    free: Longs  # [n] whole devices that nobody touches
    cpu_milli: Longs  # [n]
    memory_mib: Longs  # [n]
    model: Longs  # [n] -> models, -1 for none
    models: tuple[str, ...]
    rest_node: Longs  # [r] -> n
    rest_milli: Longs  # [r] 1 to 999

    @property
    def unallocated_milli(self) -> Longs:
        """[n] R, the thousandths nobody holds."""
        return self.free * WHOLE_GPU_MILLI + self.below(WHOLE_GPU_MILLI)

    def below(self, gpu_milli: int) -> Longs:
        """[n] sum of the touched devices' rests that are too small for a share of ``gpu_milli``."""
        small = self.rest_milli < gpu_milli
        return sum_by(self.rest_node[small], self.rest_milli[small], self.free.size)

    def devices(self, gpu_milli: int) -> Longs:
        """[n] devices with room for a share of ``gpu_milli``."""
        large = self.rest_milli >= gpu_milli
        return self.free + np.bincount(self.rest_node[large], minlength=self.free.size)


def fragments(nodes: OpenNodes, mix: Mix) -> Longs:
    """[n] F_n(M) times ``mix.total``, in thousandths of a GPU; whole numbers, exact."""
    unallocated = nodes.unallocated_milli
    lost = unallocated * mix.total
    if len(mix) == 0:
        return lost
    cpus, cpu_rank = _ranks(mix.cpu_milli, nodes.cpu_milli)
    memories, memory_rank = _ranks(mix.memory_mib, nodes.memory_mib)
    for rows in _groups(mix):
        gpus, share, accepted = (int(c[rows[0]]) for c in (mix.gpus, mix.gpu_milli, mix.models))
        if gpus == 0:
            continue
        roomy = np.flatnonzero((nodes.devices(share) >= gpus) & _accepts(nodes, mix.model_sets[accepted]))
        table = _weight_within(cpus, memories, mix, rows)
        runs = table[cpu_rank[roomy], memory_rank[roomy]]
        lost[roomy] -= runs * (unallocated - nodes.below(share))[roomy]
    return lost


def fragment(node: OpenNode, mix: Mix) -> int:
    """F_n(M) of one node times ``mix.total``: the definition, class by class."""
    classes = zip(mix.gpus, mix.gpu_milli, mix.cpu_milli, mix.memory_mib, mix.models, mix.weight, strict=True)
    return sum(
        int(weight) * _class_fragment(node, (int(gpus), int(share), int(cpu), int(memory)), mix.model_sets[models])
        for gpus, share, cpu, memory, models, weight in classes
    )


def gradient(node: OpenNode, request: DemandClass, mix: Mix, devices: Iterable[int] | None = None) -> Fraction:
    """F_n(M) after placing ``request`` on ``node`` minus before, in thousandths of a GPU.

    ``devices`` are the indices in ``node.rests`` that it takes; where they are not given, the choice with the least
    increase (whole GPUs are alike, so the first free ones).  ValueError if it does not fit, or the mix is empty.
    """
    if mix.total == 0:
        raise ValueError("an empty mix has no fragmentation")
    choices = [tuple(devices)] if devices is not None else _choices(node, request)
    if not choices:
        raise ValueError("the request does not fit on the node")
    now = fragment(node, mix)
    return min(Fraction(fragment(taken(node, request, choice), mix) - now, mix.total) for choice in choices)


def taken(node: OpenNode, request: DemandClass, devices: tuple[int, ...]) -> OpenNode:
    """The node once ``request`` holds its share of each of ``devices``; ValueError if they cannot serve it."""
    rests = list(node.rests)
    for device in devices:
        rests[device] -= request.gpu_milli
    cpu, memory = node.cpu_milli - request.cpu_milli, node.memory_mib - request.memory_mib
    if len(set(devices)) != request.gpus or min([cpu, memory, *rests]) < 0:
        raise ValueError("the devices cannot serve the request")
    return replace(node, rests=tuple(rests), cpu_milli=cpu, memory_mib=memory)


def _class_fragment(node: OpenNode, need: tuple[int, int, int, int], models: tuple[str, ...]) -> int:
    gpus, share, cpu, memory = need
    able = sum(rest >= share for rest in node.rests)
    fits = node.cpu_milli >= cpu and node.memory_mib >= memory and (not models or node.model in models)
    if gpus == 0 or not fits or able < gpus:
        return sum(node.rests)
    return sum(rest for rest in node.rests if rest < share)


def _choices(node: OpenNode, request: DemandClass) -> list[tuple[int, ...]]:
    """Sets of devices worth trying: for one share every device that holds it, else the fullest that do."""
    able = [index for index, rest in enumerate(node.rests) if rest >= request.gpu_milli]
    fits = node.cpu_milli >= request.cpu_milli and node.memory_mib >= request.memory_mib
    if not fits or len(able) < request.gpus or (request.models and node.model not in request.models):
        return []
    if request.gpus == 1:
        return [(index,) for index in able]
    return [tuple(sorted(able, key=lambda index: (node.rests[index], index))[: request.gpus])]


def _groups(mix: Mix) -> list[Longs]:
    """Row numbers of classes that ask for the same devices of the same models (rows are sorted by just that)."""
    kinds = np.stack([mix.gpus, mix.gpu_milli, mix.models])
    _, group = np.unique(kinds, axis=1, return_inverse=True)
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)


def _accepts(nodes: OpenNodes, models: tuple[str, ...]) -> Bools:
    if not models:
        return np.ones(nodes.model.size, np.bool_)
    wanted = np.array([model in models for model in nodes.models] + [False], np.bool_)
    return wanted[nodes.model]


def _ranks(asked: Longs, left: Longs) -> tuple[Longs, Longs]:
    """Distinct amounts asked, and for each node how many of them it can serve."""
    amounts = np.unique(asked)
    return amounts, np.searchsorted(amounts, left, side="right")


def _weight_within(cpus: Longs, memories: Longs, mix: Mix, rows: Longs) -> Longs:
    """Table [i, j]: weight of the classes in ``rows`` that need at most the i-1st CPU and the j-1st memory amount."""
    table = np.zeros((cpus.size + 1, memories.size + 1), np.int64)
    at = np.searchsorted(cpus, mix.cpu_milli[rows]) + 1, np.searchsorted(memories, mix.memory_mib[rows]) + 1
    np.add.at(table, at, mix.weight[rows])
    return table.cumsum(axis=0).cumsum(axis=1)
