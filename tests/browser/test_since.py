"""What changed: a switch falls silent, the page says how many, why and where, and the map leads to the node."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import SignedIn
from tests.browser.stack import Stack
from tests.browser.steps import this_moment

WAIT_MS = 60_000


def _hall(stack: Stack, page: Page) -> str:
    """The name of a quiet cluster's largest switch, after it has fallen silent between two readings."""
    stack.manage("load_world", "--name", "hall-3", "--world", "asi", "--nodes", "120", "--seed", "3", "--quiet")
    began = this_moment(page)
    name = stack.meddle("dark", "hall-3")
    page.goto(f"/fleet/since/?from={began}&to=now&source=hall-3")
    return name


def test_a_silent_switch_is_told_listed_and_drawn(stack: Stack, signed_in: SignedIn) -> None:
    page = signed_in("operator")
    name = _hall(stack, page)
    line = page.locator("#since-headline h2")
    told = rf"Schedulable\s+−\d+\s+GPUs\s+since[^:]+:\d\d:\s+\d+ nodes not ready in {name} \(−\d+\)"
    expect(line).to_contain_text(re.compile(told), timeout=WAIT_MS)
    expect(page.locator("#since-causes footer")).to_contain_text("The rows add up")
    place = page.locator("#since-causes details", has_text=name)
    place.locator("summary").click()
    node = place.locator("li a").first
    expect(node).to_be_visible()
    shown = node.inner_text()
    page.wait_for_selector("#since-map[data-ready=true]", timeout=WAIT_MS)
    page.focus("[data-map-stage]")
    card = page.locator("[data-map-card]")
    expect(card).to_be_visible()
    for _ in range(200):
        if "−" in card.locator("[data-card-value]").inner_text():
            break
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(20)
    expect(card.locator("[data-card-value]")).to_have_text(re.compile(r"−\d+ schedulable, of \d+ GPUs?, not ready now"))
    page.click("[data-map-measures] >> text=Free")
    expect(page.locator("[data-map-measures] [aria-current]")).to_have_text("Free")
    node.click()
    page.wait_for_url(re.compile(r"/fleet/nodes/"))
    expect(page.locator("main")).to_contain_text(shown)


def test_from_a_node_to_the_owner_of_its_pods(stack: Stack, signed_in: SignedIn) -> None:
    page = signed_in("operator", path="/fleet/nodes/?sort=-pods")
    page.locator("tbody a").first.click()
    expect(page.locator("#devices")).to_be_visible()
    page.locator("table a", has_text="/").first.click()
    page.wait_for_url(re.compile(r"/fleet/pod"))
    pod = page.locator("h1").inner_text().strip()
    page.locator("dl a[href*='/fleet/workload']").first.click()
    page.wait_for_url(re.compile(r"/fleet/workload"))
    expect(page.locator("#workload table")).to_contain_text(pod.partition("/")[2])


def test_the_palette_finds_it(fleet: Page) -> None:
    fleet.keyboard.press("Control+k")
    fleet.fill("#sl-palette input", "changed 24 h")
    hit = fleet.locator("#sl-palette [role=option]", has_text="What changed: 24 h")
    expect(hit).to_be_visible()
    hit.click()
    fleet.wait_for_url(re.compile(r"/fleet/since/\?from="))
