"""Whole-number sums by group."""

import numpy as np

from scheduler.cluster.snapshot import UNKNOWN, Bools, Ints, Longs


def sum_by(group: Ints | Longs, amount: Ints | Longs | Bools, groups: int) -> Longs:
    """[group] the sum of ``amount`` over its rows; rows of group UNKNOWN count nowhere."""
    known = group != UNKNOWN
    # Sums of GPUs, milli-cores and MiB stay below 2**53, so the floats of bincount are exact.
    return np.bincount(group[known], weights=amount[known], minlength=groups).astype(np.int64)
