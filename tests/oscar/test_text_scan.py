"""The scan of text finds the same with the native kernel and without it, wherever the blocks are cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples
from support import scan_without_kernel

from corpusfmt.formats.oscar import text as text_module
from corpusfmt.formats.oscar.ruleset import RULES
from corpusfmt.formats.oscar.text import TextScan
from corpusfmt.io.lines import blocks
from corpusfmt.rules import Grading, Judge

pytest.importorskip("corpusfmt.io._native", reason="the native kernel is not built")

LONG = "a line of text that is long enough to be kept " * 3
LINES = st.sampled_from(
    [
        LONG,
        LONG.replace("a", "é"),
        LONG.replace("e", "я"),
        LONG + "e\u0301",
        LONG + "\r",
        " " + LONG,
        "short",
        "",
        "",
        "",
        " \t",
        "\r",
        LONG + "\0\x85",
        LONG + "\udcff",
    ]
)


def said(data: bytes, chunk: int) -> tuple[Any, ...]:
    judge = Judge(RULES, Grading(), version="1.1", path="en.txt.gz")
    scan = TextScan("en.txt.gz", "1.1", judge, 1 << 20)
    for block in blocks(pieces(data, chunk)):
        scan.feed(block)
    scan.finish(whole=True)
    documents = scan.documents
    columns = documents.starts, documents.counts, documents.sizes, documents.gaps
    findings = sorted((each.code, each.message, repr(each.location), each.count) for each in judge.tally.findings)
    return columns, findings, scan.found, scan.filled, scan.lines, scan.bytes, scan.odd_lines


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


@given(st.lists(LINES, max_size=14), st.sampled_from([150, 300, 10_000]), st.booleans())
@examples(400)
def test_the_same_with_and_without_the_kernel(lines: list[str], chunk: int, ended: bool) -> None:
    data = ("\n".join(lines) + "\n" * ended).encode(errors="surrogateescape")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_module, "survey", scan_without_kernel().survey)
        expected = said(data, chunk)
    assert said(data, chunk) == expected


@given(st.lists(LINES, max_size=14), st.sampled_from([1, 2, 5, 150, 300]), st.booleans())
@examples(400)
def test_the_same_wherever_blocks_are_cut(lines: list[str], chunk: int, ended: bool) -> None:
    data = ("\n".join(lines) + "\n" * ended).encode(errors="surrogateescape")
    assert said(data, chunk) == said(data, 10_000)


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize(
    ("characters", "is_nfc"),
    [
        ("\u00e9", True),
        ("e\u0301", False),
        ("\u0438\u0306", False),
        ("\u0387", False),
        ("\u1100\u1161", False),
        ("\u212b", False),
        ("\u0439 \u03ac \uac00 \U0001f950", True),
    ],
)
def test_text_that_is_not_nfc(characters: str, is_nfc: bool, kernel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernel:
        monkeypatch.setattr(text_module, "survey", scan_without_kernel().survey)
    data = (LONG + characters + "\n\n").encode()
    assert [code for code, *_ in said(data, len(data))[1]] == ([] if is_nfc else ["OSC308"])


@pytest.mark.parametrize(("run", "count"), [(2, 1), (3, 1), (5, 1)])
def test_a_blank_run_is_counted_once_however_it_is_cut(run: int, count: int) -> None:
    data = (LONG + "\n" * (run + 1) + LONG + "\n\n").encode()
    for chunk in (1, len(LONG) + 2, len(LONG) + 3, len(data)):
        assert [(code, found) for code, _, _, found in said(data, chunk)[1]] == [("OSC302", count)]


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize("lead", [b"\xc3", b"\xe7", b"\xf0\x9f"])
def test_bytes_on_both_sides_of_a_line_end_are_no_character(
    lead: bytes, kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kernel:
        monkeypatch.setattr(text_module, "survey", scan_without_kernel().survey)
    for before in range(70, 140):
        data = b"a" * before + lead + b"\n\x84" + "я".encode() * 100 + b"\n\n"
        assert [code for code, *_ in said(data, len(data))[1]] == ["GEN201", "GEN201"], before
