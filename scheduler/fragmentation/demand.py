"""What is asked of the cluster: the named request shapes of the waterfall, and the demand mix M of F_n(M).

A mix is a list of classes with whole-number weights, so that every frequency p_m = weight_m / total is exact.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import FINISHED_PHASES, WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Bools, Longs, Snapshot

CPU_MILLI_PER_GPU = 12_000  # what the study asks per GPU of a job that spans nodes
LEAF_LEVEL = "asw"
# Limits of a mix given by hand, so that the exact sums of F(M) stay within 64 bits.
LARGEST_AMOUNT, HEAVIEST_CLASS, MOST_CLASSES = 1 << 40, 1_000_000, 1000


@dataclass(frozen=True, slots=True)
class RequestShape:
    """``gpus`` whole GPUs with ``cpu_milli`` together, memory not asked.

    ``level`` None: on one node.  Else the GPUs may lie on any nodes that share one domain of that level, each GPU with
    its part of the CPU.
    """

    name: str
    gpus: int
    cpu_milli: int
    level: str | None = None


def _on_one_node(gpus: int, cores: int) -> RequestShape:
    return RequestShape(f"{gpus}G{cores}C", gpus, cores * 1000)


def _under_one_switch(gpus: int) -> RequestShape:
    return RequestShape(f"{gpus}@ASW", gpus, gpus * CPU_MILLI_PER_GPU, LEAF_LEVEL)


# The request shapes that the OSDI '26 study of a shared production fleet measures.
SHAPES: tuple[RequestShape, ...] = (
    _on_one_node(1, 8),
    _on_one_node(1, 12),
    _on_one_node(4, 32),
    _on_one_node(4, 48),
    _on_one_node(4, 64),
    _on_one_node(8, 64),
    _on_one_node(8, 96),
    _on_one_node(8, 128),
    _under_one_switch(128),
    _under_one_switch(256),
)


class DemandClass(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Equal requests: ``gpus`` devices with ``gpu_milli`` of each.  No accepted model named means any."""

    gpus: int
    gpu_milli: int = WHOLE_GPU_MILLI
    cpu_milli: int = 0
    memory_mib: int = 0
    gpu_model: str | list[str] | None = None
    weight: int = 1

    @property
    def models(self) -> tuple[str, ...]:
        named = [self.gpu_model] if isinstance(self.gpu_model, str) else self.gpu_model or []
        return tuple(sorted({model for model in named if model.strip()}))


@dataclass(frozen=True, slots=True, eq=False)
class Mix:
    """Distinct classes as columns [k].  Units: devices, thousandths of each, milli-cores, MiB, whole weights."""

    gpus: Longs
    gpu_milli: Longs
    cpu_milli: Longs
    memory_mib: Longs
    models: Longs  # -> model_sets
    weight: Longs
    model_sets: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def total(self) -> int:
        """Sum of the weights; 0 where nothing is asked."""
        return int(self.weight.sum())


def mix_of(snapshot: Snapshot) -> Mix:
    """The shapes of all live and pending pods that ask for GPUs, each weighing as many as there are."""
    pending = (snapshot.pod_node == UNKNOWN) & ~_finished(snapshot)
    asked = np.flatnonzero((snapshot.pod_live | pending) & (snapshot.pod_gpus > 0))
    sets, of_spec = _model_sets(snapshot)
    rows = [
        snapshot.pod_gpus[asked],
        snapshot.pod_gpu_milli[asked],
        snapshot.pod_cpu_milli[asked],
        snapshot.pod_memory_mib[asked],
        of_spec[snapshot.pod_spec[asked]],
        np.ones(asked.size, np.int64),
    ]
    return _grouped([np.asarray(row, np.int64) for row in rows], sets)


def mix_from(classes: Sequence[DemandClass]) -> Mix:
    """The mix of these classes; equal ones add up."""
    sets = tuple(sorted({one.models for one in classes}))
    rows = [
        (c.gpus, c.gpu_milli if c.gpus else 0, c.cpu_milli, c.memory_mib, sets.index(c.models), c.weight)
        for c in classes
    ]
    columns = np.array(rows, np.int64).reshape(-1, 6).T
    return _grouped(list(columns), sets)


