"""Columns of the tables and their CSV twins: heading, sort key, field of the row."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import astuple, dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from console.inventory.selectors import IdleRow, NodeRow, OwnerLockRow, PodRow, UnheldRow
from console.inventory.selectors.changes import TenantChange

NODE_HEAD = tuple(field.name for field in fields(NodeRow))
POD_HEAD = tuple(field.name for field in fields(PodRow))
CHANGE_HEAD = ("cause", "source", "cluster", "model", "asw", "node", "gpus")
IDLE_HEAD = tuple(field.name for field in fields(IdleRow))
OWNER_LOCK_HEAD = tuple(field.name for field in fields(OwnerLockRow))
UNHELD_HEAD = tuple(field.name for field in fields(UnheldRow))
TENANT_CHANGE_HEAD = tuple(field.name for field in fields(TenantChange))


@dataclass(frozen=True, slots=True)
class Column:
    """``sort`` "" cannot be sorted by."""

    label: str
    sort: str
    number: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """A column as it stands in the head of a table: where a click leads and how it is sorted now."""

    label: str
    number: bool
    href: str
    direction: str  # "ascending", "descending" or ""


NODE_COLUMNS = (
    Column("Node", "name"),
    Column("Cluster", "cluster"),
    Column("Model", "model"),
    Column("ASW", "asw"),
    Column("Health", "health"),
    Column("GPUs", "gpus", number=True),
    Column("Free", "free", number=True),
    Column("Stranded", "stranded", number=True),
    Column("Why", ""),
    Column("Pods", "pods", number=True),
)
POD_COLUMNS = (
    Column("Pod", "namespace"),
    Column("Cluster", "cluster"),
    Column("Node", "node"),
    Column("Tenant", "tenant"),
    Column("GPUs", "gpus", number=True),
    Column("CPU", "cpu", number=True),
    Column("Memory", "memory", number=True),
    Column("Tier", ""),
    Column("Priority", "priority", number=True),
    Column("State", ""),
)

IDLE_FIGURES = (
    Column("Idle", "idle", number=True),
    Column("Of observed", "", number=True),
    Column("Observed", "observed", number=True),
    Column("Allocated", "allocated", number=True),
)
IDLE_COLUMNS = {
    "workload": (
        Column("Workload", "workload"),
        *IDLE_FIGURES,
        Column("Tenant", "tenant"),
        Column("Cluster", "cluster"),
    ),
    "tenant": (Column("Tenant", "tenant"), *IDLE_FIGURES),
}

OWNER_LOCK_FIGURES = (
    Column("Stranded", "stranded", number=True),
    Column("Free now", "free", number=True),
    Column("Nodes kept", "nodes", number=True),
    Column("Held", "held", number=True),
    Column("Since", "since"),
    Column("Until", "until"),
)
OWNER_LOCK_COLUMNS = {
    "workload": (
        Column("Workload", "workload"),
        Column("Tenant", "tenant"),
        *OWNER_LOCK_FIGURES,
        Column("Reason", ""),
        Column("Release", ""),
        Column("Cluster", "cluster"),
    ),
    "tenant": (Column("Tenant", "tenant"), *OWNER_LOCK_FIGURES),
}


def headings(
    columns: Iterable[Column], query: dict[str, str], sort: str, orders: Collection[str]
) -> tuple[Heading, ...]:
    """Sorting starts ascending for names and descending for figures, and turns round on the next click.

    A column whose key is none of ``orders`` offers no link: it sorts nothing for this viewer.
    """
    shown = (column if column.sort in orders else replace(column, sort="") for column in columns)
    return tuple(_heading(column, query, sort) for column in shown)


def _heading(column: Column, query: dict[str, str], sort: str) -> Heading:
    if not column.sort:
        return Heading(column.label, column.number, "", "")
    up, down = column.sort, f"-{column.sort}"
    first, second = (down, up) if column.number else (up, down)
    wanted = second if sort == first else first
    direction = {up: "ascending", down: "descending"}.get(sort, "")
    return Heading(column.label, column.number, f"?{urlencode({**query, 'sort': wanted})}", direction)


def csv_lines(rows: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    return (astuple(row) for row in rows)
