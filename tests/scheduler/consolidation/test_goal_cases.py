"""The public cases about consolidation, asked as goals: the same worlds, the same faults to avoid."""

from scheduler.consolidation.params import Ask
from scheduler.plan.plan import Plan
from tests.builders.worlds import World, world
from tests.scheduler.consolidation.planning import after, kept_of, moves_of, plan_of
from tests.scheduler.consolidation.test_cases import eight_candidates


def drained(made: World, *nodes: str, seed: int = 0) -> Plan:
    return plan_of(made, seed, goal=Ask(kind="drain", nodes=nodes))


def test_c04_a_seat_waits_for_nothing_but_its_room_is_made_copy_before_break() -> None:
    """The six GPUs of a stand on n2 only once the old copy of b is gone; so they do if a waits for a seat."""
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 6).pod("b", "n2", 4)
    made.pod("d", "n2", 2, locked=True).pod("e", "n3", 4, locked=True)
    plan = drained(made, "n1")
    assert moves_of(plan) == [("jobs/b", "n2", "n3"), ("jobs/a", "n1", "n2")]
    assert (plan.wave_of, plan.moves[1].after) == ((0, 1), (0,))
    made.rows["nodes"] = [row for row in made.rows["nodes"] if row["name"] != "n1"]
    made.rows["pods"] = [row for row in made.rows["pods"] if row["name"] != "a"]
    seated = plan_of(made.pod("a", None, 6), goal=Ask(kind="gang", name="jobs/a"))
    assert moves_of(seated) == [("jobs/b", "n2", "n3")]


def test_c08_a_protected_pod_keeps_its_node_and_agents_are_no_blockers() -> None:
    made = world().nodes("n1", "n2", "n3").pod("keep", "n1", 2, labels={"app": "keep"}).pod("x", "n1", 2)
    made.pod("y", "n2", 2).pod("z", "n3", 4, locked=True).budget("app=keep", max_unavailable=0)
    for node in ("n1", "n2", "n3"):
        made.agent(f"agent-{node}", node)
    plan = drained(made.agent("proxy", "n2", "Static"), "n1", "n2")
    assert [(move.pod, move.source, move.target) for move in plan.moves] == [("jobs/y", "n2", "n3")]
    assert [(b.pod, b.constraint) for b in kept_of(plan)["n1"].blockers] == [("jobs/keep", "budget")]


def test_c34_seven_illegal_targets_and_the_one_that_is_legal() -> None:
    reasons = ("cordoned", "not_ready", "taint", "host_port", "zone", "anti_affinity", "max_pods")
    made = eight_candidates()
    assert kept_of(drained(made, "n0"))["n0"].targets == dict.fromkeys(reasons, 1)
    waits = [{**row, "node": None} if row["name"] == "m" else row for row in made.rows["pods"]]
    made.rows["pods"] = [{key: value for key, value in row.items() if value is not None} for row in waits]
    made.rows["nodes"] = [row for row in made.rows["nodes"] if row["name"] != "n0"]
    waiting = plan_of(made, goal=Ask(kind="gang", name="jobs/m"))
    assert waiting.aim is not None
    assert waiting.aim.unseated[0].targets == dict.fromkeys(reasons, 1)
    found = plan_of(made.node("c8", labels={"zone": "z1"}), goal=Ask(kind="gang", name="jobs/m"))
    assert found.aim is not None
    assert [seat.node for seat in found.aim.seats] == ["c8"]


def test_c35_one_slot_is_booked_once_and_then_nothing_moves() -> None:
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 4).pod("b", "n2", 4).pod("c", "n3", 4, locked=True)
    plan = drained(made, "n1", "n2")
    assert (len(plan.moves), plan.aim and plan.aim.reached) == (1, 1)
    once = after(made, plan)
    assert drained(once, "n1", "n2").moves == drained(once, "n1", "n2", seed=9).moves == ()
