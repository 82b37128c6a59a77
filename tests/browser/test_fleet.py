"""The first page in earnest: the map's bytes, its cursor, live figures, pause."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import NODES, SignedIn
from tests.browser.traffic import record

WAIT_MS = 40_000
FULL_MAP_BYTES = 20_000
BYTES_PER_PERCENT = 1_000


def _revision(page: Page) -> int:
    return int(page.get_attribute("[data-map-plot]", "data-revision") or 0)


def test_a_full_map_and_its_changes_are_small(signed_in: SignedIn) -> None:
    page = signed_in("operator", path="/tokens/")
    traffic = record(page)
    page.goto("/")
    page.wait_for_selector("#fleet-map[data-ready=true]", timeout=WAIT_MS)
    first = traffic.matching("/fleet/map/nodes/")
    assert len(first) == 1, "one request for the whole map, whatever its size"
    assert first[0][1] <= FULL_MAP_BYTES
    assert traffic.matching("/fleet/map/names/") == [], "names come when somebody points at a node"
    traffic.clear()
    before = _revision(page)
    page.wait_for_function(
        "before => Number(document.querySelector('[data-map-plot]').dataset.revision) > before",
        arg=before,
        timeout=WAIT_MS,
    )
    changes = traffic.matching("/fleet/map/nodes/")
    assert changes and all("from=" in url for url, _ in changes)
    for _, size in changes:
        # Never more than 1 kB for a hundredth of the nodes, and a delta of everything is a full map.
        assert size <= max(BYTES_PER_PERCENT, NODES * 6)
    assert traffic.matching("/fleet/map/layout/") == [], "places do not change with figures"


def test_one_percent_of_twenty_thousand_nodes_is_under_one_kilobyte(fleet: Page) -> None:
    """Encodes such a change as the server does and unpacks it as the page does."""
    sizes = fleet.evaluate(
        """async () => {
          const nodes = 20000, count = nodes / 100;
          const raw = new Uint8Array(16 + 4 + count * 6), view = new DataView(raw.buffer);
          raw.set([83, 76, 77, 49]);
          view.setUint32(4, 8, true); view.setUint32(8, nodes, true);
          view.setUint8(12, 1); view.setUint8(13, 2); view.setUint32(16, count, true);
          for (let i = 0; i < count; i += 1) view.setUint32(20 + 4 * i, i * 100 + (i * 7919) % 97, true);
          for (let i = 0; i < count; i += 1) raw[20 + 4 * count + i] = [0, 25, 50, 75, 100][i % 5];
          const packed = new Response(new Blob([raw]).stream().pipeThrough(new CompressionStream("gzip")));
          return { raw: raw.length, packed: (await packed.arrayBuffer()).byteLength };
        }"""
    )
    assert sizes["packed"] <= BYTES_PER_PERCENT, sizes


def test_the_cursor_walks_and_enter_opens_the_node(fleet: Page) -> None:
    fleet.focus("[data-map-stage]")
    card = fleet.locator("[data-map-card]")
    expect(card).to_be_visible()
    first = card.locator("[data-card-name]").inner_text()
    assert re.search(r"\d+(\.\d)? of \d+ GPUs? free|no data", card.locator("[data-card-value]").inner_text())
    fleet.keyboard.press("ArrowDown")
    expect(card.locator("[data-card-name]")).not_to_have_text(first)
    second = card.locator("[data-card-name]").inner_text()
    fleet.keyboard.press("End")
    expect(card.locator("[data-card-name]")).not_to_have_text(second)
    fleet.keyboard.press("Home")
    expect(card.locator("[data-card-name]")).to_have_text(first)
    fleet.keyboard.press("Enter")
    fleet.wait_for_url(re.compile(r"/fleet/node"))
    expect(fleet.locator("main")).to_contain_text(first)


def test_pointing_shows_what_a_click_opens(fleet: Page) -> None:
    ring = fleet.locator("[data-map-ring]")
    fleet.focus("[data-map-stage]")
    expect(ring).to_be_visible()
    spot = ring.bounding_box()
    assert spot is not None
    name = fleet.locator("[data-card-name]").inner_text()
    fleet.evaluate("document.activeElement.blur()")
    expect(ring).to_be_hidden()
    middle = (spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2)
    fleet.mouse.move(*middle)
    expect(fleet.locator("[data-card-name]")).to_have_text(name)
    fleet.mouse.click(*middle)
    fleet.wait_for_url(re.compile(r"/fleet/node"))
    expect(fleet.locator("main")).to_contain_text(name)


def test_a_measure_changes_the_map_in_place_and_stays_in_the_address(fleet: Page) -> None:
    fleet.click("[data-map-measures] >> text=Health")
    fleet.wait_for_url("**/?measure=health")
    expect(fleet.locator("[data-legend=health]")).to_be_visible()
    expect(fleet.locator("[data-legend=free]")).to_be_hidden()
    fleet.reload()
    fleet.wait_for_selector("#fleet-map[data-ready=true]", timeout=WAIT_MS)
    expect(fleet.locator("[data-map-measures] [aria-current]")).to_have_text("Health")


def test_all_gpus_are_a_level_of_the_map(signed_in: SignedIn) -> None:
    page = signed_in("operator", path="/tokens/")
    traffic = record(page)
    page.goto("/")
    page.wait_for_selector("#fleet-map[data-ready=true]", timeout=WAIT_MS)
    assert traffic.matching("/fleet/map/gpus/") == [], "nothing of this level is fetched before it is chosen"
    page.click("[data-map-measures] >> text=GPUs")
    page.wait_for_url("**/?measure=gpus")
    expect(page.locator("[data-legend=gpus]").last).to_be_visible()
    page.focus("[data-map-stage]")
    value = page.locator("[data-card-value]")
    expect(value).to_have_text(re.compile(r"GPU \d+ of \d+: [a-z]"), timeout=WAIT_MS)
    name = page.locator("[data-card-name]").inner_text()
    page.keyboard.press("End")
    expect(page.locator("[data-card-name]")).not_to_have_text(name)
    expect(value).to_have_text(re.compile(r"GPU (\d+) of \1: "))  # the last device of the last node
    last = page.locator("[data-card-name]").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/fleet/node"))
    expect(page.locator("main")).to_contain_text(last)


def test_figures_come_alive_and_stop_while_paused(fleet: Page) -> None:
    board = fleet.locator("#fleet-board")
    badge = fleet.locator("[data-live-badge]")
    expect(badge).to_contain_text("Live", timeout=WAIT_MS)
    seen = board.get_attribute("data-live-at")
    expect(board).not_to_have_attribute("data-live-at", str(seen), timeout=WAIT_MS)
    fleet.click("[data-live-act=pause]")
    expect(badge).to_contain_text("Paused")
    fleet.wait_for_load_state("networkidle")
    still = str(board.get_attribute("data-live-at"))
    expect(badge).to_contain_text(re.compile(r"[2-9] newer"), timeout=WAIT_MS)
    expect(board).to_have_attribute("data-live-at", still)
    fleet.click("[data-live-act=resume]")
    expect(board).not_to_have_attribute("data-live-at", still, timeout=WAIT_MS)
    expect(badge).to_contain_text("Live")


def test_the_table_says_the_same_and_leads_on(fleet: Page) -> None:
    grid = fleet.locator("#fleet-grid")
    expect(grid).to_be_hidden()
    fleet.click("[data-map-table]")
    expect(grid).to_be_visible()
    expect(fleet.locator("[data-map-table]")).to_have_attribute("aria-expanded", "true")
    grid.locator("a.sl-heat").first.click()
    fleet.wait_for_url("**/fleet/nodes/?**")


def test_on_a_phone_pools_stand_for_nodes(signed_in: SignedIn) -> None:
    page = signed_in("operator", width=390)
    expect(page.locator("#fleet-grid")).to_be_visible()
    expect(page.locator("[data-map-stage]")).to_be_hidden()
    expect(page.locator(".sl-bottom")).to_be_visible()
    page.locator("#fleet-grid a.sl-heat").first.click()
    page.wait_for_url("**/fleet/nodes/?**")


def test_filters_send_themselves(fleet: Page) -> None:
    choice = fleet.locator("select[name=cluster] option").nth(1).get_attribute("value")
    fleet.select_option("select[name=cluster] >> nth=0", choice)
    fleet.wait_for_url(f"**/?cluster={choice}")
    expect(fleet.locator(".sl-field--set")).to_have_count(1)
