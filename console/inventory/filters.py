"""What tables read from their address, alike on the page, in the API and in the CSV."""

from dataclasses import dataclass, fields
from typing import Any

from console.inventory.selectors import Filters
from console.inventory.selectors.paging import PAGE, size_of


@dataclass(frozen=True, slots=True)
class TableView:
    """The whole state of a table; the address holds it and nothing else does."""

    filters: Filters
    sort: str
    cursor: str
    size: int

    @property
    def query(self) -> dict[str, str]:
        """The address without its cursor, so that another sorting or filter starts at the first row."""
        found = {field.name: getattr(self.filters, field.name) for field in fields(self.filters)}
        found["sort"] = self.sort
        if self.size != PAGE:
            found["limit"] = str(self.size)
        return {name: value for name, value in found.items() if value}


def read_table(query: Any, sort: str) -> TableView:
    """``sort`` is the order where the address names none."""
    wanted = str(query.get("sort", ""))[:40] or sort
    return TableView(Filters.of(query), wanted, str(query.get("cursor", ""))[:60], size_of(query.get("limit")))
