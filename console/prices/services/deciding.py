"""Edits, and the other pair of eyes: yes or no to one digest, in time, never by whoever wrote or sent the prices."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from console.dispatch.services import enqueue
from console.prices import selectors
from console.prices.choices import MOST_CENTS, State, Wanted
from console.prices.models import Line, Proposal
from console.prices.services.computing import keep_document
from console.prices.services.transition import (
    DigestMissingError,
    VersionChangedError,
    VersionMissingError,
    change,
    read,
    why_not,
)
from console.prices.spans import full_hour
from console.rest.errors import Conflict, FieldError
from console.tenancy.services import Denied, require

LATEST_DAYS = 60


def edit_prices(
    user: Any, proposal_id: int, cents: Mapping[str, int | None], *, reason: str = "", version: int | None
) -> Proposal:
    """Name prices in a draft, on top of ``version``; its preview is worked out anew.  None: no quote.

    Raises ``Denied``, ``FieldError``, ``Conflict``, ``VersionMissingError`` (428) or ``VersionChangedError`` (412).
    """
    require(user, "prices.propose_price")
    row = _at_version(proposal_id, version, State.COMPUTING)
    lines = {line.gpu_model: line for line in row.lines.all()}
    _refuse_cents(lines, cents)
    now = timezone.now()
    with transaction.atomic():
        changed = [line for model, line in lines.items() if model in cents and line.cents != cents[model]]
        detail = {line.gpu_model: {"was": line.cents, "now": cents[line.gpu_model]} for line in changed}
        row = change(
            proposal_id, State.COMPUTING, actor=user, reason=reason.strip(), sources=[State.DRAFT],
            narrow={"version": row.version}, detail=detail, wanted=Wanted.PREVIEW, version=F("version") + 1,
            preview=None, digest="", document=None, expires_at=None, claim=None, attempts=0, sent_at=now,
            editors=sorted({*row.editors, user.pk}) if changed else row.editors,
        )  # fmt: skip
        for line in changed:
            Line.objects.filter(pk=line.pk).update(cents=cents[line.gpu_model])
        enqueue("prices.preview", proposal_id=proposal_id)
    return row


def _at_version(proposal_id: int, version: int | None, target: State) -> Proposal:
    """The draft, if it is the one that was read."""
    if version is None:
        raise VersionMissingError
    row = read(proposal_id)
    if row.state != State.DRAFT:
        raise Conflict(why_not(proposal_id, target))
    if row.version != version:
        raise VersionChangedError(f"proposal {proposal_id}", row.version)
    return row


def _refuse_cents(lines: Mapping[str, Line], cents: Mapping[str, int | None]) -> None:
    bounds = selectors.bounds_of(lines)
    spans = selectors.spans_of(lines, selectors.usual_hour(bounds.values(), timezone.now()))
    for model, value in cents.items():
        if model not in lines:
            raise FieldError("prices", f"{model!r} is not in this proposal")
        if value is None or value == lines[model].was_cents:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_CENTS:
            raise FieldError("prices", f"{model}: a price is a whole number of cents from 1")
        span = spans[model]
        if span is None:
            raise FieldError("prices", f"{model}: {bounds[model].missing}")
        if not span[0] <= value <= span[1]:
            raise FieldError(
                "prices",
                f"{model}: {value} cents is not between {span[0]} and {span[1]}, which floor, on-demand price and the "
                f"largest change of {bounds[model].change_percent} % in {bounds[model].review_hours} h allow",
            )


def send_for_approval(
    user: Any, proposal_id: int, *, effective_at: datetime | None, reason: str, version: int | None
) -> Proposal:
    """Ask for a yes to exactly what is shown, to take effect at ``effective_at`` (None: the usual hour)."""
    require(user, "prices.propose_price")
    row = _at_version(proposal_id, version, State.PROPOSED)
    lines, now = list(row.lines.all()), timezone.now()
    bounds = selectors.bounds_of(line.gpu_model for line in lines)
    hour = selectors.usual_hour(bounds.values(), now) if effective_at is None else effective_at
    _refuse_hour(hour, now)
    if not reason.strip():
        raise FieldError("reason", "say why: it is shown to the approver and kept with the price")
    until = selectors.answer_by(bounds.values(), hour, now)
    if until <= now:
        notice = max(one.notice_hours for one in bounds.values())
        raise FieldError("effective_at", f"too early: a change is announced {notice} hours before it takes effect")
    _refuse_as_it_is(row, lines, hour, now)
    with transaction.atomic():
        row = change(
            proposal_id, State.PROPOSED, actor=user, reason="", sources=[State.DRAFT],
            narrow={"version": row.version}, detail={"effective_at": hour.isoformat()}, proposer=user,
            proposed_at=now, effective_at=hour, takes_at=hour, said=reason.strip(), expires_at=until,
            version=F("version") + 1,
        )  # fmt: skip
        keep_document(row)
    return read(proposal_id)


def _refuse_hour(hour: datetime, now: datetime) -> None:
    if full_hour(hour) != hour:
        raise FieldError("effective_at", "prices change on full hours of UTC: use is counted by the hour")
    if hour <= now:
        raise FieldError("effective_at", "this hour has begun: prices never change backwards")
    if hour > now + timedelta(days=LATEST_DAYS):
        raise FieldError("effective_at", f"at most {LATEST_DAYS} days ahead")


def _refuse_as_it_is(row: Proposal, lines: list[Line], hour: datetime, now: datetime) -> None:
    if not any(line.changes for line in lines):
        raise Conflict("No price in it changes: there is nothing to approve.")
    if row.preview is None:
        raise Conflict("There is no preview of these prices. Preview them again, then send them.")
    wrong = [*selectors.out_of_bounds(lines, hour), *selectors.moved_on(lines, now)]
    if wrong:
        raise Conflict(" ".join(wrong))


def approve_proposal(user: Any, proposal_id: int, digest: str, reason: str) -> Proposal:
    """Sign ``digest``: the prices are announced, and count from their hour on.

    Raises ``Denied`` (403), ``DigestMissingError`` (428) or ``Conflict`` (409) with the reason and the next step.
    """
    require(user, "prices.approve_price")
    row = _addressed(proposal_id, digest, reason, State.APPROVED)
    if user.pk in selectors.hands(row):
        raise Denied("You sent or edited these prices: somebody else must approve them.")
    now = timezone.now()
    if row.expires_at is not None and row.expires_at <= now:
        raise Conflict(f"It expired at {row.expires_at:%H:%M} UTC: too little time is left to announce it.")
    failing = [one.why for one in selectors.checks(user, row, now) if not one.holds]
    if failing:
        raise Conflict(" ".join(failing))
    with transaction.atomic():
        # Two proposals of one model that are approved at once: the second finds the first.
        list(Proposal.objects.select_for_update().filter(state__in=[State.PROPOSED, State.APPROVED]).only("pk"))
        if selectors.rivals(row):
            raise Conflict("Another proposal was approved for one of these models meanwhile.")
        return change(
            proposal_id, State.APPROVED, actor=user, reason=reason.strip(), sources=[State.PROPOSED],
            narrow={"digest": digest, "expires_at__gt": now}, detail=_announced(row), approver=user, approved_at=now,
        )  # fmt: skip


def _announced(row: Proposal) -> dict[str, Any]:
    changed = {line.gpu_model: {"was": line.was_cents, "now": line.cents} for line in row.lines.all() if line.changes}
    return {"effective_at": row.effective_at.isoformat() if row.effective_at else "", "prices": changed}


def reject_proposal(user: Any, proposal_id: int, digest: str, reason: str) -> Proposal:
    """No to what was sent; it is final, its page stays."""
    require(user, "prices.approve_price")
    row = _addressed(proposal_id, digest, reason, State.REJECTED)
    if user.pk == row.proposer_id:
        raise Denied("You sent these prices: withdraw them instead of rejecting them.")
    return change(
        proposal_id, State.REJECTED, actor=user, reason=reason.strip(), narrow={"digest": digest}, approver=user,
        ended_at=timezone.now(),
    )  # fmt: skip


def withdraw_proposal(user: Any, proposal_id: int, reason: str) -> Proposal:
    """Take it back before it is in force; what was announced is said to be off."""
    require(user, "prices.propose_price")
    row = read(proposal_id)
    if not reason.strip():
        raise FieldError("reason", "say why: it is kept in the audit log")
    if row.state == State.APPROVED and not user.has_perm("prices.approve_price") and row.proposer_id != user.pk:
        raise Denied(f"Proposal {proposal_id} is announced: its proposer or an approver may withdraw it.")
    return change(proposal_id, State.WITHDRAWN, actor=user, reason=reason.strip(), ended_at=timezone.now(), held="")


def _addressed(proposal_id: int, digest: str, reason: str, target: State) -> Proposal:
    """The proposal, if the request names the digest that it has now and says why."""
    if not digest:
        raise DigestMissingError
    row = read(proposal_id)
    if row.state != State.PROPOSED:
        raise Conflict(why_not(proposal_id, target))
    if digest != row.digest:
        raise Conflict(
            f"You read digest {digest[:8]}, proposal {proposal_id} has {row.digest[:8]}. Read the proposal again."
        )
    if not reason.strip():
        raise Conflict("A decision needs a reason: it is kept in the audit log. Say why.")
    return row
