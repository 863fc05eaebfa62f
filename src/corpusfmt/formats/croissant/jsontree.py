"""A JSON document as text, as a value, and as places: which line, column and byte each JSON pointer stands at.

Decoding is the standard library's; the map of places is built by a scanner of our own, and only when a finding needs one.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from corpusfmt.io.text import MOST_VALUES, has_too_many_values
from corpusfmt.model import Location

#: Levels of arrays and objects; the deepest published description has 17, and what recurses here stays far below its limit.
MAX_DEPTH = 128

_BOM = "\ufeff"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_HIGH = r"\\u[dD][89abAB][0-9a-fA-F]{2}"
_LOW = r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_LONE_ESCAPE = re.compile(f"{_HIGH}(?!{_LOW})|(?<!{_HIGH}){_LOW}")

FaultKind = Literal["syntax", "encoding", "depth"]


class JsonFault(Exception):
    """A document is not one JSON value; `offset` counts characters of its text (bytes, where it is not text)."""

    def __init__(self, kind: FaultKind, reason: str, offset: int = 0, hint: str = "") -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.offset = offset
        self.hint = hint


@dataclass(frozen=True, slots=True)
class DuplicateName:
    """A name that stands twice in one object: the pointer of its value, and the offsets of both names."""

    pointer: str
    name: str
    first: int
    again: int


def decode(data: bytes) -> tuple[str, bool]:
    """Return the text of a document and whether a byte order mark stood before it. Raises `JsonFault`."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or data[:4].count(0) in (2, 3):
        raise JsonFault("encoding", "UTF-16 or UTF-32 text", hint="save the file as UTF-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        shown = data[error.start : error.end].hex(" ")
        reason = f"{error.reason} (bytes {shown})"
        raise JsonFault("encoding", reason, error.start, "save the file as UTF-8 from its true encoding") from error
    return (text[1:], True) if text.startswith(_BOM) else (text, False)


def parse(text: str, most: int = MOST_VALUES) -> tuple[Any, bool]:
    """Return the value of a JSON text of at most so many values, and whether some name stands twice in one object.

    Raises `JsonFault`.
    """
    if not text.strip(" \t\r\n"):
        raise JsonFault("syntax", "an empty document", hint="write one JSON object")
    if len(text) > most and has_too_many_values(text.encode("utf-8", "surrogatepass"), most):
        reason = f"more than {most} values, which would have to be in memory at once"
        raise JsonFault("depth", reason, hint="put records into files of JSON Lines")
    duplicates = False

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal duplicates
        found = dict(pairs)
        duplicates = duplicates or len(found) < len(pairs)
        return found

    def refuse(name: str) -> Any:
        raise JsonFault("syntax", f"`{name}` is no JSON number", text.find(name), "write null, or a number")

    try:
        value = json.loads(text, object_pairs_hook=collect, parse_constant=refuse, parse_int=_integer)
    except json.JSONDecodeError as error:
        _refuse_depth(text)
        raise JsonFault("syntax", _reason(error, text), error.pos) from error
    except RecursionError as error:
        _refuse_depth(text)
        raise JsonFault("depth", "nested deeper than can be read") from error
    if _is_too_deep(value):
        _refuse_depth(text)
    _refuse_surrogates(text, value)
    return value, duplicates


def _integer(digits: str) -> int | float:
    # Python refuses to convert integers of more than some thousand digits; as a number that is beyond any reader anyway.
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def _reason(error: json.JSONDecodeError, text: str) -> str:
    if error.msg == "Extra data":
        return "text after the end of the JSON value"
    reason = (error.msg[:1].lower() + error.msg[1:]).removesuffix(" starting at").removesuffix(" at")
    return f"{reason}: the document ends here" if error.pos >= len(text.rstrip()) else reason


def _is_too_deep(value: Any) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH + 1):
        level = [
            each
            for node in level
            for each in (node.values() if type(node) is dict else node)
            if type(each) is dict or type(each) is list
        ]
        if not level:
            return False
    return True


def _refuse_depth(text: str) -> None:
    depth = 0
    for match in _BRACKET.finditer(text):
        piece = match.group()
        if piece in "{[":
            depth += 1
            if depth > MAX_DEPTH:
                reason = f"nested deeper than {MAX_DEPTH} levels"
                raise JsonFault("depth", reason, match.start(), "flatten the description")
        elif piece in "}]":
            depth -= 1


