"""Carriage returns and normalisation, where a recipe asks for them: what is written, what is counted, on every path."""

from __future__ import annotations

import gzip
import json
import shutil
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipeline.test_variants import recipe_file
from strategies import examples
from support import LONG_LINE, corpus, run_cli, scan_without_kernel, wet_file, wet_record

import corpusfmt
from corpusfmt.io.scan import is_nfc
from corpusfmt.pipeline.process import store
from corpusfmt.pipeline.process.store import NORMALISED, STRIPPED, cleaned
from corpusfmt.pipeline.process.wet import Batch, WetRecord
from corpusfmt.pipeline.recipe import Lines

DECOMPOSED = unicodedata.normalize("NFD", "é")
DIRTY = f"{LONG_LINE}\r\n\r{LONG_LINE}\r\r\n{LONG_LINE}\r{LONG_LINE}\n{LONG_LINE} {DECOMPOSED}\r\n"
CLEAN = f"{LONG_LINE}\n{LONG_LINE}\n{LONG_LINE} {LONG_LINE}\n{LONG_LINE} é\n"
ASKED = ("min-chars = 101", "strip-carriage-returns = true\nnfc = true\nmin-chars = 101")


def recipe(folder: Path) -> str:
    return recipe_file(folder, "oscar-1.1", ASKED, ("lines = true", "lines = false"))


@pytest.fixture
def dirty(tmp_path: Path) -> Path:
    for number in range(2):
        records = [wet_record(number * 10, DIRTY), wet_record(number * 10 + 1, CLEAN)]
        wet_file(tmp_path / "wet" / f"{number}.warc.wet.gz", records)
    return tmp_path / "wet"


def test_a_recipe_cleans_lines_and_counts_them(dirty: Path, tmp_path: Path) -> None:
    report = corpusfmt.build(dirty, tmp_path / "out", recipe=recipe(tmp_path))
    counts = {"normalised to NFC": 2, "stripped of carriage returns": 8}
    assert report.results["stats"]["cleaned"] == counts
    assert json.loads((tmp_path / "out/MANIFEST.json").read_bytes())["cleaned"] == counts
    assert json.loads((tmp_path / "out/stats.json").read_bytes())["build"]["cleaned"] == counts
    assert gzip.decompress((tmp_path / "out/en/en.txt.gz").read_bytes()) == (CLEAN + "\n").encode() * 4
    assert not {"OSC305", "OSC306", "OSC308"} & corpusfmt.validate(tmp_path / "out", profile="strict").by_rule.keys()


def test_nothing_is_cleaned_unless_asked_for(dirty: Path, tmp_path: Path) -> None:
    report = corpusfmt.build(dirty, tmp_path / "out")
    assert "cleaned" not in report.results["stats"]
    manifest = json.loads((tmp_path / "out/MANIFEST.json").read_bytes())
    assert ("cleaned" in manifest, manifest["recipe"]["lines"]) == (False, {"min-chars": 101, "min-confidence": 0.8})
    assert {"OSC306", "OSC308"} <= corpusfmt.validate(tmp_path / "out").by_rule.keys()


def test_a_line_is_measured_as_it_is_written(tmp_path: Path) -> None:
    line = "a" * 60 + DECOMPOSED * 40
    wet_file(tmp_path / "wet/1.warc.wet.gz", [wet_record(1, f"{line}\r\n{LONG_LINE}\n")])
    report = corpusfmt.build(tmp_path / "wet", tmp_path / "out", recipe=recipe(tmp_path))
    assert report.results["dropped"]["too short"] == 1


def test_a_resumed_build_has_the_counts_of_a_whole_one(dirty: Path, tmp_path: Path) -> None:
    asked = recipe(tmp_path)
    corpusfmt.build(dirty, tmp_path / "whole", recipe=asked)
    last = dirty / "1.warc.wet.gz"
    held = last.read_bytes()
    last.write_bytes(b"")
    corpusfmt.build(dirty, tmp_path / "out", recipe=asked)
    last.write_bytes(held)
    report = corpusfmt.build(dirty, tmp_path / "out", recipe=asked)
    assert report.results["resumed"] == {"taken_over": 1, "read": 1}
    assert corpus(tmp_path / "out") == corpus(tmp_path / "whole")
    shutil.rmtree(tmp_path / "out")
    done = run_cli("build", dirty, "-o", tmp_path / "out", "--recipe", asked, "--jobs", "2")
    assert f"  lines {NORMALISED}: 2, {STRIPPED}: 8\n".encode() in done.stdout
    assert corpus(tmp_path / "out") == corpus(tmp_path / "whole")


PIECES = st.sampled_from(["a", "\r", "\r", "\u0301", "é", "e\u0301", "\u1100\u1161", "\u0344", " ", "\u2028", "\x85"])
LINES = st.lists(PIECES, max_size=6).map(lambda pieces: "".join(pieces).encode()) | st.just(b"\xff\r")
RECORDS = st.lists(st.lists(LINES, max_size=4).map(lambda lines: b"".join(line + b"\n" for line in lines)), max_size=4)


def plainly(line: bytes, *, strip: bool, nfc: bool) -> bytes:
    if strip:
        line = b" ".join(word for word in line.split(b"\r") if word)
    try:
        return unicodedata.normalize("NFC", line.decode()).encode() if nfc else line
    except UnicodeDecodeError:
        return line


@given(RECORDS, st.booleans(), st.booleans(), st.booleans())
@examples(300)
def test_records_are_cleaned_line_by_line(records: list[bytes], strip: bool, nfc: bool, native: bool) -> None:
    lines = Lines(min_chars=0, min_confidence=0, strip_carriage_returns=strip, nfc=nfc)
    counts = Counter[str]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "is_nfc", is_nfc if native else scan_without_kernel().is_nfc)
        batch = Batch.of(WetRecord(b"%d" % number, text) for number, text in enumerate(records))
        (found,) = cleaned([batch], lines, counts)
    expected = [b"\n".join(plainly(line, strip=strip, nfc=nfc) for line in text.split(b"\n")) for text in records]
    assert [(record.headers, record.text) for record in found.records()] == [
        (b"%d" % number, text) for number, text in enumerate(expected)
    ]
    before = b"".join(records).split(b"\n")
    assert counts[STRIPPED] == (sum(b"\r" in line for line in before) if strip else 0)
    assert counts[NORMALISED] == (
        sum(plainly(line, strip=strip, nfc=True) != plainly(line, strip=strip, nfc=False) for line in before)
        if nfc
        else 0
    )
