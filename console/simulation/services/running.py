"""The life of a run: claimed by one worker, moved on, kept or failed; and the sweep that finds what was lost.

Every write of a worker is a compare-and-set on its claim: whoever lost it, by a cancellation or to another worker,
writes nothing and stops.
"""

import json
import uuid
import zlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from console.dispatch.services import enqueue
from console.live.services import publish
from console.simulation.choices import OPEN_RUN, RunState, StudyState, TraceState
from console.simulation.models import Checkpoint, Result, Run, Study, Trace
from console.simulation.services.studying import LIST_TOPIC, topic_of

SILENT = timedelta(seconds=45)  # a worker that says nothing for so long is gone
UNTAKEN = timedelta(minutes=2)  # a queued run is asked for again: whoever takes it first has it
MOST_ATTEMPTS = 4
LARGEST_CHECKPOINT = 48 * 1024 * 1024
LOST = f"{MOST_ATTEMPTS} workers that took this run up were lost on the way: it may need more memory than they have."


def claim(run_id: int) -> Run | None:
    """For the worker that takes it; None where another one has, it is over, or its study is."""
    mine = uuid.uuid4()
    now = timezone.now()
    waiting = Run.objects.filter(pk=run_id, state=RunState.QUEUED)
    row = waiting.values("attempts").first()
    if row is None or not waiting.filter(attempts=row["attempts"]).update(
        state=RunState.RUNNING, claim=mine, attempts=row["attempts"] + 1, beat_at=now
    ):
        return None
    Run.objects.filter(pk=run_id, begun_at=None).update(begun_at=now)
    run = Run.objects.select_related("study").get(pk=run_id)
    if Study.objects.filter(pk=run.study_id, state=StudyState.QUEUED).update(state=StudyState.RUNNING):
        publish(LIST_TOPIC, "study.begun")
    publish(topic_of(run.study_id), "run.begun")
    return run


def tell_trace(run: Run, digest: str, told: Mapping[str, Any], until_s: int, code: str) -> bool:
    """What the run starts from; the first one says it for the study, too."""
    ours = _mine(run).update(trace_digest=digest, jobs=told["jobs"], until_s=until_s, code=code, beat_at=timezone.now())
    if ours and not run.study.told:
        Study.objects.filter(pk=run.study_id, told={}).update(told=dict(told))
    return bool(ours)


def move_on(run: Run, reached: Mapping[str, Any]) -> bool:
    """Progress: now_s, ended, started, waiting, cpu_seconds.  False: this run is not the caller's any more."""
    moved = _mine(run).update(beat_at=timezone.now(), **reached)
    if moved:
        publish(topic_of(run.study_id), "run.moved", run=run.pk)
    return bool(moved)


def beat(run: Run) -> bool:
    """A sign of life from between two steps; False as in ``move_on``."""
    return bool(_mine(run).update(beat_at=timezone.now()))


@transaction.atomic
def stash(run: Run, packed: bytes, code: str, cpu_seconds: float) -> None:
    """How far it is, where that is not too much to keep."""
    if len(packed) > LARGEST_CHECKPOINT or not _mine(run).exists():
        return
    Checkpoint.objects.update_or_create(
        run=run, defaults={"packed": packed, "code": code, "cpu_seconds": cpu_seconds, "at": timezone.now()}
    )


def checkpoint_of(run: Run, code: str) -> tuple[bytes, float] | None:
    """(packed, CPU seconds until then) of an earlier worker of the same code."""
    row = Checkpoint.objects.filter(run=run, code=code).first()
    return None if row is None else (bytes(row.packed), row.cpu_seconds)


@transaction.atomic
def keep_result(
    run: Run, *, digest: str, figures: dict[str, float | None], report: dict[str, Any], fates: bytes,
    reached: Mapping[str, Any],
) -> bool:  # fmt: skip
    """The end of a run.  False: it was no longer the caller's, and nothing is kept."""
    if not _close(run, RunState.DONE, digest=digest, figures=figures, **reached):
        return False
    Result.objects.create(run=run, report=zlib.compress(json.dumps(report, allow_nan=False).encode()), fates=fates)
    Checkpoint.objects.filter(run=run).delete()
    _settle(run.study_id)
    return True


@transaction.atomic
def fail_run(run: Run, why: str) -> None:
    if _close(run, RunState.FAILED, failure=why[:2000]):
        Checkpoint.objects.filter(run=run).delete()
        _settle(run.study_id)


def _mine(run: Run) -> Any:
    return Run.objects.filter(pk=run.pk, state=RunState.RUNNING, claim=run.claim)


def _close(run: Run, state: RunState, **said: Any) -> bool:
    closed = _mine(run).update(state=state, finished_at=timezone.now(), claim=None, **said)
    if closed:
        publish(topic_of(run.study_id), f"run.{state.value}", run=run.pk)
    return bool(closed)