def _refuse_surrogates(text: str, value: Any) -> None:
    if "\\ud" not in text and "\\uD" not in text:
        return  # much faster than the pattern, and true of nearly every document
    escape = _LONE_ESCAPE.search(text)
    if escape is None:
        return
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            if _LONE_SURROGATE.search(node):
                reason = "a lone surrogate escape is no character"
                raise JsonFault("syntax", reason, escape.start(), "write the character itself")
        elif isinstance(node, dict):
            pending.extend(node)
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)


def _unquoted(piece: str) -> str:
    if "\\" not in piece and len(piece) > 1:
        return piece[1:-1]
    try:
        value = json.loads(piece, strict=False)
    except json.JSONDecodeError:
        return ""
    return value if isinstance(value, str) else ""


def escaped(name: str) -> str:
    """Return a name as one token of a JSON pointer (RFC 6901, section 3)."""
    return name.replace("~", "~0").replace("/", "~1") if "~" in name or "/" in name else name


class Places:
    """Where the nodes of one JSON text stand in its file.

    `page` is the whole text of the file, of which the JSON starts at character `start` (0 but for JSON inside HTML);
    `head_bytes` is what stands before that text in the file: a byte order mark.
    """

    def __init__(self, path: str, page: str, *, start: int = 0, end: int | None = None, head_bytes: int = 0) -> None:
        self.path = path
        self._page = page
        self._start = start
        self._end = len(page) if end is None else end
        self._head_bytes = head_bytes
        self._ascii = page.isascii()
        self._line_starts = [0]

    def of(self, pointer: str) -> Location:
        """Return the place of a value by its JSON pointer; of the nearest node around it where it is not found."""
        if not pointer:
            first = _TOKEN.search(self._page, self._start, self._end)
            return self._location(first.start() if first is not None else self._start, pointer)
        nearest = pointer
        while nearest not in self._offsets and nearest:
            nearest = nearest.rpartition("/")[0]
        return self._location(self._offsets.get(nearest, self._start), pointer)

    def at_offset(self, offset: int) -> Location:
        """Return the place of a character of the JSON text."""
        return self._location(self._start + offset)

    def _location(self, offset: int, pointer: str | None = None) -> Location:
        starts = self._starts_of_lines_up_to(offset)
        line = bisect_right(starts, offset)
        column = offset - starts[line - 1] + 1
        byte = offset if self._ascii else len(self._page[:offset].encode("utf-8", "surrogatepass"))
        return Location(self.path, line=line, column=column, byte=byte + self._head_bytes, pointer=pointer)

    def _starts_of_lines_up_to(self, offset: int) -> list[int]:
        # Most descriptions have a few findings near their top, and need no list of all their lines.
        starts = self._line_starts
        while starts[-1] <= offset and (end := self._page.find("\n", starts[-1])) >= 0:
            starts.append(end + 1)
        return starts

    @cached_property
    def _offsets(self) -> dict[str, int]:
        return {pointer: offset for pointer, offset, _ in self._nodes()}

    def duplicates(self) -> Iterator[DuplicateName]:
        """Yield each name that stands again in its object."""
        names: dict[str, int] = {}
        for pointer, _, name in self._nodes():
            if name is None:
                continue
            offset, written = name
            if pointer in names:
                yield DuplicateName(pointer, written, names[pointer] - self._start, offset - self._start)
            names.setdefault(pointer, offset)

    def _nodes(self) -> Iterator[tuple[str, int, tuple[int, str] | None]]:
        """Yield (pointer, offset of the value, offset and text of its name) of every value of a correct JSON text."""
        # A frame: the pointer of an open array or object, and its next index or its pending name.
        stack: list[tuple[str, int]] = []
        pending: tuple[str, tuple[int, str]] | None = None
        for match in _TOKEN.finditer(self._page, self._start, self._end):
            piece = match.group()
            if piece in ",:":
                continue
            if piece in "}]":
                stack.pop()
                continue
            name = None
            if not stack:
                pointer = ""
            elif stack[-1][1] >= 0:
                parent, index = stack[-1]
                stack[-1] = (parent, index + 1)
                pointer = f"{parent}/{index}"
            elif pending is None:
                written = _unquoted(piece)
                pending = (f"{stack[-1][0]}/{escaped(written)}", (match.start(), written))
                continue
            else:
                pointer, name = pending
                pending = None
            yield pointer, match.start(), name
            if piece == "{":
                stack.append((pointer, -1))
            elif piece == "[":
                stack.append((pointer, 0))
