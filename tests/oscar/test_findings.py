"""Messages of findings, and their locations: line, byte, column, pointer."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from oscar.corpus import gunzip, gz, jsonl, records, release, relisted, text_of, write

import corpusfmt
from corpusfmt.formats.general import INVALID_UTF8
from corpusfmt.formats.oscar.alignment import LOOKAHEAD, Alignment
from corpusfmt.formats.oscar.records import Rows
from corpusfmt.formats.oscar.ruleset import RULES, Sightings
from corpusfmt.formats.oscar.text import Documents
from corpusfmt.formats.warc import is_time
from corpusfmt.io import keys
from corpusfmt.io.keys import FEW_OF_A_SHARD
from corpusfmt.model import Finding, Location, Problem
from corpusfmt.rules import Grading, Judge

DOCS = release("1.1", {"af": [[2, 1, 3]]}).languages["af"][0]
TEXT = text_of(DOCS)


def rows_of() -> list[dict[str, Any]]:
    return copy.deepcopy(records(DOCS))


def findings(tmp_path: Path, text: bytes = TEXT, rows: list[dict[str, Any]] | None = None) -> list[Finding]:
    tree = {"af/af.txt.gz": gz(text), "af/af_meta.jsonl.gz": gz(jsonl(rows or records(DOCS))), "af/af_sha256.txt": b""}
    write(relisted(tree), tmp_path)
    return corpusfmt.validate(tmp_path).findings


@pytest.mark.parametrize(
    ("inserted", "code", "message"),
    [
        ("\0", "OSC307", "NUL in the text"),
        ("\x1b", "OSC307", "control character U+001B in the text"),
        ("\x85", "OSC307", "control character U+0085 in the text"),
        ("\r", "OSC306", "carriage return in the text"),
        (b"\xff", "GEN201", "not UTF-8: invalid start byte (bytes ff)"),
    ],
)
@pytest.mark.parametrize("before", ["", "ab", "\u00e9\u4e16"])
@pytest.mark.parametrize("line", [1, 4])
def test_the_place_of_a_character(
    inserted: str | bytes, code: str, message: str, before: str, line: int, tmp_path: Path
) -> None:
    lines = TEXT.split(b"\n")
    bad = inserted if isinstance(inserted, bytes) else inserted.encode()
    lines[line - 1] = before.encode() + bad + lines[line - 1]
    (finding,) = [each for each in findings(tmp_path, b"\n".join(lines)) if each.code == code]
    byte = sum(len(each) + 1 for each in lines[: line - 1]) + len(before.encode())
    column = len(before.encode()) + 1
    assert finding.location == Location("af/af.txt.gz", line, byte, column)
    assert finding.message == message


def test_a_line_that_is_not_utf8_is_not_called_short(tmp_path: Path) -> None:
    docs = release("1.0", {"af": [[2]]}).languages["af"][0]
    for line, code in ((b"short", "OSC305"), (b"short\xff", "GEN201")):
        write({"af/af.txt.gz": gz(line + b"\n" + text_of(docs))}, tmp_path)
        assert corpusfmt.validate(tmp_path, select=["OSC305", "GEN201"]).by_rule == {code: 1}


@pytest.mark.parametrize("name", ["X-" + "long/" * 60 + "~", "Warc~Date/é"])
def test_the_pointer_of_a_header_is_whole(name: str, tmp_path: Path) -> None:
    rows = rows_of()
    rows[1]["headers"] |= {name: 5}
    found = {each.code: each.location for each in findings(tmp_path, rows=rows)}
    step = name.replace("~", "~0").replace("/", "~1")
    byte = len(json.dumps(rows[0], ensure_ascii=False, separators=(",", ":")).encode()) + 1
    assert found == dict.fromkeys(
        ["OSC403", "OSC601"], Location("af/af_meta.jsonl.gz", 2, byte, pointer=f"/headers/{step}")
    )


@pytest.mark.parametrize(
    ("time", "real"),
    [
        ("2016-12-31T23:59:60Z", True),
        ("2016-12-31T22:59:60Z", False),
        ("2016-12-31T23:58:60Z", False),
        ("2016-12-31T23:59:61Z", False),
        ("2016-12-31T24:00:00Z", False),
        ("2016-02-30T00:00:00Z", False),
    ],
)
def test_a_leap_second_is_the_last_of_a_day(time: str, real: bool, tmp_path: Path) -> None:
    assert is_time(time) is real
    rows = rows_of()
    rows[2]["headers"]["warc-date"] = time
    assert [each.code for each in findings(tmp_path, rows=rows)] == ([] if real else ["OSC603"])


@pytest.mark.parametrize("uri", ["", "example.org/x", "://example.org", "1ttp://example.org", "https:"])
def test_a_target_that_is_not_a_uri(uri: str, tmp_path: Path) -> None:
    rows = rows_of()
    rows[2]["headers"]["warc-target-uri"] = uri
    (finding,) = findings(tmp_path, rows=rows)
    assert (finding.code, finding.location.line) == ("OSC608", 3)
    assert finding.location.pointer == "/headers/warc-target-uri"
    assert finding.message == f"warc-target-uri is `{uri}`, expected a URI with scheme and address"


@pytest.mark.parametrize(
    "uri", ["http://a", "dns:example.org", "<https://a>", "metadata://x:y", "HTTP://a b", "a+b.c-1:x"]
)
def test_a_target_of_any_scheme(uri: str, tmp_path: Path) -> None:
    rows = rows_of()
    rows[2]["headers"]["warc-target-uri"] = uri
    assert findings(tmp_path, rows=rows) == []


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (1.5, "`1.5`"),
        (-3, "`-3`"),
        (-1e301, "a number beyond 1e300"),
        ("3", 'the string `"3"`'),
        ([3], "an array"),
        ({}, "an object"),
    ],
)
def test_what_stands_where_a_number_of_lines_belongs(value: Any, shown: str, tmp_path: Path) -> None:
    rows = rows_of()
    rows[1]["nb_sentences"] = value
    (finding,) = [each for each in findings(tmp_path, rows=rows) if each.code == "OSC402"]
    assert finding.message == f"`nb_sentences` is {shown}, expected an integer from 0"
    assert (finding.location.line, finding.location.pointer) == (2, "/nb_sentences")


def test_of_headers_that_differ_between_languages_five_are_named(tmp_path: Path) -> None:
    made = release("1.1", {"af": [[2]], "de": [[2]]})
    first, other = (made.languages[code][0][0].headers for code in ("af", "de"))
    other["warc-record-id"] = first["warc-record-id"]
    other["warc-type"] = "resource"
    (finding,) = corpusfmt.validate(write(made.tree(), tmp_path), select=["OSC602"]).findings
    differing = sorted(name for name in first if first[name] != other[name])
    assert len(differing) > 5
    names = ", ".join(f"`{name}`" for name in differing[:5])
    assert (
        finding.message
        == f"the record id `{first['warc-record-id']}` has another {names} than in af/af_meta.jsonl.gz:1"
    )


def test_a_wrong_offset_costs_one_finding_where_there_is_metadata_alone(tmp_path: Path) -> None:
    docs = release("1.1", {"af": [[2, 1, 3, 1, 2]]}).languages["af"][0]
    rows = copy.deepcopy(records(docs))
    rows[2]["offset"] += 1
    write(relisted({"af/af_meta.jsonl.gz": gz(jsonl(rows)), "af/af_sha256.txt": b""}), tmp_path)
    found = [each for each in corpusfmt.validate(tmp_path).findings if each.code.startswith("OSC50")]
    assert [(each.code, each.count, each.location) for each in found] == [
        ("OSC503", 1, Location("af/af_meta.jsonl.gz", 3))
    ]


def test_one_pair_that_agrees_by_chance_is_no_agreement(tmp_path: Path) -> None:
    docs = release("1.1", {"af": [[2, 1, 3, 1, 2, 1, 1, 3, 2]]}).languages["af"][0]
    rows = copy.deepcopy(records(docs))
    rows[2] |= {"offset": rows[3]["offset"], "nb_sentences": rows[3]["nb_sentences"]}
    tree = {"af/af.txt.gz": gz(text_of(docs)), "af/af_meta.jsonl.gz": gz(jsonl(rows)), "af/af_sha256.txt": b""}
    write(relisted(tree), tmp_path)
    found = [each for each in corpusfmt.validate(tmp_path).findings if each.code.startswith("OSC50")]
    assert [(each.code, each.count, each.location) for each in found] == [
        ("OSC503", 1, Location("af/af_meta.jsonl.gz", 3))
    ]


MANY = release("1.1", {"af": [[2, 1, 3, 1, 2, 1, 1, 3, 2, 1, 2, 1, 1, 2]]}).languages["af"][0]
IN_ORDER = "sort the records by offset"
SWAPPED = "the line with offset `5` is swapped with line 3, offset `18`"
TO_SWAP = "put the two lines in the order of their offsets"


def swap_and_move(rows: list[dict[str, Any]]) -> None:
    rows[:3] = [rows[1], rows[0], rows[2] | {"offset": 6}]


def swap_far_apart(rows: list[dict[str, Any]]) -> None:
    rows[2], rows[7] = rows[7], rows[2]


def move_one_to_the_place_of_another_that_is_moved(rows: list[dict[str, Any]]) -> None:
    rows[2]["offset"] = rows[7]["offset"]
    rows[7]["offset"] += 1


def repeat_an_offset(rows: list[dict[str, Any]]) -> None:
    rows[2]["offset"] = rows[1]["offset"]


def shift_and_lose(rows: list[dict[str, Any]]) -> None:
    for row in rows[2:]:
        row["offset"] -= 1
    del rows[11]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            swap_and_move,
            [
                ("OSC502", 2, "offset `0` follows `3`: the lines are not in order", IN_ORDER),
                ("OSC503", 3, "the offset is `6`, expected `5`", "write offset 5"),
            ],
        ),
        (swap_far_apart, [("OSC502", 8, SWAPPED, TO_SWAP)]),
        (
            move_one_to_the_place_of_another_that_is_moved,
            [("OSC503", 3, "the offset is `18`, expected `5`", "write offset 5")],
        ),
        (
            repeat_an_offset,
            [
                (
                    "OSC502",
                    3,
                    "the offset is `3`, expected `5` (the previous offset, on line 2, is `3`)",
                    "write offset 5",
                )
            ],
        ),
        (
            shift_and_lose,
            [
                (
                    "OSC503",
                    3,
                    "the offset is `4`, expected `5`; the offsets from here on are 1 line too low",
                    "recompute the offsets from here on",
                ),
                (
                    "OSC505",
                    12,
                    "the document on line 31 of the text has no record",
                    "restore the record with offset 29 and nb_sentences 1",
                ),
            ],
        ),
    ],
    ids=[
        "swapped, then moved",
        "swapped",
        "moved to the place of one that is moved",
        "the same offset",
        "shifted, then lost",
    ],
)
def test_records_that_part_from_the_text_are_told_by_the_least_change(
    change: Any, expected: list[tuple[str, int, str, str]], tmp_path: Path
) -> None:
    rows = copy.deepcopy(records(MANY))
    change(rows)
    write({"af/af.txt.gz": gz(text_of(MANY)), "af/af_meta.jsonl.gz": gz(jsonl(rows))}, tmp_path)
    found = corpusfmt.validate(tmp_path, select=["OSC5"]).findings
    assert [(each.code, each.location.line, each.message, each.hint) for each in found] == expected


def test_a_record_of_no_lines_beside_a_surplus_blank_line_is_no_disagreement(tmp_path: Path) -> None:
    rows = copy.deepcopy(records(MANY))
    rows.insert(4, rows[4] | {"nb_sentences": 0})
    for row in rows[5:]:
        row["offset"] += 1
    text = text_of(MANY[:4]) + b"\n" + text_of(MANY[4:])
    write({"af/af.txt.gz": gz(text), "af/af_meta.jsonl.gz": gz(jsonl(rows))}, tmp_path)
    report = corpusfmt.validate(tmp_path, select=["OSC302", "OSC404", "OSC5"])
    assert report.by_rule == {"OSC302": 1, "OSC404": 1}


def test_once_nothing_fits_nothing_is_held() -> None:
    rows, documents = Rows(), Documents()
    alignment = Alignment(rows, documents, set(), "af_meta.jsonl.gz")
    for _ in range(2):
        for number in range(2 * LOOKAHEAD):
            for column, value in ((rows.offsets, 10**6), (rows.counts, 9), (rows.lengths, 0), (rows.lines, number)):
                column.append(value)
            for column in (documents.starts, documents.counts, documents.sizes, documents.gaps):
                column.append(1)
        alignment.advance(text_ended=False, metadata_ended=False)
        assert alignment.lost
        assert (len(rows), len(documents)) == (0, 0)


@pytest.mark.parametrize("between", [" \t", "\t\t", "\t ", "   ", "  \t"])
def test_a_listed_name_does_not_begin_with_white_space(between: str, tmp_path: Path) -> None:
    tree = release("1.1", {"af": [[2]]}).tree()
    line = tree["af/af_sha256.txt"].decode().replace("  ", between, 1)
    write(tree | {"af/af_sha256.txt": line.encode()}, tmp_path)
    (finding,) = [each for each in corpusfmt.validate(tmp_path).findings if each.code == "OSC202"]
    assert finding.location == Location("af/af_sha256.txt", 1, 0)
    assert finding.hint == "write 64 hexadecimal digits, two spaces and the file name"


@pytest.mark.parametrize(("length", "code"), [(8192, "OSC203"), (8193, "OSC202")])
def test_a_line_of_a_checksum_list_is_read_up_to_8192_bytes(length: int, code: str, tmp_path: Path) -> None:
    tree = release("1.1", {"af": [[2]]}).tree()
    tree["af/af_sha256.txt"] += (b"0" * 64 + b"  ").ljust(length, b"x") + b"\n"
    (finding,) = corpusfmt.validate(write(tree, tmp_path)).findings
    assert (finding.code, finding.location.line) == (code, 3)


def test_a_line_that_occurs_again_is_shown_without_what_cannot_be_printed(tmp_path: Path) -> None:
    write({"af/af.txt.gz": gz("a\x1b[2Jb\u2028c\n\nother\na\x1b[2Jb\u2028c\n\n".encode())}, tmp_path)
    (finding,) = corpusfmt.validate(tmp_path, dedup=True, select=["OSC309"]).findings
    assert finding.message == "the line `a\ufffd[2Jb\ufffdc` is repeated, first in af/af.txt.gz:1"
    assert finding.location == Location("af/af.txt.gz", 4, 18)


@pytest.mark.parametrize("end", [b"\n\n", b"\n", b""])
@pytest.mark.parametrize("less", [0, 1])
def test_a_content_length_is_compared_with_the_bytes_of_the_document(less: int, end: bytes, tmp_path: Path) -> None:
    rows = rows_of()
    for row, doc in zip(rows, DOCS, strict=True):
        row["headers"]["content-length"] = str(len(doc.text.encode()) - less)
    text = TEXT.removesuffix(b"\n\n") + end
    write({"af/af.txt.gz": gz(text), "af/af_meta.jsonl.gz": gz(jsonl(rows))}, tmp_path)
    report = corpusfmt.validate(tmp_path, select=["OSC605"])
    size = len(DOCS[0].text.encode())
    told = [(f"the content-length is `{size - 1}`, but the document has {size:,} bytes", 3)] if less else []
    assert [(each.message, each.count) for each in report.findings] == told


def test_lines_over_the_limit_are_counted_with_the_others(tmp_path: Path) -> None:
    write({"af/af.txt.gz": gz(b"one\n" + b"x" * 300 + b"\ntwo\n")}, tmp_path / "shuffled")
    report = corpusfmt.validate(tmp_path / "shuffled", max_line_bytes=100, select=["GEN302"])
    assert [each.location for each in report.findings] == [Location("af/af.txt.gz", 2, 4)]
    assert report.coverage.documents == 3
    write({"af/af.txt.gz": gz(b"one\n" + b"x" * 300 + b"\n \ntwo\n")}, tmp_path / "separated")
    report = corpusfmt.validate(tmp_path / "separated", max_line_bytes=100, select=["OSC304"])
    assert [each.location for each in report.findings] == [Location("af/af.txt.gz", 3, 305)]
    assert report.coverage.documents == 2


def test_records_in_disorder_at_the_end_are_told_once(tmp_path: Path) -> None:
    docs = release("1.1", {"af": [[2, 1, 3, 4, 2]]}).languages["af"][0]
    rows = records(docs)
    tree = {
        "af/af.txt.gz": gz(text_of(docs)),
        "af/af_meta.jsonl.gz": gz(jsonl([rows[each] for each in (0, 2, 4, 1, 3)])),
    }
    write(tree, tmp_path)
    found = [(each.code, each.location.line) for each in corpusfmt.validate(tmp_path, format="oscar-1.1").findings]
    assert [each for each in found if each[0].startswith("OSC5")] == [("OSC502", 4)]


@pytest.mark.parametrize("value", ["", "12x", "9" * 30])
def test_the_length_of_a_page_is_a_number(value: str, tmp_path: Path) -> None:
    rows = rows_of()
    rows[1]["headers"]["content-length"] = value
    (finding,) = (each for each in findings(tmp_path, rows=rows) if each.location.line == 2)
    assert (finding.code, finding.message) == ("OSC605", f"content-length is `{value}`, expected a number")


def test_a_line_that_is_neither_utf_8_nor_encoded_once(tmp_path: Path) -> None:
    tree = release("1.0", {"af": [[2, 2]]}).tree()
    text = "cafÃ© crÃ¨me â€™ ".encode() * 9 + b"\xff\n" + gunzip(tree["af/af.txt.gz"])
    found = {each.code for each in corpusfmt.validate(write(tree | {"af/af.txt.gz": gz(text)}, tmp_path)).findings}
    assert {"GEN201", "GEN202"} <= found
    assert "GEN000" not in found


def with_lines(text: bytes, **inserted: bytes) -> bytes:
    """Return a text with other lines before some of its own, by number from 0."""
    lines = text.split(b"\n")
    for number, line in sorted(((int(key[1:]), line) for key, line in inserted.items()), reverse=True):
        lines.insert(number, line)
    return b"\n".join(lines)


@pytest.mark.parametrize(
    ("counts", "inserted", "offset", "codes"),
    [
        ([1, 3, 1, 4], {"_3": b" ", "_5": b"\t"}, 0, ["OSC304"]),
        ([4, 4], {"_5": b" "}, "x", ["OSC304", "OSC402"]),
    ],
)
def test_a_separator_of_blanks_is_told_once(
    counts: list[int], inserted: dict[str, bytes], offset: Any, codes: list[str], tmp_path: Path
) -> None:
    docs = release("1.1", {"af": [counts]}).languages["af"][0]
    rows = records(docs)
    rows[0]["offset"] = offset
    text = with_lines(text_of(docs), **inserted)
    write({"af/af.txt.gz": gz(text), "af/af_meta.jsonl.gz": gz(jsonl(rows))}, tmp_path)
    found = corpusfmt.validate(tmp_path, format="oscar-1.1", ignore=["OSC2"]).findings
    assert [each.code for each in found] == codes


def test_of_equal_findings_the_earliest_is_told() -> None:
    sightings = Sightings()
    for line in (3, 2, 5):
        sightings.note(INVALID_UTF8, Problem("m", Location("a", line)))
    judge = Judge(RULES, Grading(), version="1.1", path="a")
    sightings.report(judge)
    assert [(each.location.line, each.count) for each in judge.tally.findings] == [(2, 3)]


def test_a_record_in_two_languages_with_the_same_headers_is_one(tmp_path: Path) -> None:
    made = release("1.1", {"af": [[2]], "de": [[2]]})
    first, other = (made.languages[code][0][0].headers for code in ("af", "de"))
    other.update(first)
    assert corpusfmt.validate(write(made.tree(), tmp_path), select=["OSC602"]).findings == []


def test_two_records_at_one_place_are_not_out_of_order(tmp_path: Path) -> None:
    docs = release("1.1", {"af": [[1, 1, 1]]}).languages["af"][0]
    rows = [records(docs)[number] for number in (2, 2, 1, 0)]
    text = with_lines(text_of(docs), _2=b" ")
    write({"af/af.txt.gz": gz(text), "af/af_meta.jsonl.gz": gz(jsonl(rows))}, tmp_path)
    found = corpusfmt.validate(tmp_path, format="oscar-1.1", ignore=["OSC2"]).findings
    assert [(each.code, each.location.line) for each in found] == [("OSC304", 3), ("OSC502", 3)]


def test_ids_of_small_and_of_large_parts_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"af": [1, 3], "de": [FEW_OF_A_SHARD, FEW_OF_A_SHARD + 1], "ja": [40], "ru": [2, 17, 1]}
    made = release("1.1", {code: [[1] * size for size in parts] for code, parts in sizes.items()})

    def headers(code: str, part: int, row: int) -> dict[str, str]:
        return made.languages[code][part][row].headers

    def repeat(first: dict[str, str], other: dict[str, str], *, entirely: bool = False) -> None:
        other.update(first if entirely else {"warc-record-id": first["warc-record-id"]})

    repeat(headers("af", 0, 0), headers("de", 1, FEW_OF_A_SHARD))
    repeat(headers("af", 1, 1), headers("ja", 0, 39), entirely=True)
    repeat(headers("de", 0, FEW_OF_A_SHARD - 1), headers("ja", 0, 0))
    repeat(headers("ru", 0, 1), headers("ru", 2, 0))
    repeat(headers("af", 1, 2), headers("ru", 1, 16))
    headers("ru", 1, 2).pop("warc-record-id")
    folder = write(made.tree(), tmp_path / "release")
    found = corpusfmt.validate(folder, select=["OSC602"])
    places = sorted(str(each.location).partition("/headers")[0] for each in found.findings)
    assert places == [
        "de/de_meta_part_2.jsonl.gz:17",
        "ja/ja_meta.jsonl.gz:1",
        "ru/ru_meta_part_2.jsonl.gz:17",
        "ru/ru_meta_part_3.jsonl.gz:1",
    ]
    for few in (0, 100):
        monkeypatch.setattr(keys, "FEW_OF_A_SHARD", few)
        assert corpusfmt.validate(folder, select=["OSC602"]).findings == found.findings
