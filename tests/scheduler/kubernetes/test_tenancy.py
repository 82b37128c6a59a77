"""Tenants and quotas: of Kueue, KAI, Volcano and namespaces."""

import pytest

from scheduler.cluster.build import build
from scheduler.cluster.records import QuotaRecord, TenantRecord
from scheduler.kubernetes.options import Options
from tests.scheduler.kubernetes.things import GPU, Row, document, one_pod, pod, read, said, thing

K = "kueue.x-k8s.io"
LOCAL = thing(f"localqueues.{K}", "lq", "ml", {"clusterQueue": "research"})
QUEUED = {"labels": {f"{K}/queue-name": "lq"}}


@pytest.mark.parametrize(
    ("fields", "objects", "tenant"),
    [
        ({}, [], "ml"),
        ({"labels": {"slackline.io/tenant": "a"}}, [], "a"),
        ({"labels": {"team": "b"}}, [], "b"),
        ({}, [thing("namespaces", "ml", labels={"team": "c"})], "c"),
        ({}, [thing("namespaces", "ml", labels={"slackline.io/tenant": "d"})], "d"),
        ({}, [thing("namespaces", "web", labels={"team": "c"})], "ml"),
        (QUEUED, [LOCAL], "research"),
        (QUEUED, [], "ml"),  # a queue that nobody knows is nobody
        ({"labels": {"kai.scheduler/queue": "q"}}, [], "q"),
        ({"labels": {"runai/queue": "q"}}, [], "q"),
        (
            {"annotations": {"pod-group-name": "g"}},
            [thing("podgroups.scheduling.run.ai", "g", "ml", {"minMember": 1, "queue": "q"})],
            "q",
        ),
        ({"annotations": {"scheduling.volcano.sh/queue-name": "v"}}, [], "v"),
        (
            {"annotations": {"scheduling.k8s.io/group-name": "g"}},
            [thing("podgroups.scheduling.volcano.sh", "g", "ml", {"minMember": 1, "queue": "v"})],
            "v",
        ),
        (
            {"annotations": {f"{K}/workload": "w"}},
            [thing(f"workloads.{K}", "w", "ml", {"podSets": [{"count": 1}], "queueName": "lq"}), LOCAL],
            "research",
        ),
        (
            {"annotations": {f"{K}/workload": "w"}},
            [
                thing(
                    f"workloads.{K}", "w", "ml", {"podSets": [{"count": 1}]},
                    status={"admission": {"clusterQueue": "admitted"}},
                )
            ],
            "admitted",
        ),
        (QUEUED | {"labels": QUEUED["labels"] | {"team": "b"}}, [LOCAL], "b"),
    ],
)  # fmt: skip
def test_whose_pod_it_is(fields: Row, objects: list[Row], tenant: str) -> None:
    assert one_pod(pod("p", **fields), *objects, options=Options(tenant_labels=("team",))).tenant == tenant


def test_namespaces_need_not_be_tenants() -> None:
    assert one_pod(pod("p"), options=Options(namespace_tenants=False)).tenant is None


def group(*flavors: tuple[str, Row]) -> Row:
    return {"flavors": [{"name": name, "resources": [{"name": GPU} | amounts]} for name, amounts in flavors]}


def flavor(name: str, product: str | None = None) -> Row:
    labels = {"nvidia.com/gpu.product": product} if product else {"pool": name}
    return thing(f"resourceflavors.{K}", name, spec={"nodeLabels": labels})


def tenants(*objects: Row, options: Options | None = None) -> list[TenantRecord]:
    found = document(*objects, options=options)
    build(found)
    return found.tenants


def test_cluster_queues_give_quotas_by_model() -> None:
    spec = {
        "cohort": "all",  # as v1beta1 has it
        "fairSharing": {"weight": "2"},
        "resourceGroups": [
            group(
                ("a100", {"nominalQuota": "16", "borrowingLimit": "8", "lendingLimit": "4"}),
                ("a100-spot", {"nominalQuota": 4}),
                ("odd", {"nominalQuota": "0"}),
            ),
            {"flavors": [{"name": "cpu", "resources": [{"name": "cpu", "nominalQuota": "1500m"}]}]},
        ],
    }
    flavors = [flavor("a100", "NVIDIA-A100"), flavor("a100-spot", "NVIDIA-A100-SHARED"), flavor("odd")]
    assert tenants(thing(f"clusterqueues.{K}", "research", spec=spec), *flavors) == [
        TenantRecord(
            name="research",
            cohort="all",
            weight=2,
            quotas=[
                # 16 + 4; the second flavor may borrow without limit, so both together may
                QuotaRecord(gpu_model="NVIDIA-A100", nominal=20),
                QuotaRecord(gpu_model="odd", nominal=0),
            ],
        )
    ]


