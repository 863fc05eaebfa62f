"""Internal: Read the records behind a description, filtered, and as tables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextvars import copy_context
from html import escape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from corpusfmt.formats import all_formats, refuse_barred
from corpusfmt.formats.recordsets import Column, Record, RecordSource
from corpusfmt.io.limits import DEFAULT_LIMITS, Limits, in_own_context, limited
from corpusfmt.io.paths import NO_MAPS, copies, entry_of
from corpusfmt.model import BadInput, Finding, Severity, UsageError, html_table, pandas_module
from corpusfmt.wording import clipped, unknown

if TYPE_CHECKING:
    import pyarrow as pa

_CONDITION = re.compile(r"(?P<column>.+?)\s*(?P<sign>==|!=)\s*(?P<value>.*)", re.DOTALL)


class Condition(Struct, frozen=True):
    """A condition on a record: a column equals a value, or does not; "" means no value."""

    column: str
    value: str
    holds: bool = True

    def admits(self, record: Mapping[str, Any]) -> bool:
        """Return whether a record meets the condition; in a list, any value may match."""
        found = record[self.column]
        values = (found or [None]) if isinstance(found, list) else [found]
        return any(_is(value, self.value) for value in values) is self.holds


def _is(value: Any, text: str) -> bool:
    """Return whether a value equals a text; `1`, `1.0` and `1e0` are the same number."""
    if value is None or isinstance(value, str):
        return (value or "") == text
    if isinstance(value, bytes):
        return value == text.encode("utf-8", "surrogateescape")
    try:
        wanted = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(wanted, bool) == isinstance(value, bool) and bool(wanted == value)


# Records that are displayed in a notebook.
_MOST_DISPLAYED = 5


class Records:
    """The records of a record set, as mappings of columns to values; every iteration reads them again.

    A record that cannot be read completely is skipped and reported as a finding, like other faults of the data. Findings
    go to `on_finding`; without it, the first error is raised as `BadInput`.
    """

    def __init__(
        self,
        source: RecordSource,
        columns: Sequence[str],
        conditions: Sequence[Condition],
        on_finding: Callable[[Finding], object] | None,
        limits: Limits,
    ) -> None:
        self._source = source
        #: The columns of the records, with their types.
        self.columns = [_column(source, name) for name in columns] or list(source.columns)
        self._conditions = conditions
        self._on_finding = on_finding
        self._limits = limits

    def __iter__(self) -> Iterator[Record]:
        for each in in_own_context(self._read()):
            if isinstance(each, Record):
                yield each
            elif self._on_finding is not None:
                self._on_finding(each)
            elif each.severity is Severity.ERROR:
                raise BadInput(each)

    def _read(self) -> Generator[Record | Finding]:
        names = [each.name for each in self.columns]
        wanted = dict.fromkeys([*names, *(each.column for each in self._conditions)])
        with limited(self._limits, interrupting=False):  # the caller's code runs in the block
            for each in self._source.read(list(wanted)):
                if isinstance(each, Finding):
                    yield each
                elif all(condition.admits(each) for condition in self._conditions):
                    yield Record({name: each[name] for name in names}, each.at)

    def _repr_html_(self) -> str:
        """Return the first records for a notebook."""
        first = islice((each for each in in_own_context(self._read()) if isinstance(each, Record)), _MOST_DISPLAYED)
        return html_table([escape(each.name) for each in self.columns], (list(each.values()) for each in first))

    def to_arrow(self) -> pa.Table:
        """Return the records as an Arrow table in memory; needs `pip install 'corpusfmt[parquet]'`.

        Raises `UsageError` without it, and if the values of a column have several types.
        """
        from corpusfmt.recordsets.tables import table_of  # noqa: PLC0415 - pyarrow is large, and an extra

        return table_of(self.columns, self)

    def to_pandas(self) -> Any:
        """Return the records as a pandas data frame, through Arrow; needs pandas, too."""
        pandas_module()
        return self.to_arrow().to_pandas()


def records(
    path: str | Path,
    record_set: str | None = None,
    *,
    fields: Sequence[str] = (),
    where: Sequence[str] | str = (),
    split: str | None = None,
    maps: Mapping[str, str | Path] = NO_MAPS,
    on_finding: Callable[[Finding], object] | None = None,
    follow_links: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Records:
    """Return the records of a record set (by `@id` or name), to iterate over as mappings or to convert to a table.

    `path` is a Croissant description, or a folder with one; `record_set` may be omitted if there is only one. `fields`
    are named by `@id`, name, or last part of the `@id`; `where` has conditions like `stars==4`; `split` is the name of a
    split. `maps` names local copies of files in the description, by `@id`. Only local files are read, as a stream;
    `follow_links` allows links that lead out of the folder of the description.

    Raises `UsageError` for a missing path, an unknown record set or column, and data that cannot be read here (on the web,
    Parquet without pyarrow); `BadInput` for a description that cannot be interpreted and for bad data (see `Records`);
    `LimitReached` if one of `limits` is reached.
    """
    entry = entry_of(str(path), follow_links=follow_links)
    refuse_barred(entry)
    limits = limits.begun()
    opened = copies(maps, follow_links=follow_links)

    def source_of() -> RecordSource:
        described = (fmt.records for fmt in all_formats() if fmt.records is not None)
        with limited(limits, interrupting=False):
            return next(described)(entry, record_set, opened)

    source = copy_context().run(source_of)
    conditions = [_condition(source, each) for each in ([where] if isinstance(where, str) else where)]
    if split is not None:
        conditions.append(_of_split(source, split))
    return Records(source, [_column(source, each).name for each in fields], conditions, on_finding, limits)


def _column(source: RecordSource, name: str) -> Column:
    """Return a column by its name, another of its names, or the last part of either. Raises `UsageError`."""
    names_of: tuple[Callable[[Column], Sequence[str]], ...] = (
        lambda column: [column.name],
        lambda column: column.aliases,
        lambda column: re.split("[/#]", column.name)[-1:],
    )
    for names in names_of:
        found = [column for column in source.columns if name in names(column)]
        if len(found) == 1:
            return found[0]
    known = [each.name for each in source.columns]
    raise UsageError(unknown("column", name, known, f"{source.name} has {', '.join(known) or 'none'}"))


def _condition(source: RecordSource, text: str) -> Condition:
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise UsageError(f"condition is {clipped(text)!r}, expected 'column==value' or 'column!=value'")
    value = match["value"].strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    return Condition(_column(source, match["column"].strip()).name, value, match["sign"] == "==")


def _of_split(source: RecordSource, split: str) -> Condition:
    if source.split is None:
        raise UsageError(f"{source.name} has no field for the split of a record")
    if source.splits and split not in source.splits:
        raise UsageError(unknown("split", split, source.splits, f"{source.name} has {', '.join(source.splits)}"))
    return Condition(source.split, split)
