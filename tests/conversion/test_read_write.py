"""The reader of a format reads what its writer writes: documents with any text and fields."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conversion.rows import beside
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from strategies import examples
from support import LONG_LINE

from corpusfmt.formats import CheckOptions, named_format
from corpusfmt.formats.parts import Writer, write_parts
from corpusfmt.formats.provenance import metadata_of, name_variant, provenance_of
from corpusfmt.io.paths import entry_of
from corpusfmt.io.text import json_line
from corpusfmt.model import Document

CHARACTERS = st.characters(exclude_categories=["Cs"])
TEXT = st.text(CHARACTERS, max_size=20)
LINE = st.sampled_from(["", " ", "\r", "\t\r", "a\rb", "\0", "\u2028", "\u0085x", "\u2205", "x" * 1_000_000]) | TEXT
TEXTS = st.lists(LINE, max_size=5).map("\n".join)
VALUES = st.none() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
FIELDS = st.dictionaries(TEXT.filter(lambda name: name not in Document.__struct_fields__), VALUES, max_size=2)
# Few of each, so that equal ids meet, in one source and in several.
IDS = st.sampled_from(["1", "2"]) | TEXT.filter(bool)
SOURCES = st.none() | st.sampled_from(["books", "web"]) | TEXT.filter(bool)
DATES = st.sampled_from([None, "2024-01-31", "2019-08-01T12:00:00Z"])


@st.composite
def foreign(draw: st.DrawFn) -> Document:
    """Return a document of another origin than OSCAR."""
    language = draw(st.none() | st.just("en"))
    metadata = draw(st.none() | FIELDS)
    return Document(
        draw(IDS),
        draw(TEXTS),
        source=draw(SOURCES),
        lang=language,
        added=draw(DATES),
        created=draw(DATES),
        metadata=metadata if language is None else (metadata or {}) | {"language": language},
        attributes=draw(st.none() | FIELDS),
        extra=draw(FIELDS),
    )


@st.composite
def of_oscar(draw: st.DrawFn) -> Document:
    """Return a document of OSCAR origin, as it was read or with fields that were changed since."""
    number = draw(st.integers(0, 10**12))
    headers = {
        "warc-record-id": f"<urn:uuid:00000000-0000-4000-8000-{number:012d}>",
        "warc-date": "2021-02-24T17:55:29Z",
    }
    headers |= draw(st.dictionaries(TEXT, TEXT, max_size=2))
    document = Document(
        f"{headers['warc-record-id'][1:-1]}#en",
        draw(TEXTS),
        source="oscar",
        lang="en",
        created=headers["warc-date"],
        metadata=metadata_of({"version": "1.1", "record": {"headers": headers}}, language="en"),
    )
    changes: dict[str, Any] = {
        "id": draw(TEXT.filter(bool)),
        "source": draw(st.none() | TEXT),
        "created": draw(DATES),
        "added": draw(DATES),
        "attributes": draw(FIELDS),
        "extra": draw(FIELDS),
        "metadata": draw(FIELDS) | {"oscar": (document.metadata or {})["oscar"]},
    }
    chosen = draw(st.sets(st.sampled_from(sorted(changes))))
    return replace(document, **{name: changes[name] for name in chosen})


def record_id_of(document: Document) -> str:
    """Return the id of the record that a document was made of."""
    record_id: str = provenance_of(document)["record"]["headers"]["warc-record-id"]
    return record_id


def written_and_read(name: str, documents: list[Document], sets: tuple[str, ...] = ()) -> Iterator[Document]:
    """Write documents as one shard of English and read it again."""
    fmt, version = named_format(name)
    writer: Writer[Any] = fmt.writers[version or fmt.versions[-1]]
    folder, stem = writer.folder("en"), "en"
    if sets:
        assert writer.with_sets is not None
        writer, folder, stem = writer.with_sets(sets), "", "en/en"
    with tempfile.TemporaryDirectory() as root:
        items = (writer.item(document).value for document in documents)
        write_parts(writer, items, stem=stem, folder=Path(root) / folder, aside=Path(root) / ".corpusfmt")
        options = CheckOptions(version=version)
        assert fmt.reader is not None
        for shard in fmt.plan(entry_of(root), options).shards:
            for item in fmt.reader.read(shard, options):
                assert isinstance(item, Document), item
                yield item


@pytest.mark.parametrize(
    ("part", "part_bytes", "names", "renamed"),
    [
        (None, None, ["en.txt.gz"], 1),
        (3, None, ["en_part_3.txt.gz"], 0),
        (None, 1, ["en_part_1.txt.gz", "en_part_2.txt.gz"], 0),
    ],
)
def test_a_single_part_alone_has_a_name_that_promises_something(
    part: int | None, part_bytes: int | None, names: list[str], renamed: int, tmp_path: Path
) -> None:
    writer = named_format("oscar")[0].writers["1.0"]
    asked = []
    files = write_parts(
        writer,
        [writer.item(Document(id_, f"{LONG_LINE}\n")).value for id_ in "ab"],
        stem="en_dedup",
        part=part,
        part_bytes=part_bytes,
        folder=tmp_path / "en",
        aside=tmp_path / ".corpusfmt",
        renaming=lambda: asked.append("that lines are unique"),
    )
    assert (sorted(files), len(asked)) == (names, renamed)
    assert sorted(path.name for path in (tmp_path / "en").iterdir()) == names


def test_a_document_of_another_origin_is_of_no_variant() -> None:
    document = Document("1", "text", source="web", metadata={"language": "en"})
    name_variant(document, "oscar/original")
    assert (document.source, document.metadata) == ("web", {"language": "en"})


def unplaced(document: Document) -> Document:
    """Return a document without what only its place in a corpus says."""
    metadata = {name: value for name, value in (document.metadata or {}).items() if name != "oscar"}
    return replace(document, lang=None, metadata=metadata or None)


@examples(60)
@given(documents=st.lists(foreign(), min_size=1, max_size=4), data=st.data())
def test_dolma(documents: list[Document], data: st.DataObject) -> None:
    for document in documents:
        row = {"id": document.id, "source": document.source or "x"}
        document.attribute_rows = {"a/b": json_line(beside(row, n=data.draw(st.integers())))[:-1].decode()}
        document.lang = (document.metadata or {}).get("language")
    assert list(written_and_read("dolma", documents, ("a/b",))) == documents
    assert list(written_and_read("dolma", documents)) == [replace(each, attribute_rows={}) for each in documents]


@examples(60)
@given(documents=st.lists(foreign(), min_size=1, max_size=4))
@example(documents=[Document("1", "\0\r\u2028", source=source) for source in ("a", "b", None)])
def test_parquet(documents: list[Document]) -> None:
    assert list(written_and_read("parquet", documents)) == documents


@examples(60)
@given(documents=st.lists(foreign(), min_size=1, max_size=4))
@example(documents=[Document("1", "\n" * 3_000, source="a"), Document("1", "a\n\n" * 3_000, source="b")])
def test_documents_of_another_origin_in_oscar_1_1(documents: list[Document]) -> None:
    assert list(written_and_read("oscar-1.1", documents)) == [replace(each, lang="en") for each in documents]


@examples(60)
@given(documents=st.lists(of_oscar(), min_size=1, max_size=4, unique_by=record_id_of))
def test_documents_of_oscar_in_oscar_1_1(documents: list[Document]) -> None:
    found = list(written_and_read("oscar-1.1", documents))
    assert list(map(unplaced, found)) == list(map(unplaced, documents))
    assert [each.lang for each in found] == ["en"] * len(documents)


LINES_1_0 = LINE.filter(lambda line: line.strip(" \t\r") and "\n" not in line)


@examples(60)
@given(texts=st.lists(st.lists(LINES_1_0, min_size=1, max_size=4).map("\n".join), min_size=1, max_size=4))
def test_oscar_1_0(texts: list[str]) -> None:
    found = list(written_and_read("oscar-1.0", [Document(str(number), text) for number, text in enumerate(texts)]))
    assert [document.text for document in found] == texts
    assert len({document.id for document in found}) == len(texts)
    assert list(written_and_read("oscar-1.0", found)) == found


@pytest.mark.parametrize("header", ["[1]", "{", '{"other":1}', '{"id":7}', '{"extra":"b"}'])
def test_a_header_of_changes_that_is_not_ours_is_left_alone(header: str) -> None:
    headers = {"warc-record-id": "<urn:uuid:1>", "corpusfmt-changes": header}
    metadata = metadata_of({"version": "1.1", "record": {"headers": headers}}, language="en")
    (found,) = written_and_read("oscar-1.1", [Document("urn:uuid:1#en", "text", "oscar", "en", metadata=metadata)])
    assert (found.id, found.source) == ("urn:uuid:1#en", "oscar")
