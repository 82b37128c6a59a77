"""Objects that come after the pods they concern, change, and go: the records follow each step at once."""

import pytest

from scheduler.kubernetes.reader import Reader, Reading
from tests.scheduler.kubernetes.things import GPU, NOW_S, TAKEN_AT, Row, decoded, fresh, node, owner_of, pod, thing

K = "kueue.x-k8s.io"
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
APP = {"matchLabels": {"app": "a", "tier": "t"}}
HARD = "requiredDuringSchedulingIgnoredDuringExecution"


def apart(key: str) -> Row:
    return {"affinity": {"podAntiAffinity": {HARD: [{"topologyKey": key, "labelSelector": APP}]}}}


def on_disk(operator: str) -> Row:
    terms = [{"matchExpressions": [{"key": "disk", "operator": operator}]}]
    return {"affinity": {"nodeAffinity": {HARD: {"nodeSelectorTerms": terms}}}}


def budget(selector: Row) -> Row:
    return thing("poddisruptionbudgets.policy", "b", "ml", {"maxUnavailable": 1, "selector": selector})


def claim(mode: str) -> Row:
    return thing("persistentvolumeclaims", "data", "ml", {"volumeName": "pv", "accessModes": [mode]})


def volume(zone: str) -> Row:
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]
    return thing("persistentvolumes", "pv", spec={"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}})


def slices(*names: str) -> Row:
    devices = [{"name": name, "attributes": {"uuid": {"string": name}}} for name in names]
    spec = {"driver": "gpu.nvidia.com", "nodeName": "n1", "pool": {"name": "n1"}, "devices": devices}
    return thing("resourceslices.resource.k8s.io", "s", spec=spec)


def device_claim(*devices: str) -> Row:
    results = [{"driver": "gpu.nvidia.com", "pool": "n1", "device": name} for name in devices]
    return thing("resourceclaims.resource.k8s.io", "g", "ml", status={"allocation": {"devices": {"results": results}}})


def levels(*labels: str) -> Row:
    return thing(f"topologies.{K}", "t", spec={"levels": [{"nodeLabel": label} for label in labels]})


def switch(name: str, member: str) -> Row:
    members = [{"type": "Node", "selector": {"exactMatch": {"name": member}}}]
    return thing("hypernodes.topology.volcano.sh", name, spec={"tier": 1, "members": members})


def shared(replicas: int) -> Row:
    labels = {"nvidia.com/gpu.count": "2", "nvidia.com/gpu.replicas": str(replicas)}
    return node("n1", 2 * replicas, labels=labels)


OWNED = {"ownerReferences": [owner_of("CronJob", "nightly")]}
WISH = {f"{K}/podset-required-topology": "rack"}
MOUNTS = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}
CLAIMS = {"resourceClaims": [{"name": "g", "resourceClaimName": "g"}]}
WEB = pod("p", labels={"app": "a", "tier": "t"})
CASES: dict[str, tuple[list[Row], Row, Row]] = {
    # What is there before, what comes, what it changes to
    "a job tells who made it": (
        [pod("p", owner=("Job", "j"))],
        thing("jobs.batch", "j", "ml", **OWNED),
        thing("jobs.batch", "j", "ml", ownerReferences=[owner_of("JobSet", "js")]),
    ),
    "a namespace gets a tenant": (
        [pod("p")],
        thing("namespaces", "ml", labels={"slackline.io/tenant": "a"}),
        thing("namespaces", "ml", labels={"slackline.io/tenant": "b"}),
    ),
    "a queue gets a ClusterQueue": (
        [pod("p", labels={f"{K}/queue-name": "lq"})],
        thing(f"localqueues.{K}", "lq", "ml", {"clusterQueue": "a"}),
        thing(f"localqueues.{K}", "lq", "ml", {"clusterQueue": "b"}),
    ),
    "a group gets a size": (
        [pod("p", annotations={"pod-group-name": "g"})],
        thing("podgroups.scheduling.run.ai", "g", "ml", {"minMember": 2}),
        thing("podgroups.scheduling.run.ai", "g", "ml", {"minMember": 3}),
    ),
    "a budget covers pods": ([WEB, pod("q", labels={"app": "b"})], budget(APP), budget({})),
    "a peer is kept apart": (
        [WEB],
        pod("q", labels={"app": "b"}, spec=apart(HOST)),
        pod("q", labels={"app": "b"}, spec=apart(ZONE)),
    ),
    "a pod comes under a budget": ([budget(APP), pod("q")], WEB, pod("p", labels={"app": "b"})),
    "a pod goes while it is under a budget": ([budget(APP), pod("q")], pod("p", labels={"app": "b"}), WEB),
    "a pod selects nodes": (
        [node("n1", labels={"disk": "ssd"}), node("n2")],
        pod("p", spec=on_disk("Exists")),
        pod("p", spec=on_disk("DoesNotExist")),
    ),
    "a node matches what pods select": (
        [pod("p", None, spec=on_disk("Exists")), node("n2")],
        node("n1", labels={"disk": "ssd"}),
        node("n1"),
    ),
    "a claim gets a volume": (
        [node("n1"), volume("z"), pod("p", spec=MOUNTS)],
        claim("ReadWriteMany"),
        claim("ReadWriteOnce"),
    ),
    "a volume gets a zone": ([node("n1"), claim("ReadWriteMany"), pod("p", spec=MOUNTS)], volume("a"), volume("b")),
    "devices are listed": (
        [node("n1", None), device_claim("gpu-1"), pod("p", spec=CLAIMS)],
        slices("gpu-0", "gpu-1"),
        slices("gpu-1"),
    ),
    "a device is given": (
        [node("n1", None), slices("gpu-0", "gpu-1"), pod("p", spec=CLAIMS)],
        device_claim("gpu-0"),
        device_claim("gpu-0", "gpu-1"),
    ),
    "devices come to be shared": ([pod("p", gpus=1)], shared(4), shared(8)),
    "levels are named": (
        [node("n1", labels={"rack": "r", "block": "b"}), pod("p", annotations=WISH)],
        levels("rack"),
        levels("block", "rack", "other"),
    ),
    "switches are named": ([node("n1"), node("n2")], switch("s1", "n1"), switch("s1", "n2")),
    "a rack is no longer alone of its name": (
        [levels("block", "rack"), node("n1", labels={"block": "b1", "rack": "r"})],
        node("n2", labels={"block": "b2", "rack": "r"}),
        node("n2", labels={"block": "b1", "rack": "r"}),
    ),
    "a flavor gets a model": (
        [thing(f"clusterqueues.{K}", "q", spec={"resourceGroups": [
            {"flavors": [{"name": "f", "resources": [{"name": GPU, "nominalQuota": 4}]}]}]})],
        thing(f"resourceflavors.{K}", "f", spec={"nodeLabels": {"nvidia.com/gpu.product": "A"}}),
        thing(f"resourceflavors.{K}", "f", spec={"nodeLabels": {"nvidia.com/gpu.product": "B"}}),
    ),
}  # fmt: skip


def now(reader: Reader) -> Reading:
    return reader.document("c", TAKEN_AT, NOW_S)


@pytest.mark.parametrize("name", CASES)
def test_records_follow_what_comes_changes_and_goes(name: str) -> None:
    there, comes, changes = CASES[name]
    reader = fresh(*there)
    before = now(reader)
    steps = [now(fresh(*reversed([*there, *more]))) for more in ([comes], [changes], [])]
    assert len({str(step.document) + str(step.unheld) for step in steps}) == 3, "the case shows nothing"
    kind, found = decoded(comes)
    reader.put(kind, found)
    assert now(reader) == steps[0]
    reader.put(*decoded(changes))
    assert now(reader) == steps[1]
    reader.drop(kind, found.key)
    assert now(reader) == steps[2] == before


@pytest.mark.parametrize("name", CASES)
def test_what_was_never_looked_at_between_two_events_is_the_same(name: str) -> None:
    there, comes, changes = CASES[name]
    reader = fresh(*there, comes)
    now(reader)
    kind, found = decoded(comes)
    reader.drop(kind, found.key)
    reader.put(kind, found)
    reader.put(*decoded(changes))
    assert now(reader) == now(fresh(*there, changes))


def test_pod_of_one_name_may_become_an_agent_and_go() -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "x", "b": "y"}}}
    spec = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    peer = pod("peer", labels={"a": "x", "b": "y"})
    reader = fresh(node("n1"), peer, pod("p", spec=spec))
    agent = pod("p", owner=("DaemonSet", "d"), spec=spec)
    reader.put(*decoded(agent))
    assert now(reader) == now(fresh(node("n1"), peer, agent))
    reader.put(*decoded(pod("p", spec=spec)))
    reader.drop("pods", ("ml", "p"))
    assert now(reader) == now(fresh(node("n1"), peer))
