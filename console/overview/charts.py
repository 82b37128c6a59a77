"""Rows of the first page turned into what its template draws. No database."""

from collections.abc import Sequence
from dataclasses import dataclass

from console.ui.figures import number, percent

TONES = {
    "unhealthy": "down",
    "allocated_hp": "hp",
    "allocated_lp": "lp",
    "standby": "standby",
    "stranded": "stranded",
    "cpu_memory": "cpu",
}
LEVEL_WORDS = {"host": "One node", "asw": "One ASW", "cluster": "One cluster"}
HEAT_CLASSES = 13
HEAT_TOP = 40  # percent of a pool's GPUs at the bright end of the cluster × model grid
CIVIDIS = (
    "#00224e", "#0a2d6b", "#2b3c6d", "#434e6c", "#575c6e", "#696970", "#7c7b78",
    "#8f8978", "#a39a76", "#b9ac70", "#d0be67", "#e7d159", "#fee838",
)  # fmt: skip
LEGENDS = (
    ("free", "Free GPUs of node, fixed scale"),
    ("stranded", "Stranded GPUs of node, fixed scale"),
    ("cpu_bound", "GPUs of node short of CPU, fixed scale"),
    ("standby", "GPUs of node asleep, fixed scale"),
    ("lp", "GPUs of node held by LP, fixed scale"),
)
HEALTH_LEGEND = (
    ("ready", "other"),
    ("cordoned", "lp"),
    ("not ready", "down"),
    ("degraded", "stranded"),
    ("no GPUs", "border"),
)
GPU_LEGEND = (
    ("free", "usable"),
    ("HP", "hp"),
    ("LP", "lp"),
    ("standby", "standby"),
    ("shared", "cpu"),
    ("failed", "down"),
)


@dataclass(frozen=True, slots=True)
class GridCell:
    figure: str
    css: str
    words: str
    url: str


@dataclass(frozen=True, slots=True)
class GridRow:
    cluster: str
    cells: list[GridCell | None]


@dataclass(frozen=True, slots=True)
class Grid:
    """Cluster × model: the map of small screens and the twin of the node map."""

    words: str
    models: list[str]
    rows: list[GridRow]


@dataclass(frozen=True, slots=True)
class Share:
    """One pool in the grid: GPUs that the measure is about, of all; None where nothing is known."""

    cluster: str
    model: str
    part_milli: int | None
    gpus: int
    url: str


def tone_of(cause: str) -> str:
    """Colour class of a cause; those without a colour of their own share one."""
    return TONES.get(cause, "other")


def level_words(level: str) -> str:
    return LEVEL_WORDS.get(level, f"One {level}")


def grid(shares: Sequence[Share], words: str) -> Grid:
    """Models ordered by their GPUs, clusters by name."""
    weight: dict[str, int] = {}
    for share in shares:
        weight[share.model] = weight.get(share.model, 0) + share.gpus
    models = sorted(weight, key=lambda model: (-weight[model], model))
    by_place = {(share.cluster, share.model): share for share in shares}
    clusters = sorted({share.cluster for share in shares})
    rows = [GridRow(cluster, [_cell(by_place.get((cluster, model))) for model in models]) for cluster in clusters]
    return Grid(words, models, rows)


def _cell(share: Share | None) -> GridCell | None:
    if share is None:
        return None
    if share.part_milli is None or not share.gpus:
        return GridCell("?", "sl-hx", f"{share.cluster}, {share.model}: no data", share.url)
    whole = share.gpus * 1000
    value = 100 * share.part_milli / whole
    step = min(HEAT_CLASSES - 1, round(value / HEAT_TOP * (HEAT_CLASSES - 1)))
    words = f"{share.cluster}, {share.model}: {percent(share.part_milli, whole)} of {number(share.gpus)} GPUs"
    return GridCell(number(round(value)), f"sl-h{step}", words, share.url)


def ramp() -> list[tuple[str, str]]:
    """Stops of the legend's gradient."""
    return [(f"{i / (HEAT_CLASSES - 1):.3f}", colour) for i, colour in enumerate(CIVIDIS)]
