"""One world for each reason a job may wait for, and the worlds of the public case list that are about it."""

from dataclasses import replace
from typing import Any

import pytest

from scheduler.admission.planner import Explained, explain
from scheduler.admission.reasons import PRECEDENCE
from scheduler.placement.planner import place, request_of
from tests.builders.worlds import World, world


def _asked(built: World, **asked: Any) -> Explained:
    return explain(built.snapshot(), **asked)


def _words(found: Explained) -> dict[str, str]:
    return {row.key.partition("/")[2]: row.reason.word for row in found.rows}


def _one(built: World, key: str) -> tuple[str, dict[str, Any]]:
    row = _asked(built).row(f"jobs/{key}")
    assert row is not None
    return row.reason.word, dict(row.reason.numbers)


def _switch(*names: str) -> World:
    return world().asw("asw-1").nodes(*names)


REQUIRED = {"required": "asw"}
QUOTA = [{"gpu_model": "H100-SXM5-80GB", "nominal": 8}]

SCENES: dict[str, tuple[World, str, dict[str, Any]]] = {
    "room and nobody before it": (_switch("n1").pod("h"), "fits_now", {"first_node": "n1"}),
    "fewer members than the gang starts with": (
        _switch("n1").gang("g", 4).pod("h", gpus=1, gang="g"),
        "misconfigured", {"fault": "members", "members": 1, "min_members": 4},
    ),
    "larger than any node": (
        _switch("n1").pod("h", gpus=16), "misconfigured",
        {"fault": "size", "asked_gpus": 16, "largest_gpus": 8},
    ),
    "more CPU than any node": (
        _switch("n1").pod("h", cpu_milli=129_000), "misconfigured",
        {"asked_cpu_milli": 129_000, "largest_cpu_milli": 128_000},
    ),
    "a level that nobody knows": (
        _switch("n1").pod("h", topology={"required": "rack"}),
        "misconfigured", {"fault": "level", "level": "rack", "known": "asw"},
    ),
    "a selector that no node meets": (
        _switch("n1").pod("h", node_selector={"disk": "fast"}),
        "misconfigured", {"fault": "selector", "nodes_of_model": 1},
    ),
    "a node that is not there": (
        _switch("n1").pod("h", only_node="n9"), "misconfigured", {"fault": "only_node"}
    ),
    "friends that it refuses": (
        _switch("n1").pod("h", affinity=["app=db"], anti_affinity=["app=db"]),
        "misconfigured", {"fault": "affinity", "label": "app=db"},
    ),
    "members that accept no model in common": (
        _switch("n1").node("n2", gpu_model="H20").gang("g", 2)
        .pod("h", gang="g", gpu_model="H20").pod("i", gang="g", gpu_model="H100-SXM5-80GB"),
        "misconfigured", {"fault": "models"},
    ),
    "more GPUs under one switch than it has": (
        _switch("n1").gang("g", 2, topology=REQUIRED).pod("h", gpus=8, gang="g").pod("i", gpus=8, gang="g"),
        "misconfigured", {"fault": "domain_size", "asked_gpus": 16, "largest_gpus": 8, "level": "asw"},
    ),
    "a pod that no single node could hold": (
        _switch("n1").node("n2", 2, memory_mib=2 << 20).pod("h", gpus=4, memory_mib=2 << 20),
        "misconfigured", {"fault": "size", "asked_gpus": 4, "asked_memory_mib": 2 << 20},
    ),
    "more CPU than the whole cluster": (
        _switch("n1").pod("a", "n1", 4).gang("g", 2).pod("h", cpu_milli=96_000, gang="g")
        .pod("i", cpu_milli=96_000, gang="g"),
        "misconfigured", {"fault": "cluster_size", "asked_pods": 2, "seated_pods": 1},
    ),
    "a node under no switch": (
        _switch("n1").asw(None).node("n2").pod("a", "n2", 8).pod("h", only_node="n2", topology=REQUIRED),
        "misconfigured", {"fault": "domain_size", "level": "asw", "seated_pods": 0},
    ),
    "room beside the taint, but under another switch": (
        _switch("n1").asw(None).node("n2", taints=[{"key": "k", "effect": "NoSchedule"}]).pod("a", "n1", 8)
        .pod("h", gpus=4, topology=REQUIRED),
        "capacity", {"short_of": "gpus"},
    ),
    "a model that nobody has, without GPUs": (
        _switch("n1").pod("h", gpus=0, gpu_model="H20"), "no_such_model", {"models": "H20"}
    ),
    "a model that nobody has": (
        _switch("n1").pod("h", gpu_model="H20"), "no_such_model", {"models": "H20", "there": "H100-SXM5-80GB"}
    ),
    "its tenant's quota": (
        _switch("n1", "n2").tenant("t1", quotas=QUOTA).pod("a", "n1", 6).pod("h", gpus=3), "quota",
        {"limit": "nominal", "asked_milli": 3000, "available_milli": 2000, "missing_milli": 1000, "possible": 1},
    ),
    "more than its quota will ever be": (
        _switch("n1", "n2").tenant("t1", quotas=QUOTA).gang("g", 2).pod("h", gpus=8, gang="g").pod("i", gang="g"),
        "quota", {"possible": 0, "limit_milli": 8000},
    ),
    "the company on every node": (
        _switch("n1").pod("k", "n1", labels={"app": "db"}).pod("h", anti_affinity=["app=db"]),
        "constraint", {"constraint": "anti_affinity", "pods": "jobs/k", "nodes": 1},
    ),
    "company that it needs": (
        _switch("n1").pod("h", affinity=["app=db"]), "constraint", {"constraint": "affinity"}
    ),
    "room where it does not tolerate the taint": (
        _switch("n1").node("n2", taints=[{"key": "k", "effect": "NoSchedule"}]).pod("a", "n1", 8).pod("h", gpus=4),
        "constraint", {"constraint": "taint", "nodes": 1},
    ),
    "room, but under two switches": (
        world().asw("asw-1").nodes("n1", "n2").asw("asw-2").nodes("n3", "n4").pod("a", "n1", 8).pod("b", "n3", 8)
        .gang("g", 2, topology=REQUIRED).pod("h", gpus=8, gang="g").pod("i", gpus=8, gang="g"),
        "topology", {"level": "asw", "asked_pods": 2, "seated_pods": 1},
    ),
    "free GPUs in small pieces": (
        _switch("n1", "n2").pod("a", "n1", 5).pod("b", "n2", 5).pod("h", gpus=6),
        "fragmentation", {"cause": "stranded", "free_milli": 6000, "asked_milli": 6000},
    ),
    "free GPUs without the CPU": (
        _switch("n1", "n2").pod("a", "n1", 1, cpu_milli=100_000).pod("b", "n2", 1, cpu_milli=100_000)
        .pod("h", gpus=4, cpu_milli=48_000),
        "fragmentation", {"cause": "cpu_memory", "free_milli": 14_000},
    ),
    "free GPUs without memory, and memory without GPUs": (
        _switch("n1", "n2").pod("a", "n1", 4, memory_mib=1 << 20).pod("b", "n2", 8).pod("h", memory_mib=1024),
        "fragmentation", {"cause": "cpu_memory", "free_milli": 4000},
    ),
    "leftovers of shared devices": (
        world().node("n1", 2).pod("a", "n1", 1, gpu_milli=600).pod("b", "n1", 1, gpu_milli=600)
        .pod("h", gpus=1, gpu_milli=500),
        "fragmentation", {"free_milli": 800, "asked_milli": 500},
    ),
    "too little even in sum": (
        _switch("n1").pod("a", "n1", 5).pod("h", gpus=4), "capacity",
        {"short_of": "gpus", "free_milli": 3000, "missing_milli": 1000},
    ),
    "nodes that are out of service": (
        _switch("n1").node("n2", cordoned=True).pod("a", "n1", 8).pod("h", gpus=4), "capacity",
        {"out_of_service_gpus": 8, "nodes": 1},
    ),
    "slices that are taken": (
        world().node("n1", 1, devices=[{"index": 0, "mig": [{"profile": "1g.10gb", "count": 4}]}])
        .pod("q", "n1", 0, mig={"1g.10gb": 3}).pod("h", gpus=0, mig={"1g.10gb": 2}),
        "capacity", {"slices": "2 x 1g.10gb (1 free)"},
    ),
    "members that are leaving": (
        _switch("n1").gang("g", 2).pod("v", "n1", 1, gang="g", terminating=True).pod("h", gang="g"),
        "misconfigured", {"fault": "members", "leaving_members": 1},
    ),
    "slices for two on one node": (
        world().node("n1", 1, devices=[{"index": 0, "mig": [{"profile": "1g.10gb", "count": 3}]}]).gang("g", 2)
        .pod("h", gpus=0, gang="g", mig={"1g.10gb": 1}).pod("i", gpus=0, gang="g", mig={"1g.10gb": 1}),
        "fits_now", {"nodes": 1},
    ),
    "device memory for two shares of one device": (
        world().node("n1", 1, gpu_memory_mib=100).gang("g", 2)
        .pod("h", gpu_milli=400, gpu_memory_mib=50, gang="g").pod("i", gpu_milli=400, gpu_memory_mib=50, gang="g"),
        "fits_now", {"nodes": 1},
    ),
    "device memory for one share of two": (
        world().node("n1", 1, gpu_memory_mib=100).gang("g", 2)
        .pod("h", gpu_milli=400, gpu_memory_mib=60, gang="g").pod("i", gpu_milli=400, gpu_memory_mib=60, gang="g"),
        "misconfigured", {"fault": "cluster_size", "seated_pods": 1},
    ),
    "device memory on one device of two": (
        world().node("n1", 2, gpu_memory_mib=100, devices=[{"index": 0, "memory_mib": 20}]).gang("g", 2)
        .pod("h", gpu_memory_mib=60, gang="g").pod("i", gpu_memory_mib=60, gang="g"),
        "misconfigured", {"fault": "cluster_size", "seated_pods": 1},
    ),
    "shares of two devices, twice": (
        world().node("n1", 2).gang("g", 2).pod("h", gpus=2, gpu_milli=400, gang="g")
        .pod("i", gpus=2, gpu_milli=400, gang="g"),
        "fits_now", {"nodes": 1},
    ),
    "one node, which every cluster has": (
        world().nodes("n1", "n2").pod("a", "n1", 7).gang("g", 2, topology={"required": "host"})
        .pod("h", gpus=4, gang="g").pod("i", gpus=4, gang="g"),
        "fits_now", {"first_node": "n2"},
    ),
    "room, but on two nodes": (
        world().nodes("n1", "n2").pod("a", "n1", 4).pod("b", "n2", 4).gang("g", 2, topology={"required": "host"})
        .pod("h", gpus=4, gang="g").pod("i", gpus=4, gang="g"),
        "topology", {"level": "host", "nodes_of_unknown_place": 0},
    ),
    "what a sleeper lends, for two": (
        world().node("n1", 4).pod("s", "n1", 4, standby=True, standby_until_s=9000).gang("g", 2)
        .pod("h", gpus=2, gang="g", tier="LP", lent_by="jobs/s")
        .pod("i", gpus=2, gang="g", tier="LP", lent_by="jobs/s"),
        "fits_now", {"nodes": 1},
    ),
    "more than a sleeper lends": (
        world().node("n1", 4).node("n2", 4).pod("s", "n1", 4, standby=True, standby_until_s=9000)
        .pod("b", "n2", 4).gang("g", 2).pod("h", gpus=2, gang="g", tier="LP", lent_by="jobs/s")
        .pod("i", gpus=3, gang="g", tier="LP", lent_by="jobs/s"),
        "capacity", {"seated_pods": 2},
    ),
    "somebody before it": (
        _switch("n1").pod("a", priority=9, gpus=6).pod("h", gpus=4), "queued", {"first": "jobs/a"}
    ),
    "pods that are leaving": (
        _switch("n1").pod("v", "n1", 8, tier="LP", terminating=True, deleted_at_s=990, grace_s=60).pod("h", gpus=8),
        "waiting_for_victims", {"pods": 1, "until_s": 1050, "victims": "jobs/v"},
    ),
    "pods that are leaving nobody knows when": (
        _switch("n1").pod("v", "n1", 8, terminating=True).pod("h", gpus=8),
        "waiting_for_victims", {"until_s": None},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCENES)
def test_the_reason_and_its_numbers(name: str) -> None:
    built, word, numbers = SCENES[name]
    key = "g" if built.rows["gangs"] else "h"
    row = _asked(built).row(f"jobs/{key}")
    assert row is not None
    assert row.reason.word == word, row.reason
    assert {key: row.reason.numbers[key] for key in numbers} == numbers
    assert row.reason.sentence.endswith(".")
    assert row.reason.word not in {other.word for other in row.others}


CROWDED: dict[str, dict[str, Any]] = {
    "one port twice": {"host_ports": [80]},
    "slices that are not there": {"mig": {"1g.10gb": 1}},
    "more device memory than there is": {"gpus": 1, "gpu_memory_mib": 10**6},
}


@pytest.mark.parametrize("kind", CROWDED)
def test_nobody_arrives_where_too_much_is_promised(kind: str) -> None:
    built = world().node("n1", gpu_memory_mib=80_000)
    for name in ("a", "b"):
        built.pod(name, "n1", **{"gpus": 0, **CROWDED[kind]})
    assert _words(_asked(built.pod("h"))) == {"h": "fragmentation"}
    assert _words(_asked(built.node("n2"))) == {"h": "fits_now"}


def test_every_reason_has_a_scene() -> None:
    scenes = {word for _, word, _ in SCENES.values()} | {"not_evaluated", "budget_ran_out"}
    scenes |= {"budget"}  # of decisions, which have tests of their own
    assert scenes == set(PRECEDENCE)


def test_a_budget_that_is_used_up_is_said() -> None:
    built = _switch("n1").pod("a", gpus=1).pod("b", gpus=2, priority=5)
    assert _words(_asked(built, budget=1)) == {"b": "fits_now", "a": "not_evaluated"}
    crowd = world().gang("g", 2)  # a node holds one or the other, which no count of either alone shows
    for i in range(150):
        crowd.node(f"n{i:03}", cpu_milli=100_000 + i)
    for i in range(100):
        crowd.pod(f"a{i}", cpu_milli=60_000, gang="g").pod(f"b{i}", None, 2, cpu_milli=60_000, gang="g")
    assert _words(_asked(crowd)) == {"g": "budget_ran_out"}


MODELS: dict[str, tuple[World, str]] = {
    "enough, but on two GPU models": (
        world().nodes("n1", "n3").node("n2", gpu_model="H20").pod("b", "n3", 8), "capacity"
    ),
    "pieces of one, and enough of two": (
        world().nodes("n1", "n2", "n4").node("n3", gpu_model="H20").pod("a", "n4", 4).pod("b", "n2", 4), "fragmentation"
    ),
    "one model under one switch": (
        world().asw("a").nodes("n1", "n4").node("n2", gpu_model="H20").asw("b").node("n3").pod("b", "n4", 8)
        .gang("g", 2, topology=REQUIRED), "topology",
    ),
    "where a member runs": (
        world().nodes("n1", "n4", "n5").nodes("n2", "n3", gpu_model="H20").pod("g-0", "n1", 8, gang="g")
        .pod("b", "n4", 8).pod("c", "n5", 8), "capacity"
    ),
    "of members that stand on two already": (
        world().nodes("n1", "n4").nodes("n2", "n3", gpu_model="H20").pod("g-0", "n1", gang="g")
        .pod("g-1", "n2", 4, gang="g").pod("b", "n4", 4), "fits_now"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_one_job_stays_within_one_gpu_model(name: str) -> None:
    built, word = MODELS[name]
    if not built.rows["gangs"]:
        built.gang("g", 1)
    built.pod("h", gpus=8, gang="g").pod("i", gpus=4 if word == "fits_now" else 8, gang="g")
    snapshot = built.snapshot()
    row = explain(snapshot).row("jobs/g")
    assert row is not None and row.reason.word == word, row
    found = place(snapshot, request_of(snapshot, "jobs/g"))
    assert found.ok == (word == "fits_now"), found.refusal
    if word not in ("fits_now",) and not row.job.levels:
        assert found.reason == "one_model"
    free = place(snapshot, replace(request_of(snapshot, "jobs/g"), may_mix_models=True))
    assert free.ok, free.refusal


def test_the_first_reason_of_several_is_the_primary_one_and_the_others_stay() -> None:
    built = _switch("n1").tenant("t1", quotas=QUOTA).pod("a", "n1", 8).pod("h", gpus=1)
    row = _asked(built).rows[0]
    assert (row.reason.word, [other.word for other in row.others]) == ("quota", ["capacity"])


def test_case_c16_a_missing_label_is_no_common_domain() -> None:
    built = world().nodes("n1", "n3").node("n2", asw="").node("n4", asw="  ").asw("asw-1").nodes("n5", "n6")
    built.pod("busy", "n5", 8, locked=True)
    wishes = [{"topology": REQUIRED}, {"topology": {"preferred": "asw"}}]
    for i, wish in enumerate(wishes):
        built.gang(f"g{i}", 2, **wish)
        built.pod(f"g{i}-0", gpus=8, gang=f"g{i}", priority=-i).pod(f"g{i}-1", gpus=8, gang=f"g{i}", priority=-i)
    found = _asked(built)
    assert _words(found) == {"g0": "topology", "g1": "fits_now"}
    assert found.rows[0].reason.numbers["nodes_of_unknown_place"] == 4
    assert found.rows[0].seats is None and found.rows[1].seats is not None


def test_case_c38_who_can_never_run_is_told_why() -> None:
    built = world().nodes("n1", "n2", "n3")
    built.pod("l1", "n1", 8, tier="LP").pod("l2", "n2", 8, tier="LP").pod("l3", "n3", 4, tier="LP")
    built.pod("k", "n3", 4, priority=100, labels={"app": "db"})
    hurry: dict[str, Any] = {"tenant": "t2", "priority": 100}
    built.pod("h1", gpus=1, gpu_model="H100-PCIe-80GB", **hurry).pod("h2", gpus=16, **hurry)
    built.pod("h3", gpus=4, anti_affinity=["app=db"], only_node="n3", **hurry)
    assert _words(_asked(built)) == {"h1": "no_such_model", "h2": "misconfigured", "h3": "constraint"}
    assert _one(built, "h3")[1]["pods"] == "jobs/k"


def test_case_c41_finished_members_are_not_ready() -> None:
    built = world().node("n1").node("n2").pod("busy", "n2", 8).gang("g", 4)
    built.pod("g-0", "n1", 4, gang="g", phase="Succeeded")
    for i in (1, 2, 3):
        built.pod(f"g-{i}", gpus=4, gang="g")
    row = _asked(built).rows[0]
    assert (row.reason.word, row.reason.numbers["finished_members"]) == ("misconfigured", 1)
    assert row.seats is None and [other.word for other in row.others] == ["capacity"]
    assert row.others[0].numbers["seated_pods"] == 2


def test_case_c43_names_are_compared_whole() -> None:
    built = world().asw("asw-1").node("n1").node("n2", ready=False).asw("asw-10").nodes("n3", "asw-10")
    for name in "gk":
        built.gang(name, 2, topology=REQUIRED)
    built.pod("g-0", "n1", 8, gang="g").pod("g-1", gpus=8, gang="g")
    built.pod("k-0", gpus=8, gang="k", tenant="t2").pod("k-1", gpus=8, gang="k", tenant="t2")
    found = _asked(built)
    assert _words(found) == {"g": "topology", "k": "fits_now"}
    seats = found.row("jobs/k")
    assert seats is not None and seats.seats is not None
    assert {found.snapshot.node_name[n] for n in seats.seats.nodes} == {"n3", "asw-10"}


def test_cases_c03_and_c24_room_that_frees_belongs_to_the_first_claimant() -> None:
    built = world(1010).nodes("n1", "n2").pod("v1", "n1", 8, tier="LP", terminating=True, deleted_at_s=1000, grace_s=60)
    built.pod("v2", "n2", 8, tier="LP")
    built.pod("h", gpus=8, tenant="t2", priority=100).pod("l", gpus=8, tenant="t3", tier="LP").pod(
        "v1-again", gpus=8, tier="LP"
    )
    found = _asked(built)
    assert _words(found) == {"h": "waiting_for_victims", "l": "queued", "v1-again": "queued"}
    assert found.rows[0].reason.numbers["until_s"] == 1060
