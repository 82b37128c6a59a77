"""Reports of replays: time fragmentation by hand, delays and causes of a world small enough to know, the trade-off."""

import numpy as np
import pytest

from scheduler.cluster.errors import InputError
from scheduler.cluster.records import NodeRecord
from scheduler.replay import columns as c
from scheduler.replay.blocks import blocks_of, runs, waits
from scheduler.replay.loop import Outcome, replay
from scheduler.replay.report import jain, report
from scheduler.replay.rules import NAMED
from scheduler.replay.sampling import LEVELS, SIZES, empty_series
from scheduler.replay.tradeoff import FIGURES, compare, figures_of, interval, interval_of, standings
from scheduler.replay.world import Work, work_of, world_of

HOUR_S = 3600
ONE_NODE = [NodeRecord(name="n", gpu_model="A", gpus=8, cpu_milli=96_000, memory_mib=1000)]


def _work(*rows: tuple[int, int, int, int]) -> Work:
    """(arrival, duration, tier, GPUs) of single pods."""
    asked = np.zeros((len(rows), c.J_LANE), np.int64)
    for at, (arrival, duration, tier, gpus) in enumerate(rows):
        asked[at, [c.J_ARRIVAL, c.J_DURATION, c.J_TIER, c.J_GPUS]] = arrival, duration, tier, gpus
    asked[:, [c.J_POOLS, c.J_WORKERS]] = 1
    asked[:, c.J_MILLI], asked[:, c.J_ESTIMATE] = 1000, asked[:, c.J_DURATION]
    return work_of([f"j{at}" for at in range(len(rows))], ["t"], asked)


def _run(work: Work, policy: str = "greedy", until_s: int = 10 * HOUR_S) -> Outcome:
    return replay(world_of(ONE_NODE), work, NAMED[policy], until_s=until_s)


def test_a_block_is_waited_for_until_it_is_free_and_free_for_as_long_as_it_is() -> None:
    free = np.array([0, 0, 1, 1, 1, 0, 0, 0, 1, 0], np.bool_)
    assert waits(free).tolist() == [2, 1, 0, 0, 0, 3, 2, 1, 0, np.inf]
    assert runs(free).tolist() == [3, 1]
    series = empty_series(10, 2, 1)
    series.fits[:, 1, LEVELS.index("asw"), SIZES.index(8)] = free * 2
    found = {(block.gpus, block.level): block for block in blocks_of(series, 2 * HOUR_S)}
    block = found[8, "asw"]
    assert (block.share_of_time, block.count, block.free_hours) == (0.4, 0.8, 4.0)
    assert block.within_p50_hours == 2.0  # of ten instants five are at most one sample away
    assert block.within_p90_hours is None  # after the last block none comes any more
    never = found[16, "host"]
    assert (never.share_of_time, never.within_p50_hours, never.free_hours) == (0.0, None, None)


def test_what_waits_and_why_in_a_world_of_one_node() -> None:
    # j0 holds 6 of 8 GPUs for 2 h; j1 asks for 4 of the 2 free ones and waits; j2 passes it; j3 never fits.
    outcome = _run(_work((0, 2 * HOUR_S, 0, 6), (60, HOUR_S, 0, 4), (120, HOUR_S, 1, 2), (180, HOUR_S, 0, 16)))
    found = report(outcome)
    hp, lp = found.classes
    assert (hp.jobs, hp.started, hp.ended, hp.never) == (3, 2, 2, 1)
    assert hp.delay_s.p99 == pytest.approx(7140, rel=0.02)
    assert (lp.delay_s.mean, lp.evictions) == (0.0, 0)
    assert hp.waited_hours["capacity"] * HOUR_S == 7140
    assert found.lost_waiting_gpu_hours * HOUR_S == 2 * 60 + 0 * HOUR_S + 2 * (2 * HOUR_S - 120 - HOUR_S)
    assert found.allocation_hp == pytest.approx((6 * 2 + 4) / 80)
    assert found.allocation == pytest.approx((6 * 2 + 4 + 2) / 80)


def test_lp_leaves_for_hp_and_loses_what_no_checkpoint_holds() -> None:
    outcome = _run(_work((0, HOUR_S, 1, 8), (600, 60, 0, 8)), "ours")
    job = outcome.state.job
    gone = job[1, c.J_FIRST] - 600
    assert 1 <= gone <= 60
    assert (job[0, c.J_EVICTIONS], job[1, c.J_CAUSE + c.BY_LEAVING]) == (1, gone)
    # All ten minutes and the exit are lost, then the restart takes 40 s.
    assert job[0, c.J_LOST] == (600 + gone + 40) * 8000
    assert job[0, c.J_END] == 600 + gone + 60 + 40 + HOUR_S
    five = figures_of(outcome, report(outcome))
    assert five["disturbance"] == pytest.approx(1000 / 3)
    assert five["utilisation"] == pytest.approx((60 + HOUR_S) * 8000 / outcome.state.pool[0, c.P_UP_TIME])


def test_differences_are_laid_to_jobs_and_causes() -> None:
    rows = (0, 2 * HOUR_S, 0, 6), (60, HOUR_S, 0, 4), (120, HOUR_S, 0, 2)
    strict, free = _run(_work(*rows), "fifo"), _run(_work(*rows))
    found = compare(free, strict)
    assert (found.jobs, found.sooner, found.later) == (3, 0, 1)
    assert found.largest[0].job == "j2" and found.largest[0].cause == "order"
    assert found.hours["HP"]["order"] == pytest.approx((7200 - 120) / 3600)
    other = _work((0, 1, 0, 1))
    with pytest.raises(InputError, match="different jobs"):
        compare(free, _run(other))


def test_nobody_who_is_beaten_on_all_figures_is_efficient() -> None:
    good = dict(zip(FIGURES, (0.9, 0.9, 10.0, 10.0, 1.0), strict=True))
    bad = dict(zip(FIGURES, (0.8, 0.9, 10.0, 20.0, 1.0), strict=True))
    calm = dict(zip(FIGURES, (0.7, 0.5, None, 30.0, 0.0), strict=True))
    found = standings([("good", good), ("bad", bad), ("calm", calm), ("good", good)])
    assert [(one.policy, one.efficient) for one in found] == [("good", True), ("bad", False), ("calm", True)]
    three = interval([1.0, 2.0, 3.0])
    assert (three.mean, three.runs) == (2.0, 3)
    assert three.high == pytest.approx(2 + 4.303 / 3**0.5)
    wide = interval_of("large_start_s", [90.0, 0.0, 0.0])
    assert (wide.mean, wide.low) == (30.0, 0.0) and wide.high == pytest.approx(30 + 4.303 * 30)
    assert [interval_of(name, [1.0, 0.5]).high for name in ("fairness", "serving_s")] == [1.0, pytest.approx(3.9265)]
    assert (interval([5.0]).low, interval([]).mean) == (None, None)
    assert jain(np.array([1.0, 1.0, 0.0, 0.0])) == 0.5 and jain(np.zeros(3)) is None
