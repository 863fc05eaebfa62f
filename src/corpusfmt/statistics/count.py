"""Internal: Count what some shards contain: the task of one worker. Its results add up."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, compress
from pathlib import Path
from typing import Any

import msgspec
import xxhash
from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.conversion.documents import CUT
from corpusfmt.formats import CheckOptions, LeftOut, Rejected, Shard, named_format
from corpusfmt.io.keys import KeyWriter
from corpusfmt.model import INCOMPLETE_CODES, BadInput, Document, Finding, Json
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
    count_month,
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
    reader = named_format(task.format)[0].reader
    assert reader is not None
    return reader.read(shard, task.options)


class _Lengths:
    """Lengths of documents, by their labels, which are added to the counts some ten thousand at once."""

    def __init__(self, counted: Counted) -> None:
        self._counted = counted
        #: Those of the documents whose lengths come next.
        self.labels: list[Label] = []
        self._columns: dict[str, array[int]] = {}

    def extend(self, columns: Mapping[str, array[int]]) -> None:
        """Add the lengths of all documents with new labels."""
        for name, column in columns.items():
            self._columns.setdefault(name, array("q")).extend(column)
        if len(self.labels) >= _MOST_LENGTHS:
            self.flush()

    def flush(self) -> None:
        """Add all lengths to the counts."""
        places: dict[Label, list[int]] = {}
        for place, label in enumerate(self.labels):
            places.setdefault(label, []).append(place)
        for label, own in places.items():
            size = Size()
            size.add({name: array("q", map(column.__getitem__, own)) for name, column in self._columns.items()}, FINE)
            self._counted.total.merge(size)
            coarse = size.coarse()
            for grouping, name in zip(GROUPINGS, label, strict=True):
                self._counted.group(grouping, name).merge(coarse)
        self.labels, self._columns = [], {}


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
        self._measuring = Measuring(words="words" in task.count)
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
        try:
            for each in documents_of(self._task, shard):
                if isinstance(each, Document):
                    self._take(each, variant)
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
        self._lengths.labels.append((clipped(document.lang or ""), clipped(document.source or ""), variant))
        count_month(self.result.created, document.created)
        count_month(self.result.added, document.added)
        if document.metadata:
            self._note(document.metadata, len(text))
        if "attributes" in self._task.count:
            for name, spans in _attributes(document):
                self._note_spans(clipped(name), spans)
        if self._bytes >= _BATCH_BYTES:
            self._pass_on()

    def _note(self, metadata: Json, size: int) -> None:
        """Note the metadata of a document with a text of `size` bytes."""
        if self._domains is not None and isinstance(address := metadata.get("url"), str):
            self._domains.add(address, size)
        score = _score_of(metadata.get("language_score"), metadata.get("oscar"))
        if type(score) in _NUMBERS and abs(score) <= _MOST_SCORE:
            self._scores.extend([score])
        for name in _SNAPSHOT_FIELDS:
            if isinstance(text := metadata.get(name), str) and (snapshot := _SNAPSHOT.search(text)):
                count_name(self.result.snapshots, snapshot.group())
                break

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
        if texts := self._texts:
            ends = array("q", accumulate((len(text) + 1 for text in texts), initial=-1))[1:]
            data = b"\n".join(texts)
            lengths = self._measuring.lengths(data, ends.tobytes())
            if "tokens" in self._task.count:
                counts = tokens_in([text.decode() for text in texts], self._task.scratch / TOKENIZER)
                lengths["tokens"] = array("q", counts)
            if self._keys:
                self._add_keys(data, texts)
            self._lengths.extend(lengths)
            self._texts, self._bytes = [], 0

    def _add_keys(self, data: bytes, texts: Sequence[bytes]) -> None:
        for name, values in ((LINES, data.split(b"\n")), (DOCUMENTS, texts)):
            writer, first = self._keys[name], self._rows[name]
            rows: Iterable[int] = range(first, first + len(values))
            if name == LINES:
                kept = list(filter(None, values))
                self.result.compared_lines += len(kept)
                writer.extend(map(xxhash.xxh3_64_intdigest, kept), compress(rows, values))
            else:
                writer.extend(map(xxhash.xxh3_64_intdigest, values), first)
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
