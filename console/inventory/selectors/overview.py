"""Headline figures and the state of the map, for the first page."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from console.inventory.selectors.measured import Measured, newest_measurements, oldest
from console.inventory.selectors.pools import DEFAULT_SHAPE, MILLI, Known
from console.inventory.selectors.viewing import Filters, Reading, mask_of_scope, members, node_mask, readings
from console.tenancy.selectors import tenant_scope

SLACK, EMPTY, NO_STATE = 2, 1, 0


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure with its unit, what it is part of, and how old it is.  ``value`` None: no data."""

    label: str
    value: float | int | None
    unit: str
    note: str
    observed_at: datetime | None
    period_s: int | None


@dataclass(frozen=True, slots=True)
class FleetLayoutRow:
    """What the map page starts from; None or 0 before the first reading."""

    revision: int | None
    layout: str | None
    nodes: int
    gpus: int
    unlabelled: int
    sources: int
    observed_at: datetime | None
    period_s: int | None


@dataclass(frozen=True, slots=True)
class Age:
    """How old the oldest part of what is shown is, and which revision it is."""

    observed_at: datetime | None
    period_s: int | None
    revision: int | None


def fleet_age() -> Age:
    """Of the newest readings of all sources together."""
    found = members()
    if not found:
        return Age(None, None, None)
    aged = min(found, key=lambda row: row.observed_at)
    return Age(aged.observed_at, aged.source.period_s, max(row.revision for row in found))


def fleet_layout(viewer: Any) -> FleetLayoutRow | None:
    """Newest revision and its layout's digest; None for viewers who may not see the whole fleet."""
    if tenant_scope(viewer) is not None:
        return None
    found = members()
    newest = max(found, key=lambda row: row.revision, default=None)
    if newest is None:
        return FleetLayoutRow(None, None, 0, 0, 0, 0, None, None)
    aged = min(found, key=lambda row: row.observed_at)
    return FleetLayoutRow(
        revision=newest.revision,
        layout=newest.fleet_layout_id,
        nodes=sum(row.counts["nodes"] for row in found),
        gpus=sum(row.counts["gpus"] for row in found),
        unlabelled=sum(row.counts.get("unlabelled", 0) for row in found),
        sources=len(found),
        observed_at=aged.observed_at,
        period_s=aged.source.period_s,
    )


def fleet_headline(viewer: Any, filters: Filters | None = None, known: Known = None) -> tuple[Tile, ...]:
    """Seven tiles for the fleet or for what the filters leave of it; a tenant's viewer gets its own."""
    scope = tenant_scope(viewer)
    if scope is not None:
        return _own_tiles(scope)
    if filters is None or not filters.any:
        return _fleet_tiles(newest_measurements() if known is None else known)
    return _filtered_tiles(filters)


def _fleet_tiles(rows: list[Measured]) -> tuple[Tile, ...]:
    at, period = oldest(rows)
    total = {key: sum(row.headline[key] for row in rows) for key in (rows[0].headline if rows else ())}
    shape = [item for row in rows for pool in row.pools for item in pool["shapes"] if item["shape"] == DEFAULT_SHAPE]

    def tile(label: str, value: float | int | None, unit: str, note: str) -> Tile:
        return Tile(label, value if rows else None, unit, note if rows else "", at, period)

    gpus = total.get("gpus", 0)
    used = total.get("allocated_gpus", 0)
    reclaimable = sum(item["reclaimable"] for item in shape) // MILLI
    asleep, lent = total.get("asleep_gpus", 0), total.get("lent_gpus", 0)
    models = len({pool["gpu_model"] for row in rows for pool in row.pools})
    return (
        tile("GPUs", gpus, "", f"{total.get('nodes', 0):,} nodes, {models} models"),
        tile("Allocated", _percent(used, gpus), "%", _split(total)),
        tile("Free", total.get("free"), "GPUs", f"{_words(_percent(total.get('free', 0), gpus))} of all"),
        tile(
            f"Usable by {DEFAULT_SHAPE}",
            sum(item["usable"] for item in shape) // MILLI,
            "GPUs",
            f"{sum(item['slots'] for item in shape):,} slots, all models",
        ),
        tile("Stranded", total.get("stranded"), "GPUs", f"{reclaimable:,} reclaimable for {DEFAULT_SHAPE}"),
        tile("Standby, not lent", round(max(asleep - lent, 0), 1), "GPUs", f"of {asleep:,.0f} asleep"),
        tile("Slack nodes", total.get("slack_nodes"), "", _of_ready(total)),
    )


