"""Slurm nodes: GRES strings, states, and the C21 world."""

import pytest

from scheduler.cluster.build import build
from scheduler.cluster.errors import InputError
from scheduler.cluster.occupancy import occupancy
from scheduler.cluster.records import Document
from scheduler.slurm.gres import Gres, read_gres
from scheduler.slurm.nodes import Pile, in_use, read_nodes

C21 = [
    {"name": "s1", "gres": "gpu:4(S:0-1)", "gres_used": "gpu:(null):3(IDX:0-2)", "state": "MIXED"},
    {
        "name": "s2",
        "gres": "gpu:a100:4(S:0-1),gpu:t4:2(S:0)",
        "gres_used": "gpu:a100:3(IDX:0,2-3),gpu:t4:0(IDX:N/A)",
        "state": "MIXED",
    },
    {
        "name": "s3",
        "gres": "gpu:nvidia_h200_nvl_4g.71gb:2(S:0)",
        "gres_used": "gpu:nvidia_h200_nvl_4g.71gb:1(IDX:0)",
        "state": "MIXED",
    },
    {"name": "s4", "gres": "(null)", "gres_used": "", "state": "IDLE"},
    {
        "name": "s5",
        "gres": "craynetwork:4,gpu:8,shard:16",
        "gres_used": "craynetwork:0,gpu:0,shard:0",
        "state": "IDLE+DRAIN",
    },
    {"name": "s6", "gres": "gpu:8", "gres_used": "gpu:0", "state": "DOWN*"},
    {"name": "s7", "gres": "gpu:8", "gres_used": "gpu:0", "state": "IDLE*"},
    {"name": "s8", "gres": "gpu:h100:8(S:0-1)", "gres_used": "gpu:h100:8(IDX:0-7)", "state": "ALLOCATED"},
]


def test_c21_totals_and_use() -> None:
    nodes = read_nodes(C21)
    assert {node.record.name: (node.whole, node.used) for node in nodes} == {
        "s1": (4, 3),
        "s2": (6, 3),
        "s3": (0, 0),
        "s4": (0, 0),
        "s5": (8, 0),
        "s6": (8, 0),
        "s7": (8, 0),
        "s8": (8, 8),
    }
    assert (sum(node.whole for node in nodes), sum(node.used for node in nodes)) == (42, 14)


def test_c21_types_and_slices() -> None:
    nodes = {node.record.name: node for node in read_nodes(C21)}
    assert nodes["s2"].piles == (Pile("a100", "", 4, 3, (0, 2, 3)), Pile("t4", "", 2, 0))
    assert nodes["s2"].notes == ("several models, counted as a100: a100, t4",)
    assert nodes["s3"].piles == (Pile("nvidia_h200_nvl_4g.71gb", "4g.71gb", 2, 1, (0,)),)
    assert nodes["s3"].notes == ("slices of unknown devices are not counted: 2 x 4g.71gb",)


def test_c21_free_and_schedulable() -> None:
    nodes = read_nodes(C21)
    assert {node.record.name: node.free for node in nodes if node.free} == {"s1": 1, "s2": 3}


def test_c21_as_a_snapshot_frees_the_same() -> None:
    nodes = read_nodes(C21)
    rows = [node.record for node in nodes]
    snapshot = build(Document(taken_at="2026-11-29T12:00:00Z", nodes=rows, pods=in_use(nodes)))
    usable = snapshot.node_ready & ~snapshot.node_cordoned
    free = occupancy(snapshot).free_gpus
    assert {snapshot.node_name[n]: int(free[n]) for n in usable.nonzero()[0] if free[n]} == {"s1": 1, "s2": 3}


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        (None, ()),
        ("", ()),
        ("(null)", ()),
        ("gpu", (Gres("gpu", "", 1),)),
        ("gpu:4", (Gres("gpu", "", 4),)),
        ("gpu:tesla:2(S:0,2)", (Gres("gpu", "tesla", 2),)),
        ("gpu:(null):3(IDX:0-2)", (Gres("gpu", "", 3, (0, 1, 2)),)),
        (
            "gpu:a100:2(IDX:1,3),bandwidth:lustre:4G",
            (Gres("gpu", "a100", 2, (1, 3)), Gres("bandwidth", "lustre", 2**32)),
        ),
        ("gpu:a100_1g.5gb:7(IDX:N/A)", (Gres("gpu", "a100_1g.5gb", 7),)),
    ],
)
def test_gres_strings(text: str | None, entries: tuple[Gres, ...]) -> None:
    assert read_gres(text) == entries


@pytest.mark.parametrize("text", ["gpu:a100:x:y", ":4", "gpu:4(", "gpu:99999999"])
def test_what_is_no_gres_string_is_refused_by_name(text: str) -> None:
    with pytest.raises(InputError) as refused:
        read_nodes([{"name": "s1", "gres": text, "state": "IDLE"}])
    assert refused.value.path == "$.nodes[0].gres"


@pytest.mark.parametrize(
    ("state", "ready", "cordoned"),
    [
        ("IDLE", True, False),
        ("MIXED+PLANNED", True, False),
        ("IDLE-", True, False),
        ("IDLE+DRAIN", True, True),
        ("MIXED+DRAIN", True, True),
        (["IDLE", "DRAIN"], True, True),
        ("ALLOCATED+MAINT", True, True),
        ("IDLE$", True, True),
        ("DOWN", False, False),
        ("DOWN*", False, False),
        ("DOWN+DRAIN*", False, True),
        (["DOWN", "NOT_RESPONDING"], False, False),
        ("IDLE~", False, False),
        ("IDLE#", False, False),
        ("UNKNOWN", False, False),
        ("down*", False, False),
    ],
)
def test_states(state: object, ready: bool, cordoned: bool) -> None:
    (node,) = read_nodes([{"name": "s1", "gres": "gpu:8", "state": state}])
    assert (node.record.ready, node.record.cordoned) == (ready, cordoned)


@pytest.mark.parametrize("state", [None, "", [], "*"])
def test_a_node_without_a_state_is_refused_unless_it_tells_a_mark(state: object) -> None:
    if state == "*":
        assert not read_nodes([{"name": "s1", "state": state}])[0].record.ready
        return
    with pytest.raises(InputError, match="state"):
        read_nodes([{"name": "s1", "state": state}])


def test_both_forms_of_numbers_are_read() -> None:
    rows = [
        {"name": "s1", "state": "IDLE", "cpus": 64, "real_memory": 1000},
        {"name": "s2", "state": ["IDLE"], "cpus": {"set": True, "infinite": False, "number": 64}, "real_memory": 1000},
    ]
    one, other = (node.record for node in read_nodes(rows))
    assert (one.cpu_milli, one.memory_mib) == (other.cpu_milli, other.memory_mib) == (64_000, 1000)


@pytest.mark.parametrize(("field", "value"), [("cpus", "many"), ("cpus", -1), ("gres", 4), ("name", " ")])
def test_a_wrong_field_is_named(field: str, value: object) -> None:
    with pytest.raises(InputError) as refused:
        read_nodes([{"name": "s1", "state": "IDLE", field: value}])
    assert refused.value.path == f"$.nodes[0].{field}"
