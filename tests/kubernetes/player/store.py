"""What one cluster of the player holds: objects with versions, the history that watches read, and snapshots of lists.

Paths name resources (``/api/v1/pods``); keys are (namespace, name).  All versions of a cluster come from one counter,
as with a real server.  Used from the server's event loop only.
"""

import asyncio
import base64
import json
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

Key = tuple[str, str]
Thing = dict[str, Any]
Backup = tuple[int, dict[str, dict[Key, tuple[int, bytes]]]]
KEPT_LISTS = 6


class Gone(Exception):
    """The version or the token asked for is too old."""


class Unknown(Exception):
    """A token that this server never gave."""


class Told(NamedTuple):
    version: int
    what: str
    body: bytes


@dataclass(slots=True)
class Resource:
    kind: str
    api_version: str
    objects: dict[Key, tuple[int, bytes]] = field(default_factory=dict)
    history: deque[Told] = field(default_factory=deque)
    horizon: int = 0  # versions up to here are no longer told
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    def typed(self, body: bytes) -> bytes:
        """An object as it stands alone: in a list of built-in kinds it does not say what it is."""
        return b'{"kind":"%s","apiVersion":"%s",' % (self.kind.encode(), self.api_version.encode()) + body[1:]


@dataclass(slots=True)
class Store:
    """``keep``: events of history per resource; what is older is compacted away."""

    keep: int = 10_000
    version: int = 1000
    uids: int = 0
    resources: dict[str, Resource] = field(default_factory=dict)
    _lists: OrderedDict[tuple[str, int], list[bytes]] = field(default_factory=OrderedDict)

    def serve(self, path: str, kind: str, objects: Iterable[Thing] = ()) -> None:
        """Makes the server know a resource, and fills it without history."""
        api_version = path.removeprefix("/api/").removeprefix("/apis/").rpartition("/")[0]
        resource = self.resources[path] = Resource(kind, api_version)
        for thing in objects:
            self.version += 1
            self._shelve(resource, thing)
        resource.horizon = self.version

    def put(self, path: str, thing: Thing) -> None:
        """Creates or changes an object; another uid under a known name ends the old one first."""
        resource = self.resources[path]
        meta = thing["metadata"]
        key = (meta.get("namespace", ""), meta["name"])
        old = resource.objects.get(key)
        if old is not None and meta.get("uid") != json.loads(old[1])["metadata"]["uid"]:
            self.delete(path, key)
            old = None
        self.version += 1
        self._tell(resource, "ADDED" if old is None else "MODIFIED", self._shelve(resource, thing))

    def delete(self, path: str, key: Key) -> None:
        """The last event of an object carries the version of its end."""
        resource = self.resources[path]
        _, body = resource.objects.pop(key)
        self.version += 1
        thing = json.loads(body)
        thing["metadata"]["resourceVersion"] = str(self.version)
        self._tell(resource, "DELETED", dump(thing))

    def change(self, path: str, key: Key, how: Callable[[Thing], None]) -> None:
        thing = json.loads(self.resources[path].objects[key][1])
        how(thing)
        self.put(path, thing)

    def compact(self, path: str) -> None:
        """Forgets all history of a resource, and all lists in progress."""
        resource = self.resources[path]
        resource.history.clear()
        resource.horizon = self.version
        self._lists.clear()

    def backup(self) -> Backup:
        return self.version, {path: dict(resource.objects) for path, resource in self.resources.items()}

    def restore(self, kept: Backup) -> None:
        """The server is that of the backup again, and counts on from there; whoever watches is not told."""
        self.version, shelves = kept
        self._lists.clear()
        for path, objects in shelves.items():
            resource = self.resources[path]
            resource.objects = dict(objects)
            resource.history = deque(told for told in resource.history if told.version <= self.version)

    def state(self, path: str) -> dict[Key, tuple[str, str]]:
        """(uid, version) of every object: what a fresh list would say."""
        found = {}
        for key, (_, body) in self.resources[path].objects.items():
            meta = json.loads(body)["metadata"]
            found[key] = (meta["uid"], meta["resourceVersion"])
        return found

    # --- what requests ask ----------------------------------------------------------------------------------------
    def page(self, path: str, limit: int, token: str) -> tuple[int, list[bytes], str, int]:
        """(version, objects, token of the next page, objects left).  All pages of a list show one version."""
        version, start = self._start(token)
        frozen = self._lists.get((path, version))
        if frozen is None:
            if token:
                raise Gone("The provided continue parameter is too old")
            objects = self.resources[path].objects
            frozen = self._lists[(path, version)] = [objects[key][1] for key in sorted(objects)]
            while len(self._lists) > KEPT_LISTS:
                self._lists.popitem(last=False)
        end = start + limit if limit else len(frozen)
        more = end < len(frozen)
        following = base64.urlsafe_b64encode(f"{version}:{end}".encode()).decode() if more else ""
        if not more:
            self._lists.pop((path, version), None)
        return version, frozen[start:end], following, max(len(frozen) - end, 0)

    def _start(self, token: str) -> tuple[int, int]:
        if not token:
            return self.version, 0
        try:
            version, _, start = base64.urlsafe_b64decode(token).decode().partition(":")
            return int(version), int(start)
        except ValueError:
            raise Unknown("continue key is not valid") from None

    def since(self, path: str, version: int) -> list[Told]:
        """Events after ``version``; raises ``Gone`` when some of them are no longer kept."""
        resource = self.resources[path]
        if version < resource.horizon:
            raise Gone(f"too old resource version: {version} ({resource.horizon})")
        found: list[Told] = []
        for told in reversed(resource.history):
            if told.version <= version:
                break
            found.append(told)
        found.reverse()
        return found

    def _shelve(self, resource: Resource, thing: Thing) -> bytes:
        meta = thing["metadata"]
        if not meta.get("uid"):
            self.uids += 1
            meta["uid"] = f"00000000-0000-4000-8000-{self.uids:012x}"
        meta["resourceVersion"] = str(self.version)
        body = dump({name: value for name, value in thing.items() if name not in ("kind", "apiVersion")})
        resource.objects[(meta.get("namespace", ""), meta["name"])] = (self.version, body)
        return body

    def _tell(self, resource: Resource, what: str, body: bytes) -> None:
        resource.history.append(Told(self.version, what, body))
        while len(resource.history) > self.keep:
            resource.horizon = resource.history.popleft().version
        resource.heard.set()
        resource.heard = asyncio.Event()


dump = msgspec.json.encode
