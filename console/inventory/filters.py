"""What tables read from their address, alike on the page, in the API and in the CSV."""

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from console.inventory.selectors import Filters, filter_choices
from console.inventory.selectors.paging import PAGE, Page, size_of
from console.inventory.selectors.viewing import NO_ASW, FilterChoices
from console.ui.filters import Choice, Filter, one_of
from console.ui.orders import order_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, slots=True)
class TableView[F: "DataclassInstance"]:
    """The whole state of a table; the address holds it and nothing else does."""

    filters: F
    sort: str
    no_order: str  # what was asked for instead, and is no order of this table
    cursor: str
    size: int

    @property
    def query(self) -> dict[str, str]:
        """The address without its cursor, so that another sorting or filter starts at the first row."""
        found = {field.name: getattr(self.filters, field.name) for field in fields(self.filters)}
        found["sort"] = self.no_order or self.sort  # what was wrong stays wrong, and said, through refreshes
        if self.size != PAGE:
            found["limit"] = str(self.size)
        return {name: value for name, value in found.items() if value}


def read_table[F: "DataclassInstance"](query: Any, filters: F, orders: Collection[str], usual: str) -> TableView[F]:
    """``usual`` is the order where the address names none of ``orders``."""
    order, no_order = order_of(str(query.get("sort", ""))[:40], orders, usual)
    size = size_of(query.get("limit"))
    return TableView(filters, order, no_order, str(query.get("cursor", ""))[:60], size)


def neighbours(query: dict[str, str], page: Page[Any]) -> dict[str, Any]:
    """What a table's links need: the address of this table, of the next page and of the one before."""

    def address(cursor: str | None) -> str | None:
        return f"?{urlencode({**query, 'cursor': cursor})}" if cursor is not None else None

    return {"query": urlencode(query), "next": address(page.next), "previous": address(page.previous)}


def hardware_filters(found: FilterChoices, chosen: Any, *, model_always: bool = False) -> list[Filter]:
    """Where nodes stand and whose pods they carry."""
    unlabelled = Choice(NO_ASW, "no ASW label")
    return [
        one_of("cluster", "Cluster", chosen.cluster, found.clusters, always=True),
        one_of("model", "Model", chosen.model, found.models, always=model_always),
        one_of("asw", "ASW", chosen.asw, found.asws, first=[unlabelled], all_words="All, with unlabelled"),
        one_of("tenant", "Tenant", chosen.tenant, found.tenants),
        Filter("health", "Health", chosen.health, "All", [Choice(*pair) for pair in found.health]),
    ]


def table_filters(viewer: Any, chosen: Filters) -> list[Filter]:
    """The bar above nodes and pods, with what this viewer may see."""
    found = filter_choices(viewer)
    text = Filter("text", "Name holds", chosen.text, always=True, kind="search")
    more = [one_of("source", "Source", chosen.source, found.sources)] if len(found.sources) > 1 else []
    return [text, *hardware_filters(found, chosen), *more]
