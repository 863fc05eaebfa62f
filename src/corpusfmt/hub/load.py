"""Internal: Load the files of a table with `datasets`, and compare each value with the file.

`datasets` runs in a process of its own, which Arrow may end. It gets our files instead of paths, so that it reads nothing
else, and nothing from a network.
"""

# ruff: noqa: SLF001 - `datasets` has no public functions that load single files
from __future__ import annotations

import atexit
import datetime as dt
import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any, Self

import msgspec
from msgspec import Struct

from corpusfmt.hub.rules import CARD_MALFORMED, COLUMN_ADDED, KEY_MISSING, READ_AS_TIME, TYPE_DIFFERS, VALUE_CHANGED
from corpusfmt.io.jsonlines import UNDECODABLE
from corpusfmt.io.limits import Meter, bounded_memory, limited
from corpusfmt.io.lines import MAX_LINE_BYTES, LongLine, blocks
from corpusfmt.io.parquet import MOST_COLUMNS, ParquetTable
from corpusfmt.io.paths import Entry, reason_of
from corpusfmt.io.streams import ChunkFile, Chunks, StreamFault, codec_of_name
from corpusfmt.model import CorpusfmtError, FindingType, UsageError
from corpusfmt.safe_path import SafeStarts, can_start_safely, drop_relative_entries

NAME = "README.md"
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "DO_NOT_TRACK": "1",
}
# For a block of 10 MiB and its tables; with 140 MiB for `datasets` itself, the process stays under 512 MiB.
_MOST_MEMORY = 320 * 1024**2
# `datasets` visits each column in each row of the first block.
_MOST_CELLS = 100_000_000
_PARQUET_ROWS = 1000
_MOST_SECONDS = 7 * 86_400
_FAILS = "`load_dataset` fails"
_ZONE = re.compile(r"T.*(?:Z|[+-]\d\d(?::?\d\d)?)$")
_OFFSET = re.compile(r"T.*[+-](?!00(?::?00)?$)\d\d(?::?\d\d)?$")
_decode_row = msgspec.json.Decoder(dict[str, Any]).decode


class Files(Struct, frozen=True):
    """What is loaded as one table: the files of its splits, and the features that a card declares.

    Values are read from the files in `sampled`, or from all if it is None. `cache` is a folder that the caller removes.
    """

    builder: str
    splits: Mapping[str, Sequence[Entry]]
    features: Any
    cache: str
    sampled: frozenset[str] | None = None
    max_line_bytes: int = MAX_LINE_BYTES


class Misfit(Struct, frozen=True):
    """How values do not fit a column, the first time in a file."""

    code: str
    path: str
    line: int | None
    column: str
    message: str
    #: What is expected as in the first file or the card, if that is why.
    expected: str = ""
    effect: str = ""
    #: The type that values have, or the key that objects have in addition.
    found: str = ""
    hint: str = ""


class Loaded(Struct):
    """The misfits of a table, the file that defines its types, the rows of each file, and why some were not read."""

    misfits: list[Misfit] = []
    first: str = ""
    rows: dict[str, int] = {}
    gaps: dict[str, str] = {}


class _Unread(Exception):
    """A file is not loaded because it exceeds a bound of ours, or is no JSON Lines."""


class _Reported(Exception):
    """`datasets` cannot go on with a file, and why was noted."""


class _Downloads:
    """Stands in for the download manager: all files are here."""

    def __init__(self) -> None:
        self.download_config = SimpleNamespace()

    def download(self, files: Any) -> Any:
        return files

    extract = download

    def iter_files(self, file: str) -> list[str]:
        return [file]


def require_datasets() -> None:
    """Raise `UsageError` if `datasets` is not installed."""
    if find_spec("datasets") is None:
        raise UsageError("the profile needs the package datasets: pip install 'corpusfmt[hf]'")


class _Process:
    """The process of `datasets`, which takes seconds to start: it is kept until this one ends."""

    lock = threading.Lock()
    running: subprocess.Popen[bytes] | None = None


def load_all(tables: Sequence[Files], meter: Meter) -> Iterator[Loaded]:
    """Load tables as `load_dataset` would, in another process; what ends that process is a gap."""
    for files in tables:
        with _Process.lock:
            loaded = _answered(files, meter)
        yield loaded


