"""Only listed front-end files are served, and pages allow nothing from elsewhere."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.finders import get_finder
from django.test import Client

from console.ui.finders import NpmFinder

NPM = "console.ui.finders.NpmFinder"


def test_listed_files_are_found_and_others_are_not() -> None:
    assert finders.find("npm/htmx.org/dist/htmx.min.js")
    assert not finders.find("npm/htmx.org/package.json")
    assert not finders.find("npm/htmx.org/dist/../package.json")
    assert not finders.find("htmx.org/dist/htmx.min.js")
    assert not finders.find("npm/axe-core/axe.min.js")


def test_every_pattern_finds_something() -> None:
    found = {str(Path(path)) for path, _ in get_finder(NPM).list(None)}
    for package in settings.NPM_FILES:
        assert any(path.startswith(package + "/") for path in found), package


def test_what_is_not_installed_is_said(settings: Any, tmp_path: Path) -> None:
    settings.NPM_ROOT = tmp_path
    (warning,) = NpmFinder().check()
    assert warning.id == "ui.W001"
    assert "htmx.org" in warning.msg


@pytest.mark.django_db
def test_a_page_allows_nothing_from_elsewhere() -> None:
    headers = Client().get("/login/").headers
    rules = dict(
        rule.strip().split(" ", 1) for rule in headers["Content-Security-Policy"].split(";") if " " in rule.strip()
    )
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert rules["img-src"] == "'self' data:"
    assert rules["frame-ancestors"] == "'none'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


def test_no_comment_hides_an_import() -> None:
    """The storage takes the word in a comment for the statement; the next module then keeps its name without a hash,
    is loaded a second time under it and is never cached."""
    wrong = [
        f"{module.name}: {line}"
        for module in (settings.ROOT / "static" / "console" / "js").glob("*.js")
        for line in module.read_text().splitlines()
        if re.search(r"\b(import|export)[\s{]", line) and not line.startswith(("import ", "export "))
    ]
    assert wrong == []


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_data(self, data: str) -> None:
        self.found += re.findall(r"(?:hx|data|aria)-[a-z-]+=\"", data)


@pytest.mark.parametrize("path", sorted((settings.ROOT / "templates").rglob("*.html")), ids=lambda path: path.name)
def test_no_template_includes_elements_inside_of_a_tag(path: Path) -> None:
    """The rest of the tag's attributes would show as text."""
    words = _Words()
    words.feed(re.sub(r"{%-? *include [^%]*%}", "<i></i>", path.read_text()))
    assert words.found == []
