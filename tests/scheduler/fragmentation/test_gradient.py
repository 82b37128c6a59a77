"""F_n(M) against examples small enough to work out by hand, and its change for one placement."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.fragmentation.demand import DemandClass, mix_from
from scheduler.fragmentation.gradient import OpenNode, OpenNodes, fragment, fragments, gradient, taken

WHOLE = DemandClass(gpus=1)
PAIR = DemandClass(gpus=2)
HALF = DemandClass(gpus=1, gpu_milli=500)


def columns(nodes: list[OpenNode]) -> OpenNodes:
    """The same nodes as columns."""
    models = tuple(sorted({node.model for node in nodes if node.model}))
    parts = [(index, rest) for index, node in enumerate(nodes) for rest in node.rests if 0 < rest < 1000]
    return OpenNodes(
        free=np.array([node.rests.count(1000) for node in nodes], np.int64),
        cpu_milli=np.array([node.cpu_milli for node in nodes], np.int64),
        memory_mib=np.array([node.memory_mib for node in nodes], np.int64),
        model=np.array([models.index(node.model) if node.model else -1 for node in nodes], np.int64),
        models=models,
        rest_node=np.array([index for index, _ in parts], np.int64),
        rest_milli=np.array([rest for _, rest in parts], np.int64),
    )


def f_milli(node: OpenNode, *classes: DemandClass) -> Fraction:
    """F_n(M) in thousandths; both ways of working it out must agree."""
    mix = mix_from(classes)
    slow = fragment(node, mix)
    assert fragments(columns([node]), mix).tolist() == [slow]
    return Fraction(slow, mix.total)


def test_a_class_that_fits_leaves_only_the_rests_below_its_share() -> None:
    # A whole GPU runs on the free device and cannot run on the 400 or the 700: 400 + 700 = 1100.
    # A half can run on the 1000 and the 700, not on the 400: 400.
    node = OpenNode((1000, 400, 700, 0), 64_000, 1024)
    assert f_milli(node, WHOLE) == 1100
    assert f_milli(node, HALF) == 400
    # M = one whole to three halves: 1/4 * 1100 + 3/4 * 400 = 275 + 300 = 575.
    assert f_milli(node, DemandClass(gpus=1), DemandClass(gpus=1, gpu_milli=500, weight=3)) == 575


@pytest.mark.parametrize(
    "cannot",
    [
        DemandClass(gpus=2),  # one whole device free, two asked
        DemandClass(gpus=1, cpu_milli=64_001),
        DemandClass(gpus=1, memory_mib=1025),
        DemandClass(gpus=1, gpu_model="T4"),
        DemandClass(gpus=3, gpu_milli=500),  # 1000 and 700 hold a half, 400 does not
    ],
)
def test_a_class_that_cannot_run_makes_all_that_is_left_a_fragment(cannot: DemandClass) -> None:
    # 1000 + 400 + 700 = 2100.
    node = OpenNode((1000, 400, 700), 64_000, 1024, "H20")
    assert f_milli(node, cannot) == 2100


def test_a_class_at_the_very_limit_runs() -> None:
    node = OpenNode((1000, 400, 700), 64_000, 1024, "H20")
    asked = DemandClass(gpus=1, cpu_milli=64_000, memory_mib=1024, gpu_model=["A10", "H20"])
    assert f_milli(node, asked) == 1100
    # Two shares of 700 on the 1000 and the 700; the 400 is left.
    assert f_milli(node, DemandClass(gpus=2, gpu_milli=700)) == 400


def test_a_class_without_gpus_can_use_none_of_them() -> None:
    node = OpenNode((1000, 300), 64_000, 1024)
    # Half of the demand asks for no GPU: 1/2 * 1300 + 1/2 * 300 = 800.
    assert f_milli(node, DemandClass(gpus=0, cpu_milli=1000), WHOLE) == 800


def test_a_full_node_has_no_fragment() -> None:
    assert f_milli(OpenNode((0, 0), 0, 0), WHOLE, HALF, PAIR) == 0


def test_nodes_without_a_model_serve_only_requests_that_accept_any() -> None:
    assert f_milli(OpenNode((1000,), 1000, 0, ""), DemandClass(gpus=1, gpu_model="H20")) == 1000
    assert f_milli(OpenNode((1000,), 1000, 0, ""), WHOLE) == 0


def test_the_gradient_prefers_the_device_already_broken() -> None:
    # Before, M = {whole, half}: whole leaves 600, half leaves 0: F = 300.
    # Half on the 600: rests 1000 and 100: whole 100, half 100: F = 100, a change of -200.
    # Half on the 1000: rests 500 and 600: no whole fits: 1100, half 0: F = 550, a change of +250.
    node, mix = OpenNode((1000, 600), 64_000, 0), mix_from([WHOLE, HALF])
    assert gradient(node, HALF, mix, [1]) == -200
    assert gradient(node, HALF, mix, [0]) == 250
    assert gradient(node, HALF, mix) == -200


def test_the_gradient_sees_the_cpu_that_a_placement_takes() -> None:
    # Two free GPUs, 10 cores, M = one GPU with 8 cores.  Taking one GPU with 4 cores leaves 6: F from 0 to 1000.
    node, mix = OpenNode((1000, 1000), 10_000, 0), mix_from([DemandClass(gpus=1, cpu_milli=8000)])
    assert gradient(node, DemandClass(gpus=1, cpu_milli=4000), mix) == 1000
    # With 2 cores taken, 8 are left and the other GPU stays useful.
    assert gradient(node, DemandClass(gpus=1, cpu_milli=2000), mix) == 0


def test_what_does_not_fit_has_no_gradient() -> None:
    node, mix = OpenNode((1000, 0), 1000, 0), mix_from([WHOLE])
    with pytest.raises(ValueError, match="does not fit"):
        gradient(node, PAIR, mix)
    with pytest.raises(ValueError, match="cannot serve"):
        gradient(node, PAIR, mix, [0, 1])
    with pytest.raises(ValueError, match="empty mix"):
        gradient(node, WHOLE, mix_from([]))


def test_taking_changes_only_what_is_taken() -> None:
    node = OpenNode((1000, 600), 4000, 100, "H20")
    request = DemandClass(gpus=1, gpu_milli=500, cpu_milli=1000, memory_mib=40)
    assert taken(node, request, (1,)) == OpenNode((1000, 100), 3000, 60, "H20")


NODES = st.builds(
    OpenNode,
    st.lists(st.sampled_from([0, 100, 400, 500, 999, 1000, 1000]), max_size=8).map(tuple),
    st.integers(0, 4).map(lambda cores: cores * 8000),
    st.integers(0, 3),
    st.sampled_from(["", "A10", "H20"]),
)
CLASSES = st.builds(
    DemandClass,
    gpus=st.integers(0, 4),
    gpu_milli=st.sampled_from([100, 450, 500, 1000]),
    cpu_milli=st.integers(0, 4).map(lambda cores: cores * 8000),
    memory_mib=st.integers(0, 3),
    gpu_model=st.sampled_from([None, "A10", ["A10", "H20"], "T4"]),
    weight=st.integers(1, 9),
)


@given(st.lists(NODES, max_size=6), st.lists(CLASSES, min_size=1, max_size=8))
@settings(max_examples=300, deadline=None)
def test_all_nodes_at_once_equal_one_at_a_time(nodes: list[OpenNode], classes: list[DemandClass]) -> None:
    mix = mix_from(classes)
    assert fragments(columns(nodes), mix).tolist() == [fragment(node, mix) for node in nodes]
