"""Writing OSCAR: the ends of parts, and the separators between documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from conversion.rows import texts, write_rows
from oscar.corpus import gz, write

import corpusfmt


@pytest.mark.parametrize(("more", "documents"), [(0, [2, 2, 1]), (1, [3, 2]), (-1, [2, 2, 1])])
def test_a_part_ends_with_the_document_that_fills_it(more: int, documents: list[int], tmp_path: Path) -> None:
    rows = [{"id": str(n), "text": f"{n:0>98}", "source": "s", "metadata": {"language": "en"}} for n in range(5)]
    write_rows(tmp_path / "dolma/documents/a.jsonl.gz", rows)
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "oscar", to="oscar", part_bytes=200 + more)
    assert [text.count(b"\n\n") for text in texts(tmp_path / "oscar/en")] == documents


@pytest.mark.parametrize(
    "text", [b"one\n\n\ntwo\n\nthree\n\n", b"\none\n \ntwo\n\n\n\n", b"one\n\ntwo", b"one\n\ntwo\n", b"one\n\ntwo\n\t"]
)
def test_separators_of_a_1_0_text_come_back(text: bytes, tmp_path: Path) -> None:
    write({"af/af.txt.gz": gz(text)}, tmp_path / "in")
    corpusfmt.convert(tmp_path / "in", tmp_path / "dolma", to="dolma")
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "back", to="oscar-1.0", on_loss="allow")
    assert texts(tmp_path / "back/af") == [text]
