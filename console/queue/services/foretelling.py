"""Asking when the jobs of a queue start, once for each reading, and keeping the answer."""

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from console.audit.services import record
from console.dispatch.services import enqueue
from console.live.services import publish
from console.queue.choices import InquiryState, JobState
from console.queue.models import Foretelling, Job
from console.queue.services.keeping import TOPIC
from console.queue.services.turns import newest_reading
from console.rest.errors import Conflict
from console.tenancy.services import require

OPEN = (InquiryState.ASKED, InquiryState.WORKING)
LOST_S = 600
KEPT = 3  # of a source


def place_of(cluster: str, key: str, gang: bool) -> str:
    """How a job is called in ``Foretelling.starts``."""
    return "\n".join((cluster, key, "gang" if gang else "pod"))


@transaction.atomic
def ask_start(user: Any, job: Job) -> Foretelling:
    """Asks a worker, once for each reading of a source; raises ``Conflict`` where the job does not wait."""
    require(user, "inventory.view_own")
    reading = newest_reading(job.source_id)
    if job.state != JobState.PENDING or reading is None:
        raise Conflict(f"{job.key} does not wait any more.")
    now = timezone.now()
    lost = Foretelling.objects.filter(
        source=job.source_id, state__in=OPEN, asked_at__lt=now - timedelta(seconds=LOST_S)
    )
    lost.update(state=InquiryState.FAILED, done_at=now, failure="The worker that was asked has not answered.")
    under_way = Foretelling.objects.filter(source=job.source_id, state__in=OPEN).first()
    if under_way is not None:
        return under_way
    found, made = Foretelling.objects.get_or_create(
        source_id=job.source_id, revision=reading.revision, defaults={"begun_at": reading.begun_at, "asked_at": now}
    )
    if not made and found.state == InquiryState.DONE:
        return found
    Foretelling.objects.filter(pk=found.pk).update(state=InquiryState.ASKED, asked_at=now, failure="")
    old = list(Foretelling.objects.filter(source=job.source_id).values_list("pk", flat=True)[KEPT:])
    Foretelling.objects.filter(pk__in=old).delete()
    record(actor=user, action="queue.start_asked", target_kind="job", target_id=f"{job.cluster}/{job.key}"[:200])
    enqueue("queue.foretell", foretelling_id=found.pk)
    publish(TOPIC, "queue.asked")
    return found


def begin_foretelling(foretelling_id: int) -> Foretelling | None:
    """For the worker that takes it; None where another one has."""
    rows = Foretelling.objects.filter(pk=foretelling_id, state=InquiryState.ASKED)
    return Foretelling.objects.get(pk=foretelling_id) if rows.update(state=InquiryState.WORKING) else None


@transaction.atomic
def answer_foretelling(asked: Foretelling, starts: dict[str, Any], basis: dict[str, Any]) -> None:
    _close(asked, state=InquiryState.DONE, starts=starts, basis=basis)


@transaction.atomic
def fail_foretelling(asked: Foretelling, why: str) -> None:
    _close(asked, state=InquiryState.FAILED, failure=why)


def _close(asked: Foretelling, **said: Any) -> None:
    if Foretelling.objects.filter(pk=asked.pk, state=InquiryState.WORKING).update(done_at=timezone.now(), **said):
        publish(TOPIC, "queue.answered")
