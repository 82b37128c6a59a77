"""Figures and table heads of the plan pages."""

from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.ui.figures import number

register = template.Library()
SECONDS_PER_HOUR = 3600
TENTHS_BELOW = 100


@register.filter
def gpu_hours(seconds: float | None) -> str:
    """GPU-seconds as GPU-h: two decimals below one, one below a hundred; None is said, never 0."""
    if seconds is None:
        return "no data"
    hours = seconds / SECONDS_PER_HOUR
    return number(hours, 0 if hours == 0 or hours >= TENTHS_BELOW else 1 if hours >= 1 else 2)


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
