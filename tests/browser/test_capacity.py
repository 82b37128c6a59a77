"""A tenant asks for spot capacity, has it, loses it to the lender that wakes, and goes on elsewhere, first in line."""

from itertools import count
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import violations
from tests.browser.conftest import SignedIn
from tests.browser.stack import Stack
from tests.browser.steps import FINAL_MS
from tests.builders.worlds import world

MODEL = "H20"  # has a quote in the demo
NAMES = (f"lends-{number}" for number in count(1))
ASKS = """async ([path, body]) => {
  const token = document.cookie.match(/csrftoken=([^;]+)/)[1];
  const answer = await fetch(path, {method: "POST", body: JSON.stringify(body),
    headers: {"Content-Type": "application/json", "X-CSRFToken": token}});
  return [answer.status, await answer.text()];
}"""


@pytest.fixture
def lends(stack: Stack, tmp_path: Path) -> str:
    """Two nodes, each held by a sleeper that lends all of it; the second wakes only if it is told to."""
    name = next(NAMES)
    made = world()
    for node in ("one", "two"):
        made.asw("s1").node(node, gpu_model=MODEL)
        made.pod(f"serve-{node}", node, 8, tenant="dept-02", standby=True, cpu_milli=64_000, memory_mib=1024)
    made.rows["clusters"].append({"name": name})
    for row in (*made.rows["nodes"], *made.rows["pods"]):
        row["cluster"] = name
    file = tmp_path / "lends.json"
    file.write_bytes(made.json())
    stack.meddle("found", name, str(file))
    return name


def test_a_lease_is_asked_for_reclaimed_and_goes_on(signed_in: SignedIn, lends: str) -> None:
    page = signed_in("tenant", path="/capacity/")
    _ask(page, lends)
    row = page.locator("#leases tbody tr", has_text=f"for-{lends}")
    expect(row).to_contain_text("Running", timeout=FINAL_MS)
    page.goto(str(row.locator("a").first.get_attribute("href")))
    expect(page.locator("#lease")).to_contain_text("borrowed")

    lender = _lender(signed_in("operator", path="/spot/"), lends)
    page.goto("/capacity/")
    notice = page.locator(".spot-notice", has_text="the lender recalled its standby")
    expect(notice).to_be_visible(timeout=FINAL_MS)
    first = notice.locator("[data-left]").inner_text()
    assert violations(page) == []
    expect(notice.locator("[data-left]")).not_to_have_text(first)  # it counts down by itself
    expect(notice).to_be_hidden(timeout=FINAL_MS)
    expect(row).to_contain_text("Running", timeout=FINAL_MS)  # on what the other sleeper lends
    page.goto(str(row.locator("a").first.get_attribute("href")))
    expect(page.locator("#lease")).to_contain_text("2 runs")
    expect(page.locator("#lease")).not_to_contain_text(lender)  # whose it is, is nobody else's business
    for words in ("Goes on from its checkpoint", "Has notice to leave", "Pods come up"):
        expect(page.locator("#lease")).to_contain_text(words)
    page.click("button:has-text('Give back')")
    expect(page.locator("#lease")).to_contain_text("Given back", timeout=FINAL_MS)
    page.goto("/spot/reclaims/")
    expect(page.locator("#log tbody tr", has_text="the lender recalled its standby").first).to_be_visible()


def _ask(page: Page, source: str) -> None:
    place = page.locator("select[name=place] option", has_text=source)
    page.select_option("select[name=place]", str(place.get_attribute("value")))
    page.select_option("select[name=model]", MODEL)
    for name, value in (("gpus_per_pod", "4"), ("pods", "2"), ("hours", "6"), ("hook_name", "save.sh")):
        page.fill(f"[name={name}]", value)
    page.click("#ask-more summary")
    for name, value in (("cpu_cores", "8"), ("memory_gib", "8"), ("hook_s", "20"), ("name", f"for-{source}")):
        page.fill(f"[name={name}]", value)
    expect(page.locator("#estimate h2")).to_contain_text("Estimate for 8 H20", timeout=FINAL_MS)
    page.click("[data-ask-button]")
    page.wait_for_url("**/capacity/")


def _lender(page: Page, source: str) -> str:
    """The first sleeper that lends is woken; its name."""
    rows = page.evaluate(
        "async (cluster) => (await (await fetch(`/api/v1/pods/?cluster=${cluster}&limit=200`)).json()).results", source
    )
    node = next(row["node"] for row in rows if "lease-" in row["name"])
    pod = f"jobs/serve-{node}"
    sources = page.evaluate("async () => (await fetch('/api/v1/sources/')).json()")
    number = next(one["id"] for one in sources if one["name"] == source)
    said = {"source": number, "cluster": source, "pod": pod, "reason": "traffic is back"}
    status, text = page.evaluate(ASKS, ["/api/v1/standby/recalls/", said])
    assert status in (200, 201, 202), text
    return pod.partition("/")[2]
