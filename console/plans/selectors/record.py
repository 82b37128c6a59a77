"""After a run: what was expected of its moves and what came, on whom they fell, and what became of emptied nodes."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from console.plans.choices import StepState
from console.plans.models import EmptiedNode, Plan, Step
from console.plans.selectors.gains import Gains, gains
from console.plans.selectors.holding import Held, held
from console.plans.survival import Span, half_life, shares
from console.tenancy.services import require
from console.ui.sums import known_sum

FARTHEST = 8  # moves that are listed, those that came least as expected
MILLI = 1000
COPY = "copy"  # scheduler.plan.operations: another pod is up before the old one ends


@dataclass(frozen=True, slots=True)
class MoveRecord:
    """One move: what was expected (that it ends well, after so long) and what came."""

    number: int  # from 1
    pod: str
    target: str
    tenant: str
    state: str
    detail: str
    expected_s: float | None
    took_s: float | None
    gpu_milli: int
    mode: str
    requests_served: int | None
    requests_lost: int | None

    @property
    def off_s(self) -> float | None:
        return None if self.expected_s is None or self.took_s is None else self.took_s - self.expected_s


@dataclass(frozen=True, slots=True)
class Requests:
    """Of the services of moved pods, while the moves of a kind that were sent took.  None: not counted of each move.

    A copy is up before the old pod ends, so it is expected to lose none; of restarts nothing is expected.
    """

    mode: str  # copy, restart
    moves: int
    asked: int | None
    lost: int | None
    expected: int | None


@dataclass(slots=True)
class TenantRecord:
    """On whom the moves fell; GPU time in GPU-seconds, None where it is not known of each move."""

    tenant: str
    planned: int = 0
    done: int = 0
    failed: int = 0
    not_run: int = 0
    gpu_milli: int = 0  # of moves that were done
    doubled_gpu_s: float = 0.0
    expected_gpu_s: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Refill:
    """Who works on nodes that were emptied; one row per tenant."""

    tenant: str
    nodes: int
    pods: int
    own: bool  # pods that the plan itself had moved: they were taken back
    names: list[str]


@dataclass(frozen=True, slots=True)
class Emptied:
    """The emptied nodes of a run, as last looked at."""

    nodes: int
    still: int
    refilled: int
    gone: int
    gpus_still: int
    by: list[Refill]
    until: datetime
    held_until: datetime | None  # None: nothing kept work away from them
    seen_at: datetime | None
    over: bool
    curve: list[tuple[float, float]]  # (seconds, share still empty)
    half_life_s: float | None
    half_life_seen: bool


@dataclass(frozen=True, slots=True)
class Record:
    """``expected_s`` and ``took_s`` are medians over moves that ended well."""

    moves: int
    done: int
    failed: int
    not_run: int
    expected_s: float | None
    took_s: float | None
    expected_gpu_s: float | None
    doubled_gpu_s: float | None
    tenants: list[TenantRecord]
    farthest: list[MoveRecord]
    requests: list[Requests]
    emptied: Emptied | None = field(default=None)
    held: Held | None = field(default=None)
    gains: Gains | None = field(default=None)


def record(viewer: Any, plan: Plan) -> Record | None:
    """None of a plan that never ran; two queries, whatever its size."""
    require(viewer, "plans.view_plan")
    if plan.started_at is None:
        return None
    rows = move_records(plan)
    states = Counter(row.state for row in rows)
    well = [row for row in rows if row.state == StepState.SUCCEEDED]
    tenants = _tenants(rows)
    expected = [row.expected_s for row in well if row.expected_s is not None]
    took = [row.took_s for row in well if row.took_s is not None]
    ran = [row for row in rows if row.took_s is not None]
    return Record(
        moves=len(rows),
        done=states[StepState.SUCCEEDED],
        failed=states[StepState.FAILED],
        not_run=states[StepState.DROPPED],
        expected_s=median(expected) if expected else None,
        took_s=median(took) if took else None,
        expected_gpu_s=known_sum([_gpu_s(row, row.expected_s) for row in ran]) if ran else None,
        doubled_gpu_s=known_sum([_gpu_s(row, row.took_s) for row in ran]) if ran else None,
        tenants=tenants,
        farthest=sorted(ran, key=_surprise, reverse=True)[:FARTHEST],
        requests=[_requests(mode, ran) for mode in sorted({row.mode for row in ran})],
        emptied=emptied(viewer, plan),
        held=held(viewer, plan),
        gains=gains(viewer, plan),
    )


def move_records(plan: Plan) -> list[MoveRecord]:
    rows = Step.objects.filter(plan=plan).order_by("index")
    return [
        MoveRecord(
            number=step.index + 1, pod=step.pod, target=step.target_node, tenant=step.tenant, state=step.state,
            detail=step.detail, expected_s=step.expected_s, took_s=step.took_s, gpu_milli=step.gpus * step.gpu_milli,
            mode=step.mode, requests_served=step.requests_served, requests_lost=step.requests_lost,
        )
        for step in rows.defer("after", "uid")
    ]  # fmt: skip


def _surprise(row: MoveRecord) -> tuple[bool, float, float]:
    """Failures first, then the farthest from what was expected, then the longest."""
    return row.state == StepState.FAILED, abs(row.off_s or 0.0), row.took_s or 0.0


def _gpu_s(row: MoveRecord, seconds: float | None) -> float | None:
    return None if seconds is None else seconds * row.gpu_milli / MILLI


def _requests(mode: str, ran: list[MoveRecord]) -> Requests:
    rows = [row for row in ran if row.mode == mode]
    served, lost = known_sum([row.requests_served for row in rows]), known_sum([row.requests_lost for row in rows])
    return Requests(
        mode=mode,
        moves=len(rows),
        asked=None if served is None or lost is None else served + lost,
        lost=lost,
        expected=0 if mode == COPY else None,
    )


def _tenants(rows: list[MoveRecord]) -> list[TenantRecord]:
    """Most GPUs moved first."""
    found: dict[str, TenantRecord] = {}
    for row in rows:
        mine = found.setdefault(row.tenant, TenantRecord(row.tenant))
        mine.planned += 1
        mine.done += row.state == StepState.SUCCEEDED
        mine.failed += row.state == StepState.FAILED
        mine.not_run += row.state == StepState.DROPPED
        mine.gpu_milli += row.gpu_milli if row.state == StepState.SUCCEEDED else 0
        if row.took_s is not None:
            mine.doubled_gpu_s += _gpu_s(row, row.took_s) or 0.0
            mine.expected_gpu_s = known_sum([mine.expected_gpu_s, _gpu_s(row, row.expected_s)])
    return sorted(found.values(), key=lambda one: (-one.gpu_milli, -one.planned, one.tenant))


def emptied(viewer: Any, plan: Plan) -> Emptied | None:
    """None while nothing is followed."""
    require(viewer, "plans.view_plan")
    rows = list(EmptiedNode.objects.filter(plan=plan))
    if not rows or plan.followed_until is None:
        return None
    seen_at = plan.followed_at
    spans = [_span(row, seen_at) for row in rows]
    seconds, seen = half_life(spans)
    still = [row for row in rows if row.refilled_at is None and row.gone_at is None]
    return Emptied(
        nodes=len(rows),
        still=len(still),
        refilled=sum(row.refilled_at is not None for row in rows),
        gone=sum(row.gone_at is not None for row in rows),
        gpus_still=sum(row.gpus for row in still),
        by=_refills(rows),
        until=plan.followed_until,
        held_until=plan.held_until,
        seen_at=seen_at,
        over=plan.followed_until <= timezone.now(),
        curve=shares(spans),
        half_life_s=seconds,
        half_life_seen=seen,
    )


def _span(row: EmptiedNode, seen_at: datetime | None) -> Span:
    end = row.refilled_at or row.gone_at or max(seen_at or row.emptied_at, row.emptied_at)
    return Span((end - row.emptied_at).total_seconds(), row.refilled_at is not None)


def _refills(rows: list[EmptiedNode]) -> list[Refill]:
    """Most nodes first; a node counts for each tenant that works on it."""
    nodes: dict[tuple[str, bool], set[str]] = defaultdict(set)
    pods: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for row in rows:
        for one in row.refilled_by:
            key = one["tenant"], bool(one["own"])
            nodes[key].add(row.node)
            pods[key].append(one["workload"] or one["pod"])
    found = [
        Refill(tenant, len(nodes[tenant, own]), len(names), own, list(dict.fromkeys(names))[:3])
        for (tenant, own), names in pods.items()
    ]
    return sorted(found, key=lambda one: (-one.nodes, one.own, one.tenant))


def with_record(rows: QuerySet[Plan]) -> QuerySet[Plan]:
    """Plans with what came of their runs: done, failed, emptied and still empty."""

    def count(model: Any, **narrow: Any) -> Any:
        mine = model.objects.filter(plan=OuterRef("pk"), **narrow).order_by().values("plan")
        return Coalesce(Subquery(mine.annotate(count=Count("pk")).values("count")), 0)

    return rows.annotate(
        moves_done=count(Step, state=StepState.SUCCEEDED),
        moves_failed=count(Step, state=StepState.FAILED),
        nodes_emptied=count(EmptiedNode),
        nodes_still_empty=count(EmptiedNode, refilled_at__isnull=True, gone_at__isnull=True),
    )
