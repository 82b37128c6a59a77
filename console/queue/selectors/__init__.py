"""Everything that reads; the viewer comes first and decides what is seen."""

from console.queue.selectors.job import job_card, job_inquiry, job_of, job_row
from console.queue.selectors.job_parts import InquiryRow, JobCard, JobStart
from console.queue.selectors.narrowing import QueueFilters
from console.queue.selectors.rows import (
    SORTS,
    USUAL,
    QueueRow,
    QueueTotals,
    others_totals,
    queue_age,
    queue_csv,
    queue_names,
    queue_rows,
    queue_totals,
)
from console.queue.selectors.running import (
    RUNNING_SORTS,
    RUNNING_USUAL,
    RunningRow,
    running_csv,
    running_names,
    running_rows,
)
from console.queue.selectors.starts import job_start

__all__ = [
    "RUNNING_SORTS",
    "RUNNING_USUAL",
    "SORTS",
    "USUAL",
    "InquiryRow",
    "JobCard",
    "JobStart",
    "QueueFilters",
    "QueueRow",
    "QueueTotals",
    "RunningRow",
    "job_card",
    "job_inquiry",
    "job_of",
    "job_row",
    "job_start",
    "others_totals",
    "queue_age",
    "queue_csv",
    "queue_names",
    "queue_rows",
    "queue_totals",
    "running_csv",
    "running_names",
    "running_rows",
]
