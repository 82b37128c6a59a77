"""kill -9 of a process that follows clusters: another takes over, and nothing of the cluster is lost."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from console.inventory.choices import LEASE_S
from console.inventory.models import Observation, Source, Watch, WatchProcess
from tests.builders.fleets import kubernetes_source
from tests.kubernetes import worlds
from tests.kubernetes.following import until
from tests.kubernetes.player.cluster import Cluster
from tests.kubernetes.player.on_port import PlayerOnPort
from tests.kubernetes.player.server import Player
from tests.kubernetes.watched import WatchProcess as Process
from tests.kubernetes.watched import newest, pods_seen

pytestmark = pytest.mark.django_db(transaction=True)
TOKEN = "t0p-s3cret-t0ken-of-the-player"


@pytest.fixture
def cluster() -> Cluster:
    return worlds.cluster(nodes=2, pods=6, token=TOKEN)


@pytest.fixture
def player(cluster: Cluster) -> Iterator[Player]:
    with PlayerOnPort({"one": cluster}) as player:
        yield player


@pytest.fixture
def source(settings: Any, player: Player) -> Source:
    settings.KUBECONFIG_ALLOW = frozenset({"plain-http"})
    return kubernetes_source(server=player.url(), token=TOKEN)


def test_another_takes_over_from_a_killed_one(source: Source, player: Player, cluster: Cluster) -> None:
    first = Process()
    try:
        until(lambda: pods_seen(source) == 6, "the first reading")
        held = Watch.objects.get(source=source)
        assert f":{first.pid}:" in held.holder
    finally:
        first.kill()
    second = Process()
    try:
        # While the dead one's lease runs, nobody writes in its name; the change waits and is not lost.
        player.apply(lambda: cluster.store.put(worlds.PODS, worlds.pod("meanwhile", on="n0")))
        for name in ("p0", "p1"):
            player.apply(partial(cluster.store.delete, worlds.PODS, ("team", name)))
        until(lambda: pods_seen(source) == 5, f"taken over after at most {LEASE_S:g} s")
        taken = Watch.objects.get(source=source)
        assert f":{second.pid}:" in taken.holder
        assert taken.held_since is not None and held.expires_at is not None
        assert taken.held_since >= held.expires_at
        revisions = list(Observation.objects.filter(source=source).values_list("revision", flat=True))
        assert len(revisions) == len(set(revisions))
    finally:
        code, written = second.end()
    assert code == 0
    assert TOKEN not in written
    assert Watch.objects.get(source=source).holder == ""
    assert not WatchProcess.objects.filter(name__contains=f":{second.pid}:").exists()
    assert newest(source) is not None
