"""A feed follows a player that does nothing wrong."""

import pytest

from console.connectors.kubernetes.steps import Phase
from console.connectors.protocol import ConnectorError
from tests.kubernetes import worlds
from tests.kubernetes.following import agreed, following, until
from tests.kubernetes.player.server import Player


def test_first_reading_and_changes() -> None:
    cluster = worlds.cluster(nodes=3, pods=20)
    with Player({"one": cluster}) as player, following(player) as feed:
        until(lambda: feed.health().ready and not feed.health().missing, "all kinds are read")
        reading = feed.document()
        assert (len(reading.document.nodes), len(reading.document.pods)) == (3, 20)
        before = feed.version()
        player.apply(lambda: cluster.store.put(worlds.PODS, worlds.pod("late", on="n1", gpus=4)))
        player.apply(lambda: cluster.store.delete(worlds.PODS, ("team", "p3")))
        player.apply(
            lambda: cluster.store.change(worlds.NODES, ("", "n0"), lambda n: n["spec"].update(unschedulable=True))
        )
        until(lambda: agreed(feed, player), "changes have come")
        assert feed.version() != before
        document = feed.document().document
        assert {pod.name for pod in document.pods} == {f"p{at}" for at in range(20) if at != 3} | {"late"}
        assert [one.name for one in document.nodes if one.cordoned] == ["n0"]


def test_same_version_while_nothing_changes() -> None:
    cluster = worlds.cluster(nodes=1, pods=2)
    with Player({"one": cluster}) as player, following(player) as feed:
        until(lambda: feed.health().ready and not feed.health().missing, "all kinds are read")
        version, first = feed.version(), feed.document()
        player.hang_up()
        until(
            lambda: all(kind.phase in (Phase.WATCHING, Phase.ABSENT) for kind in feed.health().kinds), "watched again"
        )
        assert feed.version() == version
        assert feed.document().document.pods == first.document.pods


def test_no_reading_before_pods_are_known() -> None:
    cluster = worlds.cluster()
    cluster.forbidden.add(worlds.PODS)
    with Player({"one": cluster}) as player, following(player) as feed:
        until(lambda: feed.health().kinds[1].phase == Phase.FORBIDDEN, "pods are forbidden")
        with pytest.raises(ConnectorError, match=r"pods not read yet \(forbidden: 403"):
            feed.document()
        player.apply(lambda: cluster.forbidden.clear())
        until(lambda: agreed(feed, player), "the right was given")


def test_kind_that_is_not_installed() -> None:
    cluster = worlds.cluster()
    with Player({"one": cluster}) as player, following(player) as feed:
        until(lambda: feed.health().ready and not feed.health().missing, "all kinds are read")
        phases = {kind.kind: kind.phase for kind in feed.health().kinds}
        assert phases["workloads.kueue.x-k8s.io"] == Phase.ABSENT
        assert feed.health().server_version == "v1.37.0-player"
