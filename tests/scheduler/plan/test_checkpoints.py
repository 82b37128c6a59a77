"""Moves that wait for the next checkpoint: which, where in the plan, and what the judge says of them."""

import msgspec
import pytest

from scheduler.cluster.snapshot import Snapshot
from scheduler.consolidation.planner import Params, consolidate
from scheduler.performance.interruption import Rates
from scheduler.plan.checkpoints import Patience, with_waits
from scheduler.plan.operations import LEAVE, MOVE_ANYWAY, AfterCheckpoint
from scheduler.plan.plan import Plan, from_json
from scheduler.plan.resolve import resolve
from scheduler.plan.staleness import changes
from scheduler.plan.statement import keep, waiting_last
from scheduler.plan.verify import verify
from scheduler.pricing.bill import bill
from tests.builders.worlds import World, world

STOPS = {"move": "restart", "checkpoint_interval_s": 1800}
PATIENT = Patience(limit_s=1800, lag_s=15, otherwise=LEAVE)


def stopped(checkpoint_s: int = 4000) -> World:
    """It is 5,000 s; t on n1 wrote 1,000 s ago and writes again in 800 s; c on n2 is copied."""
    made = world(5000).nodes("n1", "n2", "n3").pod("z", "n3", 2, locked=True)
    return made.pod("t", "n1", 4, checkpoint_s=checkpoint_s, **STOPS).pod("c", "n2", 2)


def planned(made: World, patience: Patience = PATIENT) -> tuple[Plan, Snapshot]:
    snapshot = made.snapshot()
    plan = with_waits(consolidate(snapshot, Params()), snapshot, lambda model, tenant: patience)
    return waiting_last(plan, resolve(plan, snapshot)), snapshot


def waits(plan: Plan) -> dict[str, AfterCheckpoint]:
    return {move.pod: move.checkpoint for move in plan.moves if move.checkpoint is not None}


def test_a_move_that_waits_says_what_it_loses_and_stands_behind_the_others() -> None:
    plan, snapshot = planned(stopped())
    wait = AfterCheckpoint(lost_s=1000, lost_after_s=15, wait_s=800, limit_s=1800, otherwise=LEAVE)
    assert waits(plan) == {"jobs/t": wait}
    assert [(move.pod, wave) for move, wave in zip(plan.moves, plan.wave_of, strict=True)] == [
        ("jobs/c", 0), ("jobs/t", 1),
    ]  # fmt: skip
    assert verify(plan, snapshot).ok
    assert from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    ("made", "patience"),
    [
        (stopped(), Patience()),  # nobody wants to wait
        (stopped(), Patience(limit_s=799)),  # it would take too long
        (stopped(), Patience(limit_s=1800, lag_s=1000)),  # it would lose no less
        (stopped(4990), PATIENT),  # it has just written
        (world(5000).nodes("n1", "n3").pod("z", "n3", 2, locked=True).pod("t", "n1", 4, move="restart"), PATIENT),
        (world(5000).nodes("n1", "n3").pod("z", "n3", 2, locked=True)
         .pod("t", "n1", 4, checkpoint_s=4000, checkpoint_interval_s=1800), PATIENT),  # it is copied
    ],
)  # fmt: skip
def test_who_does_not_wait_leaves_the_plan_as_it_was(made: World, patience: Patience) -> None:
    plan, snapshot = planned(made, patience)
    assert plan.moves and not waits(plan)
    assert plan.to_json() == consolidate(snapshot, Params()).to_json()
    assert b"after_checkpoint" not in plan.to_json()


def test_who_is_needed_by_others_stays_where_it_is() -> None:
    """t makes room on n3 for w."""
    made = world(5000).nodes("n1", "n3").node("n4", 4).pod("y", "n3", 5, locked=True).pod("x", "n4", 2, locked=True)
    made.pod("t", "n3", 2, checkpoint_s=4000, **STOPS).pod("w", "n1", 3)
    plan, snapshot = planned(made)
    (move,) = [move for move in plan.moves if move.pod == "jobs/t"]
    needs = [other for other in plan.moves if plan.moves.index(move) in other.after]
    assert move.checkpoint is not None and [other.pod for other in needs] == ["jobs/w"]
    assert verify(plan, snapshot).ok


