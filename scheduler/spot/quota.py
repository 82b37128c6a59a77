"""How many GPUs of a model spot work may hold: what is left beside the reserve for HP, times a bounded feedback.

GFS (ASPLOS '26): reserved = floor of the p quantile of HP demand, cut to [0, C]; quota = eta x (C - reserved).
Every 300 s, with e the spot eviction rate of the last 4 h: e >= 1.5 (1 - p) makes eta x (1 - p) / e; e <= 0.5 (1 - p)
while the oldest spot job has waited over an hour makes it x (1.5 - e / (1 - p)), as the paper has it.  [0.25, 1.25] are
SchedNav's bounds.  That rule jumps: at e = 1.5 (1 - p) from x 1 to x 0.67, and again every 300 s as long as the same
evictions are in the window.

Ours, ``smooth``: log eta moves by step x hours x pressure, at most ``step`` an hour either way.  The pressure falls
from 1 (nobody is evicted, somebody has waited for twice ``wait_s``) through 0 (e = 1 - p, what the reserve promises) to
-1 (e = 2 (1 - p) or more); while nobody waits and few are evicted eta goes back to 1.  It is continuous in e, wait and
time, so that one eviction more never halves what others may use.
"""

import math
from dataclasses import asdict, dataclass

from scheduler.cluster.errors import ParamError, within
from scheduler.spot.ahead import Path, share

PAPER, SMOOTH = "paper", "smooth"
FEEDBACKS = (PAPER, SMOOTH)
WHOLE_MILLI = 1000
HOUR_S = 3600.0
NARROW = 1e-9  # 1 - 0.9 is no tenth in binary
# What moved eta: words for people
RAISED, LOWERED, BACK, STEADY, BLIND = (
    "spot work waits and few are evicted",
    "more are evicted than the reserve promises",
    "nobody waits: back towards 1",
    "evictions are as rare as the reserve promises",
    "no spot work ended in the window, so the eviction rate is not known",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaParams:
    """Raises ``ParamError`` for the first bad field."""

    level: float = 0.9  # p: share of hours in which HP finds its GPUs in the reserve
    hours: int = 1  # ahead: the least free of them counts
    window_s: int = 4 * 3600  # of which the eviction rate is taken
    wait_s: int = 3600
    refresh_s: int = 300
    low: float = 0.25
    high: float = 1.25
    feedback: str = SMOOTH
    step: float = 0.25  # of log eta, an hour at most

    def __post_init__(self) -> None:
        share("level", self.level, 0, 1)
        within("hours", self.hours, 1, 48)
        within("window_s", self.window_s, 60, 7 * 86_400)
        within("wait_s", self.wait_s, 1, 7 * 86_400)
        within("refresh_s", self.refresh_s, 1, 86_400)
        share("low", self.low, 0, 1.000001)
        share("high", self.high, 0.999999, 10)
        share("step", self.step, 0, 10)
        if self.feedback not in FEEDBACKS:
            raise ParamError("feedback", self.feedback, f"must be one of {', '.join(FEEDBACKS)}")

    def as_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Eta:
    """``moved_by``: factor on the value before; ``bounded``: it would have gone further."""

    value: float
    moved_by: float
    why: str
    bounded: bool = False


@dataclass(frozen=True, slots=True)
class SpotQuota:
    """Milli-GPUs of one model, whole GPUs; None with ``why`` where the demand that is reserved for is not known."""

    capacity_milli: int
    reserved_milli: int | None
    quota_milli: int | None
    eta: float
    level: float
    why: str = ""


DEFAULT = QuotaParams()


def spot_quota(path: Path, capacity_milli: int, eta: float, params: QuotaParams = DEFAULT) -> SpotQuota:
    """Of the pool's forecast.  Raises ParamError where ``path`` has fewer hours, or was not asked for that quantile."""
    within("capacity_milli", capacity_milli, 0, 1 << 50)
    if path.why:
        return SpotQuota(capacity_milli, None, None, eta, params.level, path.why)
    quantile = path.at(params.level)
    if len(quantile) < params.hours:
        raise ParamError("hours", params.hours, f"the forecast looks {len(quantile)} h ahead")
    reserved = max(reserve(float(one), capacity_milli) for one in quantile[: params.hours])
    quota = min(capacity_milli, int(eta * (capacity_milli - reserved)))
    return SpotQuota(capacity_milli, reserved, quota // WHOLE_MILLI * WHOLE_MILLI, eta, params.level)


def reserve(quantile_milli: float, capacity_milli: int) -> int:
    """Whole GPUs, rounded down and cut to what there is, as published."""
    return min(capacity_milli, max(0, math.floor(quantile_milli / WHOLE_MILLI) * WHOLE_MILLI))


def eviction_rate(evicted: int, ended: int) -> float | None:
    """Share of spot runs that ended in the window by eviction; None where none ended."""
    within("evicted", evicted, 0, 1 << 50)
    within("ended", ended, evicted, 1 << 50)
    return evicted / ended if ended else None


def next_eta(
    eta: float, rate: float | None, oldest_wait_s: int | None, params: QuotaParams = DEFAULT, *, elapsed_s: int = 0
) -> Eta:
    """``oldest_wait_s``: None where nobody waits; ``elapsed_s`` since the last call, 0: one ``refresh_s``.

    Never outside [low, high], never further than a step for the smooth rule; unknown evictions move nothing.
    """
    share("eta", eta, 0, 100)
    if rate is not None:
        share("rate", rate, -1e-12, 1 + 1e-12)
    within("elapsed_s", elapsed_s, 0, 30 * 86_400)
    if rate is None:
        return _cut(eta, 1.0, BLIND, params)
    if params.feedback == PAPER:
        return _cut(eta, *_paper(rate, oldest_wait_s or 0, params), params)
    return _cut(eta, *_smooth(eta, rate, oldest_wait_s or 0, elapsed_s or params.refresh_s, params), params)


def _paper(rate: float, wait_s: int, params: QuotaParams) -> tuple[float, str]:
    promised = 1 - params.level
    if rate >= 1.5 * promised - NARROW:
        return promised / rate, LOWERED
    if rate <= 0.5 * promised + NARROW and wait_s > params.wait_s:
        return 1.5 - rate / promised, RAISED
    return 1.0, STEADY


def _smooth(eta: float, rate: float, wait_s: int, elapsed_s: int, params: QuotaParams) -> tuple[float, str]:
    most = params.step * elapsed_s / HOUR_S
    over = rate / (1 - params.level) - 1
    if over > 0:
        return math.exp(-most * min(1.0, over)), LOWERED
    waits = min(1.0, max(0.0, wait_s / params.wait_s - 1))
    back = max(-1.0, min(1.0, -math.log(eta) / params.step)) * (1 - waits)
    pull = -over * (waits + back)
    why = RAISED if waits else BACK if abs(back) > 1e-9 else STEADY
    return math.exp(most * max(-1.0, min(1.0, pull))), why if pull else STEADY


def _cut(eta: float, factor: float, why: str, params: QuotaParams) -> Eta:
    value = min(params.high, max(params.low, eta * factor))
    return Eta(value, value / eta, why, bounded=not math.isclose(value, eta * factor))
