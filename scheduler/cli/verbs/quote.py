"""``slackline quote``."""

from typing import Annotated

import typer

from scheduler.cli.files import read_snapshot
from scheduler.cli.options import NO, AsJson, ClusterName, SnapshotFile
from scheduler.cli.refusing import bad_input
from scheduler.cli.screen import print_json, say, show_table
from scheduler.cluster.errors import InputError
from scheduler.cluster.snapshot import Snapshot
from scheduler.pricing.anchors import anchor
from scheduler.spot.pricing import Quote, no_quote
from scheduler.spot.pricing import quote as quote_of
from scheduler.spot.readings import MOST_CENTS
from scheduler.spot.sighted import readings_of


def quote(
    snapshot: SnapshotFile,
    model: Annotated[str | None, typer.Option("--model", metavar="M", help="One GPU model; default: all.")] = None,
    on_demand: Annotated[
        list[str] | None,
        typer.Option("--on-demand", metavar="MODEL=CENTS", help="US cents of a GPU-hour on demand, else as published."),
    ] = None,
    cluster: ClusterName = None,
    json: AsJson = False,
) -> None:
    """Say what an LP GPU-hour should cost by supply and demand of this snapshot, and why.

    Exit 1 where no model has a quote.
    """
    with bad_input():
        said = _stated(on_demand or [])
        quotes = _quotes(read_snapshot(snapshot, cluster), model, said)
    if json:
        print_json({"quotes": [one.document() for one in quotes]})
    else:
        _show(quotes)
    if all(one.cents is None for one in quotes):
        raise typer.Exit(NO)


def _stated(said: list[str]) -> dict[str, int]:
    found = {}
    for one in said:
        model, _, text = one.rpartition("=")
        if not model or not (text.isascii() and text.isdigit()) or not 1 <= int(text[:12]) <= MOST_CENTS:
            raise InputError("--on-demand", one, f"MODEL=CENTS, whole cents from 1 to {MOST_CENTS}")
        found[model] = int(text)
    return found


def _quotes(snapshot: Snapshot, model: str | None, said: dict[str, int]) -> list[Quote]:
    """In the order of models; one that no node has is none that is known."""
    anchors = {name: said.get(name, _published(name)) for name in snapshot.models}
    readings = readings_of(snapshot, anchors)
    wanted = sorted(readings) if model is None else [model]
    return [quote_of(name, readings[name]) if name in readings else no_quote(name) for name in wanted]


def _published(model: str) -> int | None:
    found = anchor(model)
    return None if found is None else found.cents


def _show(quotes: list[Quote]) -> None:
    if not quotes:
        say(["No node of this snapshot has GPUs of a known model."])
        return
    rows = [
        (one.gpu_model, *map(_dollars, (one.cents, one.target_cents, one.floor_cents, one.on_demand_cents)))
        for one in quotes
    ]
    show_table("USD per GPU-hour", ("GPU model", "quote", "unbounded", "floor", "on demand"), rows)
    reasons: dict[str, list[str]] = {}
    for one in quotes:
        reasons.setdefault(one.said, []).append(one.gpu_model)
    say([f"{', '.join(models)}: {said}" for said, models in reasons.items()])
    if len(quotes) == 1 and quotes[0].terms:
        terms = [
            (term.label, "-" if term.value is None else f"{term.value:g} {term.unit}", f"{term.factor:.3f}",
             f"{term.cents:+d}", term.said)
            for term in quotes[0].terms
        ]  # fmt: skip
        show_table(f"Terms of {quotes[0].gpu_model}", ("term", "number", "factor", "cents", "in words"), terms)


def _dollars(cents: int | None) -> str:
    return "-" if cents is None else f"{cents / 100:.2f}"
