"""Words for the pages of clusters."""

from collections.abc import Iterable
from typing import Any

from django import template

from console.ui.figures import duration

register = template.Library()

# phase of a feed -> label, tone of its pill, icon
PHASES = {
    "starting": ("starting", "", "hourglass"),
    "listing": ("listing", "accent", "loader-2"),
    "watching": ("watching", "ok", "plug"),
    "waiting": ("waiting to ask again", "warn", "clock"),
    "absent": ("not installed", "", "circle-minus"),
    "forbidden": ("forbidden", "bad", "lock"),
}


@register.inclusion_tag("ui/pill.html")
def phase(row: Any) -> dict[str, str]:
    """What a kind's feed is doing; a right that is missing for a kind that can be done without is no alarm."""
    label, tone, icon = PHASES.get(row.phase, (row.phase, "", "point"))
    return {"label": label, "tone": "warn" if tone == "bad" and not row.needed else tone, "icon": icon}


@register.filter
def clock_words(skew_s: float | None) -> str:
    """How far a server's clock is from ours: 2 min behind."""
    if skew_s is None:
        return "not told"
    if not skew_s:
        return "agrees with ours"
    return f"{duration(abs(skew_s))} {'ahead' if skew_s > 0 else 'behind'}"


@register.filter
def field_label(form: Any, name: str) -> str:
    return str(form.fields[name].label) if name in form.fields else ""


@register.filter
def absent_kinds(found: Iterable[Any]) -> list[str]:
    return [one.kind for one in found if one.state == "absent" and not one.needed]
