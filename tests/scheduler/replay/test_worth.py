"""The policy by worth sells nothing twice and refuses nothing that fits; its prices are those of small programmes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scheduler.cluster.records import NodeRecord
from scheduler.cluster.snapshot import Longs
from scheduler.replay.arrivals import Order, model_bits, open_nodes, requests_of, typical_mix
from scheduler.replay.filling import NOWHERE, Filled, Floats, Mix, Nodes
from scheduler.replay.shadow_prices import Market
from scheduler.replay.worth import fill_by_worth
from scheduler.worlds.openb import TracePod
from scheduler.worlds.shapes import Shape

NODES = st.lists(
    st.tuples(st.integers(0, 4), st.integers(4, 32), st.sampled_from(["A10", "T4"])), min_size=1, max_size=5
)
PODS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([190, 470, 810]), st.integers(1, 16), st.sampled_from(["", "A10"])),
    min_size=1,
    max_size=20,
)


def _world(nodes: list[Any], pods: list[Any]) -> tuple[list[NodeRecord], list[TracePod]]:
    records = [
        NodeRecord(name=f"n{row}", gpus=gpus, gpu_model=model, cpu_milli=cores * 1000, memory_mib=cores * 1024)
        for row, (gpus, cores, model) in enumerate(nodes)
    ]
    known = {record.gpu_model for record in records}
    shapes = [
        (Shape(gpus, milli if gpus == 1 else 1000, cores * 1000, cores * 900), model)
        for gpus, milli, cores, model in pods
    ]
    return records, [
        TracePod(f"p{row}", shape, (model,) if model in known else (), None, None, None)
        for row, (shape, model) in enumerate(shapes)
    ]


def _run(
    nodes: list[NodeRecord], pods: list[TracePod], ranks: dict[str, int], upto: int | None = None
) -> tuple[Filled, Nodes]:
    order, bits = Order(tuple(pod.name for pod in pods[:upto]), ranks), model_bits(nodes)
    left = open_nodes(nodes, order)
    return fill_by_worth(left, requests_of(pods, order, bits), typical_mix(pods, bits)), left


@settings(max_examples=15, deadline=None)
@given(NODES, PODS, st.randoms())
def test_it_keeps_the_rules_of_the_arena(nodes: list[Any], pods: list[Any], chance: Any) -> None:
    """Nothing sold twice, nothing refused that fits, told what was placed, and the order of rows does not matter."""
    records, work = _world(nodes, pods)
    assume(typical_mix(work, model_bits(records)).gpus.any())
    ranks = {node.name: row for row, node in enumerate(records)}
    (answer, left), (_, before) = _run(records, work, ranks), _run(records, work, ranks, -1)
    assert min(left.cpu_milli) >= 0
    assert min(left.memory_mib) >= 0
    assert left.left_milli.min() >= -1
    taken = sum(pod.shape.total_milli for pod, node in zip(work, answer.node, strict=True) if node != NOWHERE)
    offered = sum(node.gpus for node in records) * 1000
    assert answer.allocated_milli[-1] == taken == offered - np.maximum(left.left_milli, 0).sum()
    last, shape = work[-1], work[-1].shape
    fits = [
        before.cpu_milli[row] >= shape.cpu_milli
        and before.memory_mib[row] >= shape.memory_mib
        and (not shape.gpus or not last.models or node.gpu_model in last.models)
        and (before.left_milli[row] >= (shape.gpu_milli if shape.gpus else 0)).sum() >= shape.gpus
        for row, node in enumerate(records)
    ]
    place = int(answer.node[-1])
    assert fits[place] if place != NOWHERE else not any(fits)
    shuffled = chance.sample(records, len(records))
    other, _ = _run(shuffled, work, ranks)
    assert [records[row].name if row >= 0 else "" for row in answer.node] == [
        shuffled[row].name if row >= 0 else "" for row in other.node
    ]


@pytest.mark.parametrize("ranks", [{"n0": 0, "n1": 1}, {"n0": 1, "n1": 0}])
@pytest.mark.parametrize(
    ("nodes", "pods", "place"),
    [
        # Three of four want a T4, and there are two: who may have any model takes the other one.
        ([(2, 64, "T4"), (2, 64, "A10")], [(1, 1000, 4, ""), *[(1, 1000, 4, "T4")] * 3], 1),
        # Cores are short where GPUs are idle: who wants none goes where there are more than the GPUs need.
        ([(4, 16, "A10"), (4, 64, "A10")], [(0, 0, 4, ""), *[(1, 1000, 4, "")] * 8], 1),
    ],
    ids=["scarce model", "scarce cores"],
)
def test_what_is_scarce_is_kept(nodes: list[Any], pods: list[Any], place: int, ranks: dict[str, int]) -> None:
    records, work = _world(nodes, pods)
    assert _run(records, work, ranks)[0].node[0] == place


def _market(shapes: list[tuple[int, int, int, int, float]], parts: int) -> tuple[Market, Floats]:
    """Shapes of (GPUs, thousandths, CPU, models, demand); part i has the model bit 1 << i."""
    columns = np.array([shape[:4] for shape in shapes], dtype=np.int64).T
    asked = np.array([shape[4] for shape in shapes])
    mix = Mix(columns[2], columns[0], columns[1], columns[3], asked / asked.sum())
    return Market(mix, 1 << np.arange(parts), np.full(parts, 8)), asked


def _devices(*parts: dict[int, int]) -> Longs:
    counts = np.zeros((len(parts), 1001), dtype=np.int64)
    for part, rests in enumerate(parts):
        for rest, count in rests.items():
            counts[part, rest] = count
    return counts


def test_a_rest_is_worth_what_shares_can_make_of_it() -> None:
    market, asked = _market([(1, 810, 1, 0, 50), (1, 470, 1, 0, 50), (1, 530, 1, 0, 50)], 1)
    prices = market.prices(np.array([10_000]), _devices({1000: 9, 530: 1, 190: 1}), asked)
    assert prices.device[0, [190, 469, 470, 529, 530, 1000]] == pytest.approx([0, 0, 470, 470, 530, 1000])
    assert prices.core[0] == pytest.approx(0)


def test_cores_have_the_price_where_they_run_out_first() -> None:
    market, asked = _market([(1, 1000, 2000, 0, 50)], 1)
    prices = market.prices(np.array([4000]), _devices({1000: 8}), asked)
    assert prices.core[0] == pytest.approx(0.5)  # 2,000 thousandths of a core for 1,000 of a GPU
    assert prices.device[0, 1000] == pytest.approx(0)


def test_a_model_has_a_price_once_those_who_need_it_are_more_than_it_can_serve() -> None:
    market, asked = _market([(1, 1000, 1, 1, 3), (1, 1000, 1, 0, 1)], 2)
    prices = market.prices(np.array([100, 100]), _devices({1000: 2}, {1000: 2}), asked)
    assert prices.device[:, 1000] == pytest.approx([1000, 0])


def test_a_mix_without_gpus_is_refused() -> None:
    records, work = _world([(2, 8, "T4")], [(0, 0, 1, "")])
    with pytest.raises(ValueError, match="asks for a GPU"):
        _run(records, work, {"n0": 0})
