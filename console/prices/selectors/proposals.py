"""Proposals as people and services read them, what is signed of one, and what speaks against it now."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone

from console.inventory.selectors.measured import newest_measurements
from console.plans.selectors import active_freezes, covers, frozen_words
from console.prices import lifecycle
from console.prices.choices import State
from console.prices.models import Line, Price, Proposal
from console.prices.selectors.quotes import prices_in_force, steps_between
from console.prices.selectors.terms import Bounds, bounds_of
from console.prices.spans import allowed, next_hour
from console.tenancy.services import require

VIEW, PROPOSE, APPROVE = "prices.view_proposal", "prices.propose_price", "prices.approve_price"
FORMAT = "slackline/prices/v1"
HEAVY = ("document", "preview")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold; ``fact`` is what is so, ``why`` the sentence where it does not hold."""

    label: str
    holds: bool
    fact: str
    why: str = ""


def proposals(viewer: Any) -> QuerySet[Proposal]:
    """Newest first."""
    require(viewer, VIEW)
    rows = Proposal.objects.select_related("opened_by", "proposer", "approver")
    return rows.prefetch_related("lines").defer(*HEAVY)


def proposal_of(viewer: Any, proposal_id: int) -> Proposal:
    """Raises ``Http404``; the right is asked for first."""
    require(viewer, VIEW)
    rows = Proposal.objects.select_related("opened_by", "proposer", "approver").prefetch_related("lines")
    found = rows.defer("document").filter(pk=proposal_id).first()
    if found is None:
        raise Http404("There is no such proposal of prices.")
    return found


def proposals_awaiting(viewer: Any) -> QuerySet[Proposal]:
    return proposals(viewer).filter(state=State.PROPOSED)


def document_bytes(viewer: Any, proposal_id: int) -> tuple[bytes, str]:
    """The bytes whose sha256 is signed, and that digest; empty where nothing was found yet."""
    require(viewer, VIEW)
    found = Proposal.objects.only("document", "digest").filter(pk=proposal_id).first()
    if found is None:
        raise Http404("There is no such proposal of prices.")
    return bytes(found.document or b""), found.digest


def document_read(viewer: Any, proposal_id: int) -> tuple[dict[str, Any] | None, str]:
    """The same, read; None where nothing was found yet."""
    document, digest = document_bytes(viewer, proposal_id)
    return (json.loads(document) if document else None), digest


