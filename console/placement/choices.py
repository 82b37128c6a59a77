"""Closed words and ranges of placement questions.

The core checks what it is asked itself; a test holds these ranges to it, since web processes do not load planners.
"""

from django.db.models import TextChoices

from console.ui.ranges import Range


class QuestionState(TextChoices):
    ASKED = "asked", "Asked"
    WORKING = "working", "Being worked out"
    DONE = "done", "Answered"
    FAILED = "failed", "Failed"


class Tier(TextChoices):
    HP = "HP", "HP"
    LP = "LP", "LP"


RANGES = {
    "pods": Range(1, 100_000, "Pods", default=4),
    "gpus": Range(0, 1024, "GPUs of each pod", default=8),
    "cpu_milli": Range(0, 1 << 40, "CPU of each pod", "thousandths of a core", default=0),
    "memory_mib": Range(0, 1 << 40, "Memory of each pod", "MiB", default=0),
    "slice_pods": Range(0, 100_000, "Pods of a slice", "0: no slices; divides the pods", default=0),
    "tp": Range(1, 65_536, "Tensor parallel", default=1),
    "pp": Range(1, 65_536, "Pipeline parallel", default=1),
    "ep": Range(1, 65_536, "Expert parallel", default=1),
}
TOGETHER = Range(1, 50, "First jobs of the queue", "1 to 50", default=20)
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
