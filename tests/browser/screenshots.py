"""Pictures of the pages for docs/images: ``python -m tests.browser.screenshots FOLDER`` (make screenshots).

Starts a console of its own, lets one plan wait for its approver and another go stale, and takes every page in both
widths and both themes, each as it settles; whoever looks signs in once.  Pictures are cut to 256 colours, chosen so
that small marks keep theirs.
"""

import io
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.chromium import launch
from tests.browser.stack import Stack, running
from tests.browser.steps import FINAL_MS, WAIT_MS, act, add_cluster, ask, proposed, state_is, this_moment
from tests.kubernetes import worlds
from tests.kubernetes.player.cluster import Cluster
from tests.kubernetes.player.on_port import PlayerOnPort, kubeconfig
from tests.telemetry.player import playing

NODES = int(os.environ.get("SLACKLINE_SCREENSHOT_NODES", "2000"))
WIDTHS = {1440: 1000, 390: 844}
THEMES = ("light", "dark")
COLOURS = 256
SETTLE_MS = 700  # live parts are fetched once more
LOOK_AGAIN_MS = 1500
TRADE_OFF = "/simulation/1/trade-off/"
IDLE_NODES = range(40, 48)  # of the cluster: each held whole by one pod


@dataclass(frozen=True)
class Shot:
    """One page as one person sees it; ``ready`` tells that it is drawn, ``narrow`` the same on a phone."""

    name: str
    who: str
    path: str
    ready: str = "main"
    narrow: str = "main"


ALWAYS = (  # pages that need nothing to be prepared
    Shot("tenants", "operator", "/tenants/"),
    Shot("tenant", "operator", "/tenants/online/"),
    Shot("capacity", "tenant", "/capacity/", "#estimate .spot-figure", "#estimate .spot-figure"),
    Shot("spot", "operator", "/spot/"),
    Shot("prices", "operator", "/prices/", ".price-chart .main-svg", ".price-chart .main-svg"),
    Shot("price-proposal", "approver", "/prices/proposals/1/"),
    Shot("lease", "tenant", "/spot/leases/1/"),
    Shot("audit", "operator", "/audit/"),
    Shot("login", "", "/login/"),
)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as data,
        running(Path(data), NODES) as stack,
        PlayerOnPort({"east-1": _cluster()}) as player,
        playing(_samples()) as prometheus,
        sync_playwright() as playwright,
    ):
        browser = launch(playwright)
        shots = _prepare(stack, browser)
        shots += _runs(stack, browser)
        shots += _with_cluster(stack, browser, player.url("east-1"), prometheus.url)
        people = {who: _signed_in(browser, stack, who) for who in {shot.who for shot in shots}}
        for width in WIDTHS:
            for theme in THEMES:
                for shot in shots:
                    _take(people[shot.who], shot, width, theme, folder)
        browser.close()


