"""What the first page shows, as its address says it."""

from dataclasses import dataclass, fields, replace
from typing import ClassVar
from urllib.parse import urlencode

from console.ui.states import PageState

FILTERS = ("cluster", "model", "asw", "tenant", "health")
UNLABELLED = "-"
MEASURES = (
    ("free", "Free"),
    ("stranded", "Stranded"),
    ("cpu_bound", "CPU-bound"),
    ("standby", "Standby"),
    ("lp", "LP"),
    ("health", "Health"),
    ("gpus", "GPUs"),
)


@dataclass(frozen=True, slots=True)
class FleetView(PageState):
    """Empty text = all. `pool` is a key of pool_choices, `shape` such as 8G96C, `asw` "-" the unlabelled nodes."""

    words: ClassVar = {"measure": dict(MEASURES)}
    cluster: str = ""
    model: str = ""
    asw: str = ""
    tenant: str = ""
    health: str = ""
    pool: str = ""
    shape: str = ""
    measure: str = "free"

    @property
    def filtered(self) -> bool:
        return any(getattr(self, name) for name in FILTERS)

    @property
    def address(self) -> str:
        return self.with_changes()

    @property
    def kept(self) -> list[tuple[str, str]]:
        """What the filter form carries along."""
        return self._pairs(without=FILTERS)

    @property
    def kept_for_pool(self) -> list[tuple[str, str]]:
        return self._pairs(without=("pool",))

    @property
    def without_pool(self) -> str:
        return self.with_changes(pool="")

    @property
    def nodes_query(self) -> str:
        """The same filters for the table of nodes."""
        return urlencode([(name, getattr(self, name)) for name in FILTERS if getattr(self, name)])

    def with_changes(self, **changes: str) -> str:
        """The page's address with some fields changed; fields at their default stay out of it."""
        query = urlencode(replace(self, **changes)._pairs())
        return f"/?{query}" if query else "/"

    def _pairs(self, without: tuple[str, ...] = ()) -> list[tuple[str, str]]:
        found = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value and value != field.default and field.name not in without:
                found.append((field.name, value))
        return found
