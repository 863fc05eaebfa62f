"""For formats: The types that loaders infer from rows of JSON Lines, as Apache Arrow does it in `datasets`.

A loader reads blocks of 10 MiB and the rest of the last line. The types of the first one are those of the table.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from corpusfmt.model import Json

#: Bytes of text of a block.
BLOCK_BYTES = 10 * 1024 * 1024
#: Decimals of a float that a loader writes as JSON.
DECIMALS = 10
# Kinds of values; a column may have several. TIME is a string that is read as a point in time, OFFSET one whose offset from
# UTC is lost by that, YEAR_0 one that Python has no value for, QUOTING a string that is itself JSON. WIDE is a whole number
# above 2^53, BIG one of more than 64 bits, HUGE one that even unsigned has more, INEXACT one that a float changes. FRACTION
# is a float that is no whole number of 64 bits, LONG one of more than ten decimals; RAGGED are objects with different keys.
# They are kept with the state of a run, so that a new one comes last.
NULL, BOOL, INT, WIDE, BIG, HUGE, FLOAT, FRACTION, LONG, TIME, OFFSET, TEXT, QUOTING, LIST, OBJECT, RAGGED, INEXACT = (
    1 << place for place in range(17)
)
YEAR_0 = 1 << 17
NUMBERS = INT | WIDE | BIG | HUGE | INEXACT | FLOAT | FRACTION | LONG
TIMES = TIME | OFFSET | YEAR_0
TEXTS = TIMES | TEXT | QUOTING
_FLOATS = FLOAT | FRACTION | LONG

# Objects with more keys are maps rather than records: no table has room for them.
_MOST_KEYS = 1000
_EXACT, _LEAST, _MOST = 2**53, -(2**63), 2**63 - 1
# Compiles an expression where it is first used: few commands need any.
_compiled = cache(re.compile)
_TIME = r"(?a)(\d{4}-\d{2}-\d{2})(?:[T ](?:[01]\d|2[0-3])(?::[0-5]\d(?::[0-5]\d)?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?"
# The common form, on a day that the month has in every year.
_DAY = r"(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
_USUAL = rf"(?a)(?!0000)\d{{4}}-{_DAY}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ"
_UTC = frozenset({"", "Z"})


class Seen(Struct, omit_defaults=True):
    """The kinds of values in a column, in the elements of its lists and in the members of its objects."""

    kinds: int = 0
    items: Seen | None = None
    members: dict[str, Seen] = {}

    @property
    def settled(self) -> int:
        """The kinds apart from nulls."""
        return self.kinds & ~NULL

    def has(self, kind: int) -> bool:
        """Return whether a value is of a kind, at any depth."""
        inside = [*self.members.values(), *([self.items] if self.items is not None else [])]
        return bool(self.kinds & kind) or any(each.has(kind) for each in inside)

    def note(self, value: Any) -> None:
        """Add a value."""
        found = type(value)
        if found is str:
            self._note_text(value)
        elif found is dict:
            self._note_object(value)
        elif found is list or found is tuple:
            self._note_lists((value,))
        elif found is int:
            self.kinds |= INT if -_EXACT <= value <= _EXACT else self._wide(value)
        elif found is float:
            whole = value.is_integer() and _LEAST <= value <= _MOST
            self.kinds |= FLOAT | (0 if whole else FRACTION) | (LONG if round(value, DECIMALS) != value else 0)
        else:
            self.kinds |= NULL if value is None else BOOL

    @staticmethod
    def _wide(value: int) -> int:
        try:
            inexact = 0 if float(value) == value else INEXACT
        except OverflowError:
            inexact = INEXACT
        if _LEAST <= value <= _MOST:
            return INT | WIDE | inexact
        return BIG | inexact | (0 if 0 < value <= 2 * _MOST + 1 else HUGE)

    def _note_text(self, text: str) -> None:
        kind = TEXT if self.kinds & TEXT else kind_of_text(text)
        # One other text makes texts of all times in a block.
        self.kinds = self.kinds & ~TIMES | TEXT if kind == TEXT else self.kinds | kind

    def _note_object(self, row: Json) -> None:
        first = not self.kinds & OBJECT
        self.kinds |= OBJECT
        if not first and len(row) != len(self.members):
            self.kinds |= RAGGED
        self._note_members(row, or_else=0 if first else RAGGED)

    def _note_members(self, row: Json, or_else: int) -> None:
        members = self.members
        for name, value in row.items():
            member = members.get(name)
            if member is None:
                self.kinds |= or_else
                if len(members) >= _MOST_KEYS:
                    continue
                member = members[name] = Seen()
            elif type(value) is str and member.kinds & TEXT:
                continue
            member.note(value)

    def note_row(self, row: Json) -> None:
        """Add a row: any of its columns may be missing in others."""
        self._note_members(row, or_else=0)

    def note_all(self, values: Sequence[Any]) -> None:
        """Add values, numbers by their type: most of them add nothing to what others have added."""
        types = set(map(type, values))
        for found in types:
            own: Sequence[Any] = values if len(types) == 1 else [each for each in values if type(each) is found]
            if found is list or found is tuple:
                self._note_lists(own)
            elif found is int and self.kinds & INT and min(own) >= -_EXACT and max(own) <= _EXACT:
                continue
            elif found is not float or self.kinds & _FLOATS != _FLOATS:
                for value in own:
                    self.note(value)

    def _note_lists(self, values: Sequence[Sequence[Any]]) -> None:
        self.kinds |= LIST
        if self.items is None:
            self.items = Seen()
        self.items.note_all([each for value in values for each in value])

    def add(self, other: Seen) -> None:
        """Add everything that another column contains."""
        if self.kinds & other.kinds & OBJECT and self.members.keys() != other.members.keys():
            self.kinds |= RAGGED
        self.kinds |= other.kinds
        if other.items is not None:
            self.items = self.items or Seen()
            self.items.add(other.items)
        for name, member in other.members.items():
            if name in self.members or len(self.members) < _MOST_KEYS:
                self.members.setdefault(name, Seen()).add(member)


def kind_of_text(text: str) -> int:
    """Return the kind of a string: TIME, OFFSET, YEAR_0 or TEXT."""
    if len(text) > 32 or text[4:5] != "-":
        return TEXT
    if _compiled(_USUAL).fullmatch(text):
        return TIME
    match = _compiled(_TIME).fullmatch(text)
    if match is None:
        return TEXT
    day = match[1]
    is_year_0 = day.startswith("0000")
    try:
        dt.date.fromisoformat(f"2000{day[4:]}" if is_year_0 else day)
    except ValueError:
        return TEXT
    if is_year_0:
        return YEAR_0
    return TIME if (match[2] or "") in _UTC else OFFSET


class Columns:
    """The columns of a file: `blocks` are the different ones of its blocks."""

    def __init__(self) -> None:
        self.blocks: list[Seen] = []
        #: The columns of the current block.
        self.current = Seen()
        #: The number of bytes up to the one whose row ends the current block.
        self.room = BLOCK_BYTES

    def note(self, row: Json, size: int = 0) -> None:
        """Add a row of `size` bytes, with its line feed."""
        self.current.note_row(row)
        self._pass_by(size)

    def note_encoded(self, rows: Sequence[Json], lines: bytes) -> None:
        """Add encoded rows, whole lines, given one that has the types of each in all columns, or all of them."""
        if len(rows) > 1:
            for row, line in zip(rows, lines.split(b"\n"), strict=False):
                self.note(row, len(line) + 1)
            return
        start = 0
        while start < len(lines):
            self.current.note_row(rows[0])
            end = lines.find(b"\n", start + self.room) + 1 or len(lines)
            self._pass_by(end - start)
            start = end

    def _pass_by(self, size: int) -> None:
        self.room -= size
        if self.room < 0:
            self._end()

    def _end(self) -> None:
        if self.current not in self.blocks:
            self.blocks.append(self.current)
        self.current, self.room = Seen(), BLOCK_BYTES

    def end(self) -> None:
        """End the last block."""
        if self.room < BLOCK_BYTES:
            self._end()

    def finish(self) -> Seen:
        """Return the columns of all blocks together."""
        self.end()
        whole = Seen()
        for block in self.blocks:
            whole.add(block)
        return whole
