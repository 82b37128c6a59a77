"""What changed, as a sentence whose figures add up."""

from collections.abc import Iterator
from dataclasses import dataclass

from console.inventory.selectors.changes import Amounts, CauseChange, PlaceChange, TenantChange
from console.ui.figures import number, plural, signed, whole_gpus

MOST_PARTS = 4
LABELS = {
    "gone": "Gone",
    "not_ready": "Not ready",
    "cordoned": "Cordoned",
    "failed_devices": "Devices failed",
    "fewer_gpus": "Fewer GPUs",
    "unexplained_loss": "Lost without cause",
    "new": "New",
    "ready_again": "Ready again",
    "uncordoned": "Uncordoned",
    "healed_devices": "Devices healed",
    "more_gpus": "More GPUs",
    "unexplained_gain": "Won without cause",
}
OF_NODES = {
    "gone": "{} gone",
    "not_ready": "{} not ready",
    "cordoned": "{} cordoned",
    "fewer_gpus": "{} with fewer GPUs",
    "new": "{} new",
    "ready_again": "{} ready again",
    "uncordoned": "{} uncordoned",
    "more_gpus": "{} with more GPUs",
}
OF_GPUS = {
    "failed_devices": "{} failed",
    "unexplained_loss": "{} without cause",
    "healed_devices": "{} healed",
    "unexplained_gain": "{} back without cause",
}


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the sentence with the GPUs it stands for."""

    words: str
    gpus: int


@dataclass(frozen=True, slots=True)
class Headline:
    """The change, in GPUs, and the pieces that add up to it."""

    gpus: int
    parts: tuple[Part, ...]


def headline(then: Amounts, now: Amounts, causes: tuple[CauseChange, ...]) -> Headline:
    """The largest pieces first; the small ones together."""
    parts = sorted((part for cause in causes for part in _parts(cause)), key=lambda part: -abs(part.gpus))
    shown, rest = parts[:MOST_PARTS], parts[MOST_PARTS:]
    if rest:
        shown.append(Part(f"{plural(len(rest), 'smaller piece')}", sum(part.gpus for part in rest)))
    return Headline(now.schedulable - then.schedulable, tuple(shown))


def own_headline(then: Amounts, now: Amounts, tenants: tuple[TenantChange, ...]) -> Headline:
    """For a tenant: what its own pods ask for."""
    pieces = (
        Part(f"{plural(sum(row.came for row in tenants), 'pod')} came", sum(row.came_milli for row in tenants)),
        Part(f"{plural(sum(row.ended for row in tenants), 'pod')} ended", -sum(row.ended_milli for row in tenants)),
        Part("resized", sum(row.resized_milli for row in tenants)),
    )
    return Headline(now.asked_milli - then.asked_milli, tuple(part for part in pieces if part.gpus))


def equation(then: Amounts, now: Amounts, causes: tuple[CauseChange, ...]) -> str:
    """How the rows add up, or by how much they do not."""
    change, rows = now.schedulable - then.schedulable, sum(cause.gpus for cause in causes)
    total = f"{number(now.schedulable)} now, {number(then.schedulable)} then: {signed(change)} GPUs"
    if rows == change:
        return f"The rows add up: {total}."
    return f"The rows give {signed(rows)} and leave {signed(change - rows)} GPUs open: {total}."


def demand_equation(then: Amounts, now: Amounts, tenants: tuple[TenantChange, ...]) -> str:
    change, rows = now.asked_milli - then.asked_milli, sum(row.change_milli for row in tenants)
    total = f"{whole_gpus(now.asked_milli)} now, {whole_gpus(then.asked_milli)} then: {signed_milli(change)} GPUs"
    if rows == change:
        return f"The rows add up: {total}."
    return f"The rows give {signed_milli(rows)} and leave {signed_milli(change - rows)} GPUs open: {total}."


def signed_milli(milli: int) -> str:
    """GPU thousandths as a change in GPUs: +12, −0.5, 0."""
    return f"+{whole_gpus(milli)}" if milli > 0 else whole_gpus(milli)


def cause_label(cause: str) -> str:
    return LABELS[cause]


def place_words(place: PlaceChange) -> str:
    """Where, in words; what is concerned as a whole is called so."""
    if place.whole == "pool":
        return "whole pool"
    switch = f"ASW {place.asw}" if place.asw is not None else "no ASW label"
    return f"whole {switch}" if place.whole == "asw" else switch


def _parts(cause: CauseChange) -> Iterator[Part]:
    """Whole pools are one piece, what is left of the cause another."""
    pools = [place for place in cause.places if place.whole == "pool"]
    others = [place for place in cause.places if place.whole != "pool"]
    if pools and cause.cause in OF_NODES:
        yield Part(OF_NODES[cause.cause].format(plural(len(pools), "pool")), sum(place.gpus for place in pools))
    else:
        others = list(cause.places)
    if others:
        gpus = sum(place.gpus for place in others)
        yield Part(f"{_what(cause.cause, others, gpus)}{_where(others)}", gpus)


def _what(cause: str, places: list[PlaceChange], gpus: int) -> str:
    if cause in OF_GPUS:
        return OF_GPUS[cause].format(plural(abs(gpus), "GPU"))
    return OF_NODES[cause].format(plural(sum(place.nodes_total for place in places), "node"))


def _where(places: list[PlaceChange]) -> str:
    names = {(place.cluster, place.asw) for place in places}
    labelled = {asw for _, asw in names if asw is not None}
    if len(labelled) < len(names):
        return ""
    if len(names) == 1:
        return f" in {next(iter(labelled))}"
    return f" in {number(len(names))} ASWs"