def _prepare(stack: Stack, browser: Browser) -> list[Shot]:
    stack.manage("load_world", "--name", "hall-2", "--world", "uniform8", "--nodes", "400", "--seed", "5", "--quiet")
    page = _signed_in(browser, stack, "operator").new_page()
    stale = ask(page, "hall-2")
    proposed(page)
    pod = page.locator("#moves tbody tr:not(.sl-group) td:nth-child(4)").first.inner_text().strip()
    stack.meddle("lock", "hall-2", pod)
    waiting = ask(page, "hall-2")
    proposed(page)
    page.goto(stale)
    while page.locator(".sl-banner--bad").count() == 0:  # found by the sweep, some seconds later
        page.wait_for_timeout(LOOK_AGAIN_MS)
        page.reload()
    page.goto(f"{stack.url}/fleet/nodes/?source=hall-2&sort=-pods")
    node = str(page.locator("tbody a").first.get_attribute("href"))
    page.goto(node)
    page.goto(str(page.locator("#node a[href*='/fleet/pod']").first.get_attribute("href")))
    workload = str(page.locator("dl a[href*='/fleet/workload']").first.get_attribute("href"))
    page.goto(f"{stack.url}/queue/?text=wait-pieces")
    queued = str(page.locator("#rows tbody a").first.get_attribute("href"))
    page.goto(f"{stack.url}{queued}")
    page.click("#start button")
    page.click("#unblock button")
    page.wait_for_selector("#unblock tbody", timeout=FINAL_MS)
    page.wait_for_selector("#start button:has-text('again')", timeout=FINAL_MS)
    placed = _placed(page)
    _studied(page)
    since = _changed(stack, page)
    page.context.close()
    return [
        Shot("fleet", "operator", "/", "#fleet-map[data-ready=true]", "#fleet-grid"),
        Shot("plan", "approver", waiting, "[data-planmap][data-ready=true]"),
        Shot("decide", "approver", f"{waiting}decide/"),
        Shot("plan-stale", "operator", stale, "[data-planmap][data-ready=true]"),
        Shot("new-plan", "operator", "/consolidation/new/"),
        Shot("node", "operator", node),
        Shot("since", "operator", since, "#since-map[data-ready=true]", "#since-causes"),
        Shot("workload", "operator", workload),
        Shot("nodes", "operator", "/fleet/nodes/?sort=-stranded"),
        Shot("queue", "operator", "/queue/?text=wait-"),
        Shot("queue-job", "operator", queued),
        Shot("placement", "operator", placed),
        Shot("study", "operator", "/simulation/1/", ".sim-chart .main-svg", ".sim-chart .main-svg"),
        Shot("trade-off", "operator", TRADE_OFF, ".sim-chart .main-svg", ".sim-chart .main-svg"),
        *ALWAYS,
    ]


def _runs(stack: Stack, browser: Browser) -> list[Shot]:
    """One run to its end, the plan that takes it back, and one that is aborted; and what stands beside plans."""
    for hall, seed in (("hall-3", "6"), ("hall-4", "7")):  # of their own: what runs makes other plans stale
        stack.manage("load_world", "--name", hall, "--world", "uniform8", "--nodes", "240", "--seed", seed, "--quiet")
    operator = _signed_in(browser, stack, "operator").new_page()
    approver = _signed_in(browser, stack, "approver").new_page()
    done = _started(operator, approver, "hall-3")
    state_is(operator, "Done", timeout=FINAL_MS)
    operator.reload()
    act(operator, "Roll back", "the maintenance was put off")
    operator.wait_for_url(lambda url: url != done)
    back = operator.url
    aborted = _started(operator, approver, "hall-4")
    state_is(operator, "Running", timeout=WAIT_MS)
    act(operator, "Abort for good", "a switch is to be replaced first")
    state_is(operator, "Aborted", timeout=FINAL_MS)
    for page in (operator, approver):
        page.context.close()
    return [
        Shot("plan-done", "operator", done, "[data-planmap][data-ready=true]"),
        Shot("plan-rollback", "approver", back, "[data-planmap][data-ready=true]"),
        Shot("plan-aborted", "operator", aborted, "[data-planmap][data-ready=true]"),
        Shot("plans-beside", "operator", f"{aborted}beside/"),
        Shot("policies", "operator", "/policies/"),
        Shot("automation", "operator", "/policies/automation/"),
        Shot("on-call", "approver", "/oncall/"),
        Shot("campaign", "operator", "/campaigns/new/"),
    ]


def _started(operator: Page, approver: Page, source: str) -> str:
    """A plan that runs, with its operator's page open; returns its address."""
    address = ask(operator, source)
    proposed(operator)
    approver.goto(address)
    act(approver, "Approve", "checked with the owners")
    return address


def _cluster() -> Cluster:
    """A cluster with what makes its page worth a look: a right that is missing, and things that cannot be held."""
    found = worlds.cluster(nodes=48, pods=0)
    for at in range(240):
        found.store.put(worlds.PODS, worlds.pod(f"p{at}", on=f"n{at % 40}"))
    for at in IDLE_NODES:
        namespace, name = ("vision", "train") if at % 2 else ("speech", "notebook")
        pod = worlds.pod(f"{name}-{at}", on=f"n{at}", gpus=8, namespace=namespace)
        owner = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": f"{name}-{at % 3}",
            "uid": f"job-{at}",
            "controller": True,
        }
        pod["metadata"]["ownerReferences"] = [owner]
        found.store.put(worlds.PODS, pod)
    for at in range(9):
        pod = worlds.pod(f"web-{at}", on=f"n{at}", gpus=0)
        spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        pod["spec"]["topologySpreadConstraints"] = [{**spread, "labelSelector": {"matchLabels": {"app": "web"}}}]
        found.store.put(worlds.PODS, pod)
    broken = worlds.pod("unreadable", on="n0")
    broken["spec"]["containers"] = "none"
    found.store.put(worlds.PODS, broken)
    jobs = worlds.path_of("jobs.batch")
    found.store.serve(jobs, "Job")
    found.forbidden.add(jobs)
    return found


