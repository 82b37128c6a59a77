"""Figures and table heads of the plan pages."""

from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.plans.tables import field_words, said, shortfall
from console.ui.figures import DASH, number, plural, whole_gpus

register = template.Library()
SECONDS_PER_HOUR = 3600
TENTHS_BELOW = 100
MILLI = 1000
MIB_PER_GIB = 1024
GIB_PER_TIB = 1024


@register.filter
def gpu_hours(seconds: float | None) -> str:
    """GPU-seconds as GPU-h: two decimals below one, one below a hundred; None is said, never 0."""
    if seconds is None:
        return "no data"
    hours = seconds / SECONDS_PER_HOUR
    return number(hours, 0 if hours == 0 or hours >= TENTHS_BELOW else 1 if hours >= 1 else 2)


@register.filter
def gib(mib: float | None) -> str:
    """MiB as GiB, as TiB from 1,000 of them on."""
    if mib is None:
        return "no data"
    size = mib / MIB_PER_GIB
    if size >= GIB_PER_TIB:
        return f"{number(size / GIB_PER_TIB, 1)} TiB"
    return f"{number(size, 0 if size == 0 or size >= 10 else 1)} GiB"


@register.filter
def kwh(amount: float | None) -> str:
    if amount is None:
        return "no data"
    return f"{number(amount, 0 if amount == 0 or amount >= 10 else 2)} kWh"


@register.filter
def dollars(amount: float | None) -> str:
    if amount is None:
        return "no data"
    return f"${number(amount, 0 if amount >= 100 else 2)}"


@register.filter
def assumed_words(word: str) -> str:
    """What stands for something that nobody observes."""
    return {"checkpoint_age_s": "the age of the last checkpoint", "device_memory": "no state to read"}.get(word, word)


@register.filter
def said_words(change: dict[str, Any]) -> tuple[str, str]:
    """(was, now) of a change, for people."""
    return said(change)


@register.filter
def shortfall_words(change: dict[str, Any]) -> str:
    """What a node is short of, or "" where that is not what changed."""
    return shortfall(change)


@register.filter
def field_said(change: dict[str, Any]) -> str:
    return field_words(change)


@register.filter
def short_words(short: dict[str, Any] | None) -> str:
    """What the nodes of a reason are short of, or else what the pods ask for that hold them."""
    if short is None:
        return "no data"
    if not short:
        return DASH  # no pod holds these nodes
    missing = short["missing"]
    if missing is None:
        return f"holds {whole_gpus(short['gpu_milli'])} GPUs"
    match short["unit"]:
        case "gpus":
            return f"{plural(missing, 'GPU')} short"
        case "gpu_milli":
            return f"{whole_gpus(missing)} GPUs short"
        case "cpu_milli":
            return f"{number(missing / MILLI, 0 if missing >= 10 * MILLI else 1)} cores short"
        case "memory_mib":
            return f"{number(missing / MIB_PER_GIB, 0 if missing >= 10 * MIB_PER_GIB else 1)} GiB short"
        case unit:
            return f"{number(missing)} {unit or ''} short"


@register.simple_tag
def sorted_head(
    column: str, label: str, order: str, query: str, *, num: bool = False, anchor: str = "moves"
) -> SafeString:
    """A column head that sorts by its column, and the other way round when it does so already."""
    up, down = order == column, order == f"-{column}"
    wanted = f"-{column}" if up else column
    link = f"{query}&" if query else ""
    attributes: dict[str, Any] = {
        "css": "sl-num" if num else "",
        "sort": "ascending" if up else "descending" if down else "none",
        "query": f"?{link}sort={wanted}#{anchor}",
        "label": label,
        "arrow": " ↑" if up else " ↓" if down else "",
    }
    return format_html(
        '<th scope="col" class="{css}" aria-sort="{sort}"><a href="{query}">{label}{arrow}</a></th>', **attributes
    )
