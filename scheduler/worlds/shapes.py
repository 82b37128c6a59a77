"""What one pod asks for, and where worlds draw it from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI

# CPU and memory per GPU of pods that ask for one whole GPU: (share of pods below, cores, GiB).  Round figures of our
# own in the manner of the OpenB trace, whose CPU and memory go together (correlation 0.79), hence one draw for both.
PER_GPU_QUANTILES = (
    (0.00, 1.0, 4.0),
    (0.05, 3.0, 5.5),
    (0.12, 3.5, 6.0),
    (0.20, 8.0, 20.0),
    (0.25, 9.8, 24.0),
    (0.30, 11.0, 32.0),
    (0.50, 11.4, 47.0),
    (0.70, 12.0, 48.0),
    (0.80, 14.0, 57.0),
    (0.90, 16.0, 63.0),
    (0.95, 18.5, 76.0),
    (1.00, 24.0, 120.0),
)
MULTI_GPU_CPU_MILLI = 11_500
MULTI_GPU_MEMORY_MIB = 47_000


@dataclass(frozen=True, slots=True)
class Shape:
    """A request: ``gpus`` devices, ``gpu_milli`` of each; CPU in milli-cores and memory in MiB for the whole pod."""

    gpus: int
    gpu_milli: int
    cpu_milli: int
    memory_mib: int

    @property
    def total_milli(self) -> int:
        return self.gpus * self.gpu_milli

    @property
    def shared(self) -> bool:
        return self.gpus > 0 and self.gpu_milli < WHOLE_GPU_MILLI


class PerGpuDraw:
    """CPU and memory per GPU, drawn from a trace's whole-1-GPU pods or, without one, from the table above."""

    def __init__(self, shapes: Sequence[Shape] | None) -> None:
        whole = [s for s in shapes or () if s.gpus == 1 and s.gpu_milli == WHOLE_GPU_MILLI]
        self._pairs = [(s.cpu_milli, s.memory_mib) for s in whole]
        self._levels, cores, gib = np.array(PER_GPU_QUANTILES).T
        self._cpu_milli, self._memory_mib = cores * 1000, gib * 1024

    def draw(self, rng: np.random.Generator) -> tuple[int, int]:
        """(cpu_milli, memory_mib) of one GPU."""
        u = rng.random()
        if self._pairs:
            return self._pairs[int(u * len(self._pairs))]
        cpu = np.interp(u, self._levels, self._cpu_milli)
        memory = np.interp(u, self._levels, self._memory_mib)
        return int(cpu), int(memory)

    def shape(self, gpus: int, rng: np.random.Generator) -> Shape:
        """A pod of ``gpus`` whole GPUs; several GPUs together ask for no more per GPU than a node's fair share."""
        cpu, memory = self.draw(rng)
        if gpus > 1:
            cpu, memory = min(cpu, MULTI_GPU_CPU_MILLI), min(memory, MULTI_GPU_MEMORY_MIB)
        return Shape(gpus, WHOLE_GPU_MILLI, cpu * gpus, memory * gpus)