def document_of(proposal: Proposal) -> tuple[bytes, str]:
    """Canonical JSON of everything that an approver is shown, and its sha256."""
    shown = {
        "format": FORMAT,
        "proposal": proposal.pk,
        "said": proposal.said,
        "effective_at": None if proposal.effective_at is None else proposal.effective_at.isoformat(),
        "seed": proposal.seed,
        "preview": proposal.preview,
        "lines": [
            {
                name: getattr(line, name)
                for name in (
                    "gpu_model", "base_id", "was_cents", "computed_cents", "cents", "on_demand_cents", "floor_cents",
                    "change_percent", "why", "terms",
                )
            }
            for line in Line.objects.filter(proposal=proposal)
        ],
    }  # fmt: skip
    document = json.dumps(shown, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return document, hashlib.sha256(document).hexdigest()


# --- hours and bounds ----------------------------------------------------------------------------------------------
def usual_hour(bounds: Iterable[Bounds], now: datetime) -> datetime:
    """When a change takes effect if nobody says: after the time to approve it, and the notice."""
    every = list(bounds)
    notice = max((one.notice_hours for one in every), default=0)
    valid = min((one.valid_hours for one in every), default=1)
    return next_hour(now + timedelta(hours=notice + valid))


def answer_by(bounds: Iterable[Bounds], effective_at: datetime, now: datetime) -> datetime:
    """Until when it must be approved: so that the notice is kept, and before it has waited for too long."""
    every = list(bounds)
    notice = max((one.notice_hours for one in every), default=0)
    valid = min((one.valid_hours for one in every), default=1)
    return min(now + timedelta(hours=valid), effective_at - timedelta(hours=notice))


def before_change(bounds: Mapping[str, Bounds], effective_at: datetime) -> dict[str, list[int]]:
    """Model -> prices in force within one period of review before an hour, the newest last."""
    found: dict[str, list[int]] = {}
    for hours in {one.review_hours for one in bounds.values()}:
        mine = [model for model, one in bounds.items() if one.review_hours == hours]
        steps = steps_between(effective_at - timedelta(hours=hours), effective_at, mine)
        found |= {model: [cents for _, cents in said if cents is not None] for model, said in steps.items()}
    return found


def spans_of(models: Iterable[str], effective_at: datetime) -> dict[str, tuple[int, int] | None]:
    """Model -> (lowest, highest) cents that it may cost from an hour on."""
    bounds = bounds_of(models)
    before = before_change(bounds, effective_at)
    return {
        model: allowed(before.get(model, ()), one.floor_cents, one.on_demand_cents, one.change_percent)
        for model, one in bounds.items()
    }


# --- what speaks against it ----------------------------------------------------------------------------------------
def out_of_bounds(lines: Iterable[Line], effective_at: datetime) -> list[str]:
    """A sentence for each line that may not be so from that hour on."""
    every = [line for line in lines if line.changes and line.cents is not None]
    spans = spans_of([line.gpu_model for line in every], effective_at)
    found = []
    for line in every:
        span = spans[line.gpu_model]
        if span is None:
            found.append(bounds_of([line.gpu_model])[line.gpu_model].missing)
        elif not span[0] <= (line.cents or 0) <= span[1]:
            found.append(
                f"{line.gpu_model} may cost {usd(span[0])} to {usd(span[1])} from {effective_at:%d %b %H:%M} UTC on, "
                f"not {usd(line.cents)}."
            )
    return found


def usd(cents: int | None) -> str:
    return "no quote" if cents is None else f"{cents / 100:.2f}"


def moved_on(lines: Sequence[Line], now: datetime | None = None) -> list[str]:
    """A sentence for each model whose price in force is another than the one that was looked at."""
    prices = prices_in_force([line.gpu_model for line in lines], now)
    found = []
    for line in lines:
        price: Price | None = prices.get(line.gpu_model)
        if (None if price is None else price.pk) != line.base_id:
            since = "" if price is None else f", {usd(price.cents)} since {price.since:%d %b %H:%M} UTC"
            found.append(f"The price of {line.gpu_model} changed meanwhile{since}.")
    return found


def freeze_over(models: Iterable[str], now: datetime | None = None) -> str:
    """What is frozen of the pools of these models, in words; "" where nothing is.

    A price is one for all clusters, so a freeze of any pool of the model holds it.
    """
    wanted = set(models)
    freezes = active_freezes(now)
    if not freezes:
        return ""
    pools = [(pool["cluster"], pool["gpu_model"]) for one in newest_measurements() for pool in one.pools]
    for freeze in freezes:
        named = freeze.gpu_model in wanted
        if named or covers(freeze, "", ()) or any(m in wanted and covers(freeze, c, [m]) for c, m in pools):
            return frozen_words(freeze)
    return ""


def rivals(proposal: Proposal) -> list[int]:
    """Other proposals that are approved for a model of this one."""
    models = [line.gpu_model for line in proposal.lines.all() if line.changes]
    rows = Line.objects.filter(proposal__state=State.APPROVED, gpu_model__in=models).exclude(proposal=proposal)
    return sorted({row.proposal_id for row in rows if row.changes})


def hands(proposal: Proposal) -> set[int]:
    """Who wrote prices into it or sent it: none of them may approve it."""
    return {*proposal.editors, *([proposal.proposer_id] if proposal.proposer_id is not None else [])}


def checks(viewer: Any, proposal: Proposal, now: datetime | None = None) -> list[Check]:
    """Everything that must hold for a yes of this person, in the order in which it is shown."""
    at = now or timezone.now()
    lines = list(proposal.lines.all())
    frozen = freeze_over([line.gpu_model for line in lines], at)
    moved, others = moved_on(lines, at), rivals(proposal)
    found = [_others_hand(viewer, proposal), _previewed(proposal)]
    if proposal.effective_at is not None:
        wrong = out_of_bounds(lines, proposal.effective_at)
        fact = f"{sum(line.changes for line in lines)} of {len(lines)} change"
        found.append(Check("Within floor, on demand and largest change", not wrong, fact, " ".join(wrong)))
    found.append(Check("Prices are as they were looked at", not moved, f"{len(lines)} models", " ".join(moved)))
    words = f"Proposal {others[0]} is approved for one of these models and not in force yet." if others else ""
    found.append(Check("Nothing else is announced for these models", not others, "", words))
    found.append(Check("No freeze", not frozen, "", frozen and f"{frozen}."))
    return found


def _others_hand(viewer: Any, proposal: Proposal) -> Check:
    who = "" if proposal.proposer is None else f"{proposal.proposer.get_username()} asked"
    mine = viewer.pk in hands(proposal)
    return Check(
        "Not your own prices", not mine, who, "You sent or edited these prices: somebody else must approve them."
    )


def _previewed(proposal: Proposal) -> Check:
    done = proposal.preview is not None
    why = "There is no preview of these prices. Preview them again."
    return Check("Previewed on the last week", done, "" if done else "no preview", why)


def open_models() -> set[str]:
    """GPU models of which a proposal is open."""
    rows = Line.objects.filter(proposal__state__in=lifecycle.OPEN).order_by()
    return set(rows.values_list("gpu_model", flat=True).distinct())


def why_of(proposal: Proposal, line: Line) -> str:
    """What is kept with the price: what moved it, and where a person named it, that person's words."""
    if line.edited:
        return f"Set by a person: {proposal.said}" + (f" (worked out: {line.why})" if line.why else "")
    return line.why or proposal.said