def _answered(files: Files, meter: Meter) -> Loaded:
    process = _Process.running
    if process is None or process.poll() is not None:
        stop()
        process = _Process.running = _started()
    assert process.stdin is not None
    assert process.stdout is not None
    ends = meter.limits.ends
    late = threading.Timer(_MOST_SECONDS if ends is None else max(ends - time.time(), 0) + 1, process.kill)
    late.daemon = True
    late.start()
    is_whole = False
    try:
        pickle.dump((files, meter.limits, meter.total), process.stdin)
        process.stdin.flush()
        answer, read = pickle.load(process.stdout)  # noqa: S301 - of our own process
        is_whole = True
    except (EOFError, OSError, pickle.UnpicklingError):
        meter.limits.check(meter.total)
        path = next(entry.path for own in files.splits.values() for entry in own)
        return Loaded(gaps={path: f"the process of `datasets` ended with status {process.wait()}"})
    finally:
        late.cancel()
        if not is_whole:
            process.kill()
    meter.read += read
    if isinstance(answer, CorpusfmtError):
        raise answer
    assert isinstance(answer, Loaded)
    return answer


@atexit.register
def stop() -> None:
    """End the process of `datasets`, if there is one."""
    process, _Process.running = _Process.running, None
    if process is not None:
        process.kill()
        with suppress(OSError), process:  # what was not written is lost
            pass


def _started() -> subprocess.Popen[bytes]:
    if not can_start_safely():
        raise UsageError("`python -E` would import from the working folder: run `python -E -P`")
    command = [sys.executable, "-c", f"from {__name__} import answer; answer()"]
    with SafeStarts():
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # noqa: S603 - our own


def answer() -> None:
    """Load the tables that are asked for on standard input, until it ends."""
    drop_relative_entries()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print
    asked: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_read, args=(asked,), daemon=True).start()
    while True:
        files, limits, spent = asked.get()
        with limited(limits, spent) as meter:
            try:
                loaded: Loaded | CorpusfmtError = load(files)
            except CorpusfmtError as error:
                loaded = error
            pickle.dump((loaded, meter.read), answers)
        answers.flush()


def _read(asked: SimpleQueue[Any]) -> None:
    """Read what is asked for; end this process with the other one."""
    try:
        while True:
            asked.put(pickle.load(sys.stdin.buffer))  # noqa: S301 - of our own process
    finally:
        os._exit(0)  # threads of Arrow may abort a process that ends otherwise


def load(files: Files) -> Loaded:
    """Load files as `load_dataset` would."""
    os.environ |= _OFFLINE | {"HF_HOME": files.cache}
    datasets = import_module("datasets")
    datasets.config.HF_HUB_OFFLINE = True
    datasets.logging.set_verbosity(datasets.logging.CRITICAL + 1)
    return _Loader(files, datasets).run()


class _Lines:
    """A file of JSON Lines as a builder reads it: a block, then the rest of its last line."""

    def __init__(self, loader: _Loader, entry: Entry) -> None:
        self._loader = loader
        self._file = entry.open()
        chunks = Chunks(self._file, codec_of_name(entry.name), entry.path)
        self._blocks = blocks(chunks, loader.files.max_line_bytes)
        self._left = b""
        self._block = b""
        self._line = 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _more(self) -> bool:
        block = next(self._blocks, None)
        if isinstance(block, LongLine):
            raise _Unread(
                f"line {block.line:,} has {block.length:,} bytes, expected at most {self._loader.files.max_line_bytes:,}"
            )
        self._left += block.data if block else b""
        return block is not None

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            raise _Unread("the file is one array, expected one object a line")
        while len(self._left) < size and self._more():
            pass
        self._block, self._left = self._left[:size], self._left[size:]
        return self._block

    def readline(self) -> bytes:
        """Return the rest of the last line, and show the rows of the block to the loader."""
        if not self._left:
            self._more()
        end = self._left.find(b"\n") + 1 or len(self._left)
        line, self._left = self._left[:end], self._left[end:]
        rows: list[tuple[int, dict[str, Any]]] = []
        for number, each in enumerate((self._block + line).split(b"\n"), self._line):
            if each and not each.isspace():
                try:
                    rows.append((number, _decode_row(each)))
                except UNDECODABLE as error:
                    deep = isinstance(error, RecursionError)
                    raise _Unread(
                        "rows are nested too deeply" if deep else f"line {number:,} is no JSON object"
                    ) from error
        self._line += (self._block + line).count(b"\n")
        columns = set().union(*(row for _, row in rows))
        if len(columns) > MOST_COLUMNS or len(columns) * len(rows) > _MOST_CELLS:
            raise _Unread(f"{len(columns):,} columns in {len(rows):,} rows do not fit into memory")
        self._loader.rows = rows
        return line


