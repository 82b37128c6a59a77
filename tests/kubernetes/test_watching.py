"""A cluster that is watched: read, changed, lost, found again; shown with its health and what cannot be held."""

from typing import Any

import pytest
from django.test import Client

from console.inventory import selectors, services
from console.inventory.models import Observation, Source, Watch
from tests.builders.fleets import file_source, kubernetes_source, read
from tests.builders.people import operator, viewer
from tests.builders.worlds import world
from tests.kubernetes import worlds
from tests.kubernetes.following import until
from tests.kubernetes.player.on_port import PlayerOnPort
from tests.kubernetes.player.store import Store
from tests.kubernetes.watched import newest, pods_seen, watching

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _player_without_tls(settings: Any) -> None:
    settings.KUBECONFIG_ALLOW = frozenset({"plain-http"})


def test_read_changed_lost_and_found_again_with_other_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.inventory.services.watching.LOST_S", 1.0)
    first = worlds.cluster(nodes=3, pods=12)
    player = PlayerOnPort({"one": first})
    player.__enter__()
    with watching():
        source = kubernetes_source(server=player.url())
        until(lambda: pods_seen(source) == 12, "the first reading")
        until(lambda: selectors.source_card(viewer(), source.pk).health is not None, "its health")
        card = selectors.source_card(viewer(), source.pk)
        assert (card.row.state, card.row.nodes, card.row.unknown_since) == ("live", 3, None)
        assert card.health is not None and card.health.ready and card.health.server_version == "v1.37.0-player"
        player.apply(lambda: first.store.put(worlds.PODS, worlds.pod("late", on="n1")))
        player.apply(lambda: first.store.delete(worlds.PODS, ("team", "p3")))
        player.apply(lambda: first.store.put(worlds.NODES, worlds.node("n9")))
        until(lambda: newest(source).counts["nodes"] == 4, "what has changed")  # type: ignore[union-attr]
        port = player.port
        player.__exit__()
        until(lambda: Source.objects.get(pk=source.pk).state == "failing", "the loss is told")
        assert "nodes: " in Source.objects.get(pk=source.pk).last_error
        other = read(file_source(world().node("still-there"), "other"))
        assert other.counts["nodes"] == 1
        second = worlds.cluster(nodes=2, pods=5, store=Store(version=9_000))
        with PlayerOnPort({"one": second}, port) as again:
            assert again.port == port
            until(lambda: pods_seen(source) == 5, "the other objects are listed, the old ones are gone")
            until(lambda: newest(source).counts["nodes"] == 2, "the other nodes, too")  # type: ignore[union-attr]
            assert Source.objects.get(pk=source.pk).state == "live"


def test_a_doubt_is_told_and_the_reading_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """What makes a reflector doubt: see its own tests."""
    said = ["pods: all objects vanished at once, 12 of 12 are not in the list"]
    monkeypatch.setattr("console.connectors.kubernetes.feed.ClusterFeed.suspicion", lambda _: said[0])
    client = Client()
    client.force_login(viewer())
    with PlayerOnPort({"one": worlds.cluster(nodes=3, pods=12)}) as player, watching():
        source = kubernetes_source(server=player.url())
        until(lambda: Source.objects.get(pk=source.pk).state == "suspicious", "the doubt is told")
        assert Source.objects.get(pk=source.pk).last_error == said[0]
        assert pods_seen(source) == 12
        for path in ("/sources/", f"/sources/{source.pk}/"):
            page = client.get(path).content.decode()
            assert "Suspicious" in page and "all objects vanished" in page
        row = client.get(f"/api/v1/clusters/{source.pk}/").json()["row"]
        assert (row["state"], row["pods"]) == ("suspicious", 12)
        said[0] = ""
        until(lambda: Source.objects.get(pk=source.pk).state == "live", "an answer that is believed ends it")
        assert Source.objects.get(pk=source.pk).last_error == ""


