"""What a tenant is told before it asks: the numbers of one small world, and what else there is."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scheduler.spot.asks import Ask
from scheduler.spot.board import board_of
from scheduler.spot.calibration import Curve
from scheduler.spot.chance import Standing
from scheduler.spot.lives import Lived, Survival, survival
from scheduler.spot.outlay import outlay
from scheduler.spot.outlook import Estimate, Market, Scene, estimate
from scheduler.spot.planner import Used
from scheduler.spot.supply import Past
from tests.builders.worlds import GPU_MODEL, World, world
from tests.scheduler.spot.test_seats import ask

HOUR, DAY, STEP = 3600, 86_400, 900
NEVER = survival([Lived(20 * HOUR, False)] * 40)
HOURLY = survival([Lived(HOUR * i, True) for i in range(1, 41)])


def past(level: list[int], model: str = GPU_MODEL, gpus: int = 96) -> Past:
    by_step = np.repeat(np.array(level, np.int64), 24 * HOUR // STEP // len(level))
    return Past(model, 0, STEP, np.append(np.tile(by_step, 4), by_step[0]), gpus)


def market(level: list[int], lives: Survival = HOURLY, model: str = GPU_MODEL, **fields: Any) -> Market:
    return Market(past(level, model), Standing(level[0]), lives, **{"cents": 100, **fields})


def told(place: World, asked: Ask, markets: dict[str, Market], **fields: Any) -> Estimate:
    snapshot = place.snapshot()
    board = board_of(snapshot)
    return estimate(Scene(board, markets, Used.on(snapshot, board.cluster), **{"seed": 3, **fields}), "t1", asked)


def blocks() -> World:
    """Two switches with 5 and 4 empty nodes, and one node of another model."""
    place = world().asw("a1").nodes(*(f"n{i}" for i in range(5))).asw("a2").nodes(*(f"m{i}" for i in range(4)))
    return place.asw(None).node("x", gpu_model="X")


def test_the_page_of_one_ask() -> None:
    asked = ask(8, 8, run_s=12 * HOUR, topology="asw", required=True, checkpoint_interval_s=900)
    markets = {GPU_MODEL: market([72], speed=1.0), "X": market([8], model="X", cents=50, speed=0.5)}
    found = told(blocks(), asked, markets)
    main = found.told
    assert main.wait is not None and main.wait.words == "needs 64 GPUs in one ASW; largest free block 40"
    assert (main.chance[HOUR] or 1) < 0.1
    assert (main.run_p10_s, main.run_p50_s, main.cents) == (4 * HOUR, 20 * HOUR, 100)
    assert (main.outlay.low_cents or 0) >= 12 * 64 * 100
    assert {one.what: one.told.ask.pods for one in found.instead} == {
        "smaller": 4, "other_model": 8, "topology_preferred": 8,
    }  # fmt: skip
    by_word = {one.what: one for one in found.instead}
    assert (by_word["smaller"].chance_1h or 0) > 0.9 and by_word["smaller"].told.wait is None
    assert (by_word["topology_preferred"].chance_1h or 0) > 0.9
    assert by_word["other_model"].told.ask.run_s == 24 * HOUR and by_word["other_model"].speed == 0.5
    assert (by_word["other_model"].chance_1h or 1) < 0.1
    again = told(blocks(), asked, markets)
    assert (again.told.raw, again.told.outlay) == (main.raw, main.outlay)


def test_a_better_hour_is_named_where_there_is_one() -> None:
    place = world().nodes("n1", "n2")
    place.pod("hp1", "n1", 8).pod("hp2", "n2", 8)
    day = [0, 0, 0, 0, *[16] * 20]
    found = told(place, ask(8, 2), {GPU_MODEL: market(day)})
    (later,) = [one for one in found.instead if one.what == "later"]
    assert 3 * HOUR <= later.wait_s <= 6 * HOUR and (later.chance_1h or 0) > 0.9
    flat = told(world().nodes("n1", "n2"), ask(8, 2), {GPU_MODEL: market([16])})
    assert not [one for one in flat.instead if one.what == "later"]


def test_what_is_not_known_says_why() -> None:
    blind = Market(Past(GPU_MODEL, 0, STEP, np.zeros(0, np.int64), 16), Standing(16), survival([]), cents=90)
    found = told(world().nodes("n1", "n2"), ask(8, 3), {GPU_MODEL: blind}).told
    assert set(found.chance.values()) == {None} and found.run_p50_s is None
    assert (found.outlay.low_cents, found.outlay.high_cents) == (24 * 90, None)
    assert found.unknown == (
        f"what spot work could hold of {GPU_MODEL} was seen for 0.0 h, which is too short",
        "how long it runs before a reclaim is not known: 0 runs were seen and 0 of them reclaimed; 20 and 5 are needed",
    )
    dear = told(world().nodes("n1"), ask(8, limit_cents=50), {GPU_MODEL: market([8])}).told
    assert dear.wait is not None and dear.wait.reason == "over_limit"
    assert dear.chance[HOUR] is None and "no chance is told while the price keeps it out" in dear.unknown
    assert told(world().nodes("n1"), ask(8, models=("Y",)), {}).told.model is None


def test_what_was_learnt_is_used_and_the_raw_chance_is_kept() -> None:
    halved = Curve((0.0, 1.0), (0.0, 0.5), 100)
    curves = dict.fromkeys((900, HOUR, 6 * HOUR), halved)
    found = told(world().nodes("n1"), ask(8), {GPU_MODEL: market([8])}, curves=curves).told
    assert found.raw[HOUR] == pytest.approx(201 / 202)
    assert found.chance[HOUR] == pytest.approx(201 / 404)


# ---- what it costs --------------------------------------------------------------------------------------------------
def test_without_reclaims_the_hours_are_paid_and_nothing_else() -> None:
    lives = survival([*[Lived(300 * HOUR, False)] * 400, *[Lived(200 * HOUR, True)] * 5])
    found = outlay(ask(8, 2, run_s=10 * HOUR), 100, lives, seed=0)
    assert (found.low_cents, found.high_cents) == (16_000, 16_000)
    assert (found.reclaims_low, found.reclaims_high) == (0, 0)


def test_what_is_lost_is_paid_again() -> None:
    """Reclaimed every 2 h sharp, 4 h of work: a hook keeps all; an hourly checkpoint loses what is begun."""
    lives = survival([Lived(2 * HOUR, True)] * 40)
    hook = outlay(ask(8, run_s=4 * HOUR, hook_s=30), 100, lives, seed=0)
    none = outlay(ask(8, run_s=4 * HOUR), 100, lives, seed=0)
    rare = outlay(ask(8, run_s=4 * HOUR, checkpoint_interval_s=HOUR), 100, lives, seed=0)
    assert hook.high_cents is not None and rare.high_cents is not None
    assert hook.high_cents < rare.high_cents
    assert none.low_cents is None and none.why == "with the checkpoints that it writes it may never finish"


@pytest.mark.parametrize(("lives", "low", "high"), [(NEVER, 800, None), (HOURLY, 800, 800)])
def test_reclaims_that_nobody_knows_leave_the_upper_end_open(lives: Survival, low: int, high: int | None) -> None:
    found = outlay(ask(8, run_s=HOUR), 100, lives, seed=0)
    assert (found.low_cents, found.high_cents) == (low, high)
    assert outlay(ask(8), None, lives, seed=0).why == "there is no quote"


def test_an_ask_for_several_models_is_told_of_the_one_it_would_start_on() -> None:
    place = world().nodes("n1").node("x", gpu_model="X").pod("hp", "n1", 8)
    markets = {GPU_MODEL: market([0]), "X": market([8], model="X")}
    found = told(place, replace(ask(8), models=(GPU_MODEL, "X")), markets).told
    assert (found.model, found.wait) == ("X", None)
