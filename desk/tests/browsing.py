"""A real Chromium on pages of a running desk, and axe-core for faults that keep people out."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
from playwright.sync_api import BrowserContext, Page, sync_playwright

OWN = Path(__file__).parent / "axe"
# Installed once for a user, since npm takes a while.
HOME = Path(tempfile.gettempdir()) / "sepc-desk-axe"
CHROMIUM = os.environ.get("DESK_CHROMIUM", shutil.which("chromium") or "/usr/bin/chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SERIOUS = ("serious", "critical")


def axe_script() -> str:
    """The source of axe-core."""
    script = HOME / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        HOME.mkdir(exist_ok=True)
        shutil.copy(OWN / "package.json", HOME)
        subprocess.run(["npm", "install", "--silent", "--no-package-lock", "--no-audit"], cwd=HOME, check=True)
    return script.read_text()


@contextmanager
def chromium() -> Iterator[Any]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def context_of(browser: Any, address: str, person: str | httpx.Client, **options: Any) -> BrowserContext:
    """A window of a person who holds a key, or who has signed in with a client."""
    headers = {"Authorization": f"Bearer {person}"} if isinstance(person, str) else {}
    context: BrowserContext = browser.new_context(base_url=address, extra_http_headers=headers, **options)
    if not isinstance(person, str):
        context.add_cookies([{"name": name, "value": value, "url": address} for name, value in person.cookies.items()])
    context.set_default_timeout(30_000)
    return context


def faults(page: Page) -> list[str]:
    """Serious faults that axe-core finds on a page, with what they are about."""
    page.evaluate(axe_script())
    found = page.evaluate("async () => (await axe.run(document)).violations")
    return [
        f"{one['id']} ({one['impact']}): {node['target']} {node['failureSummary']}"
        for one in found
        if one["impact"] in SERIOUS
        for node in one["nodes"]
    ]
