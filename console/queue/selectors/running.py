"""Gangs and single GPU pods that run, as of the readings that were explained: where they spread and how far."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, QuerySet
from django.utils import timezone

from console.inventory.selectors.paging import Page, cut, parse_cursor
from console.queue.models import RunningJob
from console.queue.selectors.narrowing import QueueFilters, names_of, narrowed
from console.tenancy.selectors import tenant_scope

RUNNING_SORTS = ("gpus", "pods", "nodes", "asws", "entropy", "ran", "job", "tenant", "cluster", "priority")
RUNNING_USUAL = "-gpus"
_KEYS = {"gpus": "gpu_milli", "ran": "started_at", "job": "key"}


@dataclass(frozen=True, slots=True)
class RunningRow:
    """One gang, or one pod without (``min_members`` None).

    ``asws``, ``unlabelled`` (nodes under no known ASW) and ``entropy`` (nats) None where the cluster knows no access
    switches; ``ran_s`` None where nobody says since when it runs.
    """

    source: str
    cluster: str
    key: str
    gang: bool
    tenant: str
    models: str
    pods: int
    min_members: int | None
    gpu_milli: int
    nodes: int
    asws: int | None
    unlabelled: int | None
    entropy: float | None
    priority: int
    priority_class: str
    tier: str
    ran_s: int | None


def running_rows(
    viewer: Any, filters: QueueFilters, *, sort: str = RUNNING_USUAL, cursor: str = "", size: int = 50
) -> Page[RunningRow]:
    """Most GPUs first unless ``sort`` says otherwise; unknown figures come last.  Raises ``BadCursorError``."""
    _, start = parse_cursor(cursor)
    found, now = _ordered(_running(tenant_scope(viewer), filters), sort), timezone.now()
    rows = [_row(job, now) for job in found[start : start + size]]
    return cut(rows, found.count(), start, 0, size)


def running_csv(viewer: Any, filters: QueueFilters, *, sort: str = RUNNING_USUAL) -> Iterator[RunningRow]:
    now = timezone.now()
    return (_row(job, now) for job in _ordered(_running(tenant_scope(viewer), filters), sort).iterator(500))


def running_names(viewer: Any) -> dict[str, tuple[str, ...]]:
    """Names for the filters, of what the viewer sees running."""
    return names_of(_running(tenant_scope(viewer), QueueFilters()), class_field="priority_class")


def _running(scope: frozenset[str] | None, filters: QueueFilters) -> QuerySet[RunningJob]:
    return narrowed(RunningJob.objects.all(), scope, filters, class_field="priority_class")


def _ordered(rows: QuerySet[RunningJob], sort: str) -> QuerySet[RunningJob]:
    word, down = sort.removeprefix("-"), sort.startswith("-")
    field = F(_KEYS.get(word, word))
    turned = down if word != "ran" else not down  # a column of instants that is read as a length
    order = field.desc(nulls_last=True) if turned else field.asc(nulls_last=True)
    return rows.order_by(order, "source__name", "cluster", "key", "pk")


def _row(job: RunningJob, now: datetime) -> RunningRow:
    return RunningRow(
        source=job.source.name,
        cluster=job.cluster,
        key=job.key,
        gang=job.gang,
        tenant=job.tenant,
        models=", ".join(name for name in job.models_text.split("|") if name),
        pods=job.pods,
        min_members=job.min_members,
        gpu_milli=job.gpu_milli,
        nodes=job.nodes,
        asws=job.asws,
        unlabelled=job.unlabelled,
        entropy=job.entropy,
        priority=job.priority,
        priority_class=job.priority_class,
        tier="LP" if job.lp else "HP",
        ran_s=None if job.started_at is None else max(0, int((now - job.started_at).total_seconds())),
    )
