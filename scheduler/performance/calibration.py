"""Calibrate the model of collectives on one fabric, and say how far it is off on the others.

What was measured is public: users' runs of nccl-tests, large messages, bus bandwidth as that program counts it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scheduler.performance.collectives import Reach, all_reduce
from scheduler.performance.fabrics import Fabric, fabric_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """An all-reduce of ``size`` bytes; ``nic_gbit`` of each GPU counts where there are several nodes."""

    name: str
    model: str
    gpus: int
    nodes: int
    nic_gbit: float
    size: float
    bus_gb_per_s: float
    source: str


@dataclass(frozen=True, slots=True)
class Error:
    measured: Measured
    predicted_gb_per_s: float

    @property
    def percent(self) -> float:
        return 100 * (self.predicted_gb_per_s / self.measured.bus_gb_per_s - 1)


GIB = 1 << 30
CALIBRATED_ON = Measured(
    name="one node, 8 A100 SXM 80 GB", model="A100 SXM 80GB", gpus=8, nodes=1, nic_gbit=200, size=GIB, bus_gb_per_s=200,
    source="github.com/NVIDIA/nccl-tests/issues/149",
)  # fmt: skip
OTHERS = (
    Measured(name="one node, 8 H100 SXM", model="H100 SXM", gpus=8, nodes=1, nic_gbit=400, size=16 * GIB,
             bus_gb_per_s=476, source="github.com/NVIDIA/nccl-tests/issues/290"),
    Measured(name="one node, 8 H800 SXM", model="H800 SXM", gpus=8, nodes=1, nic_gbit=400, size=16 * GIB,
             bus_gb_per_s=215, source="github.com/NVIDIA/nccl/issues/1374"),
    Measured(name="three nodes, 24 A100 SXM 40 GB, 4 HDR each", model="A100 SXM 40GB", gpus=24, nodes=3, nic_gbit=100,
             size=GIB / 8, bus_gb_per_s=96, source="github.com/NVIDIA/nccl-tests/issues/119"),
)  # fmt: skip


def calibrate(measured: Measured) -> float:
    """The link efficiency with which the model says what was measured; raises ``ValueError`` if none does."""
    low, high = 0.01, 2.0
    for _ in range(60):
        middle = (low + high) / 2
        if _predict(measured, middle) < measured.bus_gb_per_s:
            low = middle
        else:
            high = middle
    if abs(_predict(measured, high) / measured.bus_gb_per_s - 1) > 0.001:
        raise ValueError(f"{measured.name}: no link efficiency explains {measured.bus_gb_per_s} GB/s")
    return high


def errors(efficiency: float, others: Sequence[Measured] = OTHERS) -> tuple[Error, ...]:
    """Of fabrics that had no part in the calibration."""
    return tuple(Error(one, _predict(one, efficiency)) for one in others)


def _predict(measured: Measured, efficiency: float) -> float:
    fabric = fabric_of(measured.model, measured.nic_gbit)
    assert fabric is not None
    with_it: Fabric = replace(fabric, link_efficiency=efficiency)
    reach = Reach(gpus=measured.gpus, nodes=measured.nodes)
    return all_reduce(measured.size, reach, with_it).bus_gb_per_s(measured.size, measured.gpus)
