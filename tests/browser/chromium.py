"""Debian's chromium under Playwright."""

import os
import shutil

from playwright.sync_api import Browser, Playwright

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


def launch(playwright: Playwright) -> Browser:
    """CHROMIUM names another program. None at all is a failure, not a reason to skip."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "no chromium: apt-get install -y --no-install-recommends chromium fonts-dejavu-core"
    return playwright.chromium.launch(executable_path=path, args=QUIET)
