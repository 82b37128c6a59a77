"""From a generated world back to Kubernetes objects, as large as real ones: what an API server would hold.

Where the records say what Kubernetes cannot, our own labels say it.  ``managedFields`` and statuses are there for their
size: nobody reads them, and everybody must read over them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from scheduler.cluster.records import Document, GangRecord, NodeRecord, OwnerRecord, PdbRecord, PodRecord
from scheduler.kubernetes.objects import KINDS, Kind
from tests.kubernetes.player.cluster import Cluster
from tests.kubernetes.worlds import path_of

Thing = dict[str, Any]
ASW_LABEL = "fabric.topograph.run/tier-0"
GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
GROUPS = "podgroups.scheduling.x-k8s.io"
MARK = "slackline.io/"
BORN = "2026-11-01T00:00:00Z"
IMAGE = "images.example.org/team/train"
FLAG = {True: "True", False: "False"}
OWNERS = {"ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Job": "batch/v1"}


def clusters_of(document: Document, **fields: Any) -> dict[str, Cluster]:
    """One served cluster for each cluster of the world; ``fields`` are those of ``Cluster``."""
    names = sorted({node.cluster for node in document.nodes})
    found = {name: Cluster(**fields) for name in names}
    parts: dict[tuple[str, str], list[Thing]] = defaultdict(list)
    for kind, cluster, thing in things_of(document):
        parts[cluster, kind].append(thing)
    for name, cluster in found.items():
        for kind in ("nodes", "pods", "namespaces", "poddisruptionbudgets.policy", GROUPS):
            _serve(cluster, KINDS[kind], parts.get((name, kind), []))
    return found


def things_of(document: Document) -> Iterator[tuple[str, str, Thing]]:
    """(kind, cluster, object) of everything in the world that Kubernetes has an object for."""
    for node in document.nodes:
        yield "nodes", node.cluster, node_of(node)
    for pod in document.pods:
        yield "pods", pod.cluster, pod_of(pod)
    for cluster, name in sorted({(pod.cluster, pod.namespace) for pod in document.pods}):
        yield "namespaces", cluster, {"metadata": _meta(name)}
    for budget in document.pdbs:
        yield "poddisruptionbudgets.policy", budget.cluster, budget_of(budget)
    for gang in document.gangs:
        yield GROUPS, gang.cluster, group_of(gang)


def _serve(cluster: Cluster, kind: Kind, things: Iterable[Thing]) -> None:
    cluster.store.serve(path_of(kind.name), kind.word, things)


def node_of(node: NodeRecord) -> Thing:
    labels = {"kubernetes.io/hostname": node.name, "kubernetes.io/arch": "amd64", **node.labels}
    if node.gpu_model:
        labels |= {"nvidia.com/gpu.product": node.gpu_model, "nvidia.com/gpu.count": str(node.gpus)}
    if node.gpu_memory_mib:
        labels["nvidia.com/gpu.memory"] = str(node.gpu_memory_mib)
    if node.domain or node.asw:
        labels[ASW_LABEL] = node.domain or node.asw or ""
    whole = _amounts(node.cpu_milli, node.memory_mib, node.gpus) | {"pods": str(node.max_pods or 250)}
    offered = node.gpus if node.allocatable_gpus is None else node.allocatable_gpus
    taints = [{"key": taint.key, "value": taint.value or "", "effect": taint.effect} for taint in node.taints]
    spec: Thing = {"podCIDR": "10.1.2.0/24", "providerID": f"bare://{node.name}"}
    return {
        "metadata": _meta(node.name, labels=labels, manager="kubelet"),
        "spec": spec | ({"taints": taints} if taints else {}) | ({"unschedulable": True} if node.cordoned else {}),
        "status": {
            "capacity": whole,
            "allocatable": whole | {"nvidia.com/gpu": str(offered)},
            "conditions": [_condition("MemoryPressure", False), _condition("Ready", node.ready)],
            "addresses": [{"type": "Hostname", "address": node.name}],
            "nodeInfo": NODE_INFO,
            "images": [
                {"names": [f"images.example.org/team/train-{at}:2026.11"], "sizeBytes": 9_123_456_789}
                for at in range(8)
            ],
        },
    }


def pod_of(pod: PodRecord) -> Thing:
    labels = dict(pod.labels)
    marks = {"tenant": pod.tenant, "tier": pod.tier, "class": pod.work_class, "move": pod.move}
    marks |= {"locked": "true" if pod.locked else None, "locked-by": pod.locked_by}
    labels |= {MARK + name: value for name, value in marks.items() if value}
    if pod.gang:
        labels[GROUP_LABEL] = pod.gang
    notes: Thing = {MARK + "lock-reason": pod.lock_reason} if pod.lock_reason else {}
    if pod.gpu_milli < 1000:
        notes["gpu-fraction"] = f"{pod.gpu_milli / 1000:g}"
    if pod.standby:
        notes[MARK + "standby"] = "true"
    meta = _meta(pod.name, pod.namespace, labels, "kube-controller-manager", notes)
    owner = pod.owner if isinstance(pod.owner, OwnerRecord) else OwnerRecord(kind=pod.owner) if pod.owner else None
    if owner is not None and owner.kind in OWNERS:
        meta["ownerReferences"] = [_owner(owner, pod.name)]
    return {"metadata": meta, "spec": _pod_spec(pod), "status": _pod_status(pod)}


def _owner(owner: OwnerRecord, pod: str) -> Thing:
    name = owner.name or pod
    kind, version = owner.kind, OWNERS[owner.kind]
    return {"apiVersion": version, "kind": kind, "name": name, "uid": f"owner-{name}"[:36], "controller": True}


def _pod_spec(pod: PodRecord) -> Thing:
    amounts = _amounts(pod.cpu_milli, pod.memory_mib, pod.gpus if pod.gpu_milli == 1000 else 0)
    container = {
        "name": "main",
        "image": f"{IMAGE}:2026.11",
        "command": ["python", "-m", "train", "--config", "/etc/train/config.yaml"],
        "env": [{"name": f"SETTING_{at}", "value": f"value-{at}"} for at in range(12)],
        "resources": {"requests": amounts, "limits": amounts},
        "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets/account", "readOnly": True}],
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }
    spec: Thing = {
        "containers": [container],
        "volumes": [{"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30 if pod.grace_s is None else pod.grace_s,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "schedulerName": "default-scheduler",
        "priority": pod.priority,
        "tolerations": _tolerations(pod),
    }
    selector = dict(pod.node_selector)
    if isinstance(pod.gpu_model, str):
        selector["nvidia.com/gpu.product"] = pod.gpu_model
    if selector:
        spec["nodeSelector"] = selector
    if pod.node:
        spec["nodeName"] = pod.node
    affinity = {"podAffinity": pod.affinity, "podAntiAffinity": pod.anti_affinity}
    if any(affinity.values()):
        spec["affinity"] = {word: _peers(entries) for word, entries in affinity.items() if entries}
    return spec


def _tolerations(pod: PodRecord) -> list[Thing]:
    given = [
        {"key": one.key, "operator": one.operator, "value": one.value, "effect": one.effect} for one in pod.tolerations
    ]
    usual = [
        {"key": f"node.kubernetes.io/{word}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for word in ("not-ready", "unreachable")
    ]
    return [{key: value for key, value in one.items() if value is not None} for one in given] + usual


def _peers(entries: list[str]) -> Thing:
    terms = []
    for entry in entries:
        key, _, value = entry.partition("=")
        terms.append({"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {key: value}}})
    return {"requiredDuringSchedulingIgnoredDuringExecution": terms}


def _pod_status(pod: PodRecord) -> Thing:
    phase = pod.phase or ("Running" if pod.node else "Pending")
    found: Thing = {
        "phase": phase,
        "qosClass": "Guaranteed",
        "conditions": [_condition("PodScheduled", bool(pod.node))],
    }
    if pod.node:
        image = IMAGE + "@sha256:" + "0" * 64
        found |= {"hostIP": "10.1.2.3", "podIP": "10.4.5.6", "startTime": BORN}
        found["containerStatuses"] = [
            {
                "name": "main", "ready": True, "restartCount": 0, "image": image, "imageID": image,
                "containerID": "containerd://" + "0" * 64, "started": True, "state": {"running": {"startedAt": BORN}},
            }
        ]  # fmt: skip
    return found


def budget_of(budget: PdbRecord) -> Thing:
    key, _, value = budget.selector.partition("=")
    limit: Thing = {"maxUnavailable": budget.max_unavailable, "minAvailable": budget.min_available}
    spec: Thing = {"selector": {"matchLabels": {key: value}}}
    spec |= {name: number for name, number in limit.items() if number is not None}
    return {"metadata": _meta(f"{key}-{value}".replace("/", "-"), budget.namespace), "spec": spec}


def group_of(gang: GangRecord) -> Thing:
    return {"metadata": _meta(gang.name, gang.namespace), "spec": {"minMember": gang.min_members}}


def _amounts(cpu_milli: int, memory_mib: int, gpus: int) -> dict[str, str]:
    found = {"cpu": f"{cpu_milli}m", "memory": f"{memory_mib}Mi"}
    return found | {"nvidia.com/gpu": str(gpus)} if gpus else found


def _condition(word: str, good: bool) -> Thing:
    times = {"lastTransitionTime": BORN}
    return {"type": word, "status": FLAG[good], "reason": f"Kubelet{word}", "message": f"kubelet says {word}", **times}


def _meta(
    name: str, namespace: str = "", labels: Thing | None = None, manager: str = "kubectl", notes: Thing | None = None
) -> Thing:
    found: Thing = {"name": name, "creationTimestamp": BORN, "generation": 1}
    if namespace:
        found["namespace"] = namespace
    if labels:
        found["labels"] = labels
    if notes:
        found["annotations"] = notes
    fields = {f"f:{word}": {".": {}, "f:requests": {}, "f:limits": {}} for word in FIELDS}
    entry: Thing = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": BORN,
        "fieldsType": "FieldsV1",
    }
    found["managedFields"] = [entry | {"fieldsV1": {"f:metadata": fields, "f:spec": fields}}]
    return found


FIELDS = ("labels", "containers", "resources", "tolerations", "affinity", "volumes", "priority", "dnsPolicy")
NODE_INFO = {
    "machineID": "0" * 32, "systemUUID": "0" * 36, "bootID": "0" * 36, "kernelVersion": "6.1.0-28-amd64",
    "osImage": "Debian GNU/Linux 12", "containerRuntimeVersion": "containerd://2.1.4", "kubeletVersion": "v1.37.0",
    "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64",
}  # fmt: skip
