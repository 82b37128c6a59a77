"""Arrivals into an empty cluster: nothing is sold twice, and what is told is what was placed."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.cluster.errors import InputError
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
from scheduler.replay.filling import NOWHERE, Filled, fill
from scheduler.replay.policies import BY_WORD, Policy
from scheduler.worlds.openb import TracePod
from scheduler.worlds.shapes import Shape

MODELS = ("", "A10", "T4")
NODES = st.lists(st.tuples(st.integers(0, 4), st.integers(4, 32), st.sampled_from(MODELS[1:])), min_size=1, max_size=6)
PODS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([100, 250, 500, 1000]), st.integers(1, 16), st.sampled_from(MODELS)),
    min_size=1,
    max_size=25,
)


def _world(nodes: list[Any], pods: list[Any]) -> tuple[list[NodeRecord], list[TracePod]]:
    records = [
        NodeRecord(name=f"n{row}", gpus=gpus, gpu_model=model, cpu_milli=cores * 1000, memory_mib=cores * 1024)
        for row, (gpus, cores, model) in enumerate(nodes)
    ]
    known = {record.gpu_model for record in records}
    return records, [
        TracePod(
            name=f"p{row}",
            shape=Shape(gpus, milli if gpus == 1 else 1000, cores * 1000, cores * 900),
            models=(model,) if model in known else (),
            qos=None,
            created_s=None,
            scheduled_s=None,
        )
        for row, (gpus, milli, cores, model) in enumerate(pods)
    ]


def _run(nodes: list[NodeRecord], pods: list[TracePod], policy: Policy, ranks: dict[str, int]) -> Filled:
    order, bits = Order(tuple(pod.name for pod in pods), ranks), model_bits(nodes)
    return fill(open_nodes(nodes, order), requests_of(pods, order, bits), typical_mix(pods, bits), policy, 3)


@settings(max_examples=40, deadline=None)
@given(NODES, PODS, st.sampled_from(list(Policy)))
def test_no_node_is_sold_twice_and_what_is_told_is_what_was_placed(
    nodes: list[Any], pods: list[Any], policy: Policy
) -> None:
    records, work = _world(nodes, pods)
    answer = _run(records, work, policy, _ranks(records))
    cpu, gpus, taken = [node.cpu_milli for node in records], [node.gpus * 1000 for node in records], 0
    for pod, place, told in zip(work, answer.node.tolist(), answer.allocated_milli.tolist(), strict=True):
        if place != NOWHERE:
            assert not pod.shape.gpus or not pod.models or records[place].gpu_model in pod.models
            cpu[place] -= pod.shape.cpu_milli
            gpus[place] -= pod.shape.total_milli
            taken += pod.shape.total_milli
        assert told == taken
        assert min(cpu) >= 0
        assert min(gpus) >= 0


@settings(max_examples=40, deadline=None)
@given(NODES, PODS, st.sampled_from(list(Policy)))
def test_the_last_one_is_placed_exactly_where_it_fits(nodes: list[Any], pods: list[Any], policy: Policy) -> None:
    records, work = _world(nodes, pods)
    order, bits = Order(tuple(pod.name for pod in work), _ranks(records)), model_bits(records)
    left, all_of_them = open_nodes(records, order), requests_of(work, order, bits)
    before = fill(left, type(all_of_them)(*(column[:-1] for column in all_of_them)), typical_mix(work, bits), policy, 3)
    place = int(_run(records, work, policy, order.ranks).node[-1])
    last, shape = work[-1], work[-1].shape
    fits = [
        left.cpu_milli[row] >= shape.cpu_milli
        and left.memory_mib[row] >= shape.memory_mib
        and (not shape.gpus or not last.models or node.gpu_model in last.models)
        and (left.left_milli[row] >= (shape.gpu_milli if shape.gpus else 0)).sum() >= shape.gpus
        for row, node in enumerate(records)
    ]
    if policy != Policy.RANDOM:  # whose draws are as many as there are requests
        assert len(before.node) == len(work) - 1
        assert fits[place] if place != NOWHERE else not any(fits)


@settings(max_examples=20, deadline=None)
@given(NODES, PODS, st.sampled_from(list(Policy)[1:]), st.randoms())
def test_the_order_of_rows_does_not_matter(nodes: list[Any], pods: list[Any], policy: Policy, chance: Any) -> None:
    records, work = _world(nodes, pods)
    shuffled = chance.sample(records, len(records))
    ranks = _ranks(records)
    one, other = _run(records, work, policy, ranks), _run(shuffled, work, policy, ranks)
    names = [[rows[place].name if place != NOWHERE else None for place in found.node.tolist()]
             for rows, found in ((records, one), (shuffled, other))]  # fmt: skip
    assert names[0] == names[1]


def _ranks(records: list[NodeRecord]) -> dict[str, int]:
    return {node.name: row for row, node in enumerate(records)}


def test_each_policy_likes_another_node() -> None:
    """Two nodes: one of 4 GPUs with a share taken, an empty one of 2; a share of 500 comes."""
    nodes, pods = _world([(4, 64, "A10"), (2, 64, "A10")], [(1, 250, 1, ""), (1, 500, 1, "")])
    first = {policy: _run(nodes, pods, policy, {"n0": 0, "n1": 1}).node.tolist() for policy in Policy}
    assert first[Policy.PACKING] == [1, 1]  # of two empty nodes that with fewer GPUs, then what is shared already
    assert first[Policy.CLUSTERING] == [1, 1]
    assert first[Policy.BEST_FIT] == [1, 1]


@pytest.mark.parametrize("line", ["X a", "P", "N n0", "N n0 one", "P a b", "N n0 1\nN n0 2"])
def test_a_bad_line_of_an_order_is_named(line: str) -> None:
    with pytest.raises(InputError, match="expected 'P pod'"):
        read_order(line.encode(), "seq")


def test_orders_name_what_the_lists_have() -> None:
    nodes, pods = _world([(4, 64, "A10")], [(1, 1000, 1, "")])
    with pytest.raises(InputError, match="no such pod"):
        requests_of(pods, Order(("else",), {"n0": 0}), model_bits(nodes))
    with pytest.raises(InputError, match="no rank"):
        open_nodes(nodes, Order(("p0",), {}))


def test_a_drawn_order_asks_for_the_load_and_is_repeated_by_its_seed() -> None:
    nodes, pods = _world([(4, 64, "A10")] * 3, [(1, 500, 1, ""), (2, 1000, 4, ""), (0, 1000, 2, "")])
    order = draw_order(nodes, pods, load=1.3, seed=5)
    assert order == draw_order(nodes, pods, load=1.3, seed=5)
    asked = requests_of(pods, order, model_bits(nodes))
    total = (asked.gpus * asked.gpu_milli).cumsum()
    assert total[-1] >= 1.3 * 12_000 > total[-2]
    with pytest.raises(InputError, match="asks for a GPU"):
        draw_order(nodes, _world([(1, 8, "A10")], [(0, 1000, 1, "")])[1], load=1.0, seed=0)


def test_columns_are_means_over_what_has_arrived() -> None:
    nodes, pods = _world([(4, 64, "A10")], [(1, 500, 1, ""), (1, 500, 1, ""), (2, 1000, 1, "")])
    order = Order(("p0", "p1", "p2"), {"n0": 0})
    asked = requests_of(pods, order, model_bits(nodes))
    assert by_arrival(asked, np.array([500, 1000, 3000]), 4000) == {12: 12.5, 25: 25.0, 75: 75.0}


def test_words_of_policies_are_unique() -> None:
    assert len(BY_WORD) == len(Policy)
    assert all(BY_WORD[policy.word] is policy and policy.meaning for policy in Policy)
