"""What is said of standby and of those who were told to leave, by ground."""

from dataclasses import dataclass

import numpy as np

from scheduler.replay import columns as c
from scheduler.replay.loop import Outcome

MILLI_HOURS = 1000 * 3600.0


@dataclass(frozen=True, slots=True)
class Standby:
    """GPU-hours that sleepers held, and of those what LP ran on; seconds from being called to serving, over all calls.

    ``jobs``: that have windows.  Quantiles are None where nobody was called; calls that took SLOWEST seconds or more
    count as so long.
    """

    jobs: int
    reserved_gpu_hours: float
    lent_gpu_hours: float
    calls: int
    serving_p50_s: float | None
    serving_p95_s: float | None
    serving_p99_s: float | None


@dataclass(frozen=True, slots=True)
class OfGround:
    """Jobs that were told to leave on one ground, or stopped by a failure; work and time lost without the restart."""

    ground: str
    jobs: int
    lost_gpu_hours: float


def standby_of(outcome: Outcome) -> Standby:
    state = outcome.state
    seconds = np.repeat(np.arange(len(state.called)), state.called)
    p50, p95, p99 = (
        (float(one) for one in np.quantile(seconds, [0.5, 0.95, 0.99], method="higher"))
        if len(seconds)
        else (None, None, None)
    )
    windows = (state.job[:, c.J_SLEEP_S] > 0) | (state.job[:, c.J_WINDOWS] > 0)
    return Standby(
        jobs=int(windows.sum()),
        reserved_gpu_hours=float(state.pool[:, c.P_ASLEEP_TIME].sum() / MILLI_HOURS),
        lent_gpu_hours=float(state.pool[:, c.P_BORROWED_TIME].sum() / MILLI_HOURS),
        calls=int(state.clock[c.C_CALLS]),
        serving_p50_s=p50,
        serving_p95_s=p95,
        serving_p99_s=p99,
    )


def grounds_of(outcome: Outcome) -> tuple[OfGround, ...]:
    clock = outcome.state.clock
    return tuple(
        OfGround(ground, int(clock[c.C_TOLD + at]), float(clock[c.C_LOST + at] / MILLI_HOURS))
        for at, ground in enumerate(c.GROUNDS)
    )
