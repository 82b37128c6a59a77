"""What goes over the wire at twenty thousand nodes, and what a page does when the wire breaks (case C48)."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Problems, SignedIn
from tests.browser.stack import Stack
from tests.browser.steps import FINAL_MS, WAIT_MS, ask, figure, state_is
from tests.browser.test_frame import MODULE
from tests.browser.traffic import record

NODES = 20_000
FULL_MAP_BYTES = 20_000
BYTES_PER_PERCENT = 1_000
CLIENTS, DOWN_S = 200, 20


@pytest.fixture(scope="module")
def large(stack: Stack) -> str:
    """Twenty thousand quiet nodes beside the others."""
    stack.manage("load_world", "--name", "large", "--world", "uniform8", "--nodes", str(NODES), "--quiet")
    return "large"


def test_twenty_thousand_nodes_and_a_change_of_one_in_a_hundred(signed_in: SignedIn, large: str, stack: Stack) -> None:
    page = signed_in("operator", path="/tokens/")
    traffic = record(page)
    page.goto("/")
    page.wait_for_selector("#fleet-map[data-ready=true]", timeout=FINAL_MS)
    full = traffic.matching("/fleet/map/nodes/")
    assert len(full) == 1
    assert full[0][1] <= FULL_MAP_BYTES
    traffic.clear()
    revision = int(stack.meddle("strand", large, str(NODES // 100)))
    page.wait_for_function(
        "revision => Number(document.querySelector('[data-map-plot]').dataset.revision) >= revision",
        arg=revision,
        timeout=FINAL_MS,
    )
    changes = traffic.matching("/fleet/map/nodes/")
    assert changes and all("from=" in url for url, _ in changes)
    # The lively cluster beside it changes too: a few more cells, and an answer of its own for each of its readings.
    assert max(size for _, size in changes) <= BYTES_PER_PERCENT + 200


def test_progress_of_a_long_computation_and_its_cancellation(signed_in: SignedIn, large: str) -> None:
    page = signed_in("operator")
    ask(page, large, rounds=5, partition=60)
    expect(page.locator("#plan-progress")).to_contain_text("round", timeout=FINAL_MS)
    page.click("button:has-text('Stop here and keep what is found')")
    expect(page.locator("#plan-tiles")).to_be_visible(timeout=FINAL_MS)
    state_is(page, "Awaiting approval", "Nothing to do")
    assert int(figure(page, "Moves")) >= 0


def _subscriptions(page: Page) -> list[list[str]]:
    """Topics that each socket of the page asks for, in the order of the sockets."""
    sockets: list[list[str]] = []

    def opened(socket: Any) -> None:
        mine: list[str] = []
        sockets.append(mine)
        socket.on("framesent", lambda words: mine.extend(json.loads(str(words)).get("subscribe", [])))

    page.on("websocket", opened)
    return sockets


def test_a_killed_server_is_met_again_and_the_page_is_in_the_present_state(
    signed_in: SignedIn, stack: Stack, problems: Problems
) -> None:
    problems.expect("WebSocket connection", "ERR_CONNECTION", "Failed to fetch", "Failed to load resource")
    page = signed_in("operator", path="/tokens/")
    page.goto("about:blank")
    sockets = _subscriptions(page)
    page.goto("/")
    badge = page.locator("[data-live-badge]")
    expect(badge).to_contain_text("Live", timeout=WAIT_MS)
    assert len(sockets) == 1
    before = page.locator("#fleet-board").get_attribute("data-live-at")
    stack.kill_web()
    expect(badge).to_contain_text("Offline", timeout=WAIT_MS)
    expect(badge).to_contain_text("Live", timeout=FINAL_MS)
    expect(page.locator("#fleet-board")).not_to_have_attribute("data-live-at", str(before), timeout=FINAL_MS)
    asked = [topics for topics in sockets if topics]
    assert len(asked) == 2, "one socket before, one after"
    for topics in asked:
        assert len(topics) == len(set(topics)), "every topic once"
    assert set(asked[0]) <= set(asked[1])


def test_two_hundred_clients_do_not_come_back_in_one_second(fleet: Page) -> None:
    """Their waits are those of live.js: all lose the server at once, and it is back after twenty seconds."""
    address = fleet.evaluate(MODULE, "live")
    back = fleet.evaluate(
        """async ([address, clients, down]) => {
          const { waitBefore } = await import(address);
          return Array.from({ length: clients }, () => {
            let at = 0;
            for (let attempt = 0; at < down * 1000; attempt += 1) at += waitBefore(attempt);
            return at / 1000;
          });
        }""",
        [address, CLIENTS, DOWN_S],
    )
    assert len(back) == CLIENTS
    fullest = max(sum(start <= at < start + 1 for at in back) for start in back)
    assert fullest <= 0.4 * CLIENTS
    assert max(back) <= DOWN_S + 60
