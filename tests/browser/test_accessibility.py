"""Every page as axe-core judges it, light and dark, wide and narrow; and no page scrolls sideways."""

from typing import Literal

import pytest
from playwright.sync_api import Page

from tests.browser.axe import violations
from tests.browser.conftest import SignedIn

PAGES = (
    "/",
    "/?measure=health",
    "/fleet/nodes/",
    "/fleet/pods/",
    "/fleet/idle/",
    "/fleet/owner-locks/",
    "/fleet/since/",
    "/queue/",
    "/placement/",
    "/simulation/1/trade-off/",
    "/simulation/new/",
    "/tenants/",
    "/tenants/online/",
    "/plans/",
    "/consolidation/new/",
    "/campaigns/",
    "/campaigns/new/",
    "/freezes/",
    "/oncall/",
    "/sources/",
    "/sources/load",
    "/sources/add",
    "/audit/",
    "/tokens/",
    "/api/docs/",
    "/spot/",
    "/spot/reclaims/",
    "/spot/bills/",
    "/spot/leases/1/",
    "/prices/",
)
# Pages of others than the operator.
THEIRS = (("tenant", "/capacity/"), ("tenant", "/spot/leases/1/"))
TALLEST_ROW = 160
# Two frames, so that transitions to the look have begun, and then their ends: in between a colour is neither.
DRAWN = """async () => {
  for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
  const turns = document.getAnimations().filter((one) => one instanceof CSSTransition);
  await Promise.allSettled(turns.map((one) => one.finished));
}"""
Look = tuple[int, Literal["light", "dark"]]
LOOKS: tuple[Look, ...] = ((1440, "light"), (1440, "dark"), (390, "light"), (390, "dark"))


def _settled(page: Page, path: str) -> None:
    if path.startswith("/?") or path == "/":
        page.wait_for_selector(".sl-tile__value", timeout=30_000)
    if path.startswith("/api"):
        page.wait_for_selector(".opblock-tag", timeout=30_000)


@pytest.mark.parametrize(("who", "path"), [*(("operator", path) for path in PAGES), *THEIRS])
def test_pages(signed_in: SignedIn, who: str, path: str) -> None:
    """Opened once and turned to each look, as a window is resized: widths and themes are the style sheet's alone."""
    page = signed_in(who, path=path)
    _settled(page, path)
    found = {}
    for width, theme in LOOKS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        page.evaluate(DRAWN)
        if complaints := [*violations(page), *_squeezed(page)]:
            found[width, theme] = complaints
    assert found == {}


def _squeezed(page: Page) -> list[str]:
    wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    tallest = page.evaluate("Math.max(0, ...[...document.querySelectorAll('tbody tr')].map((r) => r.offsetHeight))")
    found = [f"{wider} px wider than the window"] if wider > 0 else []
    return [*found, f"a row of {tallest} px: a column is squeezed"] if tallest > TALLEST_ROW else found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_dialogs(fleet: Page, theme: str) -> None:
    fleet.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    for key, name in (("Control+k", "sl-palette"), ("?", "sl-help")):
        fleet.keyboard.press(key)
        fleet.wait_for_selector(f"#{name}[open]")
        assert violations(fleet) == []
        fleet.keyboard.press("Escape")
        fleet.wait_for_selector(f"#{name}", state="hidden")


def test_the_sign_in_page(console_url: str, signed_in: SignedIn) -> None:
    page = signed_in("viewer")
    page.context.clear_cookies()
    page.goto("/login/")
    assert violations(page) == []


def test_a_tenants_first_page(signed_in: SignedIn) -> None:
    page = signed_in("tenant")
    page.wait_for_selector("text=Your GPUs")
    assert page.query_selector("[data-map-stage]") is None
    assert violations(page) == []
