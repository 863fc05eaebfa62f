"""Internal: The documents of a language in a container, section by section."""

from __future__ import annotations

import io
from array import array
from collections.abc import Iterator, Sequence
from itertools import compress, islice

import msgspec
from msgspec import Struct

from corpusfmt.formats.provenance import document_id
from corpusfmt.io.containers import Container
from corpusfmt.io.streams import Chunks
from corpusfmt.model import Document, Json


class Notes(Struct, frozen=True):
    """The annotations of a document by step and name; those of its lines are lists with a value or None for each line."""

    document: dict[str, Json] = {}
    lines: dict[str, dict[str, list[float | None]]] = {}


_decode_notes = msgspec.json.Decoder(Notes).decode


class StoredDocument(Struct, array_like=True, gc=False):
    """The kept lines of a record in one language, each with its LF, and the record's headers (a JSON object).

    `scores` are the lines' probabilities (float32 in native order), if the recipe asks for them; `notes` are annotations of
    steps, as JSON of `Notes`.
    """

    headers: bytes
    lines: int
    text: bytes
    scores: bytes = b""
    notes: bytes = b""

    def document(self, label: str) -> Document:
        """Return the document with its record's headers as metadata."""
        headers = msgspec.json.decode(self.headers, type=dict[str, str])
        record_id = headers.get("warc-record-id", "").strip("<>")
        created = headers.get("warc-date")
        return Document(
            document_id(record_id, label), self.text[:-1].decode(), lang=label, created=created, metadata=headers
        )

    def split(self) -> list[bytes]:
        """Return the lines without their LFs."""
        return self.text.split(b"\n")[: self.lines]

    def only(self, choice: Sequence[bool | int]) -> StoredDocument:
        """Return a document of the lines whose `choice` is true."""
        return self.with_lines(b"\n".join((*compress(self.split(), choice), b"")), choice)

    def with_lines(self, text: bytes, choice: Sequence[bool | int]) -> StoredDocument:
        """Return the same with `text`, the lines whose `choice` is true."""
        scores = self.scores and array("f", compress(self.probabilities(), choice)).tobytes()
        notes = self.notes
        if notes and (found := self.annotations).lines:
            lines = {
                step: {name: list(compress(values, choice)) for name, values in each.items()}
                for step, each in found.lines.items()
            }
            notes = msgspec.json.encode(Notes(found.document, lines))
        return StoredDocument(self.headers, choice.count(1), text, scores, notes)

    def probabilities(self) -> array[float]:
        return array("f", self.scores)

    @property
    def annotations(self) -> Notes:
        return _decode_notes(self.notes) if self.notes else Notes()


def stored_documents(container: Container, label: str, first: int = 0) -> Iterator[list[StoredDocument]]:
    """Yield the documents of a language, section by section from the number `first`, in input order."""
    decoder = msgspec.msgpack.Decoder(list[StoredDocument])
    for section in islice(container.unread_sections(label), first, None):
        documents = decoder.decode(b"".join(Chunks(io.BytesIO(section.checked()), "gzip")))
        container.forget()
        yield documents
