"""What the generator makes is what the published API schemas allow, and says what its world says."""

from typing import Any

import pytest
from kubernetes.client import V1Node, V1Pod, V1PodDisruptionBudget
from msgspec.structs import replace

from scheduler.cluster.build import build
from scheduler.cluster.occupancy import occupancy
from scheduler.cluster.records import Document
from scheduler.kubernetes.objects import Bad, of_object
from scheduler.kubernetes.reader import Reader
from scheduler.worlds.generate import generate
from tests.kubernetes.generator import things_of
from tests.kubernetes.player.store import dump

MODELS: dict[str, Any] = {"nodes": V1Node, "pods": V1Pod, "poddisruptionbudgets.policy": V1PodDisruptionBudget}


@pytest.fixture(scope="module")
def world() -> Document:
    """Without lending, of which Kubernetes has no word."""
    found = generate("uniform8", nodes=60, seed=3)
    return replace(found, pods=[replace(pod, lent_by=None) for pod in found.pods])


def test_objects_follow_the_schema(world: Document) -> None:
    """The client's models are those of the API's version 1.37, of which they refuse what is not in it."""
    seen = set()
    for kind, _, thing in things_of(world):
        if kind in MODELS:
            model = MODELS[kind].from_dict(thing)
            assert model.to_dict()["metadata"]["name"] == thing["metadata"]["name"]
            seen.add(kind)
    assert seen == set(MODELS)


def test_objects_say_what_the_world_says(world: Document) -> None:
    reader = Reader()
    for kind, _, thing in things_of(world):
        found = of_object(kind, dump(thing))
        assert not isinstance(found, Bad), found
        reader.put(kind, found)
    reading = reader.document("default", world.taken_at, world.now_s or 0)
    assert reading.bad == ()
    given, read = build(world), build(reading.document)
    assert list(read.node_name) == list(given.node_name)
    assert list(read.pod_name) == list(given.pod_name)
    for name in ("used_gpu_milli", "used_cpu_milli", "used_memory_mib", "free_gpus", "pods"):
        assert (getattr(occupancy(read), name) == getattr(occupancy(given), name)).all(), name
    tenants = {(pod.namespace, pod.name): pod.tenant or pod.namespace for pod in world.pods}
    assert {(pod.namespace, pod.name): pod.tenant for pod in reading.document.pods} == tenants
