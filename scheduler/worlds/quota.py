"""Exact shares of whole numbers."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def largest_remainder(total: int, weights: Sequence[float]) -> NDArray[np.int64]:
    """Whole parts in proportion to ``weights`` that add up to ``total``; the largest fractions are rounded up."""
    share = np.asarray(weights, dtype=np.float64)
    exact = total * share / share.sum()
    parts = np.floor(exact).astype(np.int64)
    missing = total - int(parts.sum())
    parts[np.argsort(parts - exact, kind="stable")[:missing]] += 1
    return parts
