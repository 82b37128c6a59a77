"""Words and addresses for templates of tenants."""

from typing import Any

from django import template

from console.tenancy.addresses import edit_address, tenant_address
from console.tenancy.standing import Standing
from console.ui.figures import DASH, number, whole_gpus

register = template.Library()
register.filter("tenant_url", tenant_address)
register.filter("edit_url", edit_address)

FIELDS = {
    "parent": "department above it",
    "cap_gpus": "cap, GPUs",
    "guarantee_gpus": "guarantee, GPUs",
    "min_runtime_s": "left alone for, s",
    "hp_cents": "HP, US cents",
    "lp_cents": "LP, US cents",
}


@register.filter
def or_unset(milli: int | None, words: str) -> str:
    """GPU milli as GPUs, or what it means that nothing is set."""
    return words if milli is None else whole_gpus(milli)


@register.filter
def whole(milli: int | None) -> str:
    """GPU milli as whole GPUs, for tables that have no room for tenths; what is there is not called nothing."""
    if milli is None:
        return DASH
    return number(round(milli / 1000)) if milli >= 1000 or not milli else "<1"


@register.filter
def may_borrow(standing: Standing) -> str:
    """Whole GPUs; yes or no for those to whom the amount, which others leave idle, is not told."""
    if standing.may_borrow is not None or standing.borrows is None:
        return whole(standing.may_borrow)
    return "yes" if standing.borrows else "no"


@register.filter
def hours(milli_hours: int | None) -> str:
    """Thousandths of a GPU-hour as GPU-hours."""
    if milli_hours is None:
        return DASH
    return number(milli_hours / 1000, 2 if milli_hours < 10_000 else 1 if milli_hours < 100_000 else 0)


@register.filter
def usd(cents: int | None) -> str:
    """US cents as dollars; a missing price is not 0."""
    return "no price" if cents is None else number(cents / 100, 2)


@register.filter
def amount(value: float | None) -> str:
    if value is None:
        return DASH
    return number(value, 1 if 0 < abs(value) < 100 and value != int(value) else 0)


@register.filter
def field_words(field: str) -> str:
    """A field of the book as people say it: quotas.H20.nominal -> H20 nominal."""
    if field in FIELDS:
        return FIELDS[field]
    words = field.removeprefix("quotas.").removeprefix("budgets.")
    name, dot, last = words.rpartition(".")
    return f"{name}{' ' if dot else ''}{last.replace('_', ' ')}"


@register.filter
def said(value: Any) -> str:
    """A value of the book; not set is said."""
    if value is None:
        return "not set"
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    return number(value) if isinstance(value, int) else str(value)


@register.filter
def lookup(table: dict[str, Any], name: str) -> Any:
    return table.get(name)


@register.filter
def indent(depth: int) -> int:
    """Class of the indentation: deeper than five is drawn as five."""
    return min(depth, 5)
