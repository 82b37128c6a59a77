"""Records what an API server says, and plays it again.

    python -m tests.kubernetes.recorder KUBECONFIG FILE [--context NAME] [--seconds 60]

A recording is one JSON object a line: every answer to a list or watch that the connector's own wire asked for, with its
instant, and every error.  ``recorded`` turns it back into a cluster of the player: its lists as they were, its events
in their order, its errors as faults.  Names and images of a real cluster are in it; keep it as you keep those.
"""

import argparse
import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from console.connectors.kubernetes.access import ALLOWABLE, log_in, read_kubeconfig
from console.connectors.kubernetes.feed import ClusterFeed
from console.connectors.kubernetes.steps import List, Refused, Watch
from console.connectors.kubernetes.wire import Api, Trouble
from scheduler.kubernetes.objects import KINDS, Kind
from tests.kubernetes.player.cluster import Cluster
from tests.kubernetes.player.store import Store

ERRORS = {429: "list 429", 500: "list 500", 401: "list 401", 403: "list 403"}
EVENTS = ("ADDED", "MODIFIED", "DELETED")


class RecordingApi(Api):
    """Tells a file what it tells the feed."""

    def __init__(self, api: Api, file: IO[str]) -> None:
        super().__init__(api._access, api.patience)
        self._file, self._began = file, time.monotonic()

    def _note(self, kind: str, what: str, **fields: Any) -> None:
        line = {"at": round(time.monotonic() - self._began, 3), "kind": kind, "what": what, **fields}
        self._file.write(json.dumps(line) + "\n")  # one call, so that lines of several threads stay whole

    def _trouble(self, kind: str, trouble: Trouble) -> None:
        told = trouble.told
        status = told.status if isinstance(told, Refused) else 0
        self._note(kind, "error", status=status, reason=told.reason)

    def version(self) -> bytes:
        data = super().version()
        self._note("", "version", data=_text(data))
        return data

    def page(self, kind: Kind, asked: List) -> bytes:
        try:
            data = super().page(kind, asked)
        except Trouble as trouble:
            self._trouble(kind.name, trouble)
            raise
        self._note(kind.name, "page", path=self._paths[kind.name], token=asked.token, data=_text(data))
        return data

    @contextmanager
    def watch(self, kind: Kind, asked: Watch) -> Iterator[Iterator[list[bytes]]]:
        self._note(kind.name, "watch", version=asked.version)
        try:
            with super().watch(kind, asked) as stream:
                yield self._noted(kind.name, stream)
        except Trouble as trouble:
            self._trouble(kind.name, trouble)
            raise

    def _noted(self, kind: str, stream: Iterable[list[bytes]]) -> Iterator[list[bytes]]:
        for lines in stream:
            for line in lines:
                self._note(kind, "event", data=_text(line))
            yield lines


@dataclass
class Recording:
    """A cluster as it was when the recording began, and what happened to it."""

    cluster: Cluster
    events: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)  # path, what, object
    errors: dict[int, int] = field(default_factory=dict)  # status -> how often; 0: no answer

    def play(self, events: int | None = None) -> None:
        """Lets the next events happen, all of them by default.  Call it in the player's thread."""
        count = len(self.events) if events is None else events
        for path, what, thing in self.events[:count]:
            play_one(self.cluster.store, path, what, thing)
        del self.events[:count]


def play_one(store: Store, path: str, what: str, thing: dict[str, Any]) -> None:
    meta = thing["metadata"]
    key = (meta.get("namespace", ""), meta["name"])
    if what != "DELETED":
        store.put(path, thing)
    elif key in store.resources[path].objects:
        store.delete(path, key)


def recorded(lines: Iterable[str], **fields: Any) -> Recording:
    """What the player serves in place of the server that was recorded."""
    found = Recording(Cluster(**fields))
    paths: dict[str, str] = {}
    pages: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        said = json.loads(line)
        kind = said["kind"]
        if said["what"] == "version":
            found.cluster.version = json.loads(said["data"])
        elif said["what"] == "page" and kind not in paths | pages:
            paths[kind], pages[kind] = said["path"], _objects(said)
        elif said["what"] == "page" and said["token"] and not found.events:
            pages[kind] += _objects(said)
        elif said["what"] == "event":
            event = json.loads(said["data"])
            if event["type"] in EVENTS:
                found.events.append((paths[kind], event["type"], event["object"]))
        elif said["what"] == "error":
            found.errors[said["status"]] = found.errors.get(said["status"], 0) + 1
    for kind, objects in pages.items():
        found.cluster.store.serve(paths[kind], KINDS[kind].word, objects)
    for status, count in found.errors.items():
        found.cluster.faults.plan([ERRORS[status]] * count if status in ERRORS else [])
    return found


def _objects(said: dict[str, Any]) -> list[dict[str, Any]]:
    return list(json.loads(said["data"]).get("items") or [])


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def record(api: Api, file: IO[str], seconds: float) -> None:
    feed = ClusterFeed("recorded", RecordingApi(api, file))
    feed.start()
    time.sleep(seconds)
    feed.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kubeconfig", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--context", default="")
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    login = read_kubeconfig(options.kubeconfig.read_bytes(), options.context, frozenset(ALLOWABLE))
    with options.file.open("w") as file:
        record(Api(log_in(login)), file, options.seconds)


if __name__ == "__main__":
    main()
