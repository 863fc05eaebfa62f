"""Chromium for `look` and `validating`, which run in an environment with playwright."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

_VIOLATIONS = (
    "async () => (await axe.run({iframes: false})).violations.map(({id, nodes}) => [id, nodes.length, nodes[0].html])"
)


@contextmanager
def chromium(executable: str) -> Iterator[Browser]:
    """Run a browser."""
    with sync_playwright() as play:
        yield play.chromium.launch(executable_path=executable, args=["--no-sandbox"])


def watched(browser: Browser) -> tuple[Page, list[str], list[str]]:
    """Return a new page, what it and its workers say to the console, and what they request."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    heard: list[str] = []
    requests: list[str] = []
    page.on("console", lambda each: heard.append(each.text))
    page.on("pageerror", lambda each: heard.append(str(each)))
    page.context.on("request", lambda each: requests.append(each.url))
    return page, heard, requests


def violations(page: Page, axe: str, shot: str) -> dict[str, Any]:
    """Return what axe says of a page in both colour schemes, and take a screenshot of each."""
    # Not a script of the page, which runs no others.
    page.evaluate(Path(axe).read_text("utf-8"))
    found = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found[f"violations, {scheme}"] = page.evaluate(_VIOLATIONS)
        page.screenshot(path=f"{shot}-{scheme}.png")
    return found
