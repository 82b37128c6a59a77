"""Gangs that run, as of the readings that were explained: where they spread and how far."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from console.inventory.packed import unpack_json
from console.inventory.selectors.paging import Page, cut, parse_cursor
from console.queue.models import Standing
from console.queue.selectors.rows import QueueFilters
from console.tenancy.selectors import tenant_scope

RUNNING_SORTS = ("gpus", "pods", "nodes", "asws", "entropy", "ran", "job", "tenant", "cluster", "priority")
RUNNING_USUAL = "-gpus"
_KEYS = {"gpus": "gpu_milli", "ran": "ran_s", "job": "key"}


@dataclass(frozen=True, slots=True)
class RunningRow:
    """One gang.  ``asws``, ``unlabelled`` (nodes under no known ASW) and ``entropy`` (nats) None where the cluster
    knows no access switches; ``ran_s`` None where nobody says when it started."""

    source: str
    cluster: str
    key: str
    tenant: str
    models: str
    pods: int
    min_members: int
    gpu_milli: int
    nodes: int
    asws: int | None
    unlabelled: int | None
    entropy: float | None
    priority: int
    tier: str
    ran_s: int | None


def running_rows(
    viewer: Any, filters: QueueFilters, *, sort: str = RUNNING_USUAL, cursor: str = "", size: int = 50
) -> Page[RunningRow]:
    """Most GPUs first unless ``sort`` says otherwise; unknown figures come last.  Raises ``BadCursorError``."""
    _, start = parse_cursor(cursor)
    found = _sorted(list(_rows(viewer, filters)), sort)
    return cut(found[start : start + size], len(found), start, 0, size)


def running_csv(viewer: Any, filters: QueueFilters, *, sort: str = RUNNING_USUAL) -> Iterator[RunningRow]:
    return iter(_sorted(list(_rows(viewer, filters)), sort))


def running_singles(viewer: Any) -> int | None:
    """GPU pods without a gang that run; None for who sees only its own, and before the first explanation."""
    if tenant_scope(viewer) is not None:
        return None
    counts = list(Standing.objects.filter(running__isnull=False).values_list("singles", flat=True))
    return sum(counts) if counts else None


def _rows(viewer: Any, filters: QueueFilters) -> Iterator[RunningRow]:
    scope = tenant_scope(viewer)
    for pk, begun_at, source, cluster in _standings(filters):
        for row in _unpacked(pk, begun_at):
            if (scope is None or row["tenant"] in scope - {""}) and _fits(row, filters):
                yield _row(source, cluster, row)


def _standings(filters: QueueFilters) -> list[tuple[int, datetime, str, str]]:
    named = {"cluster": filters.cluster, "source__name": filters.source}
    rows = Standing.objects.filter(running__isnull=False, **{name: one for name, one in named.items() if one})
    return list(rows.values_list("pk", "begun_at", "source__name", "cluster"))


@lru_cache(maxsize=64)
def _unpacked(pk: int, _begun_at: datetime) -> tuple[dict[str, Any], ...]:
    """A row that was written is never changed but to be emptied."""
    packed = Standing.objects.filter(pk=pk).values_list("running", flat=True).first()
    return tuple(unpack_json(packed)) if packed is not None else ()


def _fits(row: dict[str, Any], filters: QueueFilters) -> bool:
    wanted = filters.text.casefold()
    return (
        (not filters.tenant or row["tenant"] == filters.tenant)
        and (not filters.model or filters.model in row["models"])
        and (not wanted or wanted in row["key"].casefold() or wanted in row["tenant"].casefold())
    )


def _row(source: str, cluster: str, row: dict[str, Any]) -> RunningRow:
    kept = {name: value for name, value in row.items() if name not in ("lp", "models")}
    tier = "LP" if row["lp"] else "HP"
    return RunningRow(source=source, cluster=cluster, models=", ".join(row["models"]), tier=tier, **kept)


def _sorted(rows: list[RunningRow], sort: str) -> list[RunningRow]:
    word, down = sort.removeprefix("-"), sort.startswith("-")
    name = _KEYS.get(word, word)
    rows.sort(key=lambda row: (row.source, row.cluster, row.key))
    known = [row for row in rows if getattr(row, name) is not None]
    known.sort(key=lambda row: getattr(row, name), reverse=down)
    return known + [row for row in rows if getattr(row, name) is None]
