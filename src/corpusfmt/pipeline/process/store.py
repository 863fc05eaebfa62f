"""Internal: Stage `process`: clean and classify one WET file, and store it as a container of documents by language."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, Self

import msgspec
from msgspec import Struct, field

from corpusfmt.io.compress import scratch_member
from corpusfmt.io.containers import ContainerWriter
from corpusfmt.io.paths import Entry, OutsideRoot, reason_of
from corpusfmt.io.publish import publish
from corpusfmt.io.scan import is_nfc
from corpusfmt.io.streams import DigestReader, FaultKind, StreamFault
from corpusfmt.langid import Classifier, LangidError
from corpusfmt.model import Incomplete
from corpusfmt.pipeline.dedup import HASHES, keys_of, sorted_keys
from corpusfmt.pipeline.goclassy import GoclassyReader
from corpusfmt.pipeline.hot import KeyedLineSet, LineSet, documents
from corpusfmt.pipeline.process.documents import StoredDocument
from corpusfmt.pipeline.process.filters import AddressFilter, Selector
from corpusfmt.pipeline.process.steps import StepCode, StepCounts, StepFailure, Steps
from corpusfmt.pipeline.process.wet import Batch, Digests, WetRecord, batches, wet_batches, wet_chunks
from corpusfmt.pipeline.recipe import Lines, Recipe
from corpusfmt.pipeline.rules import Defect, WetDefect


class Size(Struct):
    """Documents, lines, and bytes of text, line ends included."""

    documents: int = 0
    lines: int = 0
    text_bytes: int = 0

    def count(self, lines: int, text_bytes: int) -> None:
        """Count a document."""
        self.documents += 1
        self.lines += lines
        self.text_bytes += text_bytes

    def __iadd__(self, other: Self) -> Self:
        self.documents += other.documents
        self.lines += other.lines
        self.text_bytes += other.text_bytes
        return self


# Bytes of a language in memory before they become a section of the container.
_SECTION_BYTES = 4 * 1024 * 1024
# Repetitions are found among this many lines of a language.
_MOST_SEEN = 1_000_000
# Approximate size of a record's headers.
_HEADERS_BYTES = 1024


class ProcessTask(Struct, frozen=True):
    """One input; `classifier` loads the model. Hashes of lines have the `key` of the run."""

    entry: Entry
    container: Path
    recipe: Recipe
    addresses: AddressFilter
    classifier: Callable[[], Classifier]
    key: bytes
    steps: tuple[StepCode, ...] = ()


class Fault(Struct, frozen=True):
    """A `StreamFault` as plain data."""

    kind: FaultKind
    reason: str
    offset: int
    readable: int
    truncated: bool

    @classmethod
    def of(cls, fault: StreamFault) -> Fault:
        return cls(fault.kind, fault.reason, fault.offset, fault.readable, fault.truncated)

    @property
    def error(self) -> StreamFault:
        return StreamFault(self.kind, self.reason, offset=self.offset, readable=self.readable, truncated=self.truncated)


class Processed(Struct):
    """Result of one input: plain data for a marker.

    `original` is the kept text by language, `stored` the number of its lines in the container (when deduplicating,
    without repetitions within the input). `dropped` counts lines by reason, `cleaned` counts changed lines. `fault` or
    `defect` says why the input cannot be read as WET; nothing of it is used then. `cut` says why only its beginning was
    read, `padding` what follows its end. `false_digests` is the number of records whose digest is false, and that of the first
    one; they are dropped. `steps` counts what each step did, `failures` are the documents on which one failed.
    """

    sha256: str = ""
    records: int = 0
    original: dict[str, Size] = {}
    stored: dict[str, int] = {}
    dropped: dict[str, int] = {}
    cleaned: dict[str, int] = {}
    fault: Fault | None = None
    defect: tuple[Defect, str] | None = None
    cut: str | None = None
    padding: Fault | None = None
    false_digests: tuple[int, int] = (0, 0)
    steps: dict[str, StepCounts] = {}
    failures: list[StepFailure] = []

    @property
    def is_whole(self) -> bool:
        """Whether nothing of the input was left out because of an error."""
        return self.quarantined is None and not self.failures

    @property
    def quarantined(self) -> str | None:
        """Why nothing of the input is used, or None."""
        if self.fault:
            return f"{self.fault.reason} (after {self.fault.offset} compressed bytes)"
        return self.defect[1] if self.defect else None


class _Language(Struct):
    """The state of a language: its size, documents since its last section, hashes of all stored lines."""

    lines: KeyedLineSet | LineSet
    original: Size = field(default_factory=Size)
    documents: list[StoredDocument] = field(default_factory=list)
    section_bytes: int = 0
    stored: int = 0
    hashes: bytearray = field(default_factory=bytearray)

    def store(self, document: StoredDocument) -> None:
        self.documents.append(document)
        self.stored += document.lines
        self.section_bytes += len(document.text) + len(document.notes) + _HEADERS_BYTES


class _Piece(Struct, gc=False):
    """Lines of one record and language, together in the output and each with its LF; `tail` follows them."""

    label: str
    document: StoredDocument
    tail: bytes = b""


def process(task: ProcessTask) -> Processed:
    """Classify the lines of a WET file and store the kept ones. Nothing is stored of a broken file.

    With the reader of goclassy, the records before the first broken one are stored.
    """
    forgiven: list[StreamFault] = []
    name = task.entry.url
    try:
        with _opened(task.entry) as file, publish(task.container, sync="data") as stored:
            source = DigestReader(file)
            container = ContainerWriter(stored)
            if task.recipe.records.reader == "goclassy":
                reader = GoclassyReader(wet_chunks(source, name, forgiven))
                processed = _store(batches(reader.records()), task, container)
                processed.cut = reader.cut
                if reader.unended:
                    processed.dropped["without a line end"] = reader.unended
            else:
                processed = _store(wet_batches(source, name, forgiven), task, container)
            source.drain()
            processed.sha256 = source.sha256
            if forgiven:
                processed.padding = Fault.of(forgiven[0])
            return processed
    except StreamFault as fault:
        return Processed(fault=Fault.of(fault))
    except WetDefect as defect:
        return Processed(defect=(defect.defect, defect.reason))


def checked(entry: Entry) -> Processed:
    """Read a WET file to its end, compare its digests, and store nothing."""
    forgiven: list[StreamFault] = []
    digests = Digests()
    documents = 0
    try:
        with _opened(entry) as file:
            for batch in digests.pages(wet_batches(file, entry.url, forgiven), Counter()):
                documents += len(batch.headers)
    except StreamFault as fault:
        return Processed(fault=Fault.of(fault))
    except WetDefect as defect:
        return Processed(defect=(defect.defect, defect.reason))
    read = {"": Size(documents)}  # of no language
    padding = Fault.of(forgiven[0]) if forgiven else None
    return Processed(original=read, padding=padding, false_digests=(digests.false, digests.first))


@contextmanager
def _opened(entry: Entry) -> Iterator[_Source]:
    with _reading():
        file = entry.open()
    with file:
        yield _Source(file)


@contextmanager
def _reading() -> Iterator[None]:
    """Turn a failure to read into a fault of the input; any other failure belongs to the run."""
    try:
        yield
    except OSError as error:
        defect: Defect = "outside" if isinstance(error, OutsideRoot) else "unreadable"
        raise WetDefect(defect, reason_of(error)) from error


class _Source(Struct, frozen=True):
    file: BinaryIO

    def read(self, size: int = -1, /) -> bytes:
        with _reading():
            return self.file.read(size)


def _store(pages: Iterator[Batch], task: ProcessTask, container: ContainerWriter) -> Processed:
    deduplication = task.recipe.deduplication
    # Stage `dedup` finds the repetitions of forgotten lines, and all of them if the original is kept, too.
    line_set = partial(HASHES[deduplication.hash].line_set, task.key, 0 if deduplication.keep_original else _MOST_SEEN)
    languages: dict[str, _Language] = {}
    processed = Processed(original={}, stored={})
    dropped = Counter[str]()
    selector = Selector(task.recipe.filter, task.addresses, dropped)
    try:
        classifier = task.classifier()
    except LangidError as error:
        raise Incomplete(str(error)) from error
    changed = Counter[str]()
    steps = Steps(task.steps, dropped)
    checked = Digests()
    pages = cleaned(selector.pages(checked.pages(pages, dropped)), task.recipe.lines, changed)
    for piece in _chosen(_pieces(pages, task.recipe, classifier, dropped), selector, steps):
        label, document = piece.label, piece.document
        language = languages.get(label)
        if language is None:
            language = languages[label] = _Language(line_set())
        tail = len(piece.tail)
        language.original.count(document.lines + tail, len(document.text) + tail)
        if deduplication.lines:
            text, digests, new = language.lines.add(document.text)
            language.hashes += digests
            if text is not document.text:
                document = document.with_lines(text, new)
        if tail:
            document.text += piece.tail
        if document.lines:
            language.store(document)
        if language.section_bytes >= _SECTION_BYTES:
            _flush(container, label, language)
    for label, language in sorted(languages.items()):
        _flush(container, label, language)
        container.add(keys_of(label), sorted_keys(language.hashes, deduplication.hash))
        processed.original[label] = language.original
        processed.stored[label] = language.stored
    container.finish()
    processed.records = selector.seen + checked.false
    processed.false_digests = checked.false, checked.first
    processed.steps, processed.failures = steps.counts, steps.failures
    processed.dropped = dict(sorted(dropped.items()))
    processed.cleaned = dict(sorted(changed.items()))
    return processed


def _chosen(pieces: Iterator[_Piece], selector: Selector, steps: Steps) -> Iterator[_Piece]:
    """Yield what filters and steps leave."""
    for piece in pieces:
        kept = selector.keeps(piece.label, piece.document.lines)
        left = steps.applied(piece.label, piece.document) if kept else None
        if left is not None:
            piece.document = left
            yield piece


def _pieces(pages: Iterator[Batch], recipe: Recipe, classifier: Classifier, dropped: Counter[str]) -> Iterator[_Piece]:
    """Yield the kept lines by (record, language), and count dropped lines by reason."""
    runs = recipe.output.format == "goclassy"
    pieces = _by_batch(pages, recipe, classifier, dropped, adjacent=runs)
    return _with_blank_lines(pieces) if runs else pieces


def _by_batch(
    pages: Iterator[Batch], recipe: Recipe, classifier: Classifier, dropped: Counter[str], *, adjacent: bool
) -> Iterator[_Piece]:
    lines, with_scores = recipe.lines, recipe.output.language_scores
    for headers, text, record_ends in pages:
        found = classifier.classify(text, lines.min_chars)
        dropped["too short"] += found.short
        dropped["invalid UTF-8"] += found.invalid
        kept = documents(
            text,
            record_ends,
            found.starts,
            found.ends,
            found.label_indices,
            found.scores,
            lines.min_confidence,
            adjacent,
        )
        dropped["uncertain language"] += len(found) - sum(count for _, _, _, count, _ in kept)
        for record, label, own, count, scores in kept:
            document = StoredDocument(headers[record], count, own, scores if with_scores else b"")
            yield _Piece(found.labels[label], document)


def _with_blank_lines(pieces: Iterator[_Piece]) -> Iterator[_Piece]:
    """Yield runs of lines of one language, with a blank line after each run that another language follows.

    goclassy writes it if the next run is of the same record or a later one, but not at the end of the file.
    """
    held = next(pieces, None)
    for piece in pieces:
        assert held is not None
        if held.label != piece.label:
            held.tail = b"\n"
        yield held
        held = piece
    if held is not None:
        yield held


def _flush(container: ContainerWriter, label: str, language: _Language) -> None:
    if language.documents:
        container.add(label, scratch_member(msgspec.msgpack.encode(language.documents)))
        language.documents.clear()
        language.section_bytes = 0


STRIPPED, NORMALISED = "stripped of carriage returns", "normalised to NFC"


def cleaned(batches: Iterable[Batch], lines: Lines, counts: Counter[str]) -> Iterator[Batch]:
    """Yield batches with their lines cleaned as the recipe asks, and count the changed lines."""
    for batch in batches:
        strip = lines.strip_carriage_returns and b"\r" in batch.text
        normalise = lines.nfc and not is_nfc(batch.text)
        if strip or normalise:
            records = batch.records()
            yield Batch.of(
                WetRecord(headers, _cleaned(text, counts, strip=strip, normalise=normalise))
                for headers, text in records
            )
        else:
            yield batch


def _cleaned(text: bytes, counts: Counter[str], *, strip: bool, normalise: bool) -> bytes:
    lines = text.split(b"\n")
    for number, line in enumerate(lines):
        changed = line
        if strip and b"\r" in line:
            # A carriage return inside a line separates words.
            changed = b" ".join(filter(None, line.split(b"\r")))
            counts[STRIPPED] += 1
        if normalise and not changed.isascii():
            with suppress(UnicodeDecodeError):  # such a line will be dropped
                decoded = changed.decode()
                if not unicodedata.is_normalized("NFC", decoded):
                    counts[NORMALISED] += 1
                    changed = unicodedata.normalize("NFC", decoded).encode()
        lines[number] = changed
    return b"\n".join(lines)
