"""Gangs: who says it, how many must run, and within what part of the network."""

from typing import Any

import pytest

from scheduler.cluster.build import build
from scheduler.cluster.records import GangRecord, TopologyRecord
from tests.scheduler.kubernetes.things import Row, document, node, one_pod, owner_of, pod, read, said, thing

KAI, VOLCANO, KUEUE = "podgroups.scheduling.run.ai", "podgroups.scheduling.volcano.sh", "workloads.kueue.x-k8s.io"
PLUGINS, KUBE = "podgroups.scheduling.x-k8s.io", "podgroups.scheduling.k8s.io"
JOBSET, LWS = "jobsets.jobset.x-k8s.io", "leaderworkersets.leaderworkerset.x-k8s.io"
TORCH, RAY = "pytorchjobs.kubeflow.org", "rayclusters.ray.io"
RACKS = [
    node("n1", labels={"block": "b1", "rack": "r1"}),
    node("n2", labels={"block": "b1", "rack": "r2"}),
]
TOPOLOGY = thing(
    "topologies.kueue.x-k8s.io", "default", spec={"levels": [{"nodeLabel": "block"}, {"nodeLabel": "rack"}]}
)


def member(**fields: Any) -> Row:
    return pod("p", **({"owner": ("Job", "j")} | fields))


def trains(**roles: int) -> Row:
    return {"pytorchReplicaSpecs": {role: {"replicas": n} for role, n in roles.items()}}


def parts(*sizes: tuple[int, int | None, int | None]) -> Row:
    jobs = [
        {"name": str(i), "replicas": n, "template": {"spec": {"parallelism": width, "completions": all_}}}
        for i, (n, width, all_) in enumerate(sizes)
    ]
    return {"replicatedJobs": jobs}


BY_JOBSET = {"labels": {"jobset.sigs.k8s.io/jobset-name": "g"}}
BY_LWS = {
    "labels": {"leaderworkerset.sigs.k8s.io/name": "g", "leaderworkerset.sigs.k8s.io/group-index": "3"},
    "annotations": {"leaderworkerset.sigs.k8s.io/size": "4"},
}
BY_TORCH = {"labels": {"training.kubeflow.org/job-name": "g"}, "owner": ("PyTorchJob", "g", "kubeflow.org/v1")}
BY_RAY = {"labels": {"ray.io/cluster": "g"}, "owner": ("RayCluster", "g", "ray.io/v1")}


