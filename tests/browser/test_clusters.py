"""A Kubernetes cluster is added, followed, lost and found again; a second person sees why its plan cannot be run."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import violations
from tests.browser.conftest import SignedIn
from tests.browser.stack import Stack, running
from tests.browser.steps import FINAL_MS, WAIT_MS, ask, state_is
from tests.kubernetes import worlds
from tests.kubernetes.player.cluster import Cluster
from tests.kubernetes.player.on_port import PlayerOnPort, kubeconfig
from tests.kubernetes.player.store import Store

TOKEN = "t0p-s3cret-t0ken-of-the-player"
NAME = "east-1"
SMALL = 60  # nodes of the simulated cluster beside it


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A console of their own: a cluster that is lost stays on the page of everybody, and one with a plan is kept."""
    with running(tmp_path_factory.mktemp("clusters"), SMALL) as stack:
        yield stack


@pytest.fixture(scope="module")
def console_url(stack: Stack) -> str:
    return stack.url


@pytest.fixture
def cluster() -> Cluster:
    return worlds.cluster(nodes=4, pods=8, token=TOKEN)


@pytest.fixture
def player(cluster: Cluster) -> Iterator[PlayerOnPort]:
    player = PlayerOnPort({"one": cluster})
    player.__enter__()
    yield player
    if player.port:
        player.__exit__()


def _tile(page: Page, label: str) -> Locator:
    return page.locator("#state .sl-tile", has_text=label).locator(".sl-tile__value").first


def _judged(page: Page) -> None:
    """By axe in both themes and widths; and nothing scrolls sideways."""
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            assert violations(page) == [], (width, scheme)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, width


def test_added_followed_lost_found(signed_in: SignedIn, player: PlayerOnPort, cluster: Cluster) -> None:
    page = signed_in("operator", path="/sources/")
    page.click("a:has-text('Add a cluster')")
    page.fill("#id_name", NAME)
    page.fill("#id_pasted", kubeconfig(player.url(), TOKEN, "green", "blue").decode())
    page.fill("#id_period_s", "2")
    page.click("button:has-text('Test the connection')")
    page.check("input[name=context][value=blue]")
    page.click("button:has-text('Test the connection')")
    expect(page.locator("#outcome")).to_contain_text("What is needed can be read", timeout=WAIT_MS)
    assert violations(page) == []
    page.click("button:has-text('Add cluster')")
    page.wait_for_url(re.compile(r"/sources/\d+/$"))
    address = page.url
    expect(_tile(page, "State")).to_have_text("Live", timeout=FINAL_MS)
    expect(_tile(page, "Nodes")).to_have_text("4")
    _judged(page)
    assert TOKEN not in page.content()

    map_page = signed_in("viewer", path=f"/?source={NAME}")
    map_page.wait_for_selector("#fleet-map[data-ready=true]", timeout=FINAL_MS)
    map_page.goto(f"/fleet/nodes/?source={NAME}")
    expect(map_page.locator("tbody")).to_contain_text("n3")

    player.apply(lambda: cluster.store.put(worlds.NODES, worlds.node("n-new")))
    player.apply(lambda: cluster.store.delete(worlds.PODS, ("team", "p0")))
    expect(_tile(page, "Nodes")).to_have_text("5", timeout=FINAL_MS)  # nobody reloads
    expect(_tile(page, "Pods")).to_have_text("7", timeout=WAIT_MS)

    port = player.port
    player.__exit__()
    player.port = 0
    expect(page.locator("#state")).to_contain_text("It cannot be read now", timeout=FINAL_MS)
    expect(page.locator("#state")).to_contain_text("refused")
    map_page.goto("/sources/")
    expect(map_page.locator("tbody tr", has_text="demo").first).to_contain_text("Live")
    expect(map_page.locator("tbody tr", has_text=NAME).first).to_contain_text("Failing")

    other = worlds.cluster(nodes=2, pods=3, token=TOKEN, store=Store(version=9_000))
    with PlayerOnPort({"one": other}, port):
        expect(_tile(page, "State")).to_have_text("Live", timeout=FINAL_MS)
        expect(_tile(page, "Nodes")).to_have_text("2", timeout=FINAL_MS)
        assert page.url == address
        page.click("#remove summary")
        page.fill("#remove-reason", "the test is over")
        page.click("button:has-text('Remove source')")
        expect(page.locator("main")).to_contain_text(f"{NAME} is removed")


def test_its_plan_cannot_be_run_and_says_why(signed_in: SignedIn, player: PlayerOnPort, cluster: Cluster) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": True}

    def own(pod: dict[str, Any]) -> None:
        pod["metadata"]["ownerReferences"] = [owner]

    for at in range(8):
        player.apply(partial(cluster.store.change, worlds.PODS, ("team", f"p{at}"), own))
    page = signed_in("operator", path="/sources/add")
    page.fill("#id_name", "west-1")
    page.fill("#id_pasted", kubeconfig(player.url(), TOKEN).decode())
    page.click("button:has-text('Add cluster')")
    expect(_tile(page, "State")).to_have_text("Live", timeout=FINAL_MS)
    plan = ask(page, "west-1")
    expect(page.locator("#plan-tiles")).to_be_visible(timeout=FINAL_MS)
    state_is(page, "Observed plan")
    expect(page.locator("#plan-head")).to_contain_text("only observed")
    second = signed_in("approver", path=plan)
    box = second.locator("#plan-side")
    expect(box).to_contain_text("this cluster is only observed")
    expect(box).to_contain_text("Take the moves from the CSV or JSON")
    expect(box.locator("button:has-text('Approve')")).to_have_count(0)
