"""Internal: Rows of open files: tables, JSON, JSON Lines, lines of text, and whole files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from corpusfmt.formats.croissant.data.batches import (
    BATCH_BYTES,
    BATCH_ROWS,
    NAMES_SHOWN,
    Batch,
    Broken,
    Lacking,
    NotRead,
    Take,
    Trouble,
    bad_line,
    nowhere,
)
from corpusfmt.formats.croissant.data.csvrows import table
from corpusfmt.formats.croissant.data.files import Opened, decompressed, split_codec
from corpusfmt.formats.croissant.data.findings import DATA_ARCHIVE_CORRUPT, DATA_RAGGED_COLUMNS
from corpusfmt.formats.croissant.data.signatures import HEAD, signature_fault
from corpusfmt.formats.croissant.model.graph import FileObject, Resource
from corpusfmt.formats.croissant.model.jsontree import EncodingFault, decode, parse
from corpusfmt.formats.general import bad_json, out_of_range, too_long
from corpusfmt.io import text as judged
from corpusfmt.io.jsonlines import decoded_value
from corpusfmt.io.lines import MAX_LINE_BYTES, Line, LongLine, lines
from corpusfmt.io.parquet import MOST_ROWS, ParquetTable, values_in
from corpusfmt.model import Fault, Location, Problem

if TYPE_CHECKING:
    from corpusfmt.formats.croissant.model.jsonpath import Step

T = TypeVar("T")

#: A larger JSON document is not read: its values would take ten times as much memory.
MAX_JSON = 32 * 1024 * 1024
#: The content of a file is one value, which must fit in memory.
MAX_CONTENT = MAX_LINE_BYTES

_FORMATS = {
    "text/csv": "csv", "application/csv": "csv", "text/tsv": "tsv", "text/tab-separated-values": "tsv",
    "application/json": "json", "application/x-json": "json", "text/json": "json", "application/geo+json": "json",
    "application/jsonl": "jsonl", "application/jsonlines": "jsonl", "application/x-jsonlines": "jsonl",
    "application/json-lines": "jsonl", "application/x-ndjson": "jsonl", "application/ndjson": "jsonl",
    "application/jsonl+json": "jsonl", "text/jsonl": "jsonl",
    "application/x-parquet": "parquet", "application/vnd.apache.parquet": "parquet", "application/parquet": "parquet",
}  # fmt: skip
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
#: The delimiter of each kind of table.
DELIMITERS = {"csv": ",", "tsv": "\t"}
_OF_LINES = frozenset({"lines", "lineNumbers"})
_OF_PATHS = frozenset({"filename", "fullpath", "filepath"})


def kind_of(view: Resource, name: str) -> str:
    """Return the kind of a file by its encodingFormat, else by its suffix; "" for plain text and others."""
    for each in view.formats:
        found = _FORMATS.get(each.partition(";")[0].strip().lower())
        if found is not None:
            return found
    plain, _ = split_codec(name)
    return next((kind for suffix, kind in _SUFFIXES.items() if plain.endswith(suffix)), "")


def batches(view: Resource, opened: Opened, takes: Collection[Take]) -> Iterator[Batch]:
    """Yield the rows of a file, with a column for each take.

    Raises `Broken` after the last readable row of a corrupt file, and `NotRead` for an unsupported file.
    """
    inside = [take for take in takes if take.kind != "fileProperty"]
    of_lines = [take for take in takes if take.kind == "fileProperty" and take.name in _OF_LINES]
    if inside and of_lines:
        raise NotRead(f"{view.title}: lines and columns (or JSON paths) of one file cannot be combined into records")
    content = Take("fileProperty", "content")
    whole: dict[Take, Any] = {}
    beside: list[Trouble] = []
    if content in takes:
        opened, whole[content] = _with_content(opened)
        is_alone = isinstance(view, FileObject) and not view.containers
        at = view.place("sc:encodingFormat") if is_alone else Location(opened.path)
        fault = signature_fault(view, opened.path, whole[content][:HEAD], at)
        if fault is not None and not fault.problem.minor:
            raise Broken(fault)
        beside = [fault] if fault is not None else []
    if inside:
        found = _structured(view, opened, inside)
    elif of_lines:
        found = _of_lines(opened, of_lines)
    else:
        found = iter([Batch(opened.path, 1, {})])
    for take in takes:
        if take.kind == "fileProperty" and take.name in _OF_PATHS:
            whole[take] = opened.name if take.name == "filename" else opened.full_path
    for batch in found:
        batch.columns = {**batch.columns, **{take: [value] * batch.size for take, value in whole.items()}}
        batch.faults, beside = [*beside, *batch.faults], []
        yield batch


def _with_content(opened: Opened) -> tuple[Opened, bytes]:
    """Return the content of a file, and the file with its content unread again."""

    def whole(chunks: Iterator[bytes]) -> bytes:
        data = bytearray()
        for chunk in chunks:
            data += chunk
            if len(data) > MAX_CONTENT:
                raise Broken(too_long(Location(opened.path), len(data), MAX_CONTENT))
        return bytes(data)

    stored = whole(opened.chunks)
    return replace(opened, chunks=iter([stored])), whole(decompressed(iter([stored]), opened.name, opened.path))


def _structured(view: Resource, opened: Opened, takes: Sequence[Take]) -> Iterator[Batch]:
    kind = kind_of(view, opened.name)
    if kind in (*DELIMITERS, "parquet") and any(take.kind != "column" for take in takes):
        raise NotRead(f"{view.title}: a table has columns, not JSON paths")
    if kind in DELIMITERS:
        return table(opened.path, lines(opened.contents), DELIMITERS[kind], takes)
    if kind == "jsonl":
        return _json_lines(opened, takes)
    if kind == "json":
        return _json(opened, takes)
    if kind == "parquet":
        return of_parquet(opened, takes, partial(batch_of, opened.path, takes))
    said = ", ".join(view.formats) or "none"
    reason = f"{view.title}: no columns or JSON paths can be read from encodingFormat {said}"
    raise NotRead(reason, opened.path)


# --- lines of text, and JSON Lines ---


def _of_lines(opened: Opened, takes: Sequence[Take]) -> Iterator[Batch]:
    for group, faults in _line_groups(opened):
        numbers = [line.line for line in group]
        values: dict[str, Sequence[Any]] = {
            "lines": [line.data for line in group],
            "lineNumbers": [number - 1 for number in numbers],
        }
        yield Batch(opened.path, len(group), {take: values[take.name] for take in takes}, numbers, faults=faults)


def _line_groups(opened: Opened) -> Iterator[tuple[list[Line], list[Trouble]]]:
    group: list[Line] = []
    faults: list[Trouble] = []
    size = 0
    for line in lines(opened.contents):
        if isinstance(line, LongLine):
            at = Location(opened.path, line=line.line, byte=line.byte)
            faults.append(too_long(at, line.length, MAX_LINE_BYTES))
            continue
        group.append(line)
        size += len(line.data)
        if len(group) >= BATCH_ROWS or size > BATCH_BYTES:
            yield group, faults
            group, faults, size = [], [], 0
    yield group, faults


def _json_lines(opened: Opened, takes: Sequence[Take]) -> Iterator[Batch]:
    getters = {take: _getter(take) for take in takes}
    unseen = set(takes)
    names: dict[str, None] = {}
    seen = 0
    for group, faults in _line_groups(opened):
        kept: list[int] = []
        columns: dict[Take, list[Any]] = {take: [] for take in takes}
        for line in group:
            try:
                value = decoded_value(line.data)
            except UnicodeDecodeError:
                faults.append(bad_line(opened.path, line))
                continue
            except judged.JsonFault as fault:
                faults.append(bad_json(Location(opened.path, line.line, line.byte), fault))
                continue
            kept.append(line.line)
            for take, getter in getters.items():
                item = getter(value)
                if item is not _ABSENT and unseen:
                    unseen.discard(take)
                columns[take].append(None if item is _ABSENT else item)
            if unseen and len(names) < NAMES_SHOWN and isinstance(value, dict):
                names.update(dict.fromkeys(value))
        seen += len(kept)
        yield Batch(opened.path, len(kept), columns, kept, faults=faults, stored={})
    if seen and unseen:
        faults = [*nowhere(opened.path, sorted(unseen), list(names))]
        yield Batch(opened.path, 0, {take: [] for take in takes}, [], faults=faults)


#: The value of a take that selects nothing.
_ABSENT = object()


def _getter(take: Take) -> Callable[[Any], Any]:
    """Return a function that reads a take's value from a record, or returns `_ABSENT`."""
    if take.kind == "column":
        return lambda value: value.get(take.name, _ABSENT) if isinstance(value, dict) else _ABSENT
    steps = _steps_of(take)
    if take.kind == "jsonPath" and _first_of_several(steps) == len(steps):
        return lambda value: _at(value, steps)
    return lambda value: _within(value, steps, take)


