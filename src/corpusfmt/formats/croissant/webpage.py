"""Internal: Descriptions in web pages: the JSON-LD scripts of an HTML file."""

from __future__ import annotations

import re
from collections.abc import Iterator

_OPENING = re.compile(r"<!--|<script\b", re.IGNORECASE)
_CLOSING = re.compile(r"</script\s*>", re.IGNORECASE)
_JSON_LD = re.compile(r"\btype\s*=\s*[\"']?application/ld\+json", re.IGNORECASE)
_DATASET = re.compile(r'"@type"\s*:\s*(\[[^\]]{0,200})?"[^"]{0,100}Dataset"')


def is_page(name: str, text: str) -> bool:
    """Return whether a file is a web page, by its name or its beginning."""
    return name.lower().endswith((".html", ".htm")) or text[:256].lstrip().lower().startswith(("<!doctype", "<html"))


def scripts(page: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of the content of each JSON-LD script."""
    position = 0
    while (opening := _OPENING.search(page, position)) is not None:
        if opening.group() == "<!--":
            end = page.find("-->", opening.end())
            if end < 0:
                return
            position = end
            continue
        start = page.find(">", opening.end()) + 1
        closing = _CLOSING.search(page, start) if start else None
        if closing is None:
            return
        if _JSON_LD.search(page, opening.end(), start):
            yield start, closing.start()
        position = closing.end()


def has_dataset(page: str, script: tuple[int, int]) -> bool:
    """Return whether a script seems to contain a data set."""
    return _DATASET.search(page, *script) is not None
