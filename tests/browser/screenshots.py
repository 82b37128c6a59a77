"""Pictures of the pages for docs/images: ``python -m tests.browser.screenshots FOLDER`` (make screenshots).

Starts a console of its own, lets one plan wait for its approver and another go stale, and takes every page in both
widths and both themes.  Pictures are cut to 256 colours, chosen so that small marks keep theirs.
"""

import io
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.chromium import launch
from tests.browser.stack import Stack, running
from tests.browser.steps import WAIT_MS, add_cluster, ask, proposed, this_moment
from tests.kubernetes import worlds
from tests.kubernetes.player.cluster import Cluster
from tests.kubernetes.player.on_port import PlayerOnPort, kubeconfig

NODES = int(os.environ.get("SLACKLINE_SCREENSHOT_NODES", "2000"))
WIDTHS = {1440: 1000, 390: 844}
THEMES = ("light", "dark")
COLOURS = 256
SETTLE_MS = 1500  # charts ease in, live parts are fetched once more


@dataclass(frozen=True)
class Shot:
    """One page as one person sees it; ``ready`` tells that it is drawn, ``narrow`` the same on a phone."""

    name: str
    who: str
    path: str
    ready: str = "main"
    narrow: str = "main"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as data,
        running(Path(data), NODES) as stack,
        PlayerOnPort({"east-1": _cluster()}) as player,
        sync_playwright() as playwright,
    ):
        browser = launch(playwright)
        shots = _prepare(stack, browser)
        shots += _with_cluster(stack, browser, player.url("east-1"))
        for width in WIDTHS:
            for theme in THEMES:
                for shot in shots:
                    _take(browser, stack, shot, width, theme, folder)
        browser.close()


def _prepare(stack: Stack, browser: Browser) -> list[Shot]:
    stack.manage("load_world", "--name", "hall-2", "--world", "uniform8", "--nodes", "400", "--seed", "5", "--quiet")
    page = _page(browser, stack, 1440, "light", "operator")
    stale = ask(page, "hall-2")
    proposed(page)
    pod = page.locator("#moves tbody tr:not(.sl-group) td:nth-child(4)").first.inner_text().strip()
    stack.meddle("lock", "hall-2", pod)
    waiting = ask(page, "hall-2")
    proposed(page)
    page.goto(stale)
    while page.locator(".sl-banner--bad").count() == 0:  # found by the sweep, some seconds later
        page.wait_for_timeout(SETTLE_MS)
        page.reload()
    page.goto(f"{stack.url}/fleet/nodes/?source=hall-2&sort=-pods")
    node = str(page.locator("tbody a").first.get_attribute("href"))
    page.goto(node)
    page.goto(str(page.locator("#node a[href*='/fleet/pod']").first.get_attribute("href")))
    workload = str(page.locator("dl a[href*='/fleet/workload']").first.get_attribute("href"))
    since = _changed(stack, page)
    page.context.close()
    return [
        Shot("fleet", "operator", "/", "#fleet-map[data-ready=true]", "#fleet-grid"),
        Shot("plan", "approver", waiting, "[data-planmap][data-ready=true]"),
        Shot("plan-stale", "operator", stale, "[data-planmap][data-ready=true]"),
        Shot("new-plan", "operator", "/consolidation/new/"),
        Shot("node", "operator", node),
        Shot("since", "operator", since, "#since-map[data-ready=true]", "#since-causes"),
        Shot("workload", "operator", workload),
        Shot("audit", "operator", "/audit/"),
        Shot("login", "", "/login/"),
    ]


def _cluster() -> Cluster:
    """A cluster with what makes its page worth a look: a right that is missing, and things that cannot be held."""
    found = worlds.cluster(nodes=48, pods=300)
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


def _with_cluster(stack: Stack, browser: Browser, server: str) -> list[Shot]:
    page = _page(browser, stack, 1440, "light", "operator")
    address = add_cluster(page, "east-1", kubeconfig(server, "a token of the player").decode())
    page.context.close()
    return [Shot("cluster", "operator", address, "#not-held tbody"), Shot("add-cluster", "operator", "/sources/add")]


def _changed(stack: Stack, page: Page) -> str:
    """The address of what changed while a switch fell silent and a pool was closed."""
    address = f"/fleet/since/?from={this_moment(page)}&to=now"
    for verb in ("dark", "close"):
        stack.meddle(verb, "demo")
    stack.meddle("strand", "demo", "6")
    return address


def _page(browser: Browser, stack: Stack, width: int, theme: str, who: str) -> Page:
    size = {"width": width, "height": WIDTHS[width]}
    scheme = "dark" if theme == "dark" else "light"
    page = browser.new_context(base_url=stack.url, viewport=size, color_scheme=scheme).new_page()
    if who:
        page.goto("/login/")
        page.fill("#id_username", who)
        page.fill("#id_password", who)
        page.click("button:has-text('Sign in')")
        page.wait_for_url(lambda url: "/login" not in url)
    return page


def _take(browser: Browser, stack: Stack, shot: Shot, width: int, theme: str, folder: Path) -> None:
    page = _page(browser, stack, width, theme, shot.who)
    page.goto(shot.path)
    page.wait_for_selector(shot.ready if width == max(WIDTHS) else shot.narrow, timeout=WAIT_MS)
    page.wait_for_timeout(SETTLE_MS)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.context.close()
    file = folder / f"{shot.name}-{width}-{theme}.png"
    # The usual median cut gives all colours to large areas: a red mark turns brown.
    few = picture.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(file, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
