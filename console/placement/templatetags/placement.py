"""Words and figures of placement answers."""

from typing import Any
from urllib.parse import urlencode

from django import template

from console.placement.choices import DIFFERENCES
from console.ui.figures import plural
from console.ui.names import visible
from console.ui.tones import reason_of

register = template.Library()
SHOWN_DOMAINS = 2
WHY = {
    "gpus": "Too few free GPUs",
    "cpu": "Too little CPU beside the GPUs",
    "memory": "Too little memory beside the GPUs",
    "model": "No such GPU model here",
    "one_model": "No one GPU model holds it",
    "topology": "No one domain holds it",
    "budget": "Search budget ran out",
    "together": "Its groups do not fit together",
    "members": "Too few members",
    "max_pods": "Pod limit of the nodes",
}
ASSUMED = {"nic_gbit": "400 Gb/s of network for each GPU", "form": "GPUs with NVLink"}


@register.filter
def asked_words(asked: dict[str, Any]) -> str:
    """Such as 16 pods of 8 GPUs, H800, one asw required."""
    if "first" in asked:
        whose = [word for word in (asked["model"], asked["tenant"]) if word]
        return ", ".join([f"First {asked['first']} of the queue", *whose])
    wish = [f"one {asked[name]} {name}" for name in ("required", "preferred") if asked[name]]
    shape = f"{plural(asked['pods'], 'pod')} of {plural(asked['gpus'], 'GPU')}"
    models = [asked["model"]] if asked["model"] else ["models mixed"] if asked.get("mix_models") else []
    return ", ".join([shape, *models, *wish])


@register.filter
def difference_words(word: str) -> str:
    return DIFFERENCES[word]


@register.filter
def start_words(joint: dict[str, Any]) -> str:
    return f"{joint['together']['jobs']} of {len(joint['jobs'])} start"


@register.filter
def of_words(joint: dict[str, Any]) -> str:
    return f"of {len(joint['jobs'])}"


@register.filter
def first_note(value: float | str | None) -> str:
    return "largest first: unknown" if value is None else f"largest first: {value}"


@register.filter
def gpus_note(joint: dict[str, Any]) -> str:
    most = f"{joint['most_gpus']:,} at most" + (", proven" if joint["proven"] else "")
    return f"largest first: {joint['largest_first']['gpus']:,}; {most}"


@register.filter
def job_query(job: str, row: Any) -> str:
    """Of the address of its page in the queue."""
    return "?" + urlencode({"cluster": row.cluster, "source": row.source, "name": job})


@register.filter
def domains_words(held: dict[str, Any]) -> str:
    """Such as asw-1; asw-1 and asw-2; 7 domains, or the nodes where no domain is named."""
    named = [one["domain"] or "unknown" for one in held["domains"]]
    if len(named) > SHOWN_DOMAINS:
        return plural(len(named), "domain")
    return " and ".join(visible(name) for name in named) or plural(held["node_count"], "node")


@register.filter
def to_places(value: float | None, places: int) -> str | None:
    return None if value is None else f"{value:.{places}f}"


@register.filter
def milliseconds(seconds: float | None) -> str | None:
    return None if seconds is None else f"{1000 * seconds:.2f}"


@register.filter
def seconds_words(seconds: float | None) -> str | None:
    return None if seconds is None else f"{seconds:.2f}"


@register.filter
def spread_words(option: dict[str, Any]) -> str:
    domains = len(option["gpus_by_domain"])
    return f"over {plural(domains, 'place')}" if domains else "on one node"


@register.filter
def way_words(predicted: dict[str, Any]) -> str:
    if predicted["all_reduce_seconds"] is None:
        return "unknown: nobody knows how these GPUs are joined"
    crosses = ", crosses switches" if predicted["crosses"] else ""
    return f"{predicted['algorithm']} {predicted['protocol']}{crosses}"


@register.filter
def step_note(predicted: dict[str, Any]) -> str:
    return "not asked, or unknown for these GPUs" if predicted["step_seconds"] is None else "predicted"


@register.filter
def opened_words(option: dict[str, Any]) -> str:
    return f"{plural(option['nodes_opened'], 'node')} opened on which nobody works"


@register.filter
def assumed_words(assumed: list[str]) -> str:
    return ", ".join(ASSUMED.get(word, word) for word in assumed)


@register.filter
def why_words(word: str) -> str:
    return WHY.get(word) or reason_of(word).label
