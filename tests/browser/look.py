"""Open a page in Chromium, use it, and print what happened as JSON. Needs playwright: run by the tests in its environment."""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from browser.driving import chromium, violations, watched
from playwright.sync_api import Page

_TIMED = """(value) => new Promise((done) => {
  const form = document.querySelector("form"), begun = performance.now();
  form.text.value = value;
  form.text.dispatchEvent(new Event("input", {bubbles: true}));
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begun)));
})"""
_VISIBLE = "() => [...document.querySelectorAll('details.rule')].filter((box) => !box.hidden).map((box) => box.id)"
_FIRST = "(table) => [...table.tBodies[0].rows].slice(0, 3).map((row) => row.cells[0].firstChild.textContent)"
_CLOSED = "() => document.querySelectorAll('details:not([open])').length"
_WATCH_PRINTING = f"() => addEventListener('beforeprint', () => {{ window.printed = ({_CLOSED})(); }})"


def settle(page: Page) -> None:
    """Wait until what was done to the form is shown: the page answers in the next frame."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def report(page: Page) -> dict[str, Any]:
    """Filter, open and close, and return what is shown then."""
    count = page.locator("output")
    found: dict[str, Any] = {"all": count.evaluate("(each) => each.value")}
    found["filtered in ms"] = page.evaluate(_TIMED, "number 777")
    found["filtered"] = count.evaluate("(each) => each.value")
    page.fill("[name=text]", "")
    page.select_option("[name=rule]", "DOL304")
    settle(page)
    found["of one rule"] = page.evaluate(_VISIBLE)
    page.select_option("[name=rule]", "")
    page.uncheck("[name=error]")
    settle(page)
    found["without errors"] = page.evaluate(_VISIBLE)
    page.check("[name=error]")
    settle(page)
    box = page.locator(f"[id='{page.evaluate(_VISIBLE)[1]}']")
    box.locator("summary").click()
    rows = box.locator("ol li")
    rows.first.wait_for(state="attached")
    found["opened"] = rows.count()
    rows.last.scroll_into_view_if_needed()
    rows.nth(200).wait_for(state="attached")
    found["scrolled"] = rows.count()
    return found


def datasheet(page: Page) -> dict[str, Any]:
    """Sort the table of languages with the keyboard, open a sample, print, and return what is shown then."""
    table = page.locator("section[aria-labelledby=languages] table")
    found: dict[str, Any] = {"at first": table.evaluate(_FIRST), "closed at first": page.evaluate(_CLOSED)}
    for key, title in (("by name", "language"), ("by documents", "documents"), ("by fewest", "documents")):
        button = table.get_by_role("button", name=title, exact=True)
        button.focus()
        page.keyboard.press("Enter")
        sort = button.evaluate("(each) => each.closest('th').ariaSort")
        found[key] = [sort, table.evaluate(_FIRST)]
    page.locator("section[aria-labelledby=samples] summary").first.press("Enter")
    found["samples"] = page.locator("details[open] blockquote").count()
    page.evaluate(_WATCH_PRINTING)
    found["pages"] = page.pdf(format="A4").count(b"/Type /Page\n")
    found["closed when printed"], found["closed"] = page.evaluate(f"() => [window.printed, ({_CLOSED})()]")
    page.evaluate("scrollTo(0, 0)")
    return found


_USES: Mapping[str, Callable[[Page], dict[str, Any]]] = {"report": report, "datasheet": datasheet}


def main(kind: str, executable: str, address: str, axe: str, folder: str) -> None:
    with chromium(executable) as browser:
        page, heard, requests = watched(browser)
        page.goto(address)
        found: dict[str, Any] = {"address": address, "ready in ms": page.evaluate("performance.now()")}
        found |= _USES[kind](page) | violations(page, axe, f"{folder}/{kind}")
        print(json.dumps(found | {"heard": heard, "requests": requests}))


main(*sys.argv[1:])
