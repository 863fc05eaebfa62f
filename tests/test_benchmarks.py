"""The page of benchmarks: its tables are those that scripts print, and it has a place for what the suite measures."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
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
