"""What a tenant does with a lease: draft, ask, withdraw, give back."""

from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from console.audit import services as audit
from console.rest.errors import Conflict, FieldError
from console.spot.choices import EstimateState, Reason, State
from console.spot.models import Estimate, Lease, LeaseChange
from console.spot.selectors.places import own_tenants
from console.spot.selectors.viewing import ASK, lease_for
from console.spot.services import asking, estimating, writing
from console.tenancy.services import Denied, person, require

MOST_OPEN = 200  # leases of one tenant that are not over


def make_lease(
    user: Any,
    *,
    source_id: int,
    cluster: str,
    tenant: str,
    asked: dict[str, Any],
    name: str = "",
    draft: bool = False,
    estimate_id: int | None = None,
    request_key: str | None = None,
) -> tuple[Lease, bool]:
    """(the lease, whether it is new).  The same ``request_key`` of the same person gives the same lease.

    Raises ``FieldError``, ``Denied``, or ``Conflict`` where the key was used for another ask.
    """
    require(user, ASK)
    place, whose = asking.where(user, source_id, cluster, tenant)
    said = asking.checked(place, asked)
    _refuse_name(name)
    given = {"source_id": source_id, "cluster": cluster, "tenant": whose, "name": name.strip(), **said}
    try:
        with transaction.atomic():
            return _made(person(user), given, draft, estimate_id, request_key), True
    except IntegrityError:
        if request_key is None:
            raise
        return _same(user, request_key, given), False


def _made(user: Any, given: dict[str, Any], draft: bool, estimate_id: int | None, request_key: str | None) -> Lease:
    if Lease.objects.filter(tenant=given["tenant"], ended_at=None).count() >= MOST_OPEN:
        raise FieldError("tenant", f"{given['tenant']} has {MOST_OPEN} leases that are not over; end some first")
    row = Lease.objects.create(asked_by=user, request_key=request_key, **given)
    LeaseChange.objects.create(lease=row, at=row.made_at, state=row.state, reason=row.reason, by=user)
    audit.record(actor=user, action="lease.draft", target_kind="lease", target_id=row.pk,
                 detail={"tenant": row.tenant, "gpus": row.gpus, "models": row.gpu_models})  # fmt: skip
    writing.announce(row, "lease.draft")
    if not draft:
        _submit(row, user, estimate_id)
    return row


def _same(user: Any, request_key: str, given: dict[str, Any]) -> Lease:
    row = Lease.objects.filter(asked_by=user, request_key=request_key).first()
    if row is None:
        raise Conflict("Somebody else asked at the same moment. Ask again.")
    if any(getattr(row, name) != value for name, value in given.items()):
        raise Conflict(f"This key was used for lease {row.number}, which asks for something else. Send another key.")
    return row


@transaction.atomic
def edit_draft(user: Any, lease_id: int, version: int | None, asked: dict[str, Any], name: str | None = None) -> Lease:
    """Other wishes of a lease that is not asked for yet.  Raises as ``make_lease``."""
    row = _own(user, lease_id, version)
    if row.state != State.DRAFT:
        raise Conflict(f"Lease {row.number} is asked for already: withdraw it, and ask anew.")
    place, _ = asking.where(user, row.source_id, row.cluster, row.tenant)
    said = asking.checked(place, {**asking.ask_of(row), **asked})
    if name is not None:
        _refuse_name(name)
        said["name"] = name.strip()
    mine = Lease.objects.filter(pk=row.pk, turn=row.turn, state=State.DRAFT)
    if not mine.update(turn=row.turn + 1, **said):
        raise Conflict(f"Lease {row.number} changed while you looked at it. Read it again.")
    row.refresh_from_db()
    audit.record(actor=user, action="lease.edited", target_kind="lease", target_id=row.pk, detail={"gpus": row.gpus})
    writing.announce(row, "lease.edited")
    return row


@transaction.atomic
def ask_for(user: Any, lease_id: int, version: int | None, estimate_id: int | None = None) -> Lease:
    """A draft goes into the line."""
    row = _own(user, lease_id, version)
    if row.state != State.DRAFT:
        raise Conflict(f"Lease {row.number} is {row.get_state_display().lower()}, not a draft.")
    _submit(row, user, estimate_id)
    return row


@transaction.atomic
def withdraw(user: Any, lease_id: int, version: int | None) -> Lease:
    """A lease that has no pods: it costs nothing and leaves the line."""
    row = _own(user, lease_id, version)
    if row.state not in (State.DRAFT, State.WAITING, State.REQUEUED):
        words = "over" if row.is_final else f"{row.get_state_display().lower()}: give it back instead"
        raise Conflict(f"Lease {row.number} is {words}.")
    writing.changed(row, State.WITHDRAWN, Reason.BY_TENANT, {"kept_s": row.kept_s}, by=user)
    return row


@transaction.atomic
def give_back(user: Any, lease_id: int, version: int | None) -> Lease:
    """Its pods get notice and run their hooks; it is paid until the last of them is gone."""
    row = _own(user, lease_id, version)
    if row.state == State.RECLAIMING:
        raise Conflict(f"Lease {row.number} has notice already: it gives its GPUs back within a minute.")
    if row.state not in (State.STARTING, State.RUNNING):
        raise Conflict(f"Lease {row.number} is {row.get_state_display().lower()}: it has no GPUs to give back.")
    writing.changed(row, State.ENDING, Reason.BY_TENANT, {"to": State.GIVEN_BACK.value}, by=user)
    return row


def _submit(row: Lease, user: Any, estimate_id: int | None) -> None:
    now = timezone.now()
    writing.changed(row, State.WAITING, Reason.NOT_EVALUATED, by=user, at=now, asked_at=now)
    told = None if estimate_id is None else Estimate.objects.filter(pk=estimate_id, asked_by=user, lease=None).first()
    if told is not None and _told_this(told, row):
        told.lease = row
        told.save(update_fields=["lease"])
    else:
        estimating.estimate_of(row)


def _told_this(told: Estimate, row: Lease) -> bool:
    """What was estimated is what is asked for; an old answer is no prediction of this ask any more."""
    same = (told.source_id, told.cluster, told.tenant, told.asked) == (
        row.source_id, row.cluster, row.tenant, asking.ask_of(row),
    )  # fmt: skip
    young = row.asked_at is not None and row.asked_at - told.asked_at < 5 * estimating.LOST_AFTER
    return same and young and told.state != EstimateState.FAILED


def _own(user: Any, lease_id: int, version: int | None) -> Lease:
    """Raises ``Denied`` for who sees it and may not act for its tenant."""
    require(user, ASK)
    row = lease_for(user, lease_id)
    if row.tenant not in own_tenants(user):
        raise Denied(f"Lease {row.number} is not of your tenants.")
    writing.refuse_old(row, version)
    return row


def _refuse_name(name: str) -> None:
    if len(name.strip()) > asking.LONGEST_NAME:
        raise FieldError("name", f"at most {asking.LONGEST_NAME} characters")
