"""Internal: The documents of one shard on their way: rejected records, what options add, and the language."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import repeat
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from msgspec import Struct

from corpusfmt.conversion import attributes
from corpusfmt.conversion.layout import path_of
from corpusfmt.conversion.options import Losses, Options
from corpusfmt.conversion.repeats import First, repetition
from corpusfmt.conversion.rules import LANGUAGE_LABEL_UNFIT, LANGUAGE_UNKNOWN, SOURCE_MISSING, finding
from corpusfmt.formats import CheckOptions, LeftOut, Rejected, Shard, named_format
from corpusfmt.formats.languages import LABEL, V2_LABELS
from corpusfmt.formats.provenance import name_variant
from corpusfmt.formats.rows.writing import fields_of
from corpusfmt.io.publish import publish
from corpusfmt.io.text import json_line
from corpusfmt.model import INCOMPLETE_CODES, BadInput, Document, Fault, FindingType, Incomplete, Location, Problem

_UNREADABLE = "GEN001"
# What keeps a file from being read to its end: how many records are missing nobody knows.
_CUT = frozenset({"GEN101", "GEN102", "PQT102"})


class Reading(Struct, frozen=True):
    """How one shard is read: crosses processes. `filed` where the target has folders by language.

    `variant` is the source of documents that have no other, where the variants of a release have the same ids.
    """

    format: str
    shard: Shard
    check: CheckOptions
    options: Options
    filed: bool
    sidecar: Path
    variant: str = ""


class Documents:
    """The documents of one shard; rejected records stop it or go to a sidecar file.

    `taken` and `rejected` count what was read, `cut` are the files that were not read to their ends. `repeated` tells of
    each document that could be taken whether an earlier one has its source and id, and where that one is.
    """

    def __init__(
        self, reading: Reading, losses: Losses, aside: Path, repeated: Iterator[First | None] | None = None
    ) -> None:
        self._reading = reading
        self._repeated = repeated or repeat(None)
        self._losses = losses
        self._options = reading.options
        self._aside = aside
        self._stack = ExitStack()
        self._sidecar: BinaryIO | None = None
        self.path = path_of(reading.shard)
        self._by_row = False
        self.taken = 0
        self.rejected = 0
        self.cut: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def of_language(self, expected: str | None) -> Iterator[Document]:
        """Yield the documents; with a language, all of them must be of it. Raises `BadInput`."""
        fmt, _ = named_format(self._reading.format)
        reader = fmt.reader
        assert reader is not None
        self._by_row = reader.by_row
        steps = self._steps(reader.source_name)
        for document in reader.read(self._reading.shard, self._reading.check):
            if isinstance(document, Rejected):
                self._reject(document)
                continue
            if isinstance(document, LeftOut):
                self._losses.add({document.what: 1}, document.at)
                continue
            unfit: Fault | None = None
            if self._reading.filed:
                unfit = self._filed(document, expected)
            if document.source is None and self._options.source is None:
                unfit = self._unfit(document, SOURCE_MISSING, "no `source`", "name it with --source")
            if unfit is None and (first := next(self._repeated)) is not None:
                unfit = repetition(self.place_of(document), *first)
            if unfit is not None:
                row = json_line(fields_of(document))[:-1].decode()
                raw = "\n".join([row, *document.attribute_rows.values()])
                self._reject(Rejected(finding(*unfit), raw.encode()))
                continue
            for step in steps:
                step(document)
            yield document
            self.taken += 1

    def place_of(self, document: Document) -> Location:
        """Return the place of the document that is being read."""
        return Location(self.path, self.taken + self.rejected + 1 if self._by_row else None, record=document.id)

    def _unfit(self, document: Document, found: FindingType, reason: str, hint: str) -> Fault:
        return Fault(found, Problem(f"{reason} (document `{document.id}`)", self.place_of(document), hint))

    def _filed(self, document: Document, expected: str | None) -> Fault | None:
        """Set the language of a document; return what is wrong where it has none for the target, or not the expected one."""
        options = self._options
        language: object = document.lang
        if options.language_field:
            language = (document.metadata or {}).get(options.language_field)
        elif options.language_attribute:
            language = attributes.language(document, options.language_attribute)
        if not isinstance(language, str):
            hint = "name what holds it: a field of `metadata` with --lang-field, an attribute with --lang-attribute"
            return self._unfit(document, LANGUAGE_UNKNOWN, "nothing tells the language of this document", hint)
        if not LABEL.fullmatch(language):
            known_as = V2_LABELS.get(language)
            hint = f"OSCAR 1.x calls this language `{known_as}`" if known_as else "labels are like `en` or `ckb`"
            hint += "; name another field or attribute, or convert the others alone"
            reason = f"`{language}` is no language label that a directory of OSCAR 1.x can have"
            return self._unfit(document, LANGUAGE_LABEL_UNFIT, reason, hint)
        if expected is not None and language != expected:
            found = f"a document of language `{language}` in a shard of `{expected}`"
            hint = "put documents into a folder of their language, or into one named for none"
            return self._unfit(document, LANGUAGE_UNKNOWN, found, hint)
        document.lang = language
        return None

    def _steps(self, source_name: str | None) -> list[Callable[[Document], None]]:
        """Return what is to be done with each document."""
        options = self._options
        steps: list[Callable[[Document], None]] = []
        if options.source or options.added:
            steps.append(lambda document: _fill_in(document, options, source_name))
        if variant := self._reading.variant:
            steps.append(lambda document: name_variant(document, variant) if document.source == source_name else None)
        if options.language_set:
            steps.append(attributes.add_language)
        if options.merge:
            steps.append(
                lambda document: attributes.merge(document, options.prefer, self.place_of(document), self._losses)
            )
        if options.splits:
            steps.append(lambda document: attributes.split(document, options.splits))
        return steps

    def _reject(self, rejected: Rejected) -> None:
        found = rejected.finding
        at = found.location
        if found.code == _UNREADABLE:
            raise Incomplete(f"{at.path}: {found.message}; bring it back and run the same command again to resume")
        if found.code in INCOMPLETE_CODES:
            raise BadInput(found)
        if self._options.on_bad_record == "stop":
            raise BadInput(found)
        if self._sidecar is None:
            self._sidecar = self._stack.enter_context(publish(self._reading.sidecar, aside=self._aside))
        if found.code in _CUT and not rejected.raw:
            self.cut.append(at.path)
        else:
            self.rejected += 1
        raw = rejected.raw.decode("utf-8", "backslashreplace")
        reason = {"rule": found.code, "message": found.message, "path": at.path, "line": at.line, "record": raw}
        self._sidecar.write(json_line(reason))


def _fill_in(document: Document, options: Options, source_name: str | None) -> None:
    """Set `source` and `added` where the document has none of its own."""
    if options.source and document.source in {None, source_name}:
        document.source = options.source
    if options.added and document.added is None:
        document.added = options.added
