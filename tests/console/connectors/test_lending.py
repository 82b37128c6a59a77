"""Standby and leases in a simulated cluster: sleep, launch, recall and evict, in steps that nobody has to watch."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from console.connectors import leaving, simulated
from console.connectors.models import JournalRow, SimulatedOperation
from console.connectors.protocol import Outcome
from console.connectors.simulated import SimulatedConnector
from console.connectors.tide import Tide
from scheduler.plan.operations import Bind, Evict, Hold, Launch, LaunchedPod, Recall, Sleep
from tests.builders.worlds import World, world
from tests.console.connectors.worlds import BEGAN, HandClock, as_another_process, live_cluster, places

pytestmark = pytest.mark.django_db
CALM = Tide(nodes_per_minute=0.0, fail=0.0, startup_s=(2, 2), resume_s=(4, 4))
PLACE = {"cluster": "default", "uid": ""}
WAKE = Recall(pod="jobs/s", **PLACE)  # type: ignore[arg-type]


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Seconds that the next exit hooks take."""
    wanted: list[float] = []
    monkeypatch.setattr(leaving, "exit_seconds", lambda law, u: wanted.pop(0))
    yield wanted
    assert wanted == [], "a pod that should have been told to end was not"


def _sleeper(**fields: Any) -> World:
    """Node n1 of eight GPUs is reserved by a sleeper; n2 is empty."""
    return world().nodes("n1", "n2").pod("s", "n1", gpus=8, cpu_milli=64_000, standby=True, uid="us", **fields)


def _launch(*pods: tuple[str, str, str], **fields: Any) -> Launch:
    given: dict[str, Any] = {"cluster": "default", "namespace": "lp", "lease": "l1", "tenant": "t", "workload": "l1"}
    seats = tuple(LaunchedPod(name=name, node=node, lent_by=lent_by) for name, node, lent_by in pods)
    return Launch(pods=seats, gpus=4, cpu_milli=8000, memory_mib=1024, **{**given, **fields})


def _lent(cluster: SimulatedConnector, clock: HandClock, **fields: Any) -> None:
    """Two pods of four GPUs each borrow all that the sleeper has."""
    asked = _launch(("a", "n1", "jobs/s"), ("b", "n1", "jobs/s"), **fields)
    assert cluster.execute(asked, "launch").state == "running"
    clock.forward(2)
    assert cluster.execute(asked, "launch") == Outcome("succeeded", "2 pods run")


def _seconds(at: Any) -> int | None:
    return None if at is None else int((at - BEGAN).total_seconds())


# --- sleep ----------------------------------------------------------------------------------------------------------
def test_a_pod_sleeps_until_its_owner_s_end_and_then_wakes_by_itself() -> None:
    clock = HandClock()
    cluster = live_cluster(world().node("n1").pod("s", "n1", gpus=8), clock, CALM)
    until = (BEGAN + timedelta(seconds=30)).isoformat()
    assert cluster.execute(Sleep(pod="jobs/s", until=until, **PLACE), "k").state == "succeeded"  # type: ignore[arg-type]
    pod = cluster.read_pod("jobs/s")
    assert pod is not None and pod.standby and pod.standby_until_s is not None
    assert pod.labels["slackline.io/standby-by"] == "owner"
    clock.forward(29)
    assert _asleep(cluster)
    clock.forward(6)
    assert not _asleep(cluster)


def _asleep(cluster: SimulatedConnector) -> bool:
    return next(pod for pod in cluster.observe().pods if pod.name == "s").standby


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"tier": "LP"}, "low priority"),
        ({"terminating": True}, "terminating"),
        ({"phase": "Pending"}, "not up yet"),
    ],
)
def test_what_cannot_sleep_says_why(fields: dict[str, Any], words: str) -> None:
    cluster = live_cluster(world().node("n1").pod("s", "n1", **fields), HandClock(), CALM)
    outcome = cluster.execute(Sleep(pod="jobs/s", **PLACE), "k")  # type: ignore[arg-type]
    assert outcome.state == "failed" and words in outcome.detail


