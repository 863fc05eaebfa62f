"""Search the built site in Chromium, and print the first pages that are found for each query as JSON. Needs playwright."""

import json
import sys
from urllib.parse import quote_plus

from browser.driving import chromium, watched


def main(executable: str, address: str, *queries: str) -> None:
    with chromium(executable) as browser:
        page, _, requests = watched(browser)
        first = {}
        for query in queries:
            # Links to what was found for an earlier query take the new one before what it finds is there.
            page.goto(address, wait_until="networkidle")
            page.keyboard.press("Control+k")
            page.keyboard.insert_text(query)
            links = page.locator(f"a[href*='?h={quote_plus(query)}']")
            links.first.wait_for()
            first[query] = links.evaluate_all("(all) => [...new Set(all.map((each) => each.pathname))].slice(0, 5)")
        print(json.dumps({"first": first, "requests": requests}))


main(*sys.argv[1:])
