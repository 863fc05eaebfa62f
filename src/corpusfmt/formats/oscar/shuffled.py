"""Internal: OSC110: whether the lines of a 1.0 release are documents, which depends on all its parts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from heapq import nlargest

from corpusfmt.formats.oscar.ruleset import RULES, TEXT
from corpusfmt.io.paths import Entry
from corpusfmt.io.streams import Chunks, StreamFault
from corpusfmt.model import Severity

# A text without a blank line in this many bytes counts as having none, and a release if this many of its largest texts do.
_FAR = 8 * 1024 * 1024
_MOST_TEXTS = 64
_BLANK_LINE = re.compile(rb"\n[ \t\r]*\n")


LINES_AS_DOCUMENTS = RULES.finding(
    "OSC110",
    "lines-as-documents",
    """No text of a 1.0 release has a blank line, so each line is read as a document.

    Why: 1.0 was published twice, as documents separated by blank lines and as shuffled lines. A text of one document has no
    blank line either, so all texts of a release are read the same way: as documents if any of them has a blank line.
    Example: a shuffled release; a single text with one document, checked alone.
    Fix: no action is needed for shuffled lines; otherwise pass the whole release, or end documents with a blank line.
    """,
    severity=Severity.INFO,
    grades={"1.1": None},
    spec=TEXT,
)


def is_shuffled(texts: Iterable[Entry]) -> bool:
    """Return whether the lines of a release are documents; unreadable texts do not count."""
    shuffled = False
    for text in nlargest(_MOST_TEXTS, texts, key=lambda text: text.size):
        has_blank_line = _has_blank_line(text)
        if has_blank_line:
            return False
        shuffled = shuffled or has_blank_line is False
    return shuffled


def _has_blank_line(text: Entry) -> bool | None:
    """Return whether a text has a blank line; None for an empty or truncated text."""
    size = 0
    before = b"\n"
    try:
        with text.open() as file:
            for chunk in Chunks(file, "gzip"):
                data = before + chunk
                if _BLANK_LINE.search(data):
                    return True
                size += len(chunk)
                if size >= _FAR:
                    return False
                # Blanks are not carried over: there may be megabytes of them.
                last = data.rfind(b"\n")
                before = b"" if last < 0 or data[last:].strip(b"\n \t\r") else b"\n"
    except OSError:
        return None
    except StreamFault as fault:
        if fault.is_broken:
            return None
    return False if size else None
