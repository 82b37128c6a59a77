"""One odd object loses no other: whatever it says, the rest is read and the document can be built."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from scheduler.cluster.build import build
from tests.scheduler.kubernetes.things import GPU, Row, node, one_node, one_pod, pod, read, said, thing

LARGE = 2**63 - 1
TIMES = ("0001-01-01T00:00:00+14:00", "2026-11-30T04:00:30")
TEXTS = ("2147483646", "not an ip:5/x", "", "-5", "9E", "1e39", "9" * 5000)
ODD: tuple[Any, ...] = (LARGE, -1, 0, 2**31 - 1, 1e39, *TEXTS, *TIMES, [], ["x"], {"x": "y"}, True, None)
MARKS = ("locked", "locked-until", "standby-until", "checkpoint", "checkpoint-interval", "min-runtime", "tier", "move")
TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}


def odd_pod() -> Row:
    row = pod("odd", "odd", gpus=1, labels={"app": "x"}, annotations={f"slackline.io/{name}": "1" for name in MARKS})
    row["metadata"] |= {"deletionTimestamp": "2026-11-29T12:00:30Z", "deletionGracePeriodSeconds": 30}
    row["metadata"]["annotations"] |= {
        "scheduling.k8s.io/group-name": "odd",
        "gpu-fraction": "0.5",
        "gpu-fraction-num-devices": "1",
    }
    port = {"containerPort": 80, "hostPort": 80, "hostIP": "10.0.0.1", "protocol": "TCP"}
    row["spec"]["containers"][0] |= {"ports": [port]}
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
    row["spec"] |= {
        "priority": 5,
        "tolerations": [TAINT | {"operator": "Equal"}],
        "nodeSelector": {"pool": "a"},
        "resourceClaims": [{"name": "r", "resourceClaimName": "odd"}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}},
    }
    row["status"] |= {"startTime": "2026-11-29T11:00:00Z"}
    return row


def odd_objects() -> dict[str, Row]:
    device = {"name": "gpu-0", "attributes": {"uuid": {"string": "GPU-0"}, "productName": {"string": "A100"}},
              "capacity": {"memory": {"value": "80Gi"}}}  # fmt: skip
    capacity = {"nvidia.com/mig-1g.10gb": "7", "hugepages-2Mi": "1Gi", "vpc.amazonaws.com/efa": "4"}
    labels = {"nvidia.com/gpu.count": "9", "nvidia.com/gpu.memory": "81920", "nvidia.com/gpu.replicas": "1"}
    claim = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 1}}]}}
    results = [{"request": "r", "driver": "gpu.nvidia.com", "pool": "odd", "device": "gpu-0"}]
    allocation = {"allocation": {"devices": {"results": results}}, "reservedFor": [{"name": "odd"}]}
    pool = {"name": "odd", "generation": 1}
    flavor = {"name": "f", "resources": [{"name": GPU, "nominalQuota": "4", "borrowingLimit": "2"}]}
    chosen = {"driver": "gpu.nvidia.com", "pool": "odd", "device": "gpu-0"}
    kai = {"quota": 4, "limit": 8, "overQuotaWeight": 2}
    budget = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "x"}}}
    queue = {"cohortName": "c", "fairSharing": {"weight": "1"}, "resourceGroups": [{"flavors": [flavor, flavor]}]}
    volcano = {"weight": 1, "capability": {GPU: "4"}, "guarantee": {"resource": {GPU: "2"}}}
    listed = {"driver": "gpu.nvidia.com", "nodeName": "odd", "pool": pool, "devices": [device]}
    return {
        "node": node("odd", 8, capacity=capacity, labels=labels, taints=[TAINT]),
        "pod": odd_pod(),
        "slice": thing("resourceslices.resource.k8s.io", "odd", spec=listed),
        "claim": thing("resourceclaims.resource.k8s.io", "odd", "ml", claim, status=allocation),
        "group": thing("podgroups.scheduling.volcano.sh", "odd", "ml", {"minMember": 2, "queue": "odd"}),
        "rule": thing("devicetaintrules.resource.k8s.io", "odd", spec={"deviceSelector": chosen, "taint": TAINT}),
        "budget": thing("poddisruptionbudgets.policy", "odd", "ml", budget, status={"disruptionsAllowed": 1}),
        "quota": thing("resourcequotas", "odd", "ml", {"hard": {f"requests.{GPU}": "4"}}),
        "queue": thing("clusterqueues.kueue.x-k8s.io", "odd", spec=queue),
        "kai": thing("queues.scheduling.run.ai", "odd", spec={"parentQueue": "p", "resources": {"gpu": kai}}),
        "volcano": thing("queues.scheduling.volcano.sh", "odd", spec=volcano),
    }


TOGETHER = ("node", "pod", "slice", "claim")  # these look at one another
IDENTITY = {("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"), ("metadata",)}


def leaves(row: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = row.items() if isinstance(row, dict) else enumerate(row) if isinstance(row, list) else ()
    for key, value in items:
        if (*path, key) not in IDENTITY:
            yield (*path, key)
        yield from leaves(value, (*path, key))


def with_value(row: Row, path: tuple[Any, ...], value: Any) -> Row:
    found = deepcopy(row)
    place: Any = found
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return found


def cases(kind: str) -> Iterator[list[Row]]:
    """Objects of a name of their own, one of them with one field that says something odd."""
    base = odd_objects()
    names = TOGETHER if kind in TOGETHER else (*(("pod",) if kind == "group" else ()), kind)
    number = 0
    for path in leaves(base[kind]):
        for value in ODD:
            number += 1
            rows = [with_value(base[name], path, value) if name == kind else base[name] for name in names]
            yield msgspec.json.decode(msgspec.json.encode(rows).replace(b'"odd"', f'"odd-{number}"'.encode()))


@pytest.mark.parametrize("kind", list(odd_objects()))
def test_whatever_a_field_of_an_object_says_all_others_are_read(kind: str) -> None:
    rows = [row for case in cases(kind) for row in case]
    found = read(*rows, node("good"), pod("good", "good", gpus=2))
    build(found.document)
    words = {"Node": {node.name for node in found.document.nodes}, "Pod": {pod.name for pod in found.document.pods}}
    bad = {(one.kind, one.name) for one in found.bad}
    for word, plural in (("Node", "nodes"), ("Pod", "pods")):
        wanted = {row["metadata"]["name"] for row in rows if row["kind"] == word}
        lost = wanted - words[word]
        assert {(plural, name) for name in lost} <= bad, f"lost without a word: {sorted(lost)[:5]}"
        assert not lost or word.lower() == kind, f"lost by another's fault: {sorted(lost)[:5]}"
        assert "good" in words[word]


def test_a_record_that_no_document_may_have_is_bad_until_it_is_mended() -> None:
    odd, good = pod("p", spec={"priority": LARGE}), pod("q")
    found = read(node("n1"), odd, good)
    assert [(one.kind, one.name) for one in found.bad] == [("pods", "p")]
    assert "priority" in found.bad[0].reason
    assert [one.name for one in found.document.pods] == ["q"]


@pytest.mark.parametrize("amount", ["9E", str(LARGE)])
def test_devices_beyond_number_are_refused_before_they_are_laid_out(amount: str) -> None:
    found = read(node("n1", 0, capacity={"nvidia.com/mig-1g.10gb": amount}), node("n2"))
    assert [one.name for one in found.bad] == ["n1"]
    assert [one.name for one in found.document.nodes] == ["n2"]


@pytest.mark.parametrize(("grace", "kept"), [(30, 30), (LARGE, 2**53), (-1, None)])
def test_a_deletion_that_cannot_have_begun_then_is_at_an_unknown_instant(grace: int, kept: int | None) -> None:
    row = pod("p", metadata={"deletionTimestamp": "2026-11-29T12:00:30Z", "deletionGracePeriodSeconds": grace})
    held = one_pod(node("n1"), row)
    assert (held.terminating, held.grace_s) == (True, kept)
    assert (held.deleted_at_s is None) == (grace == LARGE)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00"])
def test_a_time_that_nobody_has_set_is_no_instant(text: str) -> None:
    marks = {"slackline.io/locked-until": text}
    row = pod("p", annotations=marks, metadata={"deletionTimestamp": text}, status={"startTime": text})
    held = one_pod(node("n1"), row)
    assert (held.started_s, held.terminating, held.deleted_at_s, held.locked_until_s) == (None, False, None, None)


@pytest.mark.parametrize(
    ("port", "held", "done"),
    [
        ({"hostPort": 80}, ["*:80/TCP"], ""),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, ["10.0.0.1:80/TCP"], ""),
        ({"hostPort": 80, "hostIP": "fd00::1"}, ["[fd00::1]:80/TCP"], ""),
        ({"hostPort": 80, "hostIP": "::"}, ["*:80/TCP"], "widened"),
        ({"hostPort": 80, "hostIP": "not an ip:5/x"}, ["*:80/TCP"], "widened"),
        ({"hostPort": 80, "protocol": "DCCP"}, ["*:80"], "widened"),
        ({"hostPort": 99_999}, [], "ignored"),
    ],
)
def test_host_ports_that_are_not_as_they_stand_are_said(port: Row, held: list[str], done: str) -> None:
    row = pod("p")
    row["spec"]["containers"][0]["ports"] = [port]
    assert one_pod(node("n1"), row).host_ports == held
    assert said(node("n1"), row) == ([("host_port", done, "p")] if done else [])


@pytest.mark.parametrize(("restart", "held"), [(None, []), ("Always", ["*:80/TCP"])])
def test_only_init_containers_that_stay_hold_ports(restart: str | None, held: list[str]) -> None:
    first = {"name": "i", "ports": [{"hostPort": 80}]} | ({"restartPolicy": restart} if restart else {})
    assert one_pod(node("n1"), pod("p", initContainers=[first])).host_ports == held


def test_small_pages_are_counted_so_that_none_is_rounded() -> None:
    machine = node("n1", capacity={"hugepages-64Ki": "1Mi"})
    held = one_pod(machine, pod("p", requests={"hugepages-64Ki": "512Ki"}))
    assert (one_node(machine).resources, held.resources) == ({"hugepages-64Ki": 1024}, {"hugepages-64Ki": 512})
