"""The facts that a simulated cluster's journal is written in."""

from collections.abc import Mapping
from typing import Any

import msgspec

from scheduler.cluster.records import GangRecord, PodRecord

Identity = tuple[str, str]  # (cluster, node name) or (cluster, namespace/name)
Fields = Mapping[str, str | int | bool | dict[str, str] | None]


class Arrived(msgspec.Struct, frozen=True, tag="arrived"):
    pod: PodRecord


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """``moved``: nobody comes to take its place, as when it goes on elsewhere.  ``uid``: only that very pod."""

    pod: Identity
    moved: bool = False
    uid: str = ""


class PodSet(msgspec.Struct, frozen=True, tag="pod"):
    """Fields of a pod that took new values; None takes a field back to absent.  ``uid``: only that very pod."""

    pod: Identity
    fields: Fields
    uid: str = ""


class NodeSet(msgspec.Struct, frozen=True, tag="node"):
    node: Identity
    fields: Fields


class Ganged(msgspec.Struct, frozen=True, tag="ganged"):
    """Pods that come together stay together from now on; forgotten when the last of them has gone."""

    gang: GangRecord


class Kept(msgspec.Struct, frozen=True, tag="kept"):
    """The room of ``pod`` is promised to ``claimant`` from ``since_s`` on; when this is due, the promise is over."""

    pod: PodRecord
    claimant: str
    since_s: int


Due = PodSet | NodeSet | Ended | Kept


class Planned(msgspec.Struct, frozen=True, tag="planned"):
    """At ``at_s`` this will happen, if the thing is still there."""

    at_s: int
    then: Due


class Came(msgspec.Struct, frozen=True, tag="came"):
    """What was planned for ``at_s`` or earlier is no longer planned."""

    at_s: int


Change = Arrived | Ended | PodSet | NodeSet | Ganged | Kept | Planned | Came


def pack(changes: list[Change]) -> Any:
    """JSON-ready rows for the journal."""
    return msgspec.to_builtins(changes)


def unpack(rows: Any) -> list[Change]:
    return msgspec.convert(rows, type=list[Change])


def identity(pod: PodRecord) -> Identity:
    return pod.cluster, f"{pod.namespace}/{pod.name}"
