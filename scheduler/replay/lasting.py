"""How long a job still runs: as its owner says, else as jobs like it have run before, else nobody knows.

Like it are jobs of the same tenant and size class; where fewer than ``ENOUGH`` of those ended later in their run than
this one is now, jobs of the size class alone.  Who has run longer than nearly all of its size runs on for as long again
in one case of two (P(T > t) = age / t); of a size of which too little is known the end is unknown.  Those that have not
ended count as long as they were seen, and those that ran already when the looking began count from then on (Kaplan and
Meier, JASA 53, 1958, with delayed entry): else short jobs would be taken for all of them.
"""

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from scheduler.cluster.snapshot import Longs

ENOUGH = 8
TOGETHER = 0.4  # how far a run's times are off all together: the days ahead are not quite those of the past (log)
NEARLY_NOBODY = 1e-9
NEVER_S = 1 << 40  # of an end that nobody knows: beyond every horizon
SIZES = (1, 2, 4, 8, 16, 64, 256)  # GPUs of a job up to which it is in a class; larger ones are one class
STATED, OF_TENANT, OF_SIZE, BY_AGE, UNKNOWN_END = 0, 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class Ran:
    """A job that was seen to run from an age of ``entered_s`` to one of ``left_s``, when it ended or was last seen."""

    tenant: str
    gpu_milli: int
    left_s: int
    ended: bool = True
    entered_s: int = 0


@dataclass(frozen=True, slots=True)
class Curve:
    """``survives[i]``: the part of all jobs that runs longer than ``times[i]``; at each of them somebody ended.

    ``stays[i]``: the part of those seen to run until then that runs on.  Where few were seen so early all of them may
    have ended, and others were seen later: a job of that age is judged by what was seen from its age on.
    """

    times: tuple[int, ...]
    survives: tuple[float, ...]
    stays: tuple[float, ...]
    ends: tuple[int, ...]  # jobs that were seen to end up to and at times[i]

    def later(self, age_s: int) -> int:
        """Jobs that were seen to end later in their run than this."""
        at = bisect_right(self.times, age_s)
        return self.ends[-1] - (self.ends[at - 1] if at else 0) if self.times else 0

    def draw(self, age_s: int, chance: float) -> int:
        """The run time of one that runs longer than ``age_s``.

        Beyond the last end that was seen the curve goes on as an exponential one (Brown, Hollander and Korwar, 1974).
        """
        at = bisect_right(self.times, age_s)
        here, left, wanted = self.survives[at - 1] if at else 1.0, 1.0, max(1.0 - chance, NEARLY_NOBODY)
        for place in range(at, len(self.times)):
            left *= self.stays[place]
            if left < wanted:
                return self.times[place]
        end = self.times[-1]
        if here * wanted > NEARLY_NOBODY:
            return min(NEVER_S, int(end * math.log(here * wanted) / math.log(self.survives[-1])))
        return min(NEVER_S, age_s + int((end - age_s) * math.log(wanted) / math.log(left))) if left < 1.0 else NEVER_S


NO_CURVE = Curve((), (), (), ())


