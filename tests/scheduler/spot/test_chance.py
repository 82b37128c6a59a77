"""Chances to start: the line run through on drawn paths; held to worlds whose answer is known."""

import numpy as np
import pytest

from scheduler.cluster.errors import ParamError
from scheduler.spot.chance import Chances, Job, Standing, chances
from scheduler.spot.line import Probe
from scheduler.spot.lives import Lived, survival
from scheduler.spot.supply import Past, beginnings

HOUR, DAY = 3600, 86_400
STEP = 900


def past(level: list[int], days: int = 3, gpus: int = 100) -> Past:
    """The same day again and again: ``level`` by hour, up to midnight."""
    by_step = np.repeat(np.array(level, np.int64), 24 * HOUR // STEP // len(level))
    return Past("H20", 0, STEP, np.append(np.tile(by_step, days), by_step[0]), gpus)


def told(seen: Past, standing: Standing, probe: Probe, reach_s: int = 0) -> Chances:
    return chances(seen, standing, probe, seed=7, draws=200, reach_s=reach_s)


def test_what_fits_now_starts_now_and_what_never_did_never_does() -> None:
    flat = past([40])
    fits = told(flat, Standing(40), Probe(32, 40, 1.0, 100))
    never = told(flat, Standing(40), Probe(64, 40, 1.0, 100))
    for horizon in (900, HOUR, 6 * HOUR):
        assert fits.raw[horizon] == pytest.approx(201 / 202)
        assert never.raw[horizon] == pytest.approx(1 / 202)


def test_the_day_opens_when_it_opened_before() -> None:
    """At midnight 20 GPUs are there; 80 from 3 h on: after 3 h all of the runs start."""
    day = past([20, 20, 20, *[80] * 21])
    found = told(day, Standing(20), Probe(60, 20, 1.0, 100))
    assert found.raw[HOUR] == pytest.approx(1 / 202)
    assert (found.raw[6 * HOUR] or 0) > 0.9


def test_those_ahead_come_first_and_those_who_end_make_room() -> None:
    flat = past([40])
    ahead = Standing(40, ahead=(Job(40, 8, 10 * HOUR, looked_at=False),))
    assert told(flat, ahead, Probe(8, 40, 1.0, 100)).raw[6 * HOUR] == pytest.approx(1 / 202)
    ending = Standing(40, running=(Job(40, 8, 10 * HOUR, done_s=10 * HOUR - 1800),))
    found = told(flat, ending, Probe(40, 0, 1.0, 100))
    assert found.raw[900] == pytest.approx(1 / 202)
    assert found.raw[HOUR] == pytest.approx(201 / 202)


def test_who_was_looked_at_and_waits_does_not_fit_now() -> None:
    """A gang of 40 waits beside 40 free GPUs, so they are of no use to it: an ask for 8 starts at once all the same."""
    stuck = Standing(40, ahead=(Job(40, 8, 10 * HOUR),))
    assert (told(past([40]), stuck, Probe(8, 40, 1.0, 100)).raw[900] or 0) > 0.99


def test_newcomers_who_fit_take_what_an_ask_for_more_waits_for() -> None:
    flat = past([40])
    running = (Job(36, 1, 10 * HOUR, done_s=10 * HOUR - 2 * HOUR),)
    alone = told(flat, Standing(40, running=running), Probe(40, 4, 1.0, 100)).raw[6 * HOUR] or 0
    crowd = Standing(40, running=running, newcomers=(Job(4, 1, 10 * HOUR),) * 12, looked_s=6 * HOUR)
    assert (told(flat, crowd, Probe(40, 4, 1.0, 100)).raw[6 * HOUR] or 0) < 0.2 < 0.9 < alone


def test_who_is_reclaimed_stands_before_all_others() -> None:
    """40 of 40 run; from 1 h on 20 are left, from 2 h on 40 again: the reclaimed job takes them, not the ask."""
    day = past([40, 20, *[40] * 22])
    running = tuple(Job(20, 1, 100 * HOUR, done_s=HOUR) for _ in range(2))
    found = told(day, Standing(40, running=running), Probe(20, 0, 1.0, 100))
    assert (found.raw[6 * HOUR] or 1) < 0.1


def test_too_short_a_past_says_nothing_of_long_horizons() -> None:
    short = Past("H20", 0, STEP, np.full(32, 40, np.int64), 100)
    found = told(short, Standing(40), Probe(8, 40, 1.0, 100))
    assert found.raw[HOUR] == pytest.approx(201 / 202)
    assert found.raw[6 * HOUR] is None
    assert found.why == "what spot work could hold of H20 was seen for 8.0 h, which is too short"
    unseen = Past("H20", 0, STEP, np.full(200, -1, np.int64), 100)
    assert told(unseen, Standing(40), Probe(48, 40, 1.0, 100)).raw == dict.fromkeys((900, HOUR, 6 * HOUR))
    at_once = told(unseen, Standing(40), Probe(8, 40, 1.0, 100))
    assert [at_once.raw[h] for h in (900, HOUR, 6 * HOUR)] == pytest.approx([201 / 202] * 3)
    behind = Standing(40, ahead=(Job(36, 8, HOUR, looked_at=False),))
    assert set(told(unseen, behind, Probe(8, 40, 1.0, 100)).raw.values()) == {None}


def test_gaps_are_not_drawn_from() -> None:
    level = np.full(300, 40, np.int64)
    level[100] = -1
    at = beginnings(Past("H20", 0, STEP, level, 100), 4)
    assert not {97, 98, 99, 100} & set(at.tolist())


def test_one_who_asks_later_is_told_of_then() -> None:
    day = past([20, 20, 20, *[80] * 21])
    found = told(day, Standing(20), Probe(60, 20, 1.0, 100), reach_s=8 * HOUR)
    assert (found.asked_in(5 * HOUR, HOUR) or 0) > 0.9 > 0.1 > (found.asked_in(0, HOUR) or 1)
    assert found.asked_in(8 * HOUR, HOUR) is None


def test_equal_input_gives_the_equal_answer_and_longer_is_never_less() -> None:
    rng = np.random.default_rng(1)
    noisy = Past("H20", 0, STEP, np.clip(rng.integers(0, 60, 400), 0, 100), 100)
    probe = Probe(30, 10, 0.8, 100)
    one, other = (told(noisy, Standing(20, ahead=(Job(8, 8, HOUR),)), probe) for _ in range(2))
    assert one.raw == other.raw and one.held == other.held
    assert (one.held[900] or 0) <= (one.held[HOUR] or 0) <= (one.held[6 * HOUR] or 0)


def test_a_step_divides_the_day() -> None:
    with pytest.raises(ParamError):
        Past("H20", 0, 7000, np.zeros(3, np.int64), 100)


# ---- how long runs last ---------------------------------------------------------------------------------------------
def test_kaplan_and_meier_by_hand() -> None:
    """10 runs: reclaimed at 1, 2 and 4; censored at 3; the others still run at 5 -> 0.9, 0.8, 0.8 x 6/7."""
    lived = [Lived(1, True), Lived(2, True), Lived(3, False), Lived(4, True), *[Lived(5, False)] * 6]
    found = survival(lived)
    assert found.times_s == (1, 2, 4)
    assert found.stays == pytest.approx((0.9, 0.8, 0.8 * 6 / 7))
    assert (found.quantile_s(0.1), found.quantile_s(0.5)) == (1, None)
    assert (found.after(0.5), found.after(3), found.after(9)) == pytest.approx((1.0, 0.8, 0.8 * 6 / 7))
    assert not found.known and found.why.startswith("10 runs were seen and 3 of them reclaimed")


def test_drawn_lives_follow_the_curve() -> None:
    found = survival([*[Lived(100 * i, True) for i in range(1, 21)], *[Lived(3000, False)] * 20])
    drawn = found.draw(np.random.default_rng(0).random(20_000))
    assert found.known
    assert np.isinf(drawn).mean() == pytest.approx(0.5, abs=0.02)
    assert (drawn <= 1000).mean() == pytest.approx(1 - found.after(1000), abs=0.02)
