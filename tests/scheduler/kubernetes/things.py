"""Kubernetes objects as an API server would print them, short to write, and their reading."""

from typing import Any

import msgspec

from scheduler.cluster.records import Document, NodeRecord, PodRecord
from scheduler.kubernetes.dump import read_dump
from scheduler.kubernetes.objects import KINDS, Bad, Thing, kind_of, of_plain
from scheduler.kubernetes.options import Options
from scheduler.kubernetes.reader import Reader, Reading

Row = dict[str, Any]
TAKEN_AT, NOW_S = "2026-11-29T12:00:00Z", 1_795_953_600
GPU = "nvidia.com/gpu"


def meta(name: str, namespace: str = "", **fields: Any) -> Row:
    return {"name": name, "uid": f"uid-{namespace}-{name}", **({"namespace": namespace} if namespace else {}), **fields}


def node(name: str, gpus: int | None = 8, **fields: Any) -> Row:
    """A ready node; ``capacity`` and ``allocatable`` add to 96 cores, 1 TiB and ``gpus`` of NVIDIA."""
    amounts = {"cpu": "96", "memory": "1Ti", "pods": "110"} | ({GPU: str(gpus)} if gpus is not None else {})
    capacity = amounts | fields.pop("capacity", {})
    allocatable = capacity | fields.pop("allocatable", {})
    labels = {"kubernetes.io/hostname": name} | fields.pop("labels", {})
    ready = fields.pop("ready", "True")
    annotations = fields.pop("annotations", {})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta(name, labels=labels, annotations=annotations, **fields.pop("metadata", {})),
        "spec": fields,
        "status": {
            "capacity": capacity,
            "allocatable": allocatable,
            "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": ready}],
        },
    }


def container(name: str = "main", requests: Row | None = None, **fields: Any) -> Row:
    return {
        "name": name,
        "image": "i",
        "resources": {"requests": requests or {}} | fields.pop("resources", {}),
        **fields,
    }


def pod(name: str, at: str | None = "n1", namespace: str = "ml", gpus: int = 0, **fields: Any) -> Row:
    """A running pod of a ReplicaSet on ``at``; ``spec``, ``status`` and ``metadata`` are merged in."""
    owner = fields.pop("owner", ("ReplicaSet", "web-abc"))
    requests = fields.pop("requests", {"cpu": "1", "memory": "1Gi"}) | ({GPU: str(gpus)} if gpus else {})
    own = {"labels": fields.pop("labels", {}), "annotations": fields.pop("annotations", {})}
    own |= {"ownerReferences": [owner_of(*owner)]} if owner else {}
    spec = {"containers": [container(requests=requests)]} | ({"nodeName": at} if at else {})
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]} if at else {"phase": "Pending"}
    status |= fields.pop("status", {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(name, namespace, **(own | fields.pop("metadata", {}))),
        "spec": spec | fields.pop("spec", {}) | fields,
        "status": status,
    }


def owner_of(kind: str, name: str, api: str = "") -> Row:
    known = {"ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Job": "batch/v1", "Node": "v1"}
    return {
        "apiVersion": api or known.get(kind, "example.org/v1"),
        "kind": kind,
        "name": name,
        "uid": "u",
        "controller": True,
    }


def thing(kind: str, name: str, namespace: str = "", spec: Row | None = None, **fields: Any) -> Row:
    """An object of any kind of ``KINDS``."""
    row = KINDS[kind]
    version = f"{row.group}/{row.versions[0]}" if row.group else row.versions[0]
    status = {"status": fields.pop("status")} if "status" in fields else {}
    own = meta(name, namespace, **fields)
    return {"apiVersion": version, "kind": row.word, "metadata": own, "spec": spec or {}, **status}


def read(*objects: Row, options: Options | None = None) -> Reading:
    data = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    return read_dump(data, cluster="c", taken_at=TAKEN_AT, options=options)


def decoded(row: Row) -> tuple[str, Thing]:
    """Kind and object of a row that can be read."""
    kind = kind_of(row["apiVersion"], row["kind"])
    assert kind is not None, row
    found = of_plain(kind.name, row)
    assert not isinstance(found, Bad), found
    return kind.name, found


def fresh(*objects: Row, options: Options | None = None) -> Reader:
    reader = Reader(options)
    for row in objects:
        reader.put(*decoded(row))
    return reader


def document(*objects: Row, options: Options | None = None) -> Document:
    reading = read(*objects, options=options)
    assert reading.bad == ()
    return reading.document


def one_node(*objects: Row, options: Options | None = None) -> NodeRecord:
    (found,) = document(*objects, options=options).nodes
    return found


def one_pod(*objects: Row, options: Options | None = None, name: str = "p") -> PodRecord:
    (found,) = [p for p in document(*objects, options=options).pods if p.name == name]
    return found


def said(*objects: Row, options: Options | None = None) -> list[tuple[str, str, str]]:
    """What the format could not hold, as (what, done, object)."""
    return [(u.what, u.done, u.name) for u in read(*objects, options=options).unheld]
