"""Following Kubernetes clusters at full size: the first snapshot, then 100 pod changes a second.

    python -m benchmarks.kubernetes [--world uniform8 fleet openb70c] [--nodes 20000] [--seed 7] [--runs 3]
        [--changes 100] [--seconds 60] [--every 10] [--shapes PODS.csv]

The player of the tests serves the world from a process of its own on loopback.  Another process follows all of its
clusters, as ``manage.py watch`` does, and builds a snapshot of each every ``--every`` seconds where something has
changed.  Figures are those of that process: wall seconds until the first snapshots of all clusters are built, then its
CPU seconds by wall seconds (following by the clock, snapshots by how often they are due), its largest resident size,
and whether in the end it holds what the player holds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

PODS = "data/openb/openb_pod_list_default.csv"
ROWS = (  # key, words, unit, digits, target
    ("first_s", "first snapshot of all clusters", "s", 1, "60"),
    ("first_cpu_s", "  CPU of it", "s", 1, ""),
    ("share", "then, CPU share of one core", "%", 1, "25"),
    ("follow_share", "  of it following, without snapshots", "%", 1, ""),
    ("read_s", "  reading of all clusters into records, CPU", "s", 2, ""),
    ("build_s", "  building their snapshots, CPU", "s", 2, ""),
    ("rss_mib", "largest resident size", "MiB", 0, "1,536"),
    ("changed", "events followed a second", "", 0, ""),
    ("equal", "clusters equal to the player's at the end", "", 0, ""),
)


def main() -> None:
    options = _options()
    table = Table("world", "seed", "objects", "what", "median", "spread", "runs", "target")
    for world in options.world:
        with _player(world, None if world == "fleet" else options.nodes, options) as player:
            served = json.loads(_line(player))
            objects = served["objects"]
            found = [_run(player, served["clusters"], options) for _ in range(options.runs)]
        size = (
            f"{objects['/api/v1/nodes']:,} nodes, {objects['/api/v1/pods']:,} pods, {len(served['clusters'])} clusters"
        )
        for key, words, unit, digits, target in ROWS:
            values = [run[key] for run in found]
            _add(table, (world, str(options.seed), size, words), values, unit, digits, target)
            size = ""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    Console(width=160).print(table, f"load of the machine at the end: {load}; snapshot every {options.every} s")


def _options() -> argparse.Namespace:
    shared = os.environ.get("SLACKLINE_SHARED")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--world", nargs="+", default=["uniform8", "fleet"])
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--changes", type=float, default=100)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--shapes", type=Path, default=Path(shared, PODS) if shared else None)
    return parser.parse_args()


def _player(world: str, nodes: int | None, options: argparse.Namespace) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.kubernetes.player", "--world", world, "--seed", str(options.seed)]
    command += ["--nodes", str(nodes)] if nodes else []
    command += ["--shapes", str(options.shapes)] if world.startswith("openb") else []
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _run(player: subprocess.Popen[str], clusters: dict[str, str], options: argparse.Namespace) -> dict[str, float]:
    """One process that follows, from its start to its end, while the player changes pods."""
    command = [sys.executable, "-m", "benchmarks._following", str(options.seconds), str(options.every)]
    environment = {**os.environ, "SLACKLINE_DEMO": "1"}
    follower = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    assert follower.stdin is not None
    print(json.dumps(clusters), file=follower.stdin, flush=True)
    found: dict[str, Any] = json.loads(_line(follower))
    before = _ask(player, f"changes {options.changes}")
    print("go", file=follower.stdin, flush=True)
    found |= json.loads(_line(follower))
    after = _ask(player, "changes 0")
    found["changed"] = (after["made"] - before["made"]) / found["wall_s"]
    print("settle", file=follower.stdin, flush=True)
    found |= json.loads(_line(follower))
    held = {"/api/v1/nodes": found["nodes"], "/api/v1/pods": found["pods"]}
    same = all(after["objects"][path] == count for path, count in held.items())
    found["equal"] = len(clusters) if same else 0
    follower.stdin.close()
    follower.wait()
    return found


def _ask(player: subprocess.Popen[str], words: str) -> dict[str, Any]:
    assert player.stdin is not None
    print(words, file=player.stdin, flush=True)
    answer: dict[str, Any] = json.loads(_line(player))
    return answer


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, f"{process.args} has ended"
    return line


def _add(table: Table, first: tuple[str, ...], values: Sequence[float], unit: str, digits: int, target: str) -> None:
    median, spread = statistics.median(values), max(values) - min(values)
    goal = f"≤ {target} {unit}".strip() if target else ""
    table.add_row(*first, f"{median:,.{digits}f} {unit}".strip(), f"{spread:,.{digits}f}", str(len(values)), goal)


if __name__ == "__main__":
    main()
