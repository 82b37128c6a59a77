"""Whose pod it is, who made it, how it may move, and what people wrote on it."""

from typing import Any

import pytest

from scheduler.cluster.records import OwnerRecord
from scheduler.kubernetes.options import Options
from tests.scheduler.kubernetes.things import Row, document, node, one_pod, owner_of, pod, said, thing


@pytest.mark.parametrize(
    ("row", "owner", "workload", "move"),
    [
        (pod("p", owner=("ReplicaSet", "web-5d8"), labels={"pod-template-hash": "5d8"}), "ReplicaSet", "web", "copy"),
        (pod("p", owner=("ReplicaSet", "web-5d8")), "ReplicaSet", "web-5d8", "copy"),
        (
            pod("p", owner=("ReplicaSet", "web-5d8"), labels={"rollouts-pod-template-hash": "5d8"}),
            "ReplicaSet",
            "web",
            "copy",
        ),
        (pod("p", owner=("StatefulSet", "db")), "StatefulSet", "db", "restart"),
        (pod("p", owner=("Job", "train")), "Job", "train", "restart"),
        (pod("p", owner=("DaemonSet", "agent")), "DaemonSet", "agent", "copy"),
        (pod("p", owner=("Node", "n1")), "Static", None, "copy"),
        (pod("p", owner=None, annotations={"kubernetes.io/config.mirror": "x"}), "Static", None, "copy"),
        (pod("p", owner=None), None, None, "never"),  # nobody would make it again
        (pod("p", owner=("Workflow", "w")), "Workflow", "w", "restart"),
        (
            pod("p", owner=("StatefulSet", "llm-0"), labels={"leaderworkerset.sigs.k8s.io/name": "llm"}),
            "StatefulSet",
            "llm",
            "restart",
        ),
        (pod("p", owner=("Job", "j-0"), labels={"jobset.sigs.k8s.io/jobset-name": "j"}), "Job", "j", "restart"),
    ],
)
def test_owners(row: Row, owner: str | None, workload: str | None, move: str) -> None:
    found = one_pod(row)
    assert isinstance(found.owner, OwnerRecord | None)
    assert (found.owner.kind if found.owner else None, found.workload) == (owner, workload)
    if found.move != "never" or "gang" not in {what for what, _, _ in said(row)}:
        assert found.move == move


@pytest.mark.parametrize(
    ("above", "workload"),
    [
        ([thing("jobs.batch", "nightly-1", "ml", ownerReferences=[owner_of("CronJob", "nightly")])], "nightly"),
        ([thing("jobs.batch", "nightly-1", "ml", ownerReferences=[owner_of("JobSet", "js")])], "js"),
        (
            [
                thing("jobs.batch", "nightly-1", "ml", ownerReferences=[owner_of("JobSet", "js")]),
                thing("jobsets.jobset.x-k8s.io", "js", "ml", ownerReferences=[owner_of("TrainJob", "tj")]),
            ],
            "tj",
        ),
        ([thing("jobs.batch", "nightly-1", "web", ownerReferences=[owner_of("CronJob", "other")])], "nightly-1"),
        ([thing("jobs.batch", "nightly-1", "ml", ownerReferences=[owner_of("Job", "nightly-1")])], "nightly-1"),
    ],
)
def test_owners_of_owners(above: list[Row], workload: str) -> None:
    assert one_pod(pod("p", owner=("Job", "nightly-1")), *above).workload == workload


def test_a_ray_pod_belongs_to_the_service_above_its_cluster() -> None:
    above = thing("rayclusters.ray.io", "rc", "ml", ownerReferences=[owner_of("RayService", "chat")])
    assert one_pod(pod("p", owner=("RayCluster", "rc")), above).workload == "chat"


def test_only_the_controller_counts() -> None:
    both = [owner_of("ConfigMap", "x") | {"controller": False}, owner_of("ReplicaSet", "r")]
    assert one_pod(pod("p", metadata={"ownerReferences": both})).owner == OwnerRecord(kind="ReplicaSet", name="r")


def test_how_pods_of_an_owner_move_can_be_chosen() -> None:
    options = Options(moves={"StatefulSet": "never", "Job": "copy"})
    found = document(pod("a", owner=("StatefulSet", "s")), pod("b", owner=("Job", "j")), options=options).pods
    assert [p.move for p in found] == ["never", "copy"]


# Marks


def marked(**marks: Any) -> Row:
    return {f"slackline.io/{name.replace('_', '-')}": str(value) for name, value in marks.items()}


@pytest.mark.parametrize(
    ("marks", "fields"),
    [
        ({"tenant": "t1"}, {"tenant": "t1"}),
        ({"tier": "lp"}, {"tier": "LP"}),
        ({"class": "Training"}, {"work_class": "training"}),
        ({"move": "restart"}, {"move": "restart"}),
        (
            {"locked": "true", "locked_by": "ann", "lock_reason": "demo", "locked_until": "1800000000"},
            {"locked": True, "locked_by": "ann", "lock_reason": "demo", "locked_until_s": 1_800_000_000},
        ),
        ({"locked_until": "2026-11-29T12:00:00Z"}, {"locked_until_s": 1_795_953_600}),
        ({"standby": "true", "standby_until": "1800000000"}, {"standby": True, "standby_until_s": 1_800_000_000}),
        (
            {"checkpoint": "2026-11-29T13:00:00+01:00", "checkpoint_interval": "600", "min_runtime": "60"},
            {"checkpoint_s": 1_795_953_600, "checkpoint_interval_s": 600, "min_runtime_s": 60},
        ),
    ],
)
@pytest.mark.parametrize("where", ["labels", "annotations"])
def test_our_marks(marks: Row, fields: Row, where: str) -> None:
    found = one_pod(pod("p", **{where: marked(**marks)}))
    assert {name: getattr(found, name) for name in fields} == fields


