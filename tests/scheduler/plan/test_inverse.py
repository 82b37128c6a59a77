"""Plans that take others back: what returns, in which order, and why the rest does not."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from scheduler.plan.inverse import inverse
from scheduler.plan.plan import ROLLBACK, Kept, Plan
from scheduler.plan.staleness import changes
from scheduler.plan.statement import keep
from scheduler.plan.verify import verify
from tests.builders.worlds import World, world
from tests.scheduler.plan.plans import plan

Change = Callable[[World], object]


def before() -> World:
    """b makes room for a (chain n1); f goes beside it to where b was (chain n4)."""
    made = world().nodes("n1", "n2", "n3", "n4").pod("a", "n1", 5).pod("b", "n2", 4).pod("d", "n2", 2, locked=True)
    return made.pod("e", "n3", 4, locked=True).pod("f", "n4", 1)


def forward() -> Plan:
    return plan(before().snapshot(), [("b", "n3", 0), ("a", "n2", 1), ("f", "n2", 1)], drains={"b": "n1"})


def after(change: Change = lambda made: None) -> World:
    made = before()
    for row in made.rows["pods"]:
        row["node"] = {"b": "n3", "a": "n2", "f": "n2"}.get(row["name"], row["node"])
    change(made)
    return made


def _row(made: World, kind: str, name: str) -> dict[str, Any]:
    return next(row for row in made.rows[kind] if row["name"] == name)


def _set(kind: str, name: str, **fields: Any) -> Change:
    return lambda made: _row(made, kind, name).update(fields)


def _steps(found: Plan) -> list[tuple[str, str, int]]:
    return [(move.pod, move.target, wave) for move, wave in zip(found.moves, found.wave_of, strict=True)]


def test_the_last_wave_goes_back_first_and_what_made_room_last() -> None:
    found = inverse(forward(), [0, 1, 2], after().snapshot())
    assert (found.kind, found.params, found.kept, found.notes) == (ROLLBACK, {"undoes": forward().digest()}, (), ())
    assert _steps(found) == [("jobs/f", "n4", 0), ("jobs/a", "n1", 0), ("jobs/b", "n2", 1)]
    assert found.moves[2].after == (0, 1)
    assert (found.net_emptied, found.emptied_nodes) == (-2, ())
    assert verify(found, after().snapshot(), forward()).ok


def test_only_what_was_done_goes_back() -> None:
    made = before()
    _row(made, "pods", "b")["node"] = "n3"
    found = inverse(forward(), [0], made.snapshot())
    assert _steps(found) == [("jobs/b", "n2", 0)]
    assert verify(found, made.snapshot(), forward()).ok


@pytest.mark.parametrize(
    ("change", "back", "left"),
    [
        (lambda made: made.rows["pods"].remove(_row(made, "pods", "f")), ["a", "b"], {"n4": [("f", "gone")]}),
        (_set("pods", "f", phase="Succeeded"), ["a", "b"], {"n4": [("f", "gone")]}),
        (_set("pods", "f", node="n3"), ["a", "b"], {"n4": [("f", "moved_on")]}),
        (_set("pods", "f", node="n4"), ["a", "b"], {"n4": [("f", "back")]}),
        (_set("pods", "f", locked=True), ["a", "b"], {"n4": [("f", "locked")]}),
        (_set("pods", "f", move="never"), ["a", "b"], {"n4": [("f", "move_never")]}),
        (_set("nodes", "n4", cordoned=True), ["a", "b"], {"n4": [("f", "cordoned")]}),
        (_set("nodes", "n4", ready=False), ["a", "b"], {"n4": [("f", "not_ready")]}),
        (lambda made: made.rows["nodes"].remove(_row(made, "nodes", "n4")), ["a", "b"], {"n4": [("f", "node_gone")]}),
        (lambda made: made.pod("late", "n4", 8), ["a", "b"], {"n4": [("f", "refilled")]}),
        (lambda made: made.pod("late", "n4", 7), ["f", "a", "b"], {}),
        # b waits for a: while a stays on n2, b's place there is taken.
        (_set("pods", "a", locked=True), ["f"], {"n1": [("a", "locked")], "n2": [("b", "gpus")]}),
    ],
)
def test_what_cannot_go_back_stays_with_its_reason(
    change: Change, back: list[str], left: dict[str, list[tuple[str, str]]]
) -> None:
    snapshot = after(change).snapshot()
    found = inverse(forward(), [0, 1, 2], snapshot)
    assert [move.pod for move in found.moves] == [f"jobs/{name}" for name in back]
    assert {
        kept.node: [(b.pod.removeprefix("jobs/"), b.constraint) for b in kept.blockers] for kept in found.kept
    } == left
    assert bool(found.notes) == bool(left)
    assert verify(found, snapshot, forward()).ok


def test_a_full_node_says_by_how_much() -> None:
    found = inverse(forward(), [0, 1, 2], after(lambda made: made.pod("late", "n1", 6)).snapshot())
    assert [(kept.node, kept.reason, kept.blockers[0].missing, kept.blockers[0].unit) for kept in found.kept] == [
        ("n1", "refilled", 3, "gpus"),
        ("n2", "gpus", 3, "gpus"),
    ]


def test_the_judge_holds_each_move_against_the_plan_that_is_undone() -> None:
    snapshot = after().snapshot()
    found = inverse(forward(), [0, 1, 2], snapshot)
    astray = msgspec.structs.replace(found.moves[0], target="n3")
    other = msgspec.structs.replace(found, moves=(astray, *found.moves[1:]), params={"undoes": "0" * 64})
    assert verify(other, snapshot).ok is False  # counts: n4 stays empty
    kinds = [violation.kind for violation in verify(other, snapshot, forward()).violations]
    assert kinds == ["undoes", "undoes"]


def test_the_judge_asks_no_gain_but_every_other_rule() -> None:
    snapshot = after().snapshot()
    found = inverse(forward(), [0, 1, 2], snapshot)
    together = msgspec.structs.replace(
        found, wave_of=(0, 0, 0), moves=tuple(msgspec.structs.replace(move, after=()) for move in found.moves)
    )
    assert {violation.kind for violation in verify(together, snapshot, forward()).violations} == {"gpus"}
    consolidation = msgspec.structs.replace(found, kind="consolidation")
    assert "no_gain" in {violation.kind for violation in verify(consolidation, snapshot).violations}


def test_a_node_that_stands_empty_by_now_may_be_returned_to() -> None:
    """What makes a consolidation stale is just what a rollback is for."""
    base = after(lambda made: made.pod("late", "n4", 1))
    found = inverse(forward(), [0, 1, 2], base.snapshot())
    assert changes(found, base.snapshot(), after().snapshot()) == ()
    assert [
        change.field for change in changes(found, base.snapshot(), after(_set("pods", "a", locked=True)).snapshot())
    ] == ["locked"]


def test_a_part_of_it_is_in_waves_of_its_own_and_keeps_what_cannot_go_back() -> None:
    snapshot = after(_set("pods", "f", locked=True)).snapshot()
    found = inverse(forward(), [0, 1, 2], snapshot)
    assert {move.chain for move in found.moves} == {0}
    assert keep(found, snapshot, {0}) is found
    nothing = keep(found, snapshot, ())
    assert (nothing.moves, nothing.kept) == ((), found.kept)
    assert all(isinstance(kept, Kept) for kept in nothing.kept)
