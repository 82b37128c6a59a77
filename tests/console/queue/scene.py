"""Queues that were read and explained as the workers do it."""

from typing import Any

from console.inventory import services as inventory
from console.inventory.models import Observation, Source
from console.queue import planning
from console.queue.models import Job
from tests.builders.fleets import read
from tests.builders.people import operator
from tests.builders.worlds import World, world

REQUIRED = {"required": "asw"}


def explained(built: World, name: str = "file") -> Observation:
    """One more reading of the file source, explained."""
    inventory.load_snapshot_file(operator(), name, built.json())
    observation = read(Source.objects.get(name=name))
    planning.explain_newest(observation.source_id)
    return observation


def job(key: str) -> Job:
    return Job.objects.get(key=f"jobs/{key}")


def mixed(now_s: int = 1000) -> World:
    """One job of nearly each reason, each of a tenant that is named in ``OWNERS``, and gangs that run."""
    made = world(now_s).asw("asw-1").nodes("n1", "n2").asw("asw-2").nodes("n3", "n4")
    made.node("lonely", gpu_model="H20", taints=[{"key": "k", "effect": "NoSchedule"}])
    made.tenant("dept", quotas=[{"gpu_model": "H100-SXM5-80GB", "nominal": 8}])
    made.tenant("t-a", parent="dept").tenant("t-b", parent="dept")
    for pod, fields in PODS.items():
        made.pod(pod, **{"tenant": None, **fields})
    for gang, fields in GANGS.items():
        made.gang(gang, **fields)
    return made


PODS: dict[str, dict[str, Any]] = {
    "ra-0": {"node": "n1", "gpus": 6, "gang": "ra", "tenant": "t-a"},
    "rb-0": {"node": "n2", "gpus": 2, "gang": "rb", "tenant": "t-b", "labels": {"app": "hush"}},
    "rb-1": {"node": "n3", "gpus": 5, "gang": "rb", "tenant": "t-c", "labels": {"app": "hush"}},
    "leaver": {"node": "n4", "gpus": 8, "tier": "LP", "tenant": "t-c", "terminating": True, "deleted_at_s": 990,
               "grace_s": 60},
    "quota-a": {"gpus": 4, "tenant": "t-a", "gpu_model": "H100-SXM5-80GB"},
    "room-b": {"gpus": 1, "tenant": "t-d", "priority": 9},
    "behind-c": {"gpus": 3, "tenant": "t-e", "priority": 1, "only_node": "n3"},
    "before-d": {"gpus": 2, "tenant": "t-d", "priority": 8, "only_node": "n3"},
    "away-e": {"gpus": 1, "tenant": "t-e", "anti_affinity": ["app=hush"], "only_node": "n2"},
    "victims-f": {"gpus": 8, "tenant": "t-f"},
    "taint-g": {"gpus": 1, "tenant": "t-g", "gpu_model": "H20"},
    "huge-h": {"gpus": 16, "tenant": "t-h"},
    "nomodel-i": {"gpus": 1, "tenant": "t-h", "gpu_model": "B200"},
}  # fmt: skip
GANGS: dict[str, dict[str, Any]] = {"ra": {"min_members": 1}, "rb": {"min_members": 2, "topology": REQUIRED}}
TENANTS = tuple(sorted({fields["tenant"] for fields in PODS.values()}))
WAITING = {pod: fields["tenant"] for pod, fields in PODS.items() if "node" not in fields}