def test_words_that_nobody_would_read_to_the_end_are_cut() -> None:
    """Any pod may have them, and they stand in readings, rows and pages."""
    row = pod("p", annotations=marked(locked=True, lock_reason="why " * 50_000, locked_by="ann\nof ops"))
    found = one_pod(row)
    assert found.lock_reason is not None
    assert (len(found.lock_reason), found.locked_by) == (299, "ann of ops")
    foreign = one_pod(pod("p", annotations={"karpenter.sh/do-not-disrupt": "true" * 50_000}))
    assert foreign.locked and len(foreign.lock_reason or "") < 400


def test_a_label_wins_over_an_annotation() -> None:
    row = pod("p", labels=marked(tenant="label"), annotations=marked(tenant="annotation"))
    assert one_pod(row).tenant == "label"


def test_another_prefix() -> None:
    row = pod("p", labels={"gpu.example.org/tenant": "t"})
    assert one_pod(row, options=Options(prefix="gpu.example.org/")).tenant == "t"


@pytest.mark.parametrize(
    ("marks", "done", "fields"),
    [
        ({"locked": "perhaps"}, "pinned", {"locked": True}),
        ({"move": "fly"}, "pinned", {"move": "never"}),
        ({"tier": "gold"}, "ignored", {"tier": "HP"}),
        ({"standby_until": "tomorrow"}, "ignored", {"standby_until_s": None}),
        ({"standby_until": "2026-11-29T12:00:00"}, "ignored", {"standby_until_s": None}),  # of no time zone
        ({"min_runtime": "-1"}, "ignored", {"min_runtime_s": None}),
        ({"tenant": "t" * 254}, "ignored", {"tenant": "ml"}),
        ({"tenant": "two\nlines"}, "ignored", {"tenant": "ml"}),
        ({"tier": "x" * 100_000}, "ignored", {"tier": "HP"}),
    ],
)
def test_a_mark_that_is_not_understood_is_said_and_taken_carefully(marks: Row, done: str, fields: Row) -> None:
    row = pod("p", annotations=marked(**marks))
    found = one_pod(row)
    assert {name: getattr(found, name) for name in fields} == fields
    assert said(row) == [("value", done, "p")]


@pytest.mark.parametrize(
    ("annotation", "by"),
    [
        ({"karpenter.sh/do-not-disrupt": "true"}, "karpenter"),
        ({"karpenter.sh/do-not-disrupt": "false"}, None),
        ({"karpenter.sh/do-not-evict": "true"}, "karpenter"),
        ({"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}, "cluster-autoscaler"),
        ({"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}, None),
        ({"descheduler.alpha.kubernetes.io/prefer-no-eviction": ""}, "descheduler"),
    ],
)
def test_marks_of_others_that_forbid_disruption(annotation: Row, by: str | None) -> None:
    found = one_pod(pod("p", annotations=annotation))
    (mark,) = annotation.items()
    assert (found.locked, found.locked_by) == (by is not None, by)
    assert found.lock_reason == ("=".join(mark) if by else None)


# Life


def test_an_ending_pod_tells_when_it_was_asked_to_end() -> None:
    ends = {"deletionTimestamp": "2026-11-29T12:01:00Z", "deletionGracePeriodSeconds": 60}
    found = one_pod(pod("p", metadata=ends))
    assert (found.terminating, found.deleted_at_s, found.grace_s) == (True, 1_795_953_600, 60)


def test_the_instant_of_the_start() -> None:
    row = pod("p", status={"startTime": "2026-11-29T12:00:00Z"})
    assert one_pod(row).started_s == 1_795_953_600


@pytest.mark.parametrize(
    ("fields", "ready", "cordoned"),
    [
        ({}, True, False),
        ({"ready": "False"}, False, False),
        ({"ready": "Unknown"}, False, False),
        ({"unschedulable": True}, True, True),
        ({"metadata": {"deletionTimestamp": "2026-11-29T12:00:00Z"}}, True, True),
    ],
)
def test_nodes_that_cannot_be_used(fields: Row, ready: bool, cordoned: bool) -> None:
    (found,) = document(node("n1", **fields)).nodes
    assert (found.ready, found.cordoned) == (ready, cordoned)


def test_a_node_that_never_said_that_it_is_ready_is_not() -> None:
    row = node("n1")
    row["status"]["conditions"] = []
    assert not document(row).nodes[0].ready


def test_what_a_node_offers_counts_and_not_what_it_has() -> None:
    (found,) = document(node("n1", capacity={"cpu": "128"}, allocatable={"cpu": "127500m", "pods": "250"})).nodes
    assert (found.cpu_milli, found.max_pods) == (127_500, 250)


def test_taints_and_zone() -> None:
    taint = {"key": "gpu", "value": "x", "effect": "NoSchedule"}
    (found,) = document(node("n1", taints=[taint], labels={"topology.kubernetes.io/zone": "z"})).nodes
    assert (found.zone, found.taints[0].key, found.taints[0].value) == ("z", "gpu", "x")
