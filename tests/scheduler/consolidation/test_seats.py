"""Room for a pending gang and for slots of a shape: seats that hold together, by the fewest moves, and why not."""

from typing import Any

import pytest

from scheduler.consolidation.params import Ask
from scheduler.plan.goal import Goal
from scheduler.plan.plan import Plan
from scheduler.plan.statement import cut, marginal
from scheduler.plan.verify import verify
from tests.builders.worlds import World, world
from tests.scheduler.consolidation.planning import moves_of, plan_of


def seated(made: World, name: str = "jobs/g", **params: Any) -> Plan:
    return plan_of(made, goal=Ask(kind="gang", name=name), **params)


def roomy(made: World, shape: str, slots: int, whole: bool = False, **params: Any) -> Plan:
    return plan_of(made, goal=Ask(kind="shape", name=shape, slots=slots, whole=whole), **params)


def goal(plan: Plan) -> Goal:
    assert plan.aim is not None
    return plan.aim


def reached(plan: Plan) -> tuple[int, int]:
    return goal(plan).reached, goal(plan).wanted


def seats(plan: Plan) -> dict[str, str]:
    return {seat.who: seat.node for seat in goal(plan).seats}


def gang(made: World, members: int, gpus: int, **fields: Any) -> World:
    made.gang("g", members, **fields)
    for i in range(members):
        made.pod(f"w{i}", None, gpus, gang="g")
    return made


def test_a_gang_that_has_room_needs_no_move() -> None:
    plan = seated(gang(world().nodes("n1", "n2").pod("a", "n1", 4), 3, 4))
    assert (plan.moves, reached(plan), goal(plan).before) == ((), (3, 3), 3)


def test_the_fewest_leave_for_the_last_member() -> None:
    """n1 would have to lose two pods, n2 one; the small pod of n2 has a place on n1."""
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 2).pod("b", "n1", 2).pod("c", "n2", 2).pod("d", "n3", 4)
    plan = seated(gang(made.pod("e", "n3", 2, locked=True), 1, 8))
    assert moves_of(plan) in ([("jobs/c", "n2", "n3")], [("jobs/c", "n2", "n1")])
    assert (seats(plan), plan.moves[0].drains, plan.moves[0].depth) == ({"jobs/w0": "n2"}, "n2", 1)


def test_all_members_or_none() -> None:
    made = gang(world().nodes("n1", "n2").pod("a", "n1", 1).pod("b", "n2", 1, locked=True), 2, 8)
    plan = seated(made)
    assert (plan.moves, reached(plan)) == ((), (0, 2))
    assert plan.notes == ("all or nothing: 1 of 2 members would be reached",)
    assert reached(seated(made.node("n3"))) == (2, 2)


def test_chains_make_room_for_those_who_make_room() -> None:
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 4).pod("x", "n1", 2, locked=True)
    made.pod("b", "n2", 2).pod("y", "n2", 4, locked=True).pod("z", "n3", 6, locked=True)
    plan = seated(gang(made, 1, 6))
    assert moves_of(plan) == [("jobs/b", "n2", "n3"), ("jobs/a", "n1", "n2")]
    assert [move.depth for move in plan.moves] == [2, 1]
    assert seated(made, depth=1).moves == ()


def test_a_gang_of_required_topology_is_seated_under_one_switch() -> None:
    """Switch a has more free GPUs but a lock in the way; under b one pod makes room."""
    made = world().asw("a").nodes("a1", "a2").asw("b").nodes("b1", "b2").asw(None).nodes("u1", "u2")
    made.pod("l", "a1", 1, locked=True).pod("m", "b1", 1).pod("k", "u1", 6, locked=True)
    plan = seated(gang(made, 2, 8, topology={"required": "asw"}))
    assert moves_of(plan) == [("jobs/m", "b1", "u1")]
    assert set(seats(plan).values()) == {"b1", "b2"}