def _at(value: Any, steps: list[Step]) -> Any:
    """Return what a path of names and indices selects: like `select`, but faster."""
    for step in steps:
        where: Any = step.value
        if isinstance(where, str):
            if not isinstance(value, dict) or where not in value:
                return _ABSENT
        elif not isinstance(value, list) or not -len(value) <= where < len(value):
            return _ABSENT
        value = value[where]
    return value


def _within(record: Any, steps: list[Step], take: Take) -> Any:
    """Return what a path selects in one record: a value, or a list of values for a repeated field."""
    values = _selected(record, steps, take)
    if take.kind == "jsonPath":
        return _ABSENT if not values else values[0] if len(values) == 1 else values
    several = _first_of_several(steps)
    if values == [None] and several == len(steps):
        return None
    if values:
        return values[0] if len(values) == 1 and isinstance(values[0], list) else values
    return _ABSENT if _selected(record, steps[:several], take) in ([], [None]) else []


def _first_of_several(steps: list[Step]) -> int:
    """Return the index of the first step that may select several things."""
    return next((index for index, step in enumerate(steps) if step.value is None), len(steps))


# --- JSON documents ---


def _json(opened: Opened, takes: Sequence[Take]) -> Iterator[Batch]:
    data = bytearray()
    for chunk in opened.contents:
        data += chunk
        if len(data) > MAX_JSON:
            reason = f"`{opened.path}` exceeds {MAX_JSON:,} bytes, and JSON is read whole: write JSON Lines"
            raise NotRead(reason, opened.path)
    text = ""
    try:
        text, _ = decode(bytes(data))
        tree, _ = parse(text)
    except (EncodingFault, judged.JsonFault) as fault:
        if isinstance(fault, EncodingFault):
            at = Location(opened.path, line=data.count(b"\n", 0, fault.offset) + 1)
        else:
            at = Location(opened.path, line=text.count("\n", 0, (fault.column or 1) - 1) + 1)
        if isinstance(fault, judged.NumberFault):
            raise Broken(out_of_range(at, fault)) from fault
        problem = Problem(f"the JSON is corrupt: {fault}", at, "write the file again as UTF-8")
        raise Broken(Fault(DATA_ARCHIVE_CORRUPT, problem)) from fault
    columns = {take: _json_column(opened, tree, take) for take in takes if take.kind != "jsonPaths"}
    lost = [take for take, values in columns.items() if not values and _leads_nowhere(tree, take)]
    if lost:
        faults: list[Trouble] = [*nowhere(opened.path, lost)]
        yield Batch(opened.path, 0, {take: [] for take in takes}, faults=faults)
        return
    counts = {take: len(values) for take, values in columns.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"`{take.name}` gives {count}" for take, count in list(counts.items())[:4])
        hint = "make the paths select the same records"
        raise Broken(Fault(DATA_RAGGED_COLUMNS, Problem(f"{listed} values", Location(opened.path), hint)))
    count = next(iter(counts.values()), None)
    for take in takes:
        if take not in columns:
            columns[take] = _lists(opened, tree, take, count)
            count = len(columns[take])
    unseen = [take for take, values in columns.items() if values and all(each is _ABSENT for each in values)]
    whole = {take: [None if each is _ABSENT else each for each in values] for take, values in columns.items()}
    names = list(dict.fromkeys(chain.from_iterable(_objects(tree)[:100])))
    yield Batch(opened.path, count or 0, whole, faults=[*nowhere(opened.path, unseen, names)], stored={})


