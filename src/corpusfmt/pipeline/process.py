"""Stage `process`: one WET file into one container of documents by language."""

from __future__ import annotations

import io
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import BinaryIO

import msgspec
import xxhash

from corpusfmt.io.compress import scratch_member
from corpusfmt.io.containers import Container, ContainerWriter
from corpusfmt.io.keys import sorted_pairs
from corpusfmt.io.paths import is_remote, open_input, reason_of
from corpusfmt.io.publish import publish
from corpusfmt.io.streams import Chunks, DigestReader, FaultKind, StreamFault
from corpusfmt.langid import BackendChoice, Classifier
from corpusfmt.pipeline.dedup import keys_of
from corpusfmt.pipeline.filters import AddressFilter, Filter, Selector
from corpusfmt.pipeline.recipe import Lines
from corpusfmt.pipeline.rules import Defect, WetDefect
from corpusfmt.pipeline.size import Size, size_of
from corpusfmt.pipeline.wet import WetRecord, wet_records

# What one language may hold in memory before it becomes a section of the container.
_SECTION_BYTES = 4 * 1024 * 1024
# Of so many lines of a language repetitions are found at once.
_MOST_SEEN = 1_000_000
# About what the headers of a record take.
_HEADERS_BYTES = 1024
# Records are classified together up to this size: a call for each page would cost more than its work.
_BATCH_BYTES = 256 * 1024


class StoredDocument(msgspec.Struct, array_like=True):
    """One (record, language): the record's headers, and its kept lines, each with its LF."""

    headers: dict[str, str]
    lines: int
    text: bytes


@dataclass(frozen=True, slots=True)
class ProcessTask:
    """One input; `backend` and `model` are those of `Classifier`, `unique` says that only first occurrences are wanted."""

    url: str
    container: Path
    lines: Lines
    unique: bool
    model: str | None
    backend: BackendChoice
    filter: Filter
    addresses: AddressFilter


class Processed(msgspec.Struct):
    """What became of one input: plain data for a marker.

    `original` says by language how much was kept, `stored` how many of its lines are in the container (without those that
    repeat another one of this input, where repetitions go), `dropped` counts lines by reason; `fault` or `defect` says
    why the input could not be read as WET, and then nothing of it is used.
    """

    sha256: str = ""
    records: int = 0
    original: dict[str, Size] = {}
    stored: dict[str, int] = {}
    dropped: dict[str, int] = {}
    fault: tuple[FaultKind, str] | None = None
    defect: tuple[Defect, str] | None = None

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
    hashes: array[int] = field(default_factory=lambda: array("Q"))
    seen: set[int] = field(default_factory=set)

    def measure(self, text: bytes) -> None:
        self.unmeasured.append(text)
        self.unmeasured_bytes += len(text)
        if self.unmeasured_bytes >= _SECTION_BYTES:
            self.finish_measuring()

    def finish_measuring(self) -> None:
        self.original += size_of(self.unmeasured)
        self.unmeasured.clear()
        self.unmeasured_bytes = 0

    def store(self, headers: dict[str, str], text: bytes, hashes: Sequence[int]) -> None:
        self.documents.append(StoredDocument(headers, len(hashes), text))
        self.section_bytes += len(text) + _HEADERS_BYTES
        self.hashes.extend(hashes)

    def unseen(self, hashes: Sequence[int]) -> list[bool]:
        """Say which lines were not seen before; what is forgotten is left to the stage `dedup`."""
        if len(self.seen) > _MOST_SEEN:
            self.seen.clear()
        seen, add = self.seen, self.seen.add
        return [not (each in seen or add(each)) for each in hashes]


def process(task: ProcessTask) -> Processed:
    """Classify the lines of one WET file and store what is kept; of a file that is not whole WET nothing is kept."""
    classifier = Classifier(task.model, backend=task.backend)
    try:
        with ExitStack() as opened, publish(task.container) as file:
            readers: list[DigestReader] = []

            def open_source() -> DigestReader:
                readers.append(DigestReader(_opened(task.url, opened)))
                return readers[-1]

            processed = _store(wet_records(open_source, task.url), task, classifier, ContainerWriter(file))
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


def _store(
    records: Iterator[WetRecord], task: ProcessTask, classifier: Classifier, container: ContainerWriter
) -> Processed:
    languages: dict[str, _Language] = {}
    dropped: Counter[str] = Counter()
    selector = Selector(task.filter, task.addresses, dropped)
    for batch in _batches(selector.pages(records)):
        for headers, label, kept in _by_language(batch, task.lines, classifier, dropped):
            if not selector.keeps(label, len(kept)):
                continue
            language = languages.setdefault(label, _Language())
            text = b"\n".join((*kept, b""))
            language.measure(text)
            hashes = list(map(xxhash.xxh64_intdigest, kept))
            if task.unique and not all(unseen := language.unseen(hashes)):
                text = b"".join(line + b"\n" for line in compress(kept, unseen))
                hashes = list(compress(hashes, unseen))
            if hashes:
                language.store(headers, text, hashes)
            if language.section_bytes >= _SECTION_BYTES:
                _flush(container, label, language)
    for label, language in sorted(languages.items()):
        language.finish_measuring()
        _flush(container, label, language)
        container.add(keys_of(label), sorted_pairs(language.hashes, array("Q", range(len(language.hashes)))))
    container.finish()
    return Processed(
        records=selector.seen,
        original={label: language.original for label, language in sorted(languages.items())},
        stored={label: len(language.hashes) for label, language in sorted(languages.items())},
        dropped=dict(sorted(dropped.items())),
    )


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


def _by_language(
    batch: Sequence[WetRecord], lines: Lines, classifier: Classifier, dropped: Counter[str]
) -> Iterator[tuple[dict[str, str], str, list[bytes]]]:
    """Yield headers, label and kept lines of each (record, language), in the order of their first lines."""
    import numpy as np  # noqa: PLC0415 - a help page needs no arrays

    texts = [record.text if record.text.endswith(b"\n") or not record.text else record.text + b"\n" for record in batch]
    text = b"".join(texts)
    classified = classifier.classify(text, lines.min_chars)
    sure = np.flatnonzero(np.asarray(classified.scores).astype(np.float64) >= lines.min_confidence)
    dropped["too short"] += classified.short
    dropped["invalid UTF-8"] += classified.invalid
    dropped["uncertain language"] += len(classified) - len(sure)
    starts, ends = np.asarray(classified.starts)[sure], np.asarray(classified.ends)[sure]
    owners = np.searchsorted(np.cumsum([len(each) for each in texts]), starts, side="right")
    labels = np.asarray(classified.label_indices)[sure]
    found: dict[tuple[int, int], list[bytes]] = {}
    for owner, label, start, end in zip(*(column.tolist() for column in (owners, labels, starts, ends)), strict=True):
        found.setdefault((owner, label), []).append(text[start:end])
    for (owner, label), kept in found.items():
        yield batch[owner].headers, classified.labels[label], kept


def _flush(container: ContainerWriter, label: str, language: _Language) -> None:
    if language.documents:
        container.add(label, scratch_member(msgspec.msgpack.encode(language.documents)))
        language.documents.clear()
        language.section_bytes = 0


def stored_documents(container: Container, label: str) -> Iterator[list[StoredDocument]]:
    """Yield what a container holds of one language, section by section, in the order of its input."""
    decoder = msgspec.msgpack.Decoder(list[StoredDocument])
    for section in container.sections(label):
        yield decoder.decode(b"".join(Chunks(io.BytesIO(section), "gzip")))
