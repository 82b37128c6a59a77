"""Columns of the tables and their CSV twins."""

from dataclasses import fields

from console.inventory.tables import Column
from console.queue.selectors import QueueRow, RunningRow

QUEUE_HEAD = tuple(field.name for field in fields(QueueRow))
RUNNING_HEAD = tuple(field.name for field in fields(RunningRow))
QUEUE_COLUMNS = (
    Column("Job", "job"),
    Column("Tenant", "tenant"),
    Column("Cluster", "cluster"),
    Column("Model", ""),
    Column("Pods × GPUs", "gpus", number=True),
    Column("Priority", "priority", number=True),
    Column("Waiting", "waiting", number=True),
    Column("Why it waits", "reason"),
    Column("Largest block now", "block", number=True),
)
RUNNING_COLUMNS = (
    Column("Job", "job"),
    Column("Tenant", "tenant"),
    Column("Cluster", "cluster"),
    Column("Model", ""),
    Column("Pods", "pods", number=True),
    Column("GPUs", "gpus", number=True),
    Column("Nodes", "nodes", number=True),
    Column("ASWs", "asws", number=True),
    Column("Entropy", "entropy", number=True),
    Column("Priority", "priority", number=True),
    Column("Running for", "ran", number=True),
)
