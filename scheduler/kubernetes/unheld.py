"""What the format cannot hold: said object by object, with what was done about it, and never dropped in silence."""

from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple

import msgspec

# pinned: the pod does not move in any plan.  widened: held, but more strictly than the cluster asks.
# ignored: it binds nobody, or nothing that plans do can break it.  unread: a figure that is not known now.
Done = Literal["pinned", "widened", "ignored", "unread"]

What = Literal[
    "preference",  # preferred affinity, PreferNoSchedule, ScheduleAnyway
    "topology_affinity",  # required pod affinity on another key than the node's name
    "topology_anti_affinity",
    "foreign_peers",  # pod (anti-)affinity that looks into other namespaces
    "spread",
    "volume",  # a volume that only some nodes can mount, other than one zone
    "missing_volume",
    "device_claim",  # a DRA claim that does not say whole devices
    "device_taint",  # a rule that taints devices of DRA
    "gate",  # a pending pod that no scheduler looks at yet
    "fraction",  # a share of a GPU in units that do not tell a share of the device
    "mixed_devices",  # several kinds of accelerator in one pod or one node
    "budget",  # a disruption budget of which the number is not known
    "quota",  # a quota, limit or weight that is not a number of GPUs of a model
    "gang",  # a gang or part of one that is not one number of members
    "topology_wish",  # a wish for a level that is not among the levels read
    "topology",  # nodes that stand in two places at once
    "toleration",  # an operator or effect that the format does not know
    "host_port",  # an address or number that is none
    "resource",  # what a claim on other devices stands for; devices of a vendor that is not known
    "disruption",  # a pod that is about to be ended by somebody else
    "nomination",  # a pending pod for which others are being ended on a node
    "local_data",  # files on the node that do not move with the pod
    "value",  # a mark of ours that cannot be understood
]


class Note(NamedTuple):
    """One ``Unheld`` without the name of its object, so that many objects share it."""

    what: What
    done: Done
    field: str
    detail: str = ""

    def of(self, kind: str, namespace: str, name: str) -> "Unheld":
        what, done, field, detail = self
        return Unheld(what=what, done=done, kind=kind, namespace=namespace, name=name, field=field, detail=detail)


class Unheld(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """``kind`` as in ``objects.KINDS``; ``field`` is the JSON path inside the object."""

    what: What
    done: Done
    kind: str
    name: str
    namespace: str = ""
    field: str
    detail: str = ""

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.what} {self.done}: {self.kind} {name} {self.field}{detail}"


def summary(found: Iterable[Unheld]) -> list[tuple[What, Done, int]]:
    """How often each was met, most frequent first."""
    counts = Counter((entry.what, entry.done) for entry in found)
    return [(*key, count) for key, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
