"""Misaligned rows are reported once, with the cause."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from dolma.corpus import Json, attributes, check, codes, documents, encoded, write

from corpusfmt.formats.dolma import alignment

ROWS = 40
DOCUMENTS = documents(ROWS)
ATTRIBUTES = attributes(DOCUMENTS)


def swapped(one: int, other: int) -> list[Json]:
    rows = list(ATTRIBUTES)
    rows[one], rows[other] = rows[other], rows[one]
    return rows


def shuffled() -> list[Json]:
    rows = list(ATTRIBUTES)
    random.Random(1).shuffle(rows)
    return rows


def foreign(count: int) -> list[Json]:
    return attributes(documents(count, start=1000))


def alternating() -> list[Json]:
    return [row if number % 2 else foreign(1)[0] for number, row in enumerate(ATTRIBUTES)]


CASES = {
    "two rows swapped": (swapped(4, 30), "DOL502", 5, "rows 5 and 31 are swapped"),
    "a row missing": (ATTRIBUTES[:7] + ATTRIBUTES[8:], "DOL501", 8, "1 row from row 8 on is missing"),
    "three rows missing": (ATTRIBUTES[:7] + ATTRIBUTES[10:], "DOL501", 8, "3 rows from row 8 on are missing"),
    "the first row missing": (ATTRIBUTES[1:], "DOL501", 1, "1 row from row 1 on is missing"),
    "a row too many": ([*ATTRIBUTES[:7], *foreign(1), *ATTRIBUTES[7:]], "DOL501", 8, "1 row from row 8 on is too many"),
    "the end missing": (ATTRIBUTES[:-3], "DOL501", None, "37 rows, the documents file has 40"),
    "more at the end": ([*ATTRIBUTES, *foreign(2)], "DOL501", 41, "42 rows, the documents file has 40"),
    "shifted up": ([*ATTRIBUTES[2:], *foreign(2)], "DOL502", 1, "from there on the rows are shifted up by 2"),
    "shifted down": ([*ATTRIBUTES[:5], *foreign(1), *ATTRIBUTES[5:-1]], "DOL502", 6, "the rows are shifted down by 1"),
    "reordered": (shuffled(), "DOL502", 1, "the rows are reordered"),
    "other documents": (foreign(ROWS), "DOL502", 1, "40 of 40 rows from there on differ, 0 ids are in both files"),
    "one foreign row": ([*ATTRIBUTES[:9], *foreign(1), *ATTRIBUTES[10:]], "DOL502", 10, "no other row differs"),
    "every other row foreign": (alternating(), "DOL502", 1, "20 of 40 rows from there on differ, 20 ids are in both"),
}


@pytest.mark.parametrize("name", CASES)
def test_kinds_of_misalignment(name: str, tmp_path: Path) -> None:
    rows, code, line, words = CASES[name]
    files = {"documents/a.jsonl.gz": encoded(DOCUMENTS), "attributes/pii/a.jsonl.gz": encoded(rows)}
    report = check(write(tmp_path, files))
    assert codes(report) == [code]
    assert f" {words}" in f" {report.findings[0].message}"
    assert report.findings[0].location.line == line
    assert report.findings[0].location.path == "attributes/pii/a.jsonl.gz"


def test_sets_are_judged_apart_and_rows_across_blocks(tmp_path: Path) -> None:
    """Documents and attributes come in blocks of different sizes; only one of three sets is out of step."""
    rows = documents(4000)
    sets = {name: attributes(rows, name) for name in ("a", "b", "c")}
    sets["b"][3000], sets["b"][3001] = sets["b"][3001], sets["b"][3000]
    files = {"documents/x.jsonl.zst": encoded(rows)}
    files |= {f"attributes/{name}/x.jsonl.zst": encoded(found) for name, found in sets.items()}
    report = check(write(tmp_path, files))
    assert codes(report) == ["DOL502"]
    assert report.findings[0].location.path == "attributes/b/x.jsonl.zst"
    assert "rows 3001 and 3002 are swapped" in report.findings[0].message


def test_long_files_are_compared_as_far_as_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "_KEPT_ROWS", 10)
    files = {
        "documents/a.jsonl": encoded(DOCUMENTS),
        "attributes/pii/a.jsonl": encoded(ATTRIBUTES[:3] + ATTRIBUTES[4:]),
    }
    report = check(write(tmp_path, files))
    assert codes(report) == ["DOL501"]
    assert "39 rows, the documents file has 40" in report.findings[0].message


def test_a_row_that_cannot_be_read_keeps_its_place(tmp_path: Path) -> None:
    lines = encoded(DOCUMENTS).split(b"\n")
    lines[3] = b'{"id": NaN}'
    tags = encoded(ATTRIBUTES).split(b"\n")
    tags[5] = b"[]"
    files = {"documents/a.jsonl": b"\n".join(lines), "attributes/pii/a.jsonl": b"\n".join(tags)}
    assert codes(check(write(tmp_path, files))) == ["DOL201", "GEN301"]


@pytest.mark.parametrize("count", [20, 2000])
def test_spans_of_rows_out_of_step_are_not_measured(count: int, tmp_path: Path) -> None:
    rows = [{**row, "text": "x" * number} for number, row in enumerate(documents(count), 10)]
    tags = attributes(rows)
    tags[3]["attributes"]["exp__pii__x"] = [[5, 2, 1]]
    files = {"documents/a.jsonl": encoded(rows), "attributes/pii/a.jsonl": encoded(tags[::-1])}
    assert codes(check(write(tmp_path, files))) == ["DOL502", "DOL605"]
