"""Every page as axe-core judges it, light and dark, wide and narrow; and no page scrolls sideways."""

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
)
TALLEST_ROW = 160


def _settled(page: Page, path: str) -> None:
    if path.startswith("/?") or path == "/":
        page.wait_for_selector(".sl-tile__value", timeout=30_000)
    if path.startswith("/api"):
        page.wait_for_selector(".opblock-tag", timeout=30_000)


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (1440, "dark"), (390, "light"), (390, "dark")])
def test_pages(signed_in: SignedIn, width: int, theme: str) -> None:
    page = signed_in("operator", width=width, theme=theme)
    found = {}
    for path in PAGES:
        page.goto(path)
        _settled(page, path)
        complaints = violations(page)
        wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if wider > 0:
            complaints.append(f"{wider} px wider than the window")
        tallest = page.evaluate("Math.max(0, ...[...document.querySelectorAll('tbody tr')].map((r) => r.offsetHeight))")
        if tallest > TALLEST_ROW:
            complaints.append(f"a row of {tallest} px: a column is squeezed")
        if complaints:
            found[path] = complaints
    assert found == {}


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