def _percent(part: float, whole: float) -> float | None:
    return round(100 * part / whole, 1) if whole else None


def _words(percent: float | None) -> str:
    return "no part" if percent is None else f"{percent} %"


def _split(total: dict[str, Any]) -> str:
    gpus = total.get("gpus", 0)
    high = total.get("allocated_hp", 0) + total.get("standby", 0)
    return f"HP {_words(_percent(high, gpus))}, LP {_words(_percent(total.get('allocated_lp', 0), gpus))}"


def _of_ready(total: dict[str, Any]) -> str:
    return f"{_words(_percent(total.get('slack_nodes', 0), total.get('usable_nodes', 0)))} of ready nodes"


def _filtered_tiles(filters: Filters) -> tuple[Tile, ...]:
    """From the newest readings, node by node; shapes are reported per pool only and have no figure here."""
    found = [(reading, node_mask(reading, filters)) for reading in readings(filters)]
    aged = min((reading for reading, _ in found), key=lambda row: row.observation.observed_at, default=None)
    at, period = (aged.observation.observed_at, aged.period_s) if aged is not None else (None, None)

    def add(value: Any) -> int:
        return int(sum(int(value(reading)[mask].sum(dtype=np.int64)) for reading, mask in found))

    gpus, nodes = add(lambda r: r.snapshot.node_gpus), int(sum(int(mask.sum()) for _, mask in found))
    used, free = add(lambda r: r.occupancy.used_gpu_milli) / MILLI, add(lambda r: r.occupancy.free_gpus)
    stranded = add(lambda r: r.column("stranded_gpus"))
    slack = add(lambda r: r.occupancy.state == SLACK)
    ready = add(lambda r: r.occupancy.state != NO_STATE)
    asleep = int(sum(_asleep_milli(reading)[mask].sum() for reading, mask in found)) / MILLI
    return tuple(
        Tile(label, value, unit, note, at, period)
        for label, value, unit, note in (
            ("GPUs", gpus, "", f"{nodes:,} nodes match"),
            ("Allocated", _percent(used, gpus), "%", f"{used:,.0f} GPUs"),
            ("Free", free, "GPUs", f"{_words(_percent(free, gpus))} of these"),
            (f"Usable by {DEFAULT_SHAPE}", None, "GPUs", "reported per pool only"),
            ("Stranded", stranded, "GPUs", "for the node's own size"),
            ("Standby asleep", round(asleep, 1), "GPUs", "lent or not"),
            ("Slack nodes", slack, "", f"{_words(_percent(slack, ready))} of ready nodes"),
        )
    )


def _asleep_milli(reading: Reading) -> "np.ndarray[Any, np.dtype[np.int64]]":
    snapshot = reading.snapshot
    asleep = np.flatnonzero(snapshot.pod_standby & snapshot.pod_live)
    amount = snapshot.pod_gpus[asleep].astype(np.int64) * snapshot.pod_gpu_milli[asleep]
    return np.bincount(snapshot.pod_node[asleep], weights=amount, minlength=len(snapshot.node_name)).astype(np.int64)


def _own_tiles(scope: frozenset[str]) -> tuple[Tile, ...]:
    """What the viewer's tenants use; of all others one anonymous sum."""
    found = readings()
    aged = min(found, key=lambda row: row.observation.observed_at, default=None)
    at, period = (aged.observation.observed_at, aged.period_s) if aged is not None else (None, None)
    gpus = used = own = free = pods = pending = 0
    for reading in found:
        snapshot, mine = reading.snapshot, mask_of_scope(scope, reading.snapshot)
        live = mine & snapshot.pod_live
        gpus += int(snapshot.node_gpus.sum())
        used += int(reading.occupancy.used_gpu_milli.sum())
        free += int(reading.occupancy.free_gpus.sum())
        own += int((snapshot.pod_gpus[live].astype(np.int64) * snapshot.pod_gpu_milli[live]).sum())
        pods += int(live.sum())
        pending += int((mine & (snapshot.pod_node == -1)).sum())
    rows = (
        ("Your GPUs", own / MILLI, "GPUs", "in use by your pods"),
        ("Your pods", pods, "", "running"),
        ("Waiting", pending, "pods", "of yours"),
        ("Used by others", max(used - own, 0) / MILLI, "GPUs", "one sum over all others"),
        ("Free", free, "GPUs", f"of {gpus:,} GPUs"),
    )
    known = bool(found)
    return tuple(Tile(label, value if known else None, unit, note, at, period) for label, value, unit, note in rows)
