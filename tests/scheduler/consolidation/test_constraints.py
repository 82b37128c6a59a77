"""One small world per rule: the pod on n0 could go to ``near``, were it not for the rule, and goes to ``far``."""

from typing import Any

import pytest

from tests.builders.worlds import World, world
from tests.scheduler.consolidation.planning import kept_of, moves_of, plan_of

Fields = dict[str, Any]


def scene(pod: Fields, near: Fields, resident: Fields) -> World:
    """n0 with one pod; ``near`` is the fuller target, which a rule forbids; ``far`` is legal."""
    made = world().asw("asw-1").node("n0").node("near", **near).node("far")
    made.pod("m", "n0", 2, **pod)
    made.pod("r", "near", **{"gpus": 5, "locked": True, **resident})
    return made.pod("f", "far", 2, locked=True)


RULES: list[tuple[str, Fields, Fields, Fields]] = [
    ("cordoned", {}, {"cordoned": True}, {}),
    ("not_ready", {}, {"ready": False}, {}),
    ("taint", {}, {"taints": [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]}, {}),
    ("model", {"gpu_model": "H100-SXM5-80GB"}, {"gpu_model": "H20"}, {}),
    ("gpu_memory", {"gpu_memory_mib": 70_000}, {"gpu_memory_mib": 40_000}, {}),
    ("max_pods", {}, {"max_pods": 1}, {}),
    ("cpu", {"cpu_milli": 8000}, {"cpu_milli": 7000}, {}),
    ("memory", {"memory_mib": 100}, {"memory_mib": 99}, {}),
    ("gpus", {}, {"allocatable_gpus": 6}, {}),
    ("gpu_share", {"gpu_milli": 600}, {}, {"gpus": 7, "gpu_milli": 500}),
    ("host_port", {"host_ports": [80]}, {}, {"host_ports": [80]}),
    ("anti_affinity", {"anti_affinity": ["app=db"]}, {}, {"labels": {"app": "db"}}),
    ("anti_affinity", {"labels": {"app": "db"}}, {}, {"anti_affinity": ["app=db"]}),
]


@pytest.mark.parametrize(("reason", "pod", "near", "resident"), RULES)
def test_a_rule_sends_the_pod_past_the_better_fit(reason: str, pod: Fields, near: Fields, resident: Fields) -> None:
    made = scene(pod, near, resident)
    if reason == "gpu_memory":
        made.rows["nodes"][2]["gpu_memory_mib"] = 80_000
    assert moves_of(plan_of(made)) == [("jobs/m", "n0", "far")]


@pytest.mark.parametrize(("reason", "pod", "near", "resident"), RULES)
def test_without_a_legal_target_the_rule_is_named(reason: str, pod: Fields, near: Fields, resident: Fields) -> None:
    made = scene(pod, near, resident)
    made.rows["nodes"], made.rows["pods"] = made.rows["nodes"][:2], made.rows["pods"][:2]
    plan = plan_of(made)
    assert plan.moves == ()
    assert kept_of(plan)["n0"].targets == {reason: 1}


def test_without_any_rule_the_better_fit_wins() -> None:
    assert moves_of(plan_of(scene({}, {}, {}))) == [("jobs/m", "n0", "near")]


@pytest.mark.parametrize(
    ("pod", "near"),
    [
        ({"node_selector": {"pool": "a"}}, {"labels": {"pool": "b"}}),
        ({"volume_zone": "z1"}, {"zone": "z2"}),
        ({"affinity": ["app=web"], "namespace": "other"}, {}),
        ({"only_node": "n0"}, {}),
    ],
)
def test_no_target_at_all_means_no_move(pod: Fields, near: Fields) -> None:
    assert plan_of(scene(pod, near, {})).moves == ()


@pytest.mark.parametrize(
    ("word", "pod"),
    [
        ("locked", {"locked": True}),
        ("move_never", {"move": "never"}),
        ("terminating", {"terminating": True}),
        ("budget", {"labels": {"app": "db"}}),
    ],
)
def test_pods_that_may_not_move_keep_their_node(word: str, pod: Fields) -> None:
    made = scene(pod, {}, {}).budget("app=db", max_unavailable=0)
    plan = plan_of(made)
    assert plan.moves == ()
    kept = kept_of(plan)["n0"]
    assert (kept.reason, [b.pod for b in kept.blockers]) == (word, ["jobs/m"])


def test_a_budget_of_one_spreads_its_pods_over_waves() -> None:
    made = world().nodes("n0", "n1", "n2").budget("app=db", max_unavailable=1)
    for i in range(3):
        made.pod(f"m{i}", "n0", labels={"app": "db"})
    plan = plan_of(made.pod("f", "n1", 4, locked=True))
    assert (len(plan.moves), plan.wave_of) == (3, (0, 1, 2))


def test_a_gang_stays_in_its_domain() -> None:
    made = world().gang("g", 2, topology={"required": "asw"})
    made.asw("asw-1").nodes("n0", "n1").asw("asw-2").node("n2")
    made.pod("a", "n0", 2, gang="g").pod("b", "n1", 2, gang="g", locked=True).pod("r", "n2", 5, locked=True)
    assert moves_of(plan_of(made)) == [("jobs/a", "n0", "n1")]


def test_a_lender_stays_and_its_borrower_counts_once() -> None:
    made = world().nodes("n0", "n1", "n2").pod("sleeper", "n1", 4, standby=True)
    made.pod("guest", "n1", 4, tier="LP", lent_by="jobs/sleeper").pod("m", "n0", 4).pod("r", "n2", 7, locked=True)
    plan = plan_of(made)
    assert moves_of(plan) == [("jobs/m", "n0", "n1")]
    assert [b.constraint for b in kept_of(plan)["n1"].blockers] == ["lender", "gpus"]


def test_slices_go_where_their_profile_is_free() -> None:
    def cut(count: int) -> list[Fields]:
        return [{"index": 0, "mig": [{"profile": "1g.10gb", "count": count}]}]

    made = world().node("n0", devices=cut(2)).node("n1", devices=cut(1)).node("n2", devices=cut(4))
    made.pod("m", "n0", 0, mig={"1g.10gb": 2}).pod("r", "n1", 5, locked=True).pod("s", "n2", 2, locked=True)
    assert moves_of(plan_of(made)) == [("jobs/m", "n0", "n2")]


def test_a_pod_without_gpus_may_go_to_a_node_without_gpus() -> None:
    made = world().node("n0").node("cpu", 0).pod("m", "n0", 0, cpu_milli=1000)
    assert moves_of(plan_of(made)) == [("jobs/m", "n0", "cpu")]


def test_restarts_say_so() -> None:
    made = scene({"move": "restart"}, {}, {})
    assert [move.mode for move in plan_of(made).moves] == ["restart"]
