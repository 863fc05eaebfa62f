"""Internal: Detect formats by the first rows of JSON Lines, and say what is in files that no format recognises."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import islice
from shlex import quote

import msgspec

from corpusfmt.io.jsonlines import csv_separator
from corpusfmt.io.lines import Block
from corpusfmt.io.paths import Entry, PointerFile, is_hidden, walk
from corpusfmt.io.streams import Chunks, StreamFault, codec_of_content, codec_of_name
from corpusfmt.io.text import has_at, path_to, pointer
from corpusfmt.model import Json, UsageError
from corpusfmt.wording import clipped

# Only the head of a longer first row is examined.
_MOST_BYTES = 8 * 1024 * 1024
# Pointers and what compressors make of nothing or of blank lines are smaller; others are not read for this.
_MOST_WITHOUT_ROWS = 4096
# Blank lines, and a byte order mark: rules judge them.
_BEFORE_ROWS = b" \t\r\n\xef\xbb\xbf"
# Rows of a file, files of a folder, and names, that are looked at.
_MOST_ROWS = 100
_MOST_FILES = 8
_MOST_NAMES = 6
# Files whose sizes are compared, before those are chosen.
_MOST_LISTED = 10_000
_NAME = r"(?s).*\.(?:(?:jsonl|ndjson)(?:\.(?:gz|zst|zstd|xz|bz2|lz4))?|json\.(?:gz|zst|zstd|xz|bz2|lz4))"
_ARCHIVE = r"(?i)\.(?:zip|7z|rar|tgz|tbz2|txz|tar(?:\.\w+)?)$"
_MARKUP = rb"(?i)\s*<(?:(!doctype html|html|head|body)\b|\?xml\b|error>)"
_LINES_OF_AN_OBJECT = rb"\s*\{\s*\n\s*\""
# Strings that are not the text of a document.
_NO_TEXT = r"(?i)(?:^|[_-])(?:id|uuid|url|uri|date|time|timestamp|source|lang|language|hash|digest|sha\d*|md5)$"


def has_name_of_rows(entry: Entry) -> bool:
    """Return whether a file has a name of JSON Lines, CSV or TSV."""
    return re.fullmatch(_NAME, entry.name) is not None or csv_separator(entry.name) != ""


def rows_have(entry: Entry, *names: str, without: str | None = None) -> bool:
    """Return whether at least half of the first rows of a file have these names, or a first row that cannot be decoded looks so.

    `without` is a name that identifies another format.
    """
    head, rows = _head(entry)
    if rows:
        paths = [*map(path_to, names)]
        return 2 * sum(all(has_at(row, path) for path in paths) and without not in row for row in rows) >= len(rows)
    found = [name for name in (*names, without) if name is not None and f'"{path_to(name)[-1]}"'.encode() in head]
    return head.startswith(b"{") and found == [*names]


def main_file(files: Iterable[Entry], fits: Callable[[Entry], bool]) -> Entry | None:
    """Return the first file that fits, if those that do have most of the bytes of files with rows, else None.

    Of many files, the first one and the largest are looked at.
    """
    listed = list(islice(files, _MOST_LISTED))
    first = first_with_rows(listed)
    others = nlargest(_MOST_FILES - 1, (each for each in listed if each is not first), key=lambda each: each.size)
    looked = [each for each in (first, *others) if each is not None and first_with_rows([each])]
    fitting = [each for each in looked if fits(each)]
    most = 2 * sum(each.size or 1 for each in fitting) > sum(each.size or 1 for each in looked)
    return fitting[0] if most else None


def is_long_row(entry: Entry) -> bool:
    """Return whether the first row of a file is too long to be examined."""
    return len(_head(entry)[0]) >= _MOST_BYTES


def is_pointer(entry: Entry) -> bool:
    """Return whether a file is a pointer of Git LFS or Xet in place of the data."""
    try:
        entry.open().close()
    except PointerFile:
        return True
    except OSError:
        return False
    return False


def is_damaged(entry: Entry) -> bool:
    """Return whether nothing of a file can be decompressed, and it does not show that it is something else."""
    try:
        with entry.open() as file:
            next(iter(Chunks(file, codec_of_name(entry.name), entry.path)), b"")
    except StreamFault:
        return not _shape_of(entry)
    except OSError:
        return False
    return False


def other_shape(entry: Entry) -> str:
    """Return what a file is instead of rows of JSON Lines, and what to do; empty if nothing shows it."""
    is_array = ".json" in entry.name and _head(entry)[0].startswith(b"[")
    return "is one array: write one object per line" if is_array else ""


def unrecognised(root: Entry) -> str:
    """Return what is in a file or folder that no format recognises, and what to do; empty if nothing shows it."""
    files = [each for each in (walk(root) if root.kind == "directory" else [root]) if each.kind == "file"]
    shown = [each for each in files if not is_hidden(each.path)]
    if not shown:
        return "the folder is empty" if not files else "all files in it are hidden"
    for each in nlargest(_MOST_FILES, shown, key=lambda each: each.size):
        if shape := _shape_of(each):
            return f"`{each.path}` {shape}"
        if _head(each)[1]:
            return f"`{each.path}` has rows, and no name of JSON Lines: name it `.jsonl`, or the format with --format jsonl"
    return ""


def _shape_of(entry: Entry) -> str:
    try:
        with entry.open() as file:
            start = file.read(_MOST_WITHOUT_ROWS)
    except OSError:
        return ""
    codec = codec_of_name(entry.name)
    if start.startswith(b"PK\x03\x04") or start[257:262] == b"ustar" or re.search(_ARCHIVE, entry.name):
        return "is an archive: unpack it"
    if codec != "plain" and codec_of_content(start) == "plain" and start.lstrip()[:1] == b"{":
        return f"is not compressed, and its name says {codec}: rename it"
    head, _ = _head(entry)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or head.startswith((b"{\0", b"\0{")):
        return "is UTF-16: write it as UTF-8, as with `iconv -f UTF-16 -t UTF-8`"
    if markup := re.match(_MARKUP, head):
        return f"is {'a page of HTML' if markup[1] else 'XML'} in place of data: download it again"
    if re.match(_LINES_OF_AN_OBJECT, start):
        return "has an object over several lines: write one object per line, as with `jq -c .`"
    return other_shape(entry)


def hint_of_text(rows: list[Json]) -> str:
    """Return how to name the text of rows, which is in the longest strings if any."""
    sizes = Counter[str]()
    for row in rows:
        for names, text in _strings(row):
            sizes[names[0] if len(names) == 1 else pointer(*names)] += len(text)
    field = quote(clipped(max(sizes, key=lambda name: sizes[name]))) if sizes else "FIELD"
    return f"name its field with --field text={field}"


def _strings(row: Json) -> Iterator[tuple[Sequence[str], str]]:
    """Yield the strings of a row that may be a text, after the names that lead to them; those in objects last."""
    objects: deque[tuple[list[str], Json]] = deque([([], row)])
    while objects:
        names, values = objects.popleft()
        for name, value in values.items():
            if isinstance(value, dict):
                objects.append(([*names, name], value))
            elif isinstance(value, str) and not re.search(_NO_TEXT, name):
                yield [*names, name], value


def refuse_without(text: str, files: Iterable[Entry]) -> None:
    """Raise `UsageError` if the largest files have rows, and no first row has a text of this name."""
    largest = nlargest(_MOST_FILES, files, key=lambda each: each.size)
    rows = {each.path: found for each in largest if (found := first_rows(each))}
    if rows and not any(has_at(row, path_to(text)) for found in rows.values() for row in found):
        path, found = next(iter(rows.items()))
        names = ", ".join(f"`{clipped(name)}`" for name in islice(found[0], _MOST_NAMES))
        more = ", …" if len(found[0]) > _MOST_NAMES else ""
        raise UsageError(f"`{path}` has rows with {names}{more}, and no `{clipped(text)}`: {hint_of_text(found)}")


def first_with_rows(files: Iterable[Entry]) -> Entry | None:
    """Return the first file with a row: not one that is empty, also once it is decompressed, a pointer or unreadable."""
    return next(
        (each for each in files if each.size > _MOST_WITHOUT_ROWS or (_may_have_rows(each) and _head(each)[0])), None
    )


def _may_have_rows(entry: Entry) -> bool:
    return entry.size > 0 or entry.is_remote  # not every store tells sizes


def first_text(entry: Entry) -> str:
    """Return the text that a file begins with, as far as it can be decoded."""
    try:
        with entry.open() as file:
            return next(iter(Chunks(file, codec_of_name(entry.name), entry.path)), b"").decode(errors="replace")
    except (OSError, StreamFault):
        return ""


def first_row(entry: Entry) -> Json:
    """Return the first row of a file that can be decoded, or an empty object if none can."""
    return next(iter(_head(entry)[1]), {})


def first_rows(entry: Entry) -> list[Json]:
    """Return the first rows of a file, or an empty list if most cannot be decoded."""
    return _head(entry)[1]


def _head(entry: Entry) -> tuple[bytes, list[Json]]:
    """Return the first row of a file as it is, and those of the first rows that are objects, unless most are not."""
    head, left = b"", _MOST_BYTES
    try:
        with entry.open() as file:
            for chunk in Chunks(file, codec_of_name(entry.name), entry.path):
                head = (head + chunk).lstrip(_BEFORE_ROWS)
                left -= len(chunk)
                if head.count(b"\n") > 1 or left <= 0:
                    break
    except (OSError, StreamFault):
        pass
    if separator := csv_separator(entry.name):
        from corpusfmt.io.csvrows import rows_of_csv  # noqa: PLC0415 - imports csv

        whole = Block(head[: head.rfind(b"\n") + 1] or head, 1, 0)
        found = rows_of_csv([whole], separator, _MOST_BYTES, {})
        head = b"".join(each.data for each in found if isinstance(each, Block))
    lines = head.split(b"\n", _MOST_ROWS)[:_MOST_ROWS]
    rows = [row for row in map(_object, lines) if row]
    return lines[0], rows if 2 * len(rows) >= sum(map(bool, lines)) else []


def _object(line: bytes) -> Json:
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


#: Files that describe their folder.
DESCRIPTIONS = ("croissant.json", "metadata.json", "croissant.ttl", "croissant.rdf", "croissant.nt")
