"""A pod that names a model gets to the nodes of that model, whatever the vendor calls it on its label."""

import pytest

from scheduler.cluster.build import build
from scheduler.cluster.feasibility import eligibility
from tests.scheduler.kubernetes.things import Row, document, node, pod, thing

VENDORS = [
    ("nvidia.com/gpu", "nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"),
    ("amd.com/gpu", "amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM"),
    ("gpu.intel.com/i915", "gpu.intel.com/product", "Max_1550"),
    ("huawei.com/Ascend910", "node.kubernetes.io/npu.chip.name", "910B3"),
    ("huawei.com/Ascend910", "node.kubernetes.io/npu.chip.name", "Ascend910B3"),
]


def selected(label: str, value: str) -> Row:
    return {"nodeSelector": {label: value}}


def wanted(label: str, *values: str) -> Row:
    expression = {"key": label, "operator": "In", "values": list(values)}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


@pytest.mark.parametrize(("resource", "label", "value"), VENDORS)
@pytest.mark.parametrize("how", ["selector", "one", "several"])
def test_pod_that_names_a_model_finds_its_nodes(resource: str, label: str, value: str, how: str) -> None:
    nodes = [
        node("own", None, capacity={resource: "8"}, labels={label: value}),
        node("other", None, capacity={resource: "8"}, labels={label: "X999"}),
    ]
    ways = {"selector": selected(label, value), "one": wanted(label, value), "several": wanted(label, value, "Z1")}
    asking = pod("p", "own", requests={resource: "1"}, spec=ways[how])
    snapshot = build(document(*nodes, asking))
    may = eligibility(snapshot).eligible(0)
    assert [name for name, fits in zip(snapshot.node_name, may, strict=True) if fits] == ["own"]


def test_quota_of_a_flavor_is_of_the_model_that_its_nodes_have() -> None:
    label, resource = "gpu.intel.com/product", "gpu.intel.com/i915"
    flavor = thing("resourceflavors.kueue.x-k8s.io", "max", spec={"nodeLabels": {label: "Max_1550"}})
    group = {"flavors": [{"name": "max", "resources": [{"name": resource, "nominalQuota": "4"}]}]}
    queue = thing("clusterqueues.kueue.x-k8s.io", "q", spec={"resourceGroups": [group]})
    found = document(node("n", None, capacity={resource: "8"}, labels={label: "Max_1550"}), flavor, queue)
    ((quota,),) = [tenant.quotas for tenant in found.tenants if tenant.name == "q"]
    assert (quota.gpu_model, quota.nominal) == (found.nodes[0].gpu_model, 4)
