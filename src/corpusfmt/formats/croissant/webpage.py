"""Internal: Descriptions in web pages: the JSON-LD scripts of an HTML file."""

from __future__ import annotations

import re
from collections.abc import Iterator

_OPENING = r"(?i)<!--|<script\b"
_CLOSING = r"(?i)</script\s*>"
_JSON_LD = r"(?i)\btype\s*=\s*[\"']?application/ld\+json"
_DATASET = r'"@type"\s*:\s*(\[[^\]]{0,200})?"[^"]{0,100}Dataset"'


def is_page(name: str, text: str) -> bool:
    """Return whether a file is a web page, by its name or its beginning."""
    return name.lower().endswith((".html", ".htm")) or text[:256].lstrip().lower().startswith(("<!doctype", "<html"))


def scripts(page: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of the content of each JSON-LD script."""
    opening_of, closing_of, json_ld = map(re.compile, (_OPENING, _CLOSING, _JSON_LD))
    position = 0
    while (opening := opening_of.search(page, position)) is not None:
        if opening.group() == "<!--":
            end = page.find("-->", opening.end())
            if end < 0:
                return
            position = end
            continue
        start = page.find(">", opening.end()) + 1
        closing = closing_of.search(page, start) if start else None
        if closing is None:
            return
        if json_ld.search(page, opening.end(), start):
            yield start, closing.start()
        position = closing.end()


def has_dataset(page: str, script: tuple[int, int]) -> bool:
    """Return whether a script seems to contain a data set."""
    return re.compile(_DATASET).search(page, *script) is not None
