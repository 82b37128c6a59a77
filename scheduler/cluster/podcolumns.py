"""What each pod says by itself, as columns; names in it are looked up where all rows are known (``pods``)."""

import numpy as np

from scheduler.cluster.podspecs import Specs
from scheduler.cluster.records import FINISHED_PHASES, WHOLE_GPU_MILLI, PodRecord
from scheduler.cluster.rows import MAX_DEVICES, MAX_TIME, Columns, Objects, Rows, objects
from scheduler.cluster.snapshot import ABSENT, MOVE_MODES, WORK_CLASSES

NAMES = ("name", "namespace", "cluster", "uid", "node", "tenant", "gang", "lent_by", "phase")
TIMES = ("standby_until_s", "locked_until_s", "deleted_at_s", "started_s", "checkpoint_s")
DURATIONS = ("grace_s", "checkpoint_interval_s", "min_runtime_s")
FLAGS = ("standby", "locked", "terminating")


def pod_columns(rows: Rows[PodRecord], specs: Specs) -> Columns:
    """[rows] ``NAMES`` as given, and under the snapshot's names what needs nothing else.

    Raises ``InputError`` for values out of range.
    """
    return {
        **{name: objects(rows.values(name)) for name in NAMES},
        "finished": np.array([phase in FINISHED_PHASES for phase in rows.values("phase")], np.bool_),
        "spec": specs.of(rows),
        **_amounts(rows),
        "pod_lp": np.array([tier == "LP" for tier in rows.values("tier")], np.bool_),
        **{f"pod_{name}": rows.flags(name) for name in FLAGS},
        "pod_move": rows.ranks("move", MOVE_MODES).astype(np.int8),
        "pod_work_class": rows.ranks("work_class", WORK_CLASSES).astype(np.int8),
        **{f"pod_{name}": rows.optional(name, low=-MAX_TIME, high=MAX_TIME) for name in TIMES},
        **{f"pod_{name}": rows.optional(name, high=MAX_TIME) for name in DURATIONS},
        "devices": _devices(rows),
    }


def _amounts(rows: Rows[PodRecord]) -> Columns:
    gpus = rows.integers("gpus", high=MAX_DEVICES)
    share, least = rows.integers("gpu_milli", low=-MAX_TIME, high=MAX_TIME), np.minimum(gpus, 1)
    bad = (share < least) | (share > WHOLE_GPU_MILLI)
    if bad.any():
        row = int(bad.argmax())
        raise rows.refuse(row, "gpu_milli", int(share[row]), f"must be from {least[row]} to {WHOLE_GPU_MILLI}")
    stated = rows.optional("gpu_memory_mib")
    return {
        "pod_gpus": gpus.astype(np.int32),
        "pod_gpu_milli": share.astype(np.int32),
        "pod_gpu_memory_mib": np.where(stated == ABSENT, 0, stated),
        "pod_cpu_milli": rows.integers("cpu_milli"),
        "pod_memory_mib": rows.integers("memory_mib"),
        "pod_priority": rows.integers("priority", low=-MAX_TIME, high=MAX_TIME),
    }


def _devices(rows: Rows[PodRecord]) -> Objects:
    """[rows] Listed devices, None where none is."""
    found: list[tuple[int, ...] | None] = [None] * len(rows.records)
    for p, listed in rows.given("devices"):
        pod = rows.records[p]
        if len(set(listed)) < len(listed):
            raise rows.refuse(p, "devices", listed, "the same device is listed twice")
        if len(listed) != pod.gpus and not pod.mig:
            raise rows.refuse(p, "devices", listed, f"must list as many devices as gpus ({pod.gpus})")
        found[p] = tuple(listed)
    return objects(found)
