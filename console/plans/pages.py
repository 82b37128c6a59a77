"""What the templates of plans are given."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from console.inventory.addresses import node_address
from console.plans import charts, inbox, selectors, tables
from console.plans.choices import State, StepState
from console.plans.filters import LockFilter, MoveFilter, PlanFilter
from console.plans.forms import UNASSIGNED, PartForm
from console.plans.lifecycle import COMPUTING
from console.plans.selectors.goals import goal_tiles, goal_unit
from console.policies.choices import OBSERVE
from console.ui.figures import number, plural, signed, whole_gpus
from console.ui.filters import Choice, Filter, one_of
from console.ui.orders import order_of, order_words

LISTED = 25
CHAINS_SHOWN = 100  # to be ticked; the others are typed by their numbers
# Neither changed under its feet nor begun: of these a shorter plan may stand.
UNCHANGED = (State.PROPOSED, State.APPROVED, State.EXPIRED, State.REJECTED, State.CANCELLED)


def list_page(request: HttpRequest, found: PlanFilter) -> dict[str, Any]:
    page = tables.page_of(selectors.with_record(found.qs), request.GET.get("page"), LISTED)
    query = request.GET.copy()
    query.pop("page", None)
    return {
        "section": "plans",
        "inbox": inbox.waiting(request.user),
        "filter": found,
        "page": page,
        "query": query.urlencode(),
        "filters": [
            Filter("q", "Words or number", request.GET.get("q", ""), always=True),
            Filter("state", "State", request.GET.get("state", ""), "All", _choices(State.choices), always=True),
        ],
    }


def lock_page(request: HttpRequest, found: LockFilter) -> dict[str, Any]:
    """Locks by plan, and node by node."""
    page = tables.page_of(found.qs, request.GET.get("page"))
    wanted = selectors.wanted_by(request.user, page.object_list)
    query = request.GET.copy()
    query.pop("page", None)
    asked = request.GET.get
    return {
        "section": "plans",
        "filter": found,
        "groups": selectors.lock_groups(request.user),
        "page": page,
        "rows": [
            (
                lock,
                node_address(lock.cluster, lock.node, lock.plan.source.name),
                wanted.get((lock.source_id, lock.cluster, lock.node), []),
            )
            for lock in page.object_list
        ],
        "query": query.urlencode(),
        "now": timezone.now(),
        "filters": [
            Filter("node", "Node", asked("node", ""), always=True),
            Filter("cluster", "Cluster", asked("cluster", ""), always=True),
            Filter("plan", "Plan", asked("plan", ""), always=True),
        ],
    }


def plan_page(request: HttpRequest, plan_id: int) -> dict[str, Any]:
    """Everything the plan's page shows; a fixed number of queries, whatever the size of the plan."""
    plan = selectors.plan_detail(request.user, plan_id)
    waves = selectors.waves(request.user, plan_id)
    level = selectors.level_of(plan)
    plan.report = level.value == OBSERVE  # as it is now; the row follows with the next sweep
    box = selectors.box(request.user, plan)
    writing = selectors.waiting_for_checkpoints(request.user, plan)
    return {
        "section": "plans",
        "plan": plan,
        "h": plan.headline,
        "computing": plan.state in COMPUTING,
        "answered": bool(plan.digest),
        "waves": waves,
        "move_filters": _move_filters(request, plan, waves),
        "not_run": any(wave.dropped for wave in waves),
        "stages": selectors.stages(plan, waves),
        "box": box,
        "act": selectors.last_act(plan) if plan.is_running and plan.reason else None,
        "approvals": selectors.approvals_of(plan),
        "pace": selectors.pace_of(plan, waves),
        "gate": selectors.gate_of(plan, draw=True),
        "level": level,
        "glass": None if plan.is_final else selectors.glass_of(plan),
        "failing": sum(not check.holds for check in box.checks),
        "lock": selectors.lock_of(request.user, plan_id),
        "stopping": selectors.stopping(request.user, plan) if plan.is_running else None,
        "stops": selectors.stops(request.user, plan),
        "writing": writing,
        "writing_until": max((row.until for row in writing), default=None),
        **record_part(request, plan),
        "rollbacks": list(selectors.rollbacks(request.user, plan)),
        "seconds_left": _seconds_left(plan),
        "reasons": selectors.kept_by_reason(request.user, plan),
        "impact": plan.impact[:8],
        "impact_rest": _sum_of(plan.impact[8:]),
        "impact_all": _sum_of(plan.impact),
        "changes": with_waves(request, plan_id, plan.changes[:12]),
        "hidden_changes": max(0, len(plan.changes) - 12),
        "fits": fits_rows(plan.headline),
        "price": plan.headline.get("price"),
        "curve": charts.curve(plan.curve, plan.headline),
        "curve_of": goal_unit(plan.headline),
        "can_request": request.user.has_perm("plans.request_plan"),
        "can_cut": request.user.has_perm("plans.request_plan") and plan.state in UNCHANGED,
        "box_version": _version(plan, box, [*waves, *((row.number, row.pod) for row in writing)]),
        **tile_words(plan, selectors.doubled_gpu_seconds(request.user, plan_id)),
        **moves_table(request, plan),
    }


