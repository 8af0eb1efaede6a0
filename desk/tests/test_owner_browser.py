"""Pages of owners in a real Chromium: nothing serious for axe-core, and a repair by keyboard alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from owned_models import OwnedDesk, owned_desk

browsing = pytest.importorskip("browsing")
pytestmark = pytest.mark.slow

SIZES = {"wide": (1200, 900), "narrow": (400, 800)}
PICTURES = os.environ.get("DESK_PICTURES")


@pytest.fixture(scope="module")
def owned(new_database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnedDesk]:
    with owned_desk(new_database("postgresql"), tmp_path_factory.mktemp("owned")) as own:
        yield own


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing.chromium() as own:
        yield own


def _press(page: Any, selector: str, most: int = 80) -> None:
    """Go to an element with the Tab key, and press Enter."""
    for _ in range(most):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            page.keyboard.press("Enter")
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {selector}")


def _reload_until(page: Any, text: str) -> None:
    """Look at a page again until the service has counted what came."""
    for _ in range(100):
        if page.get_by_text(text).count():
            return
        page.wait_for_timeout(500)
        page.reload()
    raise AssertionError(f"{text!r} does not come up.")


def _look(owned: OwnedDesk, browser: Any, paths: dict[str, str]) -> None:
    """Check pages at both sizes, in both schemes and languages."""
    for size, (width, height) in SIZES.items():
        for scheme in ("light", "dark"):
            for language in ("en", "de"):
                options = {"viewport": {"width": width, "height": height}, "color_scheme": scheme, "locale": language}
                context = browsing.context_of(
                    browser, owned.running.process.address, owned.second, bypass_csp=True, **options
                )
                page = context.new_page()
                for name, path in paths.items():
                    page.goto(path)
                    page.wait_for_load_state("networkidle")
                    assert browsing.faults(page) == [], name
                    overflow = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
                    assert overflow <= 0, f"{name} is {overflow} px too wide"
                    if PICTURES is not None:
                        page.screenshot(path=f"{PICTURES}/{name}-{size}-{scheme}-{language}.png", full_page=True)
                context.close()


def test_a_repair_by_keyboard_alone_on_pages_without_serious_faults(owned: OwnedDesk, browser: Any) -> None:
    address = owned.running.process.address
    context = browsing.context_of(browser, address, owned.owner)
    context.set_default_timeout(300_000)
    page = context.new_page()
    page.goto("/models")
    _press(page, "a[href='/models/square']")
    page.wait_for_url("**/models/square")
    _reload_until(page, "What comes has changed")
    _press(page, "form[action='/models/square/audit'] button.main")
    page.wait_for_url("**/changes/*")
    page.locator("#audit").wait_for()
    paths = {"models": "/models", "model": "/models/square", "audit-change": page.url}
    _press(page, "form[action='/models/square/repair'] button")
    page.locator("#changed").wait_for()
    paths["draft"] = page.url
    _look(owned, browser, paths)
    _press(page, "button[formaction$='/propose']")
    page.get_by_text("another owner has to agree").wait_for()
    proposed = page.url
    context.close()
    _look(owned, browser, {"proposed": proposed})
    context = browsing.context_of(browser, address, owned.second)
    page = context.new_page()
    page.goto(proposed)
    _press(page, "button[formaction$='/agree']")
    page.get_by_text("went live").wait_for()
    page.goto("/models/square")
    _press(page, "form[action$='/challenger'] button")
    page.get_by_text("decides in the shadow since").wait_for()
    _look(owned, browser, {"challenger": "/models/square", "went-live": proposed})
    page.goto("/models/square")
    with page.expect_download() as got:
        _press(page, "a[href^='/models/square/digest']")
    # The browser's own copy has no suffix, and would be shown as text.
    file = owned.home / got.value.suggested_filename
    got.value.save_as(file)
    shown = context.new_page()
    shown.goto(f"file://{file}")
    assert browsing.faults(shown) == []
    if PICTURES is not None:
        shown.screenshot(path=f"{PICTURES}/digest.png", full_page=True)
    _press(page, "form[action$='/roll-back'] button")
    page.get_by_text("Roll back", exact=True).wait_for()
    assert owned.data.live.digest == owned.first
    context.close()
