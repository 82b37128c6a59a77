"""The published run of the simulator of FGD, value for value: 131 columns of two figures, ten orders, five policies.

The sixth, Random, depends on how threads of that simulator raced; ours has to lie among the published runs.
"""

import csv
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from scheduler.cluster.records import NodeRecord
from scheduler.replay.arrivals import by_arrival, model_bits, open_nodes, read_order, requests_of, typical_mix
from scheduler.replay.filling import fill
from scheduler.replay.policies import Policy
from scheduler.worlds.openb import TracePod, read_nodes, read_pods

SEEDS = range(42, 52)
PUBLISHED = {
    Policy.RANDOM: "01-Random",
    Policy.DOT_PRODUCT: "02-DotProd",
    Policy.CLUSTERING: "03-GpuClustering",
    Policy.PACKING: "04-GpuPacking",
    Policy.BEST_FIT: "05-BestFit",
    Policy.GRADIENT: "06-FGD",
}
GPUS = 6212
type Table = dict[tuple[str, int], dict[int, float]]


@cache
def shared() -> Path:
    root = os.environ.get("SLACKLINE_SHARED")
    assert root, "set SLACKLINE_SHARED to the directory that holds data/fgd"
    return Path(root) / "data"


@cache
def published(figure: str) -> Table:
    with (shared() / "fgd" / f"expected_{figure}_default.csv").open(newline="") as file:
        return {
            (row["sc_policy"], int(row["seed"])): {int(k): float(v) for k, v in row.items() if k.isdigit() and v}
            for row in csv.DictReader(file)
        }


@cache
def lists() -> tuple[list[NodeRecord], list[TracePod]]:
    nodes = read_nodes((shared() / "openb" / "openb_node_list_gpu_node.csv").read_bytes())
    return nodes, read_pods((shared() / "openb" / "openb_pod_list_default.csv").read_bytes())


@cache
def found(policy: Policy, seed: int) -> tuple[dict[int, float], dict[int, float]]:
    nodes, pods = lists()
    order = read_order((shared() / "fgd" / "orders" / f"seq_{seed}.txt").read_bytes())
    bits = model_bits(nodes)
    requests = requests_of(pods, order, bits)
    answer = fill(open_nodes(nodes, order), requests, typical_mix(pods, bits), policy, seed)
    capacity = GPUS * 1000
    return (
        by_arrival(requests, answer.allocated_milli, capacity),
        by_arrival(requests, answer.fragment_milli, capacity),
    )


def test_the_mix_has_the_published_number_of_shapes() -> None:
    assert len(typical_mix(lists()[1], {}).share) == 35


def test_five_policies_equal_the_published_run() -> None:
    unequal, values = [], 0
    for policy, name in list(PUBLISHED.items())[1:]:
        for seed in SEEDS:
            for figure, ours in zip(("allo", "frag"), found(policy, seed), strict=True):
                expected = published(figure)[name, seed]
                values += len(expected)
                unequal += [abs(ours[column] - value) for column, value in expected.items() if ours[column] != value]
    assert values == 13_100
    assert len(unequal) <= values / 1000  # 99.9 % equal
    assert max(unequal, default=0) < 0.011


@pytest.mark.parametrize("figure", [0, 1], ids=["allocated", "fragmented"])
def test_random_lies_among_the_published_runs(figure: int) -> None:
    name = ("allo", "frag")[figure]
    runs = np.array([list(published(name)["01-Random", seed].values())[:131] for seed in SEEDS])
    ours = np.array([list(found(Policy.RANDOM, seed)[figure].values())[:131] for seed in SEEDS])
    spread = runs.std(axis=0, ddof=1) + 0.02
    assert (abs(ours.mean(axis=0) - runs.mean(axis=0)) < 4 * spread * np.sqrt(2 / len(SEEDS))).all()
