"""Plans and what hangs on them, as querysets and rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Min, Q, QuerySet
from django.shortcuts import get_object_or_404

from console.inventory.choices import ACTING
from console.plans import lifecycle
from console.plans.choices import State, StepState
from console.plans.models import KeptNode, NodeLock, Plan, PlanMap, Step
from console.tenancy.services import require
from console.ui.tones import reason_of

HEAVY = ("document", "impact", "curve")


def plans(viewer: Any) -> QuerySet[Plan]:
    require(viewer, "plans.view_plan")
    rows = Plan.objects.select_related("source", "proposer", "approver").prefetch_related("decisions__user")
    return rows.defer(*HEAVY)


def plans_awaiting_approval(viewer: Any) -> QuerySet[Plan]:
    """Those that can be approved: a plan for a source that is only observed, and a report, wait for nobody."""
    return plans(viewer).filter(state=State.PROPOSED, source__kind__in=ACTING, report=False)


def plans_to_decide(viewer: Any) -> QuerySet[Plan]:
    """Those that go no further without a person; the newest first."""
    states = (State.PROPOSED, State.APPROVED, State.HALTED, State.STALE)
    rows = plans(viewer).filter(state__in=states, source__kind__in=ACTING)
    return rows.exclude(state=State.PROPOSED, report=True).order_by("-pk")


def plans_running(viewer: Any) -> QuerySet[Plan]:
    return plans(viewer).filter(state__in=lifecycle.RUNNING)


def find_plans(viewer: Any, words: str) -> QuerySet[Plan]:
    """By number, or by words of the title or cluster."""
    found = Q(title__icontains=words) | Q(cluster__icontains=words)
    number = words.lower().removeprefix("plan").strip()
    is_row = number.isascii() and number.isdigit() and len(number) <= 18
    return plans(viewer).filter(found | Q(pk=int(number)) if is_row else found)


def plan_detail(viewer: Any, plan_id: int) -> Plan:
    """Raises ``Http404``; the right is asked for first, so that a no tells nothing of what exists."""
    require(viewer, "plans.view_plan")
    rows = Plan.objects.select_related("source", "proposer", "approver", "parent", "undoes")
    return get_object_or_404(rows.prefetch_related("decisions__user").defer("document"), pk=plan_id)


def plan_awaiting(plan_id: int) -> Plan | None:
    """For the console itself: the plan with its impact, if it awaits an approval now."""
    rows = Plan.objects.select_related("source", "proposer").prefetch_related("decisions__user").defer("document")
    return rows.filter(pk=plan_id, state=State.PROPOSED).first()


def plan_document(viewer: Any, plan_id: int) -> tuple[bytes, str]:
    """The canonical JSON and its digest; empty where the plan has no answer (yet)."""
    require(viewer, "plans.view_plan")
    plan = get_object_or_404(Plan.objects.only("document", "digest"), pk=plan_id)
    return bytes(plan.document or b""), plan.digest


def plan_map(viewer: Any, plan_id: int) -> PlanMap:
    require(viewer, "plans.view_plan")
    return get_object_or_404(PlanMap, plan_id=plan_id)


def moves(viewer: Any, plan_id: int) -> QuerySet[Step]:
    require(viewer, "plans.view_plan")
    return Step.objects.filter(plan_id=plan_id)


def kept_nodes(viewer: Any, plan_id: int) -> QuerySet[KeptNode]:
    require(viewer, "plans.view_plan")
    return KeptNode.objects.filter(plan_id=plan_id)


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """Nodes that stay, by their first reason."""

    reason: str
    label: str
    nodes: int
    short: dict[str, Any] | None  # of headline.short, {} where no pod holds the node; None: not known


def kept_by_reason(viewer: Any, plan: Plan) -> list[ReasonRow]:
    """Most nodes first."""
    short = plan.headline.get("short")
    counted = kept_nodes(viewer, plan.pk).order_by().values("reason").annotate(nodes=Count("id"))
    rows = counted.order_by("-nodes", "reason")
    return [
        ReasonRow(
            row["reason"],
            reason_of(row["reason"]).label,
            row["nodes"],
            None if short is None else short.get(row["reason"], {}),
        )
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class ChainRow:
    """The head of a group of moves: the node that they empty together."""

    number: int  # from 1, in the order in which the planner emptied nodes
    drains: str
    moves: int
    depth: int  # 0 = its pods leave at once; k = so many pods make room, one behind the other


def chains(viewer: Any, plan_id: int, wanted: Iterable[int]) -> dict[int, ChainRow]:
    """The chains ``wanted`` (as numbered in the plan, from 0); at most one page of them."""
    rows = moves(viewer, plan_id).filter(chain__in=set(wanted)).order_by().values("chain")
    counted = rows.annotate(count=Count("id"), deepest=Max("depth"), node=Min("drains"))
    return {row["chain"]: ChainRow(row["chain"] + 1, row["node"], row["count"], row["deepest"]) for row in counted}


@dataclass(frozen=True, slots=True)
class ChainChoice:
    """A chain as one thing that can be left out."""

    number: int  # from 1
    drains: str
    moves: int
    gpu_milli: int
    tenants: list[str]

    @property
    def tenant_words(self) -> str:
        return ", ".join(name or "unassigned" for name in self.tenants[:4]) + (", …" if len(self.tenants) > 4 else "")


def chain_choices(viewer: Any, plan_id: int) -> list[ChainChoice]:
    """All chains of a plan, in the planner's order; one query."""
    rows = moves(viewer, plan_id).order_by("chain", "index").values_list(
        "chain", "drains", "gpus", "gpu_milli", "tenant"
    )  # fmt: skip
    found: dict[int, ChainChoice] = {}
    for chain, drains, gpus, milli, tenant in rows:
        before = found.get(chain) or ChainChoice(chain + 1, drains, 0, 0, [])
        tenants = before.tenants if tenant in before.tenants else [*before.tenants, tenant]
        found[chain] = ChainChoice(chain + 1, drains, before.moves + 1, before.gpu_milli + gpus * milli, tenants)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class WaveRow:
    """A wave as it is run."""

    number: int  # from 1
    moves: int
    waiting: int
    in_flight: int
    done: int
    failed: int
    dropped: int


