"""What people do on the pages of plans, in the words of the pages."""

import re
from datetime import UTC, datetime, timedelta

from playwright.sync_api import Page, expect

WAIT_MS = 40_000
FINAL_MS = 180_000


def ask(page: Page, source: str, **fields: int) -> str:
    """Asks for a plan of the source's cluster; returns the address of its page."""
    page.goto("/consolidation/new/")
    choice = page.locator("select[name=scope] option", has_text=re.compile(rf", {source}( \(only observed\))?\s*$"))
    page.select_option("select[name=scope]", str(choice.get_attribute("value")))
    for name, value in fields.items():
        page.fill(f"[name={name}]", str(value))
    page.click("button:has-text('Compute plan')")
    page.wait_for_url(re.compile(r"/plans/\d+/"))
    return page.url


def proposed(page: Page) -> None:
    """Waits until the answer stands on the page, which nobody reloads."""
    expect(page.locator("#plan-tiles")).to_be_visible(timeout=FINAL_MS)
    state_is(page, "Awaiting approval", timeout=WAIT_MS)


def state_is(page: Page, *labels: str, timeout: int = WAIT_MS) -> None:
    expect(page.locator("#plan-head .sl-pill").first).to_contain_text(re.compile("|".join(labels)), timeout=timeout)


def this_moment(page: Page) -> str:
    """The instant as addresses write it, waited for: they count in whole seconds."""
    now = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1)
    page.wait_for_timeout(1100)
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def figure(page: Page, label: str) -> str:
    """The number of a headline tile."""
    tile = page.locator("#plan-tiles .sl-tile", has_text=label).first
    digits = re.search(r"[\d,.]+", tile.locator(".sl-tile__value").inner_text())
    assert digits, label
    return digits.group().replace(",", "")


def act(page: Page, action: str, reason: str) -> None:
    page.fill("#box-reason", reason)
    page.click(f"#plan-side button:has-text('{action}')")


def add_cluster(page: Page, name: str, kubeconfig: str) -> str:
    """Adds a Kubernetes cluster through the form; returns the address of its page once it is live."""
    page.goto("/sources/add")
    page.fill("#id_name", name)
    page.fill("#id_pasted", kubeconfig)
    page.fill("#id_period_s", "2")
    page.click("button:has-text('Add cluster')")
    page.wait_for_url(re.compile(r"/sources/\d+/$"))
    expect(page.locator("#state .sl-tile__value").first).to_have_text("Live", timeout=FINAL_MS)
    return page.url
