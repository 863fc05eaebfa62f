"""Internal: The documents of a language in a container, section by section."""

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
    """The kept lines of a record in one language, each with its LF, and the record's headers (a JSON object).

    `scores` are the lines' probabilities (float32 in native order), if the recipe asks for them.
    """

    headers: bytes
    lines: int
    text: bytes
    scores: bytes = b""

    def split(self) -> list[bytes]:
        """Return the lines without their LFs."""
        return self.text.split(b"\n")[: self.lines]

    def only(self, choice: Sequence[bool | int]) -> StoredDocument:
        """Return a document of the lines whose `choice` is true."""
        kept = list(compress(self.split(), choice))
        return StoredDocument(self.headers, len(kept), b"\n".join((*kept, b"")), self.scores_only(choice))

    def probabilities(self) -> array[float]:
        return array("f", self.scores)

    def scores_only(self, choice: Sequence[bool | int]) -> bytes:
        """Return the scores of the lines whose `choice` is true, if there are scores."""
        return self.scores and array("f", compress(self.probabilities(), choice)).tobytes()


def stored_documents(container: Container, label: str) -> Iterator[list[StoredDocument]]:
    """Yield the documents of a language, section by section, in input order."""
    decoder = msgspec.msgpack.Decoder(list[StoredDocument])
    for section in container.sections(label):
        documents = decoder.decode(b"".join(Chunks(io.BytesIO(section), "gzip")))
        container.forget()
        yield documents