def test_members_of_a_gang_wait_in_waves_of_their_own() -> None:
    made = world(5000).nodes("n1", "n2", "n3", "n4").gang("g", 1).pod("z", "n4", 2, locked=True)
    for number in (1, 2):
        made.pod(f"t{number}", f"n{number}", 3, checkpoint_s=4000, gang="g", **STOPS)
    plan, snapshot = planned(made.pod("c", "n3", 1).pod("y", "n3", 7, locked=True, gpu_milli=1000))
    assert len(waits(plan)) >= 1
    where = [wave for move, wave in zip(plan.moves, plan.wave_of, strict=True) if move.checkpoint is not None]
    assert len(set(where)) == len(where)
    assert verify(plan, snapshot).ok


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("lost_s", 999, "says 999 s since its checkpoint"),
        ("wait_s", 1, "1 s to the next"),
        ("lost_after_s", 1000, "gains nothing by it"),
        ("otherwise", "perhaps", "gains nothing by it"),
        ("limit_s", 700, "at most 700 s are allowed"),
    ],
)
def test_the_judge_takes_no_wait_at_its_word(field: str, value: object, words: str) -> None:
    plan, snapshot = planned(stopped())
    moves = tuple(
        move if move.checkpoint is None
        else msgspec.structs.replace(
            move, after_checkpoint=msgspec.structs.replace(move.checkpoint, **{field: value})
        )
        for move in plan.moves
    )  # fmt: skip
    (wrong,) = verify(msgspec.structs.replace(plan, moves=moves), snapshot).violations
    assert wrong.kind == "checkpoint" and words in wrong.detail


def test_newer_checkpoints_are_no_change_and_a_job_that_tells_no_more_is() -> None:
    plan, snapshot = planned(stopped())
    assert changes(plan, snapshot, stopped(4900).snapshot()) == ()
    silent = world(5000).nodes("n1", "n2", "n3").pod("z", "n3", 2, locked=True)
    silent.pod("t", "n1", 4, move="restart").pod("c", "n2", 2)
    assert [(one.object, one.field) for one in changes(plan, snapshot, silent.snapshot())] == [("jobs/t", "checkpoint")]


def test_a_shorter_plan_asks_anew_whether_waiting_pays() -> None:
    plan, snapshot = planned(stopped())
    (chain,) = {move.chain for move in plan.moves if move.checkpoint is not None}
    assert waits(keep(plan, snapshot, {chain}))["jobs/t"].wait_s == 800
    later = stopped(4995).snapshot()
    fresh = keep(msgspec.structs.replace(plan, snapshot_digest=later.digest), later, {chain})
    assert not waits(fresh) and verify(fresh, later).ok


@pytest.mark.parametrize("otherwise", [LEAVE, MOVE_ANYWAY])
def test_the_price_is_that_of_waiting(otherwise: str) -> None:
    def rates(model: str, tenant: str) -> Rates:
        return Rates()

    plan, snapshot = planned(stopped(), Patience(limit_s=1800, lag_s=15, otherwise=otherwise))
    eager = consolidate(snapshot, Params())
    waited, at_once = (bill(one, snapshot, rates, 3600, 1) for one in (plan, eager))
    assert (at_once["lost"], at_once["waiting"], at_once["waits"]) == (4 * 1000, 0, 1)
    assert (waited["lost"], waited["waiting"], waited["lost_unwaited"]) == (4 * 15, 1, 4 * 985)
    assert at_once["spent"] - waited["spent"] == pytest.approx(4 * 985)
    assert sum(row["spent"] for row in waited["dearest"]) == pytest.approx(waited["spent"])
