"""The public cases that are about consolidation, as worlds."""

from tests.builders.worlds import World, world
from tests.scheduler.consolidation.planning import after, kept_of, moves_of, plan_of


def test_c04_a_move_waits_for_the_room_that_another_leaves() -> None:
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 6).pod("b", "n2", 4)
    made.pod("d", "n2", 2, locked=True).pod("e", "n3", 4, locked=True)
    plan = plan_of(made)
    assert moves_of(plan) == [("jobs/b", "n2", "n3"), ("jobs/a", "n1", "n2")]
    assert (plan.wave_of, plan.moves[1].after) == ((0, 1), (0,))


def test_c08_one_protected_pod_keeps_its_neighbours_and_agents_are_never_named() -> None:
    made = world().nodes("n1", "n2", "n3").pod("keep", "n1", 2, labels={"app": "keep"}).pod("x", "n1", 2)
    made.pod("y", "n2", 2).pod("z", "n3", 4, locked=True).budget("app=keep", max_unavailable=0)
    for node in ("n1", "n2", "n3"):
        made.agent(f"agent-{node}", node)
    plan = plan_of(made.agent("proxy", "n2", "Static"))
    assert [(move.pod, move.source) for move in plan.moves] == [("jobs/y", "n2")]
    assert plan.emptied_nodes == ("n2",)
    blockers = {blocker.pod for kept in plan.kept for blocker in kept.blockers}
    assert blockers == {"jobs/keep", "jobs/z"}


def eight_candidates() -> World:
    made = world().node("n0", labels={"zone": "z1"})
    made.node("c1", labels={"zone": "z1"}, cordoned=True).node("c2", labels={"zone": "z1"}, ready=False)
    taint = {"key": "dedicated", "value": "infer", "effect": "NoSchedule"}
    made.node("c3", labels={"zone": "z1"}, taints=[taint]).node("c4", labels={"zone": "z1"})
    made.node("c5", labels={"zone": "z2"}).node("c6", labels={"zone": "z1"}).node(
        "c7", labels={"zone": "z1"}, max_pods=1
    )
    made.pod("m", "n0", 2, labels={"app": "db"}, host_ports=[8476], volume_zone="z1")
    extra = {"c4": {"host_ports": [8476]}, "c6": {"anti_affinity": ["app=db"]}}
    for i in range(1, 8):
        made.pod(f"r{i}", f"c{i}", 6, locked=True, **extra.get(f"c{i}", {}))
    return made


def test_c34_seven_illegal_targets_have_seven_reasons() -> None:
    plan = plan_of(eight_candidates())
    assert plan.moves == ()
    reasons = ("cordoned", "not_ready", "taint", "host_port", "zone", "anti_affinity", "max_pods")
    assert kept_of(plan)["n0"].targets == dict.fromkeys(reasons, 1)


def test_c34_the_one_legal_target_is_taken() -> None:
    made = eight_candidates().node("c8", labels={"zone": "z1"}).pod("r8", "c8", 2, locked=True)
    assert moves_of(plan_of(made)) == [("jobs/m", "n0", "c8")]


def test_c35_one_slot_is_booked_once_and_then_nothing_moves() -> None:
    made = world().nodes("n1", "n2", "n3").pod("a", "n1", 4).pod("b", "n2", 4).pod("c", "n3", 4, locked=True)
    plan = plan_of(made)
    assert (len(plan.moves), plan.net_emptied) == (1, 1)
    once = after(made, plan)
    assert plan_of(once).moves == plan_of(once, seed=9).moves == ()


def test_c50_pods_of_one_name_are_told_apart_by_namespace() -> None:
    made = world().nodes("n1", "n2", "n3").pod("trainer-0", "n1", 4, namespace="a", locked=True)
    made.pod("trainer-0", "n2", 2, namespace="b").pod("base", "n3", 4, namespace="a", locked=True)
    plan = plan_of(made)
    assert [(move.pod, move.source) for move in plan.moves] == [("b/trainer-0", "n2")]
    assert plan.emptied_nodes == ("n2",)
