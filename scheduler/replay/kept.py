"""A trace and a run under way as bytes, to be kept and taken up again by the same code."""

import io
from dataclasses import fields
from typing import Any

import msgspec
import numpy as np

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import TenantRecord
from scheduler.replay.loop import Replay, resume
from scheduler.replay.sampling import Series
from scheduler.replay.spot_quota import memory_of
from scheduler.replay.trace import Trace
from scheduler.replay.world import Work, World

HEAD = "head"


def pack_trace(trace: Trace) -> bytes:
    """Everything that a replay starts from; ``unpack_trace`` gives an equal trace."""
    head = {"name": trace.name, "until_s": trace.until_s, "notes": trace.notes, "tenants": trace.tenants}
    arrays: dict[str, np.ndarray] = {}
    for label, part in (("world", trace.world), ("work", trace.work)):
        head[label], found = _split(part)
        arrays |= {f"{label}.{name}": array for name, array in found.items()}
    return _zipped(head, arrays)


def unpack_trace(packed: bytes) -> Trace:
    """Raises InputError for one that was packed by code with other fields."""
    head, arrays = _unzipped(packed)
    try:
        world = World(**_joined(World, head["world"], arrays, "world"))
        work = Work(**_joined(Work, head["work"], arrays, "work"))
    except (KeyError, TypeError) as error:
        raise InputError("trace", head.get("name"), "was kept by another version: read it anew") from error
    tenants = msgspec.convert(head.get("tenants", ()), tuple[TenantRecord, ...])
    return Trace(head["name"], world, work, head["until_s"], tuple(head["notes"]), tenants)


def pack_replay(replay: Replay) -> bytes:
    """A run under way, of which ``resume_packed`` needs the inputs beside it."""
    blob, series, memory, taken = replay.pack()
    arrays = {field.name: getattr(series, field.name) for field in fields(Series)} | memory.arrays()
    return _zipped({"taken": taken}, {"state": np.frombuffer(blob, np.uint8), **arrays})


def resume_packed(replay: Replay, packed: bytes) -> Replay:
    """The run that was packed, for the inputs of ``replay``."""
    head, arrays = _unzipped(packed)
    state = arrays.pop("state").tobytes()
    series = Series(**{field.name: arrays.pop(field.name) for field in fields(Series)})
    return resume(replay, (state, series, memory_of(arrays), head["taken"]))


def _split(part: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    plain: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for field in fields(part):
        value = getattr(part, field.name)
        (arrays if isinstance(value, np.ndarray) else plain)[field.name] = value
    return plain, arrays


def _joined(kind: type, plain: dict[str, Any], arrays: dict[str, np.ndarray], label: str) -> dict[str, Any]:
    """What is no array is text and numbers in tuples of tuples."""
    return {
        field.name: _tuples(plain[field.name]) if field.name in plain else arrays[f"{label}.{field.name}"]
        for field in fields(kind)
    }


def _tuples(value: Any) -> Any:
    return tuple(_tuples(one) for one in value) if isinstance(value, list) else value


def _zipped(head: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    text = np.frombuffer(msgspec.json.encode(head), np.uint8)
    blob = io.BytesIO()
    np.savez_compressed(blob, **{HEAD: text, **arrays})  # type: ignore[arg-type]
    return blob.getvalue()


def _unzipped(packed: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with np.load(io.BytesIO(packed), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    return msgspec.json.decode(arrays.pop(HEAD).tobytes()), arrays
