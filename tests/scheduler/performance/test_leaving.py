"""Distributions of exit times against draws, and what several steps and several leavers make of them."""

import random

import pytest

from scheduler.performance.exit_times import GRACE_S, LAWS, ExitLaw, exit_seconds
from scheduler.performance.leaving import AT_ONCE, after, fitted, last_of, later_by, law_of, plus, resuming


@pytest.mark.parametrize("word", LAWS)
def test_a_law_on_the_seconds_is_that_of_its_draws(word: ExitLaw) -> None:
    law, dice = law_of(word), random.Random(3)
    drawn = sorted(min(GRACE_S, exit_seconds(word, dice.uniform(1e-9, 1 - 1e-9))) for _ in range(20_000))
    assert law.mean_s == pytest.approx(sum(drawn) / len(drawn), rel=0.03)
    for p in (0.25, 0.5, 0.9):
        assert law.quantile(p) == pytest.approx(drawn[int(p * len(drawn))], abs=1.5)
    assert law.killed == pytest.approx(sum(s == GRACE_S for s in drawn) / len(drawn), abs=0.01)
    assert law.mass.sum() == pytest.approx(1) and law.longest_s == GRACE_S


def test_the_study_is_met() -> None:
    law = law_of("paper")
    assert law.mean_s == pytest.approx(13, abs=0.3) and law.quantile(0.95) == 48 and law.killed < 0.05


def test_several_at_once_and_one_after_the_other() -> None:
    law, dice = law_of("paper"), random.Random(5)
    drawn = [exit_seconds("paper", dice.uniform(1e-9, 1 - 1e-9)) for _ in range(30_000)]
    lasts = sorted(min(60, max(drawn[i : i + 5])) for i in range(0, len(drawn), 5))
    five = last_of([law] * 5)
    assert five.quantile(0.5) == pytest.approx(lasts[len(lasts) // 2], abs=1.5)
    assert five.killed == pytest.approx(1 - (1 - law.killed) ** 5)
    both = plus(five, resuming())
    assert both.mean_s == pytest.approx(five.mean_s + resuming().mean_s)
    assert both.longest_s == GRACE_S + resuming().longest_s and both.killed == five.killed
    assert last_of([]) is AT_ONCE and AT_ONCE.quantile(0.99) == 0


def test_who_was_told_some_time_ago_is_nearer_to_the_kill() -> None:
    law = law_of("paper")
    late = after(law, 40)
    assert late.longest_s == 20 and late.killed > law.killed
    assert late.mean_s < law.mean_s + 20
    assert after(law, 61) is AT_ONCE and after(law, 0) is law


def test_what_was_seen_wins_over_the_prior_as_it_grows() -> None:
    prior = law_of("paper")
    seen = [(30.0, False)] * 5
    few, many = fitted(seen, prior), fitted(seen * 100, prior)
    assert prior.mean_s < few.mean_s < many.mean_s and many.mean_s == pytest.approx(30, abs=1)
    hung = fitted([(60.0, True)] * 200, prior)
    assert hung.killed > 0.9 and hung.quantile(0.5) == GRACE_S
    assert fitted([], prior) is prior


def test_writing_first_leaves_less_of_the_grace_time() -> None:
    law = law_of("paper")
    assert later_by(law, 0) is law
    written = later_by(law, 30)
    assert written.mass.sum() == pytest.approx(1) and written.quantile(0.05) >= 30
    assert written.killed > law.killed and later_by(law, 60).killed == pytest.approx(1)