def record_part(request: HttpRequest, plan: Any) -> dict[str, Any]:
    """What came of a run; the curve of its emptied nodes only once a node was refilled."""
    found = selectors.record(request.user, plan)
    emptied = None if found is None else found.emptied
    return {
        "record": found,
        "survival": charts.survival(emptied.curve) if emptied and emptied.refilled else None,
    }


def part_page(request: HttpRequest, plan: Any, chains: list[Any], form: PartForm) -> dict[str, Any]:
    """What can be left out of a proposal, what is chosen, and whether this person may decide."""
    asked = request.POST if request.method == "POST" else request.GET
    chosen = asked.getlist("tenant"), {word for word in asked.getlist("chain") if word}
    largest = sorted(chains, key=lambda chain: (str(chain.number) not in chosen[1], -chain.gpu_milli, chain.number))
    checks = selectors.approval_checks(request.user, plan)
    return {
        "section": "plans",
        "plan": plan,
        "h": plan.headline,
        "reached_words": goal_unit(plan.headline),
        "form": form,
        "tenants": [{**row, "value": row["tenant"] or UNASSIGNED} for row in plan.impact],
        "chains": largest[:CHAINS_SHOWN],
        "hidden_chains": max(0, len(chains) - CHAINS_SHOWN),
        "chosen_tenants": chosen[0],
        "chosen_chains": chosen[1],
        "waves": len(selectors.waves(request.user, plan.pk)),
        "failing": [check for check in checks if not check.holds],
        "may_decide": request.user.has_perm("plans.approve_plan") and all(check.holds for check in checks),
    }


