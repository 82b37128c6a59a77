"""A simulated cluster moves pods: make before break, once per key, whatever happens in between."""

import pytest
from msgspec.structs import replace

from console.connectors import simulated
from console.connectors.models import JournalRow, SimulatedOperation
from console.connectors.protocol import Requests
from console.connectors.tide import Tide
from scheduler.plan.operations import Bind, Cordon, Evict, Recall
from tests.builders.worlds import World, world
from tests.console.connectors.worlds import HandClock, as_another_process, live_cluster, move, places

pytestmark = pytest.mark.django_db
SLOW = Tide(nodes_per_minute=0.0, fail=0.0, startup_s=(5, 5))
DOOMED = Tide(nodes_per_minute=0.0, fail=1.0, startup_s=(5, 5))


def _two_nodes():
    return world().nodes("n1", "n2").pod("a", "n1", gpus=2, uid="u1")


def test_both_copies_count_while_the_new_one_starts() -> None:
    clock = HandClock()
    cluster = live_cluster(_two_nodes(), clock, SLOW)
    assert cluster.execute(move("jobs/a", "n1", "n2"), "k").state == "running"
    assert places(cluster) == {"a": "n1", "a (copy)": "n2"}
    clock.forward(4)
    assert cluster.execute(move("jobs/a", "n1", "n2"), "k").state == "running"
    clock.forward(1)
    assert cluster.execute(move("jobs/a", "n1", "n2"), "k").state == "succeeded"
    assert places(cluster) == {"a": "n2"}


def test_the_moved_pod_is_another_pod_of_that_name() -> None:
    clock = HandClock()
    cluster = live_cluster(_two_nodes(), clock)
    for _ in range(2):
        outcome = cluster.execute(move("jobs/a", "n1", "n2", uid="u1"), "k")
    pod = cluster.read_pod("jobs/a")
    assert outcome.state == "succeeded" and pod is not None
    assert (pod.node, pod.uid == "u1", pod.phase) == ("n2", False, "Running")


def test_the_same_key_again_repeats_the_outcome_and_does_nothing() -> None:
    clock = HandClock()
    cluster = live_cluster(_two_nodes(), clock)
    outcomes = [cluster.execute(move("jobs/a", "n1", "n2"), "k") for _ in range(5)]
    rows = JournalRow.objects.count()
    assert [outcome.state for outcome in outcomes] == ["running", *["succeeded"] * 4]
    assert outcomes[1] == outcomes[4]
    assert as_another_process(cluster, clock).execute(move("jobs/a", "n1", "n2"), "k") == outcomes[4]
    assert (JournalRow.objects.count(), SimulatedOperation.objects.count(), places(cluster)) == (rows, 1, {"a": "n2"})


def test_a_process_that_dies_between_the_steps_leaves_a_move_that_the_next_one_ends() -> None:
    clock = HandClock()
    cluster = live_cluster(_two_nodes(), clock, SLOW)
    cluster.execute(move("jobs/a", "n1", "n2"), "k")
    after = as_another_process(cluster, clock)
    assert places(after) == {"a": "n1", "a (copy)": "n2"}
    clock.forward(60)
    assert after.execute(move("jobs/a", "n1", "n2"), "k").state == "succeeded"
    assert places(after) == {"a": "n2"}


def test_a_copy_that_never_gets_ready_is_taken_back() -> None:
    clock = HandClock()
    cluster = live_cluster(_two_nodes(), clock, DOOMED)
    cluster.execute(move("jobs/a", "n1", "n2"), "k")
    clock.forward(5)
    outcome = cluster.execute(move("jobs/a", "n1", "n2"), "k")
    assert (outcome.state, "did not become ready" in outcome.detail) == ("failed", True)
    assert places(cluster) == {"a": "n1"}


def test_a_restart_that_fails_runs_where_it_ran() -> None:
    clock = HandClock()
    cluster = live_cluster(_two_nodes(), clock, DOOMED)
    restart = move("jobs/a", "n1", "n2", mode="restart")
    cluster.execute(restart, "k")
    stopped = cluster.read_pod("jobs/a")
    assert stopped is not None and stopped.terminating
    clock.forward(5)
    assert cluster.execute(restart, "k").state == "failed"
    back = cluster.read_pod("jobs/a")
    assert back is not None and (back.node, back.terminating) == ("n1", False)


