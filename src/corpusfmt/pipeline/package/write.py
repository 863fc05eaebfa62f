"""Internal: Stage `package`: write the documents of one language as the files of a release."""

from __future__ import annotations

import re
import struct
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import accumulate, chain
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, NamedTuple

import msgspec
import xxhash
from msgspec import Struct

from corpusfmt.formats.parts import Writer, write_parts
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.outputs import Place
from corpusfmt.model import Json
from corpusfmt.pipeline.package.divide import Position, Span, folder_of, items_of, sections_of
from corpusfmt.pipeline.package.variants import Form, Variant, form_of, sets_of, writer_of
from corpusfmt.pipeline.process.documents import StoredDocument
from corpusfmt.pipeline.recipe import Output, Step
from corpusfmt.statistics.measuring import Measuring
from corpusfmt.statistics.sizes import FINE, Size, Sketch, count_months

_MEMORY = 64 * 1024 * 1024
# Memory of a line in addition to its bytes.
_ROW_BYTES = 150
_KEY_BYTES = 8
# For each of up to 256 files.
_BUFFER = 32 * 1024
_HEAD = struct.Struct("<QI")
_NUMBER = struct.Struct("<Q")


class _Row(NamedTuple):
    key: int
    line: bytes


def shuffled(lines: Iterable[bytes], seed: int, folder: Path, memory: int = _MEMORY) -> Iterator[bytes]:
    """Yield the lines, shuffled by `seed` (64 bits).

    About `memory` bytes of lines are kept in memory at one time; more lines go through files in `folder`.
    """
    rows = (_Row(xxhash.xxh64_intdigest(_NUMBER.pack(number), seed), line) for number, line in enumerate(lines))
    return _ordered(rows, 0, folder, memory)


def _ordered(rows: Iterator[_Row], depth: int, folder: Path, memory: int) -> Iterator[bytes]:
    """Yield the lines of rows whose keys share the first `depth` bytes, sorted by key."""
    held = []
    size = 0
    for row in rows:
        held.append(row)
        size += len(row.line) + _ROW_BYTES
        if size > memory and len(held) > 1 and depth < _KEY_BYTES:
            break
    else:
        held.sort(key=itemgetter(0))
        yield from map(itemgetter(1), held)
        return
    # Another worker may run the same task at the same time.
    with TemporaryDirectory(dir=folder) as own:
        paths = _scattered(chain(held, rows), depth, Path(own))
        held.clear()
        for path in paths:
            yield from _ordered(_rows(path), depth + 1, folder, memory)
            path.unlink()


def _scattered(rows: Iterable[_Row], depth: int, folder: Path) -> list[Path]:
    """Write rows to one file per value of the next byte of their keys; rows keep their order within a file."""
    shift = 8 * (_KEY_BYTES - 1 - depth)
    files: dict[int, BinaryIO] = {}
    with ExitStack() as stack:
        for key, line in rows:
            value = key >> shift & 0xFF
            if value not in files:
                files[value] = stack.enter_context(_bucket(folder, depth, value).open("wb", buffering=_BUFFER))
            files[value].write(_HEAD.pack(key, len(line)) + line)
    return [_bucket(folder, depth, value) for value in sorted(files)]


def _bucket(folder: Path, depth: int, value: int) -> Path:
    return folder / f"shuffle-{depth}-{value}.rows"


def _rows(path: Path) -> Iterator[_Row]:
    with path.open("rb") as file:
        while head := file.read(_HEAD.size):
            key, length = _HEAD.unpack(head)
            yield _Row(key, file.read(length))


class PackageTask(Struct, frozen=True):
    """Some languages over all containers, in input order; `aside` is the task's temporary folder.

    `drops` are the containers with the lines to drop, if any; `variant` is the corpus to write. With a `span`, only these parts
    are written, of one language, and not what belongs to all of its parts.
    """

    labels: tuple[str, ...]
    containers: tuple[Path, ...]
    drops: tuple[Path, ...]
    output: Output
    variant: Variant
    destination: Place
    aside: Path
    steps: tuple[Step, ...] = ()
    span: Span | None = None


class Packaged(Struct):
    """Result of a language: files by path below the output, and the counts of its documents by the root of their variant."""

    files: dict[str, FileFacts]
    counts: dict[str, Counts]


def package(task: PackageTask) -> dict[str, Packaged]:
    """Write the parts of each language and, for OSCAR, its checksum list."""
    form = form_of(task.output.format)
    return {label: _package(task, form, label) for label in task.labels}


def _package(task: PackageTask, form: Form, label: str) -> Packaged:
    output = task.output
    writer = writer_of(form, output, task.variant, task.steps)
    counting = Counting()
    folder = folder_of(writer, task.variant, label)
    files = write_parts(
        writer,
        _items(writer, form, label, counting, task),
        # Next to attribute sets, the folder of a language's documents is part of the stem.
        stem=f"{label}/{label}" if sets_of(output, task.steps) else label,
        before=None if task.span is None else task.span.before,
        part_bytes=output.part_bytes,
        compression=output.compressor,
        folder=task.destination / folder,
        aside=task.aside,
    )
    if task.span is None and writer.seal is not None:
        files |= writer.seal(task.destination / folder, files, task.aside)
    counts = {task.variant.root: counting.counts()}
    return Packaged({f"{folder}/{name}".lstrip("/"): facts for name, facts in files.items()}, counts)


