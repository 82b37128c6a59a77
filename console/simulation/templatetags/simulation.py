"""Figures of studies as words."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.simulation.selectors.studies import meaning_of
from console.ui.figures import DASH, duration, number, plural, signed

register = template.Library()
register.filter("meaning", meaning_of)
HOUR_S = 3600
MINUTE_S = 60
DAY_S = 86_400
NOT_MEASURED = "not measured"
NO_DATA = "no data"


@register.filter
def told(found: Mapping[str, Any] | None, unit: str) -> SafeString | str:
    """An interval: its mean, and beside it half of the 95 % interval; its ends where what is possible cuts it."""
    if found is None:
        return format_html('<span class="sl-faint">{}</span>', NOT_MEASURED)
    mean, low = found["mean"], found["low"]
    if mean is None:
        return format_html('<span class="sl-faint">{}</span>', NO_DATA)
    if mean == 0 and low in (None, 0):
        return format_html('<span class="sl-zero">{}</span>', 0)
    scale, word = scaled(mean, unit)
    shown = f"{_figure(mean / scale)}{word}"
    if low is None:
        return shown
    half, above = (mean - low) / scale, (found["high"] - mean) / scale
    if abs(above - half) > 1e-6 * max(half, above):
        ends = [f"{_figure(end / scale)}{word}" for end in (low, found["high"])]
        return format_html('{} <span class="sl-faint">({} to {})</span>', shown, *ends)
    return format_html('{} <span class="sl-faint">± {}</span>', shown, _figure(half) if half else "0")


@register.filter
def change(found: Mapping[str, Any] | None, unit: str) -> SafeString | str:
    """A difference: with its sign, and marked where its interval leaves out 0."""
    if found is None or found["mean"] is None:
        return DASH
    mean, low, high = found["mean"], found["low"], found["high"]
    if mean == 0 and low in (None, 0):
        return format_html('<span class="sl-zero">{}</span>', 0)
    scale, word = scaled(mean, unit)
    shown = f"{'+' if mean > 0 else ''}{_figure(mean / scale)}{word}"
    if low is None:
        return shown
    half = format_html('<span class="sl-faint">± {}</span>', _figure((mean - low) / scale) if mean != low else "0")
    sure = low > 0 or high < 0
    return format_html('<b class="sl-strong">{}</b> {}' if sure else "{} {}", shown, half)


def scaled(value: float, unit: str) -> tuple[float, str]:
    """(divisor, word with its space) in which people read it."""
    size = abs(value)
    if unit == "share":
        return 0.01, " %"
    if unit == "seconds":
        for least, scale, word in ((2 * DAY_S, DAY_S, " d"), (HOUR_S, HOUR_S, " h"), (MINUTE_S, MINUTE_S, " min")):
            if size >= least:
                return scale, word
        return 1, " s"
    words = {
        "hours": " h",
        "GPUs": " GPUs",
        "GPU-h": " GPU-h",
        "MWh": " MWh",
        "nats": " nats",
        "times": " ×",
        "ms": " ms",
        "GB/s": " GB/s",
    }
    return 1, words.get(unit, "")


def _figure(value: float) -> str:
    """Three figures that say something, and whole numbers from a hundred on."""
    size = abs(value)
    if size >= 100 or value == int(value):
        return number(value)
    return number(value, 1 if size >= 10 else 2 if size >= 0.1 else 4 if size < 0.01 else 3)


@register.filter
def days_words(seconds: float | None) -> str:
    if seconds is None or seconds < DAY_S:
        return DASH if seconds is None else duration(seconds)
    return f"{number(seconds / DAY_S, 0 if seconds % DAY_S == 0 else 1)} d"


@register.filter
def cpu_words(seconds: float | None) -> str:
    """0.4 s, 12 s, 3 min of one core."""
    if seconds is None:
        return DASH
    return f"{number(seconds, 1)} s" if seconds < MINUTE_S else duration(seconds)


@register.filter
def waited(seconds: float) -> str:
    """As ``change`` writes its difference, so that one can be told from the other by eye."""
    scale, word = scaled(seconds, "seconds")
    return f"{_figure(seconds / scale)}{word}"


@register.filter
def trace_words(row: Any) -> str:
    """The trace of a study, with its share and its cut."""
    parts = [row.trace]
    if row.trace_id is None and row.share < 1:
        parts.append(f"{number(100 * row.share, 0 if (100 * row.share).is_integer() else 1)} %")
    if row.days:
        parts.append(plural(row.days, "day"))
    return ", ".join(parts)


@register.filter
def at(values: Mapping[str, Any], key: str) -> Any:
    return values.get(key)


register.filter("signed_count", signed)