# --- launch ---------------------------------------------------------------------------------------------------------
def test_pods_of_a_lease_are_bound_pinned_and_named() -> None:
    clock = HandClock()
    cluster = live_cluster(_sleeper(), clock, CALM)
    _lent(cluster, clock, min_members=2, checkpoint_interval_s=600, checkpoint_on_notice=True, min_runtime_s=900)
    found = cluster.observe()
    pod = next(pod for pod in found.pods if pod.name == "a")
    assert (pod.tier, pod.tenant, pod.node, pod.only_node, pod.lent_by) == ("LP", "t", "n1", "n1", "jobs/s")
    assert (pod.phase, pod.gang, pod.min_runtime_s, pod.checkpoint_interval_s) == ("Running", "l1", 900, 600)
    assert pod.labels == {"slackline.io/lease": "l1", "slackline.io/checkpoint-on-notice": "true"}
    assert [(gang.name, gang.min_members) for gang in found.gangs] == [("l1", 2)]


@pytest.mark.parametrize(
    ("pods", "words"),
    [
        ([("a", "n2", ""), ("b", "n1", "")], "n1 has no room"),
        ([("a", "n1", "jobs/s"), ("b", "n1", "jobs/s"), ("c", "n1", "jobs/s")], "jobs/s has 0 GPUs left to lend"),
        ([("a", "n2", "jobs/s")], "jobs/s is not on n2"),
        ([("a", "n9", "")], "there is no node n9"),
        ([("a", "n1", "jobs/x")], "jobs/x is not on n1"),
        ([("a", "n2", ""), ("a", "n2", "")], "a name of its own"),
        ([], "needs pods"),
    ],
)
def test_a_launch_without_room_makes_nothing_and_says_why(pods: list[tuple[str, str, str]], words: str) -> None:
    cluster = live_cluster(_sleeper(), HandClock(), CALM)
    before = cluster.observe()
    outcome = cluster.execute(_launch(*pods, min_members=1), "k")
    assert outcome.state == "failed" and words in outcome.detail
    assert cluster.observe() == before and cluster.execute(_launch(*pods), "k") == outcome


def test_a_held_or_cordoned_node_takes_no_lease() -> None:
    cluster = live_cluster(_sleeper(), HandClock(), CALM)
    cluster.execute(Hold(cluster="default", node="n2", least_gpus=8, seconds=600), "hold")
    outcome = cluster.execute(_launch(("a", "n2", "")), "k")
    assert (outcome.state, "held for larger pods" in outcome.detail) == ("failed", True)


def test_a_gang_of_a_lease_is_forgotten_with_its_last_pod(hooks: list[float]) -> None:
    clock = HandClock()
    cluster = live_cluster(_sleeper(), clock, CALM)
    _lent(cluster, clock, min_members=2)
    hooks += [1, 1]
    for name in ("a", "b"):
        cluster.execute(Evict(pod=f"lp/{name}", source="n1", grace_s=60, **PLACE), name)  # type: ignore[arg-type]
    clock.forward(1)
    found = cluster.observe()
    assert found.gangs == [] and [pod.name for pod in found.pods] == ["s"]


# --- recall ---------------------------------------------------------------------------------------------------------
def test_a_recall_in_steps(hooks: list[float]) -> None:
    clock = HandClock()
    cluster = live_cluster(_sleeper(), clock, CALM)
    _lent(cluster, clock, checkpoint_on_notice=True)  # two seconds
    hooks += [9.2, 75]
    first = cluster.execute(WAKE, "k")
    assert (first.state, first.detail) == ("running", "2 borrowers of jobs/s must end first")
    noticed = [pod for pod in cluster.observe().pods if pod.terminating]
    assert [(pod.name, pod.grace_s) for pod in noticed] == [("a", 60), ("b", 60)]
    steps = []
    for seconds in (10, 49, 1, 4):
        clock.forward(seconds)
        told = cluster.execute(WAKE, "k")
        assert told.reclaim is not None
        gone, serving = _seconds(told.reclaim.last_gone_at), _seconds(told.reclaim.serving_at)
        steps.append((told.state, sorted(places(cluster)), told.reclaim.killed, gone, serving))
    assert steps == [
        ("running", ["b", "s"], 0, None, None),
        ("running", ["b", "s"], 0, None, None),
        ("running", ["s"], 1, 62, None),
        ("succeeded", ["s"], 1, 62, 66),
    ]
    assert not _asleep(cluster)


