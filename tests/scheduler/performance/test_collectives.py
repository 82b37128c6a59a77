"""The model of collectives by hand, its calibration, and steps of a training job."""

import math

import pytest

from scheduler.cluster.errors import ParamError
from scheduler.performance.calibration import CALIBRATED_ON, OTHERS, calibrate, errors
from scheduler.performance.collectives import Reach, all_gather, all_reduce
from scheduler.performance.fabrics import LINK_EFFICIENCY, Fabric, Inside, fabric_of
from scheduler.performance.step_time import Model, Parallelism, Ranks, data_groups, step_time, tensor_groups

PLAIN = Fabric(inside=Inside(12, 80), nic_gbit=200)
GIB = 1 << 30


def test_a_large_ring_is_bytes_over_the_slower_of_links_and_network() -> None:
    found = all_reduce(GIB, Reach(gpus=16, nodes=2), PLAIN)
    bus = min(12 * 20, 12 * 2 * 8)  # links; eight interfaces of 200 Gb/s
    latency = (8.4 + (30 - 2) * 3.4 + 2 * 14) * 1.4e-6
    assert (found.algorithm, found.protocol) == ("ring", "Simple")
    assert found.seconds == pytest.approx(latency + GIB * 30 / 16 / (bus * 1e9))
    assert found.bus_gb_per_s(GIB, 16) == pytest.approx(bus, rel=0.03)


def test_small_messages_go_by_a_tree_where_rings_are_long() -> None:
    many = Reach(gpus=512, nodes=64)
    found = all_reduce(1024, many, PLAIN)
    assert (found.algorithm, found.protocol) == ("tree", "LL")
    assert found.latency_s == pytest.approx((6.8 + 2 * (7 * 0.6 + math.log2(64) * 5)) * 1e-6)
    assert all_reduce(GIB, many, PLAIN).seconds > all_reduce(GIB, Reach(gpus=16, nodes=2), PLAIN).seconds


def test_a_switch_that_is_crossed_takes_what_the_study_measured() -> None:
    one, other = (all_reduce(8 * GIB, Reach(gpus=128, nodes=16, crosses=c), PLAIN) for c in (False, True))
    took = [time.seconds - time.latency_s for time in (one, other)]
    assert took[1] / took[0] == pytest.approx(1.27)
    assert (
        all_gather(GIB, Reach(gpus=8, nodes=1), PLAIN).seconds < all_reduce(GIB, Reach(gpus=8, nodes=1), PLAIN).seconds
    )
    assert all_reduce(GIB, Reach(gpus=1, nodes=1), PLAIN).seconds == 0


def test_calibrated_on_one_fabric_the_model_holds_on_others() -> None:
    assert calibrate(CALIBRATED_ON) == pytest.approx(LINK_EFFICIENCY, abs=0.001)
    found = errors(LINK_EFFICIENCY)
    assert CALIBRATED_ON not in OTHERS
    assert [round(error.percent) for error in found] == [-3, -4, -10]


@pytest.mark.parametrize(
    ("model", "links", "assumed"),
    [
        ("H100-SXM5-80GB", 18, ("nic_gbit",)),
        ("NVIDIA-H100-PCIe-80GB", 0, ("nic_gbit",)),
        ("A100", 12, ("form", "nic_gbit")),
        ("L20", 0, ("nic_gbit",)),
    ],
)
def test_fabrics_by_model_say_what_is_assumed(model: str, links: int, assumed: tuple[str, ...]) -> None:
    found = fabric_of(model)
    assert found is not None
    assert (found.inside.links, found.assumed) == (links, assumed)
    assert fabric_of("XPU-A") is None


def ranks(nodes: int, switches: int) -> Ranks:
    node = tuple(n for n in range(nodes) for _ in range(8))
    return Ranks(node, tuple(n * switches // nodes for n in node))


def test_a_step_is_compute_and_what_waits_for_the_network() -> None:
    model = Model(parameters=7e9, tokens=1 << 20, utilisation=0.5, overlap=0, imbalance=0.1)
    found = step_time(model, Parallelism(tp=8), ranks(4, 1), 312, PLAIN)
    compute = 6 * 7e9 * (1 << 20) / (32 * 312e12 * 0.5)
    data = all_reduce(2 * 7e9 / 8, Reach(gpus=4, nodes=4), PLAIN).seconds
    assert found.terms["compute"] == pytest.approx(compute)
    assert found.terms["data"] == pytest.approx(data)
    assert (found.terms["stall"], found.terms["imbalance"]) == (0, pytest.approx(0.1 * compute))
    assert found.seconds == pytest.approx(sum(found.terms.values()))


def test_a_pipeline_waits_for_its_ends_and_crossing_costs() -> None:
    model = Model(tokens=1 << 20, micro_batches=8)
    pipe = step_time(model, Parallelism(tp=8, pp=4), ranks(4, 1), 312, PLAIN)
    busy = pipe.terms["compute"] + pipe.terms["tensor"]
    assert pipe.terms["stall"] == pytest.approx(busy * 3 / 8)
    near, far = (step_time(model, Parallelism(tp=8), ranks(4, s), 312, PLAIN).seconds for s in (1, 2))
    assert far > near
    expert = step_time(model, Parallelism(tp=1, ep=8), ranks(4, 1), 312, PLAIN)
    assert expert.terms["expert"] > 0


def test_ways_have_to_fit_the_gpus() -> None:
    assert Parallelism(tp=4, pp=2).over(32) == Parallelism(dp=4, tp=4, pp=2)
    assert tensor_groups(Parallelism(dp=2, tp=2)) == [[0, 1], [2, 3]]
    assert data_groups(Parallelism(dp=2, tp=2)) == [[0, 2], [1, 3]]
    with pytest.raises(ParamError, match="dp"):
        Parallelism(dp=3, tp=4).over(32)
    with pytest.raises(ParamError, match="ep"):
        Parallelism(tp=4, ep=64).over(32)
