"""When waiting jobs will start: the queue replayed from a snapshot, held against what became of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from scheduler.admission.order import QueueRules
from scheduler.admission.planner import explain
from scheduler.cluster.records import NodeRecord
from scheduler.replay import columns as c
from scheduler.replay import lasting
from scheduler.replay.forecast import CONSTRAINED, NEVER_STARTS, RULES, UNSEEN, Start, forecast
from scheduler.replay.lasting import NEVER_S, Lasts, Ran, lasting_of, law_of
from scheduler.replay.loop import Replay, begin_replay
from scheduler.replay.newcomers import Arrived
from scheduler.replay.rules import Ways
from scheduler.replay.world import work_of, world_of
from tests.builders.worlds import World, world


def _asked(built: World, past: Sequence[Ran] = (), **asked: Any) -> dict[str, tuple[int | None, ...]]:
    found = explain(built.snapshot())
    told = forecast(found, past, **asked)
    return {row.key.partition("/")[2]: (one.p10_s, one.p50_s, one.p90_s)
            for row, one in zip(found.rows, told.starts, strict=True)}  # fmt: skip


def test_stated_ends_give_one_instant_and_unknown_ones_none() -> None:
    built = (
        world(1000).nodes("n1", "n2").pod("a", "n1", 8).pod("b", "n2", 8).pod("c", gpus=8, priority=9).pod("d", gpus=8)
    )
    told = _asked(built, ends={"jobs/a": 1500, "jobs/b": 2500})
    assert told == {"c": (500, 500, 500), "d": (1500, 1500, 1500)}
    assert _asked(built, ends={"jobs/a": 1500}) == {"c": (500, 500, 500), "d": (None, None, None)}
    assert _asked(world().node("n1").pod("now", gpus=8)) == {"now": (0, 0, 0)}


def test_who_runs_keeps_its_devices_and_its_gang_its_draw() -> None:
    built = world(1000).node("n1", 4).gang("g", 2).pod("g-0", "n1", 1, gang="g", started_s=0)
    built.pod("g-1", "n1", 1, gang="g", cpu_milli=500, started_s=0).pod("s", "n1", 1, gpu_milli=400, devices=[3])
    built.pod("two", gpus=2).pod("share", gpus=1, gpu_milli=700)
    told = _asked(built, [Ran("t1", 2000, 2000 + 10 * at) for at in range(40)])
    assert told["share"] == (0, 0, 0), "one device is free"
    assert told["two"][0] is not None
    assert told["two"] == tuple(sorted(told["two"], key=lambda one: one or 0)), "both members leave together"


def test_what_the_loop_cannot_see_is_unknown_and_says_why() -> None:
    built = world().node("n1", 8, labels={"zone": "a"}).node("n2").pod("picky", gpus=1, node_selector={"zone": "a"})
    built.pod("huge", gpus=16)
    found = explain(built.snapshot())
    told = {row.key: one for row, one in zip(found.rows, forecast(found, ()).starts, strict=True)}
    assert (told["jobs/picky"].why, told["jobs/huge"].why) == (CONSTRAINED, NEVER_STARTS)
    assert not told["jobs/picky"].known


def test_where_no_end_is_known_it_never_starting_says_nothing() -> None:
    built = world(1000).node("n1", 2).pod("held", "n1", 2).pod("waits", gpus=1)
    found = explain(built.snapshot())
    assert forecast(found, ()).starts[0] == Start(None, None, None, 0, 0, UNSEEN)
    known = forecast(found, (), ends={"jobs/held": 1500}).starts[0]
    assert (known.p50_s, known.why) == (500, "")


def test_a_few_nodes_that_keep_a_job_out_leave_it_foretold() -> None:
    taint = {"key": "reserved", "effect": "NoSchedule"}
    built = world(1000).nodes(*(f"n{at}" for at in range(9))).node("apart", taints=[taint])
    built.pod("one", gpus=1)
    assert _asked(built, [])["one"] == (0, 0, 0)
    assert forecast(explain(built.node("too", taints=[taint]).snapshot()), ()).starts[0].why == CONSTRAINED


def test_run_times_are_those_of_jobs_like_it_that_ran_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lasting, "TOGETHER", 0.0)
    law = law_of([*(Ran("a", 8000, 100 * at) for at in range(1, 21)), *(Ran("b", 8000, 50) for _ in range(2))])
    rows = [
        Lasts("a", 8000, 1000),
        Lasts("b", 7500, 0),
        Lasts("a", 1000, 0),
        Lasts("a", 8000, 1900),
        Lasts("a", 8000, None),
    ]
    drawn = np.array([lasting_of(law, rows).draw(seed) for seed in range(200)])
    assert (drawn[:, 0].min(), drawn[:, 0].max()) == (100, 1000)
    assert 450 <= drawn[:, 0].mean() <= 650
    assert drawn[:, 1].min() == 50, "too few of b: those of its size"
    assert (drawn[:, [2, 4]] == NEVER_S).all(), "no job of that size; its start is unknown"
    assert 1300 < np.median(drawn[:, 3]) < 2700, "nearly all of its size ended before: for as long again"
    censored = law_of([Ran("a", 1000, 10) for _ in range(10)] + [Ran("a", 1000, 10, ended=False) for _ in range(10)])
    part = np.array([lasting_of(censored, [Lasts("a", 1000, 0)]).draw(seed)[0] for seed in range(400)]) > 10
    assert 0.4 < part.mean() < 0.6, "half of them were not seen to end"
    late = law_of([Ran("a", 1000, 100, entered_s=90) for _ in range(30)] + [Ran("a", 1000, 10) for _ in range(10)])
    assert late.curves["a", 1].survives[0] == pytest.approx(0.0), (
        "who was seen from an age of 90 on was at no risk at 10"
    )
    older = {int(lasting_of(late, [Lasts("a", 1000, 20)]).draw(seed)[0]) for seed in range(20)}
    assert older == {80}, "all that were seen so early ended, and others were seen to run until 100"


# --- calibration -----------------------------------------------------------------------------------------------------
SEEDS_OF_TWINS = range(3)
HOUR_S = 3600
DAY_S = 24 * HOUR_S
Seen = tuple[int, int, Start]  # job, instant, what was foretold


def _twin(seed: int) -> Replay:
    """Three weeks of a small cluster with somewhat less work than it can do, in four sizes."""
    rng, jobs = np.random.default_rng(seed), 900
    asked = np.zeros((jobs, c.J_LANE), np.int64)
    sizes = rng.choice([1, 2, 4, 8], jobs, p=[0.4, 0.2, 0.2, 0.2])
    asked[:, c.J_ARRIVAL] = np.sort(rng.integers(0, 20 * DAY_S, jobs))
    asked[:, c.J_DURATION] = rng.lognormal(np.log(1.5 * HOUR_S), 1.0, jobs).astype(np.int64) + 60
    asked[:, c.J_TENANT] = 0
    asked[:, [c.J_POOLS, c.J_WORKERS, c.J_MILLI]] = 1, 1, 1000
    asked[:, c.J_GPUS], asked[:, c.J_ESTIMATE] = sizes, asked[:, c.J_DURATION]
    nodes = [NodeRecord(name=f"n{at}", gpu_model="H100", gpus=8, cpu_milli=1000, memory_mib=1000) for at in range(2)]
    work = work_of([f"j{at:04}" for at in range(jobs)], ["a", "b"], asked)
    return begin_replay(world_of(nodes), work, RULES, Ways(sample_s=HOUR_S), until_s=24 * DAY_S)


def _foretold(one: Replay, at_s: int) -> list[Seen]:
    """What is said of those who wait, by who sees the cluster now and what has happened so far."""
    state, built = one.state, world(at_s)
    built.nodes(*(f"n{at}" for at in range(2)), gpu_model="H100")
    past, arrived, since = [], [], {}
    for j, name in enumerate(one.work.names):
        row, tenant = state.job[j], "ab"[int(state.job[j, c.J_TENANT])]
        gpus, ran = int(row[c.J_GPUS]), at_s - int(row[c.J_FIRST])
        if row[c.J_STATUS] != c.AHEAD:
            arrived.append(Arrived(tenant, gpus * 1000, at_s - int(row[c.J_ARRIVAL])))
        if row[c.J_STATUS] == c.RUNNING:
            place = state.task[row[c.J_TASK]]
            devices = [device for device in range(8) if int(place[c.T_DEVICES]) >> device & 1]
            started_s = int(row[c.J_FIRST])
            built.pod(name, f"n{place[c.T_NODE]}", gpus, tenant=tenant, started_s=started_s, devices=devices)
            past.append(Ran(tenant, gpus * 1000, ran, ended=False))
        elif row[c.J_STATUS] == c.DONE:
            past.append(Ran(tenant, gpus * 1000, int(row[c.J_END] - row[c.J_FIRST])))
        elif row[c.J_STATUS] == c.WAITING:
            built.pod(name, gpus=gpus, tenant=tenant)
            since[f"jobs/{name}"] = int(row[c.J_ARRIVAL])
    found = explain(built.snapshot(), rules=QueueRules(fair=False, waiting_since_s=since))
    told = forecast(found, past, arrived=arrived, horizon_s=3 * DAY_S).starts
    names = [one.work.names.index(row.key.partition("/")[2]) for row in found.rows]
    return [(j, at_s, start) for j, start in zip(names, told, strict=True)]


def test_the_interval_from_p10_to_p90_holds_about_eight_starts_in_ten() -> None:
    inside = seen = 0
    for seed in SEEDS_OF_TWINS:
        one, told = _twin(seed), []
        for at_s in (12 * DAY_S, 15 * DAY_S):
            one.run(pause_s=at_s)
            told += _foretold(one, at_s)
        one.run()
        for j, at_s, start in told:
            if start.p10_s is not None:
                true = int(one.state.job[j, c.J_FIRST]) - at_s
                seen += 1
                inside += start.p10_s <= true <= (NEVER_S if start.p90_s is None else start.p90_s)
    assert seen > 40
    assert 0.7 <= inside / seen <= 0.95
