"""A feed on a player, and what the two must have in common."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from console.connectors.kubernetes.access import Access, Login, log_in
from console.connectors.kubernetes.feed import ClusterFeed
from console.connectors.kubernetes.reflector import Limits
from console.connectors.kubernetes.wire import Api, Patience
from scheduler.kubernetes.objects import KINDS, Bad, Key, Thing
from scheduler.kubernetes.reader import Reader
from tests.kubernetes.player.cluster import Cluster
from tests.kubernetes.player.server import Player
from tests.kubernetes.worlds import path_of

# Everything that takes seconds in earnest takes hundredths here; the relations between them are the same.
QUICK = Limits(
    page=7, smallest_page=2, largest_page=50, watch_s=(4, 8), overlap_s=0.4, grace_s=0.15, empty_s=0.4,
    doubt_s=0.2, longest_doubt_s=0.4, resync_s=60.0, first_wait_s=0.01, longest_wait_s=0.05, longest_asked_s=0.05,
    absent_s=0.5, forbidden_s=0.1, lived_s=0.3,
)  # fmt: skip
IMPATIENT = Patience(connect_s=2.0, answer_s=0.4, page_s=0.5, silent_s=0.4)
CALM = Patience(connect_s=10.0, answer_s=20.0, page_s=30.0, silent_s=20.0)
WAIT_S = 60.0


def access_of(player: Player, cluster: str = "one", token: str = "") -> Access:
    return log_in(Login(context="test", server=player.url(cluster), token=token))


def api_of(player: Player, cluster: str = "one", token: str = "", patience: Patience = IMPATIENT) -> Api:
    return Api(access_of(player, cluster, token), patience)


class Shelf(Reader):
    """A reader that can be asked what it holds."""

    def __init__(self) -> None:
        super().__init__()
        self.shelves: dict[str, dict[Key, tuple[str, str]]] = {}

    def put(self, kind: str, thing: Thing) -> None:
        super().put(kind, thing)
        self.shelves.setdefault(kind, {})[thing.key] = (thing.metadata.uid, thing.metadata.resource_version)

    def put_bad(self, bad: Bad) -> None:
        super().put_bad(bad)
        self.shelves.setdefault(bad.kind, {}).pop((bad.namespace, bad.name), None)

    def drop(self, kind: str, key: Key) -> None:
        super().drop(kind, key)
        self.shelves.setdefault(kind, {}).pop(key, None)


@contextmanager
def following(
    player: Player, cluster: str = "one", limits: Limits = QUICK, kinds: tuple[str, ...] = (), **options: Any
) -> Iterator[ClusterFeed]:
    token = player.clusters[cluster].token
    chosen = [KINDS[name] for name in kinds] if kinds else None
    api = api_of(player, cluster, token, options.pop("patience", IMPATIENT))
    feed = ClusterFeed(cluster, api, limits=limits, kinds=chosen, reader=Shelf(), **options)
    feed.start()
    try:
        yield feed
    finally:
        feed.stop()


def until(condition: Callable[[], bool], what: str) -> None:
    """Waits for a state that must come; how fast is no part of any test."""
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, f"not within {WAIT_S:g} s: {what}"
        time.sleep(0.01)


def held(feed: ClusterFeed, kind: str) -> dict[Any, tuple[str, str]]:
    """(uid, version) of all objects of a kind that the feed's reader holds."""
    with feed._lock:
        assert isinstance(feed._reader, Shelf)
        return dict(feed._reader.shelves.get(kind, {}))


def told(player: Player, cluster: Cluster, kind: str) -> dict[Any, tuple[str, str]]:
    """The same as the player's store has it, which is what a fresh list says."""
    path = path_of(kind)
    return player.apply(lambda: cluster.store.state(path) if path in cluster.store.resources else {})


def agreed(feed: ClusterFeed, player: Player, name: str = "one", kinds: tuple[str, ...] = ("nodes", "pods")) -> bool:
    return all(held(feed, kind) == told(player, player.clusters[name], kind) for kind in kinds)
