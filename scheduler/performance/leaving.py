"""How long it takes until somebody has left, or serves again, as a distribution over whole seconds.

Built from a stated law of exit times (``exit_times``) or fitted to what was seen; what is cut by the grace time is the
share that is killed.  Several who leave at once, and steps one after the other, are worked out exactly on the seconds.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from scheduler.performance.exit_times import GRACE_S, ExitLaw, exit_seconds

Floats = NDArray[np.float64]
DRAWS = 20_000  # quantiles of a stated law that are put on the seconds
PRIOR = 20.0  # observations that a prior counts for
# From the last one gone to serving again, any whole second from the first to the second alike.  A sleeper's process and
# its memories stayed, so it is woken in place; nobody reports how long that takes: ours, and a simulated cluster's.
RESUME_S = (3, 8)


@dataclass(frozen=True, eq=False)
class Leaving:
    """``mass[s]``: probability of second s, adding up to 1; ``killed``: share that only the kill ends."""

    mass: Floats
    killed: float = 0.0

    @cached_property
    def cdf(self) -> Floats:
        found = np.cumsum(self.mass)
        found[-1] = 1.0
        return found

    @cached_property
    def mean_s(self) -> float:
        return float(self.mass @ np.arange(len(self.mass)))

    @property
    def longest_s(self) -> int:
        return len(self.mass) - 1

    def quantile(self, p: float) -> int:
        """The first second by which at least the share ``p`` has happened."""
        return int(np.searchsorted(self.cdf, min(p, 1.0) - 1e-12))

    def within(self, seconds: float) -> float:
        """Probability that it is over after so many seconds."""
        return float(self.cdf[min(int(seconds), self.longest_s)]) if seconds >= 0 else 0.0


AT_ONCE = Leaving(np.ones(1))


@lru_cache(maxsize=32)
def law_of(word: ExitLaw, grace_s: int = GRACE_S, write_s: int = 0) -> Leaving:
    """A stated law, cut at the grace time; ``write_s``: seconds that the hook writes a checkpoint for, beside that."""
    at = (np.arange(DRAWS) + 0.5) / DRAWS
    return _cut([exit_seconds(word, u) + write_s for u in at.tolist()], grace_s)


def fitted(
    seen: Sequence[tuple[float, bool]], prior: Leaving, *, grace_s: int = GRACE_S, weight: float = PRIOR
) -> Leaving:
    """What was seen, (seconds, killed) each, beside a prior that counts for ``weight`` observations.

    The prior must be cut at the same grace time.  Whoever was killed counts as having taken all of it.
    """
    if not seen:
        return prior
    mine = _cut([math.inf if killed else min(seconds, grace_s) for seconds, killed in seen], grace_s)
    share = len(seen) / (len(seen) + weight)
    return Leaving(_sum(share * mine.mass, (1 - share) * prior.mass), share * mine.killed + (1 - share) * prior.killed)


def later_by(law: Leaving, seconds: int, grace_s: int = GRACE_S) -> Leaving:
    """The same hook after so many seconds of writing; the grace time does not grow."""
    if seconds <= 0:
        return law
    mass = np.zeros(grace_s + 1)
    upto = min(len(law.mass), max(0, grace_s + 1 - seconds))
    mass[seconds : seconds + upto] = law.mass[:upto]
    mass[grace_s] += law.mass[upto:].sum()
    # Who ends exactly with the grace time is not told from who is killed by it: all of it is taken for killed
    return Leaving(mass, min(1.0, max(law.killed, float(mass[grace_s]))))


def after(law: Leaving, elapsed_s: float) -> Leaving:
    """What is left for somebody who was told ``elapsed_s`` ago and has not left yet."""
    gone = max(0, int(elapsed_s))
    if gone == 0:
        return law
    rest = law.mass[gone:]
    if not len(rest) or rest.sum() <= 0:
        return AT_ONCE  # the grace time is over
    rest = rest / rest.sum()
    return Leaving(rest, min(1.0, law.killed / max(float(law.mass[gone:].sum()), 1e-12)))


def last_of(laws: Iterable[Leaving]) -> Leaving:
    """Until the last of them, who leave independently of each other; ``killed``: that at least one of them is."""
    laws = tuple(laws)
    if not laws:
        return AT_ONCE
    longest = max(len(law.mass) for law in laws)
    cdf, spared = np.ones(longest), 1.0
    for law in laws:
        cdf = cdf * np.append(law.cdf, np.ones(longest - len(law.cdf)))
        spared *= 1 - law.killed
    return Leaving(np.diff(cdf, prepend=0.0), 1 - spared)


def plus(first: Leaving, then: Leaving) -> Leaving:
    """One after the other; the kills of the first are told."""
    return Leaving(np.convolve(first.mass, then.mass), first.killed)


@lru_cache(maxsize=8)
def resuming(least_s: int = RESUME_S[0], most_s: int = RESUME_S[1]) -> Leaving:
    mass = np.zeros(most_s + 1)
    mass[least_s:] = 1 / (most_s + 1 - least_s)
    return Leaving(mass)


def _cut(seconds: Sequence[float], grace_s: int) -> Leaving:
    taken = np.minimum(np.asarray(seconds, np.float64), grace_s)
    mass = np.bincount(np.rint(taken).astype(np.int64), minlength=grace_s + 1) / len(taken)
    return Leaving(mass, float(np.mean(np.asarray(seconds) > grace_s)))


def _sum(one: Floats, other: Floats) -> Floats:
    longest = max(len(one), len(other))
    found: Floats = np.zeros(longest)
    found[: len(one)] += one
    found[: len(other)] += other
    return found
