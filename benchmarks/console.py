"""The console with whole fleets loaded: the page in chromium, what is pushed to many viewers, reading a file.

    python -m benchmarks.console [--part page push file queries] [--runs 3] [--sockets 1000] [--seconds 60]
        [--shapes PODS.csv] [--world uniform8] [--data FOLDER]

Starts the real stack (server, web, workers, beat) on a data folder of its own for each world. Figures are medians of
the runs with their spread; nothing here is asserted. The part "file" needs the trace's pod list, from --shapes or from
SLACKLINE_SHARED.
"""

import argparse
import json
import os
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import _core, _page
from benchmarks._stack import SOURCE, Stack, running
from scheduler.worlds.openb import read_shapes

PARTS = ("page", "push", "file", "queries")
PODS = "data/openb/openb_pod_list_default.csv"
CHANGED = 0.01  # share of nodes that change in a second
SMALL = 2000
PAGE_ROWS = (  # key, words, unit, target
    ("text", "fleet page, text painted", "ms", "500"),
    ("answer", "  of it until the server answers", "ms", ""),
    ("map", "fleet page, map of nodes drawn", "ms", "1,500"),
    ("gpus", "switch to all GPUs", "ms", "1,000"),
    ("gpus draw", "  of it drawing", "ms", ""),
    ("measure", "switch the measure", "ms", ""),
    ("hover", "hover, card shown", "ms", "50"),
    ("longest task", "longest task after load", "ms", "200"),
    ("heap", "heap of the page", "MB", "150"),
    ("full map", "full map of nodes, on the wire", "B", "20,000"),
    ("gpu map", "full map of GPUs, on the wire", "B", ""),
    ("document", "document, on the wire", "B", ""),
    ("data", "map, layout and names, on the wire", "B", ""),
    ("script", "scripts, on the wire", "B", "600,000"),
    ("requests", "requests of a first visit", "", ""),
)


class Report:
    """The table, row by row."""

    def __init__(self) -> None:
        self.table = Table("row", "world", "seed", "what", "median", "spread", "runs", "target")

    def add(self, row: str, world: str, seed: int, what: str, values: Sequence[float], unit: str, target: str) -> None:
        digits = 2 if unit == "s" else 0
        median, spread = statistics.median(values), max(values) - min(values)
        shown = f"{median:,.{digits}f} {unit}".strip()
        goal = f"≤ {target} {unit}".strip() if target else ""
        self.table.add_row(row, world, str(seed), what, shown, f"{spread:,.{digits}f}", str(len(values)), goal)


def main() -> None:
    options = _options()
    report = Report()
    with tempfile.TemporaryDirectory(prefix="slackline-bench-") as folder:
        data = Path(options.data or folder)
        for world in options.world:
            if {"page", "push", "queries"} & set(options.part):
                size = options.nodes if world != "fleet" else None
                with running(data / world, world, size, options.seed, options.web) as stack:
                    _on_a_stack(report, stack, world, options)
        if "queries" in options.part:
            with running(data / "small", "uniform8", SMALL, options.seed, options.web) as stack:
                _queries(report, stack, f"uniform8 {SMALL:,}", options.seed)
    if "file" in options.part:
        _file(report, options)
    Console(width=150).print(report.table)


