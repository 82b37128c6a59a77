"""Pools: a GPU model in one cluster, or in all of them.  Where their GPUs are and what fits in them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console.inventory.selectors.measured import Measured, newest_measurements, oldest

MILLI = 1000
CAUSE_WORDS = {
    "unhealthy": "Not ready, cordoned",
    "allocated_hp": "HP",
    "allocated_lp": "LP (spot)",
    "standby": "Standby asleep",
    "fractional": "Shared remainder",
    "stranded": "Stranded",
    "cpu_memory": "CPU or memory short",
    "topology": "Topology",
    "constraint": "Taint, pin, quota",
}
DEFAULT_SHAPE = "8G96C"


@dataclass(frozen=True, slots=True)
class PoolChoice:
    """``key`` goes into the address: the model alone stands for all clusters."""

    key: str
    label: str
    gpus: int
    nodes: int


@dataclass(frozen=True, slots=True)
class WaterfallRow:
    """``start_milli`` is where its floating bar begins, ``share`` its part of all GPUs, None where there are none."""

    cause: str
    label: str
    gpus_milli: int
    start_milli: int
    share: float | None


@dataclass(frozen=True, slots=True)
class Waterfall:
    """All GPUs of a pool, cause by cause, down to what the shape can use; the rows and ``usable_milli`` add up."""

    pool: PoolChoice
    shape: str
    shapes: tuple[str, ...]
    total_milli: int
    rows: tuple[WaterfallRow, ...]
    usable_milli: int
    slots: int
    reclaimable_milli: int
    locked_milli: int
    unfixable_milli: int
    observed_at: datetime | None
    period_s: int | None


@dataclass(frozen=True, slots=True)
class ShapeTotal:
    shape: str
    usable_gpus: int
    slots: int


@dataclass(frozen=True, slots=True)
class FitRow:
    """``counts`` in the order of ``Fits.levels``; None: larger than any such place, so it never fits."""

    gpus: int
    counts: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Fits:
    """``largest`` in the order of ``levels``; None: no node is known to stand in such a place."""

    pool: PoolChoice
    levels: tuple[str, ...]
    rows: tuple[FitRow, ...]
    largest: tuple[int | None, ...]
    observed_at: datetime | None
    period_s: int | None


type Chosen = tuple[PoolChoice, list[dict[str, Any]], list[Measured]]


type Known = list[Measured] | None  # what ``newest_measurements`` gave a page; None: read it now


def pool_choices(viewer: Any, known: Known = None) -> tuple[PoolChoice, ...]:
    """Every model over all clusters, most GPUs first, then every model in each cluster.  Sums over all tenants."""
    pools = [(row.source, pool) for row in _rows_of(known) for pool in row.pools]
    models: dict[str, list[dict[str, Any]]] = {}
    for _, pool in pools:
        models.setdefault(pool["gpu_model"], []).append(pool)
    everywhere = [_choice(model, _where(found, model), found) for model, found in models.items()]
    single = [_choice(_key(source, pool), f"{pool['gpu_model']}, {pool['cluster']}", [pool]) for source, pool in pools]
    order = sorted(everywhere, key=lambda choice: (-choice.gpus, choice.key))
    return (*order, *sorted(single, key=lambda choice: choice.label))


def pool_within(cluster: str, model: str, known: Known = None) -> str:
    """Key of the pool with the most GPUs inside a filter of cluster and model; "" where there is none or no filter."""
    pools = [(row.source, pool) for row in _rows_of(known) for pool in row.pools if model in ("", pool["gpu_model"])]
    if not cluster:
        return model if model and pools else ""
    inside = [(pool["gpus"], _key(source, pool)) for source, pool in pools if pool["cluster"] == cluster]
    return max(inside, default=(0, ""))[1]


def waterfall(viewer: Any, pool: str = "", shape: str = "", known: Known = None) -> Waterfall | None:
    """Where the GPUs of a pool are for one request shape; None where there is no such pool.  "": the first of each."""
    chosen = _chosen(viewer, pool, _rows_of(known))
    if chosen is None:
        return None
    choice, pools, readings = chosen
    shapes = tuple(found["shape"] for found in pools[0]["shapes"])
    shape = shape if shape in shapes else _usual_shape(pools, shapes)
    found = [item for each in pools for item in each["shapes"] if item["shape"] == shape]
    total = sum(each["gpus"] for each in pools) * MILLI
    observed_at, period_s = oldest(readings)
    return Waterfall(
        pool=choice,
        shape=shape,
        shapes=shapes,
        total_milli=total,
        rows=_rows(found, total),
        usable_milli=sum(item["usable"] for item in found),
        slots=sum(item["slots"] for item in found),
        reclaimable_milli=sum(item["reclaimable"] for item in found),
        locked_milli=sum(item["locked"] for item in found),
        unfixable_milli=sum(item["unfixable"] for item in found),
        observed_at=observed_at,
        period_s=period_s,
    )


def _usual_shape(pools: list[dict[str, Any]], shapes: tuple[str, ...]) -> str:
    """The largest usual shape that a node of the pool can hold: of 4-GPU nodes nobody asks for 8."""
    most = max(each["gpus"] / each["nodes"] for each in pools)
    usual = ((8, DEFAULT_SHAPE), (4, "4G48C"), (0, "1G12C"))
    return next((word for gpus, word in usual if most >= gpus and word in shapes), shapes[0])


def shape_totals(viewer: Any, pool: str = "", known: Known = None) -> tuple[ShapeTotal, ...]:
    """What each request shape could use of the pool now, in the order of the shapes."""
    chosen = _chosen(viewer, pool, _rows_of(known))
    if chosen is None:
        return ()
    totals: dict[str, list[dict[str, Any]]] = {}
    for each in chosen[1]:
        for item in each["shapes"]:
            totals.setdefault(item["shape"], []).append(item)
    return tuple(
        ShapeTotal(name, sum(item["usable"] for item in items) // MILLI, sum(item["slots"] for item in items))
        for name, items in totals.items()
    )


def what_fits(viewer: Any, pool: str = "", known: Known = None) -> Fits | None:
    """How many jobs of each size find room at once, at each level; None where there is no such pool."""
    chosen = _chosen(viewer, pool, _rows_of(known))
    if chosen is None:
        return None
    choice, pools, readings = chosen
    levels = _levels(pools)
    sizes = sorted({fit["gpus"] for each in pools for fit in each["fits"]})
    found = [fit for each in pools for fit in each["fits"]]
    blocks = [block for each in pools for block in each["largest"]]
    observed_at, period_s = oldest(readings)
    return Fits(
        pool=choice,
        levels=levels,
        rows=tuple(FitRow(size, tuple(_count(found, size, level) for level in levels)) for size in sizes),
        largest=tuple(_largest(blocks, level) for level in levels),
        observed_at=observed_at,
        period_s=period_s,
    )


def _rows_of(known: Known) -> list[Measured]:
    return newest_measurements() if known is None else known


def _chosen(viewer: Any, key: str, known: list[Measured]) -> Chosen | None:
    choices = pool_choices(viewer, known)
    choice = next((each for each in choices if each.key == key), None) if key else next(iter(choices), None)
    if choice is None:
        return None
    pairs = [(row, pool) for row in known for pool in row.pools]
    found = [(row, pool) for row, pool in pairs if choice.key in (pool["gpu_model"], _key(row.source, pool))]
    return choice, [pool for _, pool in found], [row for row, _ in found]


def _key(source: str, pool: dict[str, Any]) -> str:
    return f"{source}::{pool['cluster']}::{pool['gpu_model']}"


def _where(pools: list[dict[str, Any]], model: str) -> str:
    count = len(pools)
    return f"{model}, {count} clusters" if count > 1 else f"{model}, {pools[0]['cluster']}"


def _choice(key: str, label: str, pools: list[dict[str, Any]]) -> PoolChoice:
    return PoolChoice(key, label, sum(pool["gpus"] for pool in pools), sum(pool["nodes"] for pool in pools))


def _rows(found: list[dict[str, Any]], total: int) -> tuple[WaterfallRow, ...]:
    rows, start = [], 0
    for cause, label in CAUSE_WORDS.items():
        amount = sum(item["causes"][cause] for item in found)
        rows.append(WaterfallRow(cause, label, amount, start, amount / total if total else None))
        start += amount
    return tuple(rows)


def _levels(pools: list[dict[str, Any]]) -> tuple[str, ...]:
    """The node first, the cluster last, named levels between in the order in which they are reported."""
    named: dict[str, None] = {}
    for pool in pools:
        named.update({fit["level"]: None for fit in pool["fits"]})
    between = [level for level in named if level not in ("host", "cluster")]
    return ("host", *between, "cluster")


def _count(found: list[dict[str, Any]], size: int, level: str) -> int | None:
    counts = [fit["count"] for fit in found if fit["gpus"] == size and fit["level"] == level]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _largest(blocks: list[dict[str, Any]], level: str) -> int | None:
    known = [block["gpus"] for block in blocks if block["level"] == level and block["gpus"] is not None]
    return max(known, default=None)