def coarsened(mix: Mix, cpu_milli: int, memory_mib: int) -> Mix:
    """The mix with CPU and memory rounded up to multiples: few classes where nearly every pod asks its own amount."""
    rounded = [-(-column // step) * step for column, step in ((mix.cpu_milli, cpu_milli), (mix.memory_mib, memory_mib))]
    return _grouped([mix.gpus, mix.gpu_milli, *rounded, mix.models, mix.weight], mix.model_sets)


def parse_mix(document: bytes) -> Mix:
    """A JSON list of classes, e.g. ``[{"gpus": 1, "gpu_milli": 500, "cpu_milli": 8000, "weight": 3}]``.

    Raises ``InputError`` with the JSON path of the first fault.
    """
    try:
        given = msgspec.json.decode(document)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError("$", None, f"not JSON: {error}") from error
    try:
        classes = msgspec.convert(given, list[DemandClass])
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at ")
        path = place.strip("`") or "$"
        raise InputError(path, _at(given, path), reason) from error
    if not 1 <= len(classes) <= MOST_CLASSES:
        raise InputError("$", len(classes), f"a mix has 1 to {MOST_CLASSES} classes")
    for index, one in enumerate(classes):
        _check(one, f"$[{index}]")
    return mix_from(classes)


def _at(given: Any, path: str) -> object:
    """The value at a path like ``$[3].gpus``."""
    for index, field in re.findall(r"\[(\d+)\]|\.(\w+)", path):
        given = given[int(index)] if index else given[field]
    return given


def _check(one: DemandClass, path: str) -> None:
    for field in ("gpus", "cpu_milli", "memory_mib"):
        if getattr(one, field) < 0:
            raise InputError(f"{path}.{field}", getattr(one, field), "must not be negative")
        if getattr(one, field) > LARGEST_AMOUNT:
            raise InputError(f"{path}.{field}", getattr(one, field), f"must be at most {LARGEST_AMOUNT}")
    if not 1 <= one.gpu_milli <= WHOLE_GPU_MILLI and one.gpus:
        raise InputError(f"{path}.gpu_milli", one.gpu_milli, f"must be 1 to {WHOLE_GPU_MILLI}")
    if not 1 <= one.weight <= HEAVIEST_CLASS:
        raise InputError(f"{path}.weight", one.weight, f"must be 1 to {HEAVIEST_CLASS}")


def _finished(snapshot: Snapshot) -> Bools:
    return np.fromiter((phase in FINISHED_PHASES for phase in snapshot.pod_phase), np.bool_, len(snapshot.pod_phase))


def _model_sets(snapshot: Snapshot) -> tuple[tuple[tuple[str, ...], ...], Longs]:
    """Distinct sets of accepted models, and each pod spec's set."""
    named = [tuple(sorted(spec.gpu_models)) for spec in snapshot.pod_specs]
    sets = tuple(sorted(set(named)))
    place = {models: index for index, models in enumerate(sets)}
    return sets, np.array([place[models] for models in named], np.int64)


def _grouped(columns: list[Longs], sets: tuple[tuple[str, ...], ...]) -> Mix:
    """Equal rows merged, weights added, in a canonical order."""
    *keys, weight = columns
    if weight.size == 0:
        empty = np.zeros(0, np.int64)
        return Mix(empty, empty, empty, empty, empty, empty, sets)
    order = np.lexsort(keys[::-1])
    ordered = [key[order] for key in keys]
    starts = np.zeros(order.size, np.bool_)
    starts[0] = True
    for key in ordered:
        starts[1:] |= key[1:] != key[:-1]
    first = np.flatnonzero(starts)
    gpus, share, cpu, memory, models = (key[first] for key in ordered)
    return Mix(gpus, share, cpu, memory, models, np.add.reduceat(weight[order], first), sets)