def joined(task: PackageTask, results: Sequence[Packaged], aside: Path) -> Packaged:
    """Return the result of a language whose parts several tasks like this have written; write what belongs to all of them."""
    (label,) = task.labels
    writer = writer_of(form_of(task.output.format), task.output, task.variant, task.steps)
    folder = folder_of(writer, task.variant, label)
    whole, counting = Packaged({}, {}), Counting()
    for each in results:
        whole.files |= each.files
        counting.merge(each.counts[task.variant.root])
    whole.counts[task.variant.root] = counting.counts()
    aside.mkdir(parents=True, exist_ok=True)
    if writer.seal is not None:
        own = {path.removeprefix(f"{folder}/"): facts for path, facts in whole.files.items()}
        for name, facts in writer.seal(task.destination / folder, own, aside).items():
            whole.files[f"{folder}/{name}"] = facts
    return whole


def _items(writer: Writer[Any], form: Form, label: str, counting: Counting, task: PackageTask) -> Iterator[Any]:
    documents = _documents(task, label)
    if task.output.shuffle_seed is None:
        counted = _counted(documents, counting, form)
        yield from items_of(writer, form.source, label, counted, task.output, task.steps)
        return
    assert writer.line is not None
    lines = (line for stored in documents for line in stored.text[:-1].split(b"\n"))
    for line in shuffled(lines, task.output.shuffle_seed, task.aside):
        counting.add(line + b"\n")
        yield writer.line(line)


def _counted(documents: Iterable[StoredDocument], counting: Counting, form: Form) -> Iterator[StoredDocument]:
    for stored in documents:
        counting.add(stored.text)
        if form.is_dated:
            counting.date(stored.headers)
        yield stored


def _documents(task: PackageTask, label: str) -> Iterator[StoredDocument]:
    start, end = (task.span.start, task.span.end) if task.span else (Position(0), None)
    last = len(task.containers) - 1 if end is None else end.container
    for number in range(start.container, last + 1):
        first = start if number == start.container else Position(number)
        sections = sections_of(task.containers[number], number, label, task.drops, first)
        for section, (_, documents) in enumerate(sections, first.section):
            begin = start.document if start.place == (number, section) else 0
            is_last = end is not None and end.place == (number, section)
            stop = end.document if end is not None and is_last else len(documents)
            yield from filter(None, documents[begin:stop])
            if is_last:
                return


# Texts are measured together until they have this size.
_MOST_BYTES = 1 << 20
_LF = ord("\n")
# Headers are a JSON object of texts, in which a quotation mark begins or ends one.
_DATE_NAME = b'"warc-date":'
_DATE = re.compile(_DATE_NAME + rb' ?("[^"\\]*(?:\\.[^"\\]*)*")')


class Counts(Struct):
    """Documents as they are written: their lengths by unit, as in the JSON of statistics, and the months of their dates."""

    lengths: dict[str, Json]
    created: dict[str, int]

    @property
    def size(self) -> Size:
        return Size({name: Sketch.of_json(each, FINE) for name, each in self.lengths.items()})


class Counting:
    """Counts documents."""

    def __init__(self) -> None:
        self._size = Size()
        self._created = Counter[str]()
        self._measuring = Measuring(words=False)
        self._start()

    def _start(self) -> None:
        self._texts: list[bytes] = []
        self._waiting = 0
        self._dates: list[bytes] = []

    def add(self, text: bytes) -> None:
        """Count a document, each of whose lines ends with LF."""
        self._texts.append(text)
        self._waiting += len(text)
        if self._waiting >= _MOST_BYTES:
            self._flush()

    def date(self, headers: bytes) -> None:
        """Count the date of a document in its headers, if there is one."""
        start = headers.find(_DATE_NAME)  # faster than the expression finds it
        if start >= 0 and (found := _DATE.search(headers, start)):
            self._dates.append(found[1])

    def merge(self, other: Counts) -> None:
        """Add the counts of other documents."""
        self._size.merge(other.size)
        self._created.update(other.created)

    def counts(self) -> Counts:
        """Return what was counted."""
        self._flush()
        lengths = {name: sketch.as_json(quantiles=False) for name, sketch in self._size.lengths.items()}
        return Counts(lengths, dict(sorted(self._created.items())))

    def _flush(self) -> None:
        data = b"".join(self._texts)
        ends = array("q", (end - 1 for end in accumulate(map(len, self._texts))))
        columns = self._measuring.lengths(data, ends.tobytes())
        # Here an empty line at the end of a text is a line, too.
        for document, end in enumerate(ends):
            columns["lines"][document] += data[end - 1] == _LF
        self._size.add(columns, FINE)
        count_months(self._created, msgspec.json.decode(b"[%b]" % b",".join(self._dates), type=list[str]))
        self._start()
