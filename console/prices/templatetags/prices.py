"""Money and prices as words."""

from typing import Any

from django import template

from console.prices.charts import figure_of, short_why
from console.ui.figures import DASH, number, signed

register = template.Library()
register.filter("price_figure", figure_of)
register.filter("short_why", short_why)


@register.filter
def per_hour(cents: int | None) -> str:
    """118 -> 1.18; None -> no quote."""
    return "no quote" if cents is None else number(cents / 100, 2)


@register.filter
def dollars(cents: int | None) -> str:
    """Whole USD of a sum; a dash where it is not known."""
    return DASH if cents is None else number(cents / 100)


@register.filter
def per_cent(value: float | None, sign: str = "") -> str:
    """5.3 %, with its sign where asked for; a dash where it is not known."""
    if value is None:
        return DASH
    return f"{signed(value, 1) if sign else number(value, 1)} %"


@register.filter
def part(share: float | None) -> str:
    """0.873 -> 87.3 %."""
    return DASH if share is None else f"{number(100 * share, 1)} %"


@register.filter
def known(value: Any) -> str:
    """A count, or a dash where it is not known."""
    return DASH if value is None else number(value)


@register.filter
def effect(cents: int | None) -> str:
    """What one term did to a price: +0.03, −0.01; nothing where it is not known."""
    return "" if cents is None else signed(cents / 100, 2)


@register.filter
def hundredth(percent: int) -> str:
    """60 -> 0.6."""
    return f"{percent / 100:g}"
