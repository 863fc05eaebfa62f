"""Internal: What a container holds of a language: documents, section by section."""

from __future__ import annotations

import io
from array import array
from collections.abc import Iterator, Sequence
from itertools import compress

import msgspec
from msgspec import Struct

from corpusfmt.io.containers import Container
from corpusfmt.io.streams import Chunks


class StoredDocument(Struct, array_like=True, gc=False):
    """One (record, language): the record's headers, a JSON object, and its kept lines, each with its LF.

    Where the recipe asks for them, `scores` are the lines' probabilities (float32 in native order).
    """

    headers: bytes
    lines: int
    text: bytes
    scores: bytes = b""

    def split(self) -> list[bytes]:
        """Return the lines without their LFs."""
        return self.text.split(b"\n")[: self.lines]

    def only(self, choice: Sequence[bool | int]) -> StoredDocument:
        """Return a document of some of the lines, those for which `choice` says so."""
        kept = list(compress(self.split(), choice))
        return StoredDocument(self.headers, len(kept), b"\n".join((*kept, b"")), self.scores_only(choice))

    def probabilities(self) -> array[float]:
        return array("f", self.scores)

    def scores_only(self, choice: Sequence[bool | int]) -> bytes:
        """Return the scores of some of the lines, where there are any."""
        return self.scores and array("f", compress(self.probabilities(), choice)).tobytes()


def stored_documents(container: Container, label: str) -> Iterator[list[StoredDocument]]:
    """Yield what a container holds of one language, section by section, in the order of its input."""
    decoder = msgspec.msgpack.Decoder(list[StoredDocument])
    for section in container.sections(label):
        with container.intact():
            documents = decoder.decode(b"".join(Chunks(io.BytesIO(section), "gzip")))
        container.forget()
        yield documents
