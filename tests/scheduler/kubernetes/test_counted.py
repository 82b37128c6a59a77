"""Resources beside CPU, memory and accelerators are counted by name, as the scheduler counts them."""

from typing import Any

import pytest

from scheduler.cluster.build import build
from scheduler.consolidation.planner import Params, unproven
from scheduler.kubernetes.options import Options
from tests.scheduler.kubernetes.things import Row, container, document, node, one_node, one_pod, pod, read, said

EFA = "vpc.amazonaws.com/efa"
SLICE = "nvidia.com/mig-1g.10gb"
DISK = "ephemeral-storage"


def offers(row: Row, options: Options | None = None) -> dict[str, str]:
    labels = one_node(row, options=options).labels
    return {k.removeprefix("slackline.io/offers-"): v for k, v in labels.items() if k.startswith("slackline.io/offers")}


@pytest.mark.parametrize(
    ("resource", "amount", "number"),
    [
        (EFA, "4", 4),
        ("rdma/hca_shared_devices_a", "1", 1),
        ("hugepages-2Mi", "1Gi", 1024),
        ("google.com/tpu", "4", 4),
        ("aws.amazon.com/neuron", "1", 1),
        ("hygon.com/dcu", "2", 2),
        ("example.org/whatever", "1", 1),
        (DISK, "1Gi", 1024),
    ],
)
def test_what_a_pod_asks_for_is_counted_and_the_pod_may_move(resource: str, amount: str, number: int) -> None:
    rows = node("n1", capacity={resource: amount}), pod("p", requests={"cpu": "1", resource: amount})
    found = one_pod(*rows)
    assert (found.move, found.resources, found.node_selector) == ("copy", {resource: number}, {})
    assert one_node(rows[0]).resources == {resource: number}
    assert [one for one in said(*rows) if one[1] == "pinned"] == []


def test_requests_are_rounded_up_and_what_is_there_down() -> None:
    asked = pod("p", requests={DISK: "100M", "hugepages-2Mi": "2Mi", EFA: "1"})
    assert one_pod(node("n1"), asked).resources == {DISK: 96, "hugepages-2Mi": 2, EFA: 1}
    assert one_node(node("n1", capacity={DISK: "100M"})).resources == {DISK: 95}


def test_what_can_be_had_counts_not_what_is_there() -> None:
    """A device plugin that restarts offers nothing, so that nobody may arrive until it is back."""
    assert one_node(node("n1", capacity={EFA: "4"}, allocatable={EFA: "0"})).resources == {}
    assert one_node(node("n1", capacity={DISK: "10Gi"}, allocatable={DISK: "9Gi"})).resources == {DISK: 9216}


@pytest.mark.parametrize("name", ["attachable-volumes-aws-ebs", "pods", "cpu", "nvidia.com/gpu", "aliyun.com/gpu-mem"])
def test_what_is_counted_elsewhere_or_asked_by_nobody_is_no_resource(name: str) -> None:
    assert one_node(node("n1", capacity={name: "39"})).resources == {}


@pytest.mark.parametrize("asked", [{"cpu": "1"}, {DISK: "0"}, {EFA: "0"}, {"memory": "1Gi", "nvidia.com/gpu": "1"}])
def test_what_is_not_asked_is_not_counted(asked: dict[str, str]) -> None:
    rows = node("n1"), pod("p", requests=asked)
    assert (one_pod(*rows).move, one_pod(*rows).resources) == ("copy", {})
    assert said(*rows) == []


def test_resource_of_an_init_container_counts_and_agents_use_theirs() -> None:
    first = {"initContainers": [container("first", {EFA: "1"})]}
    assert one_pod(node("n1"), pod("p", spec=first)).resources == {EFA: 1}
    agent = pod("p", owner=("DaemonSet", "d"), requests={DISK: "1Gi"})
    assert one_pod(node("n1"), agent).resources == {DISK: 1024}


def test_what_a_claim_stands_for_is_not_counted_and_pins() -> None:
    backed = {"extendedResourceClaimStatus": {"resourceClaimName": "c", "requestMappings": [{"resourceName": EFA}]}}
    rows = node("n1"), pod("p", requests={EFA: "1", DISK: "1Gi"}, status=backed)
    found = one_pod(*rows)
    assert (found.move, found.resources) == ("never", {DISK: 1024})
    assert (f"{EFA} is given by a claim and not counted") in [one.detail for one in read(*rows).unheld]


@pytest.mark.parametrize(("left", "moves"), [("60Gi", 1), ("40Gi", 0)])
def test_plan_moves_pods_with_disk_only_where_there_is_room_for_it(left: str, moves: int) -> None:
    """n2 has 100 GiB, of which a pod that stays has what is not ``left``."""
    taken = {"60Gi": "40Gi", "40Gi": "60Gi"}[left]
    rows = [node(name, capacity={DISK: "100Gi"}) for name in ("n1", "n2")]
    stays = {"labels": {"slackline.io/locked": "true"}}
    rows += [pod("p", "n1", gpus=1, requests={DISK: "50Gi"}), pod("q", "n2", gpus=2, requests={DISK: taken}, **stays)]
    plan = unproven(build(document(*rows)), Params(), 0, None, None)
    assert [(move.pod, move.target) for move in plan.moves] == [("ml/p", "n2")] * moves


@pytest.mark.parametrize(
    ("capacity", "told"),
    [({"google.com/tpu": "4"}, True), ({"hygon.com/dcu": "8"}, True), ({EFA: "4"}, False), ({"rdma/a": "1"}, False)],
)
def test_node_with_devices_of_an_unknown_vendor_is_told(capacity: dict[str, str], told: bool) -> None:
    assert said(node("n1", capacity=capacity)) == ([("resource", "ignored", "n1")] if told else [])


def test_vendor_of_an_option_is_counted() -> None:
    options = Options(vendors=(("google.com/tpu", ""),))
    rows: tuple[Any, ...] = (
        node("n1", None, capacity={"google.com/tpu": "4"}),
        pod("p", requests={"google.com/tpu": "2"}),
    )
    found = one_pod(*rows, options=options)
    assert (found.move, found.gpus) == ("copy", 2)
    assert said(*rows, options=options) == []


@pytest.mark.parametrize(
    ("capacity", "fits"),
    [
        ({SLICE: "7"}, True),
        ({SLICE + ".shared": "14"}, False),
        ({SLICE: "0", "nvidia.com/mig-2g.20gb": "3"}, False),
    ],
)
def test_slice_is_had_only_under_the_name_that_is_asked_for(capacity: dict[str, str], fits: bool) -> None:
    found = one_pod(node("n1", 0, capacity={SLICE: "7"}), pod("p", requests={SLICE: "1"}))
    assert found.mig == {"1g.10gb": 1}
    assert found.move == "copy"
    labels = one_node(node("n2", 0, capacity=capacity)).labels
    assert (found.node_selector.items() <= labels.items()) is fits


def test_single_strategy_does_not_offer_the_names_of_slices() -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "nvidia.com/gpu.count": "7"}
    assert offers(node("n1", 7, labels=labels)) == {"nvidia.com.gpu": "1g.10gb"}
