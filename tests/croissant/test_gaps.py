"""What `--data` cannot check is a gap, and broken data is an error: neither is silently valid."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from croissant.documents import check, document
from croissant.test_records import codes, field, file, files, one, read, record_set, write
from support import gzipped, run_cli, tarred, zipped

import corpusfmt
from corpusfmt.formats.croissant.data import rows
from corpusfmt.io.lines import MAX_LINE_BYTES
from corpusfmt.io.paths import Entry
from corpusfmt.model import Report, UsageError

JPEG = b"\xff\xd8\xff\xe0"
PNG = b"\x89PNG\r\n\x1a\n"


def judged(path: Path) -> Report:
    return corpusfmt.validate(path, format="croissant", data=True)


def found(report: Report) -> list[tuple[str, str]]:
    return [(each.code, each.severity.value) for each in report.findings if each.code[:4] in ("CRO6", "GEN1")]


NAMES = record_set(field("name", "names-set", {"fileProperty": "filename"}))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.zip", "application/zip"),
        ("a", "application/x-tar"),
        ("a.tar.gz", "application/gzip"),
        ("a.ZIP", "application/octet-stream"),
        ("a", "application/tar"),
        ("a", "application/zip"),
        ("a", "application/x-zip"),
        ("a", "application/x-zip-compressed"),
        ("a", "application/x-gtar"),
        ("a", "application/tar+gzip"),
        ("a", "application/x-tgz"),
        ("a", "application/x-compressed-tar"),
        ("a", "application/x-gtar-compressed"),
        ("a", "application/x-bzip-compressed-tar"),
        ("a", "application/x-bzip2-compressed-tar"),
        ("a", "application/x-xz-compressed-tar"),
        ("a", "application/x-zstd-compressed-tar"),
    ],
)
@pytest.mark.parametrize("described", ["as a container", "alone"])
def test_a_file_that_is_not_the_archive_it_claims_to_be(name: str, kind: str, described: str, tmp_path: Path) -> None:
    archive = file("a", kind, contentUrl=name)
    inside = files("names-set", "*", containedIn={"@id": "a"})
    distribution = [archive, inside] if described == "as a container" else [archive]
    path = write(tmp_path, distribution, *([NAMES] if described == "as a container" else []))
    (tmp_path / name).write_bytes(b"x")
    report = judged(path)
    assert found(report) == [("CRO604", "error")]
    assert report.findings[-1].message == f'distribution "a": `{name}` is not a zip or tar archive'
    assert report.verdict == "invalid"
    if described == "as a container":
        assert codes(read(path)[1]) == ["CRO604"]


def test_an_archive_that_nothing_refers_to_is_read_to_its_end(tmp_path: Path) -> None:
    path = write(tmp_path, [file("a.zip", "application/zip")], a__zip=zipped({"m": b"x"}))
    assert found(judged(path)) == []
    (tmp_path / "a.zip").write_bytes(zipped({"m": b"x"})[:-5])
    assert found(judged(path)) == [("CRO604", "error")]
    (tmp_path / "a.zip").write_bytes(zipped({"m": b"content"}, zipfile.ZIP_STORED).replace(b"content", b"damaged"))
    assert [each.message for each in judged(path).findings if each.code == "CRO604"] == [
        """distribution "a.zip": `a.zip` is corrupt: BadZipFile: Bad CRC-32 for file 'm'"""
    ]


def test_an_archive_of_another_kind_is_left_out(tmp_path: Path) -> None:
    inside = files("names-set", "*", containedIn={"@id": "a.7z"})
    path = write(tmp_path, [file("a.7z", "application/x-7z-compressed"), inside], NAMES, a__7z=b"7z")
    report = judged(path)
    assert found(report) == []
    reason = (
        'distribution "a.7z": the members of `a.7z` are not read: '
        "not a zip or tar (encodingFormat application/x-7z-compressed)"
    )
    assert report.coverage.rules_not_run["CRO601"] == report.coverage.rules_not_run["CRO609"] == reason
    with pytest.raises(UsageError) as raised:
        read(path)
    assert str(raised.value) == reason


PACKERS: dict[str, Callable[[Mapping[str, bytes]], bytes]] = {
    "zip": zipped,
    "tar": tarred,
    "tar.gz": lambda members: gzipped(tarred(members)),
}
KINDS = {"zip": "application/zip", "tar": "application/x-tar", "tar.gz": "application/gzip"}


def nested(folder: Path, outer: str, inner: str, members: dict[str, bytes], *more: Any) -> Path:
    """Return a description of one archive in another, and a set of the files in it."""
    packed = PACKERS[inner](members)
    digest = hashlib.sha256(packed).hexdigest()
    around = file(f"a.{outer}", KINDS[outer])
    within = {**file("b", KINDS[inner]), "contentUrl": f"x/b.{inner}", "containedIn": {"@id": f"a.{outer}"}}
    inside = files("names-set", "*.txt", containedIn={"@id": "b"})
    path = write(folder, [around, {**within, "sha256": digest}, inside, *more], NAMES)
    (folder / f"a.{outer}").write_bytes(PACKERS[outer]({"first": b"1", f"x/b.{inner}": packed, "last": b"2"}))
    return path


@pytest.mark.parametrize("outer", PACKERS)
@pytest.mark.parametrize("inner", PACKERS)
def test_an_archive_in_an_archive_is_left_out(outer: str, inner: str, tmp_path: Path) -> None:
    """Its own bytes are checked, not what is in it."""
    lost = {**file("c.txt", "text/plain"), "containedIn": {"@id": "b"}}
    path = nested(tmp_path, outer, inner, {"one.txt": b"1"}, lost)
    report = judged(path)
    assert (found(report), report.verdict) == ([], "incomplete")
    reason = 'distribution "b": an archive inside another is not read: unpack the outer one'
    assert any(said == reason for _, _, said in report.coverage.gaps)
    with pytest.raises(UsageError) as raised:
        read(path)
    assert str(raised.value) == reason
    path.write_text(path.read_text().replace('"sha256"', '"md5": "' + "0" * 32 + '", "sha256"'))
    assert found(judged(path)) == [("CRO603", "error")]


def test_a_set_without_a_pattern_is_left_out(tmp_path: Path) -> None:
    without = {name: value for name, value in files("names-set", "*").items() if name != "includes"}
    report = corpusfmt.validate(write(tmp_path, [without], NAMES), format="croissant", data=True, profile="strict")
    assert found(report) == []
    reason = 'distribution "names-set": no pattern selects its files'
    assert report.coverage.rules_not_run["CRO601"] == reason


ROWS = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 3, "name": "c"}]


def of_json(condition: str, *, inside: bool = False) -> dict[str, Any]:
    path = f"$[?({condition})]"
    if inside:
        lines = field("id", "t.txt", {"fileProperty": "lines"}, "sc:Integer")
        return record_set({**lines, "source": {**lines["source"], "transform": {"jsonPath": f"{path}.id"}}})
    return record_set(
        field("id", "t.json", {"jsonPath": f"{path}.id"}, "sc:Integer"),
        field("name", "t.json", {"jsonPath": f"{path}.name"}),
    )


def test_a_json_path_with_a_filter(tmp_path: Path) -> None:
    table = file("t.json", "application/json")
    path = write(tmp_path, [table], of_json("@.id>1"), t__json=json.dumps(ROWS).encode())
    records = [{"r/id": 2, "r/name": "b"}, {"r/id": 3, "r/name": "c"}]
    assert read(path) == (records, [])
    report = judged(path)
    assert (found(report), report.verdict, report.coverage.documents) == ([], "valid", 2)
    (tmp_path / "t.json").write_bytes(json.dumps([*ROWS, {"id": "x", "name": "d"}, {"id": 4.5, "name": "e"}]).encode())
    assert found(judged(path)) == [("CRO609", "error")]


def test_a_filter_of_lines(tmp_path: Path) -> None:
    content = b'[{"id": 1}, {"id": 2}]\n[{"id": 3}]\n[]\n'
    path = write(tmp_path, [file("t.txt", "text/plain")], of_json("@.id>1", inside=True), t__txt=content)
    assert read(path) == ([{"r/id": 2}, {"r/id": 3}, {"r/id": None}], [])


@pytest.mark.parametrize("inside", [False, True])
def test_a_filter_that_is_not_followed(inside: bool, tmp_path: Path) -> None:
    tables = [file("t.json", "application/json"), file("t.txt", "text/plain")]
    contents = {"t__json": json.dumps(ROWS).encode(), "t__txt": b"[]\n"}
    path = write(tmp_path, tables, of_json("@.name =~ /a/", inside=inside), **contents)
    with pytest.raises(UsageError, match="is not supported"):
        read(path)
    report = judged(path)
    assert "is not supported" in report.coverage.rules_not_run["CRO609"]
    assert (report.verdict, report.coverage.gaps.total()) == ("incomplete", 1)
    assert run_cli("validate", path, "--data").returncode == 0
    done = run_cli("validate", path, "--data", "--require-complete")
    assert done.returncode == 3
    assert b"is not supported" in done.stdout


def test_a_large_json_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MAX_JSON", 10)
    table = record_set(field("id", "t.json", {"jsonPath": "$..id"}))
    path = write(tmp_path, [file("t.json", "application/json")], table, t__json=json.dumps(ROWS).encode())
    assert "`t.json` exceeds 10 bytes" in judged(path).coverage.rules_not_run["CRO609"]


def pictures(folder: Path, **contents: bytes) -> Path:
    (folder / "p").mkdir()
    for name, content in contents.items():
        (folder / "p" / f"{name}.jpg").write_bytes(content)
    picture = field("picture", "pictures-set", {"fileProperty": "content"}, "sc:ImageObject")
    return write(folder, [files("pictures-set", "p/*", "image/jpeg")], record_set(picture))


def test_pictures_are_not_decoded(tmp_path: Path) -> None:
    path = pictures(tmp_path, a=JPEG, b=JPEG)
    assert len(read(path)[0]) == 2
    report = judged(path)
    assert found(report) == []
    reason = 'recordSet "r" › field "r/picture": images are not decoded'
    assert (report.verdict, report.coverage.gaps) == ("incomplete", {("metadata.json", "data", reason): 2})


def test_one_picture_is_reported_once(tmp_path: Path) -> None:
    picture = field("picture", "p.png", {"fileProperty": "content"}, "sc:ImageObject")
    path = one(tmp_path, "p.png", "image/png", b"text", picture)
    assert found(judged(path)) == [("CRO615", "error")]
    (finding,) = read(path)[1]
    assert (finding.code, finding.location.pointer) == ("CRO615", "/distribution/0/encodingFormat")


HEADS = {
    "image/jpeg": b"\xff\xd8\xff\xe1",
    "image/png": PNG,
    "image/gif": b"GIF89a",
    "image/bmp": b"BM\0\0",
    "image/tiff": b"II*\0",
    "image/webp": b"RIFF\0\0\0\0WEBPVP8 ",
    "audio/wav": b"RIFF\0\0\0\0WAVEfmt ",
    "audio/flac": b"fLaC\0",
    "audio/ogg": b"OggS\0",
    "application/pdf": b"%PDF-1.7",
}


@pytest.mark.parametrize("found_kind", HEADS)
def test_a_file_is_known_by_its_first_bytes(found_kind: str, tmp_path: Path) -> None:
    claims = [*HEADS, "IMAGE/JPEG", "image/jpg", "audio/x-wav", "audio/wave", "image/png; q=1"]
    described = [file(f"{number}.bin", claim) for number, claim in enumerate(claims)]
    path = write(tmp_path, described, **{f"{number}__bin": HEADS[found_kind] for number in range(len(claims))})
    report = corpusfmt.validate(path, format="croissant", data=True, max_per_rule=len(claims))
    told = [(each.message, each.severity.value, each.hint) for each in report.findings if each.code == "CRO615"]
    meant = {"IMAGE/JPEG": "image/jpeg", "image/jpg": "image/jpeg", "image/png; q=1": "image/png"}
    meant |= {"audio/x-wav": "audio/wav", "audio/wave": "audio/wav"}
    assert told == [
        (
            f'distribution "{number}.bin": `{number}.bin` is `{found_kind}`, `encodingFormat` is `{claim}`',
            "warning" if claim.lower().startswith(found_kind[:5]) else "error",
            "correct `encodingFormat` or replace the file",
        )
        for number, claim in enumerate(claims)
        if meant.get(claim, claim) != found_kind
    ]


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("3", 3),
        ("3 B", 3),
        ("0.003 kB", 3),
        ("0.0029296875 KiB", 3),
        ("0.000003 MB", 3),
        ("0.000000003 GB", 3),
        ("0.000000000003 TB", 3),
        ("0.000000000000003 PB", 3),
        ("0.000000000000000003 EB", 3),
        ("4 B", 4),
        ("1,000 bytes", 1000),
        ("1.5 KiB", 1536),
        ("2 EiB", 2**61),
        ("3000000000000000001 B", 3000000000000000001),
    ],
)
def test_sizes_by_unit(written: str, size: int, tmp_path: Path) -> None:
    path = write(tmp_path, [file("a.txt", "text/plain", contentSize=written)], a__txt=b"abc")
    told = [(each.code, each.message, each.hint) for each in judged(path).findings if each.code in ("CRO309", "CRO602")]
    message = f'distribution "a.txt": 3 bytes, `contentSize` says {size:,}'
    assert told == ([] if size == 3 else [("CRO602", message, "write `3 B`")])


@pytest.mark.parametrize(
    ("pattern", "may_be_there"),
    [
        ("sub/*.txt", True),
        ("./sub/*", True),
        ("s?b/*/a.txt", True),
        ("*/a.txt", True),
        ("**/a.txt", True),
        ("sub/**", True),
        ("sub/a/b", True),
        ("sub", True),
        ("*.txt", True),
        ("other/*.txt", False),
        ("other/**", False),
        ("other/sub/*", False),
    ],
)
def test_a_link_to_outside_is_told_of_where_a_set_might_find_files(
    pattern: str, may_be_there: bool, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.txt").write_bytes(b"a")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sub").symlink_to("../outside")
    report = judged(write(tmp_path / "data", [files("names-set", pattern)], NAMES))
    told = [each.location.path for each in report.findings if each.code == "GEN002"]
    assert told == (["sub"] if may_be_there else [])
    assert (report.verdict == "incomplete") is may_be_there


@pytest.mark.parametrize("name", ["../../evil.txt", "/etc/evil.txt", "C:\\evil.txt", "a/../../evil.txt"])
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_members_that_lead_out_of_the_archive(name: str, kind: str, tmp_path: Path) -> None:
    path = write(tmp_path, [file(f"a.{kind}", f"application/{'x-' * (kind == 'tar')}{kind}")])
    (tmp_path / f"a.{kind}").write_bytes(PACKERS[kind]({"good.txt": b"g", name: b"e", f"{name}2": b"e"}))
    report = judged(path)
    assert found(report) == [("CRO616", "warning")]
    assert report.by_rule["CRO616"] == 2
    assert "evil.txt" in report.findings[-1].message


def test_what_is_left_out_is_left_out_of_documents_alone(tmp_path: Path) -> None:
    """A description without files has nothing that could be left out."""
    report = check(tmp_path / "a.json", document(), data=True)
    assert (report.verdict, report.coverage.gaps) == ("valid", {})


def test_a_description_of_0_8_is_not_judged(tmp_path: Path) -> None:
    report = check(tmp_path / "a.json", document(conformsTo="http://mlcommons.org/croissant/0.8"))
    gap = ("a.json", "the description", "the document is of version 0.8")
    assert (report.verdict, report.coverage.gaps, report.by_rule) == ("incomplete", {gap: 1}, {"CRO204": 1})


def test_every_process_gives_the_same_reasons(tmp_path: Path) -> None:
    names = [f"field{number}" for number in range(8)]
    nowhere = record_set(*(field(name, "nowhere", {"column": name}) for name in names))
    drawn = [{**field(f"of_{name}", "x", None), "@id": f"s/{name}", "source": {"@id": f"r/{name}"}} for name in names]
    path = write(tmp_path, [], nowhere, record_set(*drawn, name="s"))
    said = set()
    for seed in "12":
        done = run_cli("validate", path, "--data", env={**os.environ, "PYTHONHASHSEED": seed})
        assert b"the source is not a file, file set or field" in done.stdout
        said.add(done.stdout)
    assert len(said) == 1


@pytest.mark.parametrize(
    "header", [b"a,b\n", b'a,"b\nc"\n', b'"a",b\xff\n'], ids=["plain", "of two lines", "not UTF-8"]
)
def test_a_row_that_is_too_long_takes_no_other_with_it(header: bytes, tmp_path: Path) -> None:
    long = b"3," + b"4" * MAX_LINE_BYTES + b"\n"
    path = one(
        tmp_path,
        "t.csv",
        "text/csv",
        header + b"1,2\n" + long + b'5,6\n7,"8\n' + long + b'"\n9\n',
        field("a", "t.csv", {"column": "a"}, "sc:Integer"),
    )
    above = header.count(b"\n")
    report = judged(path)
    expected = [
        *([("GEN201", 1)] if b"\xff" in header else []),
        ("GEN302", above + 2),
        ("GEN302", above + 5),
        ("CRO607", above + 7),
    ]
    assert [(each.code, each.location.line) for each in report.findings if each.location.path == "t.csv"] == expected
    assert report.coverage.documents == 2
    values, findings = read(path)
    assert [each["r/a"] for each in values] == [1, 5]
    assert [(each.code, each.location.line) for each in findings] == expected


def test_a_header_that_is_too_long_is_told(tmp_path: Path) -> None:
    path = one(
        tmp_path,
        "t.csv",
        "text/csv",
        b"a," + b"b" * MAX_LINE_BYTES + b"\n1,2\n",
        field("a", "t.csv", {"column": "a"}, "sc:Integer"),
    )
    found = [(each.code, each.location.line) for each in judged(path).findings if each.location.path == "t.csv"]
    assert found[0] == ("GEN302", 1)
    assert ("GEN302", 1) in [(each.code, each.location.line) for each in read(path)[1]]


@pytest.mark.parametrize("kind", ["folder", "archive"])
def test_a_file_without_contenturl_is_not_looked_for_in_its_container(kind: str, tmp_path: Path) -> None:
    container = file("box" if kind == "folder" else "box.zip", "application/zip" if kind == "archive" else "text/plain")
    inside = {**file("a.txt", "text/plain"), "containedIn": {"@id": container["@id"]}}
    del inside["contentUrl"]
    path = write(tmp_path, [container, inside], NAMES)
    if kind == "folder":
        (tmp_path / "box").mkdir()
    else:
        (tmp_path / "box.zip").write_bytes(zipped({"a.txt": b"text"}))
    report = judged(path)
    assert "CRO302" in report.by_rule
    assert "CRO601" not in report.by_rule


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, [file("t.csv", "text/csv")], t__csv=b"a\n1\n")
    opened = Entry.open

    def on_a_bad_disk(entry: Entry) -> BinaryIO:
        if entry.name == "t.csv":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return opened(entry)

    monkeypatch.setattr(Entry, "open", on_a_bad_disk)
    (finding,) = corpusfmt.validate(path, data=True, select=["CRO601"]).findings
    assert finding.message == 'distribution "t.csv": `t.csv` cannot be read: Input/output error'
    assert finding.hint == "make the file readable"
