"""The public cases that are about reading a cluster, from its objects to what the core says of them."""

from scheduler.cluster.build import build
from scheduler.cluster.feasibility import blocking_reason, eligibility
from scheduler.cluster.layout import slices
from scheduler.cluster.mobility import immovable
from scheduler.cluster.occupancy import EMPTY, FULL, NONE, occupancy
from scheduler.cluster.reasons import IMMOVABLE
from scheduler.cluster.snapshot import Snapshot
from scheduler.consolidation.params import Params
from scheduler.consolidation.planner import consolidate
from scheduler.fragmentation.report import report
from tests.scheduler.kubernetes.things import GPU, Row, document, node, pod, read, thing


def snapshot_of(*objects: Row) -> Snapshot:
    return build(document(*objects))


def free(snapshot: Snapshot) -> dict[str, int]:
    return dict(zip(snapshot.node_name, occupancy(snapshot).free_gpus.tolist(), strict=True))


def states(snapshot: Snapshot) -> dict[str, int]:
    return dict(zip(snapshot.node_name, occupancy(snapshot).state.tolist(), strict=True))


# C11: slices and shares are not GPUs

M1 = node(
    "m1",
    1,
    capacity={"cpu": "64", "memory": "512Gi", "nvidia.com/mig-1g.10gb": "4", "nvidia.com/mig-3g.40gb": "1"},
    labels={
        "nvidia.com/gpu.product": "A100-SXM4-80GB",
        "nvidia.com/gpu.count": "2",
        "nvidia.com/mig.strategy": "mixed",
    },
)
M2 = node(
    "m2",
    12,
    capacity={"cpu": "32", "memory": "128Gi"},
    labels={
        "nvidia.com/gpu.product": "A10-SHARED",
        "nvidia.com/gpu.count": "1",
        "nvidia.com/gpu.replicas": "12",
    },
)
Q1 = pod("q1", "m1", "jobs", requests={"nvidia.com/mig-1g.10gb": "2"})
Q2 = pod("q2", "m2", "jobs", gpus=1)
EXCLUSIVE = pod("x", None, "jobs", gpus=1)


def test_c11_physical_and_free_gpus() -> None:
    snapshot = snapshot_of(M1, M2, Q1, Q2)
    assert snapshot.node_gpus.tolist() == [2, 1]
    assert report(snapshot).totals.gpus == 3
    assert free(snapshot) == {"m1": 1, "m2": 0}


def test_c11_slices_and_shares() -> None:
    snapshot = snapshot_of(M1, M2, Q1, Q2)
    assert slices(snapshot, 0, [snapshot.pod_name.index("q1")]).free == {"1g.10gb": 2, "3g.40gb": 1}
    rest = int(occupancy(snapshot).shared_rest_milli[1])
    assert rest // int(snapshot.pod_gpu_milli[snapshot.pod_name.index("q2")]) == 11
    assert snapshot.models == ("A10", "A100-SXM4-80GB")


def test_c11_an_exclusive_gpu_is_only_where_devices_are_whole() -> None:
    for residents in ([Q1, Q2], [Q1]):  # also while nobody uses the shared one
        snapshot = snapshot_of(M1, M2, *residents, EXCLUSIVE)
        row = snapshot.pod_name.index("x")
        assert eligibility(snapshot).eligible(row).tolist() == [True, False]


# C24: pods that are ending still hold their GPUs

ENDING = {"deletionTimestamp": "2026-11-29T12:01:00Z", "deletionGracePeriodSeconds": 60}
PLACED = pod("v", "n2", gpus=8, priority=100, annotations={"slackline.io/locked": "true"})
WAITING = pod("w", None, gpus=8, priority=100)
LEAVING = pod("t", "n1", gpus=8, labels={"slackline.io/tier": "LP"}, metadata=ENDING)


def test_c24_an_ending_pod_holds_its_node() -> None:
    snapshot = snapshot_of(node("n1"), node("n2"), LEAVING, PLACED, WAITING)
    assert free(snapshot) == {"n1": 0, "n2": 0}
    assert states(snapshot) == {"n1": FULL, "n2": FULL}
    row = snapshot.pod_name.index("t")
    assert IMMOVABLE[immovable(snapshot)[row]] == "terminating"
    assert (int(snapshot.pod_deleted_at_s[row]), int(snapshot.pod_grace_s[row])) == (1_795_953_600, 60)
    assert consolidate(snapshot, Params(), seed=0).moves == ()


