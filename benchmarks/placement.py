"""Row P3: one job by entropy on a large cluster, and fifty jobs at once against the largest-first greedy.

    python -m benchmarks.placement [--nodes 20000] [--runs 5] [--worlds 5]

First table, world llm78: "kernel" places 128 / 256 GPUs from the slots of every node, and lists the nodes; "whole" is
``planner.place`` on a ground that is there already: filters, terms, eight domains worked out, each node judged, times
predicted.  CPU seconds, median and spread (largest less smallest); the kernels are compiled before.

Second table: 50 jobs of whole nodes that each require one access switch, on switches of 50 nodes of which so many as
drawn are free.  "Tight": the jobs ask for more than is free.  Seats are told in jobs and in GPUs; "most" is the upper
bound of the solver, "proven" worlds where the found seats reach it.  All-reduce of 1 GiB, GPU-seconds over seated jobs.

Third table: the model of collectives on fabrics that had no part in its calibration.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

from scheduler.cluster.build import build
from scheduler.cluster.records import Document, NodeRecord, PodRecord
from scheduler.cluster.snapshot import Snapshot
from scheduler.performance.calibration import CALIBRATED_ON, calibrate, errors
from scheduler.placement.entropy import entropy, place_in_domains
from scheduler.placement.ground import Ground, ground_of
from scheduler.placement.joint import Joint, place_jointly
from scheduler.placement.planner import Group, Request, place
from scheduler.placement.warm import warm_up
from scheduler.worlds.generate import generate

SEED = 0
SIZES = (128, 256)
# Name; free nodes of each switch, from and to; switches; nodes of a job.
TIGHT = (
    ("64 to 256 GPUs", (10, 50), 20, (8, 12, 16, 24, 32)),
    ("128 or 256 GPUs", (8, 50), 30, (16, 32)),
    ("32 to 160 GPUs", (2, 30), 25, (4, 6, 8, 12, 16, 20)),
    ("odd sizes", (10, 50), 20, (9, 13, 17, 21, 25)),
)
JOBS, RACK = 50, 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--worlds", type=int, default=5)
    options = parser.parse_args()
    warm_up()
    console = Console(width=150)
    console.print(single(options.nodes, options.runs))
    console.print(several(options.worlds))
    console.print(fabrics())


def single(nodes: int, runs: int) -> Table:
    ground = ground_of(build(generate("llm78", nodes=nodes, seed=SEED)))
    switches = len(ground.snapshot.domain_name)
    place(ground.snapshot, _request(1), ground=ground)
    table = Table("GPUs", "way", "ms", "spread", "domains", "entropy", "nodes", title="")
    table.title = f"One job, llm78, {nodes} nodes under {switches} switches, seed {SEED}"
    for gpus in SIZES:
        kernel, (on_node, taken) = _timed(lambda gpus=gpus: _kernel(ground, gpus // 8), runs)
        listed = np.flatnonzero(on_node)
        cells = str(int((taken > 0).sum())), f"{entropy(taken.tolist()):.3f}", str(len(listed))
        table.add_row(str(gpus), "kernel", *_spread(kernel), *cells)
        whole, found = _timed(lambda gpus=gpus: place(ground.snapshot, _request(gpus // 8), ground=ground), runs)
        cells = str(len(found.domains)), f"{found.entropy or 0:.3f}", str(len({node for _, node in found.assignment}))
        table.add_row(str(gpus), "whole", *_spread(whole), *cells)
    return table


def _kernel(ground: Ground, pods: int) -> tuple[np.ndarray, np.ndarray]:
    slots = ground.capacity.free // 8
    found = place_in_domains(slots, ground.domains_at("asw"), len(ground.snapshot.domain_name), pods, ground.untouched)
    np.flatnonzero(found[0])
    return found


def _request(pods: int, required: str = "", name: str = "member") -> Request:
    return Request(groups=(Group(name=name, count=pods, gpus=8, cpu_milli=64_000),), required=required)


def _timed[T](call: Callable[[], T], runs: int) -> tuple[list[float], T]:
    took, found = [], call()
    for _ in range(runs):
        begun = time.process_time()
        found = call()
        took.append(1000 * (time.process_time() - begun))
    return took, found


def _spread(took: Sequence[float]) -> tuple[str, str]:
    return f"{statistics.median(took):.2f}", f"{max(took) - min(took):.2f}"


def several(worlds: int) -> Table:
    table = Table(
        "jobs of", "worlds", "free / asked GPUs", "jobs: greedy", "joint", "more", "fewest more", "GPUs: greedy",
        "joint", "most", "proven", "all-reduce greedy", "joint", "CPU s",
        title=f"{JOBS} jobs at once, seeds from {SEED}",
    )  # fmt: skip
    for name, free, switches, sizes in TIGHT:
        rows: list[Joint] = []
        took, room, asked = [], 0, 0
        for seed in range(SEED, SEED + worlds):
            rng = np.random.default_rng(seed)
            snapshot, open_gpus = tight_world(rng, free, switches)
            requests = [_request(int(rng.choice(sizes)), "asw", f"job{i}") for i in range(JOBS)]
            begun = time.process_time()
            rows.append(place_jointly(snapshot, requests, seed=seed))
            took.append(time.process_time() - begun)
            room, asked = room + open_gpus, asked + sum(request.gpus for request in requests)
        table.add_row(name, str(worlds), f"{room / asked:.2f}", *_cells(rows), f"{statistics.median(took):.2f}")
    return table


def _cells(rows: Sequence[Joint]) -> list[str]:
    greedy, joint = sum(one.greedy.seated_jobs for one in rows), sum(one.found.seated_jobs for one in rows)
    fewest = min(one.found.seated_jobs - one.greedy.seated_jobs for one in rows)
    gpus = [sum(one.greedy.seated_gpus for one in rows), sum(one.found.seated_gpus for one in rows)]
    times = [
        sum(side.all_reduce_s or 0 for side in sides)
        for sides in zip(*((r.greedy, r.found) for r in rows), strict=True)
    ]
    return [
        str(greedy), str(joint), f"{joint / greedy - 1:+.0%}", f"{fewest:+d}", *map(str, gpus),
        str(sum(one.most_gpus for one in rows)), f"{sum(one.proven for one in rows)} of {len(rows)}",
        *(f"{seconds:.0f}" for seconds in times),
    ]  # fmt: skip


def tight_world(rng: np.random.Generator, free: tuple[int, int], switches: int) -> tuple[Snapshot, int]:
    """Switches of 50 nodes; and the GPUs that are free."""
    nodes, pods, room = [], [], 0
    for rack in range(switches):
        some = int(rng.integers(free[0], free[1] + 1))
        room += 8 * some
        for i in range(RACK):
            name = f"n{rack:03d}-{i:02d}"
            nodes.append(
                NodeRecord(
                    name=name, gpu_model="H800", gpus=8, cpu_milli=192_000, memory_mib=1 << 21, asw=f"asw-{rack:03d}"
                )
            )
            if i >= some:
                pods.append(PodRecord(name=f"p-{name}", node=name, gpus=8))
    return build(Document(taken_at="2026-01-01T00:00:00Z", nodes=nodes, pods=pods)), room


def fabrics() -> Table:
    efficiency = calibrate(CALIBRATED_ON)
    table = Table("fabric", "measured GB/s", "predicted", "error", "source", title="All-reduce, bus bandwidth")
    table.caption = (
        f"calibrated on {CALIBRATED_ON.name}, {CALIBRATED_ON.bus_gb_per_s} GB/s: link efficiency {efficiency:.3f}"
    )
    for one in errors(efficiency):
        told = one.measured
        table.add_row(
            told.name, f"{told.bus_gb_per_s:.0f}", f"{one.predicted_gb_per_s:.0f}", f"{one.percent:+.1f} %", told.source
        )
    return table


if __name__ == "__main__":
    main()
