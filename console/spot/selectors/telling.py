"""An estimate as people read it; what nobody knows stays unknown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from console.spot.choices import HORIZONS_S, EstimateState
from console.spot.models import Estimate
from console.spot.selectors.wording import hours, usd

HORIZON_WORDS = {900: "15 min", 3600: "1 h", 21_600: "6 h"}


@dataclass(frozen=True, slots=True)
class Told:
    """``chances``: (words of the horizon, 0 to 1 or None) each; money in words without its unit."""

    is_open: bool
    title: str
    chances: Sequence[tuple[str, float | None]]
    p50: str
    p10: str
    price: str
    on_demand: str
    off: str
    total: str
    reclaims: str
    guaranteed: str
    blocked: str
    model: str
    alternatives: list[dict[str, Any]]
    assumed: list[str]


def told_of(row: Estimate) -> Told:
    answer, asked = row.answer or {}, row.asked
    chance = answer.get("chance", {})
    cents, on_demand = answer.get("cents"), answer.get("on_demand_cents")
    blocked = answer.get("blocked") or {}
    return Told(
        is_open=row.state in (EstimateState.ASKED, EstimateState.WORKING),
        title=title_of(asked),
        chances=[(HORIZON_WORDS[s], chance.get(str(s))) for s in HORIZONS_S],
        p50=hours(answer.get("run_p50_s")), p10=hours(answer.get("run_p10_s")),
        price=usd(cents), on_demand=usd(on_demand),
        off="" if cents is None or not on_demand else f"{round(100 * (cents / on_demand - 1))} %".replace("-", "−"),
        total=span_words(answer.get("cost_low_cents"), answer.get("cost_high_cents")),
        reclaims=_reclaims(answer.get("reclaims_low"), answer.get("reclaims_high")),
        guaranteed=hours(asked["guaranteed_s"]) if asked.get("guaranteed_s") else "",
        blocked=str(blocked.get("words", "")), model=answer.get("model") or "",
        alternatives=[_alternative(one) for one in answer.get("alternatives", [])],
        assumed=list(answer.get("assumed", [])),
    )  # fmt: skip


def title_of(asked: dict[str, Any]) -> str:
    """64 H20 in one ASW, 12 h."""
    level = asked.get("topology") or ""
    where = f" in one {level.upper() if level == 'asw' else level}" if level and asked.get("required") else ""
    return f"{asked['gpus_per_pod'] * asked['pods']:,} {asked['gpu_models'][0]}{where}, {hours(asked['run_s'])}"


def span_words(low: int | None, high: int | None) -> str:
    """Whole USD: 790–980; a dash where nobody knows."""
    if low is None or high is None:
        return "–"
    first, last = round(low / 100), round(high / 100)
    if last < 10:
        return f"{low / 100:.2f}–{high / 100:.2f}" if low != high else f"{low / 100:.2f}"
    return f"{first:,}–{last:,}" if first != last else f"{first:,}"


def _reclaims(low: int | None, high: int | None) -> str:
    if low is None or high is None:
        return "reclaims not known"
    if low == high:
        return "with no reclaim" if low == 0 else f"with {low} reclaim{'' if low == 1 else 's'}"
    return f"with {low} to {high} reclaims"


def _alternative(one: dict[str, Any]) -> dict[str, Any]:
    return {
        "what": one["what"], "note": one.get("note", ""), "change": one.get("change", {}),
        "chance": one.get("chance_3600"), "p50": hours(one.get("run_p50_s")), "price": usd(one.get("cents")),
        "total": span_words(one.get("cost_low_cents"), one.get("cost_high_cents")),
    }  # fmt: skip