class _Loader:
    def __init__(self, files: Files, datasets: Any) -> None:
        self.files = files
        #: The rows of the current block, with their lines.
        self.rows: list[tuple[int, dict[str, Any]]] = []
        self._datasets = datasets
        self._entries = {entry.path: entry for own in files.splits.values() for entry in own}
        self._path = ""
        self._before: Any = None
        self._found: dict[tuple[str, str, str], Misfit] = {}
        self._loaded = Loaded()
        self._features_module = import_module("datasets.features.features")
        self._json = import_module("datasets.utils.json")
        self._table = import_module("datasets.table")
        module = import_module(f"datasets.packaged_modules.{files.builder}.{files.builder}")
        self._module: Any = module
        self._kind = getattr(module, {"json": "Json", "parquet": "Parquet", "csv": "Csv"}[files.builder])

    def run(self) -> Loaded:
        loaded = self._loaded
        features = None
        try:
            if self.files.features is not None:
                features = self._datasets.Features._from_yaml_list(self.files.features)
                features.arrow_schema  # noqa: B018 - types are made here
        except Exception as error:
            message = f"`features` cannot be used: {_first_line(error)}"
            loaded.misfits.append(Misfit(CARD_MALFORMED.code, NAME, None, "", message))
            return loaded
        own: dict[str, Any] = {"batch_size": _PARQUET_ROWS} if self.files.builder == "parquet" else {}
        if self.files.builder == "csv":
            own = {"sep": "\t"} if 2 * sum(".tsv" in path for path in self._entries) > len(self._entries) else {}
            pandas = import_module("pandas")
            self._module.pd = SimpleNamespace(**vars(pandas) | {"read_csv": self._read_csv})
        self._builder = self._kind(cache_dir=self.files.cache, features=features, **own)
        self._builder._cast_table = self._cast
        self._module.open = self._open  # instead of the one that a builder puts there, which opens URLs
        paths = {split: [entry.path for entry in entries] for split, entries in self.files.splits.items()}
        self._builder.config.data_files = paths
        is_inferred = self._attempt(lambda: self._builder._split_generators(_Downloads()))
        loaded.first = self._path or next(iter(self._entries))
        if not is_inferred and self._builder.info.features is None:
            others = {path for each in paths.values() for path in each if path != self._path}
            loaded.gaps |= dict.fromkeys(sorted(others), f"the types of `{self._path}` are unknown")
            loaded.misfits = [*self._found.values()]
            return loaded
        sampled = self.files.sampled
        for each in paths.values():
            self._load([path for path in each if sampled is None or path in sampled])
        loaded.misfits = [*self._found.values()]
        return loaded

    def _load(self, paths: list[str]) -> None:
        while paths:
            self._path = paths[0]
            if self._attempt(partial(self._take_all, paths)):
                return
            del paths[: paths.index(self._path) + 1]

    def _attempt(self, step: Any) -> bool:
        """Return whether a step of a builder came to its end; note why not."""
        memory = import_module("pyarrow").ArrowMemoryError
        gaps = self._loaded.gaps
        try:
            with bounded_memory(_MOST_MEMORY):
                step()
        except _Reported:
            return False
        except (_Unread, OSError, StreamFault) as error:
            gaps[self._path] = reason_of(error) if isinstance(error, OSError) else str(error)
            return False
        except (MemoryError, memory):
            gaps[self._path] = "it does not fit into memory"
            return False
        except RecursionError:
            gaps[self._path] = "rows are nested too deeply"
            return False
        except CorpusfmtError:
            raise
        except Exception as error:
            column = re.search(r"Column\(/([^)/]*)", str(error))
            name = column[1] if column else ""
            self._note(TYPE_DIFFERS, name, f"{_first_line(error)}: {_FAILS}")
            return False
        return True

    def _take_all(self, paths: list[str]) -> None:
        if self.files.builder == "json":
            tables = self._builder._generate_tables(paths, [[path] for path in paths], paths)
        else:
            groups = [[path] if self.files.builder == "csv" else None for path in paths]
            tables = self._builder._generate_tables(paths, groups)
        for _, table in tables:
            self._take(table)

    def _read_csv(self, file: str, **options: Any) -> Any:
        chunks = ChunkFile(Chunks(self._open(file), codec_of_name(file), file))  # read after this returns
        return import_module("pandas").read_csv(io.BufferedReader(chunks), **options)

    def _open(self, file: str, mode: str = "r", **_: Any) -> Any:
        entry = self._entries[file]
        self._path = file
        if self.files.builder == "json":
            if mode != "rb":  # as one document, which lines are not
                raise ValueError("the file is not one JSON document")
            return _Lines(self, entry)
        if self.files.builder == "parquet":
            with entry.open() as checked:
                ParquetTable(checked, file)
        return entry.open()

    def _note(self, rule: FindingType, column: str, message: str, line: int | None = None, **more: str) -> None:
        key = (rule.code, "" if rule is READ_AS_TIME else self._path, column)
        self._found.setdefault(key, Misfit(rule.code, self._path, line, column, message, **more))

    def _cast(self, table: Any, **options: Any) -> Any:
        self._before = table
        info = self._builder.info
        try:
            if self.files.builder == "csv" and self.files.features is None:  # cast where it is written
                info.features = info.features or self._datasets.Features.from_arrow_schema(table.schema)
                return self._table.table_cast(table, info.features.arrow_schema)
            return self._kind._cast_table(self._builder, table, **options)
        except (MemoryError, RecursionError):
            raise
        except Exception as error:
            features = self._builder.info.features
            if features is None:
                raise
            added = [name for name in table.column_names if name not in features]
            for name in added:
                self._note(COLUMN_ADDED, name, f"`{name}` is not a column", effect=_FAILS)
            faults = {
                name: fault
                for name in table.column_names
                if name in features and (fault := self._fault(table[name], features[name])) is not None
            }
            for name, fault in faults.items():
                self._note_types(name, table[name].type, features[name], fault)
            if not added and not faults:
                raise
            raise _Reported from error

    def _fault(self, column: Any, feature: Any) -> str | None:
        """Return why a column cannot be cast, as Arrow says it of a value; None if it can."""
        try:
            self._table.cast_array_to_feature(column, feature)
        except import_module("pyarrow").ArrowInvalid as error:
            return f": {_first_line(error)}"
        except Exception:
            return ""
        return None

    def _note_types(self, name: str, kind: Any, expected: Any, fault: str) -> None:
        try:
            found = self._features_module.generate_from_arrow_type(kind)
        except Exception:  # `datasets` has no such type
            effect = f"{_FAILS}{fault}"
            self._note(TYPE_DIFFERS, name, f"`{name}` has `{kind}`", expected=_shown(expected), effect=effect)
            return
        column, found, expected = _difference(name, found, expected)
        added = (
            [key for key in found if key not in expected]
            if isinstance(found, dict) and isinstance(expected, dict)
            else []
        )
        message = f"`{column}` has objects with the key `{added[0]}`" if added else f"`{column}` has `{_shown(found)}`"
        self._note(
            TYPE_DIFFERS,
            column,
            message,
            expected=_shown(expected),
            effect=f"{_FAILS}{fault}",
            found=added[0] if added else _shown(found),
        )

    def _take(self, table: Any) -> None:
        path, features = self._path, self._builder.info.features
        if features is None:
            features = self._datasets.Features.from_arrow_schema(table.schema)
        self._loaded.rows[path] = self._loaded.rows.get(path, 0) + table.num_rows
        before = self._before
        is_json = self.files.builder == "json"
        if is_json and len(self.rows) != table.num_rows:
            self._note(VALUE_CHANGED, "", f"{len(self.rows):,} rows are loaded as {table.num_rows:,}")
            return
        lines = [line for line, _ in self.rows] if is_json else None
        for name, feature in features.items():
            if not _is_compared(feature):
                continue
            column = table[name]
            has_column = is_json or name in before.column_names
            same_type = not is_json and has_column and before[name].type == column.type
            if not has_column or (same_type and not _has_times(column.type)):
                continue
            try:
                now = column.to_pylist()
            except (OverflowError, ValueError):
                self._note(
                    TYPE_DIFFERS,
                    name,
                    f"`{name}` has times outside of the years 1 to 9999",
                    effect=_FAILS,
                    hint=f"write `{name}` as text",
                )
                continue
            if same_type:
                continue
            for place in self._json.get_json_field_paths_from_feature({name: feature}):
                now = [self._json.json_decode_field({name: value}, place)[name] for value in now]
            was = [row.get(name) for _, row in self.rows] if is_json else self._values(before[name])
            kinds = f"{column.type} {before[name].type if name in before.column_names else None}"
            # For Python, `True` and `Decimal(1)` are 1.
            if was == now and "bool" not in kinds and "decimal" not in kinds:
                continue
            declared = self.files.features is not None
            for place, (old, new) in enumerate(zip(was, now, strict=True)):
                if old is new or (type(old) is type(new) and old == new and type(old) not in {dict, list}):
                    continue
                for change in _changes(name, old, new, feature, is_declared=declared):
                    self._note(change[0], change[1], change[2], lines[place] if lines else None, effect=change[3])

    def _values(self, column: Any) -> list[Any]:
        try:
            return list(column.to_pylist())
        except (OverflowError, ValueError):
            return list(column.cast(import_module("pyarrow").string()).to_pylist())


