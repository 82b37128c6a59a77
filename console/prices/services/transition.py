"""The one way a proposal changes its state: compare-and-set, one audit row, one event, in one transaction."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.http import Http404

from console.audit import services as audit
from console.live.services import publish
from console.prices import lifecycle
from console.prices.choices import State
from console.prices.models import Proposal
from console.rest.errors import Conflict

TOPIC = "prices"
_DONE_TO = {State.PROPOSED: "sent for approval", State.COMPUTING: "changed", State.IN_FORCE: "put in force"}


class VersionMissingError(Exception):
    """Who edits must say which version was read; HTTP 428."""

    def __init__(self) -> None:
        self.reason = "Send the version that you read in If-Match."
        super().__init__(self.reason)


class VersionChangedError(Exception):
    """Somebody changed it meanwhile; HTTP 412."""

    def __init__(self, what: str, version: int) -> None:
        self.version = version
        self.reason = f"Somebody changed {what} meanwhile: it is at version {version}. Read it again, then decide."
        super().__init__(self.reason)


class DigestMissingError(Exception):
    """An approval must say what it approves; HTTP 428."""

    def __init__(self) -> None:
        self.reason = "Send the digest that you read (If-Match or the field digest): a decision binds to it."
        super().__init__(self.reason)


def read(proposal_id: int) -> Proposal:
    """Without its document.  Raises ``Http404``."""
    rows = Proposal.objects.select_related("opened_by", "proposer", "approver").defer("document")
    found = rows.filter(pk=proposal_id).first()
    if found is None:
        raise Http404("There is no such proposal of prices.")
    return found


def change(
    proposal_id: int,
    target: State,
    *,
    actor: Any,
    reason: str = "",
    sources: Iterable[State] | None = None,
    narrow: dict[str, Any] | None = None,
    detail: dict[str, Any] | None = None,
    **fields: Any,
) -> Proposal:
    """Move the proposal to ``target`` or raise ``Conflict`` with whose act came first.  ``actor`` None: the console."""
    with transaction.atomic():
        rows = Proposal.objects.filter(pk=proposal_id, **(narrow or {}))
        if not lifecycle.move(rows, target, sources=sources, reason=reason, **fields):
            raise Conflict(why_not(proposal_id, target))
        proposal = read(proposal_id)
        tell(proposal, f"proposal.{target.value}", actor=actor, reason=reason, detail=detail)
    return proposal


def tell(
    proposal: Proposal, action: str, *, actor: Any, reason: str = "", detail: dict[str, Any] | None = None
) -> None:
    """In the book and for open pages; in the caller's transaction."""
    audit.record(
        actor=actor, action=f"price_{action}", target_kind="price_proposal", target_id=proposal.pk, reason=reason,
        digest=proposal.digest, detail=detail,
    )  # fmt: skip
    publish(TOPIC, action, proposal=proposal.pk, state=proposal.state)


def why_not(proposal_id: int, target: State) -> str:
    """Whoever lost a race reads what came first."""
    found = read(proposal_id)
    state = State(found.state)
    now = f"Proposal {proposal_id} is {state.label.lower()}"
    because = f": {found.reason}" if found.reason else ""
    if target in lifecycle.EDGES.get(state, frozenset()):
        return f"Proposal {proposal_id} changed while you looked at it. Read it again."
    if state == target:
        return f"{now} already{because}"
    return f"{now}{because or '.'} It cannot be {_DONE_TO.get(target, target.label.lower())}."