def _options() -> argparse.Namespace:
    shared = os.environ.get("SLACKLINE_SHARED")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--world", nargs="+", default=["uniform8", "fleet"])
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--web", type=int, default=2, help="web processes, as in Procfile")
    parser.add_argument("--sockets", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--shapes", type=Path, default=Path(shared, PODS) if shared else None)
    parser.add_argument("--data", help="keep the data folders here")
    return parser.parse_args()


def _on_a_stack(report: Report, stack: Stack, world: str, options: argparse.Namespace) -> None:
    if "page" in options.part:
        _visits(report, stack, world, options)
    if "push" in options.part and world == options.world[0]:
        _push(report, stack, world, options, sockets=0)
        _push(report, stack, world, options, sockets=options.sockets)
    if "queries" in options.part:
        _queries(report, stack, world, options.seed)
    for kind, size in sorted(stack.memory_mib().items()):
        report.add("W2", world, options.seed, f"memory, {kind}", [size], "MiB", "")


def _visits(report: Report, stack: Stack, world: str, options: argparse.Namespace) -> None:
    cookie = stack.cookie()
    with _page.chromium() as browser:
        _page.first_visit(browser, stack.url, cookie)  # the first visit of all warms the server
        visits = [_page.first_visit(browser, stack.url, cookie) for _ in range(options.runs)]
    for key, words, unit, target in PAGE_ROWS:
        values = [value for visit in visits if (value := visit[key]) is not None]
        if values:
            report.add("W1", world, options.seed, words, values, unit, target)
        else:
            report.table.add_row("W1", world, str(options.seed), words, "no data", "", "0", target)


def _push(report: Report, stack: Stack, world: str, options: argparse.Namespace, sockets: int) -> None:
    """Pushes a changed reading every second and watches one chromium, alone or beside many sockets."""
    cookie, lines = stack.cookie(), []
    crowd = None
    if sockets:
        crowd = stack.process_of("benchmarks._sockets", stack.url, cookie, str(sockets))
        assert crowd.stdout is not None
        assert crowd.stdout.readline() == "ready\n", "the sockets did not come up"
    with _page.chromium() as browser, _page.watching(browser, stack.url, cookie) as (page, wire):
        feed = stack.process_of("benchmarks._feed", SOURCE, str(options.seconds), str(CHANGED))
        while feed.poll() is None:
            _page.pump(page, 0.5)
        _page.pump(page, 3)
        painted, deltas = _page.paints(page), wire.of("/fleet/map/nodes/")
        heap = page.evaluate(_page.HEAP)
    assert feed.stdout is not None
    lines = [tuple(map(int, line.split())) for line in feed.stdout.read().splitlines()]
    beside = f"beside {sockets:,} sockets" if sockets else "one viewer"
    _push_rows(report, world, options.seed, beside, lines, painted, deltas)
    report.add("W2", world, options.seed, f"heap after, {beside}", [heap], "MB", "150")
    if crowd is not None:
        said, _ = crowd.communicate("enough\n")
        _crowd_rows(report, world, options.seed, json.loads(said))


def _push_rows(
    report: Report,
    world: str,
    seed: int,
    beside: str,
    pushed: Sequence[tuple[int, ...]],
    painted: Sequence[tuple[int, int, float]],
    deltas: Sequence[int],
) -> None:
    waits = [min((at for shown, at, _ in painted if shown >= revision), default=None) for revision, _ in pushed]
    known = [(at - sent) / 1000 for at, (_, sent) in zip(waits, pushed, strict=True) if at is not None]
    lost = len(pushed) - len(known)
    ordered = sorted(known)
    words = f"push to pixel, {beside}, {len(pushed)} pushes, {lost} never seen"
    if ordered:
        report.add("W2", world, seed, f"{words}: P50", [ordered[len(ordered) // 2]], "s", "")
        report.add("W2", world, seed, f"{words}: P95", [ordered[int(len(ordered) * 0.95)]], "s", "1")
    draws = [took for _, _, took in painted]
    if draws:
        report.add("W1", world, seed, f"update drawn, {beside}", draws, "ms", "120")
    if deltas:
        report.add("W1", world, seed, f"map bytes per push of 1 % changed, {beside}", deltas, "B", "1,000")


def _crowd_rows(report: Report, world: str, seed: int, crowd: dict[str, float]) -> None:
    total = crowd["sockets"]
    report.add("W2", world, seed, f"of {total:,} sockets right at the end", [crowd["right"]], "", "")
    for key in ("notices", "gaps", "closed", "pulls", "deltas"):
        report.add("W2", world, seed, f"  all sockets: {key}", [crowd[key]], "", "")
    for key in ("pull_p50_s", "pull_p95_s"):
        report.add("W2", world, seed, f"  a socket's pull: {key[5:8].upper()}", [crowd[key]], "s", "")


def _queries(report: Report, stack: Stack, world: str, seed: int) -> None:
    reader = stack.process_of("benchmarks._queries")
    said, _ = reader.communicate()
    for name, (queries, seconds) in json.loads(said).items():
        report.add("W3", world, seed, f"SQL queries: {name} ({seconds:.2f} CPU s)", [queries], "", "")


def _file(report: Report, options: argparse.Namespace) -> None:
    if options.shapes is None:
        raise SystemExit(f"openb70c needs the trace's pod list: --shapes, or SLACKLINE_SHARED with {PODS}")
    shapes = read_shapes(options.shapes.read_bytes())
    pods, runs = _core.import_to_store(options.nodes, options.seed, shapes, options.runs)
    for step, target in (*((step, "") for step in _core.STEPS), ("together", "6")):
        words = f"{step} {options.nodes:,} nodes, {pods:,} pods, CPU"
        goal = "0.3" if step == "measure" else target
        report.add("W3", "openb70c", options.seed, words, [run[step] for run in runs], "s", goal)


if __name__ == "__main__":
    main()
