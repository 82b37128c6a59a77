"""A feed follows a player that does nothing wrong."""

import threading
import time
from datetime import datetime

import pytest

from console.connectors.kubernetes.feed import ClusterFeed, Terms
from console.connectors.kubernetes.reflector import Limits
from console.connectors.kubernetes.steps import Phase
from console.connectors.kubernetes.wire import Patience
from console.connectors.protocol import ConnectorError
from tests.kubernetes import worlds
from tests.kubernetes.following import agreed, following, held, until
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


def test_silent_cluster_holds_up_nobody_else() -> None:
    stuck, well = worlds.cluster(stuck_s=30.0), worlds.cluster()
    stuck.faults.plan(["list silent"] * 50)
    with (
        Player({"stuck": stuck, "well": well}) as player,
        following(player, "stuck") as first,
        following(player, "well") as second,
    ):
        until(lambda: second.health().ready and not second.health().missing, "the other one is read")
        assert len(second.document().document.pods) == 20
        until(lambda: first.health().kinds[0].errors.get("silent", 0) > 0, "silence is noticed")
        with pytest.raises(ConnectorError, match="nodes not read yet"):
            first.document()
        player.apply(stuck.faults.queue.clear)
        until(lambda: agreed(first, player, "stuck"), "it speaks again")


def test_old_state_is_no_reading() -> None:
    cluster = worlds.cluster(bookmark_s=0.1)
    with Player({"one": cluster}) as player, following(player, terms=Terms(stale_s=1.0)) as feed:
        until(lambda: feed.health().ready and not feed.health().missing, "all kinds are read")
        assert feed.document().document.pods
        player.apply(lambda: cluster.forbidden.update([worlds.PODS]))
        player.hang_up()

        def refused() -> bool:
            try:
                feed.document()
            except ConnectorError as error:
                return str(error).startswith("no word about pods for") and "403" in str(error)
            return False

        until(refused, "without a word the state is too old")
        player.apply(cluster.forbidden.clear)
        until(lambda: not refused(), "it may be read again")


def test_time_is_that_of_the_cluster() -> None:
    cluster = worlds.cluster()
    cluster.faults.skew_s = -7200.0
    with Player({"one": cluster}) as player, following(player) as feed:
        until(lambda: feed.health().ready and not feed.health().missing, "all kinds are read")
        skew = feed.health().skew_s
        assert skew is not None
        assert -7202 <= skew <= -7198
        document = feed.document().document
        assert document.now_s is not None
        assert abs(document.now_s + 7200 - time.time()) < 60
        assert datetime.fromisoformat(document.taken_at).timestamp() == document.now_s


def test_unreadable_object_is_listed_and_loses_no_other() -> None:
    cluster = worlds.cluster(nodes=2, pods=5)
    broken = worlds.pod("broken", on="n0") | {"spec": "nonsense"}
    cluster.store.put(worlds.PODS, broken)
    with Player({"one": cluster}) as player, following(player) as feed:
        until(lambda: feed.health().ready and not feed.health().missing, "all kinds are read")
        reading = feed.document()
        assert len(reading.document.pods) == 5
        assert [(one.kind, one.namespace, one.name) for one in reading.bad] == [("pods", "team", "broken")]
        assert {kind.kind: kind.bad for kind in feed.health().kinds}["pods"] == 1
        player.apply(lambda: cluster.store.put(worlds.PODS, worlds.pod("broken", on="n0")))
        until(lambda: feed.document().bad == (), "it can be read again")
        assert len(feed.document().document.pods) == 6


def test_empty_answer_after_a_restart_is_not_believed_at_once() -> None:
    cluster = worlds.cluster(pods=20)
    cluster.faults.plan(["list empty"])
    expected = {"pods": 20, "nodes": 3}
    with Player({"one": cluster}) as player, following(player, kinds=("pods",), expected=expected) as feed:
        until(lambda: feed.health().ready, "the second answer")
        assert feed.health().kinds[0].errors["empty"] == 1
        assert agreed(feed, player, kinds=("pods",))


def test_stop_ends_all_threads() -> None:
    cluster = worlds.cluster(bookmark_s=30.0)
    with Player({"one": cluster}) as player:
        with following(player, limits=Limits(), patience=Patience()) as feed:
            until(lambda: feed.health().ready and not feed.health().missing, "all kinds are read")
            names = {thread.name for thread in feed._threads}
        assert not [thread for thread in threading.enumerate() if thread.name in names]


def test_token_of_another_cluster_is_told_apart() -> None:
    """Two feeds in one process share nothing: neither tokens nor connections nor what they hold."""
    clusters = {"one": worlds.cluster(token="first", pods=3), "two": worlds.cluster(token="second", pods=7)}
    with Player(clusters) as player, following(player, "one") as first, following(player, "two") as second:
        until(lambda: first.health().ready and second.health().ready, "both are read")
        assert (len(held(first, "pods")), len(held(second, "pods"))) == (3, 7)


def test_budgets_that_may_not_be_read_hold_all_pods_still() -> None:
    cluster = worlds.cluster(pods=3)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}
    free = worlds.pod("free", on="n0")
    free["metadata"]["ownerReferences"] = [owner]
    cluster.store.put(worlds.PODS, free)
    cluster.forbidden.add(worlds.BUDGETS)

    def free_moves(feed: ClusterFeed) -> tuple[str | None, list[str]]:
        reading = feed.document()
        (found,) = [pod for pod in reading.document.pods if pod.name == "free"]
        return found.move, [one.kind for one in reading.unheld if one.what == "budget"]

    kind = "poddisruptionbudgets.policy"
    with Player({"one": cluster}) as player, following(player, terms=Terms(patience_s=0.0)) as feed:
        until(lambda: feed.health().ready and feed.health().missing == (kind,), "budgets are forbidden")
        before = feed.version()
        assert free_moves(feed) == ("never", [kind])
        player.apply(cluster.forbidden.clear)
        until(lambda: not feed.health().missing, "the right was given")
        assert feed.version() != before
        assert free_moves(feed) == ("copy", [])
