"""Internal: Read the documents of one shard: reject records, apply options, and determine the language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import islice, repeat
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from msgspec import Struct

from corpusfmt.conversion import attributes
from corpusfmt.conversion.layout import path_of
from corpusfmt.conversion.options import Losses, Options
from corpusfmt.conversion.repeats import First, repetition
from corpusfmt.conversion.rules import LANGUAGE_LABEL_UNFIT, LANGUAGE_UNKNOWN, SOURCE_MISSING, finding
from corpusfmt.conversion.stored import STORED
from corpusfmt.formats import CheckOptions, Format, LeftOut, Rejected, Shard, named_format
from corpusfmt.formats.languages import LABEL, label_of
from corpusfmt.formats.parts import Batch, RowBlock
from corpusfmt.formats.provenance import has_id_of_record, name_variant
from corpusfmt.formats.rows.writing import fields_of
from corpusfmt.io.compress import FileFacts, sha256
from corpusfmt.io.jsonlines import rows_before
from corpusfmt.io.outputs import Place
from corpusfmt.io.publish import publish
from corpusfmt.io.text import json_line
from corpusfmt.model import (
    INCOMPLETE_CODES,
    BadInput,
    Document,
    Fault,
    Finding,
    FindingType,
    Incomplete,
    Json,
    Location,
    Problem,
)

_UNREADABLE = "GEN001"
#: Faults that hide the rest of a file: the number of missing records is unknown.
CUT = frozenset({"GEN101", "GEN102", "GEN105", "GEN106", "PQT102"})


def refuse_unread(found: Finding) -> None:
    """Raise `Incomplete` for a file that could not be read, and `BadInput` if the rest of it is unknown."""
    if found.code == _UNREADABLE:
        raise Incomplete(f"{found.location.path}: {found.message}; restore the file, then run the same command again")
    if found.code in INCOMPLETE_CODES:
        raise BadInput(found)


class Reading(Struct, frozen=True):
    """How the shards of a source are read; crosses processes. `filed`: the target has folders by language.

    Rejected records are written to `quarantine`. `has_parts`: a document whose record repeats an earlier one gets an id by its
    part. `names_variants`: the source of documents without one names the variant of
    the release, because variants share ids.
    """

    format: str
    check: CheckOptions
    options: Options
    filed: bool
    quarantine: Place
    has_parts: bool = False
    names_variants: bool = False

    @property
    def source(self) -> Format:
        return STORED if self.format == STORED.name else named_format(self.format)[0]


class Documents:
    """The documents of one shard; a rejected record stops it or goes to a sidecar file.

    `taken` and `rejected` count records, `cut` are the files that were not read to their ends. `repeated` yields, for each
    acceptable document, the earlier document with the same source and id, or None.
    """

    def __init__(
        self,
        reading: Reading,
        shard: Shard,
        losses: Losses,
        aside: Path,
        repeated: Iterator[First | None] | None = None,
    ) -> None:
        self._reading = reading
        self._shard = shard
        self._is_first = repeated is None
        self._repeated = repeated or repeat(None)
        self._losses = losses
        self._options = reading.options
        self._aside = aside
        self._stack = ExitStack()
        self._sidecar_path = reading.quarantine / f"{shard.index:06d}.jsonl"
        self._sidecar: BinaryIO | None = None
        self._sidecar_size, self._sidecar_digest = 0, sha256()
        self.path = path_of(shard)
        #: The name of the language in metadata.
        self.language_name = reading.options.language_entry or "language"
        self._by_row, self._part = False, ""
        self.taken = 0
        self.rejected = 0
        self.cut: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    @property
    def quarantined(self) -> dict[str, FileFacts]:
        """The sidecar file, if any, by name."""
        facts = FileFacts(self._sidecar_size, self._sidecar_digest.hexdigest())
        return {} if self._sidecar is None else {self._sidecar_path.name: facts}

    def of_language(self, expected: str | None, batch: type[Batch] | None = None) -> Iterator[Any]:
        """Yield the documents, which must be of the language if one is given. Raises `BadInput`.

        Batches of the given kind come where nothing is asked of single documents. What is not taken of them follows as documents.
        """
        reader = self._reading.source.reader
        assert reader is not None
        self._by_row = reader.by_row
        self._part = reader.part(self._shard) if reader.part and self._reading.has_parts else ""
        steps = self._steps(reader.source_name)
        is_filed, needs_source = self._reading.filed, self._options.source_name is None
        for document in self._read_as(None if steps else batch, expected):
            if isinstance(document, Batch):
                yield document
                self.taken += document.taken
                continue
            if isinstance(document, Rejected):
                self._reject(document)
                continue
            if isinstance(document, LeftOut):
                self._losses.add({document.what: 1}, document.at)
                continue
            unfit: Fault | None = None
            if is_filed:
                unfit = self._filed(document, expected)
            if needs_source and document.source is None:
                unfit = self._unfit(document, SOURCE_MISSING, "`source` is missing", "add --source")
            if unfit is None and not self._is_first:
                unfit = self._again(document, next(self._repeated))
            if unfit is not None:
                row = json_line(fields_of(document))[:-1].decode()
                raw = "\n".join([row, *document.attribute_rows.values()])
                self._reject(Rejected(finding(*unfit), raw.encode()))
                continue
            for step in steps:
                step(document)
            yield document
            self.taken += 1

    def _read_as(self, batch: type[Batch] | None, expected: str | None) -> Iterator[Any]:
        """Read the shard, in batches of a kind if the format has them and options allow it."""
        reader, options = self._reading.source.reader, self._options
        assert reader is not None
        read = reader.batches.get(batch) if batch is not None and self._is_first else None
        asked = expected is not None and (options.language_entry or not LABEL.fullmatch(expected))
        if read is None or (self._reading.filed and (asked or options.language_attribute)):
            yield from reader.read(self._shard, self._reading.check)
            return
        for each in read(self._shard, self._reading.check):
            if isinstance(each, RowBlock):
                each.language = expected or ""
            yield each
            if isinstance(each, RowBlock) and not each.taken:
                yield from each.each()

    def _again(self, document: Document, first: First | None) -> Fault | None:
        """Return the fault of a document that repeats the `first`, unless part and number can identify it instead."""
        part, _, number = document.id.rpartition(":")
        is_by_place = part == self._part and number.isdecimal()
        if self._part and (is_by_place or (first is not None and has_id_of_record(document))):
            # Rejected records count, too: no other document of the part gets this number.
            document.id = f"{self._part}:{self.taken + self.rejected + 1}"
            return None
        return None if first is None else repetition(self.place_of(document), *first)

    def place_of(self, document: Document) -> Location:
        """Return the location of the current document."""
        line = rows_before(self.path) + self.taken + self.rejected + 1 if self._by_row else None
        return Location(self.path, line, record=document.id)

    def _unfit(self, document: Document, found: FindingType, reason: str, hint: str) -> Fault:
        return Fault(found, Problem(f"{reason} (document `{document.id}`)", self.place_of(document), hint))

    def _filed(self, document: Document, expected: str | None) -> Fault | None:
        """Set the document's language; return a fault if it is unknown, has no name in the target, or is not expected."""
        language = attributes.language(document, self._options)
        if not isinstance(language, str):
            hint = "name the field of `metadata` with --language-entry or the attribute with --language-attribute"
            return self._unfit(document, LANGUAGE_UNKNOWN, "the language is unknown", hint)
        label = expected if language == expected else label_of(language)
        if label is None:
            hint = "name another field or attribute, or convert the other documents alone"
            reason = f"language is `{language}`, expected the code of a language, like `de` or `deu_Latn`, or its English name"
            return self._unfit(document, LANGUAGE_LABEL_UNFIT, reason, hint)
        if expected not in {None, label}:
            found = f"language is `{language}`, expected `{expected}` as in the shard's name"
            hint = "move the document to a folder of its language, or rename the folder so that it names no language"
            return self._unfit(document, LANGUAGE_UNKNOWN, found, hint)
        document.lang = label
        return None

    def _steps(self, source_name: str | None) -> list[Callable[[Document], None]]:
        """Return the steps to apply to each document."""
        options = self._options
        steps: list[Callable[[Document], None]] = []
        if options.source_name or options.added:
            steps.append(lambda document: _fill_in(document, options, source_name))
        if self._reading.names_variants and self._shard.corpus:
            variant = f"{source_name}/{self._shard.corpus}"
            steps.append(lambda document: name_variant(document, variant) if document.source == source_name else None)
        if options.language_attributes:
            steps.append(attributes.add_language)
        if options.merge_attributes:
            steps.append(
                lambda document: attributes.merge(
                    document, options.prefer_attributes, self.place_of(document), self._losses
                )
            )
        if options.split_attributes:
            steps.append(lambda document: attributes.split(document, options.split_attributes))
        return steps

    def _reject(self, rejected: Rejected) -> None:
        found = rejected.finding
        at = found.location
        refuse_unread(found)
        if self._options.on_bad_record == "stop":
            raise BadInput(found)
        if self._sidecar is None:
            self._sidecar = self._stack.enter_context(publish(self._sidecar_path, aside=self._aside))
        if found.code in CUT and not rejected.raw:
            self.cut.append(at.path)
        else:
            self.rejected += 1
        raw = rejected.raw.decode("utf-8", "backslashreplace")
        reason = {"rule": found.code, "message": found.message, "path": at.path, "line": at.line, "record": raw}
        line = json_line(reason)
        self._sidecar.write(line)
        self._sidecar_size += len(line)
        self._sidecar_digest.update(line)


def _fill_in(document: Document, options: Options, source_name: str | None) -> None:
    """Set `source` and `added` if the document lacks them."""
    if options.source_name and document.source in {None, source_name}:
        document.source = options.source_name
    if options.added and document.added is None:
        document.added = options.added


# Documents of each shard that a dry run reads.
_FIRST = 1000


def foreseen(reading: Reading, shards: Iterable[Shard]) -> Json:
    """Return how many of the first documents of each shard have each source, and each language with its label in the target."""
    reader, options = reading.source.reader, reading.options
    assert reader is not None
    sources, languages = Counter[str](), Counter[str]()
    for shard in shards:
        read = (each for each in reader.read(shard, reading.check) if isinstance(each, Document))
        for document in islice(read, _FIRST):
            _fill_in(document, options, reader.source_name)
            sources[document.source or ""] += 1
            languages[str(attributes.language(document, options) or "")] += reading.filed
    labels = {name: {"label": label_of(name), "documents": count} for name, count in (+languages).items()}
    return {"sources": dict(sources), "languages": labels}
