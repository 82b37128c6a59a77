"""The fragmentation report of a snapshot: where its GPUs are, why the free ones cannot be used, what fits now."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from scheduler.cluster.occupancy import EMPTY, SLACK
from scheduler.cluster.records import WHOLE_GPU_MILLI
from scheduler.cluster.snapshot import UNKNOWN, Longs, Snapshot
from scheduler.fragmentation.capacity import Capacity, Pool, capacity_of
from scheduler.fragmentation.causes import CAUSES, Waterfall, waterfall
from scheduler.fragmentation.demand import SHAPES, Mix, RequestShape, mix_of
from scheduler.fragmentation.devices import open_nodes
from scheduler.fragmentation.gradient import fragments
from scheduler.fragmentation.holders import Holder, Holds, holders, holds_of
from scheduler.fragmentation.measures import WHY, NodeMeasures, measures_of
from scheduler.fragmentation.recovery import Emptying, Recovery, emptying_of, gain_of, recovery
from scheduler.fragmentation.shapes import Block, Fit, Places, fits, largest_blocks, places

WARNED_NODES = 20  # over-committed nodes named one by one; the rest are counted


@dataclass(frozen=True, slots=True)
class Totals:
    """Whole GPUs, or GPU thousandths where the name says so.

    gpus * 1000 = free * 1000 + allocated_hp + allocated_lp + standby + unhealthy + shared_rest.
    ``free`` are whole devices on nodes that are ready and not cordoned; ``over_committed`` stands apart.
    """

    gpus: int
    free: int
    allocatable: int
    allocated_hp_milli: int
    allocated_lp_milli: int
    standby_milli: int
    unhealthy_milli: int
    over_committed_milli: int
    shared_rest_milli: int


@dataclass(frozen=True, slots=True)
class ShapeReport:
    """One waterfall, in GPU thousandths: ``usable`` and the causes add up to the pool's GPUs."""

    shape: RequestShape
    usable: int
    causes: dict[str, int]
    recovery: Recovery

    @property
    def slots(self) -> int:
        """How many such requests find room at once."""
        return self.usable // (self.shape.gpus * WHOLE_GPU_MILLI)


