"""The recipe `goclassy-2019` behaves like goclassy, the program of the 2019 paper."""

from __future__ import annotations

import hashlib
import json
import random
from array import array
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support import LONG_LINE, SAMPLE, gzipped, warc_record, wet_record

import corpusfmt
from corpusfmt.formats.languages import LABELS
from corpusfmt.langid import Classified
from corpusfmt.model import Report, UsageError
from corpusfmt.pipeline.choices import Selection
from corpusfmt.pipeline.process import store
from corpusfmt.pipeline.process.wet import Batch, WetRecord
from corpusfmt.pipeline.recipe import load_recipe

ENGLISH = LONG_LINE.encode() + b"\n"
GERMAN = "Alle Menschen sind frei und gleich an Würde und Rechten geboren, sie sind mit Vernunft und Gewissen begabt.\n".encode()
UNCERTAIN = b"0123456789 " * 12 + b"\n"


def built(folder: Path, *files: bytes) -> tuple[Report, dict[str, bytes]]:
    """Return the report on files made of records, and the text by language of those that have any."""
    for number, data in enumerate(files):
        (folder / f"{number}.warc.wet.gz").write_bytes(gzipped(data))
    report = corpusfmt.build(folder, folder / "out", recipe="goclassy-2019")
    texts = {path.stem: path.read_bytes() for path in (folder / "out" / "classified").iterdir()}
    assert len(texts) == len(LABELS)
    return report, {label: text for label, text in texts.items() if text}


def records(*bodies: bytes) -> bytes:
    return b"".join(wet_record(number, body) for number, body in enumerate(bodies))


def test_the_line_end_counts_and_so_does_a_carriage_return(tmp_path: Path) -> None:
    line = ENGLISH[:100]
    kept = line + b"\n", line[:99] + b"\r\n"
    _, texts = built(tmp_path, records(kept[0], line[:99] + b"\n", kept[1], line[:98] + b"\r\n"))
    assert texts == {"en": b"".join(kept)}


def test_code_points_are_counted_and_not_bytes(tmp_path: Path) -> None:
    line = "Все люди рождаются свободными и равными в своем достоинстве и правах, они наделены разумом и совестью."
    _, texts = built(tmp_path, records(f"{line[:100]}\n{line[:99]}\n".encode()))
    assert texts == {"ru": f"{line[:100]}\n".encode()}


def test_a_line_of_invalid_utf8_goes_and_the_rest_of_its_record_stays(tmp_path: Path) -> None:
    surrogate, overlong = b"\xed\xa0\x80", b"\xc0\xaf"
    spoilt = [ENGLISH[:-1] + bad + b"\n" for bad in (b"\xff", surrogate, overlong)]
    report, texts = built(tmp_path, records(b"".join([*spoilt, ENGLISH])))
    assert texts == {"en": ENGLISH}
    assert report.results["dropped"] == {"invalid UTF-8": 3}


def test_odd_characters_stay(tmp_path: Path) -> None:
    line = ENGLISH[:-1] + " \u0085 \u2028 \x00 \t\n".encode()
    assert built(tmp_path, records(line))[1] == {"en": line}


def test_a_last_line_without_a_line_end_is_lost_and_counted(tmp_path: Path) -> None:
    report, texts = built(tmp_path, records(ENGLISH + GERMAN[:-1], GERMAN[:-1], b""))
    assert texts == {"en": ENGLISH}
    assert report.results["dropped"] == {"without a line end": 2}


def test_groups_cross_records_and_uncertain_lines_and_the_last_one_of_a_file_has_no_blank_line(tmp_path: Path) -> None:
    first = records(ENGLISH, UNCERTAIN + ENGLISH, GERMAN + ENGLISH)
    second = records(ENGLISH + GERMAN, GERMAN)
    _, texts = built(tmp_path, first, second)
    assert texts == {"en": ENGLISH * 2 + b"\n" + ENGLISH + ENGLISH + b"\n", "de": GERMAN + b"\n" + GERMAN * 2}