def test_what_each_borrower_did_is_told(hooks: list[float]) -> None:
    clock = HandClock()
    cluster = live_cluster(_sleeper(), clock, CALM)
    _lent(cluster, clock, checkpoint_on_notice=True)
    hooks += [9.2, 75]
    cluster.execute(WAKE, "k")
    clock.forward(64)
    reclaim = cluster.execute(WAKE, "k").reclaim
    assert reclaim is not None
    one, other = reclaim.endings
    assert (one.pod, one.lease, one.gpu_milli, one.killed) == ("lp/a", "l1", 4000, False)
    assert [_seconds(at) for at in (one.noticed_at, one.hook_ended_at, one.ended_at, one.checkpoint_at)] == [
        2,
        12,
        12,
        12,
    ]
    assert (other.killed, other.hook_ended_at, other.checkpoint_at, _seconds(other.ended_at)) == (True, None, None, 62)


def test_the_cluster_goes_on_when_whoever_recalled_is_dead(hooks: list[float]) -> None:
    clock = HandClock()
    cluster = live_cluster(_sleeper(), clock, CALM)
    _lent(cluster, clock)
    hooks += [5, 6]
    cluster.execute(WAKE, "k")
    clock.forward(10)
    other = as_another_process(cluster, clock)
    assert places(other) == {"s": "n1"} and not _asleep(other)
    told = other.execute(WAKE, "k")
    assert told.state == "succeeded" and told == other.execute(WAKE, "k")
    assert SimulatedOperation.objects.count() == 2


def test_a_course_outlives_a_new_base(hooks: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated, "JOURNAL_ROWS", 1)
    clock = HandClock()
    cluster = live_cluster(_sleeper(), clock, CALM)
    _lent(cluster, clock, min_members=2)
    hooks += [5, 6]
    cluster.execute(WAKE, "k")
    other = as_another_process(cluster, clock)
    outcome = other.execute(_launch(("c", "n1", "jobs/s"), workload="l2"), "late")
    assert "is being recalled" in outcome.detail
    clock.forward(10)
    assert places(other) == {"s": "n1"} and other.observe().gangs == []


def test_who_is_waking_lends_nothing_and_a_second_recall_follows_the_first(hooks: list[float]) -> None:
    clock = HandClock()
    cluster = live_cluster(_sleeper(), clock, CALM)
    cluster.execute(_launch(("a", "n1", "jobs/s")), "launch")
    hooks.append(20)
    cluster.execute(WAKE, "k")
    late = cluster.execute(_launch(("b", "n1", "jobs/s"), workload="l2"), "late")
    assert late.state == "failed" and "is being recalled: it lends nothing more" in late.detail
    clock.forward(20)
    again = cluster.execute(WAKE, "k2")
    assert (again.state, again.detail) == ("running", "jobs/s starts up")
    clock.forward(4)
    ends = [cluster.execute(WAKE, key).reclaim for key in ("k", "k2")]
    assert [_seconds(one.serving_at) for one in ends if one] == [24, 24]


def test_a_recall_of_nobody_who_sleeps_is_refused_and_one_without_borrowers_only_starts_up() -> None:
    clock = HandClock()
    cluster = live_cluster(_sleeper().pod("awake", "n2"), clock, CALM)
    assert cluster.execute(Recall(pod="jobs/awake", **PLACE), "no").detail == "jobs/awake is not asleep"  # type: ignore[arg-type]
    assert cluster.execute(WAKE, "k").state == "running"
    clock.forward(4)
    told = cluster.execute(WAKE, "k")
    assert told.state == "succeeded" and told.reclaim is not None
    assert (_seconds(told.reclaim.last_gone_at), _seconds(told.reclaim.serving_at)) == (0, 4)


