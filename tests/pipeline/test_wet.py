"""WET files that are not as they should be: read whole where they are whole, named where anything would be lost."""

from __future__ import annotations

import base64
import hashlib
import json
from io import BytesIO
from pathlib import Path

import pytest
from support import LONG_LINE, gzipped, run_cli, warc_record, wet_file, wet_record, zstd

import corpusfmt
from corpusfmt.model import Verdict
from corpusfmt.pipeline.process.wet import Batch, WetRecord, wet_batches
from corpusfmt.pipeline.rules import WetDefect


def ten(odd: bytes) -> bytes:
    """Return ten records, of which one stands as given."""
    records = [wet_record(number, f"{LONG_LINE} {number}\n") for number in range(10)]
    return b"".join([*records[:5], odd, *records[6:]])


def texts(data: bytes) -> list[bytes]:
    return [record.text for batch in wet_batches(BytesIO(data), "a.warc.wet") for record in batch.records()]


def with_length(value: str, body: bytes = b"one and two\n") -> bytes:
    head = f"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: {value}\r\n\r\n"
    return head.encode() + body + b"\r\n\r\n"


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (with_length("3"), "record 6 is followed by b' and two\\n': its Content-Length is wrong"),
        (with_length("3", b"one\ntwo\n"), "record 6 is followed by b'two\\n': its Content-Length is wrong"),
        (with_length("0", b"one\n" * 500_000), "record 6 is followed by b'one\\n': its Content-Length is wrong"),
        (with_length("16"), "record 6 is followed by b'WARC/1.0\\r\\n': its Content-Length is wrong"),
        (with_length("9" * 5000), "record 6 does not have exactly one Content-Length that is a number"),
        (with_length("٣"), "record 6 does not have exactly one Content-Length that is a number"),
        (with_length("-3"), "record 6 does not have exactly one Content-Length that is a number"),
        (with_length("999999999999"), "record 6 has 999,999,999,999 bytes, expected at most 33,554,432"),
        (with_length("12\r\nContent-Length: 11"), "record 6 does not have exactly one Content-Length that is a number"),
        (with_length("12\r\n\u00a0"), "record 6 has a header line of only white space"),
        (with_length("12\r\nX: " + "x" * 2_000_000), "record 6 has a header of more than 1,048,576 bytes"),
        (with_length("12\r\n" + "X: 1\r\n" * 200_000 + "X: 1"), "record 6 has a header of more than 1,048,576 bytes"),
        (b"WARC/1.0\r\n" + b"x" * 2_000_000, "record 6 has a header of more than 1,048,576 bytes"),
        (b"\r\n" * 600_000, "record 5 is followed by b'\\r\\n': its Content-Length is wrong"),
    ],
    ids=lambda value: value[-40:] if isinstance(value, str) else "",
)
def test_what_would_lose_text_is_a_defect(odd: bytes, reason: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(WetDefect) as caught:
        texts(ten(odd))
    assert (caught.value.defect, caught.value.reason) == ("framing", reason)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "odd",
    [
        with_length("12").replace(b"WARC/1.0", b"WARC/1.1"),
        with_length("12\r\nX-Long: " + "x" * 500_000),
        with_length("12\r\nX: folded\r\n line"),
        with_length("12\r\nContent-Length: 12"),
        with_length("12").replace(b"\r\n", b"\n"),
        with_length("12") + b"\r\n\n\r\n",
        with_length("12").replace(b"Length:", b"Length :"),
        with_length("12").replace(b"Type:", b"Type\t :"),
        with_length("\v12\f"),
    ],
    ids=["version", "long", "folded", "twice the same", "LF", "more blank lines", "space", "tab", "other white space"],
)
def test_odd_records_that_are_whole_are_read(odd: bytes) -> None:
    read = texts(ten(odd))
    assert len(read) == 10
    assert read[5] == b"one and two\n"


@pytest.mark.parametrize(
    "odd", [b"X-Name : value", b"X-Name\t:value", b"X-Name: \vvalue\x1f", "X-Name: value\u00a0".encode()]
)
def test_white_space_in_headers_is_read_in_one_way(odd: bytes) -> None:
    (canonical,) = wet_batches(BytesIO(with_length("12").replace(b"Content", odd + b"\r\nContent")), "a.warc.wet")
    assert json.loads(canonical.headers[0])["x-name"] == "value"


