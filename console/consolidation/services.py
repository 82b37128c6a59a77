"""Asking for a consolidation plan."""

from dataclasses import asdict
from typing import Any

from console.consolidation import selectors
from console.consolidation.choices import RANGES, SEEDS
from console.inventory import archive
from console.plans import services as plans
from console.plans.models import Plan
from console.plans.selectors import plan_detail
from console.rest.errors import FieldError
from console.ui.ranges import Range
from scheduler.cluster.build import restrict
from scheduler.cluster.snapshot import Snapshot
from scheduler.plan.ask import SCOPED, Ask, ParamError, ask_of, asked_words, check
from scheduler.plan.goal import NODES

KIND = "consolidation"


class RequestError(FieldError):
    """One field of a request is wrong; HTTP 400."""

    def __init__(self, field: str, reason: str, *, of_goal: bool = False) -> None:
        super().__init__(field, reason)
        self.of_goal = of_goal

    @property
    def detail(self) -> dict[str, Any]:
        return {"goal": super().detail} if self.of_goal else super().detail


def request(
    user: Any,
    *,
    source_id: int,
    cluster: str,
    models: list[str],
    params: dict[str, int | None],
    seed: int,
    goal: dict[str, Any] | None = None,
    request_key: str | None = None,
    because: str = "",
) -> Plan:
    """Ask for a plan in one cluster: for ``goal`` (kind and its fields), else one that empties nodes of ``models``.

    Raises ``RequestError`` or ``Denied``.
    """
    scope = selectors.scope_of(user, source_id, cluster)
    if scope is None:
        raise RequestError("cluster", f"no source shows a cluster of the name {cluster}")
    unknown = sorted(set(models) - set(scope.models))
    if unknown:
        raise RequestError("models", f"{cluster} has no {', '.join(unknown)}, only {', '.join(scope.models)}")
    ask = _ask(scope, goal)
    if models and ask.kind not in SCOPED:
        raise RequestError("models", f"says nothing for the goal {ask.kind}")
    given = _checked(params)
    return plans.open_plan(
        user,
        kind=KIND,
        source_id=source_id,
        cluster=cluster,
        models=sorted(set(models)),
        params=given if ask.kind == NODES else {**given, "goal": _plain(ask)},
        seed=_within("seed", seed, SEEDS) or 0,
        title=_title(ask, sorted(set(models)), cluster),
        request_key=request_key,
        because=because,
    )


def request_again(user: Any, plan_id: int) -> Plan:
    """The same question on the newest data."""
    old = plan_detail(user, plan_id)
    if old.kind != KIND:
        step = f"See plan {old.undoes_id}." if old.undoes_id else ""
        raise plans.Conflict(
            f"Plan {plan_id} asked no planner: it is a {old.get_kind_display().lower()}.", next_step=step
        )
    return plans.open_plan(
        user,
        kind=KIND,
        source_id=old.source_id,
        cluster=old.cluster,
        models=old.models_in_scope,
        params=old.params,
        seed=old.seed,
        title=old.title,
        parent_id=plan_id,
        origin=f"asked again after plan {plan_id}",
    )


def _ask(scope: selectors.Scope, goal: dict[str, Any] | None) -> Ask:
    """What is asked, held against the cluster as it was last read."""
    given = {name: value for name, value in (goal or {}).items() if value is not None}
    try:
        ask = ask_of(given)
        if ask.kind != NODES:
            check(_snapshot(scope), ask)
    except ParamError as wrong:
        raise RequestError(wrong.field, _words(wrong), of_goal=True) from wrong
    return ask


def _snapshot(scope: selectors.Scope) -> Snapshot:
    try:
        return restrict(archive.load(selectors.digest_of(scope)), scope.cluster)
    except archive.GoneError as gone:
        raise RequestError("cluster", "its newest reading has just gone; ask again") from gone


def _words(wrong: ParamError) -> str:
    return f"{wrong.value}: {wrong.reason}" if isinstance(wrong.value, str) and wrong.value else wrong.reason


def _plain(ask: Ask) -> dict[str, Any]:
    """As it is stored: what differs from what is usual."""
    usual = asdict(Ask())
    return {"kind": ask.kind, **{name: value for name, value in asdict(ask).items() if value != usual[name]},
            **({"nodes": list(ask.nodes)} if ask.nodes else {})}  # fmt: skip


def _checked(params: dict[str, int | None]) -> dict[str, int | None]:
    given = {name: params.get(name, found.default) for name, found in RANGES.items()}
    return {name: _within(name, value, RANGES[name]) for name, value in given.items()}


def _within(name: str, value: int | None, allowed: Range) -> int | None:
    if value is None and allowed.default is None:
        return None
    if fault := allowed.fault(value):
        raise RequestError(name, fault)
    return value


def _title(ask: Ask, models: list[str], cluster: str) -> str:
    if ask.kind != NODES:
        return f"{asked_words(ask)} in {cluster}"[:200]
    what = "all" if not models else ", ".join(models) if len(models) <= 3 else f"{len(models)} models of"
    return f"empty {what} nodes in {cluster}"[:200]