def _settle(study_id: int) -> None:
    """When no run is open any more, the study is summed up, or has failed with all of them."""
    study = Study.objects.select_for_update().get(pk=study_id)
    if study.state not in (StudyState.QUEUED, StudyState.RUNNING):
        return
    states = set(Run.objects.filter(study=study).values_list("state", flat=True))
    if states & set(OPEN_RUN):
        return
    now = timezone.now()
    if RunState.DONE in states:
        study.state, study.asked_at = StudyState.SUMMING, now
        enqueue("simulation.sum_up", study_id=study.pk)
    else:
        study.state, study.finished_at = StudyState.FAILED, now
        study.failure = "No run of this study came to its end."
    study.save(update_fields=["state", "asked_at", "finished_at", "failure"])
    publish(topic_of(study.pk), "study.moved")
    publish(LIST_TOPIC, "study.moved")


def study_to_sum(study_id: int) -> Study | None:
    return Study.objects.filter(
        pk=study_id, summed_at=None, state__in=(StudyState.SUMMING, StudyState.CANCELLED)
    ).first()


def finished_runs(study: Study) -> list[Run]:
    """With their results, by policy and seed: whatever the order in which workers came to their ends."""
    rows = Run.objects.filter(study=study, state=RunState.DONE).select_related("result")
    return list(rows.order_by("policy", "seed"))


@transaction.atomic
def keep_summary(study: Study, summary: dict[str, Any]) -> None:
    packed, now = zlib.compress(json.dumps(summary, allow_nan=False).encode()), timezone.now()
    rows = Study.objects.filter(pk=study.pk, summed_at=None)
    if not rows.update(summary=packed, summed_at=now, told=summary["trace"]):
        return
    failed = Run.objects.filter(study=study, state=RunState.FAILED).count()
    words = f"{failed} of {study.runs.count()} runs failed; the figures are of the others." if failed else ""
    state = StudyState.FAILED if failed else StudyState.DONE
    Study.objects.filter(pk=study.pk, state=StudyState.SUMMING).update(state=state, finished_at=now, failure=words)
    publish(topic_of(study.pk), "study.summed")
    publish(LIST_TOPIC, "study.summed")


@transaction.atomic
def fail_summary(study: Study, why: str) -> None:
    """The runs stay; what was made of them failed."""
    now = timezone.now()
    Study.objects.filter(pk=study.pk, summed_at=None).update(summed_at=now, failure=why[:2000])
    Study.objects.filter(pk=study.pk, state=StudyState.SUMMING).update(state=StudyState.FAILED, finished_at=now)
    publish(topic_of(study.pk), "study.summed")
    publish(LIST_TOPIC, "study.summed")


def sweep() -> int:
    """Finds runs whose worker is gone, and what nobody took; returns how many were asked for again."""
    now = timezone.now()
    Checkpoint.objects.exclude(run__state__in=OPEN_RUN).delete()  # packed while somebody cancelled
    return sum((_lost_runs(now), _untaken_runs(now), _unsummed(now), _unread(now)))


def _lost_runs(now: datetime) -> int:
    again = 0
    for run in Run.objects.filter(state=RunState.RUNNING, beat_at__lt=now - SILENT):
        if run.attempts >= MOST_ATTEMPTS:
            fail_run(run, LOST)
            continue
        rows = Run.objects.filter(pk=run.pk, state=RunState.RUNNING, claim=run.claim, beat_at=run.beat_at)
        if rows.update(state=RunState.QUEUED, claim=None, sent_at=now):
            enqueue("simulation.run", run_id=run.pk)
            publish(topic_of(run.study_id), "run.lost", run=run.pk)
            again += 1
    return again


def _untaken_runs(now: datetime) -> int:
    """Only where nothing runs at all: a long queue is not lost."""
    if Run.objects.filter(state=RunState.RUNNING).exists():
        return 0
    rows = Run.objects.filter(state=RunState.QUEUED, sent_at__lt=now - UNTAKEN)
    return sum(_ask_again(Run, run.pk, run.sent_at, now, "simulation.run", "run_id") for run in rows)


def _unread(now: datetime) -> int:
    rows = Trace.objects.defer("packed", "given").filter(state=TraceState.WAITING, sent_at__lt=now - UNTAKEN)
    return sum(_ask_again(Trace, one.pk, one.sent_at, now, "simulation.read_trace", "trace_id") for one in rows)


def _ask_again(kind: Any, pk: int, sent_at: datetime, now: datetime, task: str, argument: str) -> bool:
    if not kind.objects.filter(pk=pk, sent_at=sent_at).update(sent_at=now):
        return False
    enqueue(task, **{argument: pk})
    return True


def _unsummed(now: datetime) -> int:
    rows = Study.objects.filter(
        state__in=(StudyState.SUMMING, StudyState.CANCELLED), summed_at=None, asked_at__lt=now - UNTAKEN
    )
    again = 0
    for study in rows:
        if Study.objects.filter(pk=study.pk, asked_at=study.asked_at).update(asked_at=now):
            enqueue("simulation.sum_up", study_id=study.pk)
            again += 1
    return again