def test_the_last_record_needs_nothing_after_it_but_its_text() -> None:
    odd = with_length("12").replace(b"WARC/1.0", b"WARC/1.1")
    assert texts(odd.removesuffix(b"\r\n\r\n")) == [b"one and two\n"]
    for cut in (5, 12, 40):
        with pytest.raises(WetDefect, match="the file is truncated"):
            texts(odd + odd[:-cut] if cut != 40 else odd + odd[:cut])
    with pytest.raises(WetDefect, match="record 1 is followed by b' and two"):
        texts(with_length("3"))


def test_records_without_text_are_not_held() -> None:
    odd = with_length("0\r\nX: " + "x" * 100_000, b"").replace(b"WARC/1.0", b"WARC/1.1")
    sizes = [len(batch.headers) for batch in wet_batches(BytesIO(odd * 40), "a.warc.wet")]
    assert sum(sizes) == 40
    assert max(sizes) <= 3


def test_a_large_record_is_read_in_one_go() -> None:
    # Not a time, but a bound on what is held and copied: a record of many chunks is joined once.
    body = b"x" * 30_000_000 + b"\n"
    assert texts(warc_record("conversion", body)) == [body]


@pytest.mark.parametrize("recipe", ["oscar-1.1", "goclassy-2019"])
def test_zero_padding_after_the_last_member_is_a_warning(tmp_path: Path, recipe: str) -> None:
    path = wet_file(tmp_path / "a.warc.wet.gz", [wet_record(1, f"{LONG_LINE}\n")])
    corpusfmt.build(path, tmp_path / "clean", recipe=recipe)
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + bytes(512))
    report = corpusfmt.build(path, tmp_path / "out", recipe=recipe)
    (finding,) = report.findings
    assert (report.verdict.value, finding.code, finding.severity.value) == ("valid", "GEN102", "warning")
    assert finding.location.path == "a.warc.wet.gz"
    assert finding.message == f"512 zero bytes after the last gzip member, from compressed byte {size}"
    assert finding.hint == f"truncate the file to {size} bytes, or compress its content again"
    done = run_cli("build", path, "--output", tmp_path / "again", "--recipe", recipe)
    assert done.returncode == 0
    assert done.stderr.decode().split("\n") == [
        f"warning: a.warc.wet.gz: GEN102 {finding.message}",
        f"  help: {finding.hint}",
        "",
    ]
    (taken,) = json.loads((tmp_path / "out" / "MANIFEST.json").read_bytes())["inputs"]
    assert taken["padding"] == "512 zero bytes after the last gzip member"
    assert (tmp_path / "out" / "stats.json").read_bytes() == (tmp_path / "clean" / "stats.json").read_bytes()


def test_padding_does_not_hide_that_a_file_is_cut(tmp_path: Path) -> None:
    data = ten(wet_record(5, f"{LONG_LINE}\n"))
    (tmp_path / "a.warc.wet.gz").write_bytes(gzipped(data[:-30]) + bytes(512))
    wet_file(tmp_path / "b.warc.wet.gz", [wet_record(1, f"{LONG_LINE}\n")])
    report = corpusfmt.build(tmp_path, tmp_path / "out")
    assert [each.code for each in report.findings] == ["WET102"]


def test_other_bytes_after_the_last_member_are_an_error(tmp_path: Path) -> None:
    path = wet_file(tmp_path / "a.warc.wet.gz", [wet_record(1, f"{LONG_LINE}\n")])
    path.write_bytes(path.read_bytes() + bytes(511) + b"x")
    wet_file(tmp_path / "b.warc.wet.gz", [wet_record(1, f"{LONG_LINE}\n")])
    report = corpusfmt.build(tmp_path, tmp_path / "out")
    assert [(each.code, each.severity.value) for each in report.findings] == [("GEN102", "error")]


def test_in_a_batch_every_text_ends_with_a_line_end_unless_it_is_empty() -> None:
    records = [WetRecord(b"{}", text) for text in (b"", b"one", b"\n", b"", b"two\nthree\n", b"four\nfive")]
    batch = Batch.of(records)
    assert [record.text for record in batch.records()] == [b"", b"one\n", b"\n", b"", b"two\nthree\n", b"four\nfive\n"]
    assert texts(b"".join(warc_record("conversion", record.text) for record in records)) == [
        record.text for record in batch.records()
    ]