def test_one_flavor_keeps_its_limits() -> None:
    amounts = {"nominalQuota": "16", "borrowingLimit": "8", "lendingLimit": "0"}
    spec = {"cohortName": "all", "resourceGroups": [group(("a100", amounts))]}
    (found,) = tenants(thing(f"clusterqueues.{K}", "research", spec=spec))
    assert found.quotas == [QuotaRecord(gpu_model="a100", nominal=16, borrowing_limit=8, lending_limit=0)]


def test_cohorts_are_tenants_above_their_queues() -> None:
    objects = [
        thing(f"cohorts.{K}", "root"),
        thing(f"cohorts.{K}", "ai", spec={"parentName": "root", "resourceGroups": [group(("a", {"nominalQuota": 8}))]}),
        thing(f"clusterqueues.{K}", "research", spec={"cohortName": "ai"}),
    ]
    assert tenants(*objects) == [
        TenantRecord(
            name="cohort/ai", parent="cohort/root", cohort="root", quotas=[QuotaRecord(gpu_model="a", nominal=8)]
        ),
        TenantRecord(name="cohort/root"),
        TenantRecord(name="research", parent="cohort/ai", cohort="ai"),
    ]


def test_cohorts_and_queues_above_themselves_are_under_nobody() -> None:
    """Their systems accept such objects, so that the cluster must be read all the same."""
    objects = [
        thing(f"cohorts.{K}", "a", spec={"parentName": "b"}),
        thing(f"cohorts.{K}", "b", spec={"parentName": "a"}),
        thing("queues.scheduling.run.ai", "team", spec={"parentQueue": "team"}),
    ]
    assert [(one.name, one.parent) for one in tenants(*objects)] == [
        ("cohort/a", None),
        ("cohort/b", None),
        ("team", None),
    ]
    assert [(one.name, one.field, one.detail) for one in read(*objects).unheld] == [
        ("a", "$.spec.parentName", "above itself: cohort/a < cohort/b < cohort/a"),
        ("b", "$.spec.parentName", "above itself: cohort/a < cohort/b < cohort/a"),
        ("team", "$.spec.parentQueue", "above itself: team < team"),
    ]


def test_queues_of_kai() -> None:
    gpu = {"quota": 4, "limit": -1, "overQuotaWeight": 2}
    objects = [
        thing("queues.scheduling.run.ai", "department"),
        thing("queues.scheduling.run.ai", "team", spec={"parentQueue": "department", "resources": {"gpu": gpu}}),
    ]
    assert tenants(*objects) == [
        TenantRecord(name="department"),
        TenantRecord(name="team", parent="department", guarantee_gpus=4, weight=2),
    ]


def test_queues_of_volcano() -> None:
    spec = {
        "weight": 3,
        "parent": "root",
        "capability": {GPU: "16", "cpu": "100"},
        "guarantee": {"resource": {GPU: "8"}},
        "deserved": {GPU: "12"},
    }
    row = thing("queues.scheduling.volcano.sh", "team", spec=spec)
    assert tenants(row) == [TenantRecord(name="team", parent="root", weight=3, cap_gpus=16, guarantee_gpus=8)]
    # 100 CPUs are no GPUs, and what it deserves is neither a cap nor kept for it
    assert said(row) == [("quota", "ignored", "team")] * 2


def quota(name: str, hard: Row, namespace: str = "ml", **spec: object) -> Row:
    return thing("resourcequotas", name, namespace, {"hard": hard} | spec)


def test_the_smallest_quota_of_a_namespace_caps_it() -> None:
    rows = [quota("a", {f"requests.{GPU}": "8", "requests.cpu": "100"}), quota("b", {f"requests.{GPU}": "6"})]
    assert tenants(*rows) == [TenantRecord(name="ml", cap_gpus=6)]


def test_a_quota_without_gpus_says_nothing_of_them() -> None:
    assert tenants(quota("a", {"requests.cpu": "100", "pods": "10"})) == []


