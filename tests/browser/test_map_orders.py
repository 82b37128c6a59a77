"""The map of the first page when answers come late, in another order, not at all, or for what is gone by then."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Problems, SignedIn
from tests.browser.stack import Stack
from tests.browser.traffic import record

WAIT_MS = 60_000
READY = "#fleet-map[data-ready=true]"
REVISION = "Number(document.querySelector('[data-map-plot]').dataset.revision)"
NODES = re.compile(r"/fleet/map/nodes/")
LAYOUT = re.compile(r"/fleet/map/layout/")
PLOTLY = re.compile(r"/plotly-cartesian\.min\.[0-9a-f]*\.?js")


@pytest.fixture
def before(signed_in: SignedIn) -> Page:
    """Signed in, and nothing of the first page asked for yet."""
    page = signed_in("operator", path="/tokens/")
    page.goto("about:blank")
    return page


def _swapped(page: Page) -> None:
    """Waits until the board has come anew once more."""
    page.evaluate("window.__swaps = 0; document.addEventListener('htmx:after:swap', () => { window.__swaps += 1; })")
    page.evaluate("document.getElementById('fleet-board').dispatchEvent(new CustomEvent('sl:refresh'))")
    page.wait_for_function("() => window.__swaps > 0", timeout=WAIT_MS)


def _first(times: int, then: Callable[[Route], Any]) -> Callable[[Route], Any]:
    """Does ``then`` with the first requests and lets the later ones pass."""
    met = [0]

    def meet(route: Route) -> None:
        met[0] += 1
        if met[0] <= times:
            then(route)
        else:
            route.fallback()

    return meet


def test_a_swap_of_the_board_leaves_the_map_ready(before: Page) -> None:
    before.goto("/")
    before.wait_for_selector(READY, timeout=WAIT_MS)
    before.click("[data-live-act=pause]")  # from here on nothing draws the map again
    _swapped(before)
    expect(before.locator(READY)).to_have_count(1)


def test_a_reason_outlives_a_swap_of_the_board_and_ends_with_the_map(before: Page, problems: Problems) -> None:
    problems.expect("net::ERR_FAILED", "Failed to load resource")
    broken = [True]
    before.route(NODES, lambda route: route.abort() if broken[0] else route.fallback())
    before.goto("/")
    note = before.locator("[data-map-note]")
    expect(note).to_contain_text("could not be read: the server cannot be reached", timeout=WAIT_MS)
    expect(note).to_contain_text("tried again")
    _swapped(before)
    expect(note).to_be_visible()
    broken[0] = False
    before.wait_for_selector(READY, timeout=WAIT_MS)
    expect(note).to_be_hidden()


@pytest.mark.parametrize("what", [NODES, LAYOUT, PLOTLY], ids=["bytes", "layout", "plotly"])
def test_what_fails_twice_is_asked_for_again(before: Page, problems: Problems, what: re.Pattern[str]) -> None:
    problems.expect("net::ERR_FAILED", "Failed to load resource")
    before.route(what, _first(2, lambda route: route.abort()))
    before.goto("/")
    before.wait_for_selector(READY, timeout=WAIT_MS)


@pytest.mark.parametrize("what", [NODES, LAYOUT], ids=["bytes", "layout"])
def test_a_revision_or_layout_that_is_gone_leads_to_the_newest(
    before: Page, problems: Problems, what: re.Pattern[str]
) -> None:
    problems.expect("404 (Not Found)", "Failed to load resource")
    before.route(what, _first(2, lambda route: route.fulfill(status=404, body="ask for the latest")))
    before.goto("/")
    before.wait_for_selector(READY, timeout=WAIT_MS)


@pytest.mark.parametrize("late", [NODES, LAYOUT, PLOTLY], ids=["bytes", "layout", "plotly"])
def test_the_map_follows_news_that_came_while_something_was_late(before: Page, late: re.Pattern[str]) -> None:
    """The first answer is kept back until the page has heard of a newer revision and has swapped its board."""
    kept: list[Route] = []
    before.route(late, _first(1, kept.append))
    before.goto("/")
    board = before.locator("#fleet-board")
    first = int(board.get_attribute("data-revision") or 0)
    before.wait_for_function(
        "first => Number(document.getElementById('fleet-board').dataset.revision) > first", arg=first, timeout=WAIT_MS
    )
    for route in kept:
        route.fallback()
    before.wait_for_selector(READY, timeout=WAIT_MS)
    before.wait_for_function(f"first => {REVISION} > first", arg=first, timeout=WAIT_MS)
    expect(before.locator("[data-map-note]")).to_be_hidden()


def test_a_measure_chosen_before_the_first_bytes_is_what_is_drawn(before: Page) -> None:
    kept: list[Route] = []
    before.route(NODES, _first(1, kept.append))
    before.goto("/")
    before.click("[data-map-measures] >> text=GPUs")
    before.wait_for_url("**/?measure=gpus")
    for route in kept:
        route.fallback()
    before.wait_for_selector(READY, timeout=WAIT_MS)
    before.focus("[data-map-stage]")
    expect(before.locator("[data-card-value]")).to_have_text(re.compile(r"GPU \d+ of \d+: [a-z]"), timeout=WAIT_MS)


def test_other_places_are_drawn_with_their_own_layout(before: Page, stack: Stack) -> None:
    """A source that comes while the page is open moves the cells; the notice of it is withheld, as if it were lost."""
    before.route_web_socket(re.compile("/live/"), lambda socket: None)  # it opens, and says nothing
    before.goto("/")
    before.wait_for_selector(READY, timeout=WAIT_MS)
    traffic = record(before)
    shown = before.evaluate(REVISION)
    stack.manage("load_world", "--name", "late", "--world", "uniform8", "--nodes", "40", "--seed", "3", "--quiet")
    _swapped(before)
    before.wait_for_function(f"shown => {REVISION} > shown", arg=shown, timeout=WAIT_MS)
    assert len(traffic.matching("/fleet/map/layout/")) == 1
    expect(before.locator("[data-map-note]")).to_be_hidden()
    before.focus("[data-map-stage]")
    before.keyboard.press("End")
    expect(before.locator("[data-card-name]")).to_have_text(re.compile(r"\w"))


def test_a_narrow_window_made_wide_gets_its_map(before: Page) -> None:
    before.set_viewport_size({"width": 500, "height": 900})
    traffic = record(before)
    before.goto("/")
    expect(before.locator("#fleet-grid")).to_be_visible()
    before.wait_for_load_state("networkidle")
    assert traffic.matching("/fleet/map/") == [], "a phone is spared the map's bytes"
    before.set_viewport_size({"width": 1440, "height": 900})
    before.wait_for_selector(READY, timeout=WAIT_MS)