def test_unknown_places_are_not_one_domain() -> None:
    plan = seated(gang(world().asw("a").nodes("a1").asw(None).nodes("u1", "u2"), 2, 8, topology={"required": "asw"}))
    assert (plan.moves, reached(plan)) == ((), (1, 2))
    assert goal(plan).unseated[0].targets == {"gpus": 1, "topology": 2}


def test_running_members_hold_the_others_in_their_domain() -> None:
    made = world().asw("a").nodes("a1", "a2").asw("b").nodes("b1", "b2").gang("g", 3, topology={"required": "asw"})
    made.pod("w0", "a1", 8, gang="g").pod("w1", None, 8, gang="g").pod("w2", None, 8, gang="g").pod("m", "a2", 1)
    assert reached(seated(made)) == (0, 2)
    plan = seated(made.asw("a").node("a3").pod("n", "a3", 2))
    assert set(seats(plan).values()) == {"a2", "a3"}


def test_a_preferred_domain_is_taken_where_it_costs_no_more() -> None:
    made = world().asw("a").nodes("a1").asw("b").nodes("b1", "b2")
    plan = seated(gang(made, 2, 8, topology={"preferred": "asw"}))
    assert (plan.moves, set(seats(plan).values())) == ((), {"b1", "b2"})
    plan = seated(gang(world().asw("a").nodes("a1").asw("b").nodes("b1"), 2, 8, topology={"preferred": "asw"}))
    assert set(seats(plan).values()) == {"a1", "b1"}


REFUSED = {
    "nobody of it waits": (lambda w: w.gang("g", 1).pod("w0", "n1", 1, gang="g"), "nobody of it waits for a place"),
    "too few": (lambda w: w.gang("g", 3).pod("w0", None, 1, gang="g"), "it has 1 members, and starts with 3"),
    "no such level": (
        lambda w: w.gang("g", 1, topology={"required": "row"}).pod("w0", None, 1, gang="g"),
        "it requires one row, and no network domain of that level is known",
    ),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_what_no_move_could_help_is_refused_with_its_reason(case: str) -> None:
    make, reason = REFUSED[case]
    plan = seated(make(world().nodes("n1")))
    assert (plan.moves, goal(plan).refused) == ((), reason)


def test_a_pod_is_named_for_its_whole_gang_and_a_lone_pod_for_itself() -> None:
    made = gang(world().nodes("n1", "n2"), 2, 8).pod("alone", None, 8)
    assert set(seats(seated(made, "jobs/w1"))) == {"jobs/w0", "jobs/w1"}
    plan = seated(made, "jobs/alone")
    assert (goal(plan).unit, set(seats(plan))) == ("pods", {"jobs/alone"})


def test_what_would_unblock_it_is_named() -> None:
    """n2 would do if its lock went; n1 is too far."""
    made = world().nodes("n1", "n2", "n3").node("n4", cordoned=True).pod("x", "n1", 8, locked=True)
    made.pod("held", "n2", 2, locked=True).pod("y", "n3", 6, locked=True).pod("p", None, 7)
    missing = goal(seated(made, "jobs/p")).unseated
    assert [(m.reason, m.missing, m.unit, m.node, m.blockers, m.targets) for m in missing] == [
        ("gpus", 1, "gpus", "n2", ("jobs/held",), {"cordoned": 1, "gpus": 3})
    ]


LONELY = {  # the pod's own fields, the only node's, who stands there and never moves
    "taint": ({}, {"taints": [{"key": "k", "effect": "NoSchedule"}]}, {}),
    "zone": ({"volume_zone": "z1"}, {"zone": "z2"}, {}),
    "host_port": ({"host_ports": [80]}, {}, {"host_ports": [80]}),
    "anti_affinity": ({"labels": {"app": "db"}}, {}, {"anti_affinity": ["app=db"]}),
    "affinity": ({"affinity": ["app=db"]}, {}, {}),
    "max_pods": ({}, {"max_pods": 1}, {}),
    "gpu_share": ({"gpu_milli": 600}, {"gpus": 1}, {"gpu_milli": 500}),
    "cpu": ({"cpu_milli": 4000}, {"cpu_milli": 4000}, {"cpu_milli": 1}),
    "memory": ({"memory_mib": 2}, {"memory_mib": 2}, {"memory_mib": 1}),
}


@pytest.mark.parametrize("reason", sorted(LONELY))
def test_no_seat_that_breaks_a_rule(reason: str) -> None:
    asks, node, there = LONELY[reason]
    made = world().node("n1", **node).pod("r", "n1", **{"gpus": 1, "locked": True, **there})
    plan = seated(made.pod("p", None, **{"gpus": 1, **asks}), "jobs/p")
    assert (reached(plan), goal(plan).unseated[0].targets) == ((0, 1), {reason: 1})


def test_slots_want_gpus_and_cpu_together() -> None:
    """Eight GPUs are free on n1, but not the CPU: the pod that holds it goes where no GPU is free."""
    made = world().nodes("n1", "n2").pod("hog", "n1", 0, cpu_milli=64_000).pod("full", "n2", 8, cpu_milli=32_000)
    plan = roomy(made, "8G128C", 1)
    assert moves_of(plan) == [("jobs/hog", "n1", "n2")]
    assert (seats(plan), plan.bound.proven) == ({"slot 1": "n1"}, True)


def test_as_many_slots_as_there_can_be_each_with_its_chain() -> None:
    made = world().nodes("n1", "n2", "n3", "n4").pod("a", "n1", 2).pod("b", "n2", 2).pod("c", "n3", 2, locked=True)
    plan = roomy(made, "8G64C", 5)
    assert (reached(plan), goal(plan).before, len(plan.moves)) == ((3, 5), 1, 2)
    assert (plan.bound.net_upper, plan.bound.proven) == (3, True)
    assert marginal(plan) == [(0, 1), (1, 2), (2, 3)]
    assert roomy(made, "8G64C", 5, whole=True).moves == ()


def test_a_shorter_plan_keeps_the_seats_that_hold_without_the_rest() -> None:
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 2).pod("b", "n2", 2).pod("c", "n3", 2, locked=True)
    shorter = cut(roomy(made, "8G64C", 2), made.snapshot(), 1)
    assert (reached(shorter), len(shorter.moves), verify(shorter, made.snapshot()).ok) == ((1, 2), 1, True)


