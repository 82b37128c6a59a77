"""Routines, when they are due next, and their history."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.shortcuts import get_object_or_404
from django.utils import timezone

from console.automation import selectors as automation
from console.inventory import archive
from console.inventory.archive import UNKNOWN, Snapshot
from console.plans.lifecycle import FINAL
from console.plans.models import Plan
from console.plans.selectors import plans
from console.policies.occurrences import starts
from console.routines.choices import ASKED_WITH, TRIGGER_LABELS, Kind
from console.routines.models import Opening, Routine
from console.tenancy.services import require

SHOWN_RUNS = 5
FAR = timedelta(days=4 * 366)  # a start on 29 February comes within this


@dataclass(frozen=True, slots=True)
class Run:
    """A start ahead; one on a day of the skip list does not take place."""

    at: datetime
    local: str
    skipped: bool


def routines(viewer: Any) -> QuerySet[Routine]:
    """The newest first, each with the number and the state of its last plan."""
    require(viewer, "plans.view_plan")
    last = Opening.objects.filter(routine=OuterRef("pk"), plan__isnull=False)
    rows = Routine.objects.select_related("owner", "source")
    return rows.annotate(
        last_plan=Subquery(last.values("plan_id")[:1]), last_state=Subquery(last.values("plan__state")[:1])
    )


def routine_for(viewer: Any, routine_id: int) -> Routine:
    """Raises ``Http404``."""
    return get_object_or_404(routines(viewer), pk=routine_id)


def openings(viewer: Any, routine_id: int) -> QuerySet[Opening]:
    """Every time that it was due, the newest first."""
    require(viewer, "plans.view_plan")
    return Opening.objects.filter(routine_id=routine_id).select_related("plan__source")


def plans_to_repeat(viewer: Any, limit: int = 30) -> list[Plan]:
    """The last questions that were put to a planner."""
    return list(plans(viewer).filter(kind="consolidation").order_by("-pk")[:limit])


def open_plan_of(routine: Routine) -> Plan | None:
    """The plan of this routine that is not over, or one that people made of it: a part, a cut, the same again."""
    opened = Opening.objects.filter(routine=routine).values("plan")
    rows = Plan.objects.filter(Q(pk__in=opened) | Q(parent__in=opened) | Q(parent__parent__in=opened))
    return rows.exclude(state__in=FINAL).order_by("-pk").first()


def next_runs(routine: Routine, now: datetime | None = None) -> list[Run]:
    """The next starts, with those that the skip list leaves out; none for triggers, and for what is over."""
    if routine.kind != Kind.SCHEDULE or routine.ended_at is not None:
        return []
    place = ZoneInfo(routine.zone)
    ahead = islice(starts(routine.cron, routine.zone, now or timezone.now()), SHOWN_RUNS)
    return [Run(at, f"{at.astimezone(place):%a %F %R %Z}", _skipped(routine, at)) for at in ahead]


def starts_after(routine: Routine, after: datetime) -> Iterator[datetime]:
    """Every start after that instant, within some years, without the days of the skip list."""
    for at in starts(routine.cron, routine.zone, after):
        if at > after + FAR:
            return
        if not _skipped(routine, at):
            yield at


def _skipped(routine: Routine, at: datetime) -> bool:
    return at.astimezone(ZoneInfo(routine.zone)).date().isoformat() in routine.skip_days


def outlook_of(viewer: Any, routine: Routine) -> list[tuple[Any, str]]:
    """(pool, what will happen with plans there), of the pools that it asks about."""
    return automation.outlook(viewer, routine.source, routine.cluster, routine.models_in_scope, routine.owner)


def when_words(routine: Routine) -> str:
    """When it opens a plan, in words."""
    if routine.kind == Kind.SCHEDULE:
        return f"{routine.cron} on the clock of {routine.zone}"
    said = [TRIGGER_LABELS[name] + (routine.threshold[name],) for name in ASKED_WITH[Kind(routine.kind)]]
    words = ", ".join(f"{before} {value:,} {unit}" for before, unit, value in said)
    return words if routine.kind == Kind.LOW_USE else f"a gang with a required topology waits {words}"


# --- what triggers look at ------------------------------------------------------------------------------------------
def little_used(snapshot: Snapshot, models: list[str], below_per_cent: int) -> int:
    """Nodes in service and in use of which less than that share of their GPUs is asked for."""
    held = archive.occupancy_of(snapshot)
    gpus = snapshot.node_allocatable.astype(np.int64)
    chosen = snapshot.node_usable & (gpus > 0) & (held.workload_pods > 0)
    if models:
        wanted = [index for index, name in enumerate(snapshot.models) if name in models]
        chosen &= np.isin(snapshot.node_model, wanted)
    return int((chosen & (held.used_gpu_milli.astype(np.int64) * 100 < gpus * 1000 * below_per_cent)).sum())


def waiting_gangs(snapshot: Snapshot) -> list[str]:
    """namespace/name of gangs that require a topology and have members without a node."""
    pending = np.unique(snapshot.pod_gang[(snapshot.pod_node == UNKNOWN) & (snapshot.pod_gang != UNKNOWN)])
    gangs = (snapshot.gangs[index] for index in pending.tolist())
    return [f"{one.namespace}/{one.name}" for one in gangs if one.topology is not None and one.topology.required]


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
