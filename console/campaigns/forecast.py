"""When a campaign will be over, from how long its groups have taken so far; no clock and no database in here."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

LEAST = 2  # groups that must be over before anything is said
# Student's t, 90 % quantile (an interval of 80 %), by degrees of freedom; from 30 on the normal one is near enough.
T_90 = (3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383, 1.372, 1.363, 1.356, 1.350, 1.345, 1.341)
T_MANY = ((20, 1.325), (30, 1.310))
NORMAL = 1.282


@dataclass(frozen=True, slots=True)
class Forecast:
    """Seconds from now, and the interval in which the end lies with 80 %, if groups go on as they went."""

    seconds: float
    low: float
    high: float
    groups: int  # on which it rests
    mean: float  # seconds a group took
    late: bool = False  # a group under way has taken longer than that already


def forecast(took: Sequence[float], under_way: Sequence[float], waiting: int, at_once: int) -> Forecast | None:
    """``took``: seconds of groups that are back; ``under_way``: seconds since each of these began.

    The sum of k further groups has the variance k s² (each differs) + k² s²/n (the mean itself is uncertain); with
    several at once they count as so many fewer in a row.  None with fewer than ``LEAST`` groups.
    """
    n = len(took)
    if n < LEAST:
        return None
    mean = sum(took) / n
    variance = sum((one - mean) ** 2 for one in took) / (n - 1)
    begun = max((max(0.0, mean - since) for since in under_way), default=0.0)
    rows = math.ceil(waiting / at_once)
    k = rows + (1 if under_way else 0)
    spread = quantile(n - 1) * math.sqrt(variance * (k + k * k / n))
    seconds = begun + rows * mean
    late = any(since > mean for since in under_way)
    return Forecast(seconds, max(0.0, seconds - spread), seconds + spread, n, mean, late)


def quantile(freedom: int) -> float:
    if freedom <= len(T_90):
        return T_90[freedom - 1]
    return next((t for most, t in T_MANY if freedom <= most), NORMAL)
