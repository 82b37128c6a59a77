"""What keeps nodes from being emptied."""

import pytest

from scheduler.fragmentation.holders import Holder
from scheduler.fragmentation.report import as_detail, report
from tests.builders.worlds import World, world


def held(made: World) -> tuple[Holder, ...]:
    (pool,) = report(made.snapshot()).pools
    return pool.holders


def test_reasons_by_free_gpus_with_the_last_known_end() -> None:
    made = world().nodes("n1", "n2", "n3", "n4")
    made.pod("a", "n1", 4, locked=True, locked_until_s=2000).pod("b", "n2", 6, locked=True, locked_until_s=3000)
    made.pod("c", "n3", 5, move="never").pod("d", "n4", 2)
    assert held(made) == (Holder("locked", 2, 6, 3000), Holder("move_never", 1, 3, None))


def test_a_lock_without_end_leaves_the_end_unknown() -> None:
    made = world().node("n1").pod("a", "n1", 1, locked=True, locked_until_s=2000).pod("b", "n1", 1, locked=True)
    assert held(made) == (Holder("locked", 1, 6, None),)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"terminating": True, "locked": True}, "terminating"),
        ({"locked": True, "only_node": "n1"}, "locked"),
        ({"only_node": "n1"}, "only_node"),
        ({"labels": {"app": "kept"}}, "budget"),
    ],
)
def test_each_node_has_one_first_reason(fields: dict[str, object], reason: str) -> None:
    made = world().node("n1").pod("a", "n1", 1, **fields).budget("app=kept", max_unavailable=0)
    assert [(one.reason, one.nodes, one.free_gpus) for one in held(made)] == [(reason, 1, 7)]


def test_full_nodes_cordoned_nodes_and_agents_hold_nothing_free() -> None:
    made = world().nodes("n1", "n2").node("n3", cordoned=True)
    made.pod("a", "n1", 8, locked=True).agent("d", "n2", locked=True).pod("c", "n3", 1, locked=True)
    assert held(made) == ()


def test_pages_read_no_names_of_people() -> None:
    made = world().node("n1").pod("a", "n1", 1, locked=True, locked_by="somebody", lock_reason="secret")
    (pool,) = as_detail(report(made.snapshot()))["pools"]
    assert pool["holders"] == [{"reason": "locked", "nodes": 1, "free_gpus": 7, "until_s": None}]
