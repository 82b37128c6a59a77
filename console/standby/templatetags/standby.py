"""Amounts of standby as words."""

from datetime import datetime

from django import template

from console.standby.charts import figure_of
from console.ui.figures import DASH, number

register = template.Library()
register.filter("standby_figure", figure_of)
GIB, TIB = 1024, 1024 * 1024


@register.filter
def memory(mib: float | None) -> str:
    """1.9 TiB, 82 GiB; a dash where it is not known."""
    if mib is None:
        return DASH
    return f"{number(mib / TIB, 1)} TiB" if mib >= TIB else f"{number(mib / GIB, 0 if mib >= 10 * GIB else 1)} GiB"


@register.filter
def usd(cents: int | None) -> str:
    """61.20; "not known" where nobody says."""
    return "not known" if cents is None else number(cents / 100, 2)


@register.filter
def seconds(value: float | None) -> str:
    return DASH if value is None else f"{number(value)} s"


@register.filter
def gpus(value: float | None) -> str:
    if value is None:
        return DASH
    return number(value) if float(value).is_integer() else number(value, 1)


@register.filter
def milli_gpus(value: float | None) -> str:
    return gpus(None if value is None else value / 1000)


@register.filter
def instant(text: str) -> str:
    """The time of an instant that a document holds as text."""
    return f"{datetime.fromisoformat(text):%H:%M:%S}"


@register.filter
def lateness(late_s: float | None) -> str:
    """How a recall that ran ahead of a window's end stood to it."""
    if late_s is None:
        return ""
    return f"{number(late_s)} s late" if late_s > 0 else f"{number(-late_s)} s before it had to"
