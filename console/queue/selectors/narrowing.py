"""What a viewer sees of waiting and of running jobs, as the filters of the page narrow it: one rule for both tabs."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from django.db.models import Model, Q, QuerySet

from console.queue.choices import RANK
from console.ui.states import PageState

TABS = ("pending", "running")
TIERS = ("HP", "LP")


@dataclass(frozen=True, slots=True)
class QueueFilters(PageState):
    """The state of the page; ``show`` one of TABS, "" filters nothing."""

    words: ClassVar = {"show": TABS, "reason": RANK, "tier": TIERS}
    show: str = "pending"
    reason: str = ""
    tenant: str = ""
    model: str = ""
    cluster: str = ""
    source: str = ""
    tier: str = ""
    priority_class: str = ""
    text: str = ""

    @property
    def narrow(self) -> bool:
        return any(getattr(self, one.name) for one in fields(self) if one.name != "show")


def narrowed[M: Model](
    rows: QuerySet[M], scope: frozenset[str] | None, filters: QueueFilters, *, class_field: str
) -> QuerySet[M]:
    """``scope``: tenants that the viewer sees by name, None for all; ``class_field``: where the rows keep it."""
    if scope is not None:
        rows = rows.filter(tenant__in=scope - {""})
    exact = {"tenant": filters.tenant, "cluster": filters.cluster, "source__name": filters.source,
             class_field: filters.priority_class}  # fmt: skip
    rows = rows.filter(**{name: value for name, value in exact.items() if value})
    if filters.tier:
        rows = rows.filter(lp=filters.tier == "LP")
    if filters.model:
        rows = rows.filter(models_text__contains=f"|{filters.model}|")
    if filters.text:
        rows = rows.filter(Q(key__icontains=filters.text) | Q(tenant__icontains=filters.text))
    return rows.select_related("source")


def names_of(rows: QuerySet[Any], *, class_field: str) -> dict[str, tuple[str, ...]]:
    """Names for the filters, by filter."""
    found = list(
        rows.order_by().values_list("tenant", "models_text", "cluster", "source__name", class_field).distinct()
    )
    return {
        "tenant": tuple(sorted({one[0] for one in found} - {""})),
        "model": tuple(sorted({name for one in found for name in one[1].split("|")} - {""})),
        "cluster": tuple(sorted({one[2] for one in found})),
        "source": tuple(sorted({one[3] for one in found})),
        "priority_class": tuple(sorted({one[4] or "" for one in found} - {""})),
    }
