"""Stage `process`: one WET file into one container of documents by language."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from corpusfmt.io.compress import scratch_member
from corpusfmt.io.containers import Container, ContainerWriter
from corpusfmt.io.paths import is_remote, open_input, reason_of
from corpusfmt.io.publish import publish
from corpusfmt.io.streams import Chunks, DigestReader, FaultKind, StreamFault
from corpusfmt.langid import BackendChoice, Classifier
from corpusfmt.pipeline.dedup import HASHES, keys_of, sorted_keys
from corpusfmt.pipeline.filters import AddressFilter, Selector
from corpusfmt.pipeline.goclassy import GoclassyReader
from corpusfmt.pipeline.recipe import Lines, Recipe
from corpusfmt.pipeline.rules import Defect, WetDefect
from corpusfmt.pipeline.size import Size, size_of
from corpusfmt.pipeline.wet import WetRecord, wet_chunks, wet_records

# What one language may hold in memory before it becomes a section of the container.
_SECTION_BYTES = 4 * 1024 * 1024
# Of so many lines of a language repetitions are found at once.
_MOST_SEEN = 1_000_000
# About what the headers of a record take.
_HEADERS_BYTES = 1024
# Records are classified together up to this size: a call for each page would cost more than its work.
_BATCH_BYTES = 256 * 1024


class StoredDocument(msgspec.Struct, array_like=True):
    """One (record, language): the record's headers, and its kept lines, each with its LF.

    Where the recipe asks for them, `scores` are the lines' probabilities.
    """

    headers: dict[str, str]
    lines: int
    text: bytes
    scores: list[float] = []

    def only(self, choice: Sequence[bool | int]) -> StoredDocument:
        """Return a document of some of the lines, those for which `choice` says so."""
        kept = list(compress(self.text.split(b"\n"), choice))
        return StoredDocument(self.headers, len(kept), b"\n".join((*kept, b"")), list(compress(self.scores, choice)))


@dataclass(frozen=True, slots=True)
class ProcessTask:
    """One input; `backend` and `model` are those of `Classifier`."""

    url: str
    container: Path
    recipe: Recipe
    addresses: AddressFilter
    model: str | None
    backend: BackendChoice


class Processed(msgspec.Struct):
    """What became of one input: plain data for a marker.

    `original` says by language how much was kept, `stored` how many of its lines are in the container (without those that
    repeat another one of this input, where repetitions go), `dropped` counts lines by reason; `fault` or `defect` says
    why the input could not be read as WET, and then nothing of it is used; `cut` says why only its beginning was read.
    """

    sha256: str = ""
    records: int = 0
    original: dict[str, Size] = {}
    stored: dict[str, int] = {}
    dropped: dict[str, int] = {}
    fault: tuple[FaultKind, str] | None = None
    defect: tuple[Defect, str] | None = None
    cut: str | None = None

    @property
    def quarantined(self) -> str | None:
        """The reason why nothing of the input is used."""
        reason = self.fault or self.defect
        return reason[1] if reason else None


@dataclass(slots=True)
class _Language:
    """What one language has gathered: its size, documents since its last section, hashes of all stored lines."""

    original: Size = field(default_factory=Size)
    unmeasured: list[bytes] = field(default_factory=list)
    unmeasured_bytes: int = 0
    documents: list[StoredDocument] = field(default_factory=list)
    section_bytes: int = 0
    stored: int = 0
    hashes: bytearray = field(default_factory=bytearray)
    seen: set[bytes] = field(default_factory=set)

    def measure(self, text: bytes) -> None:
        self.unmeasured.append(text)
        self.unmeasured_bytes += len(text)
        if self.unmeasured_bytes >= _SECTION_BYTES:
            self.finish_measuring()

    def finish_measuring(self) -> None:
        self.original += size_of(self.unmeasured)
        self.unmeasured.clear()
        self.unmeasured_bytes = 0

    def store(self, document: StoredDocument, hashes: Iterable[bytes]) -> None:
        self.documents.append(document)
        self.stored += document.lines
        self.section_bytes += len(document.text) + _HEADERS_BYTES
        self.hashes += b"".join(hashes)

    def unseen(self, hashes: Sequence[bytes]) -> list[bool]:
        """Say which lines were not seen before; what is forgotten is left to the stage `dedup`."""
        if len(self.seen) > _MOST_SEEN:
            self.seen.clear()
        seen, add = self.seen, self.seen.add
        return [not (each in seen or add(each)) for each in hashes]


class _Kept(NamedTuple):
    """The lines of some records that are kept, in order: for each the number of its record, label, text, probability.

    `headers` are those of the records; texts are without LF.
    """

    headers: list[dict[str, str]]
    owners: list[int]
    labels: list[str]
    texts: list[bytes]
    scores: list[float]


class _Piece(NamedTuple):
    """Lines of one record and language that stand together in the output; `tail` follows the last one's LF."""

    headers: dict[str, str]
    label: str
    texts: list[bytes]
    scores: list[float]
    tail: bytes = b""

    def joined(self) -> bytes:
        return b"\n".join((*self.texts, self.tail))

    def only(self, choice: Sequence[bool]) -> _Piece:
        """Return some of the lines, those for which `choice` says so."""
        return self._replace(texts=list(compress(self.texts, choice)), scores=list(compress(self.scores, choice)))


