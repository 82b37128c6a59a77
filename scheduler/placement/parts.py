"""What finds seats together: equal pods as one part, and the parts of a job."""

from dataclasses import dataclass
from typing import Protocol

from scheduler.cluster.snapshot import PodSpec, Snapshot

Shape = tuple[int, ...]  # class of eligibility, spec, GPUs, share, device memory, CPU, memory, lender


@dataclass(frozen=True, slots=True)
class Part:
    """Equal pods of a job: they may run on the same nodes and take the same there."""

    shape: Shape
    pods: tuple[int, ...]  # rows

    @property
    def gpus(self) -> int:
        """Devices that each pod touches."""
        return self.shape[2]

    @property
    def milli(self) -> int:
        """Thousandths of each of them."""
        return self.shape[3]

    @property
    def device_memory(self) -> int:
        return self.shape[4] if self.shape[2] else 0

    @property
    def cpu(self) -> int:
        return self.shape[5]

    @property
    def memory(self) -> int:
        return self.shape[6]

    def spec(self, snapshot: Snapshot) -> PodSpec:
        return snapshot.pod_specs[self.shape[1]]

    def on_devices(self, snapshot: Snapshot) -> bool:
        """Whether it matters to it of which GPU model the node is: it takes devices, or slices of them."""
        return bool(self.gpus or self.spec(snapshot).mig)

    def charged(self, snapshot: Snapshot) -> bool:
        """Whether it uses quota: devices, not slices of them."""
        return bool(self.gpus and self.milli and not self.spec(snapshot).mig)


class Wanted(Protocol):
    """All pods of all parts, or nobody: in one domain of each level, and on nodes of one GPU model."""

    @property
    def cluster(self) -> int: ...
    @property
    def parts(self) -> tuple[Part, ...]: ...
    @property
    def levels(self) -> tuple[str, ...]: ...
    @property
    def running(self) -> tuple[int, ...]: ...  # live members that are not leaving, rows
    @property
    def mixes(self) -> bool: ...  # may stand on several GPU models at once


@dataclass(frozen=True, slots=True)
class Asked:
    """A ``Wanted`` that is put together by hand."""

    cluster: int
    parts: tuple[Part, ...]
    levels: tuple[str, ...] = ()
    running: tuple[int, ...] = ()
    mixes: bool = False


def part_of(snapshot: Snapshot, pods: tuple[int, ...], kind: int = 0) -> Part:
    """Of equal pods; ``kind``: their class of eligibility, where it is known."""
    p = pods[0]
    columns = (
        snapshot.pod_spec, snapshot.pod_gpus, snapshot.pod_gpu_milli, snapshot.pod_gpu_memory_mib,
        snapshot.pod_cpu_milli, snapshot.pod_memory_mib, snapshot.pod_lender,
    )  # fmt: skip
    return Part((kind, *(int(column[p]) for column in columns)), pods)
