"""A session is recorded, and played again to another feed: both end in the same state."""

import io
import random

from console.connectors.kubernetes.feed import ClusterFeed
from scheduler.kubernetes.objects import KINDS
from tests.kubernetes import worlds
from tests.kubernetes.following import QUICK, Shelf, agreed, api_of, following, held, until
from tests.kubernetes.player.server import Player
from tests.kubernetes.recorder import RecordingApi, recorded
from tests.kubernetes.weather import Weather

FOLLOWED = ("nodes", "pods")


def test_recorded_session_plays_again() -> None:
    cluster, file = worlds.cluster(nodes=3, pods=24), io.StringIO()
    weather = Weather(cluster, random.Random(5))
    with Player({"one": cluster}) as player:
        player.apply(lambda: cluster.faults.plan(["list 500", "list 429"]))
        recording_api, kinds = RecordingApi(api_of(player), file), [KINDS[name] for name in FOLLOWED]
        feed = ClusterFeed("one", recording_api, limits=QUICK, kinds=kinds, reader=Shelf())
        feed.start()
        until(lambda: feed.health().ready, "the first lists")
        for _ in range(40):
            player.apply(weather.blow)
        until(lambda: agreed(feed, player), "changes have come")
        feed.stop()
        first = {kind: _names(held(feed, kind)) for kind in FOLLOWED}

    recording = recorded(file.getvalue().splitlines())
    refusals = {status: count for status, count in recording.errors.items() if status}  # 0: cut off by our own stop
    assert refusals == {500: 1, 429: 1}
    assert len(recording.events) >= 40
    with Player({"one": recording.cluster}) as player, following(player, kinds=FOLLOWED) as feed:
        until(lambda: feed.health().ready, "the first lists")
        player.apply(recording.play)
        until(lambda: agreed(feed, player, kinds=FOLLOWED), "changes have come")
        assert {kind: _names(held(feed, kind)) for kind in FOLLOWED} == first
    assert recording.cluster.faults.injected.total() == 2


def _names(found: dict[object, tuple[str, str]]) -> dict[object, str]:
    """Keys and uids: versions are counted anew when a session is played."""
    return {key: uid for key, (uid, _) in found.items()}