def test_a_cluster_that_hangs_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No watch has noticed yet: streams may be silent for a minute and more."""
    said = [""]
    monkeypatch.setattr("console.connectors.kubernetes.feed.ClusterFeed.lost", lambda _: said[0])
    monkeypatch.setattr("console.inventory.services.watching.LOST_S", 1e9)
    with PlayerOnPort({"one": worlds.cluster(nodes=1, pods=2)}) as player, watching():
        source = kubernetes_source(server=player.url())
        until(lambda: pods_seen(source) == 2, "the first reading")
        said[0] = "the API server does not answer since 12 s: read timed out"
        until(lambda: Source.objects.get(pk=source.pk).state == "failing", "it is told")
        assert Source.objects.get(pk=source.pk).last_error == said[0]
        said[0] = ""
        until(lambda: Source.objects.get(pk=source.pk).state == "live", "and found again")


def test_what_cannot_be_held_is_kept_with_the_reading_and_listed() -> None:
    cluster = worlds.cluster(nodes=1, pods=1)
    wish = {"weight": 1, "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}}
    pod = worlds.pod("wishful", on="n0")
    pod["spec"]["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}
    cluster.store.put(worlds.PODS, pod)
    broken = worlds.pod("broken", on="n0")
    broken["spec"]["containers"] = "none"
    cluster.store.put(worlds.PODS, broken)
    with PlayerOnPort({"one": cluster}) as player, watching():
        source = kubernetes_source(server=player.url())
        until(lambda: newest(source) is not None, "the first reading")
    card = selectors.source_card(viewer(), source.pk)
    assert card.unheld is not None
    assert {(group.what, group.kind, group.count) for group in card.unheld.groups} >= {
        ("unreadable", "pods", 1),
        ("preference", "pods", 1),
    }
    rows = selectors.unheld_rows(viewer(), source.pk, what="preference", kind="pods")
    assert [(row.namespace, row.name) for row in rows] == [("team", "wishful")]
    client = Client()
    client.force_login(viewer())
    page = client.get(f"/sources/{source.pk}/?what=preference&kind=pods").content.decode()
    assert "wishful" in page and "binds nobody" in page
    listed = b"".join(client.get(f"/sources/{source.pk}/not-held.csv"))
    assert b"wishful" in listed and b"broken" in listed
    answer = client.get(f"/api/v1/clusters/{source.pk}/not-held/?what=unreadable").json()
    assert [row["name"] for row in answer] == ["broken"]


def test_equal_lists_of_what_is_not_held_are_kept_once() -> None:
    cluster = worlds.cluster(nodes=1, pods=1)
    with PlayerOnPort({"one": cluster}) as player, watching():
        source = kubernetes_source(server=player.url())
        until(lambda: newest(source) is not None, "the first reading")
        player.apply(lambda: cluster.store.put(worlds.PODS, worlds.pod("late", on="n0")))
        until(lambda: pods_seen(source) == 2, "another reading")
    assert len(set(Observation.objects.filter(source=source).values_list("unheld", flat=True))) == 1


def test_settings_that_change_take_effect_without_a_restart() -> None:
    with PlayerOnPort({"one": worlds.cluster(nodes=1, pods=2)}) as player, watching():
        source = kubernetes_source(server=player.url())
        until(lambda: newest(source) is not None, "the first reading")
        assert set(newest(source).counts["tenants"]) == {"team"}  # type: ignore[union-attr]
        asked = services.Asked(source.name, "kubeconfig", None, period_s=2, namespace_tenants=False)
        services.change_cluster(operator(), source, asked)
        until(lambda: newest(source).counts["tenants"] == [], "the namespace is no tenant any more")  # type: ignore[union-attr]


def test_a_dead_cluster_holds_up_no_other() -> None:
    dead = kubernetes_source("dead", server="http://127.0.0.1:9")
    with PlayerOnPort({"one": worlds.cluster(nodes=1, pods=2)}) as player, watching():
        alive = kubernetes_source("alive", server=player.url())
        until(lambda: pods_seen(alive) == 2, "the one that lives is read")
        until(lambda: Source.objects.get(pk=dead.pk).state == "failing", "the dead one fails")
    told = Source.objects.get(pk=dead.pk).last_error
    assert "not read yet" in told and "refused" in told
    assert newest(dead) is None


def test_watchers_share_the_clusters_and_leave_in_order() -> None:
    with PlayerOnPort({"one": worlds.cluster(nodes=1, pods=1)}) as player:
        sources = [kubernetes_source(f"c{at}", server=player.url()) for at in range(4)]
        with watching() as first, watching() as second:

            def shares() -> list[int]:
                return [Watch.objects.filter(holder=one.name).count() for one in (first, second)]

            until(lambda: shares() == [2, 2], "each has its share")
            until(lambda: all(newest(source) is not None for source in sources), "all are read")
    assert set(Watch.objects.values_list("holder", flat=True)) == {""}
    assert selectors.source_card(viewer(), sources[0].pk).row.state == "unknown"
