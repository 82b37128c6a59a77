"""Whatever goes wrong between an API server and us: in the end the state is that of a fresh list."""

import random
import time

import pytest

from scheduler.kubernetes.objects import decode_list
from scheduler.kubernetes.reader import Reader, Reading
from tests.kubernetes import worlds
from tests.kubernetes.following import agreed, following, until
from tests.kubernetes.player.cluster import Cluster
from tests.kubernetes.player.faults import FAULTS
from tests.kubernetes.player.server import Player
from tests.kubernetes.weather import Weather

KINDS = ("nodes", "pods", "poddisruptionbudgets.policy", "jobs.batch")
MIXED = 250  # faults in one run of the mixed suite; its seeds make 1,000 of them
PAUSE_S = 0.004


@pytest.fixture
def cluster() -> Cluster:
    return worlds.cluster(nodes=3, pods=24, bookmark_s=0.1, stuck_s=1.5)


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault(cluster: Cluster, fault: str) -> None:
    """Three times the same, with changes before, meanwhile and after."""
    weather = Weather(cluster, random.Random(fault))
    with Player({"one": cluster}) as player, following(player, kinds=KINDS) as feed:
        until(lambda: feed.health().ready, "the first lists")
        player.apply(lambda: cluster.faults.plan([fault] * 3))
        _live_through(player, cluster, weather)
        _settle(player, cluster, weather)
        until(lambda: agreed(feed, player, kinds=KINDS), f"equal to a fresh list after {fault}")
    assert cluster.faults.injected[fault] == 3


@pytest.mark.parametrize("seed", range(1000 // MIXED))
def test_thousand_faults(cluster: Cluster, seed: int) -> None:
    rng = random.Random(seed)
    weather = Weather(cluster, rng)
    names = [rng.choice(list(FAULTS)) for _ in range(MIXED)]
    cluster.faults.rng, cluster.faults.share = rng, 0.5
    with Player({"one": cluster}) as player, following(player, kinds=KINDS) as feed:
        player.apply(lambda: cluster.faults.plan(names))
        _live_through(player, cluster, weather)
        _settle(player, cluster, weather)
        until(lambda: agreed(feed, player, kinds=KINDS), "equal to a fresh list")
        until(lambda: feed.health().ready, "ready")
        until(lambda: not feed.document().bad, "what nobody could read is listed again")  # a doubt waits for its list
        reading, fresh = feed.document(), player.apply(lambda: _fresh(cluster))
    assert cluster.faults.injected.total() == MIXED
    assert reading.document.nodes == fresh.document.nodes
    assert reading.document.pods == fresh.document.pods
    assert reading.bad == fresh.bad == ()


def test_server_that_is_restored_from_a_backup_in_an_open_watch(cluster: Cluster) -> None:
    """Its bookmarks go back: health says so, the lists that confirm it are believed, and the state is the older one."""
    weather = Weather(cluster, random.Random(7))
    with Player({"one": cluster}) as player, following(player, kinds=KINDS) as feed:
        until(lambda: feed.health().ready, "the first lists")
        kept = player.apply(cluster.store.backup)
        for _ in range(40):
            player.apply(weather.blow)
        until(lambda: agreed(feed, player, kinds=KINDS), "what came after the backup")
        player.apply(lambda: cluster.store.restore(kept))
        until(lambda: agreed(feed, player, kinds=KINDS), "equal to the backup")
        _settle(player, cluster, weather)
        until(lambda: agreed(feed, player, kinds=KINDS), "and to what happens then")
        health = {kind.kind: kind for kind in feed.health().kinds}
    assert health["pods"].errors["watch went back"]
    assert health["pods"].believed == 1
    assert health["pods"].suspicion == ""


def _live_through(player: Player, cluster: Cluster, weather: Weather) -> None:
    """Changes things until all faults have struck; now and then the history is cut off, so that lists are needed."""
    end = time.monotonic() + 120
    turn = 0
    while player.apply(lambda: bool(cluster.faults.queue)):
        assert time.monotonic() < end, f"faults that found no occasion: {list(cluster.faults.queue)}"
        player.apply(weather.blow)
        turn += 1
        if turn % 25 == 0:
            player.apply(lambda: [cluster.store.compact(path) for path in cluster.store.resources])
            player.hang_up()
        time.sleep(PAUSE_S)


def _settle(player: Player, cluster: Cluster, weather: Weather) -> None:
    """A last change of all kinds, after which nothing happens any more."""
    player.apply(lambda: setattr(cluster.faults, "skew_s", 0.0))
    for _ in range(5):
        player.apply(weather.blow)


def _fresh(cluster: Cluster) -> Reading:
    """The reading of somebody who lists everything now for the first time."""
    reader = Reader()
    for name in KINDS:
        path = worlds.path_of(name)
        if path in cluster.store.resources:
            _, items, _, _ = cluster.store.page(path, 0, "")
            reader.replace(name, decode_list(name, b'{"items":[' + b",".join(items) + b"]}").items)
    return reader.document("one", "2026-01-01T00:00:00Z", 0)
