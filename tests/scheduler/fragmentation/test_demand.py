"""The demand mix: what it counts, and what it refuses."""

import pytest

from scheduler.cluster.errors import InputError
from scheduler.fragmentation.demand import SHAPES, DemandClass, Mix, mix_from, mix_of, parse_mix
from tests.builders.worlds import world

Row = tuple[int, int, int, int, tuple[str, ...], int]


def rows(mix: Mix) -> set[Row]:
    columns = (mix.gpus, mix.gpu_milli, mix.cpu_milli, mix.memory_mib)
    return {
        (*(int(column[k]) for column in columns), mix.model_sets[int(mix.models[k])], int(mix.weight[k]))
        for k in range(len(mix))
    }


def test_the_mix_counts_live_and_pending_gpu_pods_and_nobody_else() -> None:
    made = world().node("n1").pod("live", "n1", 2, cpu_milli=8000).pod("pending", None, 2, cpu_milli=8000)
    made.pod("done", "n1", 4, phase="Succeeded").pod("gave-up", None, 4, phase="Failed").pod("lost", "gone-7", 4)
    made.pod("cpu", "n1", 0, cpu_milli=500).pod("share", None, 1, gpu_milli=300, gpu_model=["T4", "H100"])
    assert rows(mix_of(made.snapshot())) == {
        (2, 1000, 8000, 0, (), 2),
        (1, 300, 0, 0, ("H100", "T4"), 1),
    }


def test_an_empty_world_asks_for_nothing() -> None:
    mix = mix_of(world().snapshot())
    assert len(mix) == 0 and mix.total == 0


def test_equal_classes_add_up() -> None:
    mix = mix_from([DemandClass(gpus=1, weight=2), DemandClass(gpus=4), DemandClass(gpus=1, weight=3)])
    assert rows(mix) == {(1, 1000, 0, 0, (), 5), (4, 1000, 0, 0, (), 1)}
    assert mix.total == 6


def test_a_mix_file_is_a_list_of_classes() -> None:
    mix = parse_mix(b'[{"gpus": 1, "gpu_milli": 500, "cpu_milli": 8000, "gpu_model": "H20", "weight": 3}, {"gpus": 0}]')
    assert rows(mix) == {(1, 500, 8000, 0, ("H20",), 3), (0, 0, 0, 0, (), 1)}


@pytest.mark.parametrize(
    ("document", "path", "value"),
    [
        (b"[]", "$", 0),
        (b"[", "$", None),
        (b"[NaN]", "$", None),
        (b"\xff", "$", None),
        (b'{"gpus": 1}', "$", {"gpus": 1}),
        (b'[{"gpus": "1"}]', "$[0].gpus", "1"),
        (b'[{"gpus": 1}, {"gpus": 1.5}]', "$[1].gpus", 1.5),
        (b'[{"gpus": 1, "gpus_milli": 5}]', "$[0]", {"gpus": 1, "gpus_milli": 5}),
        (b'[{"gpus": -1}]', "$[0].gpus", -1),
        (b'[{"gpus": 1, "gpu_milli": 0}]', "$[0].gpu_milli", 0),
        (b'[{"gpus": 1, "gpu_milli": 1001}]', "$[0].gpu_milli", 1001),
        (b'[{"gpus": 1, "weight": 0}]', "$[0].weight", 0),
        (b'[{"gpus": 1, "weight": true}]', "$[0].weight", True),
        (b'[{"gpus": 1, "cpu_milli": 99999999999999999999}]', "$[0].cpu_milli", 99999999999999999999),
    ],
)
def test_a_bad_mix_is_refused_with_path_value_and_reason(document: bytes, path: str, value: object) -> None:
    with pytest.raises(InputError) as caught:
        parse_mix(document)
    assert (caught.value.path, caught.value.value) == (path, value)
    assert caught.value.reason


def test_the_shapes_are_those_of_the_study() -> None:
    assert [shape.name for shape in SHAPES] == [
        *("1G8C", "1G12C", "4G32C", "4G48C", "4G64C", "8G64C", "8G96C", "8G128C"),
        *("128@ASW", "256@ASW"),
    ]
    assert [(s.gpus, s.cpu_milli, s.level) for s in SHAPES[-2:]] == [(128, 1_536_000, "asw"), (256, 3_072_000, "asw")]
