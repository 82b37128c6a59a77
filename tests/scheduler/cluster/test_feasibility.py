"""Where a pod may go and why not, and which pods never move."""

from typing import Any

import numpy as np
import pytest

from scheduler.cluster import budgets
from scheduler.cluster.feasibility import Eligibility, blocking_reason, eligibility, immovable, tolerates
from scheduler.cluster.mobility import bound_domains
from scheduler.cluster.reasons import ELIGIBILITY, IMMOVABLE
from scheduler.cluster.records import TaintRecord, TolerationRecord
from scheduler.cluster.snapshot import Snapshot
from tests.builders.worlds import World, world


def row(snapshot: Snapshot, name: str) -> int:
    return snapshot.pod_name.index(name)


def reasons(made: World, pod: str) -> dict[str, str]:
    """Why each node is not eligible, "" where it is; asked in each of the ways there are."""
    snapshot = made.snapshot()
    rules: Eligibility = eligibility(snapshot)
    p = row(snapshot, pod)
    single = [rules.reason(p, n) for n in range(len(snapshot.node_name))]
    assert single == [ELIGIBILITY[code] if code >= 0 else "" for code in rules.reasons(p).tolist()]
    assert rules.eligible(p).tolist() == [reason == "" for reason in single]
    return dict(zip(snapshot.node_name, single, strict=True))


TAINT = TaintRecord(key="k", value="v", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "good"),
    [
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "value": "w"}, False),
        ({"key": "k"}, False),
        ({"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}, True),
        ({"key": "k", "value": "v", "effect": "PreferNoSchedule"}, False),
    ],
)
def test_tolerations_as_in_kubernetes(toleration: dict[str, str], good: bool) -> None:
    assert tolerates(TolerationRecord(**toleration), TAINT) == good


@pytest.mark.parametrize(
    ("effect", "reason"), [("NoSchedule", "taint"), ("NoExecute", "taint"), ("PreferNoSchedule", "")]
)
def test_which_effects_bind(effect: str, reason: str) -> None:
    made = world().node("n1", taints=[{"key": "k", "effect": effect}]).pod("a")
    assert reasons(made, "a") == {"n1": reason}


def test_every_taint_must_be_tolerated_by_some_toleration() -> None:
    taints = [{"key": "k", "effect": "NoSchedule"}, {"key": "l", "value": "v", "effect": "NoExecute"}]
    made = world().node("n1", taints=taints)
    made.pod("one", tolerations=[{"key": "k", "operator": "Exists"}])
    made.pod("both", tolerations=[{"key": "k", "operator": "Exists"}, {"key": "l", "value": "v"}])
    assert [reasons(made, name)["n1"] for name in ("one", "both")] == ["taint", ""]


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        ({}, ["", "", "", ""]),
        ({"gpu_model": "H20"}, ["model", "", "model", "model"]),
        ({"gpu_model": ["H100", "H20"]}, ["", "", "model", "model"]),
        ({"gpu_model": "H20", "gpus": 0}, ["model", "", "model", "model"]),
        ({"gpu_memory_mib": 50}, ["", "gpu_memory", "gpu_memory", ""]),
        ({"gpu_memory_mib": 50, "gpus": 0}, ["", "", "", ""]),
        ({"node_selector": {"disk": "ssd"}}, ["", "selector", "selector", "selector"]),
        ({"node_selector": {"disk": ""}}, ["selector", "", "selector", "selector"]),
        ({"volume_zone": "z1"}, ["", "zone", "zone", ""]),
        ({"only_node": "n2"}, ["only_node", "", "only_node", "only_node"]),
        ({"gpu_model": "H100", "gpu_memory_mib": 90, "only_node": "n2"}, ["gpu_memory", "model", "model", "model"]),
    ],
)
def test_the_first_rule_that_fails(pod: dict[str, Any], expected: list[str]) -> None:
    made = world().node("n1", gpu_model="H100", gpu_memory_mib=80, zone="z1", labels={"disk": "ssd"})
    made.node("n2", gpu_model="H20", gpu_memory_mib=40, zone="z2", labels={"disk": ""}).node("n3", gpu_model="")
    made.node("n4", 1, gpu_model="", labels={"zone": "z1"}, devices=[{"index": 0, "memory_mib": 60}])
    assert list(reasons(made.pod("a", **pod), "a").values()) == expected


