"""The main job, from the first look at the map to the map after: two people, a real cluster that obeys, every gate."""

import re
from itertools import count

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import violations
from tests.browser.conftest import Problems, SignedIn
from tests.browser.stack import Stack
from tests.browser.steps import FINAL_MS, WAIT_MS, act, ask, figure, proposed, state_is

MOVES = 16


NAMES = (f"quiet-{number}" for number in count(1))


@pytest.fixture
def quiet(stack: Stack) -> str:
    """A source in which nothing moves by itself, new for each try: a plan that has run leaves nothing for the next."""
    name = next(NAMES)
    stack.manage("load_world", "--name", name, "--world", "uniform8", "--nodes", "240", "--seed", "5", "--quiet")
    stack.meddle("luck", name, "0", "2")
    return name


def test_a_plan_from_the_map_to_the_map_after(signed_in: SignedIn, quiet: str, problems: Problems) -> None:
    problems.expect("403 (Forbidden)")  # what a browser says of the approval of one's own plan, sent by hand
    page = signed_in("operator", path=f"/?source={quiet}")
    page.wait_for_selector("#fleet-map[data-ready=true]", timeout=WAIT_MS)
    empty_before = _empty_nodes(page, quiet)
    _look_at_a_node(page)
    address = ask(page, quiet, max_moves=MOVES)
    proposed(page)
    _preview(page)
    _own_approval_is_impossible(page)
    emptied, moves = int(figure(page, "Net emptied")), int(figure(page, "Moves"))
    assert emptied > 0

    second = signed_in("approver", path=address)
    expect(second.locator("#plan-side")).to_contain_text("Your approval is for digest")
    assert violations(second) == []
    act(second, "Approve", reason="Seen and agreed")
    _watch_it_run(page, second, moves)

    page.goto(f"/?source={quiet}")
    page.wait_for_selector("#fleet-map[data-ready=true]", timeout=WAIT_MS)
    assert _empty_nodes(page, quiet) == empty_before + emptied
    page.goto("/audit/")
    for words in ("plan.approved", "plan.succeeded", "Seen and agreed"):
        expect(page.locator("main")).to_contain_text(words)


def _empty_nodes(page: Page, source: str) -> int:
    """Nodes of the source that are wholly free, as the API lists them."""
    return int(
        page.evaluate(
            """async (source) => {
              const answer = await fetch(`/api/v1/nodes/?source=${source}&sort=-free&limit=200`);
              return (await answer.json()).results.filter((row) => row.state === "empty").length;
            }""",
            source,
        )
    )


def _look_at_a_node(page: Page) -> None:
    page.focus("[data-map-stage]")
    page.keyboard.press("ArrowDown")
    name = page.locator("[data-card-name]").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/fleet/node"))
    expect(page.locator("h1")).to_contain_text(name)


def _preview(page: Page) -> None:
    """Counts first, then both maps, the curve, the moves, and the nodes that stay with their reasons."""
    moves = int(figure(page, "Moves"))
    assert 0 < moves <= MOVES
    page.wait_for_selector("[data-planmap][data-ready=true]", timeout=WAIT_MS)
    expect(page.locator("[data-curve] .main-svg").first).to_be_visible()
    expect(page.locator("#moves tbody tr:not(.sl-group)")).to_have_count(moves)
    page.locator("[data-planmap]").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("[data-planmap-said]")).to_contain_text("free GPUs")
    assert violations(page) == []
    page.click("text=/^All \\d+$/")
    expect(page.locator("#kept-title")).to_contain_text("node")
    expect(page.locator("tbody tr").first).to_contain_text(re.compile(r"\w"))
    assert violations(page) == []
    page.go_back()