def test_only_models_in_scope_count() -> None:
    made = world().node("n1", gpu_model="H20").node("n2", gpu_model="H100")
    plan = roomy(made, "8G64C", 2, models=("H20",))
    assert (reached(plan), seats(plan), goal(plan).models) == ((1, 2), {"slot 1": "n1"}, ("H20",))


def test_a_seat_that_is_there_is_given_up_for_two_others() -> None:
    """n1 and n2 have a seat each; s leaves n2 for the place of the one on n1, and n2 has three."""
    made = world().node("n1", gpus=4, max_pods=3).node("n2", gpus=4).pod("a", "n1", 2, locked=True)
    made.pod("c", "n1", 0, locked=True).pod("s", "n2", 2).pod("b", "n2", 1, locked=True)
    plan = roomy(made, "1G1C", 3)
    assert (reached(plan), goal(plan).before, moves_of(plan)) == ((3, 3), 2, [("jobs/s", "n2", "n1")])
    assert marginal(plan) == [(0, 2), (1, 3)]


def test_slices_of_a_device_hold_no_whole_gpu_and_company_does_not_hide_who_does() -> None:
    """n1 has three whole devices, of which l holds two; w wants two and the company of s, which has a slice."""
    devices = [{"index": 0, "mig": [{"profile": "1g.10gb", "count": 4}]}, *({"index": i} for i in (1, 2, 3))]
    made = world().node("n1", gpus=4, devices=devices).pod("l", "n1", 2, locked=True)
    made.pod("s", "n1", 0, mig={"1g.10gb": 1}, labels={"app": "s"}, locked=True)
    missing = goal(seated(made.pod("w", None, 2, affinity=["app=s"]), "jobs/w")).unseated
    assert [(m.reason, m.missing, m.node, m.blockers) for m in missing] == [("gpus", 1, "n1", ("jobs/l",))]
