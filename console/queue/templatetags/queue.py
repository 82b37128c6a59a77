"""Words and addresses for templates of the queue."""

from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone

from console.queue.addresses import job_address
from console.queue.choices import JobState, Reason, Sighted
from console.queue.selectors import JobCard, QueueRow, QueueTotals
from console.queue.selectors.job_parts import JobPart, JobSighting, JobStart, RemedyRow
from console.ui.figures import DASH, MILLI, duration, number, plural, whole_gpus

register = template.Library()


@register.simple_tag
def job_url(row: Any) -> str:
    return job_address(row.cluster, row.key, row.source)


@register.filter
def pods_words(row: QueueRow) -> str:
    """4 × 8, or 8 for one pod; pods without GPUs are only counted."""
    if not row.gpus_each_milli:
        return plural(row.pods, "pod")
    each = whole_gpus(row.gpus_each_milli)
    return each if row.pods == 1 else f"{row.pods:,} × {each}"


@register.filter
def waited_words(row: QueueRow | JobCard) -> str:
    """12 min; with a mark where it may have waited before anybody looked."""
    return duration(row.waited_s) if row.since_known else f"≥ {duration(row.waited_s)}"


@register.filter
def oldest_words(totals: QueueTotals, now: Any) -> str | None:
    if totals.oldest is None:
        return None
    words = duration((now - totals.oldest).total_seconds())
    return words if totals.oldest_known else f"≥ {words}"


@register.filter
def spread_words(row: Any) -> str:
    """3, or 2 + 1 where so many nodes stand under no known switch."""
    if row.asws is None:
        return "–"
    return f"{row.asws} + {row.unlabelled} ?" if row.unlabelled else f"{row.asws}"


@register.filter
def starts_with(card: JobCard) -> str:
    if not card.gang:
        return "one pod, no gang"
    running = f"; {plural(card.running, 'member')} run" if card.waits and card.running else ""
    return f"starts with {plural(card.min_members, 'member')}{running}"


@register.filter
def starts_words(card: JobCard, now: datetime) -> str:
    """When it starts, as far as anybody can say."""
    if card.primary is not None and card.primary.reason == Reason.FITS_NOW:
        return "now"
    if card.starts_by is None:
        foretold = card.start is not None and card.start.middle_at is not None and not card.start.open
        return start_moment(card.start.middle_at, card.start) if foretold and card.start else "unknown"
    left = (card.starts_by - now).total_seconds()
    return f"in {duration(left)}" if left > 0 else "about now"


@register.filter
def starts_note(card: JobCard) -> str:
    if card.primary is not None and card.primary.reason == Reason.FITS_NOW:
        return "once the cluster's scheduler binds it"
    if card.primary is not None and card.primary.reason == Reason.SPENT and card.starts_by is not None:
        return "at the earliest, when its budget is free again"
    if card.starts_by is None and card.start is not None and card.start.middle_at is not None and not card.start.open:
        return "most likely, by the replay below"
    return "nobody can say yet" if card.starts_by is None else "at the latest, as those leave for whom it waits"


@register.filter
def start_moment(at: datetime | None, start: JobStart) -> str:
    """In 2 h; later than the replay looked where it did not start in time."""
    if at is None:
        return f"later than in {start.horizon_days} days"
    left = (at - timezone.now()).total_seconds()
    return f"in {duration(left)}" if left > 0 else "now"


@register.filter
def why_words(start: JobStart) -> str:
    return f"{start.why[:1].upper()}{start.why[1:]}."


@register.filter
def state_of_job(card: JobCard) -> str:
    if card.state:
        return str(JobState(card.state).label)
    return "Running" if card.running else "Not explained yet"


@register.filter
def held_gpus(card: JobCard) -> str:
    """Of the members that are shown where all are."""
    if len(card.members) < card.members_total:
        return whole_gpus(card.gpu_milli) if not card.state else DASH
    held = [member.pod for member in card.members if member.pod.node is not None and member.pod.node_known]
    return whole_gpus(sum(pod.gpus * pod.gpu_milli for pod in held))


@register.filter
def level_words(level: str) -> str:
    return {"host": "node", "asw": "ASW"}.get(level, level)


@register.filter
def part_words(part: JobPart) -> str:
    """8 GPUs, 96 cores, 512 GiB."""
    gpus = [] if not part.gpus else [
        plural(part.gpus, "GPU") if part.gpu_milli == MILLI else f"{part.gpus} × {whole_gpus(part.gpu_milli)} GPUs"
    ]  # fmt: skip
    device = [f"{part.gpu_memory_mib / 1024:,.0f} GiB on each"] if part.gpu_memory_mib else []
    cores = f"{part.cpu_milli / 1000:,.1f}".removesuffix(".0")
    rest = [f"{cores} cores", f"{part.memory_mib / 1024:,.1f} GiB".replace(".0 ", " ")]
    return ", ".join([*gpus, *device, *part.mig, *rest])


@register.filter
def seen_words(one: JobSighting) -> str:
    match one.kind:
        case Sighted.WAITS:
            return f"waits, {plural(one.pods, 'pod')}" + ("" if one.known else ", when the queue was first looked at")
        case Sighted.STARTED:
            return f"all started: {plural(one.running, 'member')} bound"
        case Sighted.MEMBERS:
            waits = f", {number(one.pods)} wait" if one.pods else ""
            return f"{plural(one.running, 'member')} bound{waits}"
        case Sighted.GONE:
            return "no longer there: ended or deleted"
    return "waits for another reason:"


@register.filter
def cost_words(one: RemedyRow) -> str:
    """12 GPUs, 3 h, 1.5 GPU-h, × 0.62; unknown is a dash."""
    if one.cost is None:
        return DASH
    match one.unit:
        case "GPU-seconds":
            return f"{one.cost / 3600:,.1f} GPU-h" if one.cost >= 360 else f"{one.cost:,.0f} GPU-s"
        case "seconds":
            return duration(one.cost)
        case "of the rate":
            return f"× {one.cost:g} of the rate"
    return f"{one.cost:,.2f} USD" if one.unit == "USD" else f"{one.cost:,.10g} {one.unit}"