_Change = tuple[FindingType, str, str, str]


def _changes(column: str, was: Any, now: Any, feature: Any, *, is_declared: bool) -> Iterator[_Change]:
    """Yield how a value is changed by loading: rule, column, message and effect."""
    if isinstance(was, dict) and isinstance(now, dict):
        members = feature if isinstance(feature, dict) else {}
        for name in was.keys() | now.keys():
            inner = f"{column}.{name}"
            if name in was and name in now:
                yield from _changes(inner, was[name], now[name], members.get(name), is_declared=is_declared)
            elif name in now and now[name] is None:
                yield KEY_MISSING, column, f"`{column}` lacks the key `{name}`", "it is loaded as null"
            else:
                yield VALUE_CHANGED, inner, f"`{inner}` is not loaded", ""
        return
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        items = feature[0] if isinstance(feature, list) else getattr(feature, "feature", None)
        for old, new in zip(was, now, strict=True):
            yield from _changes(f"{column}[]", old, new, items, is_declared=is_declared)
        return
    kinds = {type(was), type(now)}
    is_equal = was == now or (was != was and now != now)  # noqa: PLR0124 - not a number
    if is_equal and (len(kinds) == 1 or kinds == {int, float}):
        return
    shown = f"`{column}` is {_value(was)}, loaded as {_value(now)}"
    if isinstance(was, str) and isinstance(now, dt.datetime):
        loses = bool(_OFFSET.search(was)) if now.tzinfo is None else not _ZONE.search(was)
        if loses or column in {"id", "text"}:
            yield VALUE_CHANGED, column, shown, "the offset is changed" if loses else "it is no text any more"
        elif not is_declared:
            yield READ_AS_TIME, column, shown, ""
        return
    of_feature = type(feature).__name__ in {"Json", "ClassLabel", "NoneType"}
    rule = VALUE_CHANGED if of_feature or len(kinds) == 1 or kinds == {int, float} else TYPE_DIFFERS
    yield rule, column, shown, "values are changed silently"