def _own_approval_is_impossible(page: Page) -> None:
    box = page.locator("#plan-side")
    expect(box).to_contain_text("Why there is no Approve button")
    expect(box.locator("button:has-text('Approve')")).to_have_count(0)
    status = page.evaluate(
        """async () => {
          const body = new FormData(document.querySelector("#plan-side form"));
          body.set("reason", "I like it");
          return (await fetch(location.pathname + "approve/", {method: "POST", body})).status;
        }"""
    )
    assert status == 403


def _watch_it_run(proposer: Page, approver: Page, moves: int) -> None:
    """Both see it run without a reload, wave by wave."""
    proposer.evaluate("window.__stayed = true")
    state_is(proposer, "Running", "Done")
    waves = approver.locator("#plan-side table[aria-label=Waves] tbody tr")
    state_is(approver, "Done", timeout=FINAL_MS)
    state_is(proposer, "Done", timeout=FINAL_MS)
    for page in (proposer, approver):
        _shows_how_it_went(page, moves)
    planned = sum(int(row.locator("td").nth(1).inner_text()) for row in waves.all())
    done = sum(int(row.locator("td").nth(2).inner_text()) for row in waves.all())
    assert planned == done == moves
    assert waves.count() > 1
    assert proposer.evaluate("window.__stayed"), "nobody has to reload"
    assert violations(approver) == []


def _shows_how_it_went(page: Page, moves: int) -> None:
    """Tiles, moves, state line and box say what has happened since the page was opened before the approval."""
    tile = page.locator("#plan-tiles .sl-tile", has_text="GPU time doubled")
    expect(tile).to_contain_text("measured", timeout=WAIT_MS)
    expect(tile).not_to_contain_text("when it runs", timeout=WAIT_MS)
    expect(page.locator("#moves tbody .sl-pill:has-text('done')")).to_have_count(moves, timeout=WAIT_MS)
    expect(page.locator(".sl-steps [data-state=done]")).to_have_count(page.locator(".sl-steps li").count())
    expect(page.locator("#plan-head")).not_to_contain_text("Locks")
    expect(page.locator("#plan-side button", has_text=re.compile("Pause|Resume|Abort|Start|Approve"))).to_have_count(0)


def test_a_stale_plan_is_refused_with_the_list(
    signed_in: SignedIn, quiet: str, stack: Stack, problems: Problems
) -> None:
    problems.expect("409 (Conflict)")
    page = signed_in("operator")
    address = ask(page, quiet, max_moves=6)
    proposed(page)
    pod = page.locator("#moves tbody tr:not(.sl-group) td").nth(3).inner_text().strip()
    second = signed_in("approver", path=address)
    second.evaluate("window.__form = new FormData(document.querySelector('#plan-side form'))")
    for watched in (page, second):
        watched.evaluate("window.__stayed = true")
        expect(watched.locator("#plan-stale")).to_be_empty()
    stack.meddle("lock", quiet, pod)
    # The page itself takes the button away as soon as it hears of it; what it has sent before is refused all the same.
    expect(second.locator("#plan-side button:has-text('Approve')")).to_have_count(0, timeout=WAIT_MS)
    status, words = second.evaluate(
        """async () => {
          window.__form.set("reason", "Looks right");
          const answer = await fetch(location.pathname + "approve/", {method: "POST", body: window.__form});
          return [answer.status, await answer.text()];
        }"""
    )
    assert status == 409
    assert "no longer hold" in words and pod in words
    for watched in (page, second):
        _shows_what_changed(watched, pod)
    assert violations(second) == []
    expect(page.locator("#moves tbody tr:not(.sl-group)").first).to_be_visible()  # it stays readable
    page.locator("button:has-text('Compute a new plan')").first.click()
    page.wait_for_url(lambda url: url != address)
    proposed(page)
    expect(page.locator("#plan-head")).to_contain_text(re.compile("from"))


