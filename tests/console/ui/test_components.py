"""Tags draw what docs/ui.md says."""

from datetime import UTC, datetime, timedelta

import pytest
from django.template import Context, Template

from console.ui.icons import MissingIconError, icon
from console.ui.tones import REASONS, STATES
from scheduler.cluster import reasons
from tests.builders.pages import squeezed

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def drawn(source: str, **values: object) -> str:
    return Template("{% load sl %}" + source).render(Context({"server_now": NOON, **values}))


def test_every_look_has_an_icon_in_the_set() -> None:
    for look in STATES.values():
        assert "<svg" in icon(look.icon)
    for drawing in (reason.icon for reason in REASONS.values()):
        assert "<svg" in icon(drawing)


def test_a_missing_icon_says_which() -> None:
    with pytest.raises(MissingIconError, match="no-such-icon"):
        icon("no-such-icon")
    with pytest.raises(MissingIconError):
        icon("../../../package")


def test_an_unknown_figure_is_a_dash_without_unit() -> None:
    page = drawn('{% tile "Free" None unit="GPUs" %}')
    assert "–" in page
    assert "GPUs" not in page
    assert "no data" in page


def test_zero_is_a_figure() -> None:
    page = squeezed(drawn('{% tile "Free" 0 unit="GPUs" at=at %}', at=NOON - timedelta(seconds=2)))
    assert ">0<" in page
    assert 'data-state="live"' in page
    assert "2 s" in page


def test_before_and_after_in_one_tile() -> None:
    page = drawn('{% tile "Slack nodes" 142 was=214 frozen="14:19" %}')
    assert page.index("214") < page.index("142")
    assert 'data-state="fixed"' in page


def test_a_tile_that_waits_holds_its_place() -> None:
    page = drawn('{% tile "Free" None pending=True %}')
    assert "sl-skeleton--figure" in page
    assert "–" not in page


@pytest.mark.parametrize(("seconds", "state"), [(2, "live"), (12, "delayed"), (90, "stale")])
def test_age_badge(seconds: int, state: str) -> None:
    page = drawn("{% age at 1 %}", at=NOON - timedelta(seconds=seconds))
    assert f'data-state="{state}"' in page
    assert f'data-at="{int((NOON - timedelta(seconds=seconds)).timestamp() * 1000)}"' in page


def test_bars_stay_inside_their_frame() -> None:
    page = drawn("{% bar 10 1000 'hp' width=100 start=995 %}")
    assert 'x="98.5"' in page
    assert 'width="1.5"' in page
    assert "style" not in page


def test_a_bar_of_nothing_is_empty() -> None:
    assert 'width="0"' in drawn("{% bar 0 1000 'hp' %}").replace('width="0.0"', 'width="0"')


def test_an_unknown_state_keeps_its_word() -> None:
    page = drawn("{% pill 'brand_new' %}")
    assert "brand new" in page
    assert "sl-pill--" not in page


def test_cards_escape_titles_and_keep_content() -> None:
    page = drawn("{% card title %}<p>in</p>{% endcard %}", title="<b>x</b>")
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert "<p>in</p>" in page


def test_a_notice_escapes_what_is_printed_in_it() -> None:
    page = drawn("{% notice 'bad' title %}{{ words }}{% endnotice %}", title="Stale", words="<i>")
    assert "&lt;i&gt;" in page
    assert "<i>" not in page


def test_every_reason_of_the_core_has_words_for_people() -> None:
    words = {*reasons.TARGET_REASONS, *reasons.IMMOVABLE, *reasons.PLAN_REASONS, *reasons.KEPT_REASONS} - {""}
    assert words - set(REASONS) == set()
