"""What stands on every page: palette, help, theme, keys, and the rules of live.js that need no server."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SignedIn

# Where the page loads a module from, hashed or not.
MODULE = """async (name) => {
  const main = document.querySelector('script[type=module][src*="/main"]').src;
  const text = await (await fetch(main)).text();
  const found = text.match(new RegExp(`"\\\\./(${name}[^"]*\\\\.js)"`));
  return new URL(found ? found[1] : `${name}.js`, main).href;
}"""


def test_the_palette_finds_a_page_and_a_node(fleet: Page) -> None:
    fleet.keyboard.press("Control+k")
    box = fleet.locator("#sl-palette input")
    expect(box).to_be_focused()
    box.fill("consol")
    expect(fleet.locator("#sl-palette-list li").first).to_contain_text("Consolidation")
    box.fill("c00-")
    expect(fleet.locator("#sl-palette-list li").first).to_contain_text(re.compile("node|pod"))
    name = fleet.locator("#sl-palette-list li bdi").first.inner_text()
    fleet.keyboard.press("Enter")
    fleet.wait_for_url(re.compile("/fleet/"))
    expect(fleet.locator("main")).to_contain_text(name.split("/")[-1])


def test_the_palette_says_when_there_is_nothing(fleet: Page) -> None:
    fleet.keyboard.press("/")
    fleet.locator("#sl-palette input").fill("no-such-thing-anywhere")
    expect(fleet.locator("[data-palette-note]")).to_contain_text("Nothing is named")


def test_arrows_move_through_the_answers(fleet: Page) -> None:
    fleet.keyboard.press("Control+k")
    chosen = fleet.locator("#sl-palette-list [aria-selected=true] bdi")
    first = chosen.inner_text()
    fleet.keyboard.press("ArrowDown")
    expect(chosen).to_have_count(1)
    expect(chosen).not_to_have_text(first)
    fleet.keyboard.press("ArrowUp")
    expect(chosen).to_have_text(first)


def test_single_keys_can_be_switched_off(fleet: Page) -> None:
    fleet.keyboard.press("?")
    expect(fleet.locator("#sl-help")).to_be_visible()
    fleet.locator("[data-single-keys]").uncheck()
    fleet.keyboard.press("Escape")
    expect(fleet.locator("#sl-help")).to_be_hidden()
    fleet.keyboard.press("p")
    fleet.keyboard.press("?")
    expect(fleet.locator("#sl-help")).to_be_hidden()
    expect(fleet.locator("[data-live-act=pause]")).to_be_visible()
    fleet.keyboard.press("Control+k")
    expect(fleet.locator("#sl-palette")).to_be_visible()


def test_the_theme_is_kept_and_charts_follow_it(fleet: Page) -> None:
    root = fleet.locator("html")
    expect(root).to_have_attribute("data-bs-theme", "light")
    label = "document.querySelector('[data-map-plot]')._fullLayout.font.color"
    light = fleet.evaluate(label)
    fleet.click("summary:has-text('operator')")
    fleet.click("[data-theme=dark] >> visible=true")
    expect(root).to_have_attribute("data-bs-theme", "dark")
    fleet.wait_for_function(f"light => {label} !== light", arg=light)
    fleet.reload()
    expect(root).to_have_attribute("data-bs-theme", "dark")


def test_auto_follows_the_system(signed_in: SignedIn) -> None:
    page = signed_in("viewer", path="/audit/", theme="dark")
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "dark")
    page.emulate_media(color_scheme="light")
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "light")


def test_the_first_tab_skips_to_the_content(signed_in: SignedIn) -> None:
    page = signed_in("viewer", path="/audit/")
    page.keyboard.press("Tab")
    expect(page.locator(".sl-skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()


def test_no_page_carries_inline_styles_or_scripts(signed_in: SignedIn, console_url: str) -> None:
    page = signed_in("operator")
    for path in ("/", "/plans/", "/fleet/nodes/", "/audit/", "/sources/"):
        words = page.request.get(console_url + path).text()
        assert not re.search(r"<[a-z]+[^>]* style=", words), path
        assert not re.search(r" on[a-z]+=\"", words), path
        assert not re.search(r"<style", words), path
        scripts = re.findall(r"<script(?![^>]*\bsrc=)[^>]*>", words)
        assert [tag for tag in scripts if "application/json" not in tag] == [], path


@pytest.mark.parametrize(
    ("last", "seq", "verdict"), [(None, 5, "next"), (4, 5, "next"), (5, 5, "old"), (6, 5, "old"), (4, 6, "gap")]
)
def test_numbers_of_events(fleet: Page, last: int | None, seq: int, verdict: str) -> None:
    address = fleet.evaluate(MODULE, "live")
    judged = fleet.evaluate(
        "async ([address, last, seq]) => (await import(address)).judge(last ?? undefined, seq)", [address, last, seq]
    )
    assert judged == verdict


def test_waits_double_from_half_a_second_to_a_minute_give_or_take_a_third(fleet: Page) -> None:
    address = fleet.evaluate(MODULE, "live")
    waits = fleet.evaluate(
        """async (address) => {
          const { waitBefore } = await import(address);
          return [0, 1, 7, 30].map((n) => [waitBefore(n, () => 0), waitBefore(n, () => 0.5), waitBefore(n, () => 1)]);
        }""",
        address,
    )
    assert [round(plain) for _, plain, _ in waits] == [500, 1000, 46_000, 46_000]
    assert all(high <= 60_000 for _, _, high in waits)
    for low, plain, high in waits:
        assert low == pytest.approx(0.7 * plain)
        assert high == pytest.approx(1.3 * plain)


def test_offline_is_said_and_ends_by_itself(fleet: Page) -> None:
    badge = fleet.locator("[data-live-badge]")
    expect(badge).to_contain_text("Live", timeout=30_000)
    fleet.context.set_offline(True)
    expect(badge).to_contain_text("Offline", timeout=30_000)
    fleet.context.set_offline(False)
    expect(badge).to_contain_text("Live", timeout=90_000)


def test_no_banner_takes_no_room(signed_in: SignedIn) -> None:
    page = signed_in("viewer", path="/plans/")
    assert page.evaluate("document.querySelector('.sl-banners').offsetHeight") == 0


def test_plans_are_within_a_thumbs_reach(signed_in: SignedIn) -> None:
    """Approving by phone is a full path: the list of plans is no second step."""
    page = signed_in("approver", width=390)
    expect(page.locator("nav.sl-bottom").get_by_text("Plans", exact=True)).to_be_visible()
