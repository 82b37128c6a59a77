"""What a page tells of each policy, row by row: one list for the page and for its CSV."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.inventory.tables import Column
from console.simulation.choices import FIGURES

COLUMNS = (
    Column("Study", "name"),
    Column("State", "state"),
    Column("Progress", ""),
    Column("Trace", ""),
    Column("Policies × seeds", "", number=True),
    Column("Jobs", "", number=True),
    Column("By", "by"),
    Column("Asked for (UTC)", "newest"),
)


@dataclass(frozen=True, slots=True)
class Told:
    """One figure of a report; ``path`` leads to it, ``unit`` says how it is written."""

    label: str
    path: str
    unit: str


GROUPS: tuple[tuple[str, tuple[Told, ...]], ...] = (
    (
        "Allocation",
        (
            Told("HP", "allocation_hp", "share"),
            Told("HP + LP", "allocation", "share"),
            Told("Slack nodes", "slack_nodes", "share"),
            Told("Empty nodes", "empty_nodes", "share"),
            Told("F(M)", "fragmentation_gpus", "GPUs"),
            Told("GPU-hours lost waiting", "lost_waiting_gpu_hours", "GPU-h"),
        ),
    ),
    *(
        (
            f"{tier} jobs",
            (
                Told("Delay P50", f"classes.{tier}.delay_s.p50", "seconds"),
                Told("Delay P90", f"classes.{tier}.delay_s.p90", "seconds"),
                Told("Delay P99", f"classes.{tier}.delay_s.p99", "seconds"),
                Told("Completion P50", f"classes.{tier}.completion_s.p50", "seconds"),
                Told("Completion P90", f"classes.{tier}.completion_s.p90", "seconds"),
                Told("Completion P99", f"classes.{tier}.completion_s.p99", "seconds"),
                Told("Slowdown of short jobs P50", f"classes.{tier}.slowdown_short.p50", "times"),
                Told("Slowdown of short jobs P99", f"classes.{tier}.slowdown_short.p99", "times"),
                Told("Started", f"classes.{tier}.started", "jobs"),
                Told("Ended", f"classes.{tier}.ended", "jobs"),
                Told("Can never start", f"classes.{tier}.never", "jobs"),
                Told("Evictions", f"classes.{tier}.evictions", "times_whole"),
                Told("Failures", f"classes.{tier}.failures", "times_whole"),
                Told("GPU-hours lost", f"classes.{tier}.lost_gpu_hours", "GPU-h"),
            ),
        )
        for tier in ("HP", "LP")
    ),
    (
        "Cluster",
        (
            Told("Moves", "moves", "times_whole"),
            Told("GPU-hours moved", "moved_gpu_hours", "GPU-h"),
            Told("Fairness (Jain)", "fairness", "plain"),
            Told("Entropy of gangs", "entropy", "nats"),
            Told("Gangs under one ASW", "gangs_under_one_asw", "share"),
            Told("Energy of held GPUs", "energy_mwh", "MWh"),
            Told("GPUs of unknown power", "energy_unknown_gpus", "GPUs"),
        ),
    ),
    (
        "Standby",
        (
            Told("Jobs that sleep", "standby.jobs", "jobs"),
            Told("GPU-hours asleep", "standby.reserved_gpu_hours", "GPU-h"),
            Told("of these lent", "standby.lent_gpu_hours", "GPU-h"),
            Told("Calls", "standby.calls", "times_whole"),
            Told("Serving again P50", "standby.serving_p50_s", "seconds"),
            Told("Serving again P95", "standby.serving_p95_s", "seconds"),
            Told("Serving again P99", "standby.serving_p99_s", "seconds"),
            Told("Slowest waking of a job P99", "wake_s.p99", "seconds"),
        ),
    ),
    (
        "Who had to leave, and why",
        tuple(
            Told(f"{words}{what}", f"grounds.{ground}.{path}", unit)
            for ground, words in (
                ("preempt", "For HP (preempt)"),
                ("reclaim", "For an own share (reclaim)"),
                ("recall", "For a waking sleeper (recall)"),
                ("failure", "With its node (failure)"),
                ("ahead", "Ahead of a window's end (ahead)"),
                ("reserve", "Ahead of HP work to come (reserve)"),
            )
            for what, path, unit in (("", "jobs", "jobs"), (", lost", "lost_gpu_hours", "GPU-h"))
        ),
    ),
)
# Numbers of a report that have a place of their own on the page, or say what a row is.
ELSEWHERE = ("classes", "pools", "blocks", "gangs", "wake_s", "seconds")
GANGS = (
    Told("gangs", "gangs", "jobs"),
    Told("under one ASW", "under_one_asw", "share"),
    Told("entropy, mean", "entropy.mean", "nats"),
    Told("all-reduce P50", "all_reduce_ms.p50", "ms"),
    Told("all-reduce P99", "all_reduce_ms.p99", "ms"),
    Told("bandwidth, mean", "bus_gb_per_s.mean", "GB/s"),
    Told("unknown topology", "unknown_topology", "jobs"),
    Told("unknown fabric", "unknown_fabric", "jobs"),
)
CAUSES = ("order", "quota", "capacity", "fragmentation", "topology", "leaving")
MEASURES = {
    "count": ("Free at once", "plain", "mean number of blocks that are free"),
    "share_of_time": ("Share of time", "share", "in which at least one is free"),
    "within_p50_hours": ("Within, P50", "hours", "from any instant until one is free, half of the time"),
    "within_p90_hours": ("Within, P90", "hours", "from any instant until one is free, nine times of ten"),
    "free_hours": ("Stays free", "hours", "median length of the spans in which one is free"),
}
LEVELS = {"host": "node", "asw": "ASW", "cluster": "pool"}
FIGURE_HEAD = ("policy", "figure", "mean", "low", "high", "runs")


def value_at(policy: Mapping[str, Any], path: str) -> dict[str, Any] | None:
    """The interval at a path; None where the report has no such figure: it was not measured."""
    tree: Any = policy["values"]
    for part in path.split("."):
        tree = tree.get(part) if isinstance(tree, Mapping) else None
    return dict(tree) if isinstance(tree, Mapping) and {"mean", "runs"} <= tree.keys() else None


def figure_groups(policies: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Groups of rows: label, unit, one interval per policy; what no policy measured says so."""
    groups = [
        {
            "title": title,
            "rows": [{"told": told, "values": [value_at(one, told.path) for one in policies]} for told in rows],
        }
        for title, rows in GROUPS
    ]
    more = list(_more(policies))
    return [*groups, {"title": "More", "rows": more}] if more else groups


