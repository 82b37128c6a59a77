"""Accessibility of a page as axe-core judges it."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

AXE = Path(__file__).resolve().parent.parent.parent / "node_modules" / "axe-core" / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def violations(page: Page) -> list[str]:
    """One line per violation; [] where there is none."""
    # Through the debugger: the page's own policy refuses scripts from outside, as it should.
    session = page.context.new_cdp_session(page)
    session.send("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
    session.detach()
    found: list[dict[str, Any]] = page.evaluate(
        "async (tags) => (await axe.run({runOnly: {type: 'tag', values: tags}})).violations", TAGS
    )
    return [f"{rule['id']} ({rule['impact']}): {_where(rule)}" for rule in found]


def _where(rule: dict[str, Any]) -> str:
    return "; ".join(f"{node['target'][0]} {node['html'][:120]}" for node in rule["nodes"][:5])
