"""Documents that must not be in a release."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from dolma.corpus import check, codes, documents, encoded, write

from corpusfmt.formats.dolma import blocklist
from corpusfmt.io.lines import MAX_LINE_BYTES
from corpusfmt.model import UsageError


def test_ids_and_pairs(tmp_path: Path) -> None:
    root = write(tmp_path / "set", {"documents/a.jsonl.gz": encoded(documents(2000))})
    listed = tmp_path / "list.txt"
    listed.write_bytes(b"doc-3\r\nweb\tdoc-1999\nweb\tdoc-3\nother\tdoc-5\n\nnobody")
    report = check(root, blocklist=listed)
    assert codes(report) == ["DOL314", "DOL314"]
    assert [(finding.location.line, finding.message) for finding in report.findings] == [
        (4, "the document is on the blocklist as `web`, `doc-3`"),
        (2000, "the document is on the blocklist as `web`, `doc-1999`"),
    ]


def test_a_compressed_list(tmp_path: Path) -> None:
    root = write(tmp_path / "set", {"documents/a.jsonl": encoded(documents(3))})
    listed = tmp_path / "list.gz"
    listed.write_bytes(gzip.compress(b"doc-0\n"))
    assert codes(check(root, blocklist=listed)) == ["DOL314"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("list.txt", b"\xff\n", " is broken: 'utf-8' codec can't decode byte 0xff"),
        ("list.gz", b"doc-1\n", " is broken: not a gzip stream"),
        ("list.gz", gzip.compress(b"doc-1\n" + b"x" * (MAX_LINE_BYTES + 1)), ": line 2 is too long"),
    ],
    ids=["no text", "no gzip", "a long line"],
)
def test_a_list_that_cannot_be_read_is_the_callers_error(name: str, data: bytes, message: str, tmp_path: Path) -> None:
    root = write(tmp_path / "set", {"documents/a.jsonl": encoded(documents(1))})
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError) as caught:
        check(root, blocklist=tmp_path / name)
    assert str(caught.value).startswith(f"blocklist {tmp_path / name}{message}")


def test_a_list_takes_so_much_memory_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocklist, "_MOST_HELD_BYTES", 250)
    root = write(tmp_path / "set", {"documents/a.jsonl": encoded(documents(1))})
    listed = tmp_path / "list.txt"
    listed.write_bytes(b"doc-1\ndoc-2\n")
    assert codes(check(root, blocklist=listed)) == []
    more = tmp_path / "more.txt"
    more.write_bytes(b"doc-1\ndoc-2\ndoc-3\n")
    with pytest.raises(UsageError, match="more than 2 entries, which is all there is memory for; split it"):
        check(root, blocklist=more)
