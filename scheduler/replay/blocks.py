"""Time fragmentation: how long until a block of so many GPUs is free at a level, and for how long it stays so."""

from dataclasses import dataclass

import numpy as np

from scheduler.cluster.snapshot import Bools
from scheduler.replay.sampling import LEVELS, SIZES, Series


@dataclass(frozen=True, slots=True)
class Block:
    """Of one size at one level, in any pool.  Hours from any instant until one is free; None: not within the replay.

    ``free_hours``: median length of the spans in which one was free all the time, None where none ever was.
    """

    gpus: int
    level: str
    share_of_time: float
    count: float  # free at once, in the mean
    within_p50_hours: float | None
    within_p90_hours: float | None
    free_hours: float | None


def blocks_of(series: Series, sample_s: int) -> tuple[Block, ...]:
    """By size, then by level; resolution is that of the samples.  Sizes that never were free are told as such."""
    counts = series.fits.sum(axis=1)
    return tuple(
        _block(counts[:, level, size] > 0, float(counts[:, level, size].mean()), SIZES[size], LEVELS[level], sample_s)
        for size in range(len(SIZES))
        for level in range(len(LEVELS))
    )


def _block(free: Bools, count: float, gpus: int, level: str, sample_s: int) -> Block:
    hours = sample_s / 3600
    until = waits(free)
    p50, p90 = (float(np.quantile(until, q, method="higher")) for q in (0.5, 0.9))
    spans = runs(free)
    return Block(
        gpus=gpus,
        level=level,
        share_of_time=float(free.mean()),
        count=count,
        within_p50_hours=p50 * hours if np.isfinite(p50) else None,
        within_p90_hours=p90 * hours if np.isfinite(p90) else None,
        free_hours=float(np.median(spans)) * hours if len(spans) else None,
    )


def waits(free: Bools) -> np.ndarray:
    """[i] samples from each instant to the next one at which a block is free; infinite where none follows."""
    found = np.full(len(free), np.inf)
    upcoming = np.inf
    for at in range(len(free) - 1, -1, -1):
        upcoming = 0.0 if free[at] else upcoming + 1
        found[at] = upcoming
    return found


def runs(free: Bools) -> np.ndarray:
    """Lengths of the spans in which a block was free, in samples."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], free.astype(np.int8), [0]])))
    return np.asarray(edges[1::2] - edges[::2])
