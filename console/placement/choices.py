"""Closed words and ranges of placement questions.

The core checks what it is asked itself; a test holds these ranges to it, since web processes do not load planners.
"""

from dataclasses import dataclass

from django.db.models import TextChoices


class QuestionState(TextChoices):
    ASKED = "asked", "Asked"
    WORKING = "working", "Being worked out"
    DONE = "done", "Answered"
    FAILED = "failed", "Failed"


class Tier(TextChoices):
    HP = "HP", "HP"
    LP = "LP", "LP"


@dataclass(frozen=True, slots=True)
class Range:
    low: int
    high: int
    default: int
    label: str
    words: str = ""


RANGES = {
    "pods": Range(1, 100_000, 4, "Pods"),
    "gpus": Range(0, 1024, 8, "GPUs of each pod"),
    "cpu_milli": Range(0, 1 << 40, 0, "CPU of each pod", "thousandths of a core"),
    "memory_mib": Range(0, 1 << 40, 0, "Memory of each pod", "MiB"),
    "slice_pods": Range(0, 100_000, 0, "Pods of a slice", "0: no slices; divides the pods"),
    "tp": Range(1, 65_536, 1, "Tensor parallel"),
    "pp": Range(1, 65_536, 1, "Pipeline parallel"),
    "ep": Range(1, 65_536, 1, "Expert parallel"),
}
TOGETHER = Range(1, 50, 20, "First jobs of the queue", "1 to 50")
DIFFERENCES = {
    "joint_only": "Starts only together",
    "greedy_only": "Starts only largest first",
    "elsewhere": "Starts elsewhere",
    "same": "The same places",
    "neither": "Waits either way",
}
HOST, CLUSTER = "host", "cluster"  # levels that every cluster has
BILLIONS = (0.001, 100_000.0)  # of parameters
TERM_WORDS = {
    "packing": "Packing",
    "same_class": "Same tier beside it",
    "eviction_history": "Eviction history",
    "fragmentation": "Fragmentation",
    "network_load": "Network load",
    "power": "Power",
    "entropy": "Entropy",
}
STEP_WORDS = {
    "compute": "Compute",
    "tensor": "Tensor parallel",
    "expert": "Expert parallel",
    "data": "Data parallel",
    "stall": "Pipeline stall",
    "imbalance": "Imbalance",
}
