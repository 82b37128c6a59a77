"""Asking for a consolidation plan."""

from typing import Any

from console.consolidation import selectors
from console.consolidation.choices import RANGES, SEEDS, Range
from console.plans import services as plans
from console.plans.models import Plan
from console.plans.selectors import plan_detail

KIND = "consolidation"


class RequestError(ValueError):
    """One field of a request is wrong; HTTP 400."""

    def __init__(self, field: str, reason: str) -> None:
        self.field, self.reason = field, reason
        super().__init__(f"{field}: {reason}")


def request(
    user: Any,
    *,
    source_id: int,
    cluster: str,
    models: list[str],
    params: dict[str, int | None],
    seed: int,
    request_key: str | None = None,
) -> Plan:
    """Ask for a plan that empties nodes of ``models`` (none: all) in one cluster.

    Raises ``RequestError`` or ``Denied``.
    """
    scope = selectors.scope_of(user, source_id, cluster)
    if scope is None:
        raise RequestError("cluster", f"no source shows a cluster of the name {cluster}")
    unknown = sorted(set(models) - set(scope.models))
    if unknown:
        raise RequestError("models", f"{cluster} has no {', '.join(unknown)}, only {', '.join(scope.models)}")
    return plans.open_plan(
        user,
        kind=KIND,
        source_id=source_id,
        cluster=cluster,
        models=sorted(set(models)),
        params=_checked(params),
        seed=_within("seed", seed, SEEDS) or 0,
        title=_title(sorted(set(models)), cluster),
        request_key=request_key,
    )


def request_again(user: Any, plan_id: int) -> Plan:
    """The same question on the newest data."""
    old = plan_detail(user, plan_id)
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


def _checked(params: dict[str, int | None]) -> dict[str, int | None]:
    given = {name: params.get(name, found.default) for name, found in RANGES.items()}
    return {name: _within(name, value, RANGES[name]) for name, value in given.items()}


def _within(name: str, value: int | None, allowed: Range) -> int | None:
    if value is None and allowed.default is None:
        return None
    if value is None or isinstance(value, bool) or not allowed.low <= value <= allowed.high:
        raise RequestError(name, f"must be a whole number from {allowed.low} to {allowed.high}")
    return value


def _title(models: list[str], cluster: str) -> str:
    what = "all" if not models else ", ".join(models) if len(models) <= 3 else f"{len(models)} models of"
    return f"empty {what} nodes in {cluster}"[:200]
