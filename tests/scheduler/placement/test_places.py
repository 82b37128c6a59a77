"""Scenarios: a world and a request in, a placement or a reason out."""

from typing import Any

import pytest

from scheduler.cluster.snapshot import PodSpec
from scheduler.placement.planner import Group, Placement, Policy, Request, place, request_of
from scheduler.plan.ask import ParamError
from tests.builders.worlds import World, world


def ask(count: int = 1, gpus: int = 8, *, required: str = "", preferred: str = "", **fields: Any) -> Request:
    return Request(groups=(Group(count=count, gpus=gpus, **fields),), required=required, preferred=preferred)


def racks(*sizes: int, busy: dict[str, int] | None = None) -> World:
    """Switches asw-0, asw-1, ... of so many nodes n00, n01, ...; ``busy``: GPUs that one pod holds there."""
    made = world()
    for rack, size in enumerate(sizes):
        made.asw(f"asw-{rack}").nodes(*(f"n{rack}{i}" for i in range(size)))
    for node, gpus in (busy or {}).items():
        made.pod(f"on-{node}", node, gpus=gpus)
    return made


def nodes(found: Placement) -> list[str]:
    assert found.ok, found.refusal
    return [node for _, node in found.assignment]


# ---- where it goes ---------------------------------------------------------------------------------------------------


def test_a_partly_used_domain_that_holds_it_keeps_the_free_one_whole() -> None:
    made = racks(2, 3, busy={"n10": 8})
    assert nodes(place(made.snapshot(), ask(2))) == ["n11", "n12"]
    open_all = place(made.snapshot(), ask(2), Policy(keep_whole=False))
    assert open_all.domains == ("asw-0",)  # the tighter one


def test_several_borrow_from_one_sleeper() -> None:
    made = world().node("n1", 4).pod("s", "n1", 4, standby=True, standby_until_s=9000).gang("g", 2)
    for name in ("h", "i"):
        made.pod(name, gpus=2, gang="g", tier="LP", lent_by="jobs/s")
    found = place(made.snapshot(), request_of(made.snapshot(), "jobs/g"))
    assert nodes(found) == ["n1", "n1"]


def test_a_pod_keeps_free_nodes_whole_and_fills_the_fullest() -> None:
    made = racks(3, busy={"n01": 4, "n02": 6})
    assert nodes(place(made.snapshot(), ask(gpus=2))) == ["n02"]
    assert nodes(place(made.snapshot(), ask(gpus=4))) == ["n01"]
    assert nodes(place(made.snapshot(), ask(gpus=8))) == ["n00"]


def test_a_job_that_no_domain_holds_takes_the_fewest_and_the_tightest_for_the_rest() -> None:
    found = place(racks(4, 2, 3, 1).snapshot(), ask(6))
    assert found.best is not None
    assert found.best.gpus_by_domain == (("asw-0", 32), ("asw-1", 16))
    assert found.entropy == pytest.approx(0.6365, abs=1e-4)
    assert found.best.predicted.crosses


def test_the_level_below_decides_inside_the_level_above() -> None:
    made = world()
    for pod in range(2):
        made.domain(f"pod-{pod}", "pod")
        for rack in range(2):
            made.domain(f"r{pod}{rack}", "rack", f"pod-{pod}").within(f"r{pod}{rack}")
            made.nodes(*(f"n{pod}{rack}{i}" for i in range(2)))
    made.pod("busy", "n000", gpus=8)
    found = place(made.snapshot(), ask(3))
    assert found.best is not None
    assert (found.best.level, found.best.domain) == ("pod", "pod-0")  # three nodes free of four: the tighter pod
    assert nodes(found) == ["n001", "n010", "n011"]
    assert place(made.snapshot(), ask(4)).best.domain == "pod-1"  # type: ignore[union-attr]
    assert place(made.snapshot(), ask(3, required="rack")).reason == "topology"


def test_slices_stand_together_though_the_job_is_spread() -> None:
    made = racks(3, 3, 2)
    found = place(made.snapshot(), ask(6, slice_pods=2, slice_level="asw"))
    assert found.best is not None
    assert dict(found.best.gpus_by_domain) == {"asw-0": 16, "asw-1": 16, "asw-2": 16}
    assert place(made.snapshot(), ask(8, slice_pods=2, slice_level="asw")).reason == "topology"


