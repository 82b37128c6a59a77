"""Windows of standby where a trace names none: services that sleep around midnight, as many as the study's curve says.

The OSDI '26 study measures a peak of 10,000 GPU-hours at midnight of 155,410 GPUs; the fall to a tenth at noon, linear
in between, is that of ``worlds.marginals``.  Who sleeps is drawn by the job's name.
"""

from collections.abc import Sequence

import numpy as np

from scheduler.cluster.snapshot import Bools, Longs
from scheduler.replay import columns as c
from scheduler.replay.trace import word_of
from scheduler.worlds.marginals import STANDBY_FLOOR, STANDBY_PEAK

LONGEST_S = 23 * 3600  # who would sleep all day is called for an hour around noon
SERVICE_S = c.DAY_S  # HP work of a day or more is taken for a service where nobody says what it is
PEAK = STANDBY_PEAK


def services_of(asked: Longs) -> Bools:
    """[j] HP jobs with GPUs that run for a day or longer."""
    return np.asarray((asked[:, c.J_TIER] == c.HP) & (asked[:, c.J_GPUS] > 0) & (asked[:, c.J_DURATION] >= SERVICE_S))


def put_to_sleep(
    asked: Longs, names: Sequence[str], services: Bools, *, gpus: int, until_s: int, peak: float = PEAK
) -> int:
    """Give windows to services until ``peak`` of all ``gpus`` sleep at midnight, in the mean; how many have one."""
    milli = asked[:, c.J_WORKERS] * asked[:, c.J_GPUS] * asked[:, c.J_MILLI]
    held = float((milli * asked[:, c.J_DURATION])[services].sum()) / max(1, until_s)
    if not held or peak <= 0:
        return 0
    share = min(1.0, peak * gpus * c.WHOLE / held)
    drawn = np.array([_mixed(word_of(name)) for name in names], np.float64) / 2**32
    chosen = services & (drawn < share)
    # Asleep while the curve is above the job's own part of the peak: until 12 h (1 - part) / (1 - floor) from midnight
    half = 12 * 3600 * (1 - drawn / share) / (1 - STANDBY_FLOOR)
    length = np.minimum(LONGEST_S, 2 * half).astype(np.int64)
    chosen &= length > 0
    asked[chosen, c.J_SLEEP_S] = length[chosen]
    asked[chosen, c.J_SLEEP_AT] = (c.DAY_S - length[chosen] // 2) % c.DAY_S
    return int(chosen.sum())


def _mixed(word: int) -> int:
    """The finaliser of MurmurHash3: names that differ in a digit are as far apart as any others."""
    for factor, by in ((0x85EBCA6B, 16), (0xC2B2AE35, 13)):
        word = (word ^ word >> by) * factor & 0xFFFFFFFF
    return word ^ word >> 16
