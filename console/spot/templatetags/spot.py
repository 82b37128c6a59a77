"""What only the pages of spot capacity say and draw."""

from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.spot.selectors.rows import NoticeRow
from console.spot.selectors.telling import HORIZON_WORDS
from console.spot.selectors.wording import cause_words, hours, usd
from console.ui.figures import clock, number, percent

register = template.Library()
WIDTH = 190
register.filter("hours", hours)
register.filter("usd", usd)
register.filter("cause_words", cause_words)
TONES = {"waiting": "accent", "starting": "accent", "running": "ok", "reclaiming": "bad", "requeued": "warn",
         "ending": "warn", "draft": "", "failed": "bad"}  # fmt: skip
ICONS = {
    "waiting": "clock", "starting": "loader-2", "running": "player-play", "reclaiming": "hourglass-low",
    "requeued": "refresh", "ending": "hourglass", "draft": "pencil", "ended": "circle-check",
    "given_back": "arrow-back-up", "withdrawn": "circle-x", "expired": "clock-x", "failed": "alert-octagon",
}  # fmt: skip


@register.filter
def tone(state: str) -> str:
    return TONES.get(state, "")


@register.filter
def state_icon(state: str) -> str:
    return ICONS.get(state, "point")


@register.filter
def gpu_hours(seconds: float | str | None) -> str:
    """Also of what a template finds nothing for, which is empty text."""
    return (
        "–" if seconds is None or isinstance(seconds, str) else number(seconds / 3600, 1 if 0 < seconds < 36_000 else 0)
    )


@register.filter
def chance(value: float | None) -> str:
    """0.22 -> 22 %; None is a dash."""
    return "–" if value is None else percent(value, 1, 0)


@register.simple_tag
def chance_bar(value: float | None) -> SafeString:
    """A bar of the whole width; empty where nobody knows."""
    return format_html(
        '<svg class="sl-graph" width="88" height="9" viewBox="0 0 88 9" aria-hidden="true">'
        '<rect width="88" height="9" rx="1" class="sl-f-sunken"/>'
        '<rect width="{}" height="9" rx="1" class="sl-f-accent"/></svg>',
        0 if value is None else round(88 * min(1.0, max(0.0, value)), 1),
    )


@register.simple_tag
def notice_bar(row: NoticeRow, now: datetime) -> SafeString:
    """The time of the notice with a tick where its hook should end."""
    gone = WIDTH * row.gone_s(now) / row.length_s
    tick = ""
    if row.hook_s is not None:
        at = round(WIDTH * min(row.hook_s, row.length_s) / row.length_s, 1)
        tick = format_html('<path d="M{} 0v12" class="sl-s-text" stroke-width="2"/>', at)
    words = f"{int(row.gone_s(now))} of {row.length_s} seconds gone"
    if row.hook_s is not None:
        words += f", its hook should end after {row.hook_s}"
    return format_html(
        '<svg class="spot-notice__bar" width="{}" height="12" viewBox="0 0 {} 12" role="img" aria-label="{}">'
        '<rect y="4" width="{}" height="4" rx="2" class="sl-f-border"/>'
        '<rect y="4" width="{}" height="4" rx="2" class="spot-notice__gone" data-gone-of="{}"/>{}</svg>',
        WIDTH, WIDTH, words, WIDTH, round(gone, 1), WIDTH, tick,
    )  # fmt: skip


@register.filter
def left_words(row: NoticeRow, now: datetime) -> str:
    """0:41."""
    left = max(0, int((row.kill_at - now).total_seconds()))
    return f"{left // 60}:{left % 60:02d}"


@register.filter
def epoch(at: datetime | None) -> str:
    """Seconds, for scripts that count down."""
    return "" if at is None else f"{at.timestamp():.0f}"


@register.filter
def minute(at: datetime | None, now: datetime | None = None) -> str:
    """14:32, with the date where it is not today's."""
    return clock(at, today=now)[:-3] if at is not None else "–"


@register.filter
def as_figure(value: Any) -> str:
    return number(value)


@register.filter
def get(words: dict[str, str], key: str) -> str:
    return words.get(key, "")


@register.filter
def since(now: datetime, at: datetime) -> str:
    """How long it has been so, with a decimal from an hour on."""
    return hours(max(0.0, (now - at).total_seconds()))


@register.filter
def model_words(held: Any) -> str:
    """H20 72, L20 64."""
    return ", ".join(f"{model} {number(gpus)}" for model, gpus in held.by_model[:4]) or "nothing runs"


@register.filter
def ask_word(held: Any) -> str:
    return "ask" if held.waiting == 1 else "asks"


@register.filter
def waiting_words(held: Any, now: datetime) -> str:
    if not held.waiting:
        return "nobody waits"
    return f"{number(held.waiting_gpus)} GPUs, since {minute(held.waiting_since, now)}"


@register.filter
def month_name(at: datetime) -> str:
    return f"{at:%B}"


@register.filter
def spent_label(month: str) -> str:
    return f"Spent, {month}"


@register.filter
def bill_words(bill: Any) -> str:
    parts = [f"{gpu_hours(bill.gpu_s)} GPU-h"]
    if bill.credit_cents:
        parts.append(f"{usd(bill.credit_cents)} credit taken off")
    if bill.runs_on_cents:
        parts.append(f"{usd(bill.runs_on_cents)} still runs")
    return ", ".join(parts)


@register.filter
def reclaim_words(summary: Any) -> str:
    if summary.median_s is None:
        return f"of {number(summary.leases)} leases"
    return f"of {number(summary.leases)} leases, median {number(summary.median_s)} s to end"


@register.filter
def seconds_to(start: datetime, end: datetime) -> str:
    return f"{number((end - start).total_seconds())} s"


@register.filter
def came(lease: Any, words: str) -> str:
    """Whether it started within that time; nothing where that is not over."""
    seconds = next(s for s, said in HORIZON_WORDS.items() if said == words)
    if lease.first_started_at is not None:
        took = (lease.first_started_at - lease.asked_at).total_seconds()
        return "it did" if took <= seconds else "it did not"
    waited = ((lease.ended_at or timezone.now()) - lease.asked_at).total_seconds()
    return "it did not" if waited > seconds else ""


@register.filter
def earned_label(month: str) -> str:
    return f"Spot revenue, {month}"


@register.filter
def whole(gpus: float) -> str:
    """GPUs with a decimal only where one says something."""
    return number(gpus, 0 if gpus == int(gpus) else 1)


@register.filter
def known_usd(cents: int | None) -> str | None:
    """None stays unknown, which a tile draws as a dash."""
    return None if cents is None else usd(cents)


@register.filter
def lent_words(windows: Any) -> str:
    lent = [row.lent_gpus for row in windows.rows]
    if any(one is None for one in lent):
        return "how many are lent is not known"
    return f"{whole(sum(one for one in lent if one is not None))} of them lent"