def test_groups_of_a_job_may_each_want_a_domain_of_their_own() -> None:
    made = racks(2, 2)
    groups = tuple(Group(name=name, count=2, gpus=8, required="asw") for name in ("left", "right"))
    found = place(made.snapshot(), Request(groups=groups))
    assert sorted(nodes(found)) == ["n00", "n01", "n10", "n11"]
    assert len({node[:2] for node in nodes(found)[:2]}) == 1


def test_a_launcher_without_gpus_stands_beside_its_workers() -> None:
    made = racks(2, 1)
    groups = (Group(name="worker", count=2, gpus=8), Group(name="launcher", cpu_milli=1000))
    found = place(made.snapshot(), Request(groups=groups, required="asw"))
    assert [node[:2] for node in nodes(found)] == ["n0"] * 3


def test_one_job_stays_within_one_gpu_model_unless_it_may_mix_them() -> None:
    made = world().asw("a").nodes("x1", "x2", gpu_model="H20").nodes("y1", "y2", gpu_model="A100-SXM4-80GB")
    made.node("c1", 0, gpu_model="")
    two = place(made.snapshot(), ask(2))
    assert {one.models for one in (two.best, *two.alternatives) if one} == {("A100-SXM4-80GB",), ("H20",)}
    refused = place(made.snapshot(), ask(3))
    assert refused.refusal is not None
    assert (refused.reason, refused.refusal.proven) == ("one_model", True)
    assert refused.largest_fit[-1].pods == 2
    mixing = Request(groups=ask(3).groups, may_mix_models=True)
    assert len({node[0] for node in nodes(place(made.snapshot(), mixing))}) == 2
    assert place(made.snapshot(), ask(3, models=("H20",))).reason == "gpus"
    launched = Request(groups=(Group(name="worker", count=2, gpus=8, cpu_milli=128_000), Group(cpu_milli=1)))
    assert nodes(place(made.snapshot(), launched))[2] not in nodes(place(made.snapshot(), launched))[:2]
    contrary = Request(groups=(Group(name="a", gpus=8, models=("H20",)), Group(name="b", gpus=8, models=("T4",))))
    assert place(made.snapshot(), contrary).reason == "model"


# ---- why it does not -------------------------------------------------------------------------------------------------

REASONS: dict[str, tuple[World, Request, str]] = {
    "model": (racks(1), ask(models=("T4",)), "model"),
    "more GPUs than a node has": (racks(2), ask(gpus=16), "gpus"),
    "all used": (racks(1, busy={"n00": 1}), ask(), "gpus"),
    "cpu": (racks(2), ask(3, gpus=1, cpu_milli=100_000), "cpu"),
    "memory": (racks(1), ask(gpus=1, memory_mib=2 << 20), "memory"),
    "device memory": (racks(1), ask(gpus=1, gpu_memory_mib=40_000), "gpu_memory"),
    "share": (racks(1, busy={"n00": 8}), ask(gpus=1, gpu_milli=500), "gpu_share"),
    "slices": (racks(1), ask(gpus=0, mig=(("1g.10gb", 1),)), "mig"),
    "pods": (world().node("n", max_pods=1).pod("a", "n"), ask(gpus=1), "max_pods"),
    "cordoned": (world().node("n", cordoned=True), ask(), "cordoned"),
    "level": (racks(2, 2), ask(3, required="asw"), "topology"),
}


@pytest.mark.parametrize("case", REASONS)
def test_the_reason_is_told_and_proven(case: str) -> None:
    made, request, reason = REASONS[case]
    found = place(made.snapshot(), request)
    assert (found.ok, found.assignment, found.reason) == (False, (), reason)
    assert found.refusal is not None
    assert found.refusal.proven


def test_a_search_that_gave_up_does_not_say_that_nothing_exists() -> None:
    made = racks(6)
    groups = (Group(name="a", count=5, gpus=5), Group(name="b", count=3, gpus=4))
    proven, cut = (place(made.snapshot(), Request(groups=groups), Policy(budget=most)) for most in (20_000, 2))
    assert (proven.reason, cut.reason) == ("together", "budget")
    assert [one.refusal and one.refusal.proven for one in (proven, cut)] == [True, False]


def test_every_way_is_looked_at_before_several_groups_are_refused() -> None:
    """The hardest first would take the node with the memory for the group that does not need it."""
    made = world().node("n1", 8, memory_mib=100).node("n2", 8, memory_mib=1000).node("n3", 6, memory_mib=100)
    groups = (Group(name="a", count=2, gpus=6), Group(name="b", count=1, gpus=5, memory_mib=500))
    assert nodes(place(made.snapshot(), Request(groups=groups)))[2] == "n2"


