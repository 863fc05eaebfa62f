"""Documents of a part: what they are called, what they carry, and that nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oscar.corpus import Tree, gunzip, gz, jsonl, records, release, text_of, write
from strategies import examples

from corpusfmt.formats import CheckOptions, LeftOut, Rejected
from corpusfmt.formats.oscar.format import FORMAT
from corpusfmt.formats.pieces import pieces
from corpusfmt.io.lines import blocks
from corpusfmt.io.paths import entry_of
from corpusfmt.model import Document, Location

COUNTS = [2, 1, 3]


def read_tree(tree: Tree, root: Path, version: str = "1.1", **options: Any) -> list[Document | Rejected]:
    chosen = CheckOptions(version=version, **options)
    plan = FORMAT.plan(entry_of(str(write(tree, root))), chosen)
    assert FORMAT.reader is not None
    return [
        item for shard in plan.shards for item in FORMAT.reader.read(shard, chosen) if not isinstance(item, LeftOut)
    ]


def documents_of(items: list[Document | Rejected]) -> list[Document]:
    assert not [item.finding for item in items if isinstance(item, Rejected)]
    return [item for item in items if isinstance(item, Document)]


def own(item: Document) -> dict[str, Any]:
    """Return what a document keeps of its place in OSCAR."""
    kept: dict[str, Any] = json.loads((item.metadata or {})["oscar"])
    return kept


def codes(items: list[Document | Rejected]) -> list[str]:
    return [item.finding.code for item in items if isinstance(item, Rejected)]


def of_text(text: bytes, root: Path, version: str = "1.0", **options: Any) -> list[Document | Rejected]:
    return read_tree({"af/af.txt.gz": gz(text)}, root, version, **options)


def test_a_document_of_1_1(tmp_path: Path) -> None:
    made = release("1.1", {"de": [COUNTS, [1, 2]]})
    found = documents_of(read_tree(made.tree(), tmp_path))
    docs = [doc for part in made.languages["de"] for doc in part]
    assert [item.text for item in found] == [doc.text for doc in docs]
    first, doc = found[0], docs[0]
    assert first.id == doc.headers["warc-record-id"][1:-1] + "#de"
    assert (first.source, first.lang, first.created, first.extra) == ("oscar", "de", doc.headers["warc-date"], {})
    assert own(first) == {
        "version": "1.1",
        "part": "de/de_part_1",
        "record": {"headers": doc.headers, "offset": 0, "nb_sentences": 2},
    }
    assert [own(item)["part"] for item in found] == ["de/de_part_1"] * 3 + ["de/de_part_2"] * 2


def test_a_record_keeps_the_order_of_its_keys(tmp_path: Path) -> None:
    docs = release("1.1", {"af": [[1]]}).languages["af"][0]
    row = {"offset": 0, "headers": dict(reversed(docs[0].headers.items())), "more": None, "nb_sentences": 1}
    tree = {"af/af.txt.gz": gz(text_of(docs)), "af/af_meta.jsonl.gz": gz(jsonl([row]))}
    (found,) = documents_of(read_tree(tree, tmp_path))
    assert json.dumps(own(found)["record"]) == json.dumps(row)


def test_ids_that_are_missing_or_repeated(tmp_path: Path) -> None:
    docs = release("1.1", {"af": [[1, 1, 1]]}).languages["af"][0]
    docs[1].headers["warc-record-id"] = docs[0].headers["warc-record-id"]
    del docs[2].headers["warc-record-id"]
    tree = {"af/af.txt.gz": gz(text_of(docs)), "af/af_meta.jsonl.gz": gz(jsonl(records(docs)))}
    assert [item.id for item in documents_of(read_tree(tree, tmp_path))][1:] == ["af/af:2", "af/af:3"]


@pytest.mark.parametrize(("end", "tail"), [(b"\n\n", None), (b"\n", "\n"), (b"", "")])
def test_the_end_of_a_1_1_text(end: bytes, tail: str | None, tmp_path: Path) -> None:
    docs = release("1.1", {"af": [COUNTS]}).languages["af"][0]
    text = text_of(docs).rstrip(b"\n") + end
    tree = {"af/af.txt.gz": gz(text), "af/af_meta.jsonl.gz": gz(jsonl(records(docs)))}
    found = documents_of(read_tree(tree, tmp_path))
    assert [own(item).get("tail") for item in found] == [None, None, tail]


@pytest.mark.parametrize(
    ("end", "rule"), [(b"\n\n\n", "OSC302"), (b"\n \n", "OSC304"), (b"\n\n\t", "OSC304"), (b"\n\r\n\n", "OSC304")]
)
def test_what_a_1_1_text_may_not_end_with_is_rejected(end: bytes, rule: str, tmp_path: Path) -> None:
    docs = release("1.1", {"af": [COUNTS]}).languages["af"][0]
    text = text_of(docs).rstrip(b"\n") + end
    tree = {"af/af.txt.gz": gz(text), "af/af_meta.jsonl.gz": gz(jsonl(records(docs)))}
    (rejected,) = [item for item in read_tree(tree, tmp_path) if isinstance(item, Rejected)]
    assert (rejected.finding.code, rejected.raw) == (rule, end)


def test_what_a_writer_kept_is_restored(tmp_path: Path) -> None:
    kept = {
        "id": "a-1",
        "source": "books",
        "added": "2024-01-01",
        "created": None,
        "metadata": {"n": [1, None]},
        "attributes": {"tag": [[0, 3, 1.0]]},
        "extra": {"license": "CC0"},
        "other": 7,
    }
    docs = release("1.1", {"af": [[2]]}).languages["af"][0]
    docs[0].headers = {"corpusfmt-document": json.dumps(kept), "corpusfmt-blank-lines": "0,2:20,4"}
    tree = {"af/af.txt.gz": gz(text_of(docs)), "af/af_meta.jsonl.gz": gz(jsonl(records(docs)))}
    (found,) = documents_of(read_tree(tree, tmp_path))
    assert (found.id, found.source, found.added, found.created) == ("a-1", "books", "2024-01-01", None)
    assert (found.metadata, found.attributes) == ({"n": [1, None]}, {"tag": [[0, 3, 1.0]]})
    assert found.extra == {"license": "CC0", "other": 7}
    assert found.text == f"\n{docs[0].lines[0]}\n \n{docs[0].lines[1]}\n"


def with_header_of_blank_lines(header: str, lines: list[str], root: Path) -> str:
    """Return the text of a document whose record has a header that lists lines left out."""
    docs = release("1.1", {"af": [[1]]}).languages["af"][0]
    docs[0].lines = lines
    docs[0].headers["corpusfmt-blank-lines"] = header
    tree = {"af/af.txt.gz": gz(text_of(docs)), "af/af_meta.jsonl.gz": gz(jsonl(records(docs)))}
    (found,) = documents_of(read_tree(tree, root))
    return found.text


@pytest.mark.parametrize(
    ("header", "lines", "text"),
    [
        ("0", ["a", "b"], "\na\nb"),
        ("2", ["a", "b"], "a\nb\n"),
        ("1:09,2,4:200d", ["a", "b"], "a\n\t\n\nb\n \r"),
        ("=0", ["\u2205"], ""),
        ("=0,1:20", ["\u2205"], "\n "),
        ("0", ["\u2205"], "\n\u2205"),
    ],
)
def test_lines_that_were_left_out_come_back_to_their_places(
    header: str, lines: list[str], text: str, tmp_path: Path
) -> None:
    assert with_header_of_blank_lines(header, lines, tmp_path) == text


@pytest.mark.parametrize("header", ["", "x", "-1", "3", "0,9", "2,0", "0,0", "0;2", "0:6", "0:61", "0:ff", "=0"])
def test_a_list_of_lines_that_cannot_be_ours_adds_none(header: str, tmp_path: Path) -> None:
    assert with_header_of_blank_lines(header, ["a", "b"], tmp_path) == "a\nb"


@pytest.mark.parametrize(
    "header",
    [
        "[1]",
        "{",
        '{"no":"id"}',
        '{"id":1}',
        '{"id":"a","metadata":[]}',
        '{"id":"a","attributes":[]}',
        '{"id":"a","extra":"b"}',
        '{"id":"a","source":1}',
        '{"id":"a","added":[]}',
        '{"id":"a","created":1}',
    ],
)
def test_a_header_that_only_looks_like_ours(header: str, tmp_path: Path) -> None:
    docs = release("1.1", {"af": [[1]]}).languages["af"][0]
    docs[0].headers["corpusfmt-document"] = header
    tree = {"af/af.txt.gz": gz(text_of(docs)), "af/af_meta.jsonl.gz": gz(jsonl(records(docs)))}
    (found,) = documents_of(read_tree(tree, tmp_path))
    assert found.id.startswith("urn:uuid:")


def test_a_document_of_1_0(tmp_path: Path) -> None:
    made = release("1.0", {"de": [COUNTS, [1]]})
    found = documents_of(read_tree(made.tree(), tmp_path, "1.0"))
    assert [item.text for item in found] == [doc.text for part in made.languages["de"] for doc in part]
    assert own(found[3]) == {"version": "1.0", "part": "de/de_part_2", "synthetic_id": True}
    part, number, digest = found[3].id.split(":")
    assert (part, number, len(digest)) == ("de/de_part_2", "1", 16)
    assert len({item.id for item in found}) == len(found)


def pieces_of(items: list[Document | Rejected]) -> bytes:
    """Write documents as a 1.0 text again, from what they carry."""
    text = ""
    for item in documents_of(items):
        text += own(item).get("lead", "") + item.text + own(item).get("tail", "\n\n")
    return text.encode()


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        (b"a\nb\n\nc\n\n", ["a\nb", "c"]),
        (b"a\nb\n\nc\n", ["a\nb", "c"]),
        (b"a\nb\n\nc", ["a\nb", "c"]),
        (b"\n\na\n\n\n\nb\n\n\n", ["a", "b"]),
        (b" \na\n \t\r\nb\n\n", ["a", "b"]),
        (b"a\nb\nc\n", ["a", "b", "c"]),
        (b"a\nb\nc", ["a", "b", "c"]),
        (b"a\r\nb\r\n\nc\x0b\n\n", ["a\r\nb\r", "c\x0b"]),
        ("a\u2028b\u0085c\n\n".encode(), ["a\u2028b\u0085c"]),
    ],
)
def test_every_byte_of_a_1_0_text_survives(text: bytes, texts: list[str], tmp_path: Path) -> None:
    items = of_text(text, tmp_path)
    assert [item.text for item in documents_of(items)] == texts
    assert pieces_of(items) == text


def test_what_does_not_fit_is_rejected_with_its_bytes(tmp_path: Path) -> None:
    docs = release("1.1", {"af": [[1, 2, 3, 1, 2, 1, 4, 1, 1]]}).languages["af"][0]
    rows = records(docs)
    lost, wrong = rows.pop(3), rows[5]
    wrong["nb_sentences"] = 9
    tree = {"af/af.txt.gz": gz(text_of(docs)), "af/af_meta.jsonl.gz": gz(jsonl(rows))}
    items = read_tree(tree, tmp_path)
    assert codes(items) == ["OSC505", "OSC504"]
    assert [item.text for item in items if isinstance(item, Document)] == [
        doc.text for number, doc in enumerate(docs) if number not in (3, 6)
    ]
    rejected = [item for item in items if isinstance(item, Rejected)]
    assert lost["offset"] == 9
    assert rejected[0].raw == docs[3].text.encode() + b"\n\n"
    assert rejected[0].finding.location.line == 4


@pytest.mark.parametrize("lost", [{3}, {3, 4}, {3, 4, 5}])
@pytest.mark.parametrize("side", ["records", "documents"])
def test_each_of_those_without_partner_is_rejected_alone(side: str, lost: set[int], tmp_path: Path) -> None:
    docs = release("1.1", {"af": [[1, 2, 3, 1, 4, 5, 4, 1, 1, 2, 1, 3]]}).languages["af"][0]
    kept = [number for number in range(len(docs)) if number not in lost]
    rows = records(docs) if side == "documents" else [records(docs)[number] for number in kept]
    text = text_of(docs if side == "records" else [docs[number] for number in kept])
    items = read_tree({"af/af.txt.gz": gz(text), "af/af_meta.jsonl.gz": gz(jsonl(rows))}, tmp_path)
    assert codes(items) == ["OSC505"] * len(lost)
    assert [item.text for item in items if isinstance(item, Document)] == [docs[number].text for number in kept]
    alone = {
        "records": [docs[number].text.encode() + b"\n\n" for number in sorted(lost)],
        "documents": [jsonl([records(docs)[number]]) for number in sorted(lost)],
    }
    assert [item.raw for item in items if isinstance(item, Rejected)] == alone[side]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda row: row.update(offset="0"), "OSC402"),
        (lambda row: row["headers"].update({"warc-date": 5}), "OSC403"),
        (lambda row: row.update(nb_sentences=True), "OSC402"),
    ],
)
def test_a_record_against_the_schema_is_rejected(change: Any, code: str, tmp_path: Path) -> None:
    docs = release("1.1", {"af": [COUNTS]}).languages["af"][0]
    rows = records(docs)
    change(rows[1])
    items = read_tree({"af/af.txt.gz": gz(text_of(docs)), "af/af_meta.jsonl.gz": gz(jsonl(rows))}, tmp_path)
    assert codes(items) == [code]
    assert isinstance(items[1], Rejected)
    at = items[1].finding.location
    assert (at.path, at.line, at.byte) == ("af/af_meta.jsonl.gz", 2, len(jsonl(rows[:1])))
    assert [item.text for item in items if isinstance(item, Document)] == [docs[0].text, docs[2].text]


def test_text_and_metadata_of_different_parts(tmp_path: Path) -> None:
    made = release("1.1", {"de": [[2, 5, 1, 3] * 9, [3, 1, 4] * 9]}).tree()
    one, other = "de/de_meta_part_1.jsonl.gz", "de/de_meta_part_2.jsonl.gz"
    items = read_tree(made | {one: made[other], other: made[one]}, tmp_path)
    assert set(codes(items)) == {"OSC505"}
    assert not [item for item in items if isinstance(item, Document)]


def test_a_stream_that_breaks_off_ends_with_rejected(tmp_path: Path) -> None:
    tree = release("1.1", {"af": [[1] * 200]}).tree()
    cut = tree["af/af.txt.gz"]
    items = read_tree(tree | {"af/af.txt.gz": cut[: len(cut) // 2]}, tmp_path)
    assert set(codes(items)) == {"GEN101"}
    assert isinstance(items[-1], Rejected)
    assert items[-1].raw == b""
    # Each of the records behind the damage, and the damage itself.
    assert len(items) == 201
    assert 10 < len([item for item in items if isinstance(item, Document)]) < 200


def test_a_1_0_text_that_breaks_off_ends_with_rejected(tmp_path: Path) -> None:
    tree = release("1.0", {"af": [[1] * 200]}).tree()
    cut = tree["af/af.txt.gz"]
    *found, last = read_tree(tree | {"af/af.txt.gz": cut[: len(cut) // 2]}, tmp_path, "1.0")
    assert isinstance(last, Rejected)
    assert (last.finding.code, last.raw) == ("GEN101", b"")
    assert 10 < len(documents_of(found)) < 200


def test_bad_text_is_rejected_and_the_rest_is_read(tmp_path: Path) -> None:
    items = of_text(b"good\n\nbad \xff\n\nmore\n\n", tmp_path)
    assert codes(items) == ["GEN201"]
    rejected = items[1]
    assert isinstance(rejected, Rejected)
    assert (rejected.raw, rejected.finding.location.line, rejected.finding.location.byte) == (b"bad \xff", 3, 10)
    assert [item.text for item in items if isinstance(item, Document)] == ["good", "more"]


def test_a_document_over_the_limit_is_measured_and_rejected(tmp_path: Path) -> None:
    text = b"x" * 300 + b"\nx\n\n" + b"y\n" * 51 + b"\n" + b"y\n" * 50 + b"\n" + b"z" * 100 + b"\n\nok\n\n"
    items = of_text(text, tmp_path, max_line_bytes=100)
    assert codes(items) == ["GEN302", "GEN302"]
    findings = [item.finding for item in items if isinstance(item, Rejected)]
    assert [(each.location.line, each.location.byte) for each in findings] == [(1, 0), (4, 304)]
    assert findings[0].message == "the document has 302 bytes, the limit is 100"
    assert findings[1].message == "the document has 101 bytes, the limit is 100"
    assert [item.text for item in items if isinstance(item, Document)] == ["y\n" * 49 + "y", "z" * 100, "ok"]


def test_a_record_over_the_limit_is_rejected_with_its_text(tmp_path: Path) -> None:
    docs = release("1.1", {"af": [COUNTS]}).languages["af"][0]
    docs[1].headers["more"] = "x" * 3000
    tree = {"af/af.txt.gz": gz(text_of(docs)), "af/af_meta.jsonl.gz": gz(jsonl(records(docs)))}
    first, rejected, last = read_tree(tree, tmp_path, max_line_bytes=2000)
    assert isinstance(first, Document)
    assert isinstance(last, Document)
    assert isinstance(rejected, Rejected)
    assert (rejected.finding.code, rejected.finding.location.line) == ("GEN302", 2)
    length = len(jsonl(records(docs)).split(b"\n")[1])
    assert rejected.finding.message == f"the line has {length:,} bytes, the limit is 2,000"
    assert rejected.raw == b"\n" + docs[1].text.encode() + b"\n\n"


@pytest.mark.parametrize("text", [b"", b"\n", b"\n\n \n"])
def test_a_text_of_nothing(text: bytes, tmp_path: Path) -> None:
    assert codes(of_text(text, tmp_path)) == ["OSC301"]


def test_surplus_separators_of_1_1_are_told_and_cost_no_document(tmp_path: Path) -> None:
    made = release("1.1", {"af": [COUNTS * 5]})
    tree = made.tree()
    text = gunzip(tree["af/af.txt.gz"]).replace(b"\n\n", b"\n\n\n", 1)
    items = read_tree(tree | {"af/af.txt.gz": gz(text)}, tmp_path)
    assert codes(items) == ["OSC302"]
    assert len(items) == len(COUNTS * 5) + 1


@pytest.mark.parametrize(("blank", "rule"), [(b"\n", "OSC302"), (b" \n", "OSC304")])
def test_a_blank_line_at_the_start_is_told_at_the_first_line(blank: bytes, rule: str, tmp_path: Path) -> None:
    docs = release("1.1", {"af": [COUNTS]}).languages["af"][0]
    rows = [row | {"offset": row["offset"] + 1} for row in records(docs)]
    items = read_tree({"af/af.txt.gz": gz(blank + text_of(docs)), "af/af_meta.jsonl.gz": gz(jsonl(rows))}, tmp_path)
    assert [item.text for item in items if isinstance(item, Document)] == [doc.text for doc in docs]
    (rejected,) = [item for item in items if isinstance(item, Rejected)]
    assert (rejected.finding.code, rejected.raw) == (rule, blank)
    assert rejected.finding.location == Location("af/af.txt.gz", 1)


@pytest.mark.parametrize("blank", [b"", b" "])
def test_a_blank_line_of_metadata_stands_for_no_record(blank: bytes, tmp_path: Path) -> None:
    docs = release("1.1", {"af": [COUNTS]}).languages["af"][0]
    first, rest = jsonl(records(docs)).split(b"\n", 1)
    for line, others in ((blank, 0), (b"x", 1)):
        metadata = first + b"\n" + line + b"\n" + (rest if not others else rest.split(b"\n", 1)[1])
        items = read_tree({"af/af.txt.gz": gz(text_of(docs)), "af/af_meta.jsonl.gz": gz(metadata)}, tmp_path)
        (rejected,) = [item for item in items if isinstance(item, Rejected)]
        assert [len(items), rejected.finding.location.line] == [len(docs) + 1 - others, 2]


GAPS = [b"\n\n", b"\n \n", b"\n\n\n", b"\n\t\r\n", b"\n\r\n"]


@examples(200)
@given(
    texts=st.lists(st.lists(st.sampled_from([b"a", b" b", b"\rc", b"\xc2\x85"]), min_size=1, max_size=3), max_size=12),
    data=st.data(),
)
def test_documents_are_cut_the_same_in_blocks_of_any_size(texts: list[list[bytes]], data: st.DataObject) -> None:
    gaps = [data.draw(st.sampled_from([*GAPS[:1] * 9, *GAPS])) for _ in texts]
    text = b"".join(b"\n".join(lines) + gap for lines, gap in zip(texts, gaps, strict=True))

    def cut(size: int) -> list[tuple[object, ...]]:
        chunks = [text[start : start + size] for start in range(0, len(text), size)]
        found = pieces(blocks(chunks), 1000, "blank-lines")
        return [
            (each.line, each.byte, each.data, each.lines, each.size, each.lead, each.tail, each.gap) for each in found
        ]

    line_by_line = cut(1)
    assert [each[2] for each in line_by_line] == [b"\n".join(lines) for lines in texts]
    assert cut(7) == cut(1000) == line_by_line


def test_only_blanks_are_blank(tmp_path: Path) -> None:
    items = of_text(b"X\nXX\n\nX\t\n\n", tmp_path)
    assert [item.text for item in documents_of(items)] == ["X\nXX", "X\t"]
