"""Prices as the lines of a file."""

from typing import Any

from console.prices.models import Price
from console.prices.selectors import Quote

QUOTE_HEAD = (
    "gpu_model", "usd_per_gpu_hour", "on_demand_usd", "floor_usd", "since", "was_usd", "next_review", "comes_usd",
    "comes_at", "simulated", "why",
)  # fmt: skip
CHANGE_HEAD = ("gpu_model", "since", "usd_per_gpu_hour", "was_usd", "on_demand_usd", "floor_usd", "simulated", "why")


def dollars(cents: int | None) -> str | None:
    return None if cents is None else f"{cents / 100:.2f}"


def _at(at: Any) -> str | None:
    return None if at is None else f"{at:%Y-%m-%dT%H:%M:%SZ}"


def quote_cells(one: Quote) -> tuple[object, ...]:
    coming = one.coming
    return (
        one.gpu_model, dollars(one.cents), dollars(one.on_demand_cents), dollars(one.floor_cents), _at(one.since),
        dollars(one.was_cents), _at(one.next_review_at), None if coming is None else dollars(coming.cents),
        None if coming is None else _at(coming.at), one.simulated, one.why,
    )  # fmt: skip


def change_cells(one: Price) -> tuple[object, ...]:
    return (
        one.gpu_model, _at(one.since), dollars(one.cents), dollars(one.was_cents), dollars(one.on_demand_cents),
        dollars(one.floor_cents), one.simulated, one.why,
    )  # fmt: skip
