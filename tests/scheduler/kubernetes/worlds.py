"""Random clusters whose objects lean on one another: owners, gangs, volumes, budgets, selectors, queues, devices."""

from typing import Any

from hypothesis import strategies as st

from tests.scheduler.kubernetes.things import GPU, Row, node, owner_of, pod, thing

NAMES = st.sampled_from(["a", "b", "c"])
SPACES = st.sampled_from(["ml", "web"])
HOSTS = st.sampled_from(["n1", "n2", "n3"])
APPS = st.sampled_from(["x", "y"])
KAI, VOLCANO, KUEUE = "scheduling.run.ai", "scheduling.volcano.sh", "kueue.x-k8s.io"


def _selector(draw: Any) -> Row:
    labels = {"matchLabels": {"app": draw(APPS), **({"tier": "t"} if draw(st.booleans()) else {})}}
    return draw(st.sampled_from([labels, {}, {"matchExpressions": [{"key": "app", "operator": "Exists"}]}]))


@st.composite
def nodes(draw: Any) -> Row:
    labels = draw(
        st.dictionaries(
            st.sampled_from(["disk", "topology.kubernetes.io/zone", "rack", "block", "nvidia.com/gpu.replicas"]),
            st.sampled_from(["1", "2"]),
        )
    )
    return node(
        draw(HOSTS),
        draw(st.sampled_from([None, 0, 2, 8])),
        labels=labels | {"nvidia.com/gpu.count": "2"},
        unschedulable=draw(st.booleans()),
    )


def _affinity(draw: Any) -> Row:
    found: Row = {}
    if draw(st.booleans()):
        expression = {
            "key": draw(st.sampled_from(["disk", "kubernetes.io/hostname", "rack"])),
            "operator": draw(st.sampled_from(["In", "NotIn", "Gt"])),
            "values": [draw(st.sampled_from(["1", "2", "n1"]))],
        }
        terms = [{"matchExpressions": [expression]}]
        found["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    if draw(st.booleans()):
        key = draw(st.sampled_from(["kubernetes.io/hostname", "topology.kubernetes.io/zone"]))
        term = {"topologyKey": key, "labelSelector": _selector(draw)}
        side = draw(st.sampled_from(["podAffinity", "podAntiAffinity"]))
        found[side] = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return found


@st.composite
def pods(draw: Any) -> Row:
    labels = {"app": draw(APPS)} | ({"tier": "t"} if draw(st.booleans()) else {})
    labels |= draw(st.sampled_from([{}, {"kueue.x-k8s.io/queue-name": "a"}, {"kai.scheduler/queue": "q"}]))
    notes = draw(
        st.sampled_from([{}, {"pod-group-name": "a"}, {"scheduling.k8s.io/group-name": "b"}, {"gpu-fraction": "0.5"}])
    )
    spec: Row = {"affinity": _affinity(draw)}
    if draw(st.booleans()):
        spec["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": draw(NAMES)}}]
    if draw(st.booleans()):
        spec["resourceClaims"] = [{"name": "g", "resourceClaimName": draw(NAMES)}]
    return pod(
        draw(st.sampled_from(["p1", "p2", "p3", "p4"])),
        draw(st.one_of(st.none(), HOSTS)),
        draw(SPACES),
        draw(st.sampled_from([0, 1, 2])),
        labels=labels,
        annotations=notes,
        owner=draw(st.sampled_from([None, ("Job", "a"), ("ReplicaSet", "r-1"), ("DaemonSet", "d")])),
        spec=spec,
        status={"phase": draw(st.sampled_from(["Running", "Succeeded", "Pending"]))},
    )


@st.composite
def others(draw: Any) -> Row:
    name, space = draw(NAMES), draw(SPACES)
    size = draw(st.integers(1, 3))
    choices: list[Row] = [
        thing("persistentvolumeclaims", name, space, {"volumeName": draw(NAMES), "accessModes": ["ReadWriteOnce"]}),
        thing("persistentvolumes", name, spec={"nodeAffinity": {"required": _terms(draw)}}),
        thing("jobs.batch", name, space, ownerReferences=[owner_of("CronJob", f"cron-{size}")]),
        thing("namespaces", space, labels={"slackline.io/tenant": f"t{size}"} if size > 1 else {}),
        thing(f"podgroups.{KAI}", name, space, {"minMember": size, "queue": "q"}),
        thing(f"podgroups.{VOLCANO}", name, space, {"minMember": size, "queue": "v"}),
        thing(f"localqueues.{KUEUE}", name, space, {"clusterQueue": f"cq{size}"}),
        thing(f"clusterqueues.{KUEUE}", name, spec={"cohortName": "all"}),
        thing(f"queues.{KAI}", name, spec={"resources": {"gpu": {"quota": size}}}),
        thing("resourcequotas", name, space, {"hard": {f"requests.{GPU}": str(size)}}),
        thing("poddisruptionbudgets.policy", name, space, {"maxUnavailable": size, "selector": _selector(draw)}),
        thing(f"topologies.{KUEUE}", name, spec={"levels": [{"nodeLabel": "block"}, {"nodeLabel": "rack"}]}),
        thing("resourceclaims.resource.k8s.io", name, space, status={"allocation": _allocation(size)}),
        thing("resourceslices.resource.k8s.io", name, spec=_devices(draw(HOSTS), size)),
    ]
    return draw(st.sampled_from(choices))


def _terms(draw: Any) -> Row:
    key = draw(st.sampled_from(["topology.kubernetes.io/zone", "kubernetes.io/hostname", "disk"]))
    expression = {"key": key, "operator": "In", "values": [draw(st.sampled_from(["1", "n1"]))]}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


def _allocation(size: int) -> Row:
    return {"devices": {"results": [{"driver": "gpu.nvidia.com", "pool": "n1", "device": f"gpu-{size}"}]}}


def _devices(host: str, size: int) -> Row:
    devices = [{"name": f"gpu-{i}", "attributes": {"uuid": {"string": f"{host}-{i}"}}} for i in range(size)]
    return {"driver": "gpu.nvidia.com", "nodeName": host, "pool": {"name": host}, "devices": devices}


def objects() -> st.SearchStrategy[Row]:
    return st.one_of(nodes(), pods(), pods(), others())
