"""Components of every page. Examples: docs/ui.md."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import template
from django.core.paginator import Page
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.ui import figures, names
from console.ui.ages import age_of
from console.ui.icons import icon as draw_icon
from console.ui.tones import look_of, reason_of

register = template.Library()

register.filter("number", figures.number)
register.filter("signed", figures.signed)
register.filter("whole_gpus", figures.whole_gpus)
register.filter("duration", figures.duration)
register.filter("clock", figures.clock)
register.filter("size", figures.size)
register.filter("plural", figures.plural)
register.filter("visible", names.visible)


@register.filter
def share(part: float | None, whole: float | None) -> str:
    """{{ part|share:whole }} -> 5.3 %."""
    return figures.percent(part, whole)


@register.simple_tag
def icon(name: str) -> SafeString:
    return draw_icon(name)


@register.inclusion_tag("ui/age.html", takes_context=True)
def age(context: Mapping[str, Any], at: datetime | None, period: float | None = None) -> dict[str, Any]:
    """Age badge of a reading; `period` is the source's own, in seconds. None = no data."""
    now = context.get("server_now") or timezone.now()
    return {"age": age_of(at, now, period or None) if at else None}


@register.inclusion_tag("ui/fixed.html")
def fixed(words: str) -> dict[str, Any]:
    """Square instead of an age: a frozen time or revision, such as that of a plan."""
    return {"words": words}


@register.inclusion_tag("ui/tile.html", takes_context=True)
def tile(
    context: Mapping[str, Any],
    label: str,
    value: object,
    *,
    unit: str = "",
    note: str = "",
    was: object = None,
    at: datetime | None = None,
    period: float | None = None,
    frozen: str = "",
    pending: bool = False,
) -> dict[str, Any]:
    """Figure tile. `value` None draws a dash; `was` draws before → after; `frozen` replaces the age by a fixed mark."""
    return {
        "label": label,
        "value": _figure(value),
        "unit": "" if value is None else unit,
        "note": note,
        "was": None if was is None else _figure(was),
        "at": at,
        "period": period,
        "frozen": frozen,
        "pending": pending,
        "server_now": context.get("server_now"),
    }


def _figure(value: object) -> str:
    if value is None:
        return figures.DASH
    if isinstance(value, int | float) and not isinstance(value, bool):
        return figures.number(value, 0 if value == int(value) else 1)
    return str(value)


@register.inclusion_tag("ui/pill.html")
def pill(state: str, label: str = "", *, tone: str | None = None, icon: str = "") -> dict[str, Any]:
    """State pill. `state` is a word of console.ui.tones; `label`, `tone`, `icon` override its look."""
    look = look_of(state)
    return {
        "label": label or look.label or state.replace("_", " "),
        "tone": look.tone if tone is None else tone,
        "icon": icon or look.icon,
    }


@register.inclusion_tag("ui/chip.html")
def chip(reason: str, label: str = "", *, count: int | None = None, href: str = "", on: bool = False) -> dict[str, Any]:
    """Reason chip: icon, short noun phrase, number beside it; with `href` a click filters by it."""
    look = reason_of(reason)
    return {
        "icon": look.icon,
        "label": label or look.label,
        "count": count,
        "href": href,
        "on": on,
    }


@register.filter
def reason(word: str) -> str:
    """A reason of the core in words."""
    return reason_of(word).label


@register.inclusion_tag("ui/name.html")
def name(value: str, href: str = "", *, longest: int = names.LONGEST, wrap: bool = False) -> dict[str, Any]:
    """An identifier from outside: isolated direction, unseen characters spelt out, the whole always reachable."""
    short = value if wrap else names.shorten(value, longest)
    return {
        "parts": names.parts(short),
        "whole": names.parts(value) if short != value else None,
        "title": names.visible(value) if short != value else "",
        "href": href,
        "wrap": wrap,
    }


@register.simple_block_tag(takes_context=True)
def card(
    context: Mapping[str, Any],
    content: str,
    title: str,
    *,
    sub: str = "",
    at: datetime | None = None,
    period: float | None = None,
    frozen: str = "",
    css: str = "",
    flush: bool = False,
    ident: str = "",
) -> SafeString:
    """A whole card around its content. `flush` leaves out the padding (tables); no `at` and no `frozen`: no age."""
    return render_to_string(
        "ui/card.html",
        {
            "content": content,
            "title": title,
            "sub": sub,
            "at": at,
            "period": period,
            "frozen": frozen,
            "css": css,
            "flush": flush,
            "ident": ident,
            "server_now": context.get("server_now"),
        },
    )


@register.simple_block_tag
def notice(
    content: str, tone: str = "", title: str = "", *, icon: str = "info-circle", role: str = "note"
) -> SafeString:
    """A banner in the page: tone is bad, warn, accent, ok or nothing."""
    return render_to_string(
        "ui/notice.html", {"content": content, "tone": tone, "title": title, "icon": icon, "role": role}
    )


@register.inclusion_tag("ui/empty.html")
def empty(title: str, fact: str = "", href: str = "", label: str = "") -> dict[str, Any]:
    """What is not there, the most useful fact we do have, one way on."""
    return {"title": title, "fact": fact, "href": href, "label": label}


@register.simple_tag
def bar(
    value: float, whole: float, tone: str = "other", width: int = 96, start: float = 0, height: int = 9
) -> SafeString:
    """Small bar as SVG with attributes; `start` makes it float. `tone` is one of the sl-f-… classes."""
    scale = width / whole if whole else 0
    drawn = max(1.5, value * scale) if value > 0 else 0
    offset = min(start * scale, width - drawn)
    return format_html(
        '<svg class="sl-graph" width="{}" height="{}" viewBox="0 0 {} {}" preserveAspectRatio="none" '
        'aria-hidden="true"><rect x="{}" width="{}" height="{}" rx="1" class="sl-f-{}"/></svg>',
        width,
        height,
        width,
        height,
        f"{offset:.1f}",
        f"{drawn:.1f}",
        height,
        tone,
    )


@register.inclusion_tag("ui/progress.html")
def progress(done: float, whole: float, label: str) -> dict[str, Any]:
    """Progress of a computation or a run."""
    return {"percent": round(100 * min(1.0, done / whole)) if whole else 0, "label": label}


@register.inclusion_tag("ui/pager.html", takes_context=True)
def pager(context: Mapping[str, Any], page: Page[Any], order: str = "", *, anchor: str = "") -> dict[str, Any]:
    """The foot of a table that is cut by page number; the rest of the address is the context's ``query``."""
    kept = f"{context['query']}&" if context.get("query") else ""
    words = figures.span(page.start_index(), page.end_index(), page.paginator.count)
    return {
        "words": f"{words}, {order}" if order else words,
        "back": f"?{kept}page={page.previous_page_number()}{anchor}" if page.has_previous() else "",
        "next": f"?{kept}page={page.next_page_number()}{anchor}" if page.has_next() else "",
    }