def _value(value: Any) -> str:
    if isinstance(value, dt.date):
        return f"the time `{value.isoformat()}`"
    try:
        return f"`{json.dumps(value, ensure_ascii=False)}`"
    except (TypeError, ValueError):
        return f"`{value}`"


def _difference(column: str, found: Any, expected: Any) -> tuple[str, Any, Any]:
    """Return the innermost column at which two features differ, and what they are there."""
    if isinstance(found, dict) and isinstance(expected, dict) and found.keys() <= expected.keys():
        name = next((name for name in found if found[name] != expected[name]), None)
        return (
            (column, found, expected) if name is None else _difference(f"{column}.{name}", found[name], expected[name])
        )
    if hasattr(found, "feature") and hasattr(expected, "feature") and getattr(expected, "length", -1) == -1:
        return _difference(f"{column}[]", found.feature, expected.feature)
    return column, found, expected


def _shown(feature: Any) -> str:
    """Return a feature as text."""
    kind = type(feature).__name__
    if isinstance(feature, dict):
        return f"struct<{', '.join(feature)}>"
    if isinstance(feature, list):
        return f"list<{_shown(feature[0])}>"
    if hasattr(feature, "feature"):
        return f"list<{_shown(feature.feature)}>"
    return {"Json": "json", "ClassLabel": "class_label"}.get(kind) or getattr(feature, "dtype", None) or kind


def _is_compared(feature: Any) -> bool:
    """Return whether a feature is made of values, lists and objects: others, such as images, may name files."""
    if isinstance(feature, dict):
        return all(map(_is_compared, feature.values()))
    if isinstance(feature, list):
        return all(map(_is_compared, feature))
    if hasattr(feature, "feature"):
        return _is_compared(feature.feature)
    return type(feature).__name__ in {"Value", "ClassLabel", "Json"}


def _has_times(kind: Any) -> bool:
    return "timestamp" in str(kind) or "date" in str(kind)


def _first_line(error: BaseException) -> str:
    return f"{error}".strip().split("\n")[0] or type(error).__name__
