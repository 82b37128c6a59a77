"""The kinds of wires, and how an operation on one can stand."""

from django.db.models import TextChoices


class Kind(TextChoices):
    FILE = "file", "Snapshot file"
    OPENB = "openb", "OpenB pair"
    SIMULATED = "simulated", "Simulated cluster"
    KUBERNETES = "kubernetes", "Kubernetes cluster"


class OperationState(TextChoices):
    RUNNING = "running", "Running"
    SUCCEEDED = "succeeded", "Succeeded"
    FAILED = "failed", "Failed"


class Purpose(TextChoices):
    GIVEN = "given", "Given by a person"
    BASE = "base", "Base of a simulated cluster"