def _objects(tree: Any) -> list[dict[str, Any]]:
    return [row for row in tree if isinstance(row, dict)] if isinstance(tree, list) else []


def _lists(opened: Opened, tree: Any, take: Take, count: int | None) -> list[Any]:
    """Return the values of a repeated field's path for each record: its first steps select the records.

    If no other field determines the number of records, the first step that selects several things selects them.
    """
    steps = _steps_of(take)
    cuts = range(len(steps) + 1) if count is not None else [min(_first_of_several(steps) + 1, len(steps))]
    for cut in cuts:
        records = _selected(tree, steps[:cut], take)
        if count is None or len(records) == count:
            rest = steps[cut:]
            return [_within(record, rest, take) for record in records] if rest else records
    message = f"`{take.name}` gives {len(_selected(tree, steps, take))} values for {count} records"
    hint = "make the paths select the same records"
    raise Broken(Fault(DATA_RAGGED_COLUMNS, Problem(message, Location(opened.path), hint)))


def _json_column(opened: Opened, tree: Any, take: Take) -> list[Any]:
    """Return a value for each record; the steps after the last one that selects several things select it."""
    if take.kind == "jsonPath":
        steps = _steps_of(take)
        cut = 1 + max((index for index, step in enumerate(steps) if step.value is None), default=-1)
        records = _selected(tree, steps[:cut], take)
        return [_within(record, steps[cut:], take) for record in records] if steps[cut:] else records
    rows = _objects(tree)
    if not rows:
        raise Lacking(nowhere(opened.path, [take]))
    return [row.get(take.name, _ABSENT) for row in rows]