@pytest.mark.parametrize(
    ("built", "operation", "reason"),
    [
        (_two_nodes(), move("jobs/x", "n1", "n2"), "no pod"),
        (_two_nodes(), move("jobs/a", "n1", "n2", uid="u0"), "another pod"),
        (_two_nodes(), move("jobs/a", "n2", "n1"), "not on n2"),
        (_two_nodes(), move("jobs/a", "n1", "n9"), "no node n9"),
        (world().node("n1").node("n2", ready=False).pod("a", "n1"), move("jobs/a", "n1", "n2"), "not ready"),
        (world().node("n1").node("n2", cordoned=True).pod("a", "n1"), move("jobs/a", "n1", "n2"), "cordoned"),
        (world().nodes("n1", "n2").pod("a", "n1", locked=True), move("jobs/a", "n1", "n2"), "locked"),
        (world().nodes("n1", "n2").pod("a", "n1", terminating=True), move("jobs/a", "n1", "n2"), "terminating"),
        (world().nodes("n1", "n2").pod("a", "n1", move="never"), move("jobs/a", "n1", "n2"), "never"),
        (world().nodes("n1", "n2").pod("a", "n1", gpus=4).pod("b", "n2", gpus=5), move("jobs/a", "n1", "n2"), "gpus"),
        (world().node("n1").node("n2", cpu_milli=10).pod("a", "n1", cpu_milli=20), move("jobs/a", "n1", "n2"), "cpu"),
        (
            world().nodes("n1", "n2").pod("a", "n1", standby=True).pod("b", "n1", tier="LP", lent_by="jobs/a"),
            move("jobs/a", "n1", "n2"),
            "lends",
        ),
    ],
)
def test_what_the_cluster_refuses_it_does_not_begin(built, operation, reason) -> None:
    cluster = live_cluster(built, HandClock())
    before = places(cluster)
    outcome = cluster.execute(operation, "k")
    assert outcome.state == "failed" and reason in outcome.detail
    assert (places(cluster), JournalRow.objects.count()) == (before, 0)


def _service(mode: str, **fields: object) -> World:
    """Two pods of one service, and room for both on n3."""
    given = {"workload": "web", "move": mode, "class": "online", **fields}
    return world().nodes("n1", "n2", "n3").pod("a", "n1", **given).pod("b", "n2", **given)


def _both(built: World, clock: HandClock, mode: str, tide: Tide = SLOW) -> list[Requests | None]:
    """Pod b is moved from second 0 to 9, a from 2 to 7."""
    cluster = live_cluster(built, clock, tide)
    moves = {name: move(f"jobs/{name}", node, "n3", mode=mode) for name, node in (("a", "n1"), ("b", "n2"))}
    for name, seconds in (("b", 2), ("a", 5), ("a", 2), ("b", 0)):
        cluster = as_another_process(cluster, clock)
        last = cluster.execute(moves[name], name)
        clock.forward(seconds)
    again = [cluster.execute(moves[name], name) for name in "ab"]
    assert again[1] == last and {one.state for one in again} == {"succeeded"}
    return [one.requests for one in again]


@pytest.mark.parametrize(
    ("built", "mode", "tide", "expected"),
    [
        (_service("copy"), "copy", SLOW, [(500, 0), (400, 0)]),
        (_service("restart"), "restart", SLOW, [(0, 500), (400, 0)]),  # while both are stopped nobody answers
        (_service("restart", standby=True), "restart", SLOW, [(0, 0), (0, 0)]),  # nobody asks
        (_service("restart", **{"class": "training"}), "restart", SLOW, [(0, 0), (0, 0)]),
        (_service("restart"), "restart", replace(SLOW, requests_per_s=0), [None, None]),  # nobody counts
    ],
)
def test_requests_of_a_service_count_once_however_many_of_its_pods_move(built, mode, tide, expected) -> None:
    assert _both(built, HandClock(), mode, tide) == expected


def test_of_a_move_that_was_refused_none_is_lost_and_what_was_not_seen_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(simulated, "JOURNAL_ROWS", 1)  # each row makes a new base
    clock = HandClock()
    cluster = live_cluster(_service("copy"), clock, SLOW)
    assert cluster.execute(move("jobs/a", "n1", "n9"), "x").requests == (0, 0)
    cluster.execute(move("jobs/a", "n1", "n3"), "a")
    clock.forward(2)
    cluster.execute(move("jobs/b", "n2", "n3"), "b")
    clock.forward(5)
    late = as_another_process(cluster, clock)  # starts from a base that is younger than the first move
    outcomes = [late.execute(move(f"jobs/{name}", node, "n3"), name) for name, node in (("a", "n1"), ("b", "n2"))]
    assert [(one.state, one.requests) for one in outcomes] == [("succeeded", None), ("succeeded", (0, 0))]


def test_other_operations() -> None:
    clock = HandClock()
    built = world().nodes("n1", "n2").pod("a", "n1").pod("w").pod("s", "n2", standby=True, locked=True)
    cluster = live_cluster(built.pod("b", "n2", tier="LP", lent_by="jobs/s"), clock)
    given = {"cluster": "default", "uid": ""}
    assert cluster.execute(Bind(pod="jobs/w", target="n2", **given), "1").state == "succeeded"
    assert cluster.execute(Cordon(cluster="default", node="n1"), "2").state == "succeeded"
    recall, evict = Recall(pod="jobs/s", **given), Evict(pod="jobs/a", source="n1", grace_s=3, **given)
    assert [cluster.execute(recall, "3").state, cluster.execute(evict, "4").state] == ["running", "running"]
    clock.forward(60)
    assert [cluster.execute(recall, "3").state, cluster.execute(evict, "4").state] == ["succeeded", "succeeded"]
    assert places(cluster) == {"w": "n2", "s": "n2"}
    node, sleeper = cluster.read_node("n1"), cluster.read_pod("jobs/s")
    assert cluster.execute(Cordon(cluster="default", node="n1", lift=True), "5").state == "succeeded"
    given_back = cluster.read_node("n1")
    assert given_back is not None and not given_back.cordoned
    assert node is not None and node.cordoned and sleeper is not None and not sleeper.standby
