"""What an eviction was predicted to lose, and what it lost: one definition for both, to be set side by side.

Realised, in GPU-seconds: G (gone - kept) + G (serving again - started again), where ``kept`` is the instant of the work
that the job went on from.  Predicted at notice: the terms of ``performance.stopping`` without what is owed for a
guarantee, which is money and no work.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from scheduler.cluster.errors import ParamError
from scheduler.performance.stopping import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """One eviction as it was.  Seconds on any one clock; raises ``ParamError`` for an order that cannot be.

    ``back_s``: from being started again to the first new work: start, reading back, cold caches; None: not yet known.
    """

    gpu_milli: int
    kept_s: float
    noticed_s: float
    gone_s: float
    back_s: float | None = None

    def __post_init__(self) -> None:
        if self.gpu_milli < 0:
            raise ParamError("gpu_milli", self.gpu_milli, "must not be negative")
        if self.gone_s < max(self.noticed_s, self.kept_s):
            raise ParamError("gone_s", self.gone_s, "is before it was told, or before what it kept")


def predicted(terms: Terms) -> float:
    """GPU-seconds that stopping loses, by what was known at notice."""
    return terms.total - terms.credit


def realised(ended: Ended) -> float | None:
    """GPU-seconds; None while it has not come back."""
    if ended.back_s is None:
        return None
    return ended.gpu_milli / 1000 * (ended.gone_s - ended.kept_s + ended.back_s)


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Over evictions that came back.  Errors are parts of what was realised; None where there are none."""

    evictions: int
    median_error: float | None
    p90_error: float | None
    bias: float | None  # sum predicted / sum realised - 1


def accuracy(pairs: Iterable[tuple[float, float | None]]) -> Accuracy:
    """From (predicted, realised); those that have not come back, and those that lost nothing, are left out."""
    kept = [(said, was) for said, was in pairs if was]
    errors = sorted(abs(said - was) / was for said, was in kept)
    if not errors:
        return Accuracy(0, None, None, None)
    total = sum(was for _, was in kept)
    return Accuracy(len(errors), median(errors), errors[_last(errors, 0.9)], sum(said for said, _ in kept) / total - 1)


def _last(errors: Sequence[float], share: float) -> int:
    return min(len(errors) - 1, int(share * len(errors)))
