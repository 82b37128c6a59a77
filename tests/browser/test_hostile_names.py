"""Case C49: names that carry script, turn text round or never end are text, on every page that shows them."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Problems, SignedIn
from tests.browser.stack import Stack
from tests.browser.steps import WAIT_MS, ask, proposed
from tests.builders.worlds import world

CLUSTER = "hostile"
SCRIPT = "<img src=x onerror=window.__p=1>"
TURNED = "gpu-\u202eexe.7n"
LONG = ["n" * 252 + end for end in "ab"]
ASW = '"><svg onload=window.__p=1>'
TENANT = "</script><script>window.__p=1</script>"
POD = "jobs/p"


@pytest.fixture(scope="module")
def hostile(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four nodes; the pod on the first can go to the second, and then the first is empty."""
    built = world().asw(ASW)
    for name in (SCRIPT, TURNED, *LONG):
        built.node(name, cluster=CLUSTER, labels={"note": "{{7*7}}"})
    built.pod("p", SCRIPT, 1, tenant=TENANT, cluster=CLUSTER)
    built.pod("q", TURNED, 3, tenant=TENANT, locked=True, cluster=CLUSTER)
    file = tmp_path_factory.mktemp("hostile") / "world.json"
    file.write_bytes(built.json())
    stack.meddle("found", CLUSTER, str(file))
    return CLUSTER


def _harmless(page: Page) -> None:
    assert page.evaluate("typeof window.__p") == "undefined"
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_in_a_plan_its_data_and_its_refusal(
    signed_in: SignedIn, hostile: str, stack: Stack, problems: Problems, tmp_path: Path
) -> None:
    problems.expect("409 (Conflict)")
    page = signed_in("operator")
    address = ask(page, hostile)
    proposed(page)
    page.wait_for_selector("[data-planmap][data-ready=true]", timeout=WAIT_MS)
    expect(page.locator("#moves")).to_contain_text(SCRIPT)
    expect(page.locator("main")).to_contain_text(TENANT)
    for words in page.locator("script[type='application/json']").all_text_contents():
        json.loads(words)
    page.locator("[data-planmap]").focus()
    page.keyboard.press("Home")
    expect(page.locator("[data-planmap-said]")).to_contain_text("free GPUs")
    _harmless(page)

    second = signed_in("approver", path=address)
    stack.meddle("lock", hostile, POD)
    expect(second.locator("#plan-side")).to_contain_text("stale", timeout=WAIT_MS)
    second.reload()
    expect(second.locator(".sl-banner--bad").first).to_contain_text("no longer hold", timeout=WAIT_MS)
    expect(second.locator(".plan-changes").first).to_contain_text(POD)
    _harmless(second)


def test_in_the_table_of_nodes(signed_in: SignedIn, hostile: str) -> None:
    page = signed_in("operator", path=f"/fleet/nodes/?cluster={hostile}")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(4)
    expect(rows.filter(has_text=SCRIPT)).to_have_count(1)
    turned = rows.filter(has_text="U+202E")
    expect(turned).to_have_count(1)
    expect(turned.locator("bdi").first).to_contain_text("gpu-")
    links = [page.evaluate("link => link.href", link) for link in rows.locator("a").element_handles()]
    assert len(set(links)) >= 4, "both long names lead to a page of their own"
    _harmless(page)


def test_on_the_nodes_page_and_in_what_is_drawn_anew(signed_in: SignedIn, hostile: str, stack: Stack) -> None:
    page = signed_in("operator", path=f"/fleet/nodes/?cluster={hostile}")
    page.locator("tbody a", has_text=SCRIPT).first.click()
    expect(page.locator("h1")).to_contain_text(SCRIPT)
    expect(page.locator("main")).to_contain_text("{{7*7}}")
    expect(page.locator("main")).to_contain_text(TENANT)
    stack.meddle("strand", hostile, "1")
    expect(page.locator("#node")).to_contain_text(re.compile("cordoned"), timeout=WAIT_MS)
    _harmless(page)


def test_in_the_choice_of_switches_and_beside_the_pointer(signed_in: SignedIn, hostile: str) -> None:
    page = signed_in("operator", path=f"/?cluster={hostile}")
    page.wait_for_selector("#fleet-map[data-ready=true]", timeout=WAIT_MS)
    switches = page.locator("select[name=asw] option").all_text_contents()
    assert ASW in switches
    assert TENANT in page.locator("select[name=tenant] option").all_text_contents()
    page.focus("[data-map-stage]")
    seen = set()
    for _ in range(4):
        card = page.locator("[data-map-card]")
        expect(card).to_be_visible()
        seen.add(card.locator("[data-card-name]").inner_text())
        page.keyboard.press("ArrowRight")
    assert SCRIPT in seen
    _harmless(page)
