"""Internal: A JSON document as text, as a value, and as the line, column and byte of each JSON pointer.

`io.text` decodes; a separate scanner maps the places, only when a finding needs one.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from typing import Any

from msgspec import Struct

from corpusfmt.io.text import MOST_VALUES, JsonFault, escaped, parsed_json
from corpusfmt.model import Location

_BOM = "\ufeff"
#: A token of a correct JSON text.
TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]++', re.DOTALL)


class EncodingFault(Exception):
    """A document is not UTF-8 from byte `offset` on."""

    def __init__(self, reason: str, offset: int, hint: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset
        self.hint = hint


class Node(Struct, frozen=True):
    """A value at characters of a JSON text: `start` is that of its name, if it has one, and `above` that of what it is in."""

    pointer: str
    start: int
    value: int
    end: int
    above: int


def parent_of(pointer: str) -> str:
    """Return the pointer of the object or array that a value is in."""
    return pointer.rpartition("/")[0]


def name_at(pointer: str) -> str:
    """Return the name of a value, as the author wrote it."""
    return pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")


def decode(data: bytes) -> tuple[str, bool]:
    """Return the text of a document and whether a byte order mark precedes it. Raises `EncodingFault`."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or data[:4].count(0) in (2, 3):
        raise EncodingFault("the text is UTF-16 or UTF-32", 0, "save the file as UTF-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        shown = data[error.start : error.end].hex(" ")
        reason = f"{error.reason} (bytes {shown})"
        raise EncodingFault(reason, error.start, "convert the file to UTF-8 from its actual encoding") from error
    return (text[1:], True) if text.startswith(_BOM) else (text, False)


def parse(text: str, most: int = MOST_VALUES) -> tuple[Any, bool]:
    """Return the value of a JSON text of at most `most` values, and whether some name occurs twice in one object.

    Raises `JsonFault`.
    """
    if not text.strip(" \t\r\n"):
        raise JsonFault("the document is empty", hint="write one JSON object")
    found = parsed_json(text, most)
    return found.value, bool(found.duplicate_keys)


def _unquoted(piece: str) -> str:
    if "\\" not in piece and len(piece) > 1:
        return piece[1:-1]
    try:
        value = json.loads(piece, strict=False)
    except json.JSONDecodeError:
        return ""
    return value if isinstance(value, str) else ""


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


_STEP = 4096


class Places:
    """The places of the nodes of one JSON text in its file.

    `page` is the whole text of the file; the JSON starts at character `start` (0 except for JSON inside HTML).
    `head_bytes` is the length of the byte order mark.
    """

    def __init__(self, path: str, page: str, *, start: int = 0, end: int | None = None, head_bytes: int = 0) -> None:
        self.path = path
        self._page = page
        self._start = start
        self._end = len(page) if end is None else end
        self._head_bytes = head_bytes
        self._ascii = page.isascii()

    def of(self, pointer: str) -> Location:
        """Return the place of the value at a JSON pointer, or of its nearest enclosing node."""
        if not pointer:
            first = TOKEN.search(self._page, self._start, self._end)
            return self._location(first.start() if first is not None else self._start, pointer)
        nearest = pointer
        while nearest not in self._offsets and nearest:
            nearest = nearest.rpartition("/")[0]
        return self._location(self._offsets.get(nearest, self._start), pointer)

    def at_offset(self, offset: int) -> Location:
        """Return the place of a character of the JSON text."""
        return self._location(self._start + offset)

    @property
    def text(self) -> str:
        """The JSON text."""
        return self._page[self._start : self._end]

    def byte_at(self, offset: int) -> int:
        """Return the byte of the file at which a character of the JSON text begins."""
        return self._byte_of(self._start + offset)

    def _location(self, offset: int, pointer: str | None = None) -> Location:
        line = bisect_right(self._lines, offset)
        column = offset - self._lines[line - 1] + 1
        return Location(self.path, line=line, column=column, byte=self._byte_of(offset), pointer=pointer)

    @cached_property
    def _lines(self) -> list[int]:
        """The characters at which lines start."""
        return [0, *(match.end() for match in re.finditer("\n", self._page))]

    @cached_property
    def _steps(self) -> list[int]:
        """The number of bytes before every `_STEP`th character."""
        sizes = (len(_encoded(self._page[start : start + _STEP])) for start in range(0, len(self._page), _STEP))
        return list(accumulate(sizes, initial=0))

    def _byte_of(self, offset: int) -> int:
        if self._ascii:
            return self._head_bytes + offset
        step = offset // _STEP
        return self._head_bytes + self._steps[step] + len(_encoded(self._page[step * _STEP : offset]))

    @cached_property
    def _offsets(self) -> dict[str, int]:
        return {node.pointer: self._start + node.value for node in self.nodes()}

    def repeated(self) -> list[list[Node]]:
        """Return the values of each name that occurs several times in one object."""
        members: dict[tuple[int, str], list[Node]] = {}
        for node in self.nodes():
            members.setdefault((node.above, node.pointer), []).append(node)
        return [nodes for nodes in members.values() if len(nodes) > 1]

    def nodes(self) -> Iterator[Node]:
        """Yield every value of a correct JSON text, each after those inside of it."""
        # Of each open array or object: its pointer, the next index (-1 for an object), its start, value and `above`.
        stack: list[list[Any]] = []
        name: tuple[str, int] | None = None
        for match in TOKEN.finditer(self._page, self._start, self._end):
            piece, offset = match.group(), match.start() - self._start
            if piece in ",:":
                continue
            if piece in "}]":
                pointer, _, start, value, above = stack.pop()
                yield Node(pointer, start, value, match.end() - self._start, above)
                continue
            pointer, start, above = "", offset, -1
            if stack:
                parent, index, _, above, _ = stack[-1]
                if index >= 0:
                    stack[-1][1] += 1
                    pointer = f"{parent}/{index}"
                elif name is None:
                    name = _unquoted(piece), offset
                    continue
                else:
                    pointer, start, name = f"{parent}/{escaped(name[0])}", name[1], None
            if piece in "{[":
                stack.append([pointer, -1 if piece == "{" else 0, start, offset, above])
            else:
                yield Node(pointer, start, offset, match.end() - self._start, above)