def test_shares_beside_listed_devices_lie_anew() -> None:
    """Of two devices one is touched by a share that is bound to it, the other by one that would move there."""
    made = world().node("n1", 2).pod("bound", "n1", gpu_milli=500, devices=[1]).pod("loose", "n1", gpu_milli=500)
    assert nodes(place(made.snapshot(), ask(gpus=1))) == ["n1"]
    assert place(made.snapshot(), ask(gpus=2)).reason == "gpus"


WORDS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "ports": ({}, {"host_ports": (80,)}, "host_port"),
    "slices": ({"devices": [{"index": 0, "mig": [{"profile": "1g.10gb", "count": 1}]}]}, {}, "mig"),
    "places": ({"max_pods": 2}, {}, "max_pods"),
}


@pytest.mark.parametrize("case", WORDS)
def test_the_word_is_the_rule_that_costs_most_room(case: str) -> None:
    node, rules, word = WORDS[case]
    made = world().node("n1", **node).node("n2", **node).pod("a", "n1").pod("b", "n2", host_ports=[80])
    asked = ask(3, gpus=0 if word == "mig" else 1, rules=PodSpec(**rules), mig=(("1g.10gb", 1),) * (word == "mig"))
    assert place(made.snapshot(), asked).reason == word


def test_the_most_that_fits_is_told_by_level() -> None:
    found = place(racks(3, 2, busy={"n00": 8}).snapshot(), ask(3, required="asw"))
    assert [(fit.level, fit.gpus) for fit in found.largest_fit] == [("host", 8), ("asw", 16), ("cluster", 32)]
    few = place(racks(3, 2).snapshot(), ask(1, gpus=4))
    assert [(fit.level, fit.pods) for fit in few.largest_fit] == [("host", 2), ("asw", 6), ("cluster", 10)]


def test_wishes_that_cannot_be_are_refused() -> None:
    with pytest.raises(ParamError, match="required: must be host, asw, cluster"):
        place(racks(1).snapshot(), ask(required="agg"))
    with pytest.raises(ParamError, match="slice_pods: must divide"):
        Group(count=4, slice_pods=3, slice_level="asw")
    with pytest.raises(ParamError, match="packing"):
        Policy(packing=float("nan"))


# ---- what speaks for it ----------------------------------------------------------------------------------------------


def test_evictions_part_hp_from_lp() -> None:
    made = racks(2)
    only = Policy(packing=0, same_class=0, fragmentation=0, network_load=0, power=0, eviction_history=1)
    seen = {"n00": 5, "n01": 1}
    for tier, node in (("LP", "n01"), ("HP", "n00")):
        request = Request(groups=(Group(gpus=1),), tier=tier)
        assert nodes(place(made.snapshot(), request, only, evictions=seen)) == [node]
    assert place(made.snapshot(), ask(gpus=1), only).terms["eviction_history"] is None


def test_each_pool_may_have_a_policy_of_its_own() -> None:
    made = world().asw("a").nodes("x1", "x2", gpu_model="H20").nodes("y1", "y2").pod("p", "x1").pod("q", "y1")
    spread = Policy(
        packing=0, same_class=0, fragmentation=0, network_load=0, power=0, eviction_history=1, keep_whole=False
    )
    seen = {"x1": 9, "x2": 0, "y1": 9, "y2": 0}
    for model, node in (("H20", "x2"), ("H100-SXM5-80GB", "y1")):
        request = Request(groups=(Group(gpus=1, models=(model,)),), tier="LP")
        assert nodes(place(made.snapshot(), request, pools={"H20": spread}, evictions=seen)) == [node]
    both = place(
        made.snapshot(), Request(groups=(Group(count=2, gpus=1),), tier="LP"), pools={"H20": spread}, evictions=seen
    )
    assert {option.models: set(option.terms) for option in (both.best, *both.alternatives) if option}[("H20",)] == {
        "eviction_history",
        "entropy",
    }


def test_a_job_may_prefer_what_nobody_knows_and_must_not_require_it() -> None:
    for wish, reason in (("preferred", ""), ("required", "topology")):
        made = racks(1).gang("g", 1, topology={wish: "rack"}).pod("g-0", gang="g")
        assert place(made.snapshot(), request_of(made.snapshot(), "jobs/g")).reason == reason


def test_equals_stand_beside_equals() -> None:
    made = racks(2, busy={"n00": 2}).pod("low", "n01", gpus=2, tier="LP")
    only = Policy(packing=0, fragmentation=0, network_load=0, power=0, same_class=1)
    assert nodes(place(made.snapshot(), Request(groups=(Group(gpus=1),), tier="LP"), only)) == ["n01"]
    assert nodes(place(made.snapshot(), ask(gpus=1), only)) == ["n00"]


