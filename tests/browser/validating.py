"""Use the page that validates in a browser, and print what happened as JSON. Needs playwright: run by the tests in its environment."""

import json
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from browser.driving import chromium, violations, watched
from playwright.sync_api import Browser, Page

_STATE = "document.body.dataset.state"
_STATUS = "document.getElementById('status').value"
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
# Every way out that scripts of a page and of a worker have.
_REFUSED = """async () => {
  const refused = [];
  const ways = {
    XMLHttpRequest: () => new Promise((done, failed) => {
      const request = new XMLHttpRequest();
      Object.assign(request, {onload: done, onerror: failed});
      request.open("GET", location.origin + "/xhr");
      request.send();
    }),
    WebSocket: () => new Promise((done, failed) => Object.assign(new WebSocket("ws://example.org/"), {onopen: done, onerror: failed})),
    EventSource: () => new Promise((done, failed) => Object.assign(new EventSource(location.origin + "/events"), {onopen: done, onerror: failed})),
    import: () => import(location.origin + "/module.js"),
  };
  if (self.document) ways.fetch = () => fetch("/fetched");
  for (const [name, go] of Object.entries(ways)) await go().catch(() => refused.push(name));
  return refused;
}"""
_TYPED = """async (states) => {
  const text = document.getElementById("text");
  for (const state of states) {
    text.value = state;
    text.dispatchEvent(new Event("input"));
    await new Promise((done) => setTimeout(done, 5));
  }
}"""
# As a person would, one after the other, but within the page: each step from outside takes longer than many checks.
_OPENED = """async (files) => {
  const at = (id) => document.getElementById(id), input = at("file"), found = [];
  const isSettled = () => !["loading", "checking"].includes(document.body.dataset.state);
  const settled = () => new Promise((done) => {
    const watch = new MutationObserver(() => { if (isSettled()) { watch.disconnect(); done(); } });
    watch.observe(document.body, {attributes: true});
    if (isSettled()) done();
  });
  for (const [name, content] of files) {
    const given = new DataTransfer();
    given.items.add(new File([Uint8Array.from(atob(content), (each) => each.charCodeAt(0))], name));
    const begun = performance.now();
    input.files = given.files;
    input.dispatchEvent(new Event("change"));
    await settled();
    const ms = performance.now() - begun;
    if (at("report").hidden) { found.push([at("status").value, ms]); continue; }
    at("json").click();
    found.push([await saved.pop().text(), ms]);
  }
  return found;
}"""


def wait(page: Page, begun: float = 0) -> float:
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
    wait(page)
    content: str = page.evaluate(_LAST)
    return content


def used(page: Page, given: dict[str, Any]) -> dict[str, Any]:
    """Do with the page what it is for."""
    page.evaluate(_KEEP)
    found: dict[str, Any] = {"at first": opened(page, given["first"])}
    # Chromium does not lay out a frame of another origin that is not in view.
    page.locator("#report").scroll_into_view_if_needed()
    rows = page.frame_locator("#report").locator("details.rule[open]").first.locator("ol li")
    rows.first.wait_for()
    found["rows"] = rows.count()
    found["reports"], found["ms"] = zip(*page.evaluate(_OPENED, given["descriptions"]), strict=True)
    page.click("#neurips")
    wait(page)
    found["for NeurIPS"] = saved(page, "json")
    page.evaluate(
        "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => { window.copied = text; }}})"
    )
    page.click("#link")
    found["link"] = page.evaluate("copied")
    page.select_option("[name=profile]", "standard")
    found["ms at 30 kB"] = [ms for _, ms in page.evaluate(_OPENED, [given["at 30 kB"]] * 7)]
    page.evaluate(_TYPED, given["typed"])
    wait(page)
    found["typed"] = page.evaluate(_STATUS)
    opened(page, given["fixable"])
    found["fixed"] = saved(page, "fixed")
    found["repaired"] = page.evaluate(_STATUS)
    found |= mended(page)
    return found


