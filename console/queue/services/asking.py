"""Asking what would unblock a job, and keeping the answer."""

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from console.audit.services import record
from console.dispatch.services import enqueue
from console.inventory.models import Observation
from console.live.services import publish
from console.queue.choices import InquiryState, JobState
from console.queue.models import Inquiry, Job
from console.queue.services.keeping import TOPIC
from console.rest.errors import Conflict
from console.tenancy.services import require

OPEN = (InquiryState.ASKED, InquiryState.WORKING)
LOST_S = 300  # nobody plans for so long: the worker is gone
KEPT = 5  # answers of one job


@transaction.atomic
def ask_unblock(user: Any, job: Job) -> Inquiry:
    """Asks a worker, once at a time; raises ``Conflict`` where the job does not wait.  ``job``: one that is seen."""
    require(user, "inventory.view_own")
    job = Job.objects.select_for_update().get(pk=job.pk)
    if job.state != JobState.PENDING:
        raise Conflict(f"{job.key} does not wait any more.")
    now = timezone.now()
    Inquiry.objects.filter(job=job, state__in=OPEN, asked_at__lt=now - timedelta(seconds=LOST_S)).update(
        state=InquiryState.FAILED, done_at=now, failure="The worker that was asked has not answered."
    )
    under_way = Inquiry.objects.filter(job=job, state__in=OPEN).first()
    if under_way is not None:
        return under_way
    asked = Inquiry.objects.create(job=job, asked_by=user, asked_at=now)
    old = list(Inquiry.objects.filter(job=job).values_list("pk", flat=True)[KEPT:])
    Inquiry.objects.filter(pk__in=old).delete()
    record(actor=user, action="queue.unblock_asked", target_kind="job", target_id=f"{job.cluster}/{job.key}"[:200])
    enqueue("queue.unblock", inquiry_id=asked.pk)
    publish(TOPIC, "queue.asked")
    return asked


def begin_inquiry(inquiry_id: int) -> Inquiry | None:
    """For the worker that takes it; None where another one has."""
    mine = Inquiry.objects.filter(pk=inquiry_id, state=InquiryState.ASKED).update(state=InquiryState.WORKING)
    return Inquiry.objects.select_related("job").get(pk=inquiry_id) if mine else None


@transaction.atomic
def answer_inquiry(inquiry: Inquiry, reading: Observation, remedies: list[dict[str, Any]], solved: str) -> None:
    _close(inquiry, state=InquiryState.DONE, revision=reading.revision, begun_at=reading.begun_at, remedies=remedies,
           solved=solved)  # fmt: skip


@transaction.atomic
def fail_inquiry(inquiry: Inquiry, why: str) -> None:
    _close(inquiry, state=InquiryState.FAILED, failure=why)


def _close(inquiry: Inquiry, **said: Any) -> None:
    rows = Inquiry.objects.filter(pk=inquiry.pk, state=InquiryState.WORKING)
    if rows.update(done_at=timezone.now(), **said):
        publish(TOPIC, "queue.answered")
