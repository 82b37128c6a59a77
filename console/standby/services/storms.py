"""Storms as they were foreseen last: one row each, and on every sleeper's row when it is woken ahead of one."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction

from console.inventory.models import Source
from console.live.services import publish
from console.standby.choices import GRACE_S, SleeperState
from console.standby.models import Ending, Sleeper, Storm
from scheduler.spot.storm import Course
from scheduler.spot.storm import Storm as Foreseen

STORM_GAP_S = 900  # ends of windows that lie no further apart belong to one storm
STORE_MIB_PER_S = 100 * 1024  # that all jobs together can write, until an operator's store says what it takes
MOST_EXITS = 2_000  # of the newest that are looked at
MOST_TOLD = 200  # groups, and pods that are late, in a document
SLEEPING = (SleeperState.ASKED, SleeperState.ASLEEP)


def ends_of_windows(source: Source) -> dict[str, dict[str, datetime]]:
    """By cluster: pod that sleeps under a window -> when that span of it ends."""
    found: dict[str, dict[str, datetime]] = defaultdict(dict)
    for row in Sleeper.objects.filter(window__source=source, state__in=SLEEPING).select_related("window"):
        found[row.window.cluster][row.pod] = row.until_at
    return dict(found)


def exits_of(source: Source) -> list[tuple[float, bool]]:
    """Seconds from notice to gone, and whether it was killed, of what recalls have ended there; the newest first."""
    rows = Ending.objects.filter(recall__source=source, ended_at__isnull=False).order_by("-pk")[:MOST_EXITS]
    return [
        (min(max((row.ended_at - row.noticed_at).total_seconds(), 0.0), GRACE_S), row.killed)
        for row in rows
        if row.ended_at is not None
    ]


def keep_storms(source: Source, ahead: Sequence[tuple[str, Foreseen]], offset_s: int, exits: int, now: datetime) -> int:
    """Replaces what was foreseen of this source, by cluster; ``offset_s``: Unix seconds less the reading's own."""
    rows, taken = [], set[datetime]()
    for cluster, one in ahead:
        at = _at(one.at_s, offset_s)
        while at in taken:  # two clusters, one second: a row each
            at += timedelta(microseconds=1)
        taken.add(at)
        document = {"cluster": cluster, **_document(one, offset_s, exits)}
        rows.append(Storm(source=source, at=at, foreseen_at=now, document=document))
    calls = {
        (cluster, pod): group.at_s for cluster, one in ahead for group in one.after.groups for pod in group.sleepers
    }
    with transaction.atomic():
        Storm.objects.filter(source=source).delete()
        Storm.objects.bulk_create(rows)
        changed = _draw_apart(source, calls, offset_s)
        publish("standby", "storms.foreseen", storms=len(rows), moved=changed)
    return len(rows)


def _draw_apart(source: Source, calls: dict[tuple[str, str], int], offset_s: int) -> int:
    """Whoever is in no storm any more is woken for itself alone again.  One that wakes already is left as it is."""
    changed = 0
    rows = Sleeper.objects.filter(window__source=source, state__in=SLEEPING).select_related("window").order_by("pk")
    for row in rows:
        call = calls.get((row.window.cluster, row.pod))
        wake_at = None if call is None else _at(call, offset_s)
        if wake_at != row.wake_at:
            mine = Sleeper.objects.filter(pk=row.pk, state__in=SLEEPING, wake_at=row.wake_at)
            changed += mine.update(wake_at=wake_at)
    return changed


def _at(second: int, offset_s: int) -> datetime:
    return datetime.fromtimestamp(second + offset_s, UTC)


def _document(one: Foreseen, offset_s: int, exits: int) -> dict[str, Any]:
    """Instants are ISO; amounts have their units in their names."""
    return {
        "said": one.said, "holds": one.holds, "first_end_at": _at(one.first_end_s, offset_s).isoformat(),
        "pods": one.pods, "gpu_milli": one.gpu_milli, "leavers": one.leavers, "leaver_milli": one.leaver_milli,
        "gangs": one.gangs, "tenants": one.tenants, "state_mib": one.state_mib, "silent_pods": one.silent_pods,
        "needed_mib_per_s": round(one.needed_mib_per_s, 1), "store_mib_per_s": one.store_mib_per_s,
        "before": _course(one.before, offset_s), "after": _course(one.after, offset_s), "exits_seen": exits,
        "timelines": _timelines(one, offset_s),
    }  # fmt: skip


def _course(one: Course, offset_s: int) -> dict[str, Any]:
    groups = [
        {
            "at": _at(group.at_s, offset_s).isoformat(), "ends_at": _at(group.ends_s, offset_s).isoformat(),
            "sleepers": len(group.sleepers), "leavers": len(group.leavers), "gangs": group.gangs,
            "gpu_milli": group.gpu_milli, "state_mib": group.state_mib,
        }
        for group in one.groups[:MOST_TOLD]
    ]  # fmt: skip
    return {
        "groups": groups, "groups_in_all": len(one.groups),
        "last_serving_at": _at(one.last_serving_s, offset_s).isoformat(), "killed": one.killed,
        "unsaved_mib": one.unsaved_mib, "peak_mib_per_s": one.peak_mib_per_s,
        "given_up_gpu_hours": round(one.given_up_milli_s / 3_600_000, 2), "late_pods": len(one.late),
        "late": [{"pod": late.pod, "by_s": late.by_s, "said": late.said} for late in one.late[:MOST_TOLD]],
    }  # fmt: skip


def _timelines(one: Foreseen, offset_s: int) -> dict[str, list[Any]]:
    """GPUs that serve again at each step of either course, on one axis of seconds before (-) and after the last end."""
    at_s = sorted({step.at_s for course in (one.before, one.after) for step in course.steps})
    return {
        "at_s": [at - one.at_s for at in at_s],
        "naive": [_serving(one.before, at) / 1000 for at in at_s],
        "apart": [_serving(one.after, at) / 1000 for at in at_s],
    }


def _serving(course: Course, at_s: int) -> int:
    """At the last step not after it."""
    return max((step.serving_milli for step in course.steps if step.at_s <= at_s), default=0)
