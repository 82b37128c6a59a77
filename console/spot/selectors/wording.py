"""A lease in words: what was asked for, and why it stands where it stands, with the numbers of that."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from console.spot.choices import Cause, Checkpoint, Reason
from console.spot.models import Lease, Reclaim, Run
from console.ui.figures import clock, duration, number, plural

HOUR_S = 3600
DONE = {Checkpoint.WRITTEN: "checkpoint written", Checkpoint.WRITING: "checkpoint being written",
        Checkpoint.MISSED: "killed before its checkpoint", Checkpoint.NONE: "writes no checkpoint",
        Checkpoint.WAITING: "hook has not begun", Checkpoint.UNKNOWN: "checkpoint not known"}  # fmt: skip


def hours(seconds: float | None) -> str:
    """Under an hour in minutes, else hours with one decimal where it says something."""
    if seconds is None:
        return "–"
    if seconds < HOUR_S:
        return duration(seconds)
    value = seconds / HOUR_S
    return f"{number(value, 0 if value >= 100 or value == int(value) else 1)} h"


def usd(cents: float | None, decimals: int = 2) -> str:
    """118 -> 1.18; None is a dash."""
    return "–" if cents is None else number(cents / 100, decimals)


def what_words(row: Lease, model: str = "") -> str:
    """64 H20, 8 pods, one ASW."""
    said = f"{number(row.gpus)} {model or ' or '.join(row.gpu_models[:2])}"
    if not model and len(row.gpu_models) > 2:
        said += f" or {len(row.gpu_models) - 2} more"
    if row.pods > 1:
        said += f", {plural(row.pods, 'pod')}"
    if row.topology:
        level = row.topology.upper() if row.topology == "asw" else row.topology
        said += f", one {level}" if row.required else f", one {level} preferred"
    return said


def why_words(row: Lease, now: datetime, run: Run | None = None, reclaim: Reclaim | None = None) -> str:
    """One clause.  ``run`` and ``reclaim`` are those that are open."""
    said, reason = row.numbers, row.reason
    if reason == Reason.RUNS and run is not None:
        return _runs(row, run, reclaim, said, now)
    if reason == Reason.NOTICE and reclaim is not None:
        return f"{cause_words(reclaim)}; {DONE[Checkpoint(reclaim.checkpoint)]}"
    teller = _TELL.get(Reason(reason))
    if teller is not None:
        return teller(row, said, now)
    return str(said.get("words") or row.get_reason_display().lower())


def cause_words(reclaim: Reclaim) -> str:
    """Roles, never names of other tenants."""
    detail = reclaim.detail
    if reclaim.cause == Cause.PRICE:
        return f"price {usd(detail.get('cents'))} is above its limit {usd(detail.get('limit_cents'))} USD/GPU-h"
    if reclaim.cause == Cause.RECALL:
        return "its own standby was recalled" if reclaim.own else "the lender recalled its standby"
    if reclaim.cause == Cause.HARDWARE:
        return "its node is not ready"
    words = {
        Cause.HIGH_PRIORITY: "a high-priority pod needs the room",
        Cause.STORM: "standby comes back soon, it leaves ahead of that",
        Cause.CONSOLIDATION: "a consolidation plan moves it",
        Cause.UNKNOWN: "nobody told why",
    }
    return words.get(Cause(reclaim.cause), reclaim.get_cause_display().lower())


def _runs(row: Lease, run: Run, reclaim: Reclaim | None, said: dict[str, Any], now: datetime) -> str:
    parts = []
    if reclaim is not None:
        parts.append(f"{number(reclaim.gpus)} GPUs leave: {cause_words(reclaim)}")
    if "pods" in said:
        parts.append(f"{number(said['pods'])} of {plural(said['of_pods'], 'pod')}")
    if "coming_cents" in said:
        at = clock(datetime.fromisoformat(said["coming_at"]), today=now)[:-3]
        parts.append(f"price {usd(said['coming_cents'])} from {at}, above its limit: it leaves then")
    if run.guaranteed_until is not None and run.guaranteed_until > now:
        parts.append(f"guaranteed {duration((run.guaranteed_until - now).total_seconds() + 59)} more")
    done_s = run.from_s + (0 if run.running_at is None else (now - run.running_at).total_seconds())
    parts.append(f"{hours(max(0.0, row.run_s - done_s))} of {hours(row.run_s)} left")
    return ", ".join(parts)


def _launching(row: Lease, said: dict[str, Any], now: datetime) -> str:
    lent = f", {number(said['lent'])} of them lent" if said.get("lent") else ""
    return f"{number(said.get('gpus'))} {said.get('model')} on {plural(said.get('nodes'), 'node')} come up{lent}"


def _reclaimed(row: Lease, said: dict[str, Any], now: datetime) -> str:
    at = datetime.fromisoformat(said["reclaimed_at"])
    kept = f"from {hours(said['from_s'])} of {hours(said['run_s'])}" if said["from_s"] else "from the beginning"
    return f"{kept}, first in line; reclaimed {clock(at, today=now)[:-3]}"


def _silent(row: Lease, said: dict[str, Any], now: datetime) -> str:
    if said.get("silent_s") is None:
        return f"{said['source']} was not read yet"
    return f"{said['source']} was last read {duration(said['silent_s'])} before: nothing starts on old data"


type _Tell = Callable[[Lease, dict[str, Any], datetime], str]
_TELL: dict[Reason, _Tell] = {
    Reason.NOT_ASKED: lambda row, said, now: "not asked for yet",
    Reason.NOT_EVALUATED: lambda row, said, now: "is looked at with the next reading",
    Reason.OBSERVED_ONLY: lambda row, said, now: (
        f"{said['source']} is a {str(said['kind']).lower()} and only observed: nothing can be started there"
    ),
    Reason.SOURCE_SILENT: _silent,
    Reason.LAUNCHING: _launching,
    Reason.TAKEN_BACK: lambda row, said, now: f"its launch was taken back: {said.get('why')}",
    Reason.RECLAIMED: _reclaimed,
    Reason.HOURS_OVER: lambda row, said, now: f"its {hours(row.run_s)} are over",
    Reason.TOO_LATE: lambda row, said, now: f"waited {duration(said.get('waited_s'))}, nothing came free",
    Reason.MOVED: lambda row, said, now: f"a pod moved from {said.get('node')} to {said.get('to')}",
    Reason.BY_TENANT: lambda row, said, now: (
        f"by its tenant, {hours(said['ran_s'])} of {hours(row.run_s)} done" if said.get("ran_s") else "by its tenant"
    ),
}
