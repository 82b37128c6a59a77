"""What a placement is asked for: groups of equal pods, and how near to one another they are to stand."""

from dataclasses import dataclass, replace

from scheduler.cluster.errors import ParamError, within
from scheduler.cluster.records import WHOLE_GPU_MILLI, ParallelismRecord
from scheduler.cluster.snapshot import PodSpec

MOST_PODS, MOST_AMOUNT, MOST_GROUPS = 100_000, 1 << 40, 32
HP, LP = "HP", "LP"
NO_RULES = PodSpec()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Equal pods.  Raises ``ParamError`` for the first field out of range.

    ``gpus`` devices with ``gpu_milli`` of each; ``required`` and ``preferred`` are levels at which the group alone
    wants one common domain.  ``slice_pods`` of its pods at a time need one domain of ``slice_level``; 0: no slices.
    """

    name: str = "member"
    count: int = 1
    gpus: int = 0
    gpu_milli: int = WHOLE_GPU_MILLI
    cpu_milli: int = 0
    memory_mib: int = 0
    gpu_memory_mib: int = 0  # of each device
    mig: tuple[tuple[str, int], ...] = ()  # profile, slices
    models: tuple[str, ...] = ()  # accepted; none: any
    required: str = ""
    preferred: str = ""
    slice_pods: int = 0
    slice_level: str = ""
    rules: PodSpec = NO_RULES  # selectors, tolerations, (anti-)affinity, ports, zone, resources, labels
    pods: tuple[str, ...] = ()  # ``namespace/name`` of pending pods of the snapshot; none: pods that are made up

    def __post_init__(self) -> None:
        within("count", self.count, 1, MOST_PODS)
        within("gpus", self.gpus, 0, 1024)
        within("gpu_milli", self.gpu_milli, 1, WHOLE_GPU_MILLI)
        for field in ("cpu_milli", "memory_mib", "gpu_memory_mib"):
            within(field, getattr(self, field), 0, MOST_AMOUNT)
        for _, slices in self.mig:
            within("mig", slices, 1, 1024)
        within("slice_pods", self.slice_pods, 0, self.count)
        if self.slice_pods and self.count % self.slice_pods:
            raise ParamError("slice_pods", self.slice_pods, f"must divide the {self.count} pods")
        if bool(self.slice_pods) != bool(self.slice_level):
            raise ParamError("slice_level", self.slice_level, "goes with slice_pods: give both or neither")
        if self.pods and len(self.pods) != self.count:
            raise ParamError("pods", len(self.pods), f"must name all {self.count} pods")

    @property
    def spec(self) -> PodSpec:
        """Of its pods; what a pending pod of the snapshot has is in ``rules`` already."""
        return self.rules if self.pods else replace(self.rules, mig=self.mig, gpu_models=tuple(sorted(self.models)))

    @property
    def members(self) -> tuple[str, ...]:
        return self.pods or tuple(f"{self.name}-{i}" for i in range(self.count))


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One job: all of its pods find a place together, or none does.

    ``required`` and ``preferred`` are levels at which all groups together want one domain: one of the snapshot's, or
    ``host`` or ``cluster``.  Neither: unconstrained.
    """

    groups: tuple[Group, ...]
    required: str = ""
    preferred: str = ""
    may_mix_models: bool = False  # its pods may stand on several GPU models at once; else all of them on one
    min_members: int = 0  # that the gang starts with; all that are open are placed, or none
    tier: str = HP
    work_class: str = ""  # training, dev, online, offline; "" unknown
    tenant: str = ""
    cluster: str = ""  # "" where the snapshot has one alone
    job: str = ""  # ``namespace/name`` of a pending gang or pod; "" for a question
    parallelism: ParallelismRecord | None = None

    def __post_init__(self) -> None:
        if not 1 <= len(self.groups) <= MOST_GROUPS:
            raise ParamError("groups", len(self.groups), f"must be 1 to {MOST_GROUPS} groups")
        if len({group.name for group in self.groups}) < len(self.groups):
            raise ParamError("groups", [group.name for group in self.groups], "must have names of their own")
        if self.tier not in (HP, LP):
            raise ParamError("tier", self.tier, "must be HP or LP")
        within("pods", self.pods, 1, MOST_PODS)
        within("min_members", self.min_members, 0, MOST_PODS)

    @property
    def pods(self) -> int:
        return sum(group.count for group in self.groups)

    @property
    def gpus(self) -> int:
        """Devices that are touched; slices are none."""
        return sum(group.count * group.gpus for group in self.groups)
