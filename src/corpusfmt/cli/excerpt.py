"""Internal: The lines of local files that findings are about, for people: cut to a width, with a caret below the place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from unicodedata import combining, east_asian_width

from corpusfmt.cli.inputs import expanded
from corpusfmt.io.paths import Entry, is_url
from corpusfmt.io.streams import codec_of_content
from corpusfmt.model import Location, UsageError
from corpusfmt.wording import plain

# What is shown of a line before the place and from it on, in characters.
_BEFORE, _AFTER = 40, 60
# What is read: around a place, at most before it in its line, and of a character, in bytes.
_AROUND, _MOST_BEFORE, _CHARACTER = 400, 1 << 20, 4
_HEAD = 8


def excerpts(paths: Sequence[str], *, follow_links: bool) -> Callable[[Location], Iterator[str]]:
    """Return a function that yields the excerpt at a place in what was checked, nothing if there is none to show."""
    local = [(path, path) for path in paths if path != "-" and not is_url(path)]

    @cache
    def inputs() -> list[tuple[str, Entry]]:  # most runs have nothing to show
        with suppress(UsageError):
            return list(expanded(local, follow_links=follow_links)) if len(local) == len(paths) else []
        return []

    def entry_at(path: str) -> Entry | None:
        for shown, entry in inputs():
            if len(inputs()) == 1:
                return entry if entry.name == path else (entry if shown.endswith("/") else entry.folder()).child(path)
            if path == shown or (shown.endswith("/") and path.startswith(shown)):
                return entry.child(path.removeprefix(shown)) if shown.endswith("/") else entry
        return None

    def excerpt(at: Location) -> Iterator[str]:
        if at.line is None or at.byte is None:
            return
        with suppress(OSError, ValueError):
            entry = entry_at(at.path)
            if entry is not None and entry.kind == "file":
                yield from _excerpt(entry, at, at.line, at.byte)

    return excerpt


def _excerpt(entry: Entry, at: Location, line: int, byte: int) -> Iterator[str]:
    column = (at.column or 1) - 1
    with entry.open() as file:
        if codec_of_content(file.read(_HEAD)) != "plain":
            return
        start = max(0, byte - _AROUND)
        file.seek(start)
        _, line_end, before = file.read(byte - start).rpartition(b"\n")
        is_cut = bool(start) and not line_end  # a description on one line, of which the byte is the place
        file.seek(byte - len(before))
        size = len(before) if is_cut else min(column * _CHARACTER, _MOST_BEFORE)
        text = file.read(size + _AROUND).partition(b"\n")[0].removesuffix(b"\r").decode("utf-8", "surrogateescape")
    if is_cut:
        column = len(before.decode("utf-8", "surrogateescape"))
    left, right = text[:column].lstrip(), text[column:]
    if f"{left}{right}".strip() in {"{", "["} or (at.column == 1 and right.startswith("{")):
        return  # the beginning of a whole, of which something is missing
    is_cut |= len(left) > _BEFORE
    left, right = _shown(left[-_BEFORE:]), _shown(right[:_AFTER]) + ("…" if len(right) > _AFTER else "")
    number = f"{line:>6,} | {'…' if is_cut else ''}"
    yield f"{number}{left}{right}".rstrip()
    if at.column is not None:
        gutter = f"{'|':>{number.index('|') + 1}}{' ' * (len(number) - number.index('|') - 1)}"
        yield f"{gutter}{' ' * _columns(left)}^" + (f" {plain(at.pointer)}" if is_cut and at.pointer else "")


def _shown(text: str) -> str:
    return plain(text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))


def _columns(text: str) -> int:
    return sum(0 if combining(each) else 2 if east_asian_width(each) in "FW" else 1 for each in text)
