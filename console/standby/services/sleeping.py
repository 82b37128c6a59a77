"""Who is due to sleep, who is due to wake, and what the cluster answered.

A freeze stops pods from being put to sleep, and never keeps one from waking: the waking was promised to its owner.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from console.connectors.protocol import Outcome
from console.inventory.models import Source
from console.live.services import publish
from console.plans.selectors import active_freezes
from console.standby.choices import LEAD_S, LEAST_MINUTES, Cause, SleeperState
from console.standby.hours import Span
from console.standby.lifecycle import move
from console.standby.models import Sleeper, Window
from console.standby.services.pods import Found, of_workload, one_of, reading
from console.standby.services.recalling import ask
from scheduler.cluster.snapshot import Snapshot


def put_to_sleep(source: Source, now: datetime) -> int:
    """Rows for pods whose window is on and who do not sleep under it yet; how many were made.

    Who was recalled within this span of its window stays awake until the next one.
    """
    on = [(window, span) for window in _open_windows(source) if (span := _worth_sleeping(window, now)) is not None]
    snapshot = reading(source) if on else None  # this is asked every second: a reading is opened only where one counts
    return 0 if snapshot is None else sum(_ask(window, span, snapshot) for window, span in on)


def _open_windows(source: Source) -> QuerySet[Window]:
    return Window.objects.filter(source=source, ended_at=None)


def _worth_sleeping(window: Window, now: datetime) -> Span | None:
    span = window.span_at(now)
    least = timedelta(minutes=LEAST_MINUTES, seconds=-LEAD_S)
    return None if span is None or span.ends_at - now < least else span


def _ask(window: Window, span: Span, snapshot: Snapshot) -> int:
    known = set(Sleeper.objects.filter(window=window, begins_at=span.begins_at).values_list("pod", "pod_uid"))
    pods = of_workload(snapshot, window.cluster, window.namespace, window.workload)
    due = [one for one in pods if one.tenant == window.tenant and (one.pod, one.uid) not in known]
    due = [one for one in due if not one.terminating and frozen_over(window.cluster, one.gpu_model) is None]
    rows = [_row(window, span.begins_at, span.ends_at, one) for one in due]
    return len(Sleeper.objects.bulk_create(rows, ignore_conflicts=True))


def _row(window: Window, begins_at: datetime, until_at: datetime, pod: Found) -> Sleeper:
    return Sleeper(
        window=window, pod=pod.pod, pod_uid=pod.uid, node=pod.node, gpu_model=pod.gpu_model, gpu_milli=pod.gpu_milli,
        memory_mib=pod.memory_mib, device_mib=pod.device_mib, begins_at=begins_at, until_at=until_at,
    )  # fmt: skip


def frozen_over(cluster: str, gpu_model: str) -> Any | None:
    """The freeze that lies on this pool, None where none does."""
    for freeze in active_freezes():
        if freeze.cluster in ("", cluster) and freeze.gpu_model in ("", gpu_model):
            return freeze
    return None


def wake_due(source: Source, now: datetime) -> int:
    """Asks for the recalls that must begin now, so that pods serve when their windows end."""
    latest = now + timedelta(seconds=LEAD_S)
    states = (SleeperState.ASKED, SleeperState.ASLEEP)
    rows = Sleeper.objects.filter(window__source=source, state__in=states).select_related("window__source")
    asked = 0
    for sleeper in rows:
        if sleeper.due_at > now:
            continue
        ahead = sleeper.until_at > latest
        why = "many pods wake at that time: this one begins early" if ahead else "its window ends"
        with transaction.atomic():
            cause = Cause.AHEAD if ahead else Cause.WINDOW
            asked += ask(sleeper, cause, why, wanted_at=sleeper.until_at) is not None
    return asked


def untold(source: Source) -> list[Sleeper]:
    """Those of whom the cluster has not heard, or not until when."""
    states = (SleeperState.ASKED, SleeperState.ASLEEP)
    rows = Sleeper.objects.filter(window__source=source, state__in=states, told=False).select_related("window__source")
    return list(rows.order_by("pk"))


def begin_telling(sleeper: Sleeper) -> bool:
    """Noted before the cluster is asked: from then on only a recall undoes it."""
    mine = Sleeper.objects.filter(pk=sleeper.pk, state=sleeper.state, turn=sleeper.turn)
    return bool(mine.update(detail=sleeper.detail or "the cluster is told"))


def note_sleep(sleeper: Sleeper, outcome: Outcome) -> None:
    """Keep what the cluster answered.  One that was given up meanwhile and sleeps all the same is recalled."""
    now = timezone.now()
    with transaction.atomic():
        mine = Sleeper.objects.filter(pk=sleeper.pk)
        told = mine.filter(turn=sleeper.turn)
        if outcome.state == "failed":
            changed = move(told, SleeperState.REFUSED, detail=outcome.detail, over_at=now)
        elif told.filter(state=SleeperState.ASLEEP).update(told=True, detail=outcome.detail):
            changed = True
        else:
            changed = move(told, SleeperState.ASLEEP, detail=outcome.detail, told=True, slept_at=now, counted_at=now)
        if changed:
            publish("standby", "sleeper.changed")
        elif outcome.state == "succeeded":
            _take_back(sleeper)


def _take_back(sleeper: Sleeper) -> None:
    """It sleeps although it was given up while the cluster was told, and nobody has recalled it."""
    given_up = Sleeper.objects.filter(pk=sleeper.pk, state=SleeperState.OVER, recalls=None)
    for row in given_up.select_related("window__source"):
        ask(row, Cause.WINDOW, "it was given up")


def note_awake(source: Source, snapshot: Snapshot, begun_at: datetime) -> int:
    """Sleepers that a reading begun after they fell asleep shows awake or gone: they are over."""
    rows = Sleeper.objects.filter(
        window__source=source, state=SleeperState.ASLEEP, slept_at__lt=begun_at
    ).select_related("window")  # fmt: skip
    over = 0
    for sleeper in rows:
        found = one_of(snapshot, sleeper.window.cluster, sleeper.pod)
        if found is not None and found.asleep and found.uid == sleeper.pod_uid:
            continue
        same = found is not None and found.uid == sleeper.pod_uid
        why = "it woke by itself" if same else "the pod is gone"
        over += move(Sleeper.objects.filter(pk=sleeper.pk), SleeperState.OVER, detail=why, over_at=timezone.now())
    if over:
        publish("standby", "sleeper.changed")
    return over
