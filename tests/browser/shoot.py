"""Take a screenshot of a page from some element on: `shoot.py CHROMIUM ADDRESS SELECTOR SCHEME FILE`. Needs playwright."""

import sys

from playwright.sync_api import sync_playwright


def main(chromium: str, address: str, place: str, scheme: str, target: str) -> None:
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-lcd-text"])
        page = browser.new_page(viewport={"width": 880, "height": 440}, color_scheme=scheme)
        page.goto(address)
        page.locator(place).evaluate("(each) => scrollTo(0, each.getBoundingClientRect().top - 16)")
        page.screenshot(path=target)


main(*sys.argv[1:])