@pytest.mark.parametrize(
    ("fields", "said_by", "name", "members"),
    [
        ({"annotations": {"pod-group-name": "g"}}, thing(KAI, "g", "ml", {"minMember": 4}), "kai/g", 4),
        (
            {"annotations": {"pod-group-name": "g"}},
            thing(KAI, "g", "ml", {"subGroups": [{"name": "a", "minMember": 1}, {"name": "b", "minMember": 3}]}),
            "kai/g",
            4,
        ),
        (
            {"annotations": {"scheduling.k8s.io/group-name": "g"}},
            thing(VOLCANO, "g", "ml", {"minMember": 2}),
            "volcano/g",
            2,
        ),
        (
            {"labels": {"scheduling.x-k8s.io/pod-group": "g"}},
            thing(PLUGINS, "g", "ml", {"minMember": 2}),
            "coscheduling/g",
            2,
        ),
        (
            {"spec": {"schedulingGroup": {"podGroupName": "g"}}},
            thing(KUBE, "g", "ml", {"schedulingPolicy": {"gang": {"minCount": 5}}}),
            "podgroup/g",
            5,
        ),
        (
            {
                "labels": {"kueue.x-k8s.io/pod-group-name": "g"},
                "annotations": {"kueue.x-k8s.io/pod-group-total-count": "6"},
            },
            None,
            "kueue/g",
            6,
        ),
        (
            {"annotations": {"kueue.x-k8s.io/workload": "g"}},
            thing(KUEUE, "g", "ml", {"podSets": [{"count": 1}, {"count": 8, "minCount": 4}]}),
            "kueue/g",
            5,
        ),
        (BY_LWS, None, "lws/g-3", 4),
        (BY_JOBSET, thing(JOBSET, "g", "ml", parts((2, 4, 4), (1, 1, None))), "jobset/g", 9),
        (BY_JOBSET, thing(JOBSET, "g", "ml", parts((1, 8, 2))), "jobset/g", 2),
        (BY_TORCH, thing(TORCH, "g", "ml", trains(Master=1, Worker=3)), "pytorchjob/g", 4),
        (
            BY_TORCH,
            thing(TORCH, "g", "ml", trains(Master=1, Worker=3) | {"elasticPolicy": {"minReplicas": 2}}),
            "pytorchjob/g",
            3,
        ),
        (
            BY_TORCH,
            thing(TORCH, "g", "ml", {"runPolicy": {"schedulingPolicy": {"minAvailable": 2}}} | trains(Worker=8)),
            "pytorchjob/g",
            2,
        ),
        (
            BY_RAY,
            thing(RAY, "g", "ml", {"workerGroupSpecs": [{"minReplicas": 2, "numOfHosts": 2}, {"minReplicas": 1}]}),
            "raycluster/g",
            6,
        ),
    ],
)
def test_gangs(fields: Row, said_by: Row | None, name: str, members: int) -> None:
    objects = [member(**fields), *([said_by] if said_by else [])]
    found = document(*objects)
    assert found.gangs == [GangRecord(name=name, namespace="ml", cluster="c", min_members=members)]
    assert one_pod(*objects).gang == name
    assert said(*objects) == []
    build(found)


@pytest.mark.parametrize(
    "fields",
    [
        {"annotations": {"pod-group-name": "g"}},
        {"annotations": {"scheduling.k8s.io/group-name": "g"}},
        {"labels": {"scheduling.x-k8s.io/pod-group": "g"}},
        {"labels": {"kueue.x-k8s.io/pod-group-name": "g"}},
        BY_JOBSET,
        BY_TORCH,
        BY_RAY,
    ],
)
def test_a_gang_of_which_nobody_tells_the_size_pins_its_pods(fields: Row) -> None:
    row = member(**fields)
    assert one_pod(row).move == "never"
    assert document(row).gangs == []
    assert said(row) == [("gang", "pinned", "p")]


def test_a_group_of_one_is_no_gang() -> None:
    group = thing(KAI, "g", "ml", {"minMember": 1})
    assert one_pod(member(annotations={"pod-group-name": "g"}), group).gang is None


def test_a_group_of_another_namespace_is_another_group() -> None:
    group = thing(KAI, "g", "web", {"minMember": 2})
    assert said(member(annotations={"pod-group-name": "g"}), group) == [("gang", "pinned", "p")]


def test_what_a_scheduler_says_wins_over_what_a_job_implies() -> None:
    row = member(**(BY_JOBSET | {"annotations": {"pod-group-name": "g"}}))
    objects = [row, thing(KAI, "g", "ml", {"minMember": 3}), thing(JOBSET, "g", "ml", parts((2, 4, 4)))]
    assert one_pod(*objects).gang == "kai/g"


def test_members_that_disagree_are_as_many_as_the_larger_says() -> None:
    rows = [
        pod(
            name,
            labels={"kueue.x-k8s.io/pod-group-name": "g"},
            annotations={"kueue.x-k8s.io/pod-group-total-count": total},
        )
        for name, total in (("a", "3"), ("b", "4"))
    ]
    assert [gang.min_members for gang in document(*rows).gangs] == [4]


# Wishes


