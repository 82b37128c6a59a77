"""A simulated cluster lives by itself, the same way for everybody who looks."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from msgspec import to_builtins

from console.connectors import simulated
from console.connectors.changes import Arrived, Ended
from console.connectors.holding import holds
from console.connectors.models import JournalRow, SimulatedCluster, StoredDocument
from console.connectors.room import shortage
from console.connectors.tide import Tide, live_through
from console.connectors.world import found
from scheduler.cluster.build import build
from scheduler.cluster.occupancy import occupancy
from scheduler.plan.operations import Hold
from scheduler.worlds.generate import generate
from tests.builders.worlds import World, world
from tests.console.connectors.worlds import HandClock, as_another_process, live_cluster, move, places

pytestmark = pytest.mark.django_db
STORM = Tide(nodes_per_minute=6.0, stray=0.5)  # every node changes every ten seconds


def _crowd() -> World:
    built = world()
    for n in range(12):
        built.node(f"n{n}")
        for p in range(3):
            built.pod(f"p{n}-{p}", f"n{n}", gpus=2, locked=p == 0, tier="HP" if p < 2 else "LP")
    return built


def _digest(connector: Any) -> str:
    return build(connector.observe()).digest


def test_nothing_happened_means_the_equal_document() -> None:
    clock = HandClock()
    cluster = live_cluster(_crowd(), clock)
    first, version = cluster.observe(), cluster.version()
    clock.forward(3600)
    assert (cluster.observe(), cluster.version()) == (first, version)


def test_the_history_depends_on_the_seed_and_not_on_who_looks_when() -> None:
    found = set()
    for steps in ([30], [1] * 30, [7, 23]):
        clock = HandClock()
        cluster = live_cluster(_crowd(), clock, STORM, seed=5)
        for step in steps:
            clock.forward(step)
            cluster.observe()
        document = cluster.observe()
        found.add(tuple(sorted((pod.name, pod.node or "", pod.locked, pod.standby) for pod in document.pods)))
    assert len(found) == 1
    clock = HandClock()
    other = live_cluster(_crowd(), clock, STORM, seed=6)
    clock.forward(30)
    assert tuple(sorted((p.name, p.node or "", p.locked, p.standby) for p in other.observe().pods)) not in found


def test_every_state_is_a_legal_cluster() -> None:
    clock = HandClock()
    cluster = live_cluster(_crowd(), clock, STORM)
    for _ in range(160):
        clock.forward(2)
        snapshot = build(cluster.observe())
        held = occupancy(snapshot)
        assert (held.over_committed_milli == 0).all()
        assert (held.used_cpu_milli <= snapshot.node_cpu_milli).all()
    assert JournalRow.objects.count() > 100


def test_a_new_process_folds_the_same_state() -> None:
    clock = HandClock()
    cluster = live_cluster(_crowd(), clock, STORM)
    for _ in range(10):
        clock.forward(3)
        cluster.observe()
    here = _digest(cluster)
    assert _digest(as_another_process(cluster, clock)) == here


def test_a_new_base_takes_the_place_of_a_long_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = HandClock()
    monkeypatch.setattr(simulated, "JOURNAL_ROWS", 5)
    cluster = live_cluster(_crowd(), clock, STORM)
    for _ in range(40):
        clock.forward(2)
        cluster.observe()
    here = _digest(cluster)
    row = SimulatedCluster.objects.get()
    assert row.base_position > 20 and JournalRow.objects.count() <= 11 and StoredDocument.objects.count() <= 2
    assert _digest(as_another_process(cluster, clock)) == here


def test_what_was_rolled_back_is_not_remembered() -> None:
    clock = HandClock()
    cluster = live_cluster(_crowd(), clock)
    before = places(cluster)
    with pytest.raises(RuntimeError), transaction.atomic():
        assert cluster.execute(move("jobs/p0-2", "n0", "n1"), "k").state == "running"
        raise RuntimeError
    assert places(cluster) == before
    assert cluster.execute(move("jobs/p0-1", "n0", "n2"), "k2").state == "running"
    assert places(cluster) == {**before, "p0-1 (copy)": "n2"}


def test_what_is_planned_for_later_happens_for_another_process_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated, "JOURNAL_ROWS", 1)
    clock = HandClock()
    faults = Tide(nodes_per_minute=60.0, trouble=1.0, repair_s=(20, 20))
    cluster = live_cluster(world().nodes("n1", "n2"), clock, faults)
    clock.forward(3)
    assert [node.ready for node in cluster.observe().nodes] == [False, False]
    SimulatedCluster.objects.update(tide={"nodes_per_minute": 0.0})
    clock.forward(30)
    assert [node.ready for node in as_another_process(cluster, clock).observe().nodes] == [True, True]


def test_the_demo_tide_changes_about_one_node_in_a_hundred_a_minute() -> None:
    clock = HandClock()
    document = generate("asi", nodes=600, seed=3, hour=10)
    uid = simulated.establish("asi", document, seed=3, tide=Tide(), clock=clock)
    cluster = simulated.SimulatedConnector(uid, clock)
    cluster.observe()
    for _ in range(30):
        clock.forward(60)
        cluster.observe()
    written = [change["type"] for row in JournalRow.objects.all() for change in row.changes]
    changes = sum(kind not in ("planned", "came") for kind in written)
    assert 600 * 30 * 0.004 < changes < 600 * 30 * 0.03
    pods = len(cluster.observe().pods)
    assert abs(pods - len(document.pods)) < 0.05 * len(document.pods)


def test_nobody_comes_to_take_the_place_of_a_pod_that_was_moved() -> None:
    clock = HandClock()
    cluster = live_cluster(world().nodes("n1", "n2").pod("a", "n1", gpus=2), clock)
    for _ in range(2):
        cluster.execute(move("jobs/a", "n1", "n2"), "k")
    busy = Tide(nodes_per_minute=60.0, trouble=0.0, locks=0.0, sleep=0.0, stray=0.0)
    SimulatedCluster.objects.update(tide={**to_builtins(busy)})
    clock.forward(30)
    assert "n1" not in places(cluster).values()


def test_what_is_held_takes_whole_nodes_only_until_a_time() -> None:
    """n1 and n2 stand empty under a storm of small pods; n1 is held for twenty seconds."""
    clock = HandClock()
    built = world().nodes("n1", "n2").node("n3", 64)
    for number in range(40):
        built.pod(f"p{number}", "n3", cpu_milli=100)
    cluster = live_cluster(built, clock)
    cluster.execute(Hold(cluster="default", node="n1", least_gpus=8, seconds=20), "h")
    storm = Tide(nodes_per_minute=200.0, trouble=0.0, locks=0.0, sleep=0.0, stray=1.0)
    SimulatedCluster.objects.update(tide={**to_builtins(storm)})
    clock.forward(15)
    there = set(places(cluster).values())
    assert "n2" in there
    assert "n1" not in there
    clock.forward(30)
    assert "n1" in places(cluster).values()


def test_a_gang_starts_on_what_is_held_for_it_all_at_once() -> None:
    """Two members of eight GPUs; room for both only when both nodes are held for them, and a stranger waits on."""
    clock = HandClock()
    built = world().nodes("n1", "n2").gang("g", 2).pod("stranger", None, 1)
    for member in ("g-0", "g-1"):
        built.pod(member, None, 8, gang="g")
    cluster = live_cluster(built, clock)
    calm = Tide(nodes_per_minute=1e-9, least_per_minute=1e-9)
    SimulatedCluster.objects.update(tide={**to_builtins(calm)})
    for node in ("n1", "n2"):
        cluster.execute(Hold(cluster="default", node=node, least_gpus=0, seconds=60, gang="jobs/g"), node)
        clock.forward(5)
        seated = {name: place for name, place in places(cluster).items() if place}
        assert seated == ({} if node == "n1" else {"g-0": "n1", "g-1": "n2"})


def test_jobs_that_are_stopped_to_move_write_their_checkpoints() -> None:
    clock = HandClock()
    built = world().nodes("n1").pod("t", "n1", 1, move="restart", checkpoint_s=990, checkpoint_interval_s=20)
    cluster = live_cluster(built.pod("c", "n1", 1, checkpoint_s=990, checkpoint_interval_s=20), clock)
    clock.forward(25)
    assert {pod.name: pod.checkpoint_s for pod in cluster.observe().pods} == {"t": 1010, "c": 990}
    clock.forward(30)
    assert {pod.name: pod.checkpoint_s for pod in cluster.observe().pods} == {"t": 1050, "c": 990}


def test_the_last_word_on_a_node_counts() -> None:
    cluster = live_cluster(world().nodes("n1"), HandClock())
    for key, seconds in (("a", 60), ("b", 0)):
        assert (
            cluster.execute(Hold(cluster="default", node="n1", least_gpus=8, seconds=seconds), key).state == "succeeded"
        )
    assert holds(SimulatedCluster.objects.get()) == {}
    assert cluster.execute(Hold(cluster="default", node="gone", least_gpus=8, seconds=5), "c").state == "failed"


def test_work_that_ended_is_followed_by_its_likeness_before_more_of_it_ends() -> None:
    """Plans use room that somebody left: many such places, filled one after the other, and no plan lives a minute."""
    lively = found(generate("asi", nodes=200, seed=3, hour=10), 0, uuid4(), 0, [])
    changes, most = [], 0
    for second in range(3600):
        changes += live_through(lively, Tide(), 3, second, 10.0)
        if second % 60 == 0:
            places = [(gone, (gone.cluster, gone.node or "")) for gone in lively.ended]
            most = max(most, sum(shortage(lively, node, gone) is None for gone, node in places))
    assert most <= 3  # one by rule, and now and then a stray
    kinds = [type(change) for change in changes]
    assert min(kinds.count(Ended), kinds.count(Arrived)) > 100
