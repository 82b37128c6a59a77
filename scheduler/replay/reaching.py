"""How gangs were placed, by size: GPU entropy over switches, and the all-reduce that is predicted for it.

Of the last start of each gang.  What nobody knows is counted and in no mean: on several nodes of which some have no
known switch, neither entropy nor whether a switch is crossed is known; of models whose links nobody knows, and of
shares of GPUs, no time is predicted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.snapshot import Bools, Longs
from scheduler.performance.collectives import Reach, all_reduce
from scheduler.performance.fabrics import fabric_of
from scheduler.placement.options import MESSAGE_BYTES
from scheduler.replay import columns as c
from scheduler.replay.loop import Outcome
from scheduler.replay.spread import Floats, Spread, spread

UPTO = (8, 16, 32, 64, 128, 256)  # GPUs; larger gangs are the last class
GB = 1e9


@dataclass(frozen=True, slots=True)
class OfSize:
    """Gangs of one size class that started.  Entropy in nats; an all-reduce of 1 GiB of each GPU, as nccl-tests counts.

    ``unknown_topology`` and ``unknown_fabric`` gangs are left out of the spreads to which that matters.
    """

    gpus: str
    gangs: int
    unknown_topology: int
    unknown_fabric: int
    under_one_asw: float | None  # of those whose topology is known
    entropy: Spread
    all_reduce_ms: Spread
    bus_gb_per_s: Spread


def gangs_of(outcome: Outcome) -> tuple[OfSize, ...]:
    """By size class, the smallest first; classes without a gang are left out."""
    job = outcome.state.job
    job = job[(job[:, c.J_WORKERS] > 1) & (job[:, c.J_FIRST] != c.NONE) & (job[:, c.J_GPUS] > 0)]
    models = [model for _, model in outcome.world.pools]
    milli = job[:, c.J_WORKERS] * job[:, c.J_GPUS] * job[:, c.J_MILLI]
    at = np.searchsorted(np.array(UPTO) * c.WHOLE, milli)
    return tuple(_of_size(_name(size), job[at == size], models) for size in np.unique(at).tolist())


def _name(size: int) -> str:
    below = UPTO[size - 1] + 1 if size else 1
    return f"over {UPTO[-1]}" if size == len(UPTO) else f"{below}-{UPTO[size]}"


def _of_size(name: str, job: Longs, models: Sequence[str]) -> OfSize:
    known: Bools = job[:, c.J_UNKNOWN] == 0
    seconds = predicted(job, models)
    some = known & ~np.isnan(seconds)
    gpus = (job[:, c.J_WORKERS] * job[:, c.J_GPUS])[some]
    bus = MESSAGE_BYTES / seconds[some] / GB * 2 * (gpus - 1) / gpus
    return OfSize(
        gpus=name,
        gangs=len(job),
        unknown_topology=int((~known).sum()),
        unknown_fabric=int((known & np.isnan(seconds)).sum()),
        under_one_asw=float((job[known, c.J_ASWS] == 1).mean()) if known.any() else None,
        entropy=spread(job[known, c.J_ENTROPY] / 1000),
        all_reduce_ms=spread(seconds[some] * 1000),
        bus_gb_per_s=spread(bus),
    )


def predicted(job: Longs, models: Sequence[str]) -> Floats:
    """[j] seconds of an all-reduce of MESSAGE_BYTES; NaN where nobody knows the links, or GPUs are shared."""
    gpus = job[:, c.J_WORKERS] * job[:, c.J_GPUS]
    crosses = (job[:, c.J_NODES] > 1) & (job[:, c.J_ASWS] > 1)
    kinds = np.column_stack([job[:, c.J_POOL], gpus, job[:, c.J_NODES], crosses, job[:, c.J_MILLI] == c.WHOLE])
    alike, of = np.unique(kinds, axis=0, return_inverse=True)
    return np.array([_seconds(row, models) for row in alike.tolist()], np.float64)[of.reshape(-1)]


def _seconds(kind: Sequence[int], models: Sequence[str]) -> float:
    pool, gpus, nodes, crosses, whole = kind
    fabric = fabric_of(models[pool]) if whole else None
    if fabric is None:
        return float("nan")
    return all_reduce(MESSAGE_BYTES, Reach(gpus=gpus, nodes=nodes, crosses=bool(crosses)), fabric).seconds