def test_a_switch_full_of_crossing_traffic_is_avoided() -> None:
    made = racks(3, 3, 1).gang("g", 2)
    made.pod("g-0", "n00", gpus=8, gang="g").pod("g-1", "n20", gpus=8, gang="g").pod("x", "n10", gpus=8)
    found = place(made.snapshot(), ask(2))
    assert nodes(found) == ["n11", "n12"]
    assert found.terms["network_load"] == 1.0
    assert found.alternatives[0].terms["network_load"] == pytest.approx(1 - 8 / 24)


def test_terms_are_weighed_and_unknown_ones_left_out() -> None:
    found = place(racks(1).snapshot(), ask(gpus=4))
    known = {name: value for name, value in found.terms.items() if value is not None}
    assert found.terms["same_class"] is None
    weights = Policy()
    mean = sum(weights.weight(k) * v for k, v in known.items()) / sum(weights.weight(k) for k in known)
    assert found.best is not None
    assert found.best.score == pytest.approx(mean)
    assert found.terms["fragmentation"] is None  # nobody asks for anything, so F(M) is unknown


# ---- cases of the public list ----------------------------------------------------------------------------------------


def test_c16_unknown_is_no_common_domain() -> None:
    made = world().asw(None).nodes("n1", "n2", "n3", "n4").asw("asw-1").nodes("n5", "n6").node("c1", 0)
    made.pod("busy", "n5", gpus=8, locked=True)
    for wish, ok in (("required", False), ("preferred", True)):
        asked = made.without()
        asked.gang("g", 2, topology={wish: "asw"}).pod("g-0", gpus=8, gang="g").pod("g-1", gpus=8, gang="g")
        found = place(asked.snapshot(), request_of(asked.snapshot(), "jobs/g"))
        assert found.ok == ok
        assert set(found.domains) <= {"asw-1"}
        if ok:
            assert set(nodes(found)) < {"n1", "n2", "n3", "n4", "n6"}
            assert found.entropy == pytest.approx(0.6931, abs=1e-4)


def test_c38_what_no_node_can_hold_is_told_first() -> None:
    made = world().nodes("n1", "n2", "n3").pod("l1", "n1", gpus=8, tier="LP").pod("l2", "n2", gpus=8, tier="LP")
    made.pod("l3", "n3", gpus=4, tier="LP").pod("k", "n3", gpus=4, labels={"app": "db"})
    made.pod("h1", gpu_model="H100-PCIe-80GB").pod("h2", gpus=16)
    made.pod("h3", gpus=4, anti_affinity=["app=db"], only_node="n3")
    snapshot = made.snapshot()
    found = {job: place(snapshot, request_of(snapshot, f"jobs/{job}")).reason for job in ("h1", "h2", "h3")}
    assert found == {"h1": "model", "h2": "gpus", "h3": "gpus"}
    alone = made.without("jobs/l3").snapshot()
    assert place(alone, request_of(alone, "jobs/h3")).reason == "anti_affinity"


def test_c41_finished_members_do_not_count() -> None:
    made = world().node("n1").gang("g", 4).pod("g-0", "n1", gpus=4, gang="g", phase="Succeeded")
    for i in (1, 2, 3):
        made.pod(f"g-{i}", gpus=4, gang="g")
    found = place(made.snapshot(), request_of(made.snapshot(), "jobs/g"))
    assert (found.ok, found.reason) == (False, "members")
    enough = made.pod("g-4", gpus=4, gang="g").snapshot()
    assert place(enough, request_of(enough, "jobs/g")).reason == "gpus"


def test_c43_names_are_compared_whole_and_a_gang_is_completed_where_it_runs() -> None:
    made = world().asw("asw-1").node("n1").node("n2", ready=False).asw("asw-10").nodes("n3", "asw-10")
    for gang in ("g", "k"):
        made.gang(gang, 2, topology={"required": "asw"})
    made.pod("g-0", "n1", gpus=8, gang="g").pod("g-1", gpus=8, gang="g")
    made.pod("k-0", gpus=8, gang="k").pod("k-1", gpus=8, gang="k")
    snapshot = made.snapshot()
    assert place(snapshot, request_of(snapshot, "jobs/g")).reason == "topology"
    found = place(snapshot, request_of(snapshot, "jobs/k"))
    assert (sorted(nodes(found)), found.domains) == (["asw-10", "n3"], ("asw-10",))