def test_the_manifest_has_size_and_digest_of_every_file_and_of_empty_ones(tmp_path: Path) -> None:
    built(tmp_path, records(ENGLISH))
    files = json.loads((tmp_path / "out" / "MANIFEST.json").read_bytes())["files"]
    assert len([path for path in files if path.startswith("classified/")]) == len(LABELS)
    for path, facts in files.items():
        data = (tmp_path / "out" / path).read_bytes()
        assert (facts["size"], facts["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())


def test_records_of_every_type_are_read(tmp_path: Path) -> None:
    robots = b"robots: " + ENGLISH
    data = warc_record("warcinfo", robots) + warc_record("response", ENGLISH) + records(b"", ENGLISH)
    assert built(tmp_path, data)[1] == {"en": robots + ENGLISH * 2}


def with_length(body: bytes, length: int) -> bytes:
    return wet_record(9, body).replace(b"Length: %d\r" % len(body), b"Length: %d\r" % length)


CUT = {
    "LF only": (records(ENGLISH).replace(b"\r\n", b"\n"), "record 1 does not start with the line WARC/1.0"),
    "another version": (records(ENGLISH).replace(b"1.0", b"1.1"), "record 1 does not start"),
    "too long": (
        records(GERMAN) + with_length(ENGLISH, 999),
        f"record 2 has {len(ENGLISH) + 4} bytes, expected 999 (Content-Length)",
    ),
    "too short": (
        records(GERMAN) + with_length(ENGLISH * 4, len(ENGLISH)) + records(ENGLISH),
        "record 3 does not start with the line WARC/1.0",
    ),
    "no length": (
        records(GERMAN) + b"WARC/1.0\r\nA: b\r\n\r\n" + records(ENGLISH),
        "record 2 does not have a Content-Length",
    ),
    "two lengths": (
        records(GERMAN) + b"WARC/1.0\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nabcd\n\r\n\r\n",
        "record 2 does not have exactly one Content-Length",
    ),
    "no number": (b"WARC/1.0\r\nContent-Length: five\r\n\r\n" + records(ENGLISH), "record 1 does not have exactly one"),
    "below zero": (
        b"WARC/1.0\r\nContent-Length: -5\r\n\r\n" + records(ENGLISH),
        "record 1 does not have a Content-Length from 0",
    ),
    "huge": (
        b"WARC/1.0\r\nContent-Length: 999999999999\r\n\r\n" + ENGLISH,
        "record 1 does not have a Content-Length from 0",
    ),
    "within a header": (records(GERMAN) + b"WARC/1.0\r\nContent-Len", "record 2 has a header that does not end"),
}


@pytest.mark.parametrize("name", CUT)
def test_what_cannot_be_read_ends_the_file_and_is_told(tmp_path: Path, name: str) -> None:
    data, reason = CUT[name]
    report, texts = built(tmp_path, data, records(GERMAN))
    assert report.verdict.value == "valid"
    (finding,) = report.findings
    assert (finding.code, finding.severity.value, finding.location.path) == ("WET201", "warning", "0.warc.wet.gz")
    assert finding.message.startswith(f"the rest was not read: {reason}")
    assert finding.hint == "write the file again or use a recipe with another reader"
    manifest = json.loads((tmp_path / "out" / "MANIFEST.json").read_bytes())
    assert ["cut" in each for each in manifest["inputs"]] == [True, False]
    assert manifest["compressor"] is None
    before = GERMAN if data.startswith(records(GERMAN)) else b""
    english = ENGLISH if name == "too short" else b""
    assert texts["de"] == (before + b"\n" + GERMAN if english else before + GERMAN)
    assert texts.get("en", b"") == english


def test_nothing_is_read_ahead_of_the_record_that_ends_a_file(tmp_path: Path) -> None:
    noise = random.Random(1).randbytes(50_000)
    path = tmp_path / "a.warc.wet.gz"
    path.write_bytes(gzipped(records(noise) + b"no record\n" + noise[::-1])[:-9])
    (finding,) = corpusfmt.build(path, tmp_path / "out", recipe="goclassy-2019").findings
    assert finding.code == "WET201"


def test_lengths_are_read_as_the_program_reads_them(tmp_path: Path) -> None:
    size = len(ENGLISH)
    header = f"WARC/1.0\r\ncontent-LENGTH:0\r\nContent-Length:  \t+{size} \r\n\r\n".encode()
    assert built(tmp_path, header + ENGLISH + b"\r\n\r\n")[1] == {"en": ENGLISH}


def test_the_two_lines_after_a_record_are_skipped_whatever_they_hold(tmp_path: Path) -> None:
    data = records(ENGLISH)[:-4] + GERMAN * 2 + records(ENGLISH)
    assert built(tmp_path, data)[1] == {"en": ENGLISH * 2}


def test_where_the_program_ends_with_an_error_the_rest_is_built(tmp_path: Path) -> None:
    (tmp_path / "damaged.warc.wet.gz").write_bytes(gzipped(records(ENGLISH))[:-5])
    report, texts = built(tmp_path, records(ENGLISH), records(b"short\n"))
    assert texts == {"en": ENGLISH}
    assert [finding.location.path for finding in report.findings] == ["damaged.warc.wet.gz"]
    assert report.verdict.value == "incomplete"


def test_a_language_asked_for_has_the_bytes_that_it_has_among_all(tmp_path: Path) -> None:
    data = records(ENGLISH + GERMAN, GERMAN + ENGLISH, ENGLISH), records(GERMAN + ENGLISH)
    _, texts = built(tmp_path, *data)
    assert texts["de"].count(b"\n\n") == 2
    report = corpusfmt.build(tmp_path, tmp_path / "de", recipe="goclassy-2019", selection=Selection(languages=["de"]))
    found = {path.stem: path.read_bytes() for path in (tmp_path / "de" / "classified").iterdir()}
    assert {label: text for label, text in found.items() if text} == {"de": texts["de"]}
    assert report.results["dropped"] == {"in a language not asked for": 4}


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection(min_lines=2), "`min_lines` counts lines of documents, and the format goclassy has no documents"),
        (
            Selection(allow_urls="list.txt"),
            "`allow_urls` and `deny_urls` need URLs, and the reader goclassy drops them",
        ),
        (
            Selection(deny_urls="list.txt"),
            "`allow_urls` and `deny_urls` need URLs, and the reader goclassy drops them",
        ),
    ],
    ids=["lines", "allowed", "denied"],
)
def test_filters_that_have_nothing_to_look_at_are_refused(tmp_path: Path, selection: Selection, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        corpusfmt.build(SAMPLE, tmp_path / "out", recipe="goclassy-2019", selection=selection)
    assert str(caught.value) == message
    assert not (tmp_path / "out").exists()


class Scored:
    """A classifier that gives the scores it was told to give."""

    def __init__(self, scores: list[float]) -> None:
        self.scores = scores

    def classify(self, buffer: bytes, _min_chars: int) -> Classified:
        ends = [place for place, byte in enumerate(buffer) if byte == ord("\n")]
        starts = [0, *(end + 1 for end in ends[:-1])]
        labels = memoryview(array("i", [0] * len(ends)))
        scores: Any = memoryview(array("f", self.scores))
        return Classified(
            memoryview(array("q", starts)), memoryview(array("q", ends)), labels, scores, ("en",), 0, 0, 0
        )


def test_a_probability_is_judged_as_fasttext_prints_it() -> None:
    near = array("f", [0.79, *(0.8 + step * 2**-24 for step in range(-20, 40)), 0.81, 1.0, 1.00001]).tolist()

    recipe = msgspec.structs.replace(
        load_recipe("dolma"), lines=load_recipe("goclassy-2019").lines
    )  # which has the scores
    classifier: Any = Scored(near)
    (piece,) = store._pieces(iter([Batch.of([WetRecord(b"{}", ENGLISH * len(near))])]), recipe, classifier, Counter())
    kept = piece.document.probabilities().tolist()
    assert kept == [score for score in near if float(f"{score:.6g}") > 0.8]
    assert 0 < len(kept) < len(near)
    assert min(kept) > 0.8000004
