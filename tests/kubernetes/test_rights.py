"""Only reading, and only what docs/kubernetes-clusterrole.yaml allows."""

import random
from pathlib import Path

import yaml

from console.connectors.kubernetes.probe import probe
from console.connectors.kubernetes.rights import cluster_role
from scheduler.kubernetes.objects import KINDS
from tests.kubernetes import worlds
from tests.kubernetes.following import access_of, agreed, following, until
from tests.kubernetes.player.cluster import Cluster
from tests.kubernetes.player.faults import FAULTS
from tests.kubernetes.player.server import Player
from tests.kubernetes.weather import Weather

FILE = Path(__file__).parents[2] / "docs" / "kubernetes-clusterrole.yaml"
Used = set[tuple[str, str, str]]  # verb, group, resource


def _allowed() -> Used:
    role = next(yaml.safe_load_all(FILE.read_text()))
    assert role["kind"] == "ClusterRole"
    return {
        (verb, group, resource)
        for rule in role["rules"]
        for verb in rule["verbs"]
        for group in rule.get("apiGroups", [""])
        for resource in rule.get("resources", rule.get("nonResourceURLs"))
    }


def _used(cluster: Cluster) -> Used:
    found = set()
    for verb, path in cluster.used:
        parts = path.strip("/").split("/")
        if len(parts) == 1:
            found.add((verb, "", path))
        else:
            found.add(("list" if verb == "get" else verb, parts[1] if parts[0] == "apis" else "", parts[-1]))
    return found


def test_file_is_the_table() -> None:
    assert FILE.read_text() == cluster_role()


def test_role_only_reads() -> None:
    assert {verb for verb, _, _ in _allowed()} == {"get", "list", "watch"}
    assert {resource for verb, _, resource in _allowed() if verb == "get"} == {"/version"}


def test_verbs_used_are_those_of_the_role() -> None:
    """With all kinds installed, in a probe, in peace and under faults: everything that was used, and nothing unused."""
    cluster = worlds.cluster(nodes=3, pods=24, bookmark_s=0.1, stuck_s=0.5)
    for kind in KINDS.values():
        if worlds.path_of(kind.name) not in cluster.store.resources:
            worlds.serve(cluster, kind)
    rng = random.Random(1)
    weather, names = Weather(cluster, rng), [name for name in FAULTS if "silent" not in name and "slow" not in name]
    with Player({"one": cluster}) as player:
        assert probe(access_of(player)).ok
        with following(player) as feed:
            until(lambda: all(kind.ready for kind in feed.health().kinds), "all kinds are read")
            player.apply(lambda: cluster.faults.plan(rng.sample(names, 12)))
            for turn in range(100):
                player.apply(weather.blow)
                if turn % 25 == 0:
                    player.apply(lambda: [cluster.store.compact(path) for path in cluster.store.resources])
                    player.hang_up()
            until(lambda: not cluster.faults.queue or agreed(feed, player), "followed")
            until(lambda: _used(cluster) == _allowed(), "each right was needed")
    assert cluster.faults.injected.total() > 0
