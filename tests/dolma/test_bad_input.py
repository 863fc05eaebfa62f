"""Input made to hurt: no traceback, no hang, no memory without bound."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from dolma.corpus import Json, attributes, check, codes, documents, encoded, packed, write

import corpusfmt
from corpusfmt.formats.dolma.rows import clipped
from corpusfmt.model import Report

ROW = b'{"id":"1","text":"t","source":"s"}\n'


def only(root: Path, data: bytes, name: str = "documents/a.jsonl.gz") -> Report:
    return check(write(root, {name: data}))


def test_a_row_of_very_many_attributes(tmp_path: Path) -> None:
    many = {f"e__t__{number}": [[0, 1, 0]] for number in range(190_000)}
    files = {"documents/a.jsonl": ROW, "attributes/pii/a.jsonl": encoded([{"id": "1", "attributes": many}])}
    assert codes(check(write(tmp_path, files))) == []


def test_a_row_of_very_many_bad_spans(tmp_path: Path) -> None:
    many = {"e__t__n": [[5, 6, 1]] * 20_000}
    files = {"documents/a.jsonl": ROW, "attributes/pii/a.jsonl": encoded([{"id": "1", "attributes": many}])}
    report = check(write(tmp_path, files))
    assert report.by_rule == {"DOL604": 20_000, "DOL608": 19_999}
    assert len(report.findings) == 20


def test_a_row_with_very_many_names(tmp_path: Path) -> None:
    row = {"id": "1", "text": "x", "source": "s", "metadata": {str(number): number for number in range(20_000)}}
    assert codes(only(tmp_path, encoded([row]))) == []


def test_a_repeated_row_is_judged_once_for_all(tmp_path: Path) -> None:
    bad = b'{"id":"1","text":"x","source":"s","created":null}\n'
    report = check(write(tmp_path, {"documents/a.jsonl": ROW.replace(b'"1"', b'"0"') + bad * 3}))
    found = [(finding.code, finding.location.line, finding.count) for finding in report.findings]
    assert found == [("DOL308", 2, 3), ("DOL313", 3, 1), ("DOL313", 4, 1)]


def test_names_in_good_rows_between_bad_ones_are_judged(tmp_path: Path) -> None:
    tags: list[Json] = [
        {"id": "1", "attributes": {"no name": 1}},
        {"id": 2, "attributes": {"nor this": 1}},
        {"id": "3", "attributes": {"no name": 1, "néither": [[0, 1, 1]]}},
    ]
    rows = [{"id": str(number), "text": "t", "source": "s"} for number in (1, 2, 3)]
    report = check(write(tmp_path, {"documents/a.jsonl": encoded(rows), "attributes/pii/a.jsonl": encoded(tags)}))
    found = [(each.code, each.location.line, each.location.pointer) for each in report.findings]
    assert sorted(found, key=lambda each: each[1] or 0) == [
        ("DOL407", 1, "/attributes/no name"),
        ("DOL404", 2, None),
        ("DOL407", 2, "/attributes/nor this"),
        ("DOL407", 3, "/attributes/néither"),
    ]


def test_numbers_of_a_hundred_thousand_digits(tmp_path: Path) -> None:
    row = b'{"id":"1","text":"","source":"s","metadata":{"a":' + b"9" * 100_000 + b"}}\n"
    assert codes(only(tmp_path, row)) == ["GEN303"]
    spans = b'{"id":"1","attributes":{"a":[[' + b"9" * 100_000 + b",1,1]]}}\n"
    report = check(write(tmp_path / "b", {"documents/a.jsonl": ROW, "attributes/p/a.jsonl": spans}))
    assert codes(report) == ["GEN303"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst"])
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", ["DOL104", "GEN104"]),
        (b"\n", ["GEN301"]),
        (b"\0" * 1000, ["GEN301"]),
        (b"\xff\xfe{\0", ["GEN201"]),
        (ROW[:-2], ["GEN301"]),
        (ROW * 3 + b"\n\n", ["DOL313", "DOL313", "GEN301", "GEN301"]),
        (b'"' * 1000, ["GEN301"]),
        (b"\\" * 1000, ["GEN301"]),
    ],
)
def test_odd_files(name: str, data: bytes, expected: list[str], tmp_path: Path) -> None:
    assert codes(only(tmp_path, data, f"documents/{name}")) == expected


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst"])
def test_a_file_of_zero_bytes(name: str, tmp_path: Path) -> None:
    write(tmp_path, {"documents/x.jsonl": ROW})
    (tmp_path / "documents" / name).write_bytes(b"")
    assert codes(check(tmp_path)) == ["GEN101"]


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst"])
def test_every_cut_is_seen(name: str, tmp_path: Path) -> None:
    whole = packed(name, encoded(documents(20)))
    path = tmp_path / name
    for length in range(0, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:length])
        assert "GEN101" in codes(check(path)), length


def test_a_truncated_documents_file_does_not_blame_its_attributes(tmp_path: Path) -> None:
    rows = documents(500)
    write(tmp_path, {"documents/a.jsonl.gz": encoded(rows), "attributes/pii/a.jsonl.gz": encoded(attributes(rows))})
    path = tmp_path / "documents/a.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-2000])
    report = check(tmp_path)
    assert set(codes(report)) <= {"GEN101", "GEN301"}
    assert "DOL501" in report.coverage.rules_not_run


def test_a_hundred_sets(tmp_path: Path) -> None:
    rows = documents(10)
    files = {"documents/a.jsonl.gz": encoded(rows)}
    files |= {f"attributes/set-{number}/a.jsonl.gz": encoded(attributes(rows, f"t{number}")) for number in range(100)}
    files["attributes/set-57/a.jsonl.gz"] = encoded(attributes(rows, "t57")[:-1])
    report = check(write(tmp_path, files))
    assert [(finding.code, finding.location.path) for finding in report.findings] == [
        ("DOL501", "attributes/set-57/a.jsonl.gz")
    ]


def bomb(path: Path, megabytes: int, head: bytes, tail: bytes) -> None:
    """Write a gzip file of one letter, so many megabytes of it, between a head and a tail."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    piece = b"x" * 1_000_000
    with path.open("wb") as file:
        file.write(packer.compress(head))
        for _ in range(megabytes):
            file.write(packer.compress(piece))
        file.write(packer.compress(tail) + packer.flush())


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
def test_a_line_without_end_in_flat_memory(tmp_path: Path) -> None:
    bomb(tmp_path / "a.jsonl.gz", 200, b'{"id":"1","text":"', b'"}\n' + ROW)
    code = (
        "import corpusfmt, json, sys; "
        "report = corpusfmt.validate(sys.argv[1], format='dolma', max_line_bytes=4_000_000); "
        "peak = next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')); "
        "print(json.dumps([report.by_rule, report.coverage.documents, int(peak)]))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, check=True)
    by_rule, rows, kilobytes = json.loads(done.stdout)
    assert (by_rule, rows) == ({"GEN302": 1}, 1)
    assert kilobytes < 150_000


def test_many_small_members(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(b"".join(gzip.compress(encoded([row]), mtime=0) for row in documents(2000)))
    report = check(tmp_path)
    assert (report.verdict, report.coverage.documents) == ("valid", 2000)


def test_a_cr_alone_ends_no_line(tmp_path: Path) -> None:
    row = b'{"id":"1",\r"text":"t",\t"source":"s"}'
    (tmp_path / "a.jsonl").write_bytes(row + b"\n")
    assert corpusfmt.validate(tmp_path).by_rule == {}
    (tmp_path / "a.jsonl").write_bytes(row + b"\r\n" + row.replace(b"1", b"2") + b"\r\n")
    (finding,) = corpusfmt.validate(tmp_path).findings
    assert (finding.code, finding.count, finding.location.line, finding.location.byte) == ("DOL204", 2, 1, 0)


@pytest.mark.parametrize(
    ("value", "shown"), [("x" * 80, "x" * 80), ("x" * 81, "x" * 40 + " … " + "x" * 40), ("é\n", "\\xe9\\n")]
)
def test_values_in_messages_are_on_one_line_and_not_long(value: str, shown: str) -> None:
    assert clipped(value) == shown
