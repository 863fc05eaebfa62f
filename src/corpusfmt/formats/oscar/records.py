"""Internal: Decode the lines of a metadata file: many usual records at once, or one strictly by the published schema."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats.general import bad_json, bad_text
from corpusfmt.formats.oscar.headers import HEADER_NOT_STRING, METADATA_SCHEMA, clipped
from corpusfmt.io.jsonlines import strict_row
from corpusfmt.io.text import JsonFault, StrictJson, TextFault, pointer, utf8_fault
from corpusfmt.model import Fault, Json, Location, Problem

try:
    from corpusfmt.formats import _native
except ImportError:  # no wheel for this platform and no compiler: the rules judge every record
    _native = None  # type: ignore[assignment]

# A row with an unknown offset; it may belong to any document.
UNKNOWN = -1
#: More lines than any file has.
BEYOND = 1 << 63
#: Larger than any size: replaces an unusable content-length in comparisons.
NO_LENGTH = 1 << 80


def schema_fault(value: Any, at: Location) -> Fault | None:
    """Return the first violation of the published schema in a record, except in header values."""
    found = _deviation(value)
    if found is None:
        return None
    place, message = found
    hint = "write `headers` (an object), `offset` and `nb_sentences` (integers from 0)"
    return Fault(METADATA_SCHEMA, Problem(message, replace(at, pointer=place), hint))


def header_fault(headers: Json, at: Location) -> Fault | None:
    """Return the fault of the first header that is not a string."""
    for name, value in headers.items():
        if not isinstance(value, str):
            message = f"the header `{clipped(name)}` is {described(value)}, expected a string"
            where = replace(at, pointer=pointer("headers", name))
            return Fault(HEADER_NOT_STRING, Problem(message, where, "write the value as a string"))
    return None


def _deviation(value: Any) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return "", f"the record is {described(value)}, expected an object"
    for name in ("headers", "nb_sentences", "offset"):
        if name not in value:
            return "", f"`{name}` is missing"
    if not isinstance(value["headers"], dict):
        return "/headers", f"`headers` is {described(value['headers'])}, expected an object"
    for name in ("nb_sentences", "offset"):
        if as_count(value[name]) is None:
            return f"/{name}", f"`{name}` is {described(value[name])}, expected an integer from 0"
    return None


def as_count(value: Any) -> int | None:
    """Return an integer from 0 by JSON Schema draft-07 (3.0 is one, true is not), at most `BEYOND`; None for others."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not value.is_integer():
        return None
    return min(int(value), BEYOND) if value >= 0 else None


def described(value: Any) -> str:
    """Return a short description of a JSON value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"`{clipped(repr(value))}`" if abs(value) < 1e300 else "a number beyond 1e300"
    if isinstance(value, str):
        return f'the string `"{clipped(value)}"`'
    return "an array" if isinstance(value, list) else "an object"


class CleanRecords(NamedTuple):
    """Consecutive records of which only missing headers and languages may be reported.

    They take up `size` bytes. `lengths` and `ids` (hashes) are None where the header is missing, `headers` are fingerprints.
    `changes` has the first record (from 0) of those that lack the same usual headers, of which each is a bit, and have the
    same languages.
    """

    size: int
    offsets: list[int]
    counts: list[int]
    lengths: list[int | None]
    ids: list[int | None]
    headers: list[int]
    changes: list[tuple[int, int, str | None]]


class Rows:
    """The records of a part in order: offset, lines, content-length, line in the file (from 1)."""

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.counts: list[int] = []
        self.lengths: list[int] = []
        self.lines: list[int] = []

    def __len__(self) -> int:
        return len(self.offsets)

    def add(self, offset: int, count: int, length: int, line: int) -> None:
        self.offsets.append(offset)
        self.counts.append(count)
        self.lengths.append(length)
        self.lines.append(line)

    def extend(self, found: CleanRecords, line: int) -> None:
        """Add consecutive records from a line on."""
        self.offsets += found.offsets
        self.counts += found.counts
        self.lengths += [NO_LENGTH if length is None else length for length in found.lengths]
        self.lines += range(line, line + len(found.offsets))

    def drop(self, number: int) -> None:
        """Forget the first ones."""
        del self.offsets[:number], self.counts[:number], self.lengths[:number], self.lines[:number]


class Unread(Struct, frozen=True):
    """Why a line of metadata cannot be read; a `blank` line is not a record."""

    why: JsonFault | TextFault
    blank: bool = False

    def reported(self, at: Location) -> Fault:
        """Return the fault for a line at a place."""
        if isinstance(self.why, JsonFault):
            return bad_json(at, self.why)
        byte = None if at.byte is None else at.byte + self.why.column - 1
        return bad_text(Location(at.path, at.line, byte, self.why.column), self.why.reason)


def read_record(data: bytes) -> StrictJson | Unread:
    """Decode a line of metadata strictly as JSON."""
    try:
        return strict_row(data)
    except UnicodeDecodeError:
        fault = utf8_fault(data)
        assert fault is not None
        return Unread(fault)
    except JsonFault as error:
        return Unread(error, blank=not data.strip(b" \t\r"))


def clean_records(data: bytes, start: int) -> CleanRecords | None:
    """Return the longest known run of clean records from a line's offset on, None without the kernel, or if a rule may fire."""
    found = _native.records(memoryview(data)[start:]) if _native else None
    return None if found is None else CleanRecords(*found)
