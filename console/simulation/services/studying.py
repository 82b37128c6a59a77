"""Studies: asked for, cancelled, deleted.  Each run is a task of its own, on a queue of its own."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from console.audit.services import record
from console.dispatch.services import enqueue
from console.live.services import publish
from console.rest.errors import Conflict, FieldError
from console.simulation import selectors
from console.simulation.choices import (
    DRAWN,
    KEPT,
    MOST_JOB_RUNS,
    MOST_JOBS,
    MOST_OPEN_RUNS,
    OPEN_RUN,
    OPEN_STUDY,
    RunState,
    StudyState,
    TraceState,
)
from console.simulation.models import Checkpoint, Run, Study, Trace
from console.simulation.services.checking import (
    checked_days,
    checked_policies,
    checked_seeds,
    checked_share,
    checked_text,
)
from console.tenancy.models import User
from console.tenancy.services import person, require

LIST_TOPIC = "studies"
LEAST_SHARE = 0.001


def topic_of(study_id: int) -> str:
    return f"study:{study_id}"


@transaction.atomic
def make_study(
    user: Any,
    *,
    name: str,
    source: str,
    policies: Sequence[Mapping[str, Any]],
    seeds: Sequence[object],
    reason: str = "",
    trace: int | None = None,
    share: float | None = None,
    days: int | None = None,
    redraw: bool = True,
    fail_days: float = 0.0,
) -> Study:
    """Queues one run for every policy and seed.  Raises ``FieldError``, ``Conflict`` over the limit, or ``Denied``."""
    require(user, selectors.RUN)
    mine = person(user)
    wanted = checked_policies(policies)
    numbers = checked_seeds(seeds, len(wanted))
    found, part = _checked_source(source, trace, share)
    until = checked_days(days)
    _check_size(source, found, part, until, len(wanted) * len(numbers))
    _check_open(mine, len(wanted) * len(numbers))
    now = timezone.now()
    study = Study.objects.create(
        name=checked_text("name", name, 100, least=1),
        reason=checked_text("reason", reason, 500),
        made_by=mine,
        made_at=now,
        source=source,
        trace=found,
        share=part,
        days=until,
        redraw=bool(redraw) and found is None,
        fail_days=checked_share("fail_days", fail_days, 0, 10_000),
        seeds=numbers,
        policies=wanted,
    )
    _send_runs(study, now)
    record(
        actor=mine,
        action="study.made",
        target_kind="study",
        target_id=study.pk,
        reason=study.reason,
        digest="" if found is None else found.digest,
        detail={"name": study.name, "trace": source, "policies": [one["name"] for one in wanted], "seeds": numbers},
    )
    publish(LIST_TOPIC, "study.made")
    return study


def _send_runs(study: Study, now: Any) -> None:
    rows = [
        Run(study=study, policy=place, seed=seed, sent_at=now)
        for seed in study.seeds
        for place in range(len(study.policies))
    ]
    for run in Run.objects.bulk_create(rows):
        enqueue("simulation.run", run_id=run.pk)


def _checked_source(source: str, trace_id: int | None, share: float | None) -> tuple[Trace | None, float]:
    if source == KEPT:
        found = Trace.objects.defer("packed", "given").filter(pk=trace_id or 0, state=TraceState.READY).first()
        if found is None:
            raise FieldError("trace", "there is no such trace that is ready")
        return found, 1.0
    if source not in DRAWN:
        raise FieldError("source", f"there is no trace {source!r}, only {', '.join((*DRAWN, KEPT))}")
    if trace_id is not None:
        raise FieldError("trace", f"goes with the source {KEPT} alone")
    return None, checked_share("share", DRAWN[source].share if share is None else share, LEAST_SHARE, 1)


def _check_size(source: str, trace: Trace | None, share: float, days: int | None, runs: int) -> None:
    jobs = selectors.about_jobs(source, trace, share, days)
    if jobs > MOST_JOBS:
        raise FieldError("trace", f"about {jobs:,} jobs are more than the {MOST_JOBS:,} that a run may have")
    if jobs * runs > MOST_JOB_RUNS:
        raise FieldError(
            "seeds",
            f"about {jobs:,} jobs in {runs} runs are more than the {MOST_JOB_RUNS:,} jobs that a study may replay:"
            " take a smaller share, fewer days, policies or seeds",
        )


def _check_open(user: Any, more: int) -> None:
    """Counted under the lock of one's own row, so that two forms sent at once are counted one after the other."""
    User.objects.select_for_update().get(pk=user.pk)
    already = Run.objects.filter(study__made_by=user, state__in=OPEN_RUN).count()
    if already + more > MOST_OPEN_RUNS:
        raise Conflict(
            f"{user.get_username()} has {already} runs that are not finished; with {more} more they would be over the"
            f" {MOST_OPEN_RUNS} of one person. Wait for some to finish, or cancel a study."
        )


@transaction.atomic
def cancel_study(user: Any, study_id: int, reason: str = "") -> None:
    """Runs that wait are not begun, runs under way stop within seconds; what is finished stays.

    Raises ``Conflict`` where nothing is left to cancel.
    """
    require(user, selectors.RUN)
    study = selectors.study_of(user, study_id)
    now = timezone.now()
    moved = Study.objects.filter(pk=study.pk, state__in=OPEN_STUDY).update(state=StudyState.CANCELLED, finished_at=now)
    if not moved:
        raise Conflict(f"This study is {study.get_state_display().lower()}: there is nothing left to cancel.")
    stopped = Run.objects.filter(study=study, state__in=OPEN_RUN).update(
        state=RunState.CANCELLED, finished_at=now, claim=None
    )
    record(
        actor=person(user),
        action="study.cancelled",
        target_kind="study",
        target_id=study.pk,
        reason=checked_text("reason", reason, 500),
        detail={"name": study.name, "runs": stopped},
    )
    Checkpoint.objects.filter(run__study=study).delete()
    if Run.objects.filter(study=study, state=RunState.DONE).exists():
        Study.objects.filter(pk=study.pk).update(asked_at=now)
        enqueue("simulation.sum_up", study_id=study.pk)
    publish(topic_of(study.pk), "study.cancelled")
    publish(LIST_TOPIC, "study.cancelled")


@transaction.atomic
def delete_study(user: Any, study_id: int) -> None:
    """With its runs and results.  Raises ``Conflict`` while it is not finished."""
    require(user, selectors.RUN)
    study = selectors.study_of(user, study_id)
    if study.is_open:
        raise Conflict("This study is not finished: cancel it first.")
    record(
        actor=person(user),
        action="study.deleted",
        target_kind="study",
        target_id=study.pk,
        detail={"name": study.name, "by": study.made_by.get_username(), "runs": study.runs.count()},
    )
    study.delete()
    publish(LIST_TOPIC, "study.deleted")
