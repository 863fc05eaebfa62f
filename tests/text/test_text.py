"""Plain text: where documents begin and end, and what becomes of them."""

from __future__ import annotations

import gzip
import json
import lzma
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import run_cli

import corpusfmt
from corpusfmt.formats import CheckOptions, ReadOptions, Rejected, detect, formats
from corpusfmt.formats.pieces import DividedBy, blank_lines, pieces
from corpusfmt.io.lines import blocks
from corpusfmt.io.paths import entry_of
from corpusfmt.model import BadInput, Document, UsageError

TEXTS = [f"Absatz {number}\n\tund „Zeile“ \u2028 zwei" for number in range(10)]


def write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def documents(folder: Path) -> list[dict[str, Any]]:
    files = sorted(folder.rglob("*.jsonl.gz"))
    return [json.loads(line) for path in files for line in gzip.decompress(path.read_bytes()).split(b"\n")[:-1]]


def read(path: Path, **reading: Any) -> list[Document | Rejected]:
    fmt, options = formats()["text"], CheckOptions(version="1.0", reading=ReadOptions(**reading), max_line_bytes=4000)
    assert fmt.reader is not None
    shards = fmt.plan(entry_of(str(path)), options).shards
    return [each for shard in shards for each in fmt.reader.read(shard, options) if not hasattr(each, "what")]


def test_cc_100_comes_back(tmp_path: Path) -> None:
    data = lzma.compress("".join(f"{each}\n\n" for each in TEXTS).encode())
    write(tmp_path / "in/de.txt.xz", data)
    found = detect(entry_of(str(tmp_path / "in")))
    assert (found[0].name, "cc-100" in found[1].evidence) == ("text", True)
    report = corpusfmt.validate(tmp_path / "in", profile="strict")
    assert (report.verdict.value, report.findings, report.coverage.documents) == ("valid", [], 10)
    corpusfmt.convert(tmp_path / "in", tmp_path / "dolma", to="dolma")
    assert corpusfmt.validate(tmp_path / "dolma").verdict.value == "valid"
    assert [path.name for path in (tmp_path / "dolma").rglob("*.gz")] == ["de.jsonl.gz"]
    rows = documents(tmp_path / "dolma/documents")
    assert [(row["text"], row["source"], row["metadata"]["language"]) for row in rows] == [
        (each, "cc-100", "de") for each in TEXTS
    ]
    assert re.fullmatch(r"de\.txt\.xz:1:[0-9a-f]{16}", rows[0]["id"])
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "oscar", to="oscar")
    corpusfmt.convert(tmp_path / "oscar", tmp_path / "back", to="text", format="oscar")
    (written,) = (tmp_path / "back/data").rglob("*.txt.gz")
    assert gzip.decompress(written.read_bytes()) == lzma.decompress(data)


@given(
    st.lists(st.sampled_from([b"a", b"b c", b"\n", b"\n\n", b" \n", b"\t\r\n", b"d\r\n"]), max_size=12),
    st.integers(1, 9),
)
def test_blank_lines_end_documents(parts: list[bytes], cut: int) -> None:
    data = b"".join(parts)
    expected = [piece for piece in re.split(rb"(?m)^[ \t\r]*(?:\n|\Z)", data) if piece.strip()]
    lines = data.rpartition(b"\n")[0] + b"\n" if b"\n" in data else b""
    spans = list(blank_lines(lines))
    assert spans == [match.span() for match in re.finditer(rb"(?m)(?:^[ \t\r]*\n)+", lines)]
    assert pieces_of(data, cut) == [piece.removesuffix(b"\n") for piece in expected]


@pytest.mark.parametrize(("divided_by", "separator"), [("files", b"(?!)"), ("separator", rb"%%\r?\n?")])
@given(
    parts=st.lists(st.sampled_from([b"a", b"b c", b"\n", b"\n\n", b" \n", b"%%", b"%%\n", b"%%\r\n"]), max_size=12),
    cut=st.integers(1, 9),
)
def test_other_documents_keep_their_blank_lines(
    divided_by: DividedBy, separator: bytes, parts: list[bytes], cut: int
) -> None:
    data = b"".join(parts)
    expected = [piece.removesuffix(b"\n") for piece in re.split(separator, data) if piece.strip()]
    assert pieces_of(data, cut, divided_by) == expected


