"""The core's replay of a week as the document that a proposal keeps: what was with the price of now, what would be."""

from collections.abc import Iterable, Sequence
from typing import Any

from scheduler.spot.preview import Outcome, Preview

SUMMED = ("gpu_hours", "lendable_gpu_hours", "evictions", "revenue_cents", "revenue_low_cents", "revenue_high_cents")


def pair_of(found: Preview) -> dict[str, Any]:
    """Figures of one model under both prices, with the middle elasticity; the others bound what is earned."""
    return {"now": _figures(found, found.present_cents), "then": _figures(found, found.proposed_cents)}


def others_of(found: Preview) -> list[dict[str, Any]]:
    """The same under other prices, the lowest first."""
    known = {found.present_cents, found.proposed_cents}
    return [_figures(found, cents) for cents in sorted({one.price_cents for one in found.outcomes} - known)]


def _figures(found: Preview, cents: int) -> dict[str, Any]:
    under = sorted((one for one in found.outcomes if one.price_cents == cents), key=lambda one: one.elasticity_percent)
    middle = under[len(under) // 2]
    earned = [one.revenue_cents for one in under]
    return {
        "cents": cents,
        "gpu_hours": round(middle.held_gpu_hours, 1),
        "lendable_gpu_hours": round(middle.lendable_gpu_hours, 1),
        "occupancy": _share(middle.held_gpu_hours, middle.lendable_gpu_hours),
        "evictions": middle.reclaims,
        "revenue_cents": middle.revenue_cents,
        "revenue_low_cents": min(earned),
        "revenue_high_cents": max(earned),
        "tenants": middle.tenants,
        "tenants_out": _out(middle, under),
        "asks_out": middle.asks_out,
        "answers": [_answer(one) for one in under],
    }


def _answer(one: Outcome) -> dict[str, Any]:
    """What comes of a price if demand answers it so strongly."""
    return {
        "elasticity_percent": one.elasticity_percent,
        "gpu_hours": round(one.held_gpu_hours, 1),
        "occupancy": _share(one.held_gpu_hours, one.lendable_gpu_hours),
        "evictions": one.reclaims,
        "lost_gpu_hours": round(one.lost_gpu_hours, 1),
        "unserved_gpu_hours": round(one.unserved_gpu_hours, 1),
        "revenue_cents": one.revenue_cents,
        "rebate_cents": one.rebate_cents,
    }


def _out(middle: Outcome, under: Sequence[Outcome]) -> list[str]:
    """Under any elasticity: who might be out is named."""
    return sorted({name for one in (middle, *under) for name in one.tenants_out})


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


def whole_of(pairs: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """All models together; a tenant that is out of one model may be in another, so these are not summed."""
    every = list(pairs)
    return {side: _sum([pair[side] for pair in every]) for side in ("now", "then")}


def _sum(rows: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {"cents": None, "tenants": None, "tenants_out": None}
    for name in SUMMED:
        known = [row.get(name) for row in rows]
        found[name] = None if None in known or not known else round(sum(one for one in known if one is not None), 1)
    hours, lendable = found["gpu_hours"], found["lendable_gpu_hours"]
    found["occupancy"] = None if hours is None or lendable is None else _share(hours, lendable)
    return found