def _leads_nowhere(tree: Any, take: Take) -> bool:
    """Return whether a path selects nothing because its names do not exist, not because a list is empty."""
    steps = _steps_of(take)
    several = _first_of_several(steps)
    return steps[several].is_deep if _selected(tree, steps[:several], take) else True


def _steps_of(take: Take) -> list[Step]:
    from corpusfmt.formats.croissant.model.jsonpath import parse_path  # noqa: PLC0415 - few descriptions have one

    return parse_path(take.name)


def _selected(tree: Any, steps: list[Step], take: Take) -> list[Any]:
    from corpusfmt.formats.croissant.model.jsonpath import select  # noqa: PLC0415 - few descriptions have one

    values = select(tree, steps)
    if values is None:
        raise NotRead(
            f"the JSON path `{take.name}` is not supported: RFC 9535 does not have its filter, or it visits too many values"
        )
    return values


# --- Parquet ---


def of_parquet(
    opened: Opened,
    takes: Sequence[Take],
    convert: Callable[[Any, int], T],
    most_rows: int = MOST_ROWS,
    *,
    keep_dictionaries: bool = False,
) -> Iterator[T]:
    """Yield what `convert` makes of each record batch of a Parquet file, and of the number of rows before it.

    Raises as `batches` does.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - large, and an extra
    except ImportError:
        reason = f"`{opened.path}` is Parquet, which needs pyarrow: pip install 'corpusfmt[parquet]'"
        raise NotRead(reason, opened.path) from None
    local = opened.entry is not None and not opened.entry.is_remote
    with opened.entry.open() if opened.entry and local else tempfile.TemporaryFile() as source:
        if not local:
            for chunk in opened.chunks:
                source.write(chunk)
            source.seek(0)
        try:
            rows = ParquetTable(source, opened.path, keep_dictionaries=keep_dictionaries)
            names = rows.file.schema_arrow.names
            missing = [take for take in takes if take.name not in names]
            if missing:
                raise Lacking(nowhere(opened.path, missing[:1], names))
            first = 0

            def converted(part: Any) -> T:
                nonlocal first
                first += part.num_rows
                return convert(part, first - part.num_rows)

            yield from rows.batches([take.name for take in takes], converted, most_rows)
        # UnicodeDecodeError: names that are not UTF-8.
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            message = f"the Parquet file is corrupt: {str(error)[:200]}"
            problem = Problem(message, Location(opened.path), "write the file again")
            raise Broken(Fault(DATA_ARCHIVE_CORRUPT, problem)) from error


def batch_of(path: str, takes: Sequence[Take], part: Any, first: int) -> Batch:
    """Return the values and Arrow types of some columns of a record batch."""
    columns = {take: list(map(_plain, values_in(part.column(take.name)))) for take in takes}
    return Batch(path, part.num_rows, columns, first=first, stored=stored_in(takes, part))


def stored_in(takes: Sequence[Take], part: Any) -> dict[Take, Any]:
    """Return the Arrow types of some columns of a record batch."""
    return {take: part.column(take.name).type for take in takes}


def _plain(value: Any) -> Any:
    """Return an Arrow value as JSON or bytes; other values become text."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