def _samples() -> str:
    """What an exporter tells of the nodes that are held whole: half of their devices are at rest."""
    device = 'gpu="{gpu}",UUID="GPU-{node}-{gpu}",hostname="n{node}"'
    lines = []
    for node in IDLE_NODES:
        for gpu in range(8):
            labels = device.format(gpu=gpu, node=node)
            lines += [f"DCGM_FI_PROF_SM_ACTIVE{{{labels}}} {0.01 if (gpu + node) % 2 else 0.83}"]
            lines += [f"DCGM_FI_DEV_POWER_USAGE{{{labels}}} {90 + 40 * gpu}"]
    return "\n".join(lines)


def _with_cluster(stack: Stack, browser: Browser, server: str, prometheus: str) -> list[Shot]:
    page = _signed_in(browser, stack, "operator").new_page()
    address = add_cluster(page, "east-1", kubeconfig(server, "a token of the player").decode())
    page.goto(f"{address}telemetry")
    page.fill("[name=url]", prometheus)
    page.click("button:has-text('Add telemetry')")
    page.goto("/fleet/idle/")
    expect(page.locator("#rows tbody")).to_contain_text("50.0 %", timeout=FINAL_MS)  # comes with the first sums
    page.context.close()
    return [
        Shot("cluster", "operator", address, "#not-held tbody"),
        Shot("add-cluster", "operator", "/sources/add"),
        Shot("idle", "operator", "/fleet/idle/", "#rows tbody", "#rows tbody"),
    ]


def _placed(page: Page) -> str:
    """The address of an answer to where a job of some nodes would go."""
    page.goto("/placement/")
    for field, value in {"pods": "6", "gpus": "2", "billions": "13"}.items():
        page.fill(f"[name={field}]", value)
    page.click("button:has-text('Find places')")
    page.wait_for_selector("#answer:not([data-live])", timeout=FINAL_MS)
    return page.url


def _studied(page: Page) -> None:
    """The demo's own study is done."""
    page.goto(TRADE_OFF)
    while page.locator(".sim-chart").count() == 0:
        page.wait_for_timeout(LOOK_AGAIN_MS)
        page.reload()


def _changed(stack: Stack, page: Page) -> str:
    """The address of what changed while a switch fell silent and a pool was closed."""
    address = f"/fleet/since/?from={this_moment(page)}&to=now"
    for verb in ("dark", "close"):
        stack.meddle(verb, "demo")
    stack.meddle("strand", "demo", "6")
    return address


def _signed_in(browser: Browser, stack: Stack, who: str) -> BrowserContext:
    """``who`` "" is nobody."""
    size = {"width": max(WIDTHS), "height": WIDTHS[max(WIDTHS)]}
    context = browser.new_context(base_url=stack.url, viewport=size, color_scheme="light")
    if who:
        page = context.new_page()
        page.goto("/login/")
        page.fill("#id_username", who)
        page.fill("#id_password", who)
        page.click("button:has-text('Sign in')")
        page.wait_for_url(lambda url: "/login" not in url)
        page.close()
    return context


def _take(person: BrowserContext, shot: Shot, width: int, theme: str, folder: Path) -> None:
    page = person.new_page()
    page.set_viewport_size({"width": width, "height": WIDTHS[width]})
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.goto(shot.path)
    page.wait_for_selector(shot.ready if width == max(WIDTHS) else shot.narrow, timeout=WAIT_MS)
    page.wait_for_timeout(SETTLE_MS)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.close()
    file = folder / f"{shot.name}-{width}-{theme}.png"
    # The usual median cut gives all colours to large areas: a red mark turns brown.
    few = picture.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(file, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
