"""Asking what an ask would get, before it is made; the answer is kept with it."""

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from console.dispatch.services import enqueue
from console.inventory.models import Observation
from console.live.services import publish
from console.spot.choices import EstimateState
from console.spot.models import Estimate, Lease
from console.spot.selectors.viewing import ASK
from console.spot.services import asking
from console.tenancy.services import person, require

KEPT = 30  # of one person, beside those that were asked on
LOST_AFTER = timedelta(minutes=3)


@transaction.atomic
def ask_estimate(user: Any, *, source_id: int, cluster: str, tenant: str, asked: dict[str, Any]) -> Estimate:
    """Sends the question to a worker; the same question that nobody has answered yet is not sent twice.

    Raises ``FieldError`` or ``Denied``.
    """
    require(user, ASK)
    place, whose = asking.where(user, source_id, cluster, tenant)
    said = asking.checked(place, asked)
    mine = Estimate.objects.filter(asked_by=user, lease=None)
    open_one = mine.filter(state__in=(EstimateState.ASKED, EstimateState.WORKING), cluster=cluster, tenant=whose,
                           source_id=source_id, asked_at__gt=timezone.now() - LOST_AFTER).first()  # fmt: skip
    if open_one is not None and open_one.asked == said:
        return open_one
    old = list(mine.values_list("pk", flat=True)[KEPT:])
    Estimate.objects.filter(pk__in=old).delete()
    return _sent(person(user), source_id, cluster, whose, said)


def estimate_of(row: Lease) -> Estimate:
    """A lease that was asked for without looking at an estimate is given one, so that it can be scored as well."""
    return _sent(row.asked_by, row.source_id, row.cluster, row.tenant, asking.ask_of(row), row)


def _sent(
    user: Any, source_id: int, cluster: str, tenant: str, said: dict[str, Any], row: Lease | None = None
) -> Estimate:
    made = Estimate.objects.create(
        source_id=source_id, cluster=cluster, tenant=tenant, asked_by=user, asked_at=timezone.now(), asked=said,
        lease=row,
    )  # fmt: skip
    enqueue("spot.estimate", estimate_id=made.pk)
    return made


def begin_estimate(estimate_id: int) -> Estimate | None:
    """For the worker that takes it; None where another one has, or nobody asks any more."""
    mine = Estimate.objects.filter(pk=estimate_id, state=EstimateState.ASKED).update(state=EstimateState.WORKING)
    if not mine:
        return None
    return Estimate.objects.select_related("source", "lease", "asked_by").get(pk=estimate_id)


def keep_estimate(row: Estimate, reading: Observation, answer: dict[str, Any]) -> None:
    """The answer, of this reading."""
    _close(row, state=EstimateState.DONE, answer=answer, revision=reading.revision, observed_at=reading.observed_at)


def fail_estimate(row: Estimate, why: str) -> None:
    _close(row, state=EstimateState.FAILED, failure=why)


@transaction.atomic
def _close(row: Estimate, **said: Any) -> None:
    mine = Estimate.objects.filter(pk=row.pk, state=EstimateState.WORKING)
    if mine.update(done_at=timezone.now(), **said):
        publish("leases", "estimate.answered")
        publish(f"estimate:{row.pk}", "estimate.answered")
