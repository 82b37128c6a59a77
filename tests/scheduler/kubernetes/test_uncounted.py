"""Resources that no record counts: pods that ask for them stay where they are, and are asked for by name."""

from typing import Any

import pytest

from scheduler.kubernetes.options import Options
from tests.scheduler.kubernetes.things import Row, container, node, one_node, one_pod, pod, said

EFA = "vpc.amazonaws.com/efa"
SLICE = "nvidia.com/mig-1g.10gb"


def offers(row: Row, options: Options | None = None) -> dict[str, str]:
    labels = one_node(row, options=options).labels
    return {k.removeprefix("slackline.io/offers-"): v for k, v in labels.items() if k.startswith("slackline.io/offers")}


@pytest.mark.parametrize(
    ("resource", "amount"),
    [
        (EFA, "4"),
        ("rdma/hca_shared_devices_a", "1"),
        ("hugepages-2Mi", "1Gi"),
        ("google.com/tpu", "4"),
        ("aws.amazon.com/neuron", "1"),
        ("hygon.com/dcu", "2"),
        ("example.org/whatever", "1"),
    ],
)
def test_pod_that_asks_what_is_not_counted_is_pinned_and_asks_for_a_node_that_offers_it(
    resource: str, amount: str
) -> None:
    asking = pod("p", requests={"cpu": "1", resource: amount})
    found = one_pod(node("n1", capacity={resource: amount}), asking)
    label = f"slackline.io/offers-{resource.replace('/', '.')}"
    assert found.move == "never"
    assert found.node_selector == {label: "offered"}
    assert one_node(node("n1", capacity={resource: amount})).labels[label] == "offered"
    assert ("resource", "pinned", "p") in said(node("n1", capacity={resource: amount}), asking)


def test_nodes_that_have_none_of_it_do_not_offer_it() -> None:
    assert EFA.replace("/", ".") not in offers(node("n1", None, capacity={EFA: "0"}))
    assert offers(node("n1", None)) == {}
    assert offers(node("n1", None, capacity={"hugepages-1Gi": "0", "hugepages-2Mi": "1Gi"})) == {
        "hugepages-2Mi": "offered"
    }


def test_device_plugin_that_restarts_leaves_the_node_among_those_that_offer() -> None:
    assert offers(node("n1", None, capacity={EFA: "4"}, allocatable={EFA: "0"})) == {"vpc.amazonaws.com.efa": "offered"}


@pytest.mark.parametrize("amount", ["1Gi", "100M"])
def test_local_disk_pins_without_a_label(amount: str) -> None:
    found = one_pod(node("n1"), pod("p", requests={"ephemeral-storage": amount}))
    assert (found.move, found.node_selector) == ("never", {})


@pytest.mark.parametrize(
    "asked",
    [{"cpu": "1"}, {"ephemeral-storage": "0"}, {EFA: "0"}, {"memory": "1Gi", "nvidia.com/gpu": "1"}],
)
def test_what_is_counted_or_not_asked_pins_nobody(asked: dict[str, str]) -> None:
    rows = node("n1"), pod("p", requests=asked)
    assert one_pod(*rows).move == "copy"
    assert said(*rows) == []


def test_resource_of_an_init_container_counts() -> None:
    first = {"initContainers": [container("first", {EFA: "1"})]}
    assert one_pod(node("n1"), pod("p", spec=first)).move == "never"


def test_agent_that_asks_is_no_news() -> None:
    rows = node("n1"), pod("p", owner=("DaemonSet", "d"), requests={"hugepages-2Mi": "1Gi"})
    assert said(*rows) == []


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
