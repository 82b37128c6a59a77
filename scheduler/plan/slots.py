"""Slots of a shape such as 8G128C: what a pod of so many GPUs and so much CPU would find, as pods without a node."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.rows import frozen
from scheduler.cluster.snapshot import ABSENT, UNKNOWN, PodSpec, Snapshot

SHAPE_WORDS = r"([1-9]\d{0,2})G(\d{1,4})C"
CORE_MILLI = 1000
# What a slot has in the columns of pods; the others are 0, False or "".
_UNKNOWN = ("node", "tenant", "gang", "lender", "work_class")
_ABSENT_END = "_s"  # columns of instants and spans


def slot_name(ordinal: int) -> str:
    """``ordinal`` counts from 1."""
    return f"slot {ordinal}"


def asked_by(shape: str) -> tuple[int, int]:
    """GPUs and CPU in thousandths of a core; raises ``ValueError`` for anything but a shape."""
    found = re.fullmatch(SHAPE_WORDS, shape)
    if found is None:
        raise ValueError(f"{shape!r} is no shape such as 8G128C")
    return int(found[1]), int(found[2]) * CORE_MILLI


def with_slots(snapshot: Snapshot, shape: str, slots: int, models: tuple[str, ...] = ()) -> Snapshot:
    """The snapshot with so many pending pods behind its own; ``models`` are those on which they may run, none: all."""
    gpus, cpu = asked_by(shape)
    asked = {"gpus": gpus, "gpu_milli": WHOLE_GPU_MILLI, "cpu_milli": cpu}
    return with_pending(snapshot, [slot_name(i + 1) for i in range(slots)], asked, PodSpec(gpu_models=models))


def with_pending(snapshot: Snapshot, names: Sequence[str], asked: Mapping[str, int], spec: PodSpec) -> Snapshot:
    """The snapshot with equal pending pods of no namespace behind its own; ``asked``: columns without their ``pod_``.

    They are of the first cluster where ``asked`` names none.
    """
    given: dict[str, int] = {
        **dict.fromkeys(_UNKNOWN, UNKNOWN),
        **asked,
        "spec": len(snapshot.pod_specs),
        "namespace": len(snapshot.namespaces),
    }
    longer: dict[str, Any] = {}
    for name in (field.name for field in fields(Snapshot) if field.name.startswith("pod_")):
        column = getattr(snapshot, name)
        if isinstance(column, np.ndarray):
            value = given.get(name.removeprefix("pod_"), ABSENT if name.endswith(_ABSENT_END) else 0)
            behind = np.full((len(names), *column.shape[1:]), value, column.dtype)
            longer[name] = frozen(np.concatenate([column, behind]))
    longer["pod_name"] = (*snapshot.pod_name, *names)
    for name in ("pod_uid", "pod_phase"):
        longer[name] = (*getattr(snapshot, name), *[""] * len(names))
    longer["pod_specs"] = (*snapshot.pod_specs, spec)
    return replace(snapshot, namespaces=(*snapshot.namespaces, ""), **longer)
