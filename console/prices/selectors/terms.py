"""What binds the price of a model: said for it, else for all, else built in; and where the on-demand price is from."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from console.prices.choices import BOUNDS, SHARED, Bound
from console.prices.models import Terms
from console.tenancy.prices import anchor
from console.tenancy.selectors import book_now
from console.tenancy.services import require

BUILT_IN, FOR_ALL = "built in", "said for all models"
VIEW = "prices.view_price"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What binds one model now.  ``origins``: field -> who says so; ``version``: of its own terms, 0 where it has none.

    ``on_demand_cents`` and ``floor_cents`` are None where nobody says: then there is no quote.
    """

    gpu_model: str
    on_demand_cents: int | None
    floor_cents: int | None
    floor_percent: int
    change_percent: int
    review_hours: int
    notice_hours: int
    valid_hours: int
    origins: dict[str, str]
    version: int

    @property
    def missing(self) -> str:
        """Why there can be no price, as a sentence; "" where there can."""
        if self.on_demand_cents is None:
            return f"No on-demand price of {self.gpu_model} is known, so its price has no ceiling."
        if self.floor_cents is None:
            return f"No floor of {self.gpu_model} is known."
        if self.floor_cents > self.on_demand_cents:
            return f"The floor of {self.gpu_model} is above its on-demand price."
        return ""

    @property
    def rows(self) -> list[tuple[Bound, int | None, str]]:
        return [(one, getattr(self, name), self.origins[name]) for name, one in BOUNDS.items()]


def bounds_of(models: Iterable[str]) -> dict[str, Bounds]:
    """Three queries, however many models."""
    wanted = sorted(set(models))
    said = {row.gpu_model: row for row in Terms.objects.filter(newest=True, gpu_model__in=["", *wanted])}
    book = book_now().docs
    return {model: _bounds(model, said.get(model), said.get(""), book) for model in wanted}


def _bounds(model: str, own: Terms | None, wide: Terms | None, book: Any) -> Bounds:
    found: dict[str, int | None] = {}
    origins: dict[str, str] = {}
    for name, bound in BOUNDS.items():
        found[name], origins[name] = bound.built_in, BUILT_IN
        for row, origin in ((wide, FOR_ALL), (own, f"said for {model}")):
            value = None if row is None or (row is wide and bound.of_model) else getattr(row, name)
            if value is not None:
                found[name], origins[name] = value, origin
    if found["on_demand_cents"] is None:
        found["on_demand_cents"], origins["on_demand_cents"] = _on_demand(model, book)
    if found["floor_cents"] is None and found["on_demand_cents"] is not None:
        share = found["floor_percent"] or 0
        found["floor_cents"] = max(1, -(-found["on_demand_cents"] * share // 100))
        origins["floor_cents"] = f"{share} % of on demand, {origins['floor_percent']}"
    numbers: dict[str, Any] = found
    return Bounds(model, **numbers, origins=origins, version=0 if own is None else own.version)


def _on_demand(model: str, book: Any) -> tuple[int | None, str]:
    """What HP pays for it by the book of quotas, else what is published for such a model."""
    said = book.get(("price", model), {}).get("hp_cents")
    if said is not None:
        return int(said), "the book of quotas, HP"
    published = anchor(model)
    return published.cents, published.origin if published.cents is not None else "not known"


def terms_at(viewer: Any, gpu_model: str) -> Terms | None:
    """The newest version of what is said for a model alone ("": for all), None where nothing ever was."""
    require(viewer, VIEW)
    return newest_terms(gpu_model)


def newest_terms(gpu_model: str) -> Terms | None:
    return Terms.objects.filter(gpu_model=gpu_model, newest=True).select_related("by").first()


def terms_history(viewer: Any, models: Collection[str] = ()) -> QuerySet[Terms]:
    """Every version, newest first."""
    require(viewer, "prices.view_proposal")
    rows = Terms.objects.select_related("by")
    return rows.filter(gpu_model__in=sorted(models)) if models else rows


def shared_bounds() -> list[tuple[Bound, int | None, str]]:
    """What holds for models of which nothing of their own is said."""
    wide = newest_terms("")
    rows = []
    for name in SHARED:
        said = None if wide is None else getattr(wide, name)
        rows.append(
            (BOUNDS[name], BOUNDS[name].built_in if said is None else said, BUILT_IN if said is None else FOR_ALL)
        )
    return rows
