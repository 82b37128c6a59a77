"""The facts that a simulated cluster's journal is written in."""

from collections.abc import Mapping
from typing import Any

import msgspec

from scheduler.cluster.records import PodRecord

Identity = tuple[str, str]  # (cluster, node name) or (cluster, namespace/name)
Fields = Mapping[str, str | int | bool | dict[str, str] | None]


class Arrived(msgspec.Struct, frozen=True, tag="arrived"):
    pod: PodRecord


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """``moved``: it goes on elsewhere, so nobody comes to take its place."""

    pod: Identity
    moved: bool = False


class PodSet(msgspec.Struct, frozen=True, tag="pod"):
    """Fields of a pod that took new values; None takes a field back to absent."""

    pod: Identity
    fields: Fields


class NodeSet(msgspec.Struct, frozen=True, tag="node"):
    node: Identity
    fields: Fields


class Planned(msgspec.Struct, frozen=True, tag="planned"):
    """At ``at_s`` the thing will take these values, if it is still there."""

    at_s: int
    then: PodSet | NodeSet


class Came(msgspec.Struct, frozen=True, tag="came"):
    """What was planned for ``at_s`` or earlier is no longer planned."""

    at_s: int


Change = Arrived | Ended | PodSet | NodeSet | Planned | Came


def pack(changes: list[Change]) -> Any:
    """JSON-ready rows for the journal."""
    return msgspec.to_builtins(changes)


def unpack(rows: Any) -> list[Change]:
    return msgspec.convert(rows, type=list[Change])


def identity(pod: PodRecord) -> Identity:
    return pod.cluster, f"{pod.namespace}/{pod.name}"