def test_no_pod_leaves_its_cluster() -> None:
    assert reasons(world().node("n1").node("n2", cluster="c2").pod("a", "n1"), "a") == {"n1": "", "n2": "cluster"}


def test_classes_stay_few_where_labels_differ_that_nobody_asks_for() -> None:
    made = world().pod("a").pod("b", node_selector={"disk": "ssd"})
    for n in range(50):
        made.node(f"n{n}", labels={"kubernetes.io/hostname": f"n{n}", "disk": "ssd" if n % 2 else "hdd"})
    assert eligibility(made.snapshot()).matrix.shape == (2, 2)


def test_a_document_without_rows_has_no_classes() -> None:
    assert eligibility(world().snapshot()).matrix.shape == (0, 0)


def _c34() -> World:
    made = world().asw("asw-1").node("n0", labels={"zone": "z1"}).node("c1", labels={"zone": "z1"}, cordoned=True)
    made.node("c2", labels={"zone": "z1"}, ready=False)
    made.node("c3", labels={"zone": "z1"}, taints=[{"key": "dedicated", "value": "infer", "effect": "NoSchedule"}])
    made.node("c4", labels={"zone": "z1"}).node("c5", labels={"zone": "z2"}).node("c6", labels={"zone": "z1"})
    made.node("c7", labels={"zone": "z1"}, max_pods=1).node("c8", labels={"zone": "z1"})
    made.pod("m", "n0", 2, labels={"app": "db"}, host_ports=[8476], volume_zone="z1")
    special: dict[str, dict[str, Any]] = {"r4": {"host_ports": [8476]}, "r6": {"anti_affinity": ["app=db"]}}
    for i in range(1, 8):
        made.pod(f"r{i}", f"c{i}", 6, locked=True, **special.get(f"r{i}", {}))
    return made.pod("r8", "c8", 1, locked=True)


def test_c34_of_eight_candidates_one_is_legal_and_each_other_says_why() -> None:
    snapshot = _c34().snapshot()
    rules, pod, found = eligibility(snapshot), row(snapshot, "m"), {}
    for n, name in enumerate(snapshot.node_name):
        residents = np.flatnonzero(snapshot.pod_node == n).tolist()
        block = blocking_reason(snapshot, pod, n, residents)
        found[name] = rules.reason(pod, n) or (block.reason if block else "")
    del found["n0"]
    words = ["cordoned", "not_ready", "taint", "host_port", "zone", "anti_affinity", "max_pods", ""]
    assert list(found.values()) == words


@pytest.mark.parametrize(
    ("pod", "there", "expected"),
    [
        ({"gpus": 3}, {"gpus": 6}, ("gpus", 1, "gpus")),
        ({"gpus": 3}, {"gpus": 5}, None),
        ({"gpu_milli": 500}, {"gpus": 8}, ("gpu_share", 500, "gpu_milli")),
        ({"cpu_milli": 30_000}, {"cpu_milli": 100_000}, ("cpu", 2000, "cpu_milli")),
        ({"memory_mib": 1 << 20}, {"memory_mib": 5}, ("memory", 5, "memory_mib")),
        ({"gpus": 0, "mig": {"1g": 2}}, {}, ("mig", 2, "slices")),
        ({"resources": {"disk": 3}}, {"resources": {"disk": 1}}, ("resource", 4, "disk")),
        ({"affinity": ["app=web"]}, {"labels": {"app": "db"}}, ("affinity", None, None)),
        ({"affinity": ["app=web"]}, {"labels": {"app": "web"}}, None),
        ({"affinity": ["app=web"]}, {"labels": {"app": "web"}, "namespace": "other"}, ("affinity", None, None)),
        ({"labels": {"app": "web"}, "affinity": ["app=web"]}, {}, ("affinity", None, None)),
        ({"anti_affinity": ["app=web"]}, {"labels": {"app": "web"}}, ("anti_affinity", None, None)),
        ({"anti_affinity": ["app=web"]}, {"labels": {"app": "web"}, "namespace": "other"}, None),
        ({"gpus": 0}, {"gpus": 9}, ("gpus", 1, "gpus")),
    ],
)
def test_what_is_missing_on_the_target(
    pod: dict[str, Any], there: dict[str, Any], expected: tuple[str, int | None, str | None] | None
) -> None:
    snapshot = world().nodes("n1", "n2").pod("a", "n1", **pod).pod("b", "n2", **there).snapshot()
    block = blocking_reason(snapshot, row(snapshot, "a"), 1, [row(snapshot, "b")])
    assert (block and (block.reason, block.missing, block.unit)) == expected


