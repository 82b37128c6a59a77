"""Disruption budgets: whom they cover, and how many of those may be away now, as the eviction API would answer."""

from dataclasses import dataclass

from scheduler.cluster.records import PdbRecord
from scheduler.cluster.rows import MAX_COUNT
from scheduler.kubernetes.builtin import PodDisruptionBudget
from scheduler.kubernetes.options import Options
from scheduler.kubernetes.selectors import Selector, canonical, digest, single
from scheduler.kubernetes.unheld import Note


@dataclass(frozen=True, slots=True)
class Covered:
    """The pods of one budget: live ones that are not being ended, how many of them are ready, and those being ended."""

    standing: int
    ready: int
    leaving: int


def selector_of(budget: PodDisruptionBudget) -> Selector | None:
    """None covers nobody."""
    return canonical(budget.spec.selector)


def label_of(selector: Selector, options: Options) -> str:
    """The label that the pods of a selector get, where the selector is more than one pair."""
    return options.mark(f"matches-{digest(selector)}")


def term_of(selector: Selector, options: Options) -> str:
    """The selector as the one ``key=value`` that the records know."""
    return single(selector) or f"{label_of(selector, options)}=true"


def read_budget(
    budget: PodDisruptionBudget, covered: Covered, cluster: str, options: Options
) -> tuple[PdbRecord | None, tuple[Note, ...]]:
    """The record says what may be away now: pods that are missing or not ready have used up their part already."""
    selector = selector_of(budget)
    if selector is None:
        return None, ()
    allowed = _allowed(budget, covered)
    notes: tuple[Note, ...] = ()
    if allowed is None:
        notes = (Note("budget", "unread", "$.status", "the disruption controller has not counted: none may be away"),)
        allowed = 0
    if policy := budget.spec.unhealthy_pod_eviction_policy:
        detail = f"{policy}: pods that are not ready move by the rule of all others"
        notes = (*notes, Note("budget", "ignored", "$.spec.unhealthyPodEvictionPolicy", detail))
    by_most = budget.spec.max_unavailable is not None
    record = PdbRecord(
        namespace=budget.metadata.namespace,
        cluster=cluster,
        selector=term_of(selector, options),
        max_unavailable=min(allowed + covered.leaving, MAX_COUNT) if by_most else None,
        min_available=None if by_most else max(covered.standing - allowed, 0),
    )
    return record, notes


def _allowed(budget: PodDisruptionBudget, covered: Covered) -> int | None:
    """What the controller counted, else what plain numbers tell; None for percentages that nobody counted."""
    spec, status = budget.spec, budget.status
    counted = status.disruptions_allowed is not None and status.observed_generation >= budget.metadata.generation
    if counted and status.observed_generation:
        return max(status.disruptions_allowed or 0, 0)
    if isinstance(spec.max_unavailable, int):
        return max(spec.max_unavailable - (covered.standing - covered.ready) - covered.leaving, 0)
    if isinstance(spec.min_available, int):
        return max(covered.ready - spec.min_available, 0)
    return None
