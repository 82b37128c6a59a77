"""Small clusters for the player: objects as an API server keeps them."""

from typing import Any

from scheduler.kubernetes.objects import KINDS, Kind
from tests.kubernetes.player.cluster import Cluster

Thing = dict[str, Any]


def path_of(name: str) -> str:
    """Where the player serves a kind: under the newest version that we know."""
    kind = KINDS[name]
    version = kind.versions[0]
    return f"/apis/{kind.group}/{version}/{kind.plural}" if kind.group else f"/api/{version}/{kind.plural}"


NODES, PODS = path_of("nodes"), path_of("pods")
BUDGETS = path_of("poddisruptionbudgets.policy")


def node(name: str, gpus: int = 8, **labels: str) -> Thing:
    amounts = {"cpu": "96", "memory": "768Gi", "nvidia.com/gpu": str(gpus), "pods": "110"}
    return {
        "metadata": {"name": name, "labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", **labels}},
        "spec": {},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def pod(name: str, on: str = "", gpus: int = 1, namespace: str = "team", **labels: str) -> Thing:
    amounts = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": str(gpus)}
    spec: Thing = {"containers": [{"name": "main", "resources": {"requests": amounts, "limits": amounts}}]}
    if on:
        spec["nodeName"] = on
    phase = "Running" if on else "Pending"
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": spec,
        "status": {"phase": phase},
    }


def cluster(nodes: int = 3, pods: int = 20, **fields: Any) -> Cluster:
    """``pods`` spread over ``nodes``; all other kinds that we read are known, or not, as ``kinds`` says."""
    found = Cluster(**fields)
    found.store.serve(NODES, "Node", [node(f"n{at}") for at in range(nodes)])
    found.store.serve(PODS, "Pod", [pod(f"p{at}", on=f"n{at % nodes}" if nodes else "") for at in range(pods)])
    found.store.serve(BUDGETS, "PodDisruptionBudget")
    return found


def serve(found: Cluster, kind: Kind, *things: Thing) -> None:
    found.store.serve(path_of(kind.name), kind.word, list(things))
