"""Statuses and measures of what is observed."""

from django.db.models import TextChoices


class SourceKind(TextChoices):
    """The connectors' kinds, under the words for people."""

    FILE = "file", "Snapshot file"
    OPENB = "openb", "OpenB pair"
    SIMULATED = "simulated", "Simulated cluster"
    KUBERNETES = "kubernetes", "Kubernetes cluster"


# These are followed by processes of their own; no clock asks for their readings.
WATCHED = frozenset({SourceKind.KUBERNETES})


class SourceState(TextChoices):
    WAITING = "waiting", "Waiting for its first reading"
    LIVE = "live", "Live"
    FAILING = "failing", "Failing"


class UploadState(TextChoices):
    WAITING = "waiting", "Being read"
    LOADED = "loaded", "Loaded"
    REFUSED = "refused", "Refused"


class UploadKind(TextChoices):
    SNAPSHOT = "snapshot", "Snapshot file (JSON)"
    OPENB = "openb", "OpenB pair (CSV)"
    TABLES = "tables", "nodes.csv and pods.csv"


class Behaviour(TextChoices):
    """What a loaded file becomes."""

    FILE = "file", "A file: to look at"
    QUIET = "quiet", "A simulated cluster in which nothing moves by itself"
    LIVELY = "lively", "A simulated cluster that lives: pods come and go"


class Measure(TextChoices):
    """What a cell of the map can show, in percent of the node's GPUs; health is a code."""

    FREE = "free", "Free"
    STRANDED = "stranded", "Stranded"
    CPU_BOUND = "cpu_bound", "CPU-bound"
    STANDBY = "standby", "Standby"
    LP = "lp", "LP"
    HEALTH = "health", "Health"


class HealthCode(TextChoices):
    OK = "ok", "Ready"
    CORDONED = "cordoned", "Cordoned"
    NOT_READY = "not_ready", "Not ready"
    DEGRADED = "degraded", "Degraded"
    NO_GPUS = "no_gpus", "No GPUs"


HEALTH_BY_CODE = tuple(HealthCode)  # the byte of the map is the index
MEASURES = tuple(Measure)
STORED = (*MEASURES, "stranded_gpus", "cause")  # the stored columns, in order
CAUSES = (
    "", "unhealthy", "stranded", "cpu_memory", "constraint", "fractional", "standby", "allocated_lp", "allocated_hp",
)  # fmt: skip
NO_DATA = 255
