"""What a tenant asks of spot capacity: equal pods on one GPU model, for so long, near to one another or not."""

from dataclasses import dataclass, replace

from scheduler.cluster.errors import ParamError, within
from scheduler.cluster.records import WHOLE_GPU_MILLI

MOST_MODELS, MOST_PODS, MOST_GPUS_PER_POD, MOST_GPUS = 8, 4096, 64, 8192
MOST_AMOUNT = 1 << 40
LEAST_RUN_S, LONGEST_RUN_S = 600, 30 * 86_400
LONGEST_HOOK_S = 60  # from notice to kill, whatever the hook asks for
LONGEST_GUARANTEE_S = 6 * 3600
HOUR_S = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Raises ``ParamError`` for the first field out of range.

    ``models`` in order of preference; all pods run on one of them.  Amounts are of each pod.  ``min_members``: it
    starts with so many pods or more; as many as ``pods``: all or none; 1: each pod is of use by itself.
    """

    models: tuple[str, ...]
    gpus_per_pod: int
    pods: int
    min_members: int
    run_s: int
    cpu_milli: int = 0
    memory_mib: int = 0
    gpu_memory_mib: int = 0  # of each device; 0: not said
    topology: str = ""  # a level at which all pods want one common domain; "": anywhere
    required: bool = False  # False: the level is a wish
    checkpoint_interval_s: int | None = None  # None: it writes no checkpoints
    hook_s: int | None = None  # seconds that its exit hook says it needs; None: it says nothing
    limit_cents: int | None = None  # of a GPU-hour; None: pays every price
    guaranteed_s: int = 0  # for which it is not to be reclaimed

    def __post_init__(self) -> None:
        if not self.models or len(self.models) > MOST_MODELS or "" in self.models:
            raise ParamError("models", self.models, f"must be 1 to {MOST_MODELS} GPU models")
        if len(set(self.models)) < len(self.models):
            raise ParamError("models", self.models, "must name each GPU model once")
        within("gpus_per_pod", self.gpus_per_pod, 1, MOST_GPUS_PER_POD)
        within("pods", self.pods, 1, min(MOST_PODS, MOST_GPUS // self.gpus_per_pod))
        within("min_members", self.min_members, 1, self.pods)
        within("run_s", self.run_s, LEAST_RUN_S, LONGEST_RUN_S)
        for field in ("cpu_milli", "memory_mib", "gpu_memory_mib"):
            within(field, getattr(self, field), 0, MOST_AMOUNT)
        if self.required and not self.topology:
            raise ParamError("topology", self.topology, "must name a level where one is required")
        for field, low, high in (
            ("checkpoint_interval_s", 60, 86_400), ("hook_s", 1, LONGEST_HOOK_S), ("limit_cents", 1, 1_000_000),
        ):  # fmt: skip
            if getattr(self, field) is not None:
                within(field, getattr(self, field), low, high)
        within("guaranteed_s", self.guaranteed_s, 0, min(LONGEST_GUARANTEE_S, self.run_s))

    @property
    def gpus(self) -> int:
        return self.gpus_per_pod * self.pods

    @property
    def gpu_milli(self) -> int:
        return self.gpus * WHOLE_GPU_MILLI

    @property
    def hours(self) -> float:
        return self.run_s / HOUR_S

    @property
    def least_gpus(self) -> int:
        """With fewer it does not start."""
        return self.gpus_per_pod * self.min_members

    def with_pods(self, pods: int) -> "Ask":
        """The same with fewer pods or more; a gang stays a gang of all of them."""
        least = pods if self.min_members == self.pods else min(self.min_members, pods)
        return replace(self, pods=pods, min_members=least)