_TEXT = f"{LONG_LINE}\nno LF at its end".encode()
_SHA1, _SHA256 = hashlib.sha1(_TEXT), hashlib.sha256(_TEXT)


@pytest.mark.parametrize(
    ("headers", "count"),
    [
        ({}, 1),
        ({"WARC-Block-Digest": f"sha1:{base64.b32encode(_SHA1.digest()).decode()}"}, 1),
        ({"WARC-Payload-Digest": f"SHA-256:{_SHA256.hexdigest().upper()}"}, 1),
        ({"WARC-Block-Digest": f"sha256:{base64.b32encode(_SHA256.digest()).decode().rstrip('=')}"}, 1),
        ({"WARC-Block-Digest": "crc64:00"}, 1),
        ({"WARC-Block-Digest": "sha1:" + "A" * 32}, 0),
        ({"WARC-Block-Digest": f"sha1:{_SHA1.hexdigest()[:-1]}"}, 0),
        ({"WARC-Block-Digest": f"sha256:{_SHA1.hexdigest()}"}, 0),
        ({"WARC-Payload-Digest": "sha1:"}, 0),
        ({"WARC-Block-Digest": f"sha1:{_SHA1.hexdigest()}", "WARC-Payload-Digest": "sha1:" + "A" * 32}, 0),
    ],
    ids=str,
)
@pytest.mark.parametrize("version", ["1.0", "1.1"])  # canonical, and read by warcio
def test_a_record_whose_digest_is_false_is_dropped(
    headers: dict[str, str], count: int, version: str, tmp_path: Path
) -> None:
    record = wet_record(2, _TEXT, **headers).replace(b"WARC/1.0", f"WARC/{version}".encode())
    path = wet_file(tmp_path / "a.warc.wet.gz", [wet_record(1, f"{LONG_LINE} 1\n"), record])
    report = corpusfmt.build(path, tmp_path / "out")
    assert report.coverage.documents == 1 + count
    assert report.verdict is Verdict.VALID
    assert report.results["dropped"].get("of a false digest", 0) == (0 if count else 2)
    told = [(str(finding.location), finding.code) for finding in report.findings]
    assert told == ([] if count else [("a.warc.wet.gz", "WET202")])


def test_wet_files_are_compressed_with_zstd(tmp_path: Path) -> None:
    records = [wet_record(number, f"{LONG_LINE} {number}\n") for number in range(3)]
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.warc.wet.zst").write_bytes(b"".join(map(zstd.compress, records)))
    (tmp_path / "in/b.warc.wet").write_bytes(zstd.compress(records[0]))
    assert corpusfmt.build(tmp_path / "in", tmp_path / "out").coverage.documents == 4
    (tmp_path / "in/a.warc.wet.zst").write_bytes(zstd.compress(records[0])[:-1])
    report = corpusfmt.build(tmp_path / "in", tmp_path / "again")
    assert [(finding.location.path, finding.code) for finding in report.findings] == [("a.warc.wet.zst", "GEN101")]


def test_inputs_are_checked_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lies = wet_record(2, _TEXT, **{"WARC-Block-Digest": "sha1:" + "A" * 32})
    paths = [wet_file(Path("in") / f"{name}.warc.wet.gz", [wet_record(1, _TEXT), lies]) for name in "ab"]
    paths[0].write_bytes(paths[0].read_bytes()[:-9])
    wet_file(Path("in/c.warc.wet.gz"), [wet_record(1, _TEXT)])
    done = run_cli("build", "--check", "in", "--jobs", "2")
    assert done.stdout.endswith(b"2 of 3 WET files are readable: 2 documents\n")
    assert [line[:24] for line in done.stderr.splitlines()[::2]] == [
        b"a.warc.wet.gz: GEN101 gz",
        b"b.warc.wet.gz: WET202 co",
    ]
    assert done.returncode == 3
    assert run_cli("build", "--check", "in/b.warc.wet.gz").returncode == 1
    assert run_cli("build", "--check", "in/c.warc.wet.gz").returncode == 0
    assert run_cli("build", "--check", "-").returncode == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
