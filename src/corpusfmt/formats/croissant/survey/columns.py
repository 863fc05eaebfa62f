"""Internal: The values of one column, as a stream: the type that all of them have, and why."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from functools import partial
from itertools import accumulate, count, takewhile
from math import inf, isfinite
from pathlib import Path
from typing import Any

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from corpusfmt.formats.croissant.data.signatures import HEAD, format_of
from corpusfmt.formats.croissant.model.casts import CASTS
from corpusfmt.io.keys import KeyWriter, repeated
from corpusfmt.wording import clipped, plural

#: Returns the place of the text at an index.
Place = Callable[[int], str]

# Spellings that all readers accept for the type, and that none of them changes: numbers without leading zeros, and with
# no more digits than fit in 64 bits.
_NUMBER = r"(?:(?:0|[1-9][0-9]{0,17})(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_PATTERNS = {
    "sc:Integer": r"[+-]?(?:0|[1-9][0-9]{0,17})",
    "sc:Float": rf"[+-]?{_NUMBER}",
    "sc:Boolean": r"true|false|True|False|TRUE|FALSE",
    "sc:Date": _DAY,
    "sc:DateTime": rf"{_DAY}(?:[T ]{_CLOCK}(?::[0-5][0-9](?:\.[0-9]{{1,9}})?)?(?:Z|[+-][0-9]{{2}}:[0-9]{{2}})?)?",
    "sc:Time": rf"{_CLOCK}:[0-5][0-9]",
    "sc:URL": r"https?://[^\s/?#]\S*",
}
# The whole years that 64 bits count in nanoseconds.
_NANOSECONDS = re.compile(r"\.[0-9]{7}")
_FIRST_YEAR, _LAST_YEAR = 1678, 2261
_ONE = {name: re.compile(pattern) for name, pattern in _PATTERNS.items()}
_ALL = {name: re.compile(rf"(?:(?:{pattern})\n)*+") for name, pattern in _PATTERNS.items()}

#: The types of the cells of a table, and of strings in JSON, narrow ones first; anything else is text.
OF_CELLS = tuple(_PATTERNS)
OF_STRINGS = ("sc:Date", "sc:DateTime", "sc:Time", "sc:URL")


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return _NANOSECONDS.search(text) is None or _FIRST_YEAR <= int(text[:4]) <= _LAST_YEAR


# Checks that a pattern cannot express.
_FURTHER: Mapping[str, Callable[[str], bool]] = {
    "sc:Date": _is_day,
    "sc:DateTime": _is_time,
    "sc:Float": lambda text: isfinite(float(text)),
}


class Spelling:
    """The types that all texts so far have, and for each other type the first text without it."""

    def __init__(self, types: Sequence[str]) -> None:
        self._all = types
        self.types = list(types)
        self.against: dict[str, str] = {}

    def add(self, texts: Sequence[str], place: Place) -> None:
        """Add texts; `place` returns the place of the text at an index."""
        joined = "\n".join([*texts, ""]) if self.types else ""
        for name in list(self.types):
            further = _FURTHER.get(name)
            has_pattern = joined.count("\n") == len(texts) and _ALL[name].fullmatch(joined)
            if not has_pattern or (further and not all(map(further, texts))):
                index = next(number for number, text in enumerate(texts) if not is_spelt_as(name, text))
                self.against[name] = f"`{clipped(texts[index])}` in {place(index)}"
                self.types.remove(name)

    def merge(self, other: Spelling) -> None:
        """Add the results from later texts."""
        self.types = [name for name in self.types if name in other.types]
        self.against = other.against | self.against

    @property
    def why(self) -> str:
        """Why texts do not have the narrower types: the first text that does not have them."""
        reasons: dict[str, list[str]] = {}
        for name in takewhile(lambda each: each != self.type, self._all):
            reasons.setdefault(self.against[name], []).append(name)
        return "".join(f"; {text} is not {', '.join(names)}" for text, names in reasons.items())

    @property
    def type(self) -> str:
        """The narrowest type."""
        return self.types[0] if self.types else "sc:Text"


def is_spelt_as(name: str, text: str) -> bool:
    """Return whether a text has a type to all readers."""
    further = _FURTHER.get(name)
    return _ONE[name].fullmatch(text) is not None and (further is None or further(text))


def is_of(data_type: str, value: object) -> bool:
    """Return whether a value has a data type."""
    if isinstance(value, str) and data_type in OF_STRINGS:
        return is_spelt_as(data_type, value)
    try:
        CASTS[data_type](value)
    except ValueError:
        return False
    return True


#: A missing value, as opposed to null.
ABSENT: Any = object()
# The number of different values that are remembered, and of their characters.
_MOST_VALUES = 1000
# Of texts that all look like names of images, more are remembered.
_MOST_NAMED = 200_000
_IMAGE = re.compile(r"\.(?:png|jpe?g)$", re.IGNORECASE)
_LONGEST_VALUE = 200
# The number of names that the objects of a column may have, on one level and in total, and their depth.
_MOST_NAMES = 500
_MOST_INSIDE = 2000
_MOST_LEVELS = 8
_KINDS = {
    str: "text", int: "integer", float: "number", bool: "boolean", time: "time", list: "list", dict: "object", bytes: "bytes"
}  # fmt: skip
_NATIVE = {"integer": "sc:Integer", "number": "sc:Float", "boolean": "sc:Boolean", "time": "sc:Time"}
_KEY_NAME = re.compile(r"(?i:id|uuid|guid|key|pk)|.*[_.-](?i:id|uuid|guid|key)|.*[a-z]I[Dd]|(?i:id)[_-].*", re.DOTALL)


class Keys:
    """Where the keys of columns go, on local disk, to find those that occur twice."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count()

    def begin(self) -> tuple[Path, KeyWriter]:
        """Return a folder for the keys of a column, and a writer for those of one file."""
        number = next(self._numbers)
        folder = self._folder / f"{number:09d}"
        folder.mkdir()
        return folder, KeyWriter(folder, number)


