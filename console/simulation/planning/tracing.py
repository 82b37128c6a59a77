"""Traces as the core takes them: drawn for a seed, or read once and kept."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import scheduler
from console.inventory import archive
from console.simulation import services
from console.simulation.choices import MOST_JOBS
from console.simulation.models import Study, Trace
from scheduler.cluster.build import restrict
from scheduler.cluster.errors import InputError, ParamError
from scheduler.cluster.snapshot import Snapshot
from scheduler.replay import columns as c
from scheduler.replay.kept import pack_trace, unpack_trace
from scheduler.replay.recorded import recorded_trace
from scheduler.replay.sources import drawn_trace, trace_of
from scheduler.replay.trace import Trace as Arrivals
from scheduler.replay.world import digest_of

DAY_S = 86_400
REMEMBERED = 2  # traces that a process keeps unpacked: runs of one study come one after the other


def read_trace(trace_id: int) -> None:
    """Reads what was given or recorded, once; a bad row is kept with its place and its reason."""
    trace = services.trace_to_read(trace_id)
    if trace is None:
        return
    try:
        found = _read(trace)
        if len(found.work) > MOST_JOBS:
            raise InputError("jobs", len(found.work), f"more than the {MOST_JOBS} that a run may have")
        if not len(found.work) or found.until_s <= 0:
            raise InputError("jobs", len(found.work), "nothing arrives: there is nothing to replay")
    except (InputError, ParamError) as error:
        path = error.path if isinstance(error, InputError) else error.field
        services.refuse_trace(trace, path, error.value, error.reason)
        return
    except Exception as error:
        services.refuse_trace(trace, "files", None, f"the reader failed: {type(error).__name__}: {error}")
        raise
    services.accept_trace(
        trace, packed=pack_trace(found), digest=digest_of(found.world, found.work), told=told_of(found, found.until_s)
    )


def _read(trace: Trace) -> Arrivals:
    if trace.kind == "uploaded":
        return trace_of(trace.name, services.files_of(trace))
    return recorded_trace(trace.name, list(_snapshots(trace)))


def _snapshots(trace: Trace) -> Iterator[Snapshot]:
    """Those that are still there: retention goes on while this reads."""
    for digest in services.readings_of(trace):
        with suppress(archive.GoneError):
            yield restrict(archive.load(digest), trace.origin["cluster"])


def told_of(found: Arrivals, until_s: int) -> dict[str, Any]:
    """``jobs`` are those that arrive until then."""
    return {
        "jobs": int((found.work.column(c.J_ARRIVAL) <= until_s).sum()),
        "nodes": len(found.world.names),
        "gpus": int(found.world.gpus.sum()),
        "seconds": found.until_s,
        "notes": list(found.notes),
    }


def arrivals_for(study: Study, seed: int) -> Arrivals:
    """The trace of a study's runs with that seed.  Equal arguments give equal arrivals in every process."""
    if study.trace_id is not None:
        return _of_row(study.trace_id)
    return _drawn(study.source, seed if study.redraw else study.seeds[0], study.share)


def until_of(study: Study, found: Arrivals) -> int:
    return found.until_s if study.days is None else min(found.until_s, study.days * DAY_S)


@lru_cache(maxsize=REMEMBERED)
def _drawn(source: str, seed: int, share: float) -> Arrivals:
    return drawn_trace(source, seed=seed, share=share)


@lru_cache(maxsize=REMEMBERED)
def _of_row(trace_id: int) -> Arrivals:
    packed = Trace.objects.values_list("packed", flat=True).get(pk=trace_id)
    assert packed is not None  # only ready traces are offered
    return unpack_trace(bytes(packed))


@lru_cache(maxsize=1)
def code_digest() -> str:
    """sha256 hex of the core's sources: what ran, whatever it is called."""
    root = Path(scheduler.__file__).parent
    summed = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        summed.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes() + b"\0")
    return summed.hexdigest()