def pieces_of(data: bytes, cut: int, divided_by: DividedBy = "blank-lines") -> list[bytes]:
    """Return the documents of a file whose blocks end at the first LF after each `cut` bytes."""
    found = blocks(data[start : start + cut] for start in range(0, len(data), cut))
    return [each.data for each in pieces(found, 1 << 20, divided_by, "%%")]


def test_blank_lines_of_any_number_take_no_memory(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"one\n" + b"\n" * 10_000_000 + b"two\n")
    corpusfmt.validate(path)  # imports what it needs
    tracemalloc.start()
    try:
        assert corpusfmt.validate(path).coverage.documents == 2
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


WIKI = '<doc id="{0}" url="https://w.example/?curid={0}" title="The "{0}"">\nText {0}\n\nand more\n\n</doc>\n\n'
LAYOUTS: dict[str, tuple[str, str, list[tuple[str, str | None]], str]] = {
    "endoftext": ("a.txt", "One.\n<|endoftext|>\n\nTwo\n\nparts.\n<|endoftext|>\nThree", [("One.", None), ("\nTwo\n\nparts.", None), ("Three", None)], "text"),
    "endoftext inline": ("a.txt.gz", "One.<|endoftext|>Two\r\n<|endoftext|>\r\n", [("One.", None), ("Two\r", None)], "text"),
    "news": ("news.2023.de.shuffled.deduped.gz", "Satz eins.\n\nSatz zwei.", [("Satz eins.", "de"), ("Satz zwei.", "de")], "news-crawl"),
    "older news": ("data/news.2007.pt-BR.shuffled.gz", "Um.\n", [("Um.", "pt-BR")], "news-crawl"),
    "articles": ("news.2023.de.gz", "Eins.\nZwei.\n\nDrei.\n", [("Eins.\nZwei.", "de"), ("Drei.", "de")], "news-crawl-docs"),
    "wiki": ("AA/wiki_00", WIKI.format(1) + WIKI.format(2), [("Text 1\n\nand more\n", None), ("Text 2\n\nand more\n", None)], "wikiextractor"),
    "wiki packed": ("AB/wiki_99.gz", WIKI.format(7).strip(), [("Text 7\n\nand more\n", None)], "wikiextractor"),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_published_layout_of_text_is_read(name: str, tmp_path: Path) -> None:
    path, data, texts, source = LAYOUTS[name]
    write(tmp_path / path, gzip.compress(data.encode()) if path.endswith("gz") else data.encode())
    assert detect(entry_of(str(tmp_path)))[0].name == "text"
    report = corpusfmt.validate(tmp_path)
    assert (report.verdict.value, report.coverage.documents) == ("valid", len(texts))
    found = list(corpusfmt.read(tmp_path))
    assert [(each.text, each.lang) for each in found] == texts
    assert {each.source for each in found} == {source}
    for each in found if source == "wikiextractor" else ():
        assert each.metadata == {"url": f"https://w.example/?curid={each.id}", "title": f'The "{each.id}"'}
        assert each.text.startswith(f"Text {each.id}")


@pytest.mark.parametrize(
    ("data", "line", "lacks"),
    [
        (WIKI.format(1) + WIKI.format(2)[:60], 8, "</doc>"),
        (WIKI.format(1) + "outside\n" + WIKI.format(2), 8, "<doc …>"),
        (WIKI.format(1).replace("</doc>\n", "") + WIKI.format(2), 1, "</doc>"),
    ],
)
def test_text_outside_of_an_element_is_an_error(data: str, line: int, lacks: str, tmp_path: Path) -> None:
    write(tmp_path / "in/AA/wiki_00", data.encode())
    (found,) = corpusfmt.validate(tmp_path / "in").findings
    assert (found.code, found.location.line, found.message) == ("TXT203", line, f"expected a line `{lacks}`")
    with pytest.raises(BadInput, match="TXT203"):
        corpusfmt.convert(tmp_path / "in", tmp_path / "out", to="dolma")


def test_each_file_is_a_document(tmp_path: Path) -> None:
    for name in ("b/2.txt", "b/10.txt", "a.txt.gz"):
        data = f"eins\n\n{name}\n".encode()
        write(tmp_path / "in" / name, gzip.compress(data) if name.endswith("gz") else data)
    report = corpusfmt.convert(
        tmp_path / "in", tmp_path / "out", to="dolma", columns="text-files", source_name="letters"
    )
    assert report.coverage.documents == 3
    rows = documents(tmp_path / "out/documents")
    assert [(row["id"].rpartition(":")[0], row["text"], row["source"]) for row in rows] == [
        (name, f"eins\n\n{name}", "letters") for name in ("b/10.txt", "b/2.txt", "a.txt.gz")
    ]
    assert sorted(path.name for path in (tmp_path / "out").rglob("*.gz")) == ["files.jsonl.gz", "files.jsonl.gz"]
    with pytest.raises(BadInput, match="would be lost: metadata, blank lines inside a text"):
        corpusfmt.convert(tmp_path / "out", tmp_path / "back", to="text")


def test_what_cannot_be_read_is_rejected_where_it_is(tmp_path: Path) -> None:
    long = b"long\n" * 1000
    path = write(tmp_path / "a.txt", b"one\n\n" + long + b"\ntwo\n\ncaf\xe9\n\nthree")
    found = read(path)
    rejected = [(each.finding.code, each.finding.location.line) for each in found if isinstance(each, Rejected)]
    assert rejected == [("GEN302", 3), ("GEN201", 1006)]
    assert [each.text for each in found if isinstance(each, Document)] == ["one", "two", "three"]
    assert [each.id.split(":")[1] for each in found if isinstance(each, Document)] == ["1", "3", "5"]


def test_what_a_text_file_does_not_keep(tmp_path: Path) -> None:
    rows = [
        {"id": "1", "text": "with an id", "source": "web"},
        {"id": "2", "text": "", "source": "web"},
        {"id": "3", "text": "two\n\nparts", "source": "web", "metadata": {"a": 1}},
    ]
    write(tmp_path / "in/documents/a.jsonl", b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    with pytest.raises(BadInput, match="CNV101 would be lost: metadata"):
        corpusfmt.convert(tmp_path / "in", tmp_path / "out", to="text")
    report = corpusfmt.convert(tmp_path / "in", tmp_path / "out", to="text", on_loss="allow")
    assert report.results["losses"] == {"metadata": 3, "documents without a text": 1, "blank lines inside a text": 1}
    assert gzip.decompress((tmp_path / "out/data/a.txt.gz").read_bytes()) == b"with an id\n\ntwo\nparts\n\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a.txt": b"x\n"}, "text"),
        ({"a.txt": b"x\n", "b.csv": b"x\n"}, None),
        ({"a.txt": b'{"text": "x"}\n'}, None),
        ({"af/af.txt.gz": gzip.compress(b"x\n")}, "oscar"),
        ({"a.jsonl": b'{"text": "x"}\n', "b.txt": b"x\n"}, "jsonl"),
        ({"a_sha256.txt": b"x\n", "README.txt": b"x\n"}, None),
    ],
)
def test_what_is_taken_for_text(files: dict[str, bytes], expected: str | None, tmp_path: Path) -> None:
    for name, data in files.items():
        write(tmp_path / name, data)
    if expected is not None:
        assert detect(entry_of(str(tmp_path)))[0].name == expected
        return
    with pytest.raises(UsageError, match="no known format recognises"):
        detect(entry_of(str(tmp_path)))


def test_standard_input_may_be_text() -> None:
    done = run_cli("validate", "-", "--format", "text", stdin=b"one\n\ntwo\n")
    assert (done.returncode, b"text 1.0" in done.stdout, b"2 documents" in done.stdout) == (0, True, True)