@dataclass(frozen=True, slots=True)
class PoolReport:
    pool: Pool
    nodes: int
    gpus: int
    slack_nodes: int
    empty_nodes: int
    over_committed_milli: int
    fragmentation_milli: int | None
    shapes: tuple[ShapeReport, ...]
    fits: tuple[Fit, ...]
    largest: tuple[Block, ...]
    holders: tuple[Holder, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """``fragmentation_milli`` is F(M) of all nodes, None where nothing is asked (an empty mix has no F)."""

    totals: Totals
    pools: tuple[PoolReport, ...]
    fits: tuple[Fit, ...]
    largest: tuple[Block, ...]
    fragmentation_milli: int | None
    names: tuple[str, ...]
    measures: NodeMeasures
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """Everything read once for all pools."""

    capacity: Capacity
    levels: tuple[Places, ...]
    waterfalls: tuple[Waterfall, ...]  # one for each of SHAPES
    emptying: Emptying
    holds: Holds
    gains: tuple[Longs, ...]  # one for each of SHAPES
    lost: Longs  # [n] fragments
    asked: int  # total weight of the mix


def report(snapshot: Snapshot, mix: Mix | None = None) -> Report:
    """Read a snapshot; ``mix`` is the demand of F_n(M), by default the shapes of all its live and pending GPU pods."""
    asked = mix_of(snapshot) if mix is None else mix
    capacity = capacity_of(snapshot)
    holds = holds_of(snapshot)
    emptying = emptying_of(capacity, holds)
    found = tuple(waterfall(capacity, shape) for shape in SHAPES)
    reading = _Reading(
        capacity=capacity,
        levels=places(capacity),
        waterfalls=found,
        emptying=emptying,
        holds=holds,
        gains=tuple(gain_of(emptying, one, shape) for one, shape in zip(found, SHAPES, strict=True)),
        lost=fragments(open_nodes(capacity), asked),
        asked=asked.total,
    )
    return Report(
        totals=_totals(capacity),
        pools=tuple(_pool(reading, index) for index in range(len(capacity.pools))),
        fits=fits(reading.levels),
        largest=largest_blocks(reading.levels),
        fragmentation_milli=_rounded(reading.lost, asked.total),
        names=snapshot.node_name,
        measures=measures_of(capacity),
        warnings=(*snapshot.warnings, *_warnings(capacity)),
    )


def as_json(found: Report) -> dict[str, Any]:
    """The document of ``slackline measure --json``.

    Keys that end in ``_milli``, ``usable`` and all causes are GPU thousandths.  The other totals are GPUs: whole
    numbers, or decimals of at most three places where shares are in use.
    """
    return _document(found, [_pool_json(one) for one in found.pools]) | {"nodes": _nodes_json(found)}


def as_detail(found: Report) -> dict[str, Any]:
    """The same without node rows, with the recovery split, fits and largest blocks of each pool: what pages show."""
    pools = [_pool_json(one) | _pool_detail(one) for one in found.pools]
    return _document(found, pools) | {"largest": _blocks_json(found.largest)}


def _document(found: Report, pools: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "totals": _totals_json(found.totals),
        "pools": pools,
        "fits": _fits_json(found.fits),
        "fragmentation_milli": found.fragmentation_milli,
        "nodes": [],
        "warnings": list(found.warnings),
    }


def _totals(capacity: Capacity) -> Totals:
    snapshot = capacity.snapshot
    return Totals(
        gpus=int(snapshot.node_gpus.sum(dtype=np.int64)),
        free=int(capacity.free.sum()),
        allocatable=int(snapshot.node_allocatable.sum(dtype=np.int64)),
        allocated_hp_milli=int(capacity.hp_milli.sum()),
        allocated_lp_milli=int(capacity.lp_milli.sum()),
        standby_milli=int(capacity.standby_milli.sum()),
        unhealthy_milli=int(capacity.unhealthy_milli.sum()),
        over_committed_milli=int(capacity.occupancy.over_committed_milli.sum(dtype=np.int64)),
        shared_rest_milli=int(capacity.shared_rest_milli.sum()),
    )


def _pool(reading: _Reading, index: int) -> PoolReport:
    capacity = reading.capacity
    members = np.flatnonzero(capacity.pool == index)
    state = capacity.occupancy.state[members]
    return PoolReport(
        pool=capacity.pools[index],
        nodes=int(members.size),
        gpus=int(capacity.snapshot.node_gpus[members].sum(dtype=np.int64)),
        slack_nodes=int((state == SLACK).sum()),
        empty_nodes=int((state == EMPTY).sum()),
        over_committed_milli=int(capacity.occupancy.over_committed_milli[members].sum(dtype=np.int64)),
        fragmentation_milli=_rounded(reading.lost[members], reading.asked),
        shapes=tuple(_shape(reading, rank, members) for rank in range(len(SHAPES))),
        fits=fits(reading.levels, index),
        largest=largest_blocks(reading.levels, index),
        holders=holders(capacity, reading.holds, members),
    )


def _shape(reading: _Reading, rank: int, members: Longs) -> ShapeReport:
    found, shape = reading.waterfalls[rank], SHAPES[rank]
    return ShapeReport(
        shape=shape,
        usable=int(found.usable[members].sum()),
        causes={name: int(found.cause(name)[members].sum()) for name in CAUSES},
        recovery=recovery(reading.emptying, reading.gains[rank], found, shape, members),
    )


def _rounded(lost: Longs, total: int) -> int | None:
    """Fragments to whole thousandths, halves up."""
    return (2 * int(lost.sum()) + total) // (2 * total) if total else None


def _warnings(capacity: Capacity) -> list[str]:
    found = []
    excess = np.flatnonzero(capacity.occupancy.over_committed_milli > 0)
    for node in excess[:WARNED_NODES].tolist():
        gpus = _gpus(int(capacity.occupancy.over_committed_milli[node]))
        found.append(
            f"node {capacity.snapshot.node_name[node]} is over-committed by {gpus} GPUs{_withheld(capacity, node)}"
        )
    if excess.size > WARNED_NODES:
        found.append(f"{excess.size - WARNED_NODES} more nodes are over-committed")
    outside = int(((capacity.pool == UNKNOWN) & (capacity.snapshot.node_gpus > 0)).sum())
    if outside:
        found.append(f"{outside} nodes have GPUs of unknown model: they count in the totals and belong to no pool")
    return found


def _withheld(capacity: Capacity, node: int) -> str:
    """That pods hold no more than there is: the node allocates less than it has, and nobody says which devices."""
    has, allocates = int(capacity.snapshot.node_gpus[node]), int(capacity.snapshot.node_allocatable[node])
    within = int(capacity.occupancy.used_gpu_milli[node]) <= has * WHOLE_GPU_MILLI
    return f": it has {has}, allocates {allocates}, and pods keep what they hold" if within and allocates < has else ""


def _gpus(milli: int) -> int | float:
    """Thousandths as GPUs: a whole number where it is one, else the decimal of three places."""
    return milli // WHOLE_GPU_MILLI if milli % WHOLE_GPU_MILLI == 0 else milli / WHOLE_GPU_MILLI


def _totals_json(totals: Totals) -> dict[str, Any]:
    return {
        "gpus": totals.gpus,
        "free": totals.free,
        "allocated_hp": _gpus(totals.allocated_hp_milli),
        "allocated_lp": _gpus(totals.allocated_lp_milli),
        "standby": _gpus(totals.standby_milli),
        "unhealthy": _gpus(totals.unhealthy_milli),
        "allocatable": totals.allocatable,
        "over_committed": _gpus(totals.over_committed_milli),
        "shared_rest_milli": totals.shared_rest_milli,
    }


def _pool_json(one: PoolReport) -> dict[str, Any]:
    return {
        "cluster": one.pool.cluster,
        "gpu_model": one.pool.gpu_model,
        "nodes": one.nodes,
        "gpus": one.gpus,
        "slack_nodes": one.slack_nodes,
        "empty_nodes": one.empty_nodes,
        "shapes": [{"shape": s.shape.name, "usable": s.usable, "causes": dict(s.causes)} for s in one.shapes],
    }


def _pool_detail(one: PoolReport) -> dict[str, Any]:
    return {
        "over_committed_milli": one.over_committed_milli,
        "fragmentation_milli": one.fragmentation_milli,
        "shapes": [
            {
                "shape": s.shape.name,
                "gpus": s.shape.gpus,
                "slots": s.slots,
                "usable": s.usable,
                "causes": dict(s.causes),
                "reclaimable": s.recovery.reclaimable,
                "locked": s.recovery.locked,
                "unfixable": s.recovery.unfixable,
            }
            for s in one.shapes
        ],
        "fits": _fits_json(one.fits),
        "largest": _blocks_json(one.largest),
        "holders": [
            {"reason": each.reason, "nodes": each.nodes, "free_gpus": each.free_gpus, "until_s": each.until_s}
            for each in one.holders
        ],
    }


def _fits_json(found: tuple[Fit, ...]) -> list[dict[str, Any]]:
    return [{"gpus": fit.gpus, "level": fit.level, "count": fit.count} for fit in found]


def _blocks_json(found: tuple[Block, ...]) -> list[dict[str, Any]]:
    return [{"level": block.level, "gpus": block.gpus} for block in found]


def _nodes_json(found: Report) -> list[dict[str, Any]]:
    columns = found.measures
    rows = zip(
        found.names, columns.free_gpus.tolist(), columns.stranded_gpus.tolist(), columns.why.tolist(), strict=True
    )
    return [
        {"name": name, "free": free, "stranded": stranded, "cause": WHY[why] or None}
        for name, free, stranded, why in rows
    ]
