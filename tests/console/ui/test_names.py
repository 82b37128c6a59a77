"""Names from outside, as far as they can hurt a page."""

import pytest
from django.template import Context, Template

from console.ui import names
from tests.builders.pages import squeezed

RIGHT_TO_LEFT = "\u202e"


def drawn(source: str, **values: object) -> str:
    return Template("{% load sl %}" + source).render(Context(values))


@pytest.mark.parametrize("character", [RIGHT_TO_LEFT, "\u2066", "\u200b", "\u0000", "\n", "\u2028", "\ufeff", "\u061c"])
def test_unseen_characters_are_spelt_out(character: str) -> None:
    page = squeezed(drawn("{% name value %}", value=f"pod{character}gnp"))
    assert character not in page
    assert f"U+{ord(character):04X}" in page
    assert "<bdi>pod<" in page


@pytest.mark.parametrize("value", ["中文-节点", "عقدة", "نود-1", "naïve", "🤖"])
def test_names_of_other_scripts_stay_as_they_are(value: str) -> None:
    assert f"<bdi>{value}</bdi>" in drawn("{% name value %}", value=value)


def test_markup_in_a_name_is_text() -> None:
    page = drawn("{% name value %}", value="<script>alert(1)</script>&amp;")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;" in page


def test_a_long_name_keeps_head_and_tail_and_can_be_read_whole() -> None:
    value = "a" * 100 + "-tail-0001"
    page = drawn("{% name value %}", value=value)
    assert "<details" in page
    assert "…" in page
    assert "-tail-0001</bdi></summary>" in page
    assert page.count(value) == 2, "once in the title and once in the body"


def test_a_long_name_that_is_a_link_carries_the_whole_for_readers() -> None:
    value = "b" * 90
    page = drawn("{% name value '/nodes/x' %}", value=value)
    assert page.startswith('<a class="sl-name" href="/nodes/x"')
    assert f"in full: <bdi>{value}</bdi>" in page


def test_an_empty_name_draws_nothing_odd() -> None:
    assert names.parts("") == []
    assert names.visible("x\ty") == "x[U+0009]y"
