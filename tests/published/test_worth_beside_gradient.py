"""On the pod lists of OpenB the policy by worth leaves fewer GPUs unused than FGD does, on the same drawn order."""

import os
from pathlib import Path

import pytest

from scheduler.replay.arrivals import by_arrival, draw_order, model_bits, open_nodes, requests_of, typical_mix
from scheduler.replay.filling import fill
from scheduler.replay.policies import Policy
from scheduler.replay.worth import fill_by_worth
from scheduler.worlds.openb import read_nodes, read_pods

ASKED, FULL = 1.02, 100


@pytest.mark.parametrize("workload", ["default", "gpushare100", "multigpu50"])
def test_more_is_allocated_where_as_much_was_asked_for_as_there_is(workload: str) -> None:
    root = os.environ.get("SLACKLINE_SHARED")
    assert root, "set SLACKLINE_SHARED to the directory that holds data/openb"
    lists = Path(root) / "data" / "openb"
    nodes = read_nodes((lists / "openb_node_list_gpu_node.csv").read_bytes())
    pods = read_pods((lists / f"openb_pod_list_{workload}.csv").read_bytes())
    order, bits, capacity = (
        draw_order(nodes, pods, load=ASKED, seed=2),
        model_bits(nodes),
        1000 * sum(n.gpus for n in nodes),
    )
    requests, mix = requests_of(pods, order, bits), typical_mix(pods, bits)
    ours = fill_by_worth(open_nodes(nodes, order), requests, mix).allocated_milli
    theirs = fill(open_nodes(nodes, order), requests, mix, Policy.GRADIENT).allocated_milli
    assert by_arrival(requests, ours, capacity)[FULL] > by_arrival(requests, theirs, capacity)[FULL]
