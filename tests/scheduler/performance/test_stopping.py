"""What stopping costs, term by term, and whom silence or a promise to write does not protect."""

from typing import Any

import numpy as np
import pytest

from scheduler.cluster.snapshot import Snapshot
from scheduler.performance.interruption import Rates
from scheduler.performance.stopping import HOOK_S, ON_NOTICE, Habit, StopCosts, Stops, stops_of, workload_key
from tests.builders.worlds import World, world

# 8 GPUs of 100,000 MiB, half of it state; the mean of the study's law is 13 s, 3.24 % are killed
LP: dict[str, Any] = {"tier": "LP", "started_s": 0, "checkpoint_s": 9_000}
RATES = Rates(start_s=50, image_mib=20_000, network_mib_per_s=2_000, store_mib_per_s=4_000, rebuild_s=300)
COSTS = StopCosts(rates_of=lambda _model, _tenant: RATES, write_mib_per_s=2_000)


def _one(costs: StopCosts = COSTS, assumed_s: int = 1_800, **fields: Any) -> tuple[Snapshot, Stops]:
    built = world(10_000).node("n1", gpu_memory_mib=100_000).pod("a", "n1", 8, **{**LP, **fields})
    snapshot = built.snapshot()
    return snapshot, stops_of(snapshot, 10_000, assumed_s, costs)


def test_every_term_by_hand() -> None:
    terms = _one()[1].terms(0)
    assert (terms.lost, terms.start, terms.restore) == (8 * 1000, 8 * (50 + 10), 8 * 100)
    assert terms.leave == pytest.approx(8 * 13, abs=0.1)
    assert (terms.write, terms.rebuild, terms.credit) == (0, 0, 0)
    assert terms.total == pytest.approx(8000 + 480 + 800 + 104, abs=0.1)
    online: dict[str, Any] = {"class": "online"}
    assert _one(**online)[1].terms(0).rebuild == 8 * 300
    assert _one(min_runtime_s=10_600)[1].terms(0).credit == 8 * 600
    assert _one(min_runtime_s=9_000)[1].terms(0).credit == 0


def test_who_writes_on_notice_loses_only_where_its_hook_is_killed() -> None:
    _, stops = _one(labels={ON_NOTICE: "true"})
    terms, killed = stops.terms(0), float(stops.killed[0])
    assert terms.write == 8 * 25 and 0.05 < killed < 0.2  # 50,000 MiB from each GPU; the hook has 35 s beside that
    assert terms.lost == pytest.approx(8 * 1000 * killed, rel=1e-6)
    assert stops.age_s[0] == round(25 * (1 - killed) + 1000 * killed)
    others: tuple[dict[str, Any], ...] = (
        {"labels": {ON_NOTICE: "true", HOOK_S: "90"}},  # its hook needs longer than there is
        {"labels": {ON_NOTICE: "true"}, "checkpoint_s": 9_995},  # nothing to be won by writing
        {"labels": {ON_NOTICE: "yes"}},
    )
    for fields in others:
        assert not _one(**fields)[1].on_notice[0], fields
    slow = StopCosts(rates_of=COSTS.rates_of, write_mib_per_s=500)
    assert not _one(slow, labels={ON_NOTICE: "true"})[1].on_notice[0]  # 100 s to write, 60 s to leave


def test_what_was_seen_of_a_workloads_exits_counts() -> None:
    fields: dict[str, Any] = {"workload": "train", "labels": {ON_NOTICE: "true"}}
    key = workload_key(_one(**fields)[0], 0)
    assert key == "jobs/train"
    quick = StopCosts(rates_of=COSTS.rates_of, habits={key: Habit((26.0,) * 200)})
    dead = StopCosts(rates_of=COSTS.rates_of, habits={key: Habit((60.0,) * 200, killed=200)})
    plain, good, bad = (_one(costs, **fields)[1].terms(0) for costs in (COSTS, quick, dead))
    assert good.lost < plain.lost < bad.lost and good.leave < plain.leave < bad.leave
    assert bad.lost == pytest.approx(8 * 1000, rel=0.1)  # it says that it writes and never does


def _silent(assumed_s: int, *others: tuple[int, int | None]) -> Stops:
    built = world(10_000).node("n0").pod("a", "n0", 8, tier="LP", started_s=0)
    for i, (saved, every) in enumerate(others):
        built.node(f"n{i + 1}").pod(f"b{i}", f"n{i + 1}", 8, tier="LP", started_s=0, checkpoint_s=saved,
                                    checkpoint_interval_s=every)  # fmt: skip
    return stops_of(built.snapshot(), 10_000, assumed_s)


def test_silence_is_taken_for_no_more_than_honest_jobs_lose() -> None:
    assert _silent(1_800).age_s[0] == 1_800
    assert _silent(1_800, (9_000, None), (9_800, None)).age_s[0] == 600  # their mean
    assert _silent(1_800, (9_000, 600), (9_800, 3_600)).age_s[0] == 300  # what the most frequent writer loses
    assert _silent(100, (9_000, 600)).age_s[0] == 100
    young = world(10_000).node("n").pod("a", "n", 8, tier="LP", started_s=9_990)
    assert stops_of(young.snapshot(), 10_000, 1_800).age_s[0] == 10  # never older than the job


def test_hiding_checkpoints_never_makes_a_job_dearer_than_its_own_honest_mean() -> None:
    """Over a whole interval: whoever writes every 20 minutes is at least as dear to stop when it says so."""
    honest = np.mean([_silent(1_800, (saved, 1_200)).age_s[1] for saved in range(8_800, 10_000, 100)])
    hidden = _silent(1_800, (9_500, 1_200)).age_s[0]
    assert hidden <= honest


def test_unknown_memory_costs_no_restore_and_hp_pods_nothing() -> None:
    built: World = world(10_000).node("n1", gpu_model="nobody-knows").pod("a", "n1", 4, **LP).pod("h", "n1", 4)
    stops = stops_of(built.snapshot(), 10_000, 1_800, COSTS)
    assert stops.terms(0).restore == 0 and stops.terms(0).lost == 4_000
    assert stops.total[1] == 0
