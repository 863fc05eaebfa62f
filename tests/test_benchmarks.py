"""The page of benchmarks: its tables are those that scripts print, and it has a place for what the suite measures."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from support import REPOSITORY

PAGE = REPOSITORY / "docs" / "performance.md"


@pytest.fixture(scope="module", autouse=True)
def importable() -> Iterator[None]:
    sys.path.insert(0, str(REPOSITORY / "benchmarks"))
    yield
    sys.path.remove(str(REPOSITORY / "benchmarks"))


def test_the_page_has_the_tables_that_were_printed(capsys: pytest.CaptureFixture[str]) -> None:
    from measuring import table, tables
    from page import generated

    heads, rows = ["", "MB/s"], [["gzip -dc \\| wc -c", "1.0"], ["", ""]]
    table("clean text, 4 MB", heads, rows)
    printed = capsys.readouterr().out
    (found,) = tables(printed)
    assert (found["heads"], found["rows"]) == (heads, rows)
    measured: dict[str, Any] = {
        "machine": {"processor": "a machine", "python": "3.11.7"},
        "load": 0.5,
        "measured": "2026",
    }
    shown = "\n".join(generated(measured | {"command": "x.py", "tables": [found], "text": "", "runs": []}))
    assert printed.strip().replace("clean text, 4 MB", "Clean text, 4 MB:") in shown


def test_each_mark_of_the_page_is_a_piece_of_the_suite() -> None:
    from suite import pieces

    marked = re.findall(r"<!-- bench: ([a-z]+)\b", PAGE.read_text("utf-8"))
    assert set(marked) <= pieces(1, 1000, None).keys()
    assert len(marked) == len(set(marked))


def test_the_paper_quotes_what_was_measured() -> None:
    measured = json.loads((REPOSITORY / "benchmarks" / "results.json").read_bytes())
    section = (REPOSITORY / "paper" / "paper.md").read_text("utf-8").partition("# Performance\n")[2]
    heads: list[str] = []
    for line in section.split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        piece, colon, row = cells[0].partition(": ")
        if not line.startswith("|"):
            heads = []
            assert not re.search(r"\d", line)
        elif not heads:
            heads = cells
        elif not line.startswith("|-"):
            assert colon
            table = measured[piece]["tables"][0]
            (found,) = (each for each in table["rows"] if each[0] == row)
            assert cells[1:] == [found[table["heads"].index(head)] for head in heads[1:]]


def test_the_paper_has_the_form_of_its_journal() -> None:
    folder = REPOSITORY / "paper"
    _, head, body = (folder / "paper.md").read_text("utf-8").split("---\n", 2)
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text("utf-8"))
    facts = yaml.safe_load(head)
    assert [each["name"] for each in facts["authors"]] == [each["name"] for each in citation["authors"]]
    assert facts.keys() == {"title", "tags", "authors", "affiliations", "date", "bibliography"}
    assert 750 <= len(body.split()) <= 1750
    known = re.findall(r"^@\w+\{(\w+),$", (folder / facts["bibliography"]).read_text("utf-8"), re.MULTILINE)
    assert sorted(set(re.findall(r"@(\w+)", body))) == sorted(known)