def size_of(gpu_milli: int) -> int:
    """The size class of a job's GPUs together; jobs without GPUs are a class of their own."""
    gpus = -(-gpu_milli // 1000)
    return next((at + 1 for at, most in enumerate(SIZES) if gpus <= most), len(SIZES) + 1) if gpus else 0


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """By (tenant, size class), and by ("", size class) of all tenants."""

    curves: Mapping[tuple[str, int], Curve] = field(default_factory=dict)

    def of(self, tenant: str, gpu_milli: int, age_s: int) -> tuple[int, Curve]:
        """(on what it rests, run times of jobs like it)."""
        size = size_of(gpu_milli)
        for basis, key in ((OF_TENANT, (tenant, size)), (OF_SIZE, ("", size))):
            curve = self.curves.get(key, NO_CURVE)
            if (basis == OF_SIZE or tenant) and curve.later(age_s) >= ENOUGH:
                return basis, curve
        known = self.curves.get(("", size), NO_CURVE)
        return (BY_AGE if age_s and known.later(0) >= ENOUGH else UNKNOWN_END), NO_CURVE


def law_of(past: Iterable[Ran]) -> Law:
    groups: defaultdict[tuple[str, int], list[Ran]] = defaultdict(list)
    for ran in past:
        for tenant in {ran.tenant, ""}:
            groups[tenant, size_of(ran.gpu_milli)].append(ran)
    return Law({key: _curve(rows) for key, rows in groups.items()})


def resampled(past: Sequence[Ran], seed: int) -> Law:
    """The law of as many jobs drawn from the past, any of them more than once."""
    chosen = np.random.default_rng([seed, 2]).integers(0, max(1, len(past)), len(past))
    return law_of(past[at] for at in chosen.tolist())


def _curve(rows: Sequence[Ran]) -> Curve:
    entered = np.sort([row.entered_s for row in rows])
    left = np.sort([row.left_s for row in rows])
    times, ended = np.unique([row.left_s for row in rows if row.ended], return_counts=True)
    # At risk at t: who was seen from before t on and had not gone before it
    risk = np.searchsorted(entered, times, side="left") - np.searchsorted(left, times, side="left")
    stays = 1.0 - ended / np.maximum(risk, ended)
    survives = np.cumprod(stays)
    return Curve(
        tuple(times.tolist()), tuple(survives.tolist()), tuple(stays.tolist()), tuple(np.cumsum(ended).tolist())
    )


@dataclass(frozen=True, slots=True)
class Lasts:
    """One job: ``age_s`` since its start, 0 for one that waits, None where nobody knows; ``ends_in_s`` as stated."""

    tenant: str
    gpu_milli: int
    age_s: int | None
    ends_in_s: int | None = None
    group: int = -1  # -1: it is one by itself


@dataclass(frozen=True, slots=True, eq=False)
class Lasting:
    """``basis`` [j] of STATED to UNKNOWN_END.  Jobs of equal ``group`` share their draw: they are parts of one."""

    rows: tuple[Lasts, ...]
    basis: Longs
    curves: tuple[Curve, ...]
    groups: Longs  # [j] the first job of its group

    def draw(self, seed: int) -> Longs:
        """[j] seconds that each still runs, NEVER_S where that is unknown."""
        rng = np.random.default_rng(seed)
        together = math.exp(TOGETHER * rng.standard_normal())
        chance = rng.random(len(self.rows))[self.groups].tolist()
        return np.array([self._one(j, chance[j], together) for j in range(len(self.rows))], np.int64)

    def _one(self, j: int, chance: float, together: float) -> int:
        row = self.rows[j]
        if row.ends_in_s is not None:
            return max(1, row.ends_in_s)
        if self.basis[j] == UNKNOWN_END:
            return NEVER_S
        if self.basis[j] == BY_AGE:
            return min(NEVER_S, max(1, int(together * (row.age_s or 0) * chance / (1.0 - chance))))
        return max(1, int(together * (self.curves[j].draw(row.age_s or 0, chance) - (row.age_s or 0))))


def lasting_of(law: Law, rows: Iterable[Lasts]) -> Lasting:
    every = tuple(rows)
    found = [_ground(law, row) for row in every]
    first: dict[int, int] = {}
    groups = [j if row.group < 0 else first.setdefault(row.group, j) for j, row in enumerate(every)]
    basis, curves = [ground for ground, _ in found], tuple(curve for _, curve in found)
    return Lasting(every, np.array(basis, np.int64), curves, np.array(groups, np.int64))


def _ground(law: Law, row: Lasts) -> tuple[int, Curve]:
    if row.ends_in_s is not None:
        return STATED, NO_CURVE
    if row.age_s is None:  # who began nobody knows when may be about to end or not
        return UNKNOWN_END, NO_CURVE
    return law.of(row.tenant, row.gpu_milli, row.age_s)