def mended(page: Page) -> dict[str, Any]:
    """Load the example, go to its last finding, and apply the fixes."""
    page.click("#example")
    wait(page)
    found: dict[str, Any] = {"example": page.evaluate(_STATUS)}
    last = page.locator("#found button").last
    found["place"] = last.inner_text().partition(":")[0]
    last.click()
    found["line"] = page.evaluate("() => text.value.slice(0, text.selectionStart).split('\\n').length")
    page.click("#fixes")
    wait(page)
    found["difference"] = page.locator("#diff ins").count()
    page.click("#apply")
    wait(page)
    return found | {"applied": page.evaluate(_STATUS), "left": page.locator("#diff").is_visible()}


def attacked(page: Page, given: dict[str, Any]) -> dict[str, Any]:
    """Give the page what is no description, too large, hostile or gone."""
    found: dict[str, Any] = {"others": [opened(page, path)["said"] for path in given["others"]]}
    found["hostile"] = page.evaluate(_OPENED, [given["hostile"]])[0][0]
    frame = page.frame_locator("#report")
    frame.locator("details").evaluate_all("(all) => all.forEach((each) => { each.open = true; })")
    frame.locator("ol li").first.wait_for(state="attached")
    found["hostile elements"] = frame.locator("img, object, embed, iframe, a[href^=javascript]").count()
    page.evaluate(_FRAMES)
    found["large"] = opened(page, given["large"])
    found["frames"], found["longest frame in ms"] = page.evaluate("[gaps.length, Math.max(...gaps)]")
    page.set_input_files("#file", [])
    page.set_input_files("#file", given["large"])
    while not page.locator("#stop").is_visible():
        time.sleep(0.01)
    page.click("#stop")
    found["stopped"] = page.evaluate(_STATUS)
    found["after a stop"] = opened(page, given["first"])["said"]
    gone = Path(given["gone"])
    opened(page, gone)
    gone.unlink()
    page.dispatch_event("#file", "change")
    wait(page)
    found["gone"] = page.evaluate(_STATUS)
    page.workers[-1].evaluate("() => { setTimeout(() => { throw new Error('an end'); }); }")
    while page.evaluate(_STATE) == "ready":
        time.sleep(0.01)
    wait(page)
    found["after a crash"] = opened(page, given["first"])["said"]
    return found


def faulty(browser: Browser, address: str) -> dict[str, str]:
    """Return what a page says for each resource that does not come, or comes broken."""
    said = {}
    for name in ("worker", "program", "memory", "files"):
        for fault in ("missing", "broken"):
            page = browser.new_page()
            page.route(
                f"**/{name}.bin",
                lambda route: route.abort() if fault == "missing" else route.fulfill(body=b"\x1f\x8b"),  # noqa: B023 - called below
            )
            page.goto(address)
            page.fill("#text", "{}")
            wait(page)
            said[f"{name} {fault}"] = page.evaluate(f"[{_STATE}, {_STATUS}].join(': ')")
            page.close()
    return said


def main(executable: str, address: str, axe: str, folder: str) -> None:
    given = json.loads((Path(folder) / "given.json").read_text("utf-8"))
    with chromium(executable) as browser:
        page, heard, requests = watched(browser)
        begun = time.monotonic()
        page.goto(address)
        found: dict[str, Any] = {"shown after": time.monotonic() - begun}
        found["ready after"] = wait(page, begun)
        urllib.request.urlopen(f"{address}?loaded")
        loaded = len(requests)
        found |= used(page, given) | attacked(page, given)
        found["requests"] = [each for each in requests[loaded:] if not each.startswith(("blob:", "data:"))]
        found["heard"] = list(heard)
        found["refused"] = page.evaluate(_REFUSED)
        found["refused in the worker"] = page.workers[-1].evaluate(_REFUSED)
        urllib.request.urlopen(f"{address}?ended")
        found |= violations(page, axe, f"{folder}/validating")
        second = browser.new_page()
        found["settings"] = []
        for link in (found["link"], f"{address}#profile=__proto__&format=<img>&text={{}}", f"{address}#%ff&&=&profile"):
            second.goto(link)
            second.reload()
            found["settings"].append([second.locator(f"[name={name}]").input_value() for name in ("profile", "format")])
        found["faulty"] = faulty(browser, address)
        print(json.dumps(found))


main(*sys.argv[1:])
