"""Documents of a build that are written together become the same bytes as those that are written one by one."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from io import BytesIO
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from corpusfmt.formats.batches import Batch
from corpusfmt.formats.parts import Writer
from corpusfmt.io.compress import COMPRESSION, FileFacts
from corpusfmt.pipeline.package.items import items_at_once, items_of
from corpusfmt.pipeline.package.variants import form_of
from corpusfmt.pipeline.process.documents import StoredDocument
from corpusfmt.pipeline.recipe import Output

LINES = st.text(alphabet=" \t\r\0aé\u00a0\u2028", max_size=6)
DATES = st.sampled_from(["2021-02-24T17:55:43Z", "2021-02-30T00:00:00Z", "24 Feb 2021", 'a "day"', ""])
HEADERS = st.fixed_dictionaries(
    {"warc-record-id": st.sampled_from(["<urn:uuid:00000000-0000-4000-8000-000000000001>", ""])},
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


def written(writer: Writer[Any], items: Iterable[Any]) -> tuple[list[FileFacts], list[bytes], bool]:
    """Return what a part says of its files, their bytes, and whether it took a batch."""
    files = [BytesIO() for _ in writer.names("de", None)]
    part = writer.open_part(files, COMPRESSION)
    taken = 0
    for item in items:
        if isinstance(item, Batch):
            item.taken = writer.add_batch(part, item)
            taken += item.taken
        else:
            part.add(item)
    return part.finish(), [file.getvalue() for file in files], taken > 0


@pytest.mark.parametrize("name", ["oscar-1.1", "oscar-1.0", "dolma"])
@given(st.lists(st.lists(stored(), min_size=1, max_size=4), min_size=1, max_size=3))
@examples(100)
def test_documents_written_together_become_the_same_bytes(
    name: Literal["oscar-1.1", "oscar-1.0", "dolma"], documents: list[list[StoredDocument]]
) -> None:
    form, output = form_of(name), Output(name)
    options = form.writer, form.source, "de"
    together = (item for some in documents for item in items_at_once(*options, some, output, ()))
    alone = (item for some in documents for item in items_of(*options, some, output, ()))
    assert written(form.writer, together)[:2] == written(form.writer, alone)[:2]


def test_a_part_of_oscar_takes_usual_documents_together() -> None:
    form, output = form_of("oscar-1.1"), Output("oscar-1.1")
    headers = b'{"warc-date":"2021-02-24T17:55:43Z"}'
    documents = [StoredDocument(headers, 2, b"a\n b\n"), StoredDocument(b"{}", 1, b"c\n")]
    facts, files, took_them = written(form.writer, items_at_once(form.writer, form.source, "de", documents, output, ()))
    assert took_them
    assert not facts[1].untyped
    text, records = map(gzip.decompress, files)
    assert text == b"a\n b\n\nc\n\n"
    assert records.split(b"\n")[:-1] == [
        b'{"headers":{"warc-date":"2021-02-24T17:55:43Z"},"offset":0,"nb_sentences":2}',
        b'{"headers":{},"offset":3,"nb_sentences":1}',
    ]
