"""How numbers are spread: count, mean and quantiles."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.snapshot import Longs

type Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Spread:
    """None where there is nothing to say it of."""

    count: int
    mean: float | None
    p50: float | None
    p90: float | None
    p99: float | None


def spread(values: Longs | Floats) -> Spread:
    if not len(values):
        return Spread(0, None, None, None, None)
    p50, p90, p99 = (float(one) for one in np.quantile(values, [0.5, 0.9, 0.99]))
    return Spread(len(values), float(np.mean(values)), p50, p90, p99)
