"""Addresses and words for templates of nodes and pods."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from django import template
from django.template import Context
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from console.inventory import since_words, spans
from console.inventory.addresses import node_address, pod_address, workload_address
from console.inventory.choices import HealthCode
from console.inventory.selectors.nodes import CAUSE_WORDS
from console.ui.figures import DASH, MILLI, number, plural, signed, span, whole_gpus
from console.ui.orders import order_words

register = template.Library()
DERIVED_LABEL = re.compile(r"/(affinity|matches)-[0-9a-f]{16}$")


@register.simple_block_tag(takes_context=True)
def listing(context: Context, content: str, title: str, csv: str, *, sub: str = "") -> SafeString:
    """The table of a page around its rows; head, order, foot and what stands there without rows are the context's."""
    page, sort = context["page"], context["view"].sort
    order = order_words(sort)
    words = f"{span(page.start + 1, page.end, page.total)}, {order}"
    if page.revision:
        words += f", as of revision {number(page.revision)}"
    around: dict[Any, Any] = context.flatten()
    own = {"content": content, "title": title, "csv": csv, "sub": sub, "words": words, "order_words": order}
    return render_to_string("inventory/listing.html", {**around, **own})


@register.simple_tag
def node_url(row: Any, name: str = "") -> str:
    """The page of a node row, or of the node ``name`` on which a pod row stands."""
    return node_address(row.cluster, name or row.name, row.source)


@register.simple_tag
def pod_url(row: Any) -> str:
    return pod_address(row.cluster, row.key, row.source)


@register.simple_tag
def workload_url(row: Any, name: str) -> str:
    """The page of what made the pod of a row."""
    return workload_address(row.cluster, f"{row.namespace}/{name}", row.source)


@register.simple_tag
def node_link(source: str, cluster: str, name: str) -> str:
    """The page of a node that a row names."""
    return node_address(cluster, name, source)


@register.simple_tag
def change(then: int, now: int) -> str:
    """+12, −12, 0."""
    return signed(now - then)


@register.filter
def rounded_gpus(milli: int) -> int:
    """For tiles, which have no room for tenths."""
    return round(milli / 1000)


@register.filter
def magnitude(value: int) -> int:
    return abs(value)


@register.filter
def gpu_hours(hours: Any) -> str | None:
    """One decimal under a hundred; what is there and rounds to nothing is not called nothing; unknown stays unknown."""
    if not isinstance(hours, int | float):
        return None
    if 0 < hours < 0.05:
        return "< 0.1"
    return f"{hours:,.1f}" if hours < 100 else f"{hours:,.0f}"


@register.filter
def known_hours(total: Any) -> str:
    """For how much of the window anything is known."""
    return f"known for {total.known_h:,.1f} of {total.window_h:,.1f} h" if total else "nothing was measured yet"


@register.filter
def known_gpus(milli: Any) -> str | None:
    """Unknown stays unknown."""
    return whole_gpus(milli) if isinstance(milli, int) else None


@register.filter
def known(figure: Any) -> int | None:
    """Unknown stays unknown."""
    return figure if isinstance(figure, int) else None


@register.filter
def behind_locks(total: Any) -> str:
    return f"{plural(total.kept_gpus, 'GPU')} in them" if total else ""


@register.filter
def under_locks(total: Any) -> str:
    return plural(total.pods, "locked pod") if total else ""


@register.filter
def moment(at: datetime | None, now: datetime) -> str:
    """06:00 today, with its date on another day."""
    return DASH if at is None else spans.moment(at, now)


@register.filter
def local_input(at: Any) -> str:
    """The value of a field for an instant; what was typed stays as it is."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M}" if isinstance(at, datetime) else str(at or "")


@register.filter
def kilowatts(watts: int | None) -> str | None:
    return None if watts is None else f"{watts / 1000:,.1f}"


@register.filter
def power_note(power: Any) -> str:
    return f"{power.nodes:,} of {power.of_nodes:,} nodes tell"


register.filter("cause_label", since_words.cause_label)
register.filter("place_words", since_words.place_words)
register.filter("signed_milli", since_words.signed_milli)


@register.filter
def health_words(code: str) -> str:
    return str(HealthCode(code).label)


@register.filter
def cause_words(cause: str | None) -> str:
    return CAUSE_WORDS.get(cause or "", "–")


@register.filter
def told_labels(labels: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Without those that the reader of Kubernetes derived from a selector: they say nothing to people."""
    return [(key, value) for key, value in labels if value != "true" or DERIVED_LABEL.search(key) is None]


@register.filter
def asked_gpus(pod: Any) -> str:
    """2 whole ones as 2, two halves as 2 × 0.5."""
    return f"{pod.gpus} × {whole_gpus(pod.gpu_milli)}" if pod.gpus and pod.gpu_milli != MILLI else number(pod.gpus)


@register.filter
def state_words(pod: Any) -> str:
    """Running, locked, asleep."""
    marks = {"locked": pod.locked, "asleep": pod.standby, "ending": pod.terminating}
    return ", ".join([pod.phase, *(word for word, so in marks.items() if so)])


@register.filter
def cores(milli: int | None) -> str:
    """CPU in cores, with a decimal only where one says something."""
    if milli is None:
        return "–"
    return f"{milli // 1000:,}" if milli % 1000 == 0 else f"{milli / 1000:,.1f}"


@register.filter
def gib(mib: int | None) -> str:
    return "–" if mib is None else f"{mib / 1024:,.0f}" if mib >= 10240 else f"{mib / 1024:,.1f}"