def with_waves(request: HttpRequest, plan_id: int, changes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The changes, each with the wave of its moves (from 1) where they are all of one."""
    touched = {move for change in changes for move in change["moves"]}
    if not touched:
        return list(changes)
    wave = dict(selectors.moves(request.user, plan_id).filter(index__in=touched).values_list("index", "run_wave"))
    found = [{wave[move] + 1 for move in change["moves"] if move in wave} for change in changes]
    return [{**row, "wave": min(of) if len(of) == 1 else None} for row, of in zip(changes, found, strict=True)]


def _move_filters(request: HttpRequest, plan: Any, waves: list[Any]) -> list[Filter]:
    tenants = [row["tenant"] or "unassigned" for row in plan.impact]
    of_wave = [Choice(str(wave.number), f"{wave.number}, {plural(wave.moves, 'move')}") for wave in waves]
    asked = request.GET.get
    return [
        Filter("wave", "Wave", asked("wave", ""), f"All {len(waves)}", of_wave, always=True),
        one_of("tenant", "Tenant", asked("tenant", ""), tenants, always=True),
        Filter("state", "State", asked("state", ""), "All", _choices(StepState.choices), always=True),
        Filter("pod", "Pod", asked("pod", ""), always=True),
    ]


def _choices(pairs: Iterable[tuple[Any, Any]]) -> list[Choice]:
    return [Choice(str(value), str(label)) for value, label in pairs]


def moves_table(request: HttpRequest, plan: Any) -> dict[str, Any]:
    """Filtered, sorted and cut to a page by the server; all of it from the URL."""
    stale = frozenset(tables.changed_moves(plan))
    found = MoveFilter(request.GET, queryset=selectors.moves(request.user, plan.pk), stale_moves=stale)
    order, no_order = order_of(request.GET.get("sort", ""), tables.MOVE_ORDER)
    page = tables.page_of(tables.ordered(found.qs, order, tables.MOVE_ORDER), request.GET.get("page"))
    query = request.GET.copy()
    for name in ("page", "part"):
        query.pop(name, None)
    unsorted = query.copy()
    unsorted.pop("sort", None)
    return {
        "filter": found,
        "page": page,
        "lines": tables.move_lines(request.user, plan, page.object_list, grouped=order == "chain"),
        "order": order,
        "no_order": no_order,
        "order_words": "by chain, in running order" if order == "chain" else order_words(order),
        "query": query.urlencode(),
        "unsorted": unsorted.urlencode(),
        "stale_count": len(stale),
    }


def tile_words(plan: Any, doubled: int | None) -> dict[str, Any]:
    """Notes under the headline figures: only what is truly known."""
    h = plan.headline
    if not h:
        return {}
    less = h["slack_before"] - h["slack_after"]
    proven = "proven" if h["proven"] else "not proven"
    restarts = h["restarts"]
    return {
        "back_note": f"of {plural(h['moves'] + h.get('stays', 0), 'move')} that were done",
        **goal_tiles(h),
        "slack_note": f"{signed(-less)}, of {plural(h['nodes'], 'node')}",
        "empty_note": f"{signed(h['empty_after'] - h['empty_before'])}, of {plural(h['nodes'], 'node')}",
        "emptied_note": f"{plural(h['emptied_gpus'], 'GPU')} in {plural(h['emptied'], 'emptied node')}",
        "gap_words": number(100 * h["gap"], 1),
        "bound_note": f"{number(h['net_emptied'])} of at most {number(h['net_upper'])}, {proven}",
        "moves_note": f"{plural(h['chains'], 'chain')}, {_depth_words(plan)}",
        "moved_words": whole_gpus(h["moved_milli"]),
        "restart_note": f"{plural(restarts, 'pod')} stopped first" if restarts else "all by copy",
        "peak_words": whole_gpus(h["peak_milli"]),
        "doubled_words": None if doubled is None else number(doubled / 3600, 1 if doubled >= 3600 else 2),
        "doubled_note": "measured" if doubled is not None else "measured when it runs",
        "map_mark": f"rev {number(plan.base_revision)}",
        "ramp": charts.ramp(),
    }


def beside_page(request: HttpRequest, plan_id: int, other_id: int | None) -> dict[str, Any]:
    """Two plans of one cluster; ``c`` is None where there is no other one."""
    plan = selectors.plan_detail(request.user, plan_id)
    others = selectors.comparable(request.user, plan)
    chosen = other_id or (others[0].pk if others else None)
    context: dict[str, Any] = {"plan": plan, "others": others, "c": None}
    if chosen is None:
        return context
    found = selectors.comparison(request.user, plan_id, chosen)
    both = (found.left, found.right)
    lists = [
        ("By both", found.both),
        (f"By plan {found.left.pk} alone", found.only_left),
        (f"By plan {found.right.pk} alone", found.only_right),
    ]
    curves = [{"name": f"Plan {one.pk}", "points": one.curve or [[0, 0]]} for one in both]
    return {**context, "c": found, "lists": lists, "curves": curves}


def _depth_words(plan: Any) -> str:
    """Counted as the limit is: pods that make room, one behind the other, without the pod that leaves its node."""
    h = plan.headline
    depth = h["depth"] if "depth" in h else max(0, h["deepest"] - 1)  # older rows count the leaving pod as well
    limit = plan.params.get("depth")
    return f"depth {depth}" if limit is None else f"depth {depth} of {limit}"


def fits_rows(headline: dict[str, Any]) -> dict[str, Any] | None:
    """Sizes of a whole node and more, at each level that is known, from one node up to the cluster."""
    found = [row for row in headline.get("fits", []) if 8 <= row["gpus"] <= 256]
    levels = list(dict.fromkeys(row["level"] for row in found))
    by = {(row["gpus"], row["level"]): row for row in found}
    sizes = sorted({row["gpus"] for row in found})
    rows = [(gpus, [by.get((gpus, level), {"now": None, "then": None}) for level in levels]) for gpus in sizes]
    return {"levels": levels, "rows": rows} if rows else None


def _version(plan: Any, box: Any, waves: list[Any]) -> str:
    """Changes when the box says something else: a box that says the same is left alone, with the words typed in it."""
    checks = [(check.code, check.holds) for check in box.checks]
    said = repr((plan.state, len(plan.decisions.all()), plan.stop_requested, checks, box.actions, box.why, waves))
    return hashlib.sha256(said.encode()).hexdigest()[:12]


def _seconds_left(plan: Any) -> int | None:
    if plan.expires_at is None or not plan.is_awaiting:
        return None
    return max(0, int((plan.expires_at - timezone.now()).total_seconds()))


def _sum_of(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """One line for many tenants; a loss that is unknown for one is unknown for all."""
    if not rows:
        return None
    losses = [row["lost_gpu_seconds"] for row in rows]
    return {
        "count": len(rows),
        "pods": sum(row["pods"] for row in rows),
        "gpu_milli": sum(row["gpu_milli"] for row in rows),
        "lost_gpu_seconds": None if None in losses else sum(losses),
    }
