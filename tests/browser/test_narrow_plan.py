"""A stale plan on a phone: its banner holds a sentence and three actions, and the page still scrolls one way only."""

from pathlib import Path

from playwright.sync_api import expect

from tests.browser.axe import violations
from tests.browser.conftest import SignedIn
from tests.browser.stack import Stack
from tests.browser.steps import WAIT_MS, ask, proposed
from tests.builders.worlds import world


def test_the_banner_of_a_stale_plan_fits(signed_in: SignedIn, stack: Stack, tmp_path: Path) -> None:
    built = world().nodes("n1", "n2", cluster="pocket")
    built.pod("p", "n1", 1, cluster="pocket").pod("q", "n2", 3, locked=True, cluster="pocket")
    file = tmp_path / "world.json"
    file.write_bytes(built.json())
    stack.meddle("found", "pocket", str(file))
    page = signed_in("operator")
    address = ask(page, "pocket")
    proposed(page)
    compact = signed_in("approver", path=f"{address}decide/", width=390)
    expect(compact.locator("button:has-text('Approve 1 move')")).to_be_visible(timeout=WAIT_MS)
    assert compact.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert violations(compact) == []
    stack.meddle("lock", "pocket", "jobs/p")
    expect(page.locator("#plan-side")).to_contain_text("stale", timeout=WAIT_MS)
    phone = signed_in("operator", path=address, width=390)
    expect(phone.locator(".sl-banner--bad button:has-text('Compute a new plan')")).to_be_visible(timeout=WAIT_MS)
    assert phone.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert violations(phone) == []
