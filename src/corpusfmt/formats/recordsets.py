"""For formats: Record sets of formats that describe tables: their records and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from corpusfmt.io.paths import Entry
from corpusfmt.model import Finding, Location

#: The type of a column's values; "" if unknown.
ColumnType = Literal["text", "integer", "float", "boolean", "bytes", ""]


class Record(dict[str, Any]):
    """One record: values by the field's identifier as written; `at` is its place in the data.

    Values are JSON values, and bytes for binary content; dates are ISO 8601 text. Nested fields are objects, repeated
    fields lists.
    """

    __slots__ = ("at",)

    def __init__(self, values: Mapping[str, Any], at: Location) -> None:
        super().__init__(values)
        self.at = at


class Column(Struct, frozen=True):
    """A column of records: its name and type, whether it is a list, and the columns of an object."""

    name: str
    type: ColumnType = ""
    is_list: bool = False
    inner: tuple[Column, ...] = ()
    #: Other names of the column.
    aliases: tuple[str, ...] = ()


class RecordSource(Struct, frozen=True):
    """A readable record set: its columns, and the name of the column with the split of a record."""

    name: str
    columns: Sequence[Column]
    #: Yields the records with only these columns; a record that cannot be fully read gives a finding instead.
    read: Callable[[Sequence[str]], Iterator[Record | Finding]]
    split: str | None = None
    #: The known splits, if the description lists them.
    splits: Sequence[str] = ()


#: Returns the record set of this name at a path, or the only one; the mapping has local copies by id.
#: Raises `UsageError` and `BadInput`.
OpenRecords = Callable[[Entry, str | None, Mapping[str, Entry]], RecordSource]
