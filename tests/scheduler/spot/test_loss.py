"""Predicted against realised loss under the three laws; and the list of who is likely to be stopped."""

import random
from typing import Any

import pytest

from scheduler.cluster.errors import ParamError
from scheduler.performance.exit_times import LAWS, ExitLaw, exit_seconds
from scheduler.performance.interruption import Rates
from scheduler.performance.stopping import ON_NOTICE, StopCosts, stops_of
from scheduler.spot.loss import Ended, accuracy, predicted, realised
from scheduler.spot.risk import at_risk
from scheduler.spot.standby import sleepers_of
from tests.builders.worlds import world

NOW, JOBS = 100_000, 400
RATES = Rates(start_s=40, image_mib=20_000, network_mib_per_s=2_000, store_mib_per_s=4_000)


@pytest.mark.parametrize("word", LAWS)
def test_the_median_error_is_within_a_fifth_under_every_law(word: ExitLaw) -> None:
    """Jobs with checkpoints every 10 min to 2 h, a third of which write on notice; hooks drawn from the law."""
    dice, built = random.Random(7), world(NOW)
    for i in range(JOBS):
        fields: dict[str, Any] = {"labels": {ON_NOTICE: "true"}} if i % 3 == 0 else {}
        every = dice.choice([600, 1800, 3600, 7200])
        built.node(f"n{i:03}", gpu_memory_mib=80_000).pod(
            f"p{i:03}", f"n{i:03}", dice.choice([1, 2, 4, 8]), tier="LP", started_s=0, checkpoint_interval_s=every,
            checkpoint_s=NOW - dice.randint(1, every), **fields,
        )  # fmt: skip
    snapshot = built.snapshot()
    costs = StopCosts(rates_of=lambda _model, _tenant: RATES, law=word)
    stops = stops_of(snapshot, NOW, 1_800, costs)
    pairs = []
    for p in range(JOBS):
        milli, write = int(snapshot.pod_gpus[p]) * 1000, int(stops.write_s[p])
        hook = exit_seconds(word, dice.uniform(1e-9, 1 - 1e-9)) + write
        gone = NOW + min(60.0, hook)
        kept = NOW if write and hook <= 60 else int(snapshot.pod_checkpoint_s[p])
        back = 40 + 10 + float(stops.state_mib[p]) / 4_000
        ended = Ended(gpu_milli=milli, kept_s=kept, noticed_s=NOW, gone_s=gone, back_s=back)
        pairs.append((predicted(stops.terms(p)), realised(ended)))
    found = accuracy(pairs)
    assert found.evictions == JOBS and found.median_error is not None and found.median_error <= 0.2
    assert found.bias is not None and abs(found.bias) < 0.1


def test_what_is_realised_by_hand_and_what_cannot_be() -> None:
    ended = Ended(gpu_milli=4000, kept_s=900, noticed_s=1000, gone_s=1020, back_s=80)
    assert realised(ended) == 4 * (120 + 80)
    assert realised(Ended(gpu_milli=4000, kept_s=900, noticed_s=1000, gone_s=1020)) is None
    with pytest.raises(ParamError, match="gone_s"):
        Ended(gpu_milli=1, kept_s=0, noticed_s=10, gone_s=9)
    assert accuracy([(1.0, None), (1.0, 0.0)]).median_error is None


def test_who_is_at_risk_the_cheapest_for_each_gpu_first() -> None:
    built = world(1000).nodes("n1", "n2", "n3").pod("s", "n1", 8, standby=True, standby_until_s=4000).gang("g", 2)
    lp: dict[str, Any] = {"tier": "LP", "started_s": 0}
    built.pod("lent", "n1", 8, lent_by="jobs/s", checkpoint_s=990, **lp)
    built.pod("dear", "n2", 2, checkpoint_s=0, **lp).pod("safe", "n2", 2, checkpoint_s=999, locked=True, **lp)
    built.pod("new", "n2", 2, checkpoint_s=999, min_runtime_s=5000, **lp)
    built.pod("g-0", "n3", 4, gang="g", checkpoint_s=900, **lp).pod("g-1", "n3", 4, gang="g", checkpoint_s=900, **lp)
    snapshot = built.snapshot()
    rows = {one.pod.removeprefix("jobs/"): one for one in at_risk(snapshot, sleepers_of(snapshot))}
    assert next(iter(rows)) == "lent" and list(rows)[-2:] == ["new", "safe"]
    offset = sleepers_of(snapshot)[0].until_s
    assert (rows["lent"].standing, rows["lent"].lender, rows["lent"].lender_ends_s) == ("lent", "jobs/s", offset)
    assert rows["g-0"].whole_gang_milli == pytest.approx(2000 * rows["g-0"].terms.total, rel=1e-6)
    assert (rows["new"].standing, rows["safe"].standing, rows["dear"].standing) == ("guarded", "safe", "free")
    assert len(at_risk(snapshot, most=2)) == 2
