"""What a storm looks like over time: who serves, who still works, what is written."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.performance.leaving import Leaving


@dataclass(frozen=True, slots=True)
class Wave:
    """Sleepers that are called at one instant.  ``law``: from the call until all of them serve."""

    at_s: int
    gpu_milli: int
    leaver_milli: int
    state_mib: int
    law: Leaving
    writing_s: int  # so long its checkpoints are written


@dataclass(frozen=True, slots=True)
class Step:
    """At ``at_s``: GPU milli that serve again (in the mean), that are being given back, that are lent still."""

    at_s: int
    serving_milli: int
    returning_milli: int
    lent_milli: int
    write_mib_per_s: float


def serving_by(waves: Sequence[Wave], certain: float) -> int:
    """The first second by which all of them serve, with this probability."""
    low = min(one.at_s for one in waves)
    high = max(one.at_s + one.law.longest_s for one in waves)
    cdf = np.ones(high - low + 1)
    for one in waves:
        start = one.at_s - low
        cdf[:start] = 0.0
        rest = cdf[start:]
        rest *= np.append(one.law.cdf, np.ones(max(0, len(rest) - len(one.law.cdf))))[: len(rest)]
    return low + int(np.searchsorted(cdf, certain - 1e-12))


def timeline(waves: Sequence[Wave], low_s: int, high_s: int, step_s: int) -> tuple[Step, ...]:
    """From one step before the first call to the end, and that instant itself."""
    start = low_s - step_s
    instants = [*range(start, high_s, step_s), high_s]
    return tuple(_step(waves, at) for at in instants)


def _step(waves: Sequence[Wave], at_s: int) -> Step:
    serving = sum(one.gpu_milli * one.law.within(at_s - one.at_s) for one in waves)
    called = sum(one.gpu_milli for one in waves if one.at_s <= at_s)
    lent = sum(one.leaver_milli for one in waves if one.at_s > at_s)
    writing = sum(one.state_mib / one.writing_s for one in waves if one.at_s <= at_s < one.at_s + one.writing_s)
    return Step(at_s, round(serving), max(0, called - round(serving)), lent, round(writing, 1))
