"""The whole console under its own supervisor, and a real browser in front of it."""

import os
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, StorageState, expect, sync_playwright

from tests.browser.chromium import launch
from tests.browser.stack import Stack, running

NODES = int(os.environ.get("SLACKLINE_BROWSER_NODES", "300"))
PATIENCE_MS = 120_000  # a busy machine is no fault; nothing here is a promise of speed
expect.set_options(timeout=40_000)

SignedIn = Callable[..., Page]


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A demo of its own, with workers."""
    with running(tmp_path_factory.mktemp("console"), NODES) as stack:
        yield stack


@pytest.fixture(scope="session")
def console_url(request: pytest.FixtureRequest) -> str:
    """The console's address; SLACKLINE_BROWSER_URL names one that runs already."""
    given = os.environ.get("SLACKLINE_BROWSER_URL")
    if given:
        return given.rstrip("/")
    stack: Stack = request.getfixturevalue("stack")
    return stack.url


@pytest.fixture(scope="session")
def playwright_() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright_: Playwright) -> Iterator[Browser]:
    started = launch(playwright_)
    yield started
    started.close()


class Problems(list[str]):
    """What a page complained of; `expected` words are let pass."""

    # Plotly writes one style attribute for its heat map image; the policy refuses it and charts.css does its work.
    always = ("Applying inline style violates",)

    def __init__(self) -> None:
        super().__init__()
        self.expected = list(self.always)

    def expect(self, *words: str) -> None:
        self.expected += words

    def note(self, words: str) -> None:
        if not any(known in words for known in self.expected):
            self.append(words)


def _watch(page: Page, problems: Problems) -> None:
    page.on("pageerror", lambda error: problems.note(f"error: {error}"))
    page.on("console", lambda line: problems.note(f"console: {line.text}") if line.type == "error" else None)
    page.on("response", lambda got: problems.note(f"{got.status} {got.url}") if got.status >= 500 else None)


@pytest.fixture
def problems() -> Problems:
    return Problems()


@pytest.fixture
def contexts(browser: Browser) -> Iterator[list[BrowserContext]]:
    opened: list[BrowserContext] = []
    yield opened
    for context in opened:
        context.close()


@pytest.fixture(scope="session")
def sessions() -> dict[tuple[str, str], StorageState]:
    """Cookies of those who have signed in, by console and name: one sign-in is enough for many tests."""
    return {}


@pytest.fixture
def signed_in(
    console_url: str,
    browser: Browser,
    contexts: list[BrowserContext],
    problems: Problems,
    sessions: dict[tuple[str, str], StorageState],
) -> Iterator[SignedIn]:
    """`signed_in("operator", path="/", width=1440, theme="light")`: a page of that person. Complaints fail the test."""

    def opened(name: str, *, path: str = "/", width: int = 1440, theme: str = "light") -> Page:
        context = browser.new_context(
            base_url=console_url,
            storage_state=sessions.get((console_url, name)),
            viewport={"width": width, "height": 900},
            color_scheme="dark" if theme == "dark" else "light",
        )
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        _watch(page, problems)
        page.goto(path)
        if "/login" in page.url:
            page.fill("#id_username", name)
            page.fill("#id_password", name)
            page.click("button:has-text('Sign in')")
            page.wait_for_url(lambda url: "/login" not in url)
            sessions[console_url, name] = context.storage_state()
        return page

    yield opened
    assert problems == []


@pytest.fixture
def fleet(signed_in: SignedIn) -> Page:
    """The first page as the operator sees it, with its map drawn."""
    page = signed_in("operator")
    page.wait_for_selector("#fleet-map[data-ready=true]", timeout=30_000)
    return page