def _more(policies: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Numbers that the reports have and no row above names, under their own names."""
    listed = {told.path for _, rows in GROUPS for told in rows}
    found = dict.fromkeys(
        path for one in policies for path, _ in leaves(one["values"]) if path.partition(".")[0] not in ELSEWHERE
    )
    for path in found:
        if path not in listed:
            label = path.replace("_", " ").replace(".", ", ")
            yield {"told": Told(label, path, "plain"), "values": [value_at(one, path) for one in policies]}


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every interval of a tree with its path."""
    if not isinstance(tree, Mapping):
        return
    if "mean" in tree and "runs" in tree:
        yield path, dict(tree)
        return
    for key, value in tree.items():
        yield from leaves(value, f"{path}.{key}" if path else str(key))


def gang_rows(policies: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Entropy and predicted all-reduce of gangs, size by size; none where no report tells them."""
    sizes = dict.fromkeys(size for one in policies for size in one["values"].get("gangs", {}))
    return [
        {
            "size": size,
            "rows": [
                {"told": told, "values": [value_at(one, f"gangs.{size}.{told.path}") for one in policies]}
                for told in GANGS
            ],
        }
        for size in sizes
    ]


def waiting_rows(policies: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Hours of waiting by tier and cause."""
    return [
        {
            "tier": tier,
            "cause": cause,
            "values": [value_at(one, f"classes.{tier}.waited_hours.{cause}") for one in policies],
        }
        for tier in ("HP", "LP")
        for cause in CAUSES
    ]


def block_rows(policies: Sequence[Mapping[str, Any]], measure: str) -> list[dict[str, Any]]:
    """One measure of every size and level that a report counts."""
    names = dict.fromkeys(name for one in policies for name in one["values"].get("blocks", {}))
    rows = []
    for name in names:
        size, _, level = name.partition(" ")
        values = [one["values"].get("blocks", {}).get(name, {}).get(measure) for one in policies]
        rows.append({"size": int(size), "level": LEVELS.get(level, level), "values": values})
    return rows


def figure_lines(policies: Sequence[Mapping[str, Any]]) -> Iterator[tuple[object, ...]]:
    """Every interval that a study has, one a line."""
    for one in policies:
        for figure in FIGURES:
            yield _line(one["name"], figure, one["figures"][figure])
        for path, found in leaves(one["values"]):
            yield _line(one["name"], path, found)


def _line(policy: str, figure: str, found: Mapping[str, Any]) -> tuple[object, ...]:
    return policy, figure, found["mean"], found["low"], found["high"], found["runs"]