@pytest.mark.parametrize(
    ("fields", "group", "wish"),
    [
        (
            {"annotations": {"pod-group-name": "g"}},
            thing(KAI, "g", "ml", {"minMember": 2, "topologyConstraint": {"requiredTopologyLevel": "rack"}}),
            TopologyRecord(required="asw"),
        ),
        (
            {"annotations": {"pod-group-name": "g"}},
            thing(KAI, "g", "ml", {"minMember": 2, "topologyConstraint": {"preferredTopologyLevel": "block"}}),
            TopologyRecord(preferred="agg"),
        ),
        (
            {"annotations": {"kueue.x-k8s.io/workload": "g"}},
            thing(KUEUE, "g", "ml", {"podSets": [{"count": 2, "topologyRequest": {"required": "rack"}}]}),
            TopologyRecord(required="asw"),
        ),
        (
            {"spec": {"schedulingGroup": {"podGroupName": "g"}}},
            thing(
                KUBE,
                "g",
                "ml",
                {
                    "schedulingPolicy": {"gang": {"minCount": 2}},
                    "schedulingConstraints": {"topology": [{"key": "rack"}]},
                },
            ),
            TopologyRecord(required="asw"),
        ),
    ],
)
def test_wishes_of_gangs_name_levels_of_the_records(fields: Row, group: Row, wish: TopologyRecord) -> None:
    (gang,) = document(*RACKS, TOPOLOGY, member(**fields), group).gangs
    assert gang.topology == wish


def test_the_wish_of_a_pod_itself() -> None:
    row = member(annotations={"kueue.x-k8s.io/podset-required-topology": "rack"})
    assert one_pod(*RACKS, TOPOLOGY, row).topology == TopologyRecord(required="asw")


@pytest.mark.parametrize(("annotation", "done"), [("required", "pinned"), ("preferred", "ignored")])
def test_a_wish_for_a_level_that_is_not_read(annotation: str, done: str) -> None:
    row = member(annotations={f"kueue.x-k8s.io/podset-{annotation}-topology": "example.org/pod"})
    assert said(*RACKS, TOPOLOGY, row) == [("topology_wish", done, "p")]
    assert (one_pod(*RACKS, TOPOLOGY, row).move == "never") == (done == "pinned")


def test_a_wish_in_tiers_of_volcano() -> None:
    tree = [
        thing("hypernodes.topology.volcano.sh", name, spec={"tier": 1, "members": [of("Node", member_)]})
        for name, member_ in (("s1", "n1"), ("s2", "n2"))
    ] + [
        thing("hypernodes.topology.volcano.sh", "top", spec={"tier": 2, "members": [of("HyperNode", "s1")]}),
    ]
    group = thing(VOLCANO, "g", "ml", {"minMember": 2, "networkTopology": {"mode": "hard", "highestTierAllowed": 2}})
    row = member(annotations={"scheduling.k8s.io/group-name": "g"})
    (gang,) = document(*RACKS, *tree, row, group).gangs
    assert gang.topology == TopologyRecord(required="agg")


def of(kind: str, name: str) -> Row:
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}


def test_a_part_of_a_gang_with_a_level_of_its_own_is_said() -> None:
    inner = [{"name": "a", "minMember": 2, "topologyConstraint": {"requiredTopologyLevel": "rack"}}]
    group = thing(KAI, "g", "ml", {"subGroups": inner})
    assert said(member(annotations={"pod-group-name": "g"}), group) == [("topology_wish", "ignored", "p")]


def test_owners_of_gangs_are_read_for_their_workload() -> None:
    js = thing(JOBSET, "g", "ml", parts((2, 1, 1)), ownerReferences=[owner_of("TrainJob", "llama")])
    job = thing("jobs.batch", "g-0", "ml", ownerReferences=[owner_of("JobSet", "g", "jobset.x-k8s.io/v1alpha2")])
    reading = read(member(owner=("Job", "g-0"), labels={"jobset.sigs.k8s.io/jobset-name": "g"}), js, job)
    assert [(p.workload, p.gang) for p in reading.document.pods] == [("llama", "jobset/g")]