def words(made: World) -> dict[str, str]:
    snapshot = made.snapshot()
    return {name: IMMOVABLE[code] for name, code in zip(snapshot.pod_name, immovable(snapshot), strict=True)}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, ""),
        ({"owner": {"kind": "DaemonSet"}, "locked": True}, "agent"),
        ({"owner": "Static"}, "agent"),
        ({"terminating": True, "locked": True}, "terminating"),
        ({"locked": True, "move": "never"}, "locked"),
        ({"move": "never"}, "move_never"),
        ({"labels": {"app": "kept"}}, "budget"),
        ({"move": "restart"}, ""),
        ({"move": "restart", "gang": "tight"}, "gang"),
        ({"move": "copy", "gang": "tight"}, ""),
        ({"topology": {"required": "asw"}}, ""),
        ({"topology": {"required": "nowhere"}}, "topology"),
        ({"topology": {"preferred": "nowhere"}}, ""),
    ],
)
def test_who_never_moves(fields: dict[str, Any], reason: str) -> None:
    made = world().asw("x").node("n1").pod("a", "n1", **fields).gang("tight", 1)
    assert words(made.budget("app=kept", max_unavailable=0))["a"] == reason


def test_a_lender_never_moves_and_its_borrower_may() -> None:
    made = world().node("n1").pod("asleep", "n1", standby=True).pod("lp", "n1", tier="LP", lent_by="jobs/asleep")
    assert words(made) == {"asleep": "lender", "lp": ""}


def test_a_gang_that_shares_no_domain_does_not_move() -> None:
    made = world().asw("x").node("n1").asw("y").node("n2").gang("g", 2, topology={"required": "asw"})
    made.pod("a", "n1", gang="g").pod("b", "n2", gang="g")
    assert words(made) == {"a": "topology", "b": "topology"}
    together = world().asw("x").nodes("n1", "n2").asw(None).node("n3").gang("g", 2, topology={"required": "asw"})
    together.pod("a", "n1", gang="g").pod("b", "n2", gang="g").pod("done", "n3", gang="g", phase="Succeeded")
    snapshot = together.snapshot()
    assert words(together) == {"a": "", "b": "", "done": ""}
    assert bound_domains(snapshot) == {0: {0: 0}, 1: {0: 0}}
    homes = bound_domains(snapshot)[0]
    found = [blocking_reason(snapshot, 0, n, [], homes) for n in range(3)]
    assert [block.reason if block else "" for block in found] == ["", "", "topology"]


@pytest.mark.parametrize(
    ("limit", "left"),
    [({"max_unavailable": 2}, 1), ({"max_unavailable": 0}, -1), ({"min_available": 1}, 1), ({"min_available": 2}, 0)],
)
def test_what_is_left_of_a_budget(limit: dict[str, int], left: int) -> None:
    made = world().node("n1").pod("a", "n1", labels={"app": "x"}).pod("b", "n1", labels={"app": "x"})
    made.pod("going", "n1", labels={"app": "x"}, terminating=True).pod("pending", None, labels={"app": "x"})
    made.pod("done", "n1", labels={"app": "x"}, phase="Succeeded").pod("far", "n1", labels={"app": "x"}, namespace="b")
    snapshot = made.budget("app=x", **limit).snapshot()
    pods = budgets.covered(snapshot)
    assert [sorted(snapshot.pod_name[p] for p in rows) for rows in pods] == [["a", "b", "going"]]
    assert budgets.left(snapshot, pods).tolist() == [left]


def test_a_budget_for_pods_that_are_not_there_binds_nobody() -> None:
    made = world().node("n1").pod("a", "n1", labels={"app": "x"}).budget("app=x", namespace="none", max_unavailable=0)
    assert words(made.budget("app=y", max_unavailable=0)) == {"a": ""}
