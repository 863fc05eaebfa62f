"""Internal: Detect formats by the first row of a JSON Lines file."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from corpusfmt.io.paths import Entry, PointerFile
from corpusfmt.io.streams import Chunks, StreamFault, codec_of_name
from corpusfmt.model import Json

# Only the head of a longer first row is examined.
_MOST_BYTES = 8 * 1024 * 1024
# Pointers and what compressors make of nothing or of blank lines are smaller; others are not read for this.
_MOST_WITHOUT_ROWS = 4096
# Blank lines, and a byte order mark: rules judge them.
_BEFORE_ROWS = b" \t\r\n\xef\xbb\xbf"


def first_row_has(entry: Entry, *names: str, without: str | None = None) -> bool:
    """Return whether the first row of a file is an object with these names, or looks like one but cannot be decoded.

    `without` is a name that identifies another format.
    """
    head = _first_row(entry)
    row = _object(head)
    if row is not None:
        return all(name in row for name in names) and without not in row
    found = [name for name in (*names, without) if name is not None and f'"{name}"'.encode() in head]
    return head.startswith(b"{") and found == [*names]


def is_long_row(entry: Entry) -> bool:
    """Return whether the first row of a file is too long to be examined."""
    return len(_first_row(entry)) >= _MOST_BYTES


def is_pointer(entry: Entry) -> bool:
    """Return whether a file is a pointer of Git LFS or Xet in place of the data."""
    try:
        entry.open().close()
    except PointerFile:
        return True
    except OSError:
        return False
    return False


def other_shape(entry: Entry) -> str:
    """Return what a file is instead of rows of JSON Lines, and what to do; empty if nothing shows it."""
    if entry.name.endswith((".csv", ".tsv")):
        return "is a table: write it as JSON Lines or Parquet"
    is_array = ".json" in entry.name and _first_row(entry).lstrip().startswith(b"[")
    return "is one array: write one object per line" if is_array else ""


def first_with_rows(files: Iterable[Entry]) -> Entry | None:
    """Return the first file with a row: not one that is empty, also once it is decompressed, a pointer or unreadable."""
    return next((each for each in files if each.size > _MOST_WITHOUT_ROWS or (each.size and _first_row(each))), None)


def first_row(entry: Entry) -> Json:
    """Return the first row of a file, or an empty object if it cannot be decoded."""
    return _object(_first_row(entry)) or {}


def _first_row(entry: Entry) -> bytes:
    head, left = b"", _MOST_BYTES
    try:
        with entry.open() as file:
            for chunk in Chunks(file, codec_of_name(entry.name), entry.path):
                head = (head + chunk).lstrip(_BEFORE_ROWS)
                left -= len(chunk)
                if b"\n" in head or left <= 0:
                    break
    except (OSError, StreamFault):
        return head.partition(b"\n")[0]
    return head.partition(b"\n")[0]


def _object(line: bytes) -> Json | None:
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return row if isinstance(row, dict) else {}


#: Files that describe their folder.
DESCRIPTIONS = ("croissant.json", "metadata.json")
