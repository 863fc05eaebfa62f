"""Internal: JSON documents that are too large for memory: the elements of arrays in them, read one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from corpusfmt.formats.croissant.data.batches import Broken, NotRead
from corpusfmt.formats.croissant.data.csvrows import BOM
from corpusfmt.formats.croissant.data.findings import DATA_ARCHIVE_CORRUPT
from corpusfmt.formats.general import out_of_range
from corpusfmt.io.jsonlines import decoded_value
from corpusfmt.io.text import JsonFault, NumberFault, utf8_fault
from corpusfmt.model import Fault, Location, Problem

_BLANK = re.compile(rb"[ \t\n\r]*+")
# Opening and closing brackets, and whole strings, in which brackets do not count.
_MARK = re.compile(rb'[^"\[\]{}]*+(?:("[^"\\]*+(?:\\.[^"\\]*+)*+")|([\[{])|([\]}]))', re.DOTALL)
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_SCALAR = re.compile(rb"[^,\[\]{}: \t\n\r\"]*+")


class Elements:
    """The elements of the array at a path of names, each of at most `most` bytes, from the chunks of a document.

    Each comes with its size in bytes. `found` shows afterwards whether there is such an array. Iteration raises `Broken` for
    a text that is not JSON, and `NotRead` for a value that is too large.
    """

    def __init__(self, path: str, chunks: Iterator[bytes], names: Sequence[str], most: int) -> None:
        self._path = path
        self._chunks = chunks
        self._names = names
        self._most = most
        self._data = b""
        self._at = 0
        self._line = 1
        self._size = 0
        self.found = False

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        self._begin()
        yield from self._value(self._names)
        self._finish()

    def tables(self) -> Iterator[tuple[str | None, Any, int]]:
        """Yield, instead, the elements of the array that the document is, or of each array in the object that it is, with
        the name of the array there.
        """
        self._begin()
        opening = self._next()
        if opening == b"[":
            yield from ((None, *each) for each in self._array())
        elif opening == b"{":
            yield from self._arrays()
        else:
            self._decoded()
        self._finish()

    def _arrays(self) -> Iterator[tuple[str, Any, int]]:
        seen = set()
        for name in self._members():
            if name in seen:
                raise self._broken(f"`{name}` is there twice")
            seen.add(name)
            if self._next() == b"[":
                yield from ((name, *each) for each in self._array())
            else:
                self._decoded()

    def _begin(self) -> None:
        self._more()
        self._data = self._data.removeprefix(BOM)
        if b"\0" in self._data[:4]:
            raise NotRead(f"`{self._path}` is JSON that is not UTF-8, and too large to be held", self._path)

    def _finish(self) -> None:
        if self._next():
            raise self._broken("something follows the value")

    def _value(self, names: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """Yield the elements at a path of names in the next value, and skip the rest of it."""
        opening = self._next()
        if names and opening == b"{":
            yield from self._object(names)
        elif not names and opening == b"[":
            self.found = True
            yield from self._array()
        elif not names and opening == b"{":
            raise NotRead(f"`{self._path}` has an object where an array of records was expected", self._path)
        else:
            self._decoded()

    def _object(self, names: Sequence[str]) -> Iterator[tuple[Any, int]]:
        seen = False
        for name in self._members():
            if name != names[0]:
                self._decoded()
            elif seen:
                raise self._broken(f"`{name}` is there twice")
            else:
                seen = True
                yield from self._value(names[1:])

    def _members(self) -> Iterator[str]:
        """Yield the names in the object here, each before its value, which is then to be read."""
        self._at += 1
        if self._next() == b"}":
            self._at += 1
            return
        while True:
            name = self._decoded() if self._next() == b'"' else None
            if name is None or self._next() != b":":
                raise self._broken("a member has no name, or no value")
            self._at += 1
            yield name
            if self._ends(b"}"):
                return

    def _array(self) -> Iterator[tuple[Any, int]]:
        self._at += 1
        if self._next() == b"]":
            self._at += 1
            return
        while True:
            value = self._decoded()
            yield value, self._size
            if self._ends(b"]"):
                return

    def _ends(self, closing: bytes) -> bool:
        """Return whether an object or array ends here, and skip its end or the separator of its values."""
        mark = self._next()
        if mark not in (closing, b",") or not mark:
            raise self._broken(f"expected `,` or `{closing.decode()}`")
        self._at += 1
        return mark == closing

    def _more(self) -> bool:
        """Read on, and drop the bytes before the position."""
        self._line += self._data.count(b"\n", 0, self._at)
        held = self._data[self._at :]
        chunk = b""
        # At least doubles the buffer, so that a large value is not copied once for each chunk.
        while len(chunk) <= len(held) and (part := next(self._chunks, b"")):
            chunk += part
        self._data = held + chunk
        self._at = 0
        if len(held) > self._most:
            reason = (
                f"`{self._path}` has a value of over {self._most:,} bytes, which has to be held whole: write JSON Lines"
            )
            raise NotRead(reason, self._path)
        return bool(chunk)

    def _next(self) -> bytes:
        """Return the next byte that is not white space, or none at the end."""
        while True:
            blank = _BLANK.match(self._data, self._at)
            self._at = blank.end() if blank is not None else self._at
            if self._at < len(self._data):
                return self._data[self._at : self._at + 1]
            if not self._more():
                return b""

    def _decoded(self) -> Any:
        """Return the next value."""
        opening = self._next()
        if opening == b'"':
            end = self._end_of_match(_STRING)
        elif opening in (b"[", b"{") and opening:
            end = self._end_of_nested()
        else:
            end = self._end_of_match(_SCALAR)
        data = self._data[self._at : end]
        try:
            value = decoded_value(data)
        except UnicodeDecodeError as error:
            fault = utf8_fault(data)
            raise self._broken(f"not UTF-8: {fault.reason if fault is not None else error.reason}") from error
        except JsonFault as fault:
            raise self._broken(str(fault), fault) from fault
        self._size = end - self._at
        self._at = end
        return value

    def _end_of_match(self, pattern: re.Pattern[bytes]) -> int:
        while True:
            match = pattern.match(self._data, self._at)
            if match is not None and match.end() < len(self._data):
                return match.end()
            if not self._more():
                return match.end() if match is not None else len(self._data)

    def _end_of_nested(self) -> int:
        depth, place = 0, 0  # the position counts from the start of the value, which stays in the buffer
        while True:
            match = _MARK.match(self._data, self._at + place)
            if match is None:
                if not self._more():
                    raise self._broken("it ends within a value")
                continue
            place = match.end() - self._at
            depth += (match[2] is not None) - (match[3] is not None)
            if depth == 0:
                return match.end()

    def _broken(self, reason: str, fault: JsonFault | None = None) -> Broken:
        at = Location(self._path, line=self._line + self._data.count(b"\n", 0, self._at))
        if isinstance(fault, NumberFault):
            return Broken(out_of_range(at, fault))
        problem = Problem(f"the JSON does not read to its end: {reason}", at, "write it again as UTF-8")
        return Broken(Fault(DATA_ARCHIVE_CORRUPT, problem))
