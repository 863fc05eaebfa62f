"""Crawled texts become the same bytes as the documents that they are."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from io import BytesIO
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from strategies import examples

from corpusfmt.formats.parts import Writer
from corpusfmt.io.compress import COMPRESSION, FileFacts
from corpusfmt.pipeline.package.divide import items_of
from corpusfmt.pipeline.package.variants import form_of
from corpusfmt.pipeline.process.documents import StoredDocument
from corpusfmt.pipeline.recipe import Output

LINES = st.text(alphabet=" \t\r\0aé\u00a0\u2028", max_size=6)
DATES = st.sampled_from(["2021-02-24T17:55:43Z", "2021-02-30T00:00:00Z", "24 Feb 2021", 'a "day"', ""])
HEADERS = st.fixed_dictionaries(
    {"warc-record-id": st.just("<urn:uuid:00000000-0000-4000-8000-000000000001>")},
    optional={
        'x"warc-date': DATES,
        "warc-date": DATES,
        "warc-target-uri": st.text(alphabet='a"\\\0é/', max_size=5),
        "corpusfmt-document": st.sampled_from(["{}", '{"id":"a"}']),
    },
)


@st.composite
def stored(draw: st.DrawFn) -> StoredDocument:
    lines = draw(st.lists(LINES, min_size=1, max_size=4))
    return StoredDocument(
        msgspec.json.encode(draw(HEADERS)), len(lines), "".join(f"{line}\n" for line in lines).encode()
    )


def written(writer: Writer[Any], items: Iterable[Any]) -> tuple[list[FileFacts], list[bytes]]:
    """Return what a part says of its files, and their bytes."""
    files = [BytesIO() for _ in writer.names("de", None)]
    part = writer.open_part(files, COMPRESSION)
    for item in items:
        part.add(item)
    return part.finish(), [file.getvalue() for file in files]


@pytest.mark.parametrize("name", ["oscar-1.1", "oscar-1.0", "dolma"])
@given(st.lists(stored(), min_size=1, max_size=8))
@examples(100)
def test_crawled_texts_become_the_same_bytes_as_documents(
    name: Literal["oscar-1.1", "oscar-1.0", "dolma"], documents: list[StoredDocument]
) -> None:
    form, output = form_of(name), Output(name)
    as_documents = replace(form.writer, crawled=lambda _text, _headers: None)
    one, other = (
        written(writer, items_of(writer, form.source, "de", documents, output, ()))
        for writer in (form.writer, as_documents)
    )
    assert one == other


def test_usual_texts_are_taken_as_they_were_crawled() -> None:
    writer = form_of("oscar-1.1").writer
    items = [writer.crawled(b"a\n b", b'{"warc-date":"2021-02-24T17:55:43Z"}'), writer.crawled(b"c", b"{}")]
    assert None not in items
    facts, files = written(writer, items)
    assert not facts[1].untyped
    text, records = map(gzip.decompress, files)
    assert text == b"a\n b\n\nc\n\n"
    assert records.split(b"\n")[:-1] == [
        b'{"headers":{"warc-date":"2021-02-24T17:55:43Z"},"offset":0,"nb_sentences":2}',
        b'{"headers":{},"offset":3,"nb_sentences":1}',
    ]
