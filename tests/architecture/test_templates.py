"""Rules of the pages that can be read off their templates."""

import re
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SCROLLS = re.compile(r"<[^<>]*class=\"[^\"]*\bsl-scroll\b[^\"]*\"[^<>]*>")


@pytest.mark.parametrize("said", ['tabindex="0"', 'role="region"', "aria-label"])
def test_what_scrolls_can_be_reached_by_keyboard_and_has_a_name(said: str) -> None:
    """Whether a region scrolls depends on window and rows: a page that is looked at need not show it."""
    without = [
        f"{_below_root(path)}: {tag}"
        for path in TEMPLATES
        for tag in SCROLLS.findall(path.read_text())
        if said not in tag
    ]
    assert without == []


def test_there_are_regions_to_look_at() -> None:
    assert sum(len(SCROLLS.findall(path.read_text())) for path in TEMPLATES) > 50


def _below_root(path: Path) -> str:
    return str(path.relative_to(ROOT))