def process(task: ProcessTask) -> Processed:
    """Classify the lines of one WET file and store what is kept; of a file that is not whole WET nothing is kept.

    With the reader of goclassy, of a file that is whole until some record all before it is kept.
    """
    try:
        with ExitStack() as opened, publish(task.container) as file:
            readers: list[DigestReader] = []

            def open_source() -> DigestReader:
                readers.append(DigestReader(_opened(task.url, opened)))
                return readers[-1]

            if task.recipe.records.reader == "goclassy":
                reader = GoclassyReader(wet_chunks(open_source(), task.url))
                processed = _store(reader.records(), task, ContainerWriter(file))
                processed.cut = reader.cut
                if reader.unended:
                    processed.dropped["without a line end"] = reader.unended
            else:
                processed = _store(wet_records(open_source, task.url), task, ContainerWriter(file))
            readers[-1].drain()
            processed.sha256 = readers[-1].sha256
            return processed
    except StreamFault as fault:
        place = f"after {fault.offset} compressed bytes"
        return Processed(fault=(fault.kind, f"{fault.reason} ({place})"))
    except WetDefect as defect:
        return Processed(defect=(defect.defect, defect.reason))


@contextmanager
def _reading(url: str) -> Iterator[None]:
    """Make a failure to read the fault of the file that is read: what else fails here is a matter of the run."""
    try:
        yield
    except OSError as error:
        raise WetDefect("unreadable", reason_of(error)) from error
    except Exception as error:
        if not is_remote(url):
            raise
        # A store raises whatever the library does that talks to it.
        raise WetDefect("unreadable", f"{type(error).__name__}: {error}") from error


@dataclass(frozen=True, slots=True)
class _Source:
    url: str
    file: BinaryIO

    def read(self, size: int = -1, /) -> bytes:
        with _reading(self.url):
            return self.file.read(size)


def _opened(url: str, stack: ExitStack) -> _Source:
    with _reading(url):
        return _Source(url, stack.enter_context(open_input(url)))


def _store(records: Iterator[WetRecord], task: ProcessTask, container: ContainerWriter) -> Processed:
    deduplication = task.recipe.deduplication
    unique = deduplication.lines and not deduplication.keep_original
    hash_of = HASHES[deduplication.hash].function
    languages: dict[str, _Language] = {}
    processed = Processed(original={}, stored={})
    dropped = Counter[str]()
    selector = Selector(task.recipe.filter, task.addresses, dropped)
    classifier = Classifier(task.model, backend=task.backend)
    kept = _kept(selector.pages(records), task.recipe.lines, classifier, dropped)
    pieces = _runs(kept) if task.recipe.output.format == "goclassy" else _by_language(kept)
    for piece in pieces:
        if not selector.keeps(piece.label, len(piece.texts)):
            continue
        language = languages.setdefault(piece.label, _Language())
        text = piece.joined()
        language.measure(text)
        hashes = list(map(hash_of, piece.texts)) if deduplication.lines else []
        if unique and not all(unseen := language.unseen(hashes)):
            hashes = list(compress(hashes, unseen))
            piece = piece.only(unseen)  # noqa: PLW2901 - what is left of it
            text = piece.joined()
        if piece.texts:
            scores = piece.scores if task.recipe.output.language_scores else []
            language.store(StoredDocument(piece.headers, len(piece.texts), text, scores), hashes)
        if language.section_bytes >= _SECTION_BYTES:
            _flush(container, piece.label, language)
    for label, language in sorted(languages.items()):
        language.finish_measuring()
        _flush(container, label, language)
        container.add(keys_of(label), sorted_keys(bytes(language.hashes), deduplication.hash))
        processed.original[label] = language.original
        processed.stored[label] = language.stored
    container.finish()
    processed.records = selector.seen
    processed.dropped = dict(sorted(dropped.items()))
    return processed