def waves(viewer: Any, plan_id: int) -> list[WaveRow]:
    rows = moves(viewer, plan_id).order_by().values("run_wave", "state").annotate(count=Count("id"))
    by_wave: dict[int, dict[str, int]] = {}
    for row in rows:
        by_wave.setdefault(row["run_wave"], {})[row["state"]] = row["count"]
    return [
        WaveRow(
            number=wave + 1,
            moves=sum(states.values()),
            waiting=states.get(StepState.WAITING, 0),
            in_flight=states.get(StepState.ISSUED, 0),
            done=states.get(StepState.SUCCEEDED, 0),
            failed=states.get(StepState.FAILED, 0),
            dropped=states.get(StepState.DROPPED, 0),
        )
        for wave, states in sorted(by_wave.items())
    ]


def doubled_gpu_seconds(viewer: Any, plan_id: int) -> int | None:
    """GPU-seconds during which second copies stood, as measured; None before anything ran."""
    ran = moves(viewer, plan_id).filter(issued_at__isnull=False, ended_at__isnull=False)
    rows = ran.values_list("issued_at", "ended_at", "gpus", "gpu_milli")
    spans = [(end - start).total_seconds() * gpus * milli / 1000 for start, end, gpus, milli in rows if start and end]
    return round(sum(spans)) if spans else None


@dataclass(frozen=True, slots=True)
class LockRow:
    """The locks of one plan, as one thing."""

    nodes: int
    owner: str
    since: datetime
    expires_at: datetime


def lock_of(viewer: Any, plan_id: int) -> LockRow | None:
    require(viewer, "plans.view_plan")
    rows = NodeLock.objects.filter(plan_id=plan_id)
    count = rows.count()
    if count == 0:
        return None
    first = rows.select_related("owner").first()
    if first is None:
        return None
    since = rows.aggregate(since=Min("since"))["since"]
    return LockRow(count, first.owner.get_username(), since, first.expires_at)


def may_listen(user: Any, topic: str) -> bool:
    """Who may hear of plans and freezes."""
    return bool(user.has_perm("plans.view_plan"))