def test_c24_when_it_is_gone_the_node_is_empty() -> None:
    assert states(snapshot_of(node("n1"), node("n2"), PLACED, WAITING)) == {"n1": EMPTY, "n2": FULL}


# C44: labelled, but the device plugin offers nothing

LABELS = {"nvidia.com/gpu.product": "NVIDIA-H100", "nvidia.com/gpu.count": "8"}
C44 = [
    node("n1", 8, allocatable={GPU: "0"}, labels=LABELS),
    node("n2", None),
    node("n3", 8, labels=LABELS),
    pod("r", "n1", gpus=4),
    *(pod(f"g-{i}", None, gpus=8, labels={"scheduling.x-k8s.io/pod-group": "g"}) for i in range(2)),
    thing("podgroups.scheduling.x-k8s.io", "g", "ml", {"minMember": 2}),
]


def test_c44_only_what_is_offered_can_be_used() -> None:
    snapshot = snapshot_of(*C44)
    assert snapshot.node_allocatable.tolist() == [0, 0, 8]
    assert snapshot.node_gpus.tolist() == [8, 0, 8]
    assert free(snapshot) == {"n1": 0, "n2": 0, "n3": 8}
    assert states(snapshot) == {"n1": NONE, "n2": NONE, "n3": EMPTY}


def test_c44_the_gang_finds_one_node_of_two() -> None:
    snapshot = snapshot_of(*C44)
    rows = [p for p, name in enumerate(snapshot.pod_name) if name.startswith("g-")]
    assert [snapshot.gangs[snapshot.pod_gang[p]].min_members for p in rows] == [2, 2]
    there = [snapshot.pod_name.index("r")]
    blocks = [blocking_reason(snapshot, rows[0], n, there if n == 0 else []) for n in range(3)]
    assert [block is None for block in blocks] == [False, False, True]


def test_c44_the_same_world_while_the_plugin_has_taken_its_resource_away() -> None:
    gone = node("n1", None, labels=LABELS)
    snapshot = snapshot_of(gone, *C44[1:])
    assert (snapshot.node_gpus.tolist(), snapshot.node_allocatable.tolist()) == ([8, 0, 8], [0, 0, 8])


# C45: only live pods on known nodes use GPUs

C45 = [
    node("n1"),
    pod("done", "n1", gpus=8, status={"phase": "Succeeded"}),
    pod("bad", "n1", gpus=4, status={"phase": "Failed"}),
    pod("orphan", "gone-7", gpus=8),
    pod("live", "n1", gpus=2),
    pod("w", None, gpus=6),
    thing("resourcequotas", "q", "ml", {"hard": {f"requests.{GPU}": "8"}}),
]


def test_c45_finished_and_orphaned_pods_use_nothing() -> None:
    snapshot = snapshot_of(*C45)
    assert free(snapshot) == {"n1": 6}
    assert int(occupancy(snapshot).used_gpu_milli[0]) == 2000
    assert snapshot.node_name == ("n1",)
    assert [warning for warning in snapshot.warnings if "orphan" in warning and "gone-7" in warning] == [
        "node gone-7 is unknown: its pods use nothing (ml/orphan)"
    ]
    assert snapshot.tenant_records[0].cap_gpus == 8
    totals = report(snapshot).totals
    assert totals.allocated_hp_milli / (1000 * totals.gpus) == 0.25


# C50: a/trainer-0 is not b/trainer-0

LOCK = {"slackline.io/locked": "true"}
C50 = [
    *(node(f"n{i}") for i in (1, 2, 3)),
    pod("trainer-0", "n1", "a", gpus=4, annotations=LOCK),
    pod("trainer-0", "n2", "b", gpus=2, labels={"slackline.io/tenant": "t2"}),
    pod("base", "n3", "a", gpus=4, annotations=LOCK),
]


def test_c50_pods_go_by_namespace_and_name() -> None:
    reading = read(*C50)
    found = {(p.namespace, p.name): (p.gpus, p.node, p.locked, p.tenant) for p in reading.document.pods}
    assert found == {
        ("a", "trainer-0"): (4, "n1", True, "a"),
        ("a", "base"): (4, "n3", True, "a"),
        ("b", "trainer-0"): (2, "n2", False, "t2"),
    }


def test_c50_the_plan_moves_the_one_that_is_not_locked() -> None:
    plan = consolidate(snapshot_of(*C50), Params(), seed=0)
    assert [(move.pod, move.source) for move in plan.moves] == [("b/trainer-0", "n2")]
    assert plan.emptied_nodes == ("n2",)
