"""Published policies on OpenB: the published run value for value, then orders of our own beside the published means.

    python -m benchmarks.replay [--seeds 10] [--only-worth]

The last table compares a policy of our own, by worth, with FGD on the same orders: the mean of the paired differences
and its 95 % interval (Student's).  Its constants were chosen on seeds from 1000 on; the table takes seeds from 0 on.

SLACKLINE_SHARED names the directory with data/openb and data/fgd.  Seconds are CPU seconds of one pass over all
arrivals, without compilation; the published simulator took 2,421 for FGD.  Allocation is in per cent of all GPUs where
as much has been asked for as there is.
"""

import argparse
import csv
import math
import os
import resource
import statistics
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from scheduler.cluster.records import NodeRecord
from scheduler.replay.arrivals import (
    Order,
    by_arrival,
    draw_order,
    model_bits,
    open_nodes,
    read_order,
    requests_of,
    typical_mix,
)
from scheduler.replay.filling import fill
from scheduler.replay.policies import Policy
from scheduler.replay.worth import fill_by_worth
from scheduler.worlds.openb import TracePod, read_nodes, read_pods

PUBLISHED = {
    Policy.RANDOM: ("01-Random", "Random"),
    Policy.DOT_PRODUCT: ("02-DotProd", "DotProd"),
    Policy.CLUSTERING: ("03-GpuClustering", "Clustering"),
    Policy.PACKING: ("04-GpuPacking", "Packing"),
    Policy.BEST_FIT: ("05-BestFit", "BestFit"),
    Policy.GRADIENT: ("06-FGD", "FGD"),
}
WORKLOADS = ("default", "cpu250", "gpushare100", "gpuspec33", "multigpu50")
FULL, BEYOND = 100, 1.02  # per cent of capacity that has been asked for, and until when own orders are drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only-worth", action="store_true", help="the last table alone")
    options = parser.parse_args()
    shared = os.environ.get("SLACKLINE_SHARED")
    if not shared:
        raise SystemExit("set SLACKLINE_SHARED to the directory that holds data/openb and data/fgd")
    root = Path(shared) / "data"
    nodes = read_nodes((root / "openb" / "openb_node_list_gpu_node.csv").read_bytes())
    out = Console(width=160)
    if not options.only_worth:
        out.print(_published(root, nodes))
        out.print(_own_orders(root, nodes, options.seeds))
    out.print(_against_the_gradient(root, nodes, options.seeds))
    out.print(f"largest resident size {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")


def _published(root: Path, nodes: list[NodeRecord]) -> Table:
    table = Table(
        "policy", "values", "equal", "largest difference", "CPU s a run", title="the published run, workload default"
    )
    pods = read_pods((root / "openb" / "openb_pod_list_default.csv").read_bytes())
    expected = [_expected(root / "fgd" / f"expected_{figure}_default.csv") for figure in ("allo", "frag")]
    for policy, (name, _) in PUBLISHED.items():
        differences, seconds = [], []
        for seed in sorted(seed for word, seed in expected[0] if word == name):
            order = read_order((root / "fgd" / "orders" / f"seq_{seed}.txt").read_bytes())
            ours, took = _run(nodes, pods, order, policy, seed)
            seconds.append(took)
            for table_, found in zip(expected, ours, strict=True):
                differences += [abs(found[column] - value) for column, value in table_[name, seed].items()]
        equal = sum(difference < 0.005 for difference in differences)
        cells = [f"{len(differences):,}", f"{equal:,}", f"{max(differences):.2f}", f"{statistics.median(seconds):.2f}"]
        table.add_row(policy.word, *cells)
    return table


def _expected(path: Path) -> dict[tuple[str, int], dict[int, float]]:
    with path.open(newline="") as file:
        return {
            (row["sc_policy"], int(row["seed"])): {
                int(key): float(cell) for key, cell in row.items() if key.isdigit() and cell
            }
            for row in csv.DictReader(file)
        }


def _own_orders(root: Path, nodes: list[NodeRecord], seeds: int) -> Table:
    table = Table(
        "workload", *(policy.word for policy in Policy), title=f"allocated %, {seeds} own orders (published mean)"
    )
    with (root / "fgd" / "alloc_by_policy.csv").open(newline="") as file:
        means = {
            (row["w"], row["p"]): float(row["mean"]) for row in csv.DictReader(file) if row["arrive_pct"] == str(FULL)
        }
    for workload in WORKLOADS:
        pods = read_pods((root / "openb" / f"openb_pod_list_{workload}.csv").read_bytes())
        cells = []
        for policy in Policy:
            found = []
            for seed in range(seeds):
                order = draw_order(nodes, pods, load=BEYOND, seed=seed)
                found.append(_run(nodes, pods, order, policy, seed)[0][0][FULL])
            spread = statistics.stdev(found) if len(found) > 1 else 0.0
            published = means.get((workload, PUBLISHED[policy][1]))
            cells.append(f"{statistics.mean(found):.2f} ± {spread:.2f}" + (f" ({published:.2f})" if published else ""))
        table.add_row(workload, *cells)
    return table


def _against_the_gradient(root: Path, nodes: list[NodeRecord], seeds: int) -> Table:
    table = Table(
        "workload",
        "fgd",
        "worth",
        "ahead by",
        "95 % interval",
        "ahead in",
        "CPU s a run",
        title=f"worth beside FGD, {seeds} own orders",
    )
    for workload in WORKLOADS:
        pods = read_pods((root / "openb" / f"openb_pod_list_{workload}.csv").read_bytes())
        found: dict[Policy | None, list[float]] = {Policy.GRADIENT: [], None: []}
        seconds = []
        for seed in range(seeds):
            order = draw_order(nodes, pods, load=BEYOND, seed=seed)
            for policy, values in found.items():
                (allocated, _), took = _run(nodes, pods, order, policy, seed)
                values.append(allocated[FULL])
            seconds.append(took)
        theirs, ours = found[Policy.GRADIENT], found[None]
        ahead = [our - their for our, their in zip(ours, theirs, strict=True)]
        wide = _student(seeds - 1) * statistics.stdev(ahead) / seeds**0.5 if seeds > 1 else float("nan")
        mean = statistics.mean(ahead)
        table.add_row(
            workload,
            f"{statistics.mean(theirs):.2f}",
            f"{statistics.mean(ours):.2f}",
            f"{mean:+.2f}",
            f"{mean - wide:+.2f} to {mean + wide:+.2f}",
            f"{sum(one > 0 for one in ahead)} of {seeds}",
            f"{statistics.median(seconds):.2f}",
        )
    return table


def _student(freedom: int) -> float:
    """The 97.5 % quantile of Student's distribution (Abramowitz and Stegun 26.7.5)."""
    z = statistics.NormalDist().inv_cdf(0.975)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return math.fsum(term / math.pow(freedom, power) for power, term in enumerate(terms))


def _run(
    nodes: list[NodeRecord], pods: list[TracePod], order: Order, policy: Policy | None, seed: int
) -> tuple[list[dict[int, float]], float]:
    """Allocated and fragmented by column, and CPU seconds; no policy stands for our own, by worth."""
    bits, capacity = model_bits(nodes), sum(node.gpus for node in nodes) * 1000
    requests, mix, left = requests_of(pods, order, bits), typical_mix(pods, bits), open_nodes(nodes, order)
    begun = time.process_time()
    answer = fill_by_worth(left, requests, mix) if policy is None else fill(left, requests, mix, policy, seed)
    took = time.process_time() - begun
    return [by_arrival(requests, values, capacity) for values in (answer.allocated_milli, answer.fragment_milli)], took


if __name__ == "__main__":
    main()