class Verdict(Struct, frozen=True):
    """The type of a column, or why it has none; of lists also their dimensions. Objects have no type."""

    type: str
    why: str
    dimensions: int = 0
    is_object: bool = False


class Column:
    """The facts about the values of one column: cells of a table, which are all texts, or JSON values."""

    def __init__(
        self, name: str, keys: Keys | None = None, *, is_table: bool = False, above: Column | None = None
    ) -> None:
        self.name = name
        self.rows = self.nulls = self.absent = 0
        #: The kinds of values, each with the first place of one.
        self.kinds: dict[str, str] = {}
        self.spelling = Spelling(OF_CELLS if is_table else OF_STRINGS)
        #: The texts that occur; None where there are too many.
        self.values: dict[str, None] | None = {}
        self.children: dict[str, Column] = {}
        self.items: Column | None = None
        self.is_too_wide = False
        #: Whether the values are members of the rows of JSON Lines.
        self.is_json_line = False
        #: A file of the table without this column, if there is one.
        self.lacking = ""
        #: The first bytes of known formats.
        self.media: set[str] = set()
        #: The largest number among JSON values.
        self.high = -inf
        self.level: int = above.level + 1 if above is not None else 0
        #: The number of columns that may still be found inside the outermost one; all of them share it.
        self.room: list[int] = above.room if above is not None else [_MOST_INSIDE]
        self._writer: KeyWriter | None = None
        self._folder: Path | None = None
        if keys is not None and _KEY_NAME.fullmatch(name):
            self._folder, self._writer = keys.begin()

    # --- reading ---

    def add(self, values: Sequence[Any], place: Place) -> None:
        """Add values: None is null."""
        self.rows += len(values)
        absent, nulls = values.count(ABSENT), values.count(None)
        self.absent += absent
        self.nulls += nulls
        if absent or nulls:
            there = [index for index, value in enumerate(values) if value is not None and value is not ABSENT]
            values, place = [values[index] for index in there], partial(_place_in, there, place)
        if self._writer is not None:
            hashes = (xxh3_64_intdigest(str(value).encode("utf-8", "surrogatepass")) for value in values)
            self._writer.extend(hashes, self.rows)
        kinds = dict.fromkeys(map(type, values))
        for kind in kinds:
            of_kind, place_of = values, place
            if len(kinds) > 1:
                chosen = [index for index, value in enumerate(values) if type(value) is kind]
                of_kind, place_of = [values[index] for index in chosen], partial(_place_in, chosen, place)
            if _KINDS[kind] not in self.kinds:
                self.kinds[_KINDS[kind]] = place_of(0)
            self._of_kind(kind, of_kind, place_of)

    def _of_kind(self, kind: type, values: Sequence[Any], place: Place) -> None:
        if kind is str:
            self._texts(values, place)
        elif kind in (int, float):
            self.high = max(self.high, *map(float, filter(isfinite, values)), -inf)
        elif kind is dict:
            self._objects(values, place)
        elif kind is bytes:
            self.media.update(format_of(value[:HEAD]) for value in values)
        elif kind is list:
            if self.items is None:
                self.items = Column(self.name, above=self)
            ends = list(accumulate(map(len, values)))
            items = [item for value in values for item in value]
            self.items.add(items, lambda index: place(bisect_right(ends, index)))

    def _texts(self, values: Sequence[str], place: Place) -> None:
        self.spelling.add(values, place)
        if self.values is not None:
            self.values.update(dict.fromkeys(values))
            most = _MOST_NAMED if _IMAGE.search(values[0]) else _MOST_VALUES
            if len(self.values) > most or max(map(len, values)) > _LONGEST_VALUE:
                self.values = None

    def _objects(self, values: Sequence[dict[str, Any]], place: Place) -> None:
        names = list(dict.fromkeys(name for each in values for name in each))
        new = len(set(names) - self.children.keys())
        self.room[0] -= new
        if self.level >= _MOST_LEVELS or len(self.children) + new > _MOST_NAMES or self.room[0] < 0:
            self.is_too_wide = True
            self.children.clear()
            return
        for name in names if not self.is_too_wide else ():
            child = self.children.get(name)
            if child is None:
                child = self.children[name] = Column(name, above=self)
            child.add([each.get(name, ABSENT) for each in values], place)

    def lack(self, file: str, rows: int) -> None:
        """Add the rows of a file without this column."""
        self.lacking = self.lacking or file
        self.absent, self.rows = self.absent + rows, self.rows + rows

    def close(self) -> None:
        """Finish the values of one file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def merge(self, other: Column) -> None:
        """Add the results of another column of this name, from later rows."""
        self.rows += other.rows
        self.nulls += other.nulls
        self.absent += other.absent
        self.kinds = other.kinds | self.kinds
        self.lacking = self.lacking or other.lacking
        self.spelling.merge(other.spelling)
        if self.values is None or other.values is None:
            self.values = None
        else:
            self.values = self.values | other.values
        self.high = max(self.high, other.high)
        self.is_too_wide = self.is_too_wide or other.is_too_wide
        self.media |= other.media
        if self._folder is not None and other._folder is not None:
            for run in other._folder.iterdir():
                run.rename(self._folder / run.name)
        for name, child in other.children.items():
            if name in self.children:
                self.children[name].merge(child)
            else:
                self.children[name] = child
        if self.items is None:
            self.items = other.items
        elif other.items is not None:
            self.items.merge(other.items)

    # --- judging ---

    @property
    def there(self) -> int:
        """The number of values that are not null."""
        return self.rows - self.nulls - self.absent

    @property
    def is_key(self) -> bool:
        """Whether the column is named like a key, has a value in each row, and none twice."""
        if self._folder is None or not self.rows or self.there != self.rows or self.kinds.keys() - {"text", "integer"}:
            return False
        return self.verdict.type in ("sc:Text", "sc:Integer") and next(repeated(self._folder), None) is None

    @property
    def names_of_files(self) -> set[str]:
        """The values of a column that has a text in each row, if they are like names of images."""
        is_whole = self.there == self.rows and self.kinds.keys() == {"text"}
        return set(self.values) if is_whole and self.values and all(map(_IMAGE.search, self.values)) else set()

    @property
    def has_times(self) -> bool:
        """Whether values are times, not texts like times."""
        return "time" in self.kinds or (self.items is not None and self.items.has_times)

    @property
    def verdict(self) -> Verdict:
        """The type of the column, or why it has none."""
        kinds = self.kinds.keys()
        if not kinds:
            return Verdict("sc:Text", "no value")
        if self.is_too_wide:
            return Verdict("", f"objects of more than {_MOST_NAMES} names, or {_MOST_LEVELS} levels")
        if kinds == {"list"}:
            return self._of_list()
        if kinds == {"object"}:
            return Verdict("", "objects", is_object=True)
        if kinds == {"bytes"}:
            return self._of_bytes()
        if kinds == {"text"}:
            return Verdict(self.spelling.type, f"{plural(self.there, 'value')}{self.spelling.why}")
        if len(kinds) == 1:
            return Verdict(_NATIVE[next(iter(kinds))], plural(self.there, "value"))
        mixed = ", ".join(f"{kind} in {place}" for kind, place in self.kinds.items())
        if kinds & {"list", "object", "bytes", "time"}:
            return Verdict("", mixed)
        return Verdict("sc:Float" if kinds == {"integer", "number"} else "sc:Text", mixed)

    def _of_list(self) -> Verdict:
        inside = self.items.verdict if self.items is not None else Verdict("sc:Text", "no value")
        if inside.is_object and not inside.dimensions:
            return Verdict("", "lists of objects", 1, is_object=True)
        if not inside.type:
            return Verdict("", f"a list of {inside.why}")
        if inside.dimensions and self.items is not None and self.items.nulls:
            return Verdict("", "lists of lists and null")
        return Verdict(inside.type, f"lists: {inside.why}", inside.dimensions + 1)

    def _of_bytes(self) -> Verdict:
        for kind, name in (("image/", "sc:ImageObject"), ("audio/", "sc:AudioObject")):
            if all(each.startswith(kind) for each in self.media):
                return Verdict(name, f"bytes that begin like {', '.join(sorted(self.media))}")
        return Verdict("", "bytes that begin like no image or sound")


def _place_in(chosen: Sequence[int], place: Place, index: int) -> str:
    """Return the place of one out of the values at some indices."""
    return place(chosen[index])
