"""What a finding says, and the place it gives: line, byte, column, pointer."""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from oscar.corpus import gunzip, gz, jsonl, records, release, relisted, text_of, write

import corpusfmt
from corpusfmt.formats.oscar.metadata import is_time
from corpusfmt.model import Finding, Location

DOCS = release("1.1", {"af": [[2, 1, 3]]}).languages["af"][0]
TEXT = text_of(DOCS)


def rows_of() -> list[dict[str, Any]]:
    return copy.deepcopy(records(DOCS))


def findings(tmp_path: Path, text: bytes = TEXT, rows: list[dict[str, Any]] | None = None) -> list[Finding]:
    tree = {"af/af.txt.gz": gz(text), "af/af_meta.jsonl.gz": gz(jsonl(rows or records(DOCS))), "af/af_sha256.txt": b""}
    write(relisted(tree), tmp_path)
    return corpusfmt.validate(tmp_path).findings


def test_a_digest_is_compared_and_given_once(tmp_path: Path) -> None:
    tree = release("1.0", {"af": [[2, 1]]}).tree()
    changed = gz(gunzip(tree["af/af.txt.gz"]) + b"x" * 120 + b"\n\n")
    write(tree | {"af/af.txt.gz": changed}, tmp_path)
    (finding,) = corpusfmt.validate(tmp_path).findings
    actual = hashlib.sha256(changed).hexdigest()
    listed = hashlib.sha256(tree["af/af.txt.gz"]).hexdigest()
    assert finding.message == f"SHA-256 is `{actual}`, expected `{listed}` as in `af/af_sha256.txt`"
    assert finding.hint == f"fetch the file again, or list `{actual}  af.txt.gz`"


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


def test_a_byte_order_mark_is_at_the_first_column(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, b"\xef\xbb\xbf" + TEXT)
    assert (finding.code, finding.location) == ("OSC307", Location("af/af.txt.gz", 1, 0, 1))
    assert finding.message == "a byte order mark in the text"


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
    assert finding.message == f"warc-target-uri `{uri}` is not a URI, expected a scheme and an address"


@pytest.mark.parametrize(
    "uri", ["http://a", "dns:example.org", "<https://a>", "metadata://x:y", "HTTP://a b", "a+b.c-1:x"]
)
def test_a_target_of_any_scheme(uri: str, tmp_path: Path) -> None:
    rows = rows_of()
    rows[2]["headers"]["warc-target-uri"] = uri
    assert findings(tmp_path, rows=rows) == []


def test_a_wrong_offset_costs_one_finding_where_there_is_metadata_alone(tmp_path: Path) -> None:
    docs = release("1.1", {"af": [[2, 1, 3, 1, 2]]}).languages["af"][0]
    rows = copy.deepcopy(records(docs))
    rows[2]["offset"] += 1
    write(relisted({"af/af_meta.jsonl.gz": gz(jsonl(rows)), "af/af_sha256.txt": b""}), tmp_path)
    found = [each for each in corpusfmt.validate(tmp_path).findings if each.code.startswith("OSC50")]
    assert [(each.code, each.count, each.location.line) for each in found] == [("OSC503", 1, 3)]


def test_one_pair_that_agrees_by_chance_is_no_agreement(tmp_path: Path) -> None:
    docs = release("1.1", {"af": [[2, 1, 3, 1, 2, 1, 1, 3, 2]]}).languages["af"][0]
    rows = copy.deepcopy(records(docs))
    rows[2] |= {"offset": rows[3]["offset"], "nb_sentences": rows[3]["nb_sentences"]}
    tree = {"af/af.txt.gz": gz(text_of(docs)), "af/af_meta.jsonl.gz": gz(jsonl(rows)), "af/af_sha256.txt": b""}
    write(relisted(tree), tmp_path)
    found = [each for each in corpusfmt.validate(tmp_path).findings if each.code.startswith("OSC50")]
    assert [(each.code, each.count, each.location.line) for each in found] == [("OSC503", 1, 3)]