def _batches(records: Iterator[WetRecord]) -> Iterator[list[WetRecord]]:
    batch: list[WetRecord] = []
    size = 0
    for record in records:
        batch.append(record)
        size += len(record.text)
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _kept(records: Iterator[WetRecord], lines: Lines, classifier: Classifier, dropped: Counter[str]) -> Iterator[_Kept]:
    """Yield the kept lines of batches, and count by reason those that are not kept."""
    import numpy as np  # noqa: PLC0415 - a help page needs no arrays

    for batch in _batches(records):
        ended = [record.text + b"\n" if record.text and record.text[-1:] != b"\n" else record.text for record in batch]
        text = b"".join(ended)
        classified = classifier.classify(text, lines.min_chars)
        scores = np.asarray(classified.scores).astype(np.float64)
        sure = np.flatnonzero(scores >= lines.min_confidence)
        dropped["too short"] += classified.short
        dropped["invalid UTF-8"] += classified.invalid
        dropped["uncertain language"] += len(classified) - len(sure)
        starts, ends = np.asarray(classified.starts)[sure], np.asarray(classified.ends)[sure]
        owners = np.searchsorted(np.cumsum([len(each) for each in ended]), starts, side="right")
        yield _Kept(
            [record.headers for record in batch],
            owners.tolist(),
            [classified.labels[index] for index in np.asarray(classified.label_indices)[sure].tolist()],
            [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)],
            scores[sure].tolist(),
        )


def _by_language(batches: Iterable[_Kept]) -> Iterator[_Piece]:
    """Yield the lines of each (record, language), in the order of their first lines."""
    for headers, *lines in batches:
        found: dict[tuple[int, str], _Piece] = {}
        for owner, label, text, score in zip(*lines, strict=True):
            piece = found.get((owner, label))
            if piece is None:
                piece = found[owner, label] = _Piece(headers[owner], label, [], [])
            piece.texts.append(text)
            piece.scores.append(score)
        yield from found.values()


def _runs(batches: Iterable[_Kept]) -> Iterator[_Piece]:
    """Yield consecutive lines of one language, as goclassy writes them, at most a record at a time.

    A blank line follows where another language does, in the same record or a later one; not at the end of the file.
    """
    held: _Piece | None = None
    for headers, *lines in batches:
        last: int | None = None
        for owner, label, text, score in zip(*lines, strict=True):
            if held is None or owner != last or label != held.label:
                if held is not None:
                    yield held if held.label == label else held._replace(tail=b"\n")
                held = _Piece(headers[owner], label, [], [])
                last = owner
            held.texts.append(text)
            held.scores.append(score)
    if held is not None:
        yield held


def _flush(container: ContainerWriter, label: str, language: _Language) -> None:
    if language.documents:
        container.add(label, scratch_member(msgspec.msgpack.encode(language.documents)))
        language.documents.clear()
        language.section_bytes = 0


def stored_documents(container: Container, label: str) -> Iterator[list[StoredDocument]]:
    """Yield what a container holds of one language, section by section, in the order of its input."""
    decoder = msgspec.msgpack.Decoder(list[StoredDocument])
    for section in container.sections(label):
        documents = decoder.decode(b"".join(Chunks(io.BytesIO(section), "gzip")))
        container.forget()
        yield documents
