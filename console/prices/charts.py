"""Prices over time, as the page draws them.  No database."""

from typing import Any

from console.prices.selectors import Card

LONGEST_NOTE = 30
HELD = frozenset({"bound", "held_back", "rounding"})  # of the core: how it moved, not why
MOST_NOTES = 6  # as many words as fit above a line; the table has them all


def figure_of(card: Card) -> dict[str, Any]:
    """Steps in USD, null where there was no quote; notes at the changes that moved the price most."""
    start, end = (at.strftime("%Y-%m-%dT%H:%M:%S") for at in (card.start, card.end))
    at, usd, whys = [], [], []
    for one in card.changes:
        at.append(max(one.since, card.start).strftime("%Y-%m-%dT%H:%M:%S"))
        usd.append(_usd(one.cents))
        whys.append(one.why)
    if at:
        at.append(end)
        usd.append(usd[-1])
        whys.append(whys[-1])
    return {
        "model": card.quote.gpu_model,
        "from": start,
        "to": end,
        "at": at,
        "usd": usd,
        "why": whys,
        "on_demand": _usd(card.quote.on_demand_cents),
        "floor": _usd(card.quote.floor_cents),
        "notes": _notes(card),
    }


def _usd(cents: int | None) -> float | None:
    return None if cents is None else cents / 100


def _notes(card: Card) -> list[dict[str, Any]]:
    """Far enough from each other that none covers another."""
    apart = (card.end - card.start) / (MOST_NOTES + 1)
    chosen: list[Any] = []
    moved = [
        (abs(one.cents - one.was_cents), one)
        for one in card.changes
        if one.cents is not None and one.was_cents and one.since > card.start
    ]
    for _, one in sorted(moved, key=lambda pair: (-pair[0], pair[1].since)):
        if len(chosen) < MOST_NOTES and all(abs(one.since - other.since) >= apart for other in chosen):
            chosen.append(one)
    return [
        {"at": one.since.strftime("%Y-%m-%dT%H:%M:%S"), "usd": _usd(one.cents), "words": short_why(one.terms)}
        for one in sorted(chosen, key=lambda one: one.since)
        if short_why(one.terms)
    ]


def short_why(terms: list[dict[str, Any]]) -> str:
    """What in the world moved it most, as short as it fits: not that it was held, nor what was held back before."""
    said = (one.get("words", "") for one in terms if one.get("name") not in HELD)
    words = next((one for one in said if one), "").partition(" to ")[0]
    return words if len(words) <= LONGEST_NOTE else f"{words[: LONGEST_NOTE - 1]}…"
