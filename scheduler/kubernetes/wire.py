"""What all Kubernetes objects share: metadata, selectors, and the options of our structs.

A struct holds only the fields that are read; the decoder passes over all others.
"""

from datetime import datetime
from typing import Annotated

import msgspec

Key = tuple[str, str]  # namespace ("" for objects of the whole cluster), name
Instant = Annotated[datetime, msgspec.Meta(tz=True)]
UNSET_TIME_S = -62_135_596_800  # 0001-01-01T00:00:00Z, as Go writes a time that nobody has set
Quantity = str | int | float  # built-in kinds are served as text; what somebody wrote into a CRD stays as written


def seconds(instant: datetime | None) -> int | None:
    """Since 1970; None for a time that is not set, whatever the zone it is written in."""
    found = int(instant.timestamp()) if instant is not None else UNSET_TIME_S
    return found if found > UNSET_TIME_S else None


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """Common options: immutable, camelCase on the wire, unknown fields passed over, nothing to collect."""


class OwnerReference(Wire, frozen=True, kw_only=True):
    kind: str
    name: str
    uid: str = ""
    api_version: str = ""
    controller: bool = False


class Metadata(Wire, frozen=True, kw_only=True):
    """``deletion_timestamp`` is the instant at which the object is to be gone, grace included."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Instant | None = None
    deletion_timestamp: Instant | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()


class Thing(Wire, frozen=True, kw_only=True):
    """Any object: what a kind of its own adds stands in its subclass."""

    metadata: Metadata

    @property
    def key(self) -> Key:
        return self.metadata.namespace, self.metadata.name


class Requirement(Wire, frozen=True, kw_only=True):
    """One expression of a label or node selector; ``Gt`` and ``Lt`` are of node selectors alone."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(Wire, frozen=True, kw_only=True):
    """All of it must hold; one without anything matches everything."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()


class NodeSelectorTerm(Wire, frozen=True, kw_only=True):
    """All of it must hold; a term without anything matches no node."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeSelector(Wire, frozen=True, kw_only=True):
    """One term must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class Condition(Wire, frozen=True, kw_only=True):
    type: str
    status: str = ""
    reason: str = ""


class Toleration(Wire, frozen=True, kw_only=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class Taint(Wire, frozen=True, kw_only=True):
    key: str
    value: str = ""
    effect: str = "NoSchedule"