def test_a_pod_whose_node_is_down_does_not_serve() -> None:
    clock = HandClock()
    built = world().node("n1", ready=False).pod("s", "n1", gpus=8, standby=True)
    cluster = live_cluster(built, clock, CALM)
    states = []
    for seconds in (0, 10, 599):
        clock.forward(seconds)
        states.append(cluster.execute(WAKE, "k").state)
    assert states == ["running", "running", "failed"]
    assert cluster.execute(WAKE, "k").detail == "n1 is not ready: jobs/s cannot serve there"


# --- evict and promises ---------------------------------------------------------------------------------------------
def test_an_eviction_runs_the_hook_and_room_in_grace_is_nobody_s(hooks: list[float]) -> None:
    clock = HandClock()
    cluster = live_cluster(world().node("n1").pod("v", "n1", gpus=8, tier="LP").pod("w", gpus=8), clock, CALM)
    hooks.append(7.5)
    out = Evict(pod="jobs/v", source="n1", grace_s=60, **PLACE)  # type: ignore[arg-type]
    assert cluster.execute(out, "k").state == "running"
    assert "no room" in cluster.execute(Bind(pod="jobs/w", target="n1", **PLACE), "b1").detail  # type: ignore[arg-type]
    clock.forward(8)
    told = cluster.execute(out, "k")
    assert told.state == "succeeded" and told.reclaim is not None and _seconds(told.reclaim.last_gone_at) == 8
    assert cluster.execute(Bind(pod="jobs/w", target="n1", **PLACE), "b2").state == "succeeded"  # type: ignore[arg-type]


def test_freed_room_is_its_claimant_s_until_the_promise_is_over(hooks: list[float]) -> None:
    clock = HandClock()
    built = world().node("n1").pod("v", "n1", gpus=8, tier="LP", uid="uv").pod("w", gpus=8).pod("h", gpus=4)
    cluster = live_cluster(built, clock, CALM)
    hooks.append(2)
    out = Evict(pod="jobs/v", source="n1", grace_s=60, claimant="jobs/h", kept_s=30, **PLACE)  # type: ignore[arg-type]
    cluster.execute(out, "k")
    clock.forward(2)
    assert cluster.execute(out, "k").state == "succeeded"
    refused = cluster.execute(Bind(pod="jobs/w", target="n1", **PLACE), "b1")  # type: ignore[arg-type]
    assert (refused.state, refused.detail) == ("failed", "n1 has no room: gpus")
    assert cluster.execute(Bind(pod="jobs/h", target="n1", **PLACE), "b2").state == "succeeded"  # type: ignore[arg-type]
    lease = _launch(("x", "n1", ""))
    assert cluster.execute(lease, "l1").state == "failed"
    clock.forward(30)
    assert cluster.execute(lease, "l2").state == "running"


def test_each_step_is_written_once(hooks: list[float]) -> None:
    clock = HandClock()
    cluster = live_cluster(_sleeper(), clock, CALM)
    _lent(cluster, clock)
    hooks += [3, 3]
    rows = JournalRow.objects.count()
    for _ in range(3):
        cluster.execute(WAKE, "k")
    assert JournalRow.objects.count() == rows + 1


# --- the tide -------------------------------------------------------------------------------------------------------
def test_the_tide_wakes_its_own_sleepers_in_steps_and_leaves_windows_alone() -> None:
    clock = HandClock()
    built = world().nodes("n1", "n2").pod("own", "n1", gpus=8, standby=True)
    built.pod("b", "n1", gpus=4, tier="LP", lent_by="jobs/own")
    built.pod("ruled", "n2", gpus=8, standby=True, locked=True, labels={"slackline.io/standby-by": "owner"})
    waking = Tide(least_per_minute=600.0, sleep=1.0, trouble=0.0, locks=0.0, asleep_at_midnight=0.0, exits="hangs")
    cluster = live_cluster(built, clock, waking)
    clock.forward(2)
    pods = {pod.name: pod for pod in cluster.observe().pods}
    assert pods["own"].standby and pods["b"].terminating and pods["b"].grace_s == 60
    woke = 0
    while pods["own"].standby and woke < 70:
        clock.forward(1)
        woke += 1
        pods = {pod.name: pod for pod in cluster.observe().pods}
    assert 0 < woke < 70 and "b" not in pods and pods["ruled"].standby
