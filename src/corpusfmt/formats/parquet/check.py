"""Internal: Check one Parquet file, and the corpus as a whole."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import chain, pairwise
from typing import Any, Literal, TypeAlias

from corpusfmt.formats import CheckOptions, Plan, Shard, ShardResult
from corpusfmt.formats.columns import are_full
from corpusfmt.formats.general import EmptyTexts, report_encoded_text, report_text, within_limits
from corpusfmt.formats.parquet.arrow import JSON_COLUMNS, batches, json_rows, pyarrow
from corpusfmt.formats.parquet.read import KeyOf, identities
from corpusfmt.formats.parquet.rows import (
    Row,
    TableColumns,
    Trouble,
    columns_of,
    decoded,
    judge_row,
    opened,
    place_of,
    row_of,
)
from corpusfmt.formats.parquet.ruleset import RULES, VERSION
from corpusfmt.formats.rows.columned import ColumnRecord, is_id
from corpusfmt.formats.rows.reading import repetition
from corpusfmt.formats.whole import Key, UniqueKeys, encoded, judge_repeated
from corpusfmt.io.jsonlines import decode_objects, decoded_lines
from corpusfmt.io.scan import double_encoding_at, is_utf8
from corpusfmt.io.text import json_line, value_at, values_at
from corpusfmt.model import Json, Location, Problem, Severity
from corpusfmt.rules import Judge

EMPTY_FILE = RULES.finding(
    "PQT103",
    "empty-file",
    """A file has no rows.

    Why: it may be intended, but usually a filter dropped everything or a writer failed.
    Example: the last shard of a set that was split into too many.
    Fix: delete the file, or write it again.
    """,
    severity=Severity.WARNING,
)

COLUMNS_DIFFER = RULES.finding(
    "PQT204",
    "columns-differ",
    """The columns of a file differ from the first file of the corpus, by name, type or order.

    Why: readers expect the columns of one file in all files; some stop, some fill in nulls.
    Example: a shard that an older program wrote.
    Fix: write all files with the same columns.
    """,
    severity=Severity.WARNING,
)


def check(shard: Shard, options: CheckOptions) -> ShardResult:
    """Check the columns of a file and every row.

    Leaves its path and columns for `finish`, and hashes of ids, unless they are in `options.scratch`.
    """
    judge = Judge(RULES, options.grading, version=VERSION, path=shard.name, cap=options.max_per_rule)
    entry = shard.files["table"]
    judge.coverage.bytes = entry.size
    schema = None
    keys = UniqueKeys(options.scratch, shard.index)
    empty = EmptyTexts()
    try:
        with within_limits(judge, entry.path), closing(keys), opened(entry) as table:
            columns = columns_of(table, Location(entry.path), options.reading, shard.payload)
            schema = [(field.name, str(field.type)) for field in table.file.schema_arrow]
            judge.check(columns)
            if not judge.fired("PQT201") and not judge.fired("PQT202"):
                key_of, keys_of = identities(columns, shard, options)

                def converted(batch: Any) -> CleanRows | list[Json | UnicodeDecodeError]:
                    clean = clean_rows(batch, columns) if RULES.accepts_unseen(Row, ColumnRecord) else None
                    return clean or list(decoded(batch))

                def judged(found: CleanRows | list[Json | UnicodeDecodeError]) -> None:
                    first = judge.coverage.documents + 1
                    if isinstance(found, list):
                        judge.coverage.documents += len(found)
                        ids = _judge_rows(found, columns, first, key_of, empty, judge)
                        keys.note(ids if columns.id is not None else [], first - 1)
                        return
                    rows, texts = found
                    judge.coverage.documents += len(rows)
                    keys.note(keys_of(rows) if columns.id is not None else [], first - 1)
                    for number, text in _suspects_in(rows) if texts is None else texts.suspects():
                        report_encoded_text(text, place_of(rows[number], columns, first + number), judge)
                    if texts is not None and (numbers := texts.empty()):
                        empty.add(len(numbers), partial(place_of, rows[numbers[0]], columns, first + numbers[0]))

                # A batch that does not fit is converted again, so nothing may be noted before that has succeeded.
                for _ in map(judged, batches(table, columns.kinds, converted)):
                    pass
                empty.report(judge.coverage.documents, judge)
                if not judge.coverage.documents:
                    hint = "delete the file, or write it again"
                    judge.report(EMPTY_FILE, Problem("no rows", Location(entry.path), hint))
    except Trouble as trouble:
        judge.report(*trouble.fault)
    return ShardResult(judge.tally, judge.coverage, None if schema is None else (entry.path, schema, keys.few))


def _judge_rows(
    rows: list[Json | UnicodeDecodeError],
    columns: TableColumns,
    first: int,
    key_of: KeyOf,
    empty: EmptyTexts,
    judge: Judge,
) -> list[bytes | None]:
    """Judge rows one by one; return what identifies them."""
    keys: list[bytes | None] = []
    for number, fields in enumerate(rows, first):
        row = row_of(fields, columns, number)
        judge_row(row, judge)
        keys.append(encoded(key_of(row.fields)) if isinstance(row, Row) else None)
        if isinstance(row, Row) and columns.text is None:
            report_encoded_text(json_line(row.fields), row.at, judge)
        elif isinstance(row, Row) and isinstance(text := value_at(row.fields, columns.text_path), str):
            report_text(text, row.at, judge)
            empty.add(int(not text), partial(getattr, row, "at"))
    return keys


def _suspects_in(rows: Sequence[Json]) -> Iterator[tuple[int, bytes]]:
    """Yield the number of each row that may be encoded twice, and its JSON text."""
    lines = enumerate(map(json_line, rows))
    return ((number, line) for number, line in lines if double_encoding_at(line, 0, False) >= 0)


def finish(plan: Plan, facts: Sequence[Any], judge: Judge, options: CheckOptions) -> None:
    """Judge whether all files have the same columns, and each id occurs once."""
    for path, columns, _ in facts:
        first, expected, _ = facts[0]
        if columns != expected:
            named = sorted({*columns} ^ {*expected}) or columns  # all of them, in another order
            names = ", ".join(dict.fromkeys(f"`{name}`" for name, _ in named[:5]))
            hint = "write all files with the same columns"
            judge.report(COLUMNS_DIFFER, Problem(f"the columns differ from `{first}`: {names}", Location(path), hint))
    if options.scratch is not None:
        few = (each for *_, each in facts if each is not None)
        judge_repeated(plan.shards, few, options.scratch, partial(_keys_at, options), judge, repetition)


def _keys_at(options: CheckOptions, shard: Shard, wanted: Iterable[int]) -> Iterator[tuple[int, Key]]:
    """Yield the keys of some rows; the check has already reported the faults of the file."""
    entry = shard.files["table"]
    waiting = iter(wanted)
    row = next(waiting, None)
    with suppress(Trouble), opened(entry) as table:
        columns = columns_of(table, Location(entry.path), options.reading, shard.payload)
        key_of, _ = identities(columns, shard, options)
        if columns.id is None:
            return
        kinds = {name: kind for name, kind in columns.kinds.items() if name in (columns.id[0], "source")}
        every = chain.from_iterable(batches(table, kinds, lambda batch: list(decoded(batch)), row or 0))
        for number, fields in enumerate(every, row or 0):
            if number == row:
                key = key_of(fields) if isinstance(fields, dict) else None
                if key is not None:
                    yield number, key
                row = next(waiting, None)
                if row is None:
                    return


# Bytes that a character in UTF-8 does not begin with.
_CONTINUING = range(0x80, 0xC0)


CleanRows: TypeAlias = "tuple[list[Json], _Texts | None]"


def clean_rows(batch: Any, columns: TableColumns) -> CleanRows | None:
    """Return rows without their texts, and the texts; None if a rule may fire that is not about what texts say."""
    if len(columns.text_path) > 1:
        return None
    texts = None if columns.text is None else _Texts(batch, *columns.text_path)
    if texts is not None and not texts.are_whole():
        return None
    try:
        rows = json_rows(batch if columns.text is None else batch.drop_columns([*columns.text_path]))
    except UnicodeDecodeError:
        return None
    return (rows, texts) if _are_clean(rows, columns) else None


def _are_clean(rows: list[Json], columns: TableColumns) -> bool:
    if columns.id is not None and not all(map(is_id, values_at(rows, columns.id))):
        return False
    if columns.ours:
        return all(_are_objects([row[name] for row in rows if row[name] is not None]) for name in JSON_COLUMNS)
    values = (each for each in columns.profile.values if each.name != columns.text)
    return are_full(columns.profile, rows) and all(
        {*map(type, values_at(rows, each.path))} <= each.kinds for each in values
    )


def _are_objects(texts: list[str]) -> bool:
    """Return whether all texts are JSON objects; those with a line feed are in doubt."""
    lines = "\n".join(texts).encode()
    return not texts or (lines.count(b"\n") == len(texts) - 1 and decoded_lines(decode_objects, lines) is not None)


class _Texts:
    """A column of strings as the bytes of all of them, and where each begins and ends."""

    def __init__(self, batch: Any, name: str) -> None:
        column = batch.column(name).combine_chunks()
        self._nulls = column.null_count
        _, ends, data = column.buffers()
        kind: Literal["q", "i"] = "q" if pyarrow().types.is_large_string(column.type) else "i"
        self._ends = memoryview(ends).cast(kind)[column.offset : column.offset + len(column) + 1].tolist()
        self._data = data.slice(0, self._ends[-1]) if data else b""

    def are_whole(self) -> bool:
        """Return whether all are there and UTF-8."""
        if self._nulls or not is_utf8(self._data):
            return False
        data = memoryview(self._data).cast("B")
        return not any(data[end] in _CONTINUING for end in self._ends if end < len(data))

    def empty(self) -> Sequence[int]:
        """Return the numbers of those that are empty."""
        if len(set(self._ends)) == len(self._ends):
            return ()
        return [number for number, (start, end) in enumerate(pairwise(self._ends)) if start == end]

    def suspects(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number of each that may be encoded twice, and its bytes."""
        place = double_encoding_at(self._data, self._ends[0], False)
        while place >= 0:
            number = bisect_right(self._ends, place) - 1
            start, end = self._ends[number : number + 2]
            yield number, bytes(memoryview(self._data)[start:end])
            place = double_encoding_at(self._data, end, False)
