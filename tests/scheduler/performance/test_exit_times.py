"""The laws of exit times say what their sources say."""

import pytest

from scheduler.performance.exit_times import GRACE_S, HANGING, LAWS, NEVER, ExitLaw, exit_seconds

QUANTILES = [(i + 0.5) / 20_000 for i in range(20_000)]


def _measured(law: ExitLaw) -> tuple[float, float, float]:
    """(mean, 95th percentile, share killed) of exits cut at the grace."""
    drawn = [exit_seconds(law, u) for u in QUANTILES]
    cut = [min(seconds, GRACE_S) for seconds in drawn]
    return sum(cut) / len(cut), cut[19_000], sum(seconds > GRACE_S for seconds in drawn) / len(drawn)


def test_the_paper_s_law_has_the_paper_s_figures() -> None:
    mean, tail, killed = _measured("paper")
    assert mean == pytest.approx(13, abs=0.1) and tail == pytest.approx(48, abs=0.3) and killed < 0.05


def test_the_other_laws_are_worse() -> None:
    paper, heavy, hangs = (_measured(law) for law in LAWS)
    assert (
        paper[0] < heavy[0] and paper[2] < heavy[2] and hangs[2] == pytest.approx(HANGING + 0.85 * paper[2], abs=0.01)
    )
    assert exit_seconds("hangs", 0.99) == NEVER


@pytest.mark.parametrize("law", LAWS)
def test_a_later_quantile_is_a_later_exit(law: ExitLaw) -> None:
    drawn = [exit_seconds(law, u) for u in QUANTILES[::100]]
    assert drawn == sorted(drawn) and drawn[0] > 0


@pytest.mark.parametrize("u", [0.0, 1.0, -0.1])
def test_what_is_no_quantile_is_refused(u: float) -> None:
    with pytest.raises(ValueError, match="quantile"):
        exit_seconds("paper", u)