@pytest.mark.parametrize(
    ("row", "options", "name"),
    [
        (quota("a", {f"requests.{GPU}": "8"}, scopes=["BestEffort"]), Options(), "a"),
        (
            quota("a", {f"requests.{GPU}": "8"}, scopeSelector={"matchExpressions": [{"scopeName": "PriorityClass"}]}),
            Options(),
            "a",
        ),
        (quota("a", {f"requests.{GPU}": "8"}), Options(namespace_tenants=False), "a"),
        (thing("queues.scheduling.run.ai", "q", spec={"resources": {"gpu": {"quota": 0.5}}}), Options(), "q"),
        (thing(f"clusterqueues.{K}", "q", spec={"fairSharing": {"weight": "500m"}}), Options(), "q"),
        (
            thing(f"clusterqueues.{K}", "q", spec={"resourceGroups": [group(("a", {"nominalQuota": "many"}))]}),
            Options(),
            "q",
        ),
    ],
)
def test_what_is_no_whole_number_of_gpus_of_a_tenant_is_said(row: Row, options: Options, name: str) -> None:
    assert said(row, flavor("a", "NVIDIA-A100"), options=options) == [("quota", "ignored", name)]


@pytest.mark.parametrize(
    ("known", "why"),
    [
        ([flavor("f", "NVIDIA-A100")], ""),
        ([flavor("f")], "the flavor names no GPU model: its name stands for one"),
        ([], "no flavor of this name is known: its name stands for one"),
    ],
)
def test_a_quota_of_which_nobody_tells_the_model_is_said(known: list[Row], why: str) -> None:
    spec = {"resourceGroups": [group(("f", {"nominalQuota": 4}))]}
    reading = read(thing(f"clusterqueues.{K}", "q", spec=spec), *known)
    assert [one.detail for one in reading.unheld] == ([why] if why else [])
    assert [quota.nominal for quota in reading.document.tenants[0].quotas] == [4]


def test_one_name_in_two_systems_is_said() -> None:
    rows = [thing(f"clusterqueues.{K}", "ml"), quota("a", {f"requests.{GPU}": "8"})]
    assert tenants(*rows) == [TenantRecord(name="ml")]
    assert said(*rows) == [("quota", "ignored", "ml")]


@pytest.mark.parametrize(
    ("hard", "left"),
    [
        ({"requests.cpu": "4"}, "requests.cpu"),
        ({"limits.memory": "1Gi", "pods": "10"}, "limits.memory, pods"),
        ({"requests.nvidia.com/mig-1g.10gb": "4"}, "requests.nvidia.com/mig-1g.10gb"),
        (
            {"gpu.nvidia.com.deviceclass.resource.k8s.io/devices": "4"},
            "gpu.nvidia.com.deviceclass.resource.k8s.io/devices",
        ),
        ({f"requests.{GPU}": "4", "requests.cpu": "9"}, "requests.cpu"),
        ({f"requests.{GPU}": "4", f"limits.{GPU}": "4"}, ""),
    ],
)
def test_amounts_of_a_namespace_that_are_no_gpus_are_said(hard: dict[str, str], left: str) -> None:
    found = read(thing("resourcequotas", "q", "ml", {"hard": hard})).unheld
    said_of = [(u.what, u.done, u.namespace, u.name, u.detail) for u in found]
    assert said_of == ([("quota", "ignored", "ml", "q", f"not numbers of GPUs: {left}")] if left else [])


def test_amounts_of_a_queue_that_are_no_gpus_are_said() -> None:
    amounts = [{"name": name, "nominalQuota": 4} for name in ("cpu", GPU, "nvidia.com/mig-1g.10gb")]
    spec = {"resourceGroups": [{"flavors": [{"name": "f", "resources": amounts}]}]}
    (found,) = read(thing("clusterqueues.kueue.x-k8s.io", "q", spec=spec), flavor("f", "NVIDIA-A100")).unheld
    assert (found.what, found.detail) == ("quota", "not numbers of GPUs: cpu, nvidia.com/mig-1g.10gb")


@pytest.mark.parametrize(
    ("kind", "namespace", "fields", "told"),
    [
        ("clusterqueues.kueue.x-k8s.io", "", {"spec": {"stopPolicy": "Hold"}}, True),
        ("clusterqueues.kueue.x-k8s.io", "", {"spec": {"stopPolicy": "None"}}, False),
        ("localqueues.kueue.x-k8s.io", "ml", {"spec": {"clusterQueue": "c", "stopPolicy": "HoldAndDrain"}}, True),
        ("localqueues.kueue.x-k8s.io", "ml", {"spec": {"clusterQueue": "c"}}, False),
        ("queues.scheduling.volcano.sh", "", {"status": {"state": "Closed"}}, True),
        ("queues.scheduling.volcano.sh", "", {"status": {"state": "Open"}}, False),
    ],
)
def test_queue_that_admits_nobody_is_said(kind: str, namespace: str, fields: Row, told: bool) -> None:
    assert said(thing(kind, "q", namespace, **fields)) == ([("quota", "ignored", "q")] if told else [])
