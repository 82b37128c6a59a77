"""All objects but nodes and pods: kept as far as they are read, and known to be equal when nothing of that changed."""

from collections import defaultdict
from collections.abc import Mapping

import msgspec

from scheduler.kubernetes.objects import Key, Thing
from scheduler.kubernetes.wire import Metadata, OwnerReference

ANNOTATIONS = ("kueue.x-k8s.io/",)  # of objects that are no pods, only these are read


class Store:
    """By kind and key."""

    def __init__(self) -> None:
        self._things: dict[str, dict[Key, Thing]] = defaultdict(dict)

    def of(self, kind: str) -> Mapping[Key, Thing]:
        return self._things[kind]

    def get(self, kind: str, key: Key) -> Thing | None:
        return self._things[kind].get(key)

    def set(self, kind: str, key: Key, thing: Thing | None) -> bool:
        """Whether that is news; None is an object that is gone."""
        things = self._things[kind]
        if thing is None:
            return things.pop(key, None) is not None
        kept = _read_part(thing)
        if things.get(key) == kept:
            return False
        things[key] = kept
        return True


def _read_part(thing: Thing) -> Thing:
    """The object without what changes from version to version and is not read."""
    meta = thing.metadata
    lean = Metadata(
        name=meta.name,
        namespace=meta.namespace,
        generation=meta.generation,
        labels=meta.labels,
        annotations={key: value for key, value in meta.annotations.items() if key.startswith(ANNOTATIONS)},
        owner_references=tuple(
            OwnerReference(kind=owner.kind, name=owner.name, api_version=owner.api_version, controller=True)
            for owner in meta.owner_references
            if owner.controller
        ),
    )
    return msgspec.structs.replace(thing, metadata=lean)
