"""What is still free on each node while a world is being filled.

Plain numpy: one placement is a handful of passes over the nodes of one pool, so 200,000 placements on 20,000 nodes
take seconds and nothing has to be compiled.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.worlds.shapes import Shape

NOWHERE = -1
_FULL = np.iinfo(np.int64).max


class Free:
    """Mutable; axes n node, g device.  ``device[n, g]`` is what is left of each device in GPU milli."""

    def __init__(self, gpus: NDArray[np.int64], cpu_milli: NDArray[np.int64], memory_mib: NDArray[np.int64]) -> None:
        widest = max(1, int(gpus.max(initial=0)))
        self.device = np.where(np.arange(widest) < gpus[:, None], WHOLE_GPU_MILLI, 0).astype(np.int32)
        self.cpu_milli = cpu_milli.astype(np.int64)
        self.memory_mib = memory_mib.astype(np.int64)
        self.gpu_milli = self.device.sum(axis=1).astype(np.int64)  # [n]
        self.whole = gpus.astype(np.int64)  # [n] untouched devices
        self.widest = self.device.max(axis=1).astype(np.int64)  # [n] largest rest of one device

    def fits(self, lo: int, hi: int, shape: Shape) -> NDArray[np.bool_]:
        """Which nodes of ``lo:hi`` have room for ``shape``."""
        room = (self.cpu_milli[lo:hi] >= shape.cpu_milli) & (self.memory_mib[lo:hi] >= shape.memory_mib)
        if shape.gpus == 0:
            return np.asarray(room)
        if not shape.shared:
            return np.asarray(room & (self.whole[lo:hi] >= shape.gpus))
        if shape.gpus == 1:
            return np.asarray(room & (self.widest[lo:hi] >= shape.gpu_milli))
        return np.asarray(room & ((self.device[lo:hi] >= shape.gpu_milli).sum(axis=1) >= shape.gpus))

    def first_fit(self, lo: int, hi: int, shape: Shape) -> int:
        """The first node of ``lo:hi`` with room, or NOWHERE."""
        room = self.fits(lo, hi, shape)
        return lo + int(room.argmax()) if room.any() else NOWHERE

    def best_fit(self, lo: int, hi: int, shape: Shape, banned: Iterable[int] = ()) -> int:
        """The node of ``lo:hi`` with the fewest GPU milli left (the first of equals), or NOWHERE."""
        room = self.fits(lo, hi, shape)
        for node in banned:
            if lo <= node < hi:
                room[node - lo] = False
        if not room.any():
            return NOWHERE
        return lo + int(np.where(room, self.gpu_milli[lo:hi], _FULL).argmin())

    def take(self, node: int, shape: Shape) -> tuple[int, ...]:
        """Place ``shape`` on ``node``: whole ones first-fit, shares on the fullest; returns the devices."""
        rest = self.device[node]
        able = np.flatnonzero(rest == WHOLE_GPU_MILLI if not shape.shared else rest >= shape.gpu_milli)
        if shape.shared:
            able = able[np.argsort(rest[able], kind="stable")]
        chosen = tuple(able[: shape.gpus].tolist())
        self._change(node, shape, chosen, -1)
        return chosen

    def give(self, node: int, shape: Shape, devices: tuple[int, ...]) -> None:
        """Undo a ``take``."""
        self._change(node, shape, devices, +1)

    def _change(self, node: int, shape: Shape, devices: tuple[int, ...], sign: int) -> None:
        self.cpu_milli[node] += sign * shape.cpu_milli
        self.memory_mib[node] += sign * shape.memory_mib
        if not devices:
            return
        rest = self.device[node]
        rest[list(devices)] += sign * shape.gpu_milli
        self.gpu_milli[node] = rest.sum()
        self.whole[node] = (rest == WHOLE_GPU_MILLI).sum()
        self.widest[node] = rest.max()


def shares_fit(shares: list[int], devices: int) -> bool:
    """Whether first-fit decreasing lays the shares (milli) on so many empty devices, as every reader will do it."""
    rest = [WHOLE_GPU_MILLI] * devices
    for share in sorted(shares, reverse=True):
        slot = next((i for i, left in enumerate(rest) if left >= share), None)
        if slot is None:
            return False
        rest[slot] -= share
    return True
