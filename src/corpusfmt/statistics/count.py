"""Internal: Count what some shards contain: the task of one worker. Its results add up."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, repeat
from pathlib import Path
from typing import Any

import msgspec
import xxhash
from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.conversion.documents import CUT
from corpusfmt.formats import CheckOptions, LeftOut, Reader, Rejected, Shard, Texts, named_format
from corpusfmt.io.keys import KeyWriter
from corpusfmt.model import INCOMPLETE_CODES, BadInput, Document, Finding
from corpusfmt.statistics.domains import DomainWriter
from corpusfmt.statistics.measuring import Measuring
from corpusfmt.statistics.sizes import (
    FINE,
    FURTHER,
    GROUPINGS,
    MOST_FINDINGS,
    Counted,
    Size,
    Sketch,
    count_months,
    count_name,
    tokens_in,
)
from corpusfmt.wording import clipped

_BATCH_BYTES = 1 << 20
# About what a waiting document takes besides its text.
_DOCUMENT_BYTES = 128
# Always as many are added up at once, since the sum of fractions depends on that.
_NUMBERS_AT_A_TIME = 1 << 10
# How many documents wait to be added to their groups.
_MOST_LENGTHS = 1 << 16
_KEYS_A_RUN = 1 << 18
# Larger numbers are no confidence, and their sum may not be finite.
_MOST_SCORE, _MOST_VALUE = 1e6, 1e15
#: In the scratch folder: folders of hashes and of domains, and the file of the tokenizer.
LINES, DOCUMENTS, DOMAINS, TOKENIZER = "lines", "documents", "domains", "tokenizer.json"

_SNAPSHOT = re.compile(r"CC-MAIN-\d{4}(?:-\d{2,4})*")
_SNAPSHOT_FIELDS = ("dump", "snapshot", "cc_segment", "cc_dump", "file_path")
_NUMBERS = {int, float}


#: What a document is grouped by: its language, source and variant, clipped; "" for none.
Label = tuple[str, str, str]


class CountTask(Struct, frozen=True):
    """Shards that one task counts. `scratch` is the folder for hashes and domains, with the tokenizer."""

    format: str
    options: CheckOptions
    shards: Sequence[Shard]
    number: int
    count: frozenset[str]
    scratch: Path
    side_by_side: bool


def count_shards(task: CountTask) -> Counted:
    """Count the documents of some shards, as far as they can be read."""
    counting = _Counting(task)
    for shard in task.shards:
        counting.read(shard)
    return counting.end()


def documents_of(task: CountTask, shard: Shard) -> Iterator[Document | Rejected | LeftOut]:
    """Yield the documents of a shard. Raises `BadInput` if nothing more of it can be read."""
    return _reader_of(task).read(shard, task.options)


def _reader_of(task: CountTask) -> Reader:
    fmt, _ = named_format(task.format)
    assert fmt.reader is not None
    return fmt.reader


class _Lengths:
    """Lengths of documents, by their labels, which are added to the counts some ten thousand at once."""

    def __init__(self, counted: Counted) -> None:
        self._counted = counted
        self._labels: list[Label] = []
        self._columns: dict[str, array[int]] = {}

    def label(self, languages: Sequence[str | None], sources: Sequence[str | None], variant: str) -> None:
        """Note the labels of the next documents."""
        pairs = list(zip(languages, sources, strict=True))
        labels = {pair: (clipped(pair[0] or ""), clipped(pair[1] or ""), variant) for pair in set(pairs)}
        self._labels += map(labels.__getitem__, pairs)

    def extend(self, columns: Mapping[str, array[int]]) -> None:
        """Add the lengths of all documents whose labels were noted since the last time."""
        for name, column in columns.items():
            self._columns.setdefault(name, array("q")).extend(column)
        if len(self._labels) >= _MOST_LENGTHS:
            self.flush()

    def flush(self) -> None:
        """Add all lengths to the counts."""
        places: dict[Label, list[int]] = {}
        for place, label in enumerate(self._labels):
            places.setdefault(label, []).append(place)
        for label, own in places.items():
            size = Size()
            size.add({name: array("q", map(column.__getitem__, own)) for name, column in self._columns.items()}, FINE)
            self._counted.total.merge(size)
            coarse = size.coarse()
            for grouping, name in zip(GROUPINGS, label, strict=True):
                self._counted.group(grouping, name).merge(coarse)
        self._labels, self._columns = [], {}


class _Waiting:
    """Numbers that wait to be added to a sketch."""

    def __init__(self, sketch: Sketch) -> None:
        self._sketch = sketch
        self._numbers: list[float] = []

    def extend(self, numbers: Sequence[float]) -> None:
        self._numbers += numbers
        while len(self._numbers) >= _NUMBERS_AT_A_TIME:
            self.flush()

    def flush(self) -> None:
        """Add those that come next."""
        self._sketch.add(self._numbers[:_NUMBERS_AT_A_TIME])
        del self._numbers[:_NUMBERS_AT_A_TIME]


class _Counting:
    def __init__(self, task: CountTask) -> None:
        self._task = task
        self.result = Counted()
        keeps_texts = not task.count.isdisjoint({"repeats", "tokens"})
        self._measuring = Measuring(words="words" in task.count, keeps_texts=keeps_texts)
        self._texts: list[bytes] = []
        self._lengths = _Lengths(self.result)
        self._scores = _Waiting(self.result.scores)
        self._values: dict[str, _Waiting] = {}
        self._bytes = 0
        self._is_whole = True
        kept = (LINES, DOCUMENTS) if "repeats" in task.count else ()
        self._keys = {each: KeyWriter(task.scratch / each, task.number) for each in kept}
        self._rows = dict.fromkeys(self._keys, 0)
        self._domains = DomainWriter(task.scratch / DOMAINS, task.number) if "domains" in task.count else None

    def read(self, shard: Shard) -> None:
        """Count the documents of a shard."""
        variant = clipped(shard.corpus) if self._task.side_by_side else ""
        self._is_whole = True
        reader, options = _reader_of(self._task), self._task.options
        tables = self._measuring.tables
        try:
            for each in reader.texts(shard, options, tables) if reader.texts else reader.read(shard, options):
                if isinstance(each, Document):
                    self._take(each, variant)
                elif isinstance(each, Texts):
                    self._pass_on()
                    self._take_all(each, variant)
                elif isinstance(each, LeftOut):
                    self.result.left_out[each.what] += 1
                else:
                    self._reject(each.finding, cut=each.finding.code in CUT and not each.raw)
        except BadInput as error:
            self._reject(error.finding, cut=True)
        self.result.shards += self._is_whole

    def _reject(self, found: Finding, *, cut: bool) -> None:
        at = found.location
        if (
            cut or found.code in INCOMPLETE_CODES or (at.line is None and at.record is None)
        ):  # of a file, not of a record
            self._is_whole = False
        if cut or found.code in INCOMPLETE_CODES:
            self.result.broken.append(found)
        else:
            self.result.rejected += 1
            findings = self.result.findings
            # A file that is missing is one finding, for each document that it should have.
            if findings and replace(findings[-1], problem=replace(findings[-1].problem, count=1)) == found:
                again = findings[-1].problem.count + 1
                findings[-1] = replace(found, problem=replace(found.problem, count=again))
            elif len(findings) < MOST_FINDINGS:
                findings.append(found)

    def _take(self, document: Document, variant: str) -> None:
        text = document.text.encode()
        self._texts.append(text)
        self._bytes += len(text) + _DOCUMENT_BYTES
        self._lengths.label([document.lang], [document.source], variant)
        count_months(self.result.created, [document.created])
        count_months(self.result.added, [document.added])
        if document.metadata:
            self._note({name: [value] for name, value in document.metadata.items()}, [len(text)])
        if "attributes" in self._task.count:
            for name, spans in _attributes(document):
                self._note_spans(clipped(name), spans)
        if self._bytes >= _BATCH_BYTES:
            self._pass_on()

    def _take_all(self, found: Texts, variant: str) -> None:
        self._lengths.label(found.languages, found.sources, variant)
        count_months(self.result.created, found.created)
        count_months(self.result.added, found.added)
        lengths = self._measuring.columns(found.measures)
        self._count(found.data, lengths)
        self._note(found.metadata, lengths["bytes"])
        if "attributes" in self._task.count:
            for attributes in found.attributes:
                for name, spans in attributes.items():
                    self._note_spans(clipped(name), spans)

    def _note(self, metadata: Mapping[str, Sequence[Any]], sizes: Iterable[int]) -> None:
        """Note the metadata, in columns, of documents with texts of these sizes in bytes."""
        if self._domains is not None and "url" in metadata:
            for address, size in zip(metadata["url"], sizes, strict=True):
                if isinstance(address, str):
                    self._domains.add(address, size)
        scores: Iterable[Any] = metadata.get("language_score", ())
        if (records := metadata.get("oscar")) is not None:
            scores = map(_score_of, scores or repeat(None), records)
        self._scores.extend([each for each in scores if type(each) in _NUMBERS and abs(each) <= _MOST_SCORE])
        if columns := [metadata[name] for name in _SNAPSHOT_FIELDS if name in metadata]:
            strings = [[value if isinstance(value, str) else "" for value in column] for column in columns]
            for texts, number in Counter(zip(*strings, strict=True)).items():
                if snapshot := next(filter(None, map(_SNAPSHOT.search, texts)), None):
                    count_name(self.result.snapshots, snapshot.group(), number)

    def _note_spans(self, name: str, spans: Any) -> None:
        attribute = self.result.attribute(name)
        if name not in self.result.attributes:
            name = FURTHER
        attribute.documents += 1
        if isinstance(spans, list):
            attribute.spans += len(spans)
            found = (span[-1] if isinstance(span, list) and span else span for span in spans)
            values = [value for value in found if type(value) in _NUMBERS and abs(value) <= _MOST_VALUE]
            self._values.setdefault(name, _Waiting(attribute.values)).extend(values)

    def _pass_on(self) -> None:
        """Count the texts that wait, all at once."""
        if self._texts:
            ends = array("q", accumulate((len(text) + 1 for text in self._texts), initial=-1))[1:]
            data = b"\n".join(self._texts)
            self._count(data, self._measuring.lengths(data, ends.tobytes()))
            self._texts, self._bytes = [], 0

    def _count(self, data: bytes, lengths: dict[str, array[int]]) -> None:
        """Count texts, which LFs join, by their lengths in each unit, and what was noted of their documents."""
        if self._measuring.tables.keeps_texts:
            starts = accumulate((size + 1 for size in lengths["bytes"]), initial=0)
            texts = [data[start : start + size] for start, size in zip(starts, lengths["bytes"], strict=False)]
            if "tokens" in self._task.count:
                counts = tokens_in([text.decode() for text in texts], self._task.scratch / TOKENIZER)
                lengths["tokens"] = array("q", counts)
            if self._keys:
                self._add_keys(data, texts)
        self._lengths.extend(lengths)

    def _add_keys(self, data: bytes, texts: Sequence[bytes]) -> None:
        import numpy as np  # noqa: PLC0415 - takes a tenth of a second, and only repeats need it

        lines = data.split(b"\n")
        for name, values in ((LINES, lines), (DOCUMENTS, texts)):
            writer, first = self._keys[name], self._rows[name]
            hashes = np.fromiter(map(xxhash.xxh3_64_intdigest, values), np.uint64, len(values))
            rows = np.arange(first, first + len(values), dtype=np.uint64)
            if name == LINES:
                kept = np.fromiter(map(len, values), np.int64, len(values)) > 0
                hashes, rows = hashes[kept], rows[kept]
                self.result.compared_lines += len(hashes)
            writer.extend_array(hashes, rows)
            if (first + len(values)) // _KEYS_A_RUN > first // _KEYS_A_RUN:
                writer.close()
            self._rows[name] += len(values)

    def end(self) -> Counted:
        """Count the rest."""
        self._pass_on()
        self._lengths.flush()
        self.result.scripts.update(self._measuring.scripts)
        for waiting in (self._scores, *self._values.values()):
            waiting.flush()
        for writer in self._keys.values():
            writer.close()
        if self._domains is not None:
            self._domains.close()
        return self.result


def _attributes(document: Document) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of a document: embedded ones, and those of sets as `SET/NAME`."""
    yield from (document.attributes or {}).items()
    for set_name, text in document.attribute_rows.items():
        row: Any = msgspec.json.decode(text)
        yield from ((f"{set_name}/{name}", spans) for name, spans in row["attributes"].items())


def _score_of(score: Any, record: Any) -> Any:
    """Return the confidence in the language of a document, or else that of its record of OSCAR 22.01 or 23.01."""
    if score is not None:
        return score
    for name in ("metadata", "identification", "prob"):
        record = record.get(name) if isinstance(record, dict) else None
    return record
