"""Use the page that validates in a browser, and print what happened as JSON. Needs playwright: run by the tests in its environment."""

import json
import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

_STATE = "document.body.dataset.state"
_STATUS = "document.getElementById('status').value"
_VIOLATIONS = (
    "async () => (await axe.run({iframes: false})).violations.map(({id, nodes}) => [id, nodes.length, nodes[0].html])"
)
# What the page saves is kept, as it would be in the file.
_KEEP = """() => {
  window.saved = [];
  const make = URL.createObjectURL.bind(URL);
  URL.createObjectURL = (blob) => { saved.push(blob); return make(blob); };
  HTMLAnchorElement.prototype.click = () => {};
}"""
_LAST = "() => saved.at(-1).text()"
_FRAMES = """() => {
  window.gaps = [];
  let last = performance.now();
  const look = (now) => { gaps.push(now - last); last = now; requestAnimationFrame(look); };
  requestAnimationFrame(look);
}"""
_REFUSED = """async () => {
  const refused = [];
  for (const go of [() => fetch("/"), () => fetch("https://example.org/")]) await go().catch(() => refused.push(true));
  return refused.length;
}"""
_TYPED = """async (states) => {
  const text = document.getElementById("text");
  for (const state of states) {
    text.value = state;
    text.dispatchEvent(new Event("input"));
    await new Promise((done) => setTimeout(done, 5));
  }
}"""


def wait(page: Page, begun: float) -> float:
    """Wait until nothing is checked; the policy of the page forbids to wait in it. Return the seconds since it began."""
    while page.evaluate(_STATE) in {"loading", "checking"}:
        time.sleep(0.01)
    return time.monotonic() - begun


def opened(page: Page, path: str | Path) -> dict[str, Any]:
    """Open a file, and return what is said of it, and after how long."""
    begun = time.monotonic()
    page.set_input_files("#file", [])
    page.set_input_files("#file", path)
    seconds = wait(page, begun)
    return {"said": page.evaluate(_STATUS), "seconds": seconds}


def saved(page: Page, button: str) -> str:
    """Press a button that saves a file, and return its content."""
    page.click(f"#{button}")
    wait(page, 0)
    content: str = page.evaluate(_LAST)
    return content


def main(chromium: str, address: str, axe: str, folder: str) -> None:
    given = json.loads((Path(folder) / "given.json").read_text("utf-8"))
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        heard: list[str] = []
        requests: list[str] = []
        page.on("console", lambda each: heard.append(each.text))
        page.on("pageerror", lambda each: heard.append(str(each)))
        page.context.on("request", lambda each: requests.append(each.url))
        begun = time.monotonic()
        page.goto(address)
        found: dict[str, Any] = {"shown after": time.monotonic() - begun}
        found["ready after"] = wait(page, begun)
        loaded = len(requests)
        page.evaluate(_KEEP)
        found["at first"] = opened(page, given["first"])
        # Chromium does not lay out a frame of another origin that is not in view.
        page.locator("#report").scroll_into_view_if_needed()
        box = page.frame_locator("#report").locator("details.rule").first
        box.locator("summary").click()
        found["rows"] = box.locator("ol li").count()
        found["reports"] = []
        found["seconds"] = []
        for path in given["descriptions"]:
            seen = opened(page, path)
            found["seconds"].append(seen["seconds"])
            shown = page.locator("#report").is_visible()
            found["reports"].append(saved(page, "json") if shown else seen["said"])
        page.click("#neurips")
        wait(page, 0)
        found["for NeurIPS"] = saved(page, "json")
        page.evaluate(
            "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => { window.copied = text; }}})"
        )
        page.click("#link")
        found["link"] = page.evaluate("copied")
        page.select_option("[name=profile]", "standard")
        page.evaluate(_TYPED, given["typed"])
        wait(page, 0)
        found["typed"] = page.evaluate(_STATUS)
        opened(page, given["fixable"])
        found["fixed"] = saved(page, "fixed")
        found["repaired"] = page.evaluate(_STATUS)
        found["others"] = [opened(page, path)["said"] for path in given["others"]]
        page.evaluate(_FRAMES)
        found["large"] = opened(page, given["large"])
        found["frames"], found["longest frame in ms"] = page.evaluate("[gaps.length, Math.max(...gaps)]")
        page.set_input_files("#file", [])
        page.set_input_files("#file", given["large"])
        while not page.locator("#stop").is_visible():
            time.sleep(0.01)
        page.click("#stop")
        found["stopped"] = page.evaluate(_STATUS)
        found["after a stop"] = opened(page, given["first"])
        found["deep"] = opened(page, given["deep"])["said"]
        wait(page, 0)
        found["requests"] = [each for each in requests[loaded:] if not each.startswith(("blob:", "data:"))]
        found["heard"] = list(heard)
        found["refused"] = page.evaluate(_REFUSED)
        # Not a script of the page, which runs no others.
        page.evaluate(Path(axe).read_text("utf-8"))
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            found[f"violations, {scheme}"] = page.evaluate(_VIOLATIONS)
            page.screenshot(path=f"{folder}/validating-{scheme}.png", full_page=True)
        second = browser.new_page()
        second.goto(found["link"])
        found["profile of the link"] = second.locator("[name=profile]").input_value()
        print(json.dumps(found))


main(*sys.argv[1:])
