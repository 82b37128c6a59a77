"""What an installation may choose about the reading of its clusters."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from scheduler.cluster.errors import InputError

ASW, AGG, CORE, NVLINK = "asw", "agg", "core", "nvlink"
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Level:
    """One level of the network: how it is called in the records, and the node label that names the domain."""

    name: str
    label: str


# Widest first.  Tiers of topograph: v0.3 numbers them outwards from the node, earlier releases had fixed names.
PRESETS: dict[str, tuple[Level, ...]] = {
    "topograph": (
        Level(CORE, "fabric.topograph.run/tier-2"),
        Level(AGG, "fabric.topograph.run/tier-1"),
        Level(ASW, "fabric.topograph.run/tier-0"),
        Level(NVLINK, "accelerator.topograph.run/domain"),
    ),
    "topograph-names": (
        Level(CORE, "network.topology.nvidia.com/core"),
        Level(AGG, "network.topology.nvidia.com/spine"),
        Level(ASW, "network.topology.nvidia.com/leaf"),
        Level(NVLINK, "network.topology.nvidia.com/accelerator"),
    ),
    "gke": (
        Level(AGG, "cloud.google.com/gce-topology-block"),
        Level(ASW, "cloud.google.com/gce-topology-subblock"),
        Level("host", "cloud.google.com/gce-topology-host"),
    ),
    "provider": (
        Level(AGG, "cloud.provider.com/topology-block"),
        Level(ASW, "cloud.provider.com/topology-rack"),
    ),
    "plain": (Level(AGG, "topology.kubernetes.io/block"), Level(ASW, "topology.kubernetes.io/rack")),
    "none": (),
}


@dataclass(frozen=True, slots=True)
class LowPriority:
    """Which pods are LP beside those that say so by a label of ours; without any rule all pods are HP."""

    classes: frozenset[str] = frozenset()  # names of PriorityClasses
    below: int | None = None  # pods of a lower priority
    labels: tuple[tuple[str, str], ...] = ()  # pods with one of these labels


@dataclass(frozen=True, slots=True)
class Options:
    """The defaults suit a cluster of which nothing is known.

    ``levels`` lists the network levels, widest first; None means that the cluster says them itself: a Topology of
    Kueue or KAI, HyperNodes of Volcano, or the labels of the first preset that any node has.
    ``tenant_labels`` are looked up on the pod, then on its namespace, before queues and the namespace itself decide.
    ``vendors`` adds accelerators: resource name -> node label of the model ("" if the nodes do not tell).
    """

    levels: tuple[Level, ...] | None = None
    tenant_labels: tuple[str, ...] = ()
    namespace_tenants: bool = True
    low_priority: LowPriority = LowPriority()
    prefix: str = "slackline.io/"
    vendors: tuple[tuple[str, str], ...] = ()
    moves: dict[str, str] = field(default_factory=dict)  # kind of owner -> copy, restart or never

    def mark(self, name: str) -> str:
        """One of our labels or annotations."""
        return self.prefix + name


def levels_of(text: str | Sequence[tuple[str, str]]) -> tuple[Level, ...] | None:
    """A preset by name, or pairs of level and label, widest first; raises ``InputError`` naming the presets."""
    if isinstance(text, str):
        if text == AUTO:
            return None
        if text not in PRESETS:
            raise InputError("levels", text, f"expected {AUTO}, {', '.join(PRESETS)}, or pairs of level and label")
        return PRESETS[text]
    found = tuple(Level(name, label) for name, label in text)
    for word, seen in (("level", [x.name for x in found]), ("label", [x.label for x in found])):
        if len(set(seen)) < len(seen) or not all(seen):
            raise InputError("levels", seen, f"every {word} must be named, and once")
    return found
