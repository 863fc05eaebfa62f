"""Open a page in Chromium, use it, and print what happened as JSON. Needs playwright: run by the tests in its environment."""

import json
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

_TIMED = """(value) => new Promise((done) => {
  const form = document.querySelector("form"), begun = performance.now();
  form.text.value = value;
  form.text.dispatchEvent(new Event("input", {bubbles: true}));
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begun)));
})"""
_VISIBLE = "() => [...document.querySelectorAll('details.rule')].filter((box) => !box.hidden).map((box) => box.id)"
_VIOLATIONS = "async () => (await axe.run()).violations.map(({id, nodes}) => [id, nodes.length, nodes[0].html])"


def settle(page: Page) -> None:
    """Wait until what was done to the form is shown: the page answers in the next frame."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def used(page: Page) -> dict[str, Any]:
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
    box = page.locator(f"[id='{page.evaluate(_VISIBLE)[0]}']")
    box.locator("summary").click()
    page.wait_for_function("document.querySelectorAll('details[open] ol li').length > 0")
    found["opened"] = box.locator("ol li").count()
    box.locator("ol li").last.scroll_into_view_if_needed()
    page.wait_for_function("document.querySelectorAll('details[open] ol li').length > 200")
    found["scrolled"] = box.locator("ol li").count()
    return found


def main(chromium: str, address: str, axe: str, folder: str) -> None:
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        heard: list[str] = []
        requests: list[str] = []
        page.on("console", lambda each: heard.append(each.text))
        page.on("pageerror", lambda each: heard.append(str(each)))
        page.on("request", lambda each: requests.append(each.url))
        page.goto(address)
        found: dict[str, Any] = {"address": address, "ready in ms": page.evaluate("performance.now()")}
        found |= used(page)
        page.add_script_tag(content=Path(axe).read_text("utf-8"))
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            found[f"violations, {scheme}"] = page.evaluate(_VIOLATIONS)
            page.screenshot(path=f"{folder}/{scheme}.png")
        print(json.dumps(found | {"heard": heard, "requests": requests}))


main(*sys.argv[1:])
