"""Watts: what an idle node draws, as measured, and what a busy GPU may draw at most."""

import numpy as np

from scheduler.cluster.hardware import accelerator
from scheduler.cluster.occupancy import EMPTY, Occupancy
from scheduler.cluster.snapshot import ABSENT, Snapshot


def idle_watts(snapshot: Snapshot, occupancy: Occupancy) -> dict[str, float]:
    """GPU model -> median draw of its empty nodes; models of which no empty node is measured are left out."""
    measured = (occupancy.state == EMPTY) & (snapshot.node_power_watts != ABSENT)
    found = {}
    for m, model in enumerate(snapshot.models):
        rows = np.flatnonzero(measured & (snapshot.node_model == m))
        if len(rows):
            found[model] = float(np.median(snapshot.node_power_watts[rows]))
    return found


def board_watts(model: str) -> float | None:
    """The most that one GPU of the model draws by its data sheet; None where no sheet is known."""
    known = accelerator(model)
    return None if known is None or known.power_watts is None else float(known.power_watts)
