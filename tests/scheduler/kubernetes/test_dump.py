"""Lists as they are printed by kubectl and as the API gives them."""

from typing import Any

import msgspec
import pytest

from scheduler.cluster.build import build
from scheduler.cluster.errors import InputError
from scheduler.kubernetes.dump import read_dump
from scheduler.kubernetes.reader import Reading
from tests.scheduler.kubernetes.things import TAKEN_AT, Row, node, pod, thing

QUEUE = thing("clusterqueues.kueue.x-k8s.io", "q")


def bare(row: Row) -> Row:
    return {key: value for key, value in row.items() if key not in ("kind", "apiVersion")}


def dumped(items: list[Any], **envelope: Any) -> Reading:
    return read_dump(msgspec.json.encode({"items": items} | envelope), cluster="c", taken_at=TAKEN_AT)


def test_items_of_a_raw_list_are_of_its_kind() -> None:
    found = dumped([bare(node("n1")), bare(node("n2"))], kind="NodeList", apiVersion="v1")
    assert [n.name for n in found.document.nodes] == ["n1", "n2"]
    pods = dumped([bare(pod("a"))], kind="PodList", apiVersion="v1")
    assert [p.name for p in pods.document.pods] == ["a"]
    queues = dumped([bare(QUEUE)], kind="ClusterQueueList", apiVersion=QUEUE["apiVersion"])
    assert [t.name for t in queues.document.tenants] == ["q"]


def test_an_item_that_says_its_kind_is_of_that() -> None:
    found = dumped([node("n1"), pod("a")], kind="List", apiVersion="v1")
    assert (len(found.document.nodes), len(found.document.pods)) == (1, 1)


@pytest.mark.parametrize("envelope", [{}, {"kind": "List", "apiVersion": "v1"}, {"kind": None}])
@pytest.mark.parametrize("kind", [{}, {"kind": ""}, {"kind": None}, {"kind": 5}])
def test_an_item_of_no_kind_is_refused_with_its_place(envelope: Row, kind: Row) -> None:
    with pytest.raises(InputError, match="kind of the object") as caught:
        dumped([node("n1"), bare(node("n2")) | kind], **envelope)
    assert caught.value.path == "$.items[1].kind"


@pytest.mark.parametrize("item", [None, "node", 3, [node("n1")]])
def test_an_item_that_is_no_object_is_refused(item: Any) -> None:
    with pytest.raises(InputError, match="expected a Kubernetes object") as caught:
        dumped([item], kind="List")
    assert caught.value.path == "$.items[0]"


def test_a_kind_that_is_not_read_is_passed_over() -> None:
    secret = {"metadata": {"name": "s"}}
    assert dumped([secret], kind="SecretList", apiVersion="v1").document.nodes == []


ODD = {
    "a grace period beyond time": {
        "metadata": {"deletionTimestamp": "2026-11-30T04:00:30Z", "deletionGracePeriodSeconds": 2**63 - 1}
    },
    "a port beyond ports": {"spec": {"containers": [{"name": "c", "ports": [{"hostPort": 99_999}]}]}},
    "an address that is none": {
        "spec": {"containers": [{"name": "c", "ports": [{"hostPort": 80, "hostIP": "x:5/y"}]}]}
    },
}


@pytest.mark.parametrize("odd", ODD.values(), ids=list(ODD))
def test_one_odd_pod_loses_no_other_and_the_rest_can_be_built(odd: Row) -> None:
    found = dumped([node("n1"), pod("good"), pod("odd", **odd)], kind="List")
    assert "good" in [one.name for one in found.document.pods]
    assert build(found.document).node_name == ("n1",)
    assert len(found.document.pods) + len(found.bad) == 2