def _shows_what_changed(page: Page, pod: str) -> None:
    """All that the state decides, on a page that nobody has reloaded."""
    state_is(page, "Stale")
    banner = page.locator("#plan-stale .sl-banner--bad")
    expect(banner).to_contain_text("no longer hold", timeout=WAIT_MS)
    expect(banner.locator(".plan-changes")).to_contain_text(pod)
    expect(banner.locator(".plan-changes")).to_contain_text("locked")
    expect(page.locator(".sl-steps [data-state=bad]")).to_have_count(1)
    expect(page.locator("#plan-side button:has-text('Approve')")).to_have_count(0)
    expect(page.locator("#moves tr.sl-hot", has_text=pod)).to_be_visible()  # what waits for it is hot, too
    expect(page.locator("#moves [name=stale]")).to_be_visible()
    assert page.evaluate("window.__stayed"), "nobody has to reload"


def test_frozen_paused_halted_and_still_finished(signed_in: SignedIn, quiet: str, stack: Stack) -> None:
    """Freeze stops a running plan between two moves; a failed move halts it; people let it go on."""
    page = signed_in("operator")
    address = ask(page, quiet, max_moves=12)
    proposed(page)
    second = signed_in("approver", path=address)
    act(second, "Approve", reason="Go")
    state_is(second, "Running", timeout=WAIT_MS)
    _freeze(page)
    state_is(second, "Paused", timeout=FINAL_MS)
    expect(second.locator("#plan-side")).to_contain_text(re.compile("[Ff]rozen"))
    expect(second.locator("#sl-banners")).to_contain_text("Power works in hall 2")  # an open page says so by itself
    expect(second.locator("#sl-tools")).to_contain_text("Freeze: on")
    stack.meddle("luck", quiet, "1", "1")
    page.goto("/freezes/")
    page.fill("input[name='reason'][placeholder='Why']", "the works are over")
    page.click("button:has-text('Lift freeze')")
    expect(page.locator("main")).to_contain_text("Nothing is frozen")
    expect(_frozen_banner(second)).to_have_count(0)
    second.reload()
    act(second, "Resume", reason="Lifted")
    state_is(second, "Halted", timeout=FINAL_MS)
    expect(second.locator("#plan-side")).to_contain_text(re.compile("failed"))
    assert violations(second) == []
    stack.meddle("luck", quiet, "0", "1")
    act(second, "Resume", reason="The image is there now")
    state_is(second, "Done", "Failed", timeout=FINAL_MS)  # it has failed if what was lost leaves no node empty
    expect(second.locator("#plan-side")).to_contain_text(re.compile(r"\d+ failed"))
    expect(second.locator("#moves tbody tr.sl-hot").first).to_be_visible()


def test_a_freeze_that_runs_out_leaves_open_pages_by_itself(signed_in: SignedIn, stack: Stack) -> None:
    page, tenant = signed_in("operator", path="/sources/"), signed_in("tenant", path="/fleet/pods/")
    setter = signed_in("operator")
    _freeze(setter)
    for open_page in (page, tenant):
        expect(_frozen_banner(open_page)).to_have_count(1)
    end = "from console.plans.models import Freeze; from django.utils.timezone import now, timedelta; "
    stack.manage("shell", "-c", f"{end}Freeze.objects.update(expires_at=now() + timedelta(seconds=3))")
    for open_page in (page, tenant):
        expect(_frozen_banner(open_page)).to_have_count(0)
    expect(page.locator("#sl-tools")).to_contain_text("Freeze: off")


def _frozen_banner(page: Page) -> Locator:
    """Other banners may stand beside it, such as that somebody on call is waited for."""
    return page.locator("#sl-banners .sl-banner", has_text="Frozen: the whole fleet")


def _freeze(page: Page) -> None:
    page.goto("/freezes/")
    page.fill("[name=reason]", "Power works in hall 2")
    page.fill("[name=minutes]", "30")
    page.click("button:has-text('Freeze'):visible")
    expect(page.locator(".sl-banner").first).to_contain_text("Power works in hall 2")
    assert violations(page) == []
