"""The fleet page in Debian's chromium, timed inside the page by its own clock."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--enable-precise-memory-info",
)
READY_MS = 60_000

# Notes when the map was first drawn, each later drawing with its revision, and tasks of more than 50 ms.
WATCH = """
window.bench = { ready: null, paints: [], long: [] };
new PerformanceObserver((list) => {
  for (const task of list.getEntries()) bench.long.push([task.startTime, task.duration]);
}).observe({ type: "longtask", buffered: true });
addEventListener("DOMContentLoaded", () => {
  const map = document.getElementById("fleet-map");
  const plot = map?.querySelector("[data-map-plot]");
  if (!plot) return;
  new MutationObserver(() => requestAnimationFrame(() => setTimeout(() => {
    bench.ready ??= performance.now();
    bench.paints.push([Number(plot.dataset.revision), Date.now(), Number(plot.dataset.drawMs), map.dataset.measure]);
  }))).observe(plot, { attributes: true, attributeFilter: ["data-revision", "data-draw-ms"] });
});
"""
FIRST_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
SENT = "() => performance.getEntriesByType('navigation')[0].responseStart"
SWITCH = """(measure) => new Promise((done) => {
  const began = performance.now(), before = bench.paints.length;
  document.querySelector(`[data-map-measures] a[data-measure="${measure}"]`).click();
  const look = () => bench.paints.length > before && bench.paints.at(-1)[3] === measure
    ? done(performance.now() - began) : requestAnimationFrame(look);
  look();
})"""
HOVER = """([x, y]) => new Promise((done) => {
  const stage = document.querySelector("[data-map-stage]"), box = stage.getBoundingClientRect();
  const card = document.querySelector("[data-map-card]"), before = card.textContent + card.hidden;
  const began = performance.now();
  stage.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: box.left + x, clientY: box.top + y }));
  const look = () => {
    if (card.textContent + card.hidden !== before) requestAnimationFrame(() => done(performance.now() - began));
    else if (performance.now() - began > 2000) done(null);
    else setTimeout(look, 0);
  };
  look();
})"""
HEAP = "() => performance.memory.usedJSHeapSize / 1048576"
LONG_SINCE = "(from) => Math.max(0, ...bench.long.filter(([at]) => at > from).map(([, took]) => took))"


class Wire:
    """Bodies as they came over the wire, compressed, by address."""

    def __init__(self, page: Page) -> None:
        self.sent: list[tuple[str, int]] = []
        self._addresses: dict[str, tuple[str, int]] = {}
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.responseReceived", self._answered)
        session.on("Network.loadingFinished", self._finished)

    def _answered(self, event: dict[str, Any]) -> None:
        response = event["response"]
        self._addresses[event["requestId"]] = response["url"], int(response["encodedDataLength"])

    def _finished(self, event: dict[str, Any]) -> None:
        address, head = self._addresses.get(event["requestId"], ("", 0))
        self.sent.append((address, int(event["encodedDataLength"]) - head))

    def of(self, words: str) -> list[int]:
        return [size for url, size in self.sent if words in url]


@contextmanager
def chromium() -> Iterator[Browser]:
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        raise SystemExit("no chromium: apt-get install -y --no-install-recommends chromium fonts-dejavu-core")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield browser
        browser.close()


def signed_in(browser: Browser, url: str, cookie: str) -> BrowserContext:
    """A browser with an empty cache that carries the session of somebody who has signed in."""
    context = browser.new_context(base_url=url, viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    pairs = [pair.split("=", 1) for pair in cookie.split("; ")]
    context.add_cookies([{"name": name, "value": value, "url": url} for name, value in pairs])
    context.add_init_script(WATCH)
    return context


def first_visit(browser: Browser, url: str, cookie: str) -> dict[str, float | None]:
    """One visit with an empty cache: milliseconds of each step, bytes and requests, heap."""
    context = signed_in(browser, url, cookie)
    page = context.new_page()
    wire = Wire(page)
    page.goto("/", wait_until="domcontentloaded")
    page.wait_for_function("() => bench.ready !== null", timeout=READY_MS)
    found: dict[str, float | None] = {
        "text": page.evaluate(FIRST_PAINT),
        "answer": page.evaluate(SENT),
        "map": page.evaluate("() => bench.ready"),
        "requests": len(wire.sent),
        "document": max((size for address, size in wire.sent if address.rstrip("/") == url.rstrip("/")), default=0),
        "data": sum(wire.of("/fleet/map/")),
        "script": sum(wire.of(".js")),
        "full map": max(wire.of("/fleet/map/nodes/"), default=0),
    }
    settled = page.evaluate("() => performance.now()")
    found |= _uses(page)
    found["gpu map"] = max(wire.of("/fleet/map/gpus/"), default=0)
    found["longest task"] = page.evaluate(LONG_SINCE, settled)
    found["heap"] = page.evaluate(HEAP)
    context.close()
    return found


def _uses(page: Page) -> dict[str, float | None]:
    """Switching and pointing, on the settled page."""
    page.evaluate(HOVER, [40, 30])  # brings the names
    page.wait_for_timeout(500)
    hovers = [page.evaluate(HOVER, [x, 30 + x % 40]) for x in range(60, 460, 40)]
    known = sorted(took for took in hovers if took is not None)
    measured = {
        "hover": known[len(known) // 2] if known else None,
        "measure": page.evaluate(SWITCH, "stranded"),
        "gpus": page.evaluate(SWITCH, "gpus"),
    }
    measured["gpus draw"] = page.evaluate("() => bench.paints.at(-1)[2]")
    return measured


@contextmanager
def watching(browser: Browser, url: str, cookie: str) -> Iterator[tuple[Page, Wire]]:
    """An open fleet page that follows what is pushed."""
    context = signed_in(browser, url, cookie)
    page = context.new_page()
    wire = Wire(page)
    page.goto("/", wait_until="domcontentloaded")
    page.wait_for_function("() => bench.ready !== null", timeout=READY_MS)
    page.wait_for_timeout(1500)
    page.evaluate("() => { bench.paints.length = 0; }")
    wire.sent.clear()
    yield page, wire
    context.close()


def paints(page: Page) -> list[tuple[int, int, float]]:
    """(revision, Unix milliseconds when it was on the screen, milliseconds that drawing took)."""
    return [(int(row[0]), int(row[1]), float(row[2])) for row in page.evaluate("() => bench.paints")]


def pump(page: Page, seconds: float) -> None:
    """Lets the browser's events come in for a while."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        page.wait_for_timeout(200)
