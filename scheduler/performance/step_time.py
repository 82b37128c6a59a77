"""How long a training step takes on a placement: compute, collectives, pipeline stall and imbalance.

Dense transformer of P parameters, T tokens a step (Narayanan et al., SC '21):
    compute    = 6 P T / (n F u), n GPUs of F 16-bit FLOP/s of which the job reaches the share u
    stall      = compute (pp - 1) / m, m micro-batches of each replica
    tensor     = 4 all-reduces of b s h 16-bit values for each layer of a stage and micro-batch, over tp GPUs
    data       = one all-reduce of 2 P / (tp pp) bytes over dp replicas, of which the share ``overlap`` is hidden
    expert     = 4 all-to-alls for each layer, over ep GPUs
    imbalance  = the share that the slowest rank takes longer, of compute

Ranks lie tensor innermost, then data, then pipeline: nodes of one domain stand together in the assignment.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scheduler.cluster.errors import ParamError, within
from scheduler.performance.collectives import Reach, all_reduce, all_to_all
from scheduler.performance.fabrics import Fabric

BYTES = 2  # of a 16-bit value
TERMS = ("compute", "tensor", "expert", "data", "stall", "imbalance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallelism:
    """Ways of each kind; dp 0: whatever the GPUs give."""

    dp: int = 0
    tp: int = 1
    pp: int = 1
    ep: int = 1

    def __post_init__(self) -> None:
        for field in ("tp", "pp", "ep"):
            within(field, getattr(self, field), 1, 65_536)
        within("dp", self.dp, 0, 65_536)

    def over(self, gpus: int) -> "Parallelism":
        """With dp said.  Raises ``ParamError`` where the ways do not multiply to the GPUs."""
        each = self.tp * self.pp
        dp = self.dp or gpus // each
        if dp * each != gpus:
            raise ParamError("dp", dp, f"dp x tp x pp is {dp * each}, and there are {gpus} GPUs")
        if self.ep > dp * self.tp:
            raise ParamError("ep", self.ep, f"must be at most dp x tp = {dp * self.tp}")
        return Parallelism(dp=dp, tp=self.tp, pp=self.pp, ep=self.ep)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What is trained.  Raises ``ParamError`` for the first field out of range."""

    parameters: float = 7e9
    layers: int = 32
    hidden: int = 4096
    tokens: int = 4_194_304  # of a step
    sequence: int = 4096
    micro_batches: int = 0  # of each replica; 0: as many as there are sequences
    utilisation: float = 0.4  # of the 16-bit peak, without communication
    overlap: float = 0.5  # of the data-parallel all-reduce that is hidden behind compute
    imbalance: float = 0.0

    def __post_init__(self) -> None:
        for field, low, high in (
            ("parameters", 1e6, 1e14),
            ("utilisation", 0.01, 1),
            ("overlap", 0, 1),
            ("imbalance", 0, 10),
        ):
            if not low <= getattr(self, field) <= high:
                raise ParamError(field, getattr(self, field), f"must be {low:g} to {high:g}")
        for field, most in (("layers", 10_000), ("hidden", 1_000_000), ("tokens", 1 << 40), ("sequence", 1 << 24)):
            within(field, getattr(self, field), 1, most)
        within("micro_batches", self.micro_batches, 0, 1 << 24)


@dataclass(frozen=True, slots=True)
class Step:
    """Seconds by term; ``seconds`` is their sum."""

    terms: dict[str, float]

    @property
    def seconds(self) -> float:
        return sum(self.terms.values())


@dataclass(frozen=True, slots=True)
class Ranks:
    """[rank] Node and access switch of each GPU; ``switch`` None: nobody knows, and nobody shares it."""

    node: tuple[int, ...]
    switch: tuple[int | None, ...]

    def reach(self, members: Sequence[int]) -> Reach:
        nodes = {self.node[i] for i in members}
        switches = {self.switch[i] for i in members}
        crosses = len(nodes) > 1 and (len(switches) > 1 or None in switches)
        return Reach(gpus=len(members), nodes=len(nodes), crosses=crosses)

    def worst(self, groups: Sequence[Sequence[int]], size: float, fabric: Fabric, *, spread: bool = False) -> float:
        """Seconds of the slowest group: all of them talk at the same time, and wait for one another."""
        kinds = {self.reach(group) for group in groups}
        collective = all_to_all if spread else all_reduce
        return max((collective(size, kind, fabric).seconds for kind in kinds), default=0.0)


def step_time(model: Model, parallelism: Parallelism, ranks: Ranks, tflops: float, fabric: Fabric) -> Step:
    """``tflops`` of one GPU, 16-bit and dense.  Raises ``ParamError`` where the ways do not fit the GPUs."""
    gpus = len(ranks.node)
    way = parallelism.over(gpus)
    compute = 6 * model.parameters * model.tokens / (gpus * tflops * 1e12 * model.utilisation)
    batches = model.micro_batches or max(1, model.tokens // (model.sequence * way.dp))
    values = model.tokens / way.dp / batches * model.hidden  # activations of a micro-batch
    layers = model.layers / way.pp
    tensor = 4 * layers * batches * ranks.worst(tensor_groups(way), values * BYTES, fabric)
    expert = 0.0
    if way.ep > 1:
        expert = 4 * layers * batches * ranks.worst(expert_groups(way), values * BYTES, fabric, spread=True)
    weights = BYTES * model.parameters / (way.tp * way.pp)
    data = (1 - model.overlap) * ranks.worst(data_groups(way), weights, fabric)
    return Step({
        "compute": compute,
        "tensor": tensor,
        "expert": expert,
        "data": data,
        "stall": (compute + tensor + expert) * (way.pp - 1) / batches,
        "imbalance": compute * model.imbalance,
    })  # fmt: skip


def tensor_groups(way: Parallelism) -> list[list[int]]:
    return [list(range(i, i + way.tp)) for i in range(0, way.tp * way.dp * way.pp, way.tp)]


def data_groups(way: Parallelism) -> list[list[int]]:
    stage = way.tp * way.dp
    return [[p * stage + t + d * way.tp for d in range(way.dp)] for p in range(way.pp) for t in range(way.tp)]


def expert_groups(way: Parallelism) -> list[list[int]]:
    """Neighbours of one stage; where ep does not divide them, the last group is smaller."""
    stage = way.tp * way.dp
    return [
        list(range(first, min(first + way.ep, (p + 1) * stage)))
        for p in range(way.pp)
        for first in range(p * stage, (p + 1) * stage, way.ep)
    ]
