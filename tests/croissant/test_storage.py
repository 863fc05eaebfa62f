"""Files behind a description: patterns, archives, and what must not happen while reading them."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import struct
import sys
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from croissant.documents import check, document, errors
from hypothesis import given
from hypothesis import strategies as st
from strategies import damaged
from support import tarred, zipped

import corpusfmt
from corpusfmt.formats.croissant.data import storage
from corpusfmt.formats.croissant.data.files import decompressed, raw
from corpusfmt.formats.croissant.data.globs import matches
from corpusfmt.formats.croissant.data.stream import understood
from corpusfmt.io.limits import UNLIMITED, limited
from corpusfmt.io.paths import entry_of
from corpusfmt.model import Fault

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.jpg", "a.jpg", True),
        ("*.jpg", "d/a.jpg", True),
        ("*.jpg", "a.jpg/b", False),
        ("./*.jpg", "a.jpg", True),
        ("./*.jpg", "d/a.jpg", False),
        ("**/*.jpg", "a.jpg", True),
        ("**/*.jpg", "d/e/a.jpg", True),
        ("d/**", "d/e/a.jpg", True),
        ("d/**/x/*.txt", "d/1/x/2/x/a.txt", True),
        ("d/**/x/*.txt", "d/1/y/a.txt", False),
        ("a/*.txt", "a/b/three.txt", False),
        ("img?.[a-c]", "img1.b", True),
        ("img[!0-9].jpg", "img1.jpg", False),
        ("[]]", "]", True),
        ("[b-a].txt", "b.txt", False),
        ("[b-aX].txt", "X.txt", True),
        ("[!b-a].txt", "b.txt", True),
        ("a[*]b", "a*b", True),
        ("a[*]b", "axb", False),
        ("[]a[b.csv", "[]a[b.csv", True),
        ("[]a[b.csv", "]b.csv", False),
        ("[!]a[b.csv", "[!]a[b.csv", True),
        ("[[]a[b.csv", "[a[b.csv", True),
        ("[a]b[c]d[e.csv", "abcd[e.csv", True),
        ("[^a].csv", "^.csv", True),
        ("[^a].csv", "b.csv", False),
        ("[!a].csv", "b.csv", True),
        (r"\*.csv", r"\a.csv", True),
        (r"\*.csv", "*.csv", False),
        (r"\[a].csv", r"\a.csv", True),
        (r"[\].csv", r"\.csv", True),
        ("./a/*", "a/b", True),
        ("**", "a/b/c", True),
        ("", "a", False),
    ],
)
def test_globs(pattern: str, path: str, expected: bool) -> None:
    assert matches(pattern, path) is expected


@given(st.text("ab*?[]!^-\\.", max_size=12), st.text("ab[]!^-\\.", max_size=12))
def test_a_segment_is_a_pattern_of_fnmatch(pattern: str, name: str) -> None:
    if pattern != "**" and not pattern.startswith("./"):
        assert matches(pattern, name) is fnmatchcase(name, pattern)


@given(st.text("ab*?/[]!-\\.", max_size=12), st.text("ab/.", max_size=12))
def test_a_glob_gives_an_answer(pattern: str, path: str) -> None:
    assert matches(pattern, path) in (True, False)


@given(st.lists(st.text("ab.", min_size=1, max_size=4), min_size=1, max_size=4).map("/".join))
def test_a_path_without_wildcards_matches_itself(path: str) -> None:
    if not path.startswith("./"):
        assert matches(path, path)
    assert matches(f"./{path}", path)
    assert matches("**", path)
    assert not matches(path + "x", path)


@pytest.mark.parametrize("pattern", ["*" * 1_000_000, "a*" * 300, "**/" * 100_000, "[" * 100_000, "*a" * 200 + "b"])
def test_no_glob_takes_long(pattern: str) -> None:
    started = time.process_time()
    matches(pattern, "a" * 300)
    assert time.process_time() - started < 5


def described(**properties: object) -> dict[str, object]:
    file = {
        "@type": "cr:FileObject",
        "@id": "f",
        "encodingFormat": "application/x-tar",
        "sha256": "0" * 64,
        **properties,
    }
    return {key: value for key, value in file.items() if value is not None}


def checked(folder: Path, *files: dict[str, object]) -> list[str]:
    return [finding.code for finding in errors(check(folder / "a.json", document(distribution=list(files)), data=True))]


MEMBER = {"@type": "cr:FileObject", "@id": "m", "containedIn": {"@id": "f"}, "encodingFormat": "text/plain"}
ARCHIVE = described(contentUrl="a.tar", sha256=None)


def packed(path: Path, members: dict[str, bytes], mode: str = "w") -> None:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


_CODECS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd.compress,
}
_DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut in its trailer": lambda data: data[:-2],
    "followed by other bytes": lambda data: data + b"x",
}


def judged(folder: Path, name: str, data: bytes, *record_sets: object) -> list[tuple[str, str]]:
    """Return codes and severities of what is said of one file whose digest is as described."""
    (folder / name).write_bytes(data)
    file = described(contentUrl=name, encodingFormat="text/csv", sha256=hashlib.sha256(data).hexdigest())
    found = check(folder / "a.json", document(distribution=[file], recordSet=list(record_sets)), data=True)
    return [(each.code, each.severity.value) for each in found.findings if each.code[:4] in ("GEN1", "CRO6", "GEN0")]


TARRED = tarred({"a.txt": b"x\n"})


_BLOCKS = 1024  # a header, and the member


@pytest.mark.parametrize("damage", _DAMAGES)
@pytest.mark.parametrize("codec", _CODECS)
def test_a_compressed_archive_is_read_to_its_end(codec: str, damage: str, tmp_path: Path) -> None:
    packed = _CODECS[codec](TARRED)
    assert judged(tmp_path, f"a.tar.{codec}", packed) == []
    assert judged(tmp_path, f"a.tar.{codec}", _DAMAGES[damage](packed)) == [("CRO604", "error")]


@pytest.mark.parametrize("is_read", [True, False])
@pytest.mark.parametrize("damage", _DAMAGES)
@pytest.mark.parametrize("codec", _CODECS)
def test_a_compressed_table_is_read_to_its_end(codec: str, damage: str, is_read: bool, tmp_path: Path) -> None:
    source = {"fileObject": {"@id": "f"}, "extract": {"column": "a"}}
    field = {"@type": "cr:Field", "@id": "r/a", "dataType": "sc:Integer", "source": source}
    record_sets = [{"@type": "cr:RecordSet", "@id": "r", "field": [field]}] if is_read else []
    table = _CODECS[codec](b"a,b\n1,2\n")
    assert judged(tmp_path, f"a.csv.{codec}", table, *record_sets) == []
    code = "GEN101" if "cut" in damage else "GEN102"
    assert [code for code, _ in judged(tmp_path, f"a.csv.{codec}", _DAMAGES[damage](table), *record_sets)] == [code]


@pytest.mark.parametrize("codec", ["gz", "xz"])
def test_rows_before_a_damage_are_judged(codec: str, tmp_path: Path) -> None:
    source = {"fileObject": {"@id": "f"}, "extract": {"column": "a"}}
    field = {"@type": "cr:Field", "@id": "r/a", "dataType": "sc:Integer", "source": source}
    table = _CODECS[codec](b"a,b\nx,2\n")[:-2]
    found = judged(tmp_path, f"a.csv.{codec}", table, {"@type": "cr:RecordSet", "@id": "r", "field": [field]})
    assert [code for code, _ in found] == ["CRO609", "GEN101"]


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (bytes(1024), []),
        (bytes(512), []),
        (b"", [("CRO604", "warning")]),
        (bytes(100), [("CRO604", "error")]),
        (b"x" * 512, [("CRO604", "error")]),
    ],
    ids=["whole", "one block", "no end", "cut in a block", "a damaged header"],
)
@pytest.mark.parametrize("codec", ["", ".gz"])
def test_the_end_of_a_tar(codec: str, end: bytes, expected: list[object], tmp_path: Path) -> None:
    data = TARRED[:_BLOCKS] + end
    assert judged(tmp_path, f"a.tar{codec}", gzip.compress(data) if codec else data) == expected


def test_data_around_a_zip(tmp_path: Path) -> None:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("a.txt", b"x")
        archive.comment = b"a comment"
    assert judged(tmp_path, "a.zip", sink.getvalue()) == []
    assert judged(tmp_path, "a.zip", sink.getvalue() + b"\n") == [("CRO604", "warning")]
    assert judged(tmp_path, "a.zip", b"PK\x03\x04xx" + sink.getvalue()) == [("CRO604", "warning")]
    assert judged(tmp_path, "a.zip", b"x" + sink.getvalue()) == [("CRO604", "error")]


def zip_of(content: bytes, method: int, stated: int, flags: int = 0, said_method: int | None = None) -> bytes:
    """Return a zip of one member, with the size and checksum of its first `stated` bytes."""
    data = bytearray(zipped({"m.txt": content}, method))
    facts = zlib.crc32(content[:stated]), stated
    for start, at_flags, at_crc, at_size in ((0, 6, 14, 22), (data.rindex(b"PK\x01\x02"), 8, 16, 24)):
        struct.pack_into("<HH", data, start + at_flags, flags, method if said_method is None else said_method)
        struct.pack_into("<I", data, start + at_crc, facts[0])
        struct.pack_into("<I", data, start + at_size, facts[1])
    return bytes(data)


@pytest.mark.parametrize("size", [1, 2_000_000])
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_member_has_the_size_in_the_directory(method: int, size: int, tmp_path: Path) -> None:
    content = b"x" * size
    assert judged(tmp_path, "a.zip", zip_of(content, method, size)) == []
    for stated in {0, size // 2}:
        assert judged(tmp_path, "a.zip", zip_of(content, method, stated)) == [("CRO604", "error")]


def test_a_member_without_the_end_of_its_stream(tmp_path: Path) -> None:
    content = b"one\n"
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    whole = packer.compress(content) + packer.flush(zlib.Z_SYNC_FLUSH)
    for ending, expected in ((packer.flush(), []), (b"", [("CRO604", "error")])):
        stored = bytearray(zipped({"m.txt": whole + ending}, zipfile.ZIP_STORED))
        for start, at in ((0, 8), (stored.rindex(b"PK\x01\x02"), 10)):
            struct.pack_into("<H", stored, start + at, zipfile.ZIP_DEFLATED)
            struct.pack_into("<I", stored, start + at + 6, zlib.crc32(content))
            struct.pack_into("<I", stored, start + at + 14, len(content))
        assert judged(tmp_path, "a.zip", bytes(stored)) == expected


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, 99])
def test_an_encrypted_member_is_said_to_be(method: int, tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(zip_of(b"x", zipfile.ZIP_STORED, 1, 1, method))
    (found,) = errors(check(tmp_path / "a.json", document(isLiveDataset=True, distribution=[ARCHIVE]), data=True))
    assert (found.code, found.message) == ("CRO604", 'distribution "f": `a.tar` is corrupt: `m.txt` is encrypted')


def test_a_copy_is_an_archive_by_the_name_of_its_original(tmp_path: Path) -> None:
    (tmp_path / "copy").write_bytes(b"<html>")
    web = described(contentUrl="https://example.org/a.zip", encodingFormat="x/y", sha256=None)
    of_set = {"@type": "cr:FileSet", "@id": "s", "containedIn": {"@id": "f"}, "encodingFormat": "text/plain"}
    live = document(isLiveDataset=True, distribution=[web, {**of_set, "includes": "*.txt"}])
    (tmp_path / "a.json").write_text(json.dumps(live))
    report = corpusfmt.validate(tmp_path / "a.json", data=True, maps={"f": str(tmp_path / "copy")})
    assert [each.code for each in errors(report)] == ["CRO604"]


@pytest.mark.parametrize("path", ["/etc/passwd", "../a.json", "\\\\server\\a", "d/../../a.json"])
def test_nothing_outside_is_read(path: str, tmp_path: Path) -> None:
    assert checked(tmp_path, described(contentUrl=path)) == ["CRO601"]


def test_many_missing_files_are_compared_with_none_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [described(contentUrl=f"{number}.tar", sha256=None, **{"@id": f"f{number}"}) for number in range(1_000)]
    (tmp_path / "a.json").write_text(json.dumps(document(isLiveDataset=True, distribution=files)))
    entry = entry_of(str(tmp_path / "a.json"))
    found = storage.Storage(understood(entry), entry.folder(), {})
    compared: list[object] = []

    def is_equal(fault: Fault, other: object) -> bool:
        compared.append(other)
        return fault is other

    monkeypatch.setattr(Fault, "__eq__", is_equal)
    found.check()
    assert len(found.faults) == 1_000
    assert len(compared) < 1_000


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert checked(tmp_path, described(contentUrl="pipe")) == ["CRO601"]


CONTENT = {"m.txt": b"x\n" * 40, "d/n.txt": b""}
PACKED = (
    zipped(CONTENT),
    zipped(CONTENT, zipfile.ZIP_STORED),
    tarred(CONTENT),
    *(compress(tarred(CONTENT)) for compress in (gzip.compress, bz2.compress, lzma.compress)),
)


@given(damaged(*PACKED))
def test_damaged_archives(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "a.tar").write_bytes(data)
    live = document(isLiveDataset=True, distribution=[ARCHIVE, {**MEMBER, "contentUrl": "m.txt"}])
    report = check(folder / "a.json", live, data=True)
    assert {finding.code for finding in errors(report)} <= {"CRO601", "CRO604"}


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_with_another_method_than_deflate_is_left_out(method: int, tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(zipped(CONTENT, method))
    live = document(isLiveDataset=True, distribution=[ARCHIVE, {**MEMBER, "contentUrl": "m.txt"}])
    report = check(tmp_path / "a.json", live, data=True)
    assert not errors(report)
    assert f"the compression method {method}: pack it with deflate" in report.coverage.rules_not_run["CRO601"]


FOLDER = described(contentUrl="d", encodingFormat="application/x-folder", sha256=None)
NOT_THERE = 'distribution "m": no file `{}` in the container'


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("m.txt", []),
        ("./e/n.txt", []),
        ("gone.txt", [("CRO601", NOT_THERE.format("gone.txt"))]),
        ("e", [("CRO601", NOT_THERE.format("e"))]),
        ("m.txt/x.txt", [("CRO601", NOT_THERE.format("m.txt/x.txt"))]),
        ("e/empty.txt", [("CRO602", 'distribution "m": 0 bytes, `contentSize` says 1')]),
    ],
)
def test_members_of_a_folder(path: str, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    for name, content in (("m.txt", b"x"), ("e/n.txt", b"x"), ("e/empty.txt", b"")):
        (tmp_path / "d" / name).write_bytes(content)
    member = {**MEMBER, "contentUrl": path, "contentSize": "1 B"}
    found = errors(check(tmp_path / "a.json", document(isLiveDataset=True, distribution=[FOLDER, member]), data=True))
    assert [(each.code, each.message) for each in found] == expected
    places = {"CRO601": "/distribution/1/contentUrl", "CRO602": "/distribution/1/contentSize"}
    assert all(each.location.pointer == places[each.code] for each in found)


@pytest.mark.parametrize("path", ["link/x.txt", "link.txt"])
@pytest.mark.parametrize("folder", ["d", "dX", "d/"])
def test_members_of_a_folder_behind_links(path: str, folder: str, tmp_path: Path) -> None:
    (tmp_path / "a" / folder).mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x.txt").write_bytes(b"x")
    (tmp_path / "a" / folder / "link").symlink_to(tmp_path / "out")
    (tmp_path / "a" / folder / "link.txt").symlink_to(tmp_path / "out/x.txt")
    distribution = [{**FOLDER, "contentUrl": folder}, {**MEMBER, "contentUrl": path}]
    found = errors(check(tmp_path / "a/a.json", document(isLiveDataset=True, distribution=distribution), data=True))
    place = f"{folder.strip('/')}/{path.partition('/')[0]}"
    assert [(each.code, each.location.path) for each in found] == [("GEN002", place)]


def test_sets_in_a_folder_are_of_files(tmp_path: Path) -> None:
    (tmp_path / "d" / "e.txt").mkdir(parents=True)
    of_set = {"@type": "cr:FileSet", "@id": "s", "containedIn": {"@id": "f"}, "encodingFormat": "text/plain"}
    live = document(isLiveDataset=True, distribution=[FOLDER, {**of_set, "includes": "*.txt"}])
    assert check(tmp_path / "a.json", live, data=True).by_rule["CRO605"] == 1
    (tmp_path / "d" / "m.txt").write_bytes(b"x")
    assert "CRO605" not in check(tmp_path / "a.json", live, data=True).by_rule


@pytest.mark.parametrize("what", ["members", "files"])
def test_more_names_than_fit_into_memory(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "_MOST_HELD_BYTES", 2000)
    contents = {f"{number}.txt": b"" for number in range(100)}
    (tmp_path / "d").mkdir()
    for name in contents:
        (tmp_path / "d" / name).write_bytes(b"")
    packed(tmp_path / "a.tar", contents)
    container = ARCHIVE if what == "members" else FOLDER
    found = errors(check(tmp_path / "a.json", document(isLiveDataset=True, distribution=[container]), data=True))
    assert [(each.code, each.location.path) for each in found] == [("GEN003", container["contentUrl"])]
    assert re.fullmatch(rf"more than [\d,]+ {what} do not fit into memory", found[0].message)


def test_without_the_option_no_file_is_opened(tmp_path: Path) -> None:
    report = check(tmp_path / "a.json", document(distribution=described(contentUrl="gone.csv")))
    assert errors(report) == []


def test_files_on_the_web_are_said_to_be_left_out(tmp_path: Path) -> None:
    web = described(contentUrl="https://example.org/a.csv")
    report = check(tmp_path / "a.json", document(distribution=web), data=True)
    assert (
        report.coverage.rules_not_run["CRO601"]
        == "1 file is on the web, and nothing is fetched: --map names local copies"
    )


def test_a_file_counts_as_it_is_stored_and_as_it_is_meant(tmp_path: Path) -> None:
    stored = gzip.compress(b"x\n" * 5000)
    (tmp_path / "a.gz").write_bytes(stored)
    with limited(UNLIMITED) as meter:
        content = b"".join(decompressed(raw(entry_of(str(tmp_path / "a.gz"))), "a.gz", "a.gz"))
    assert (meter.stored, meter.read) == (len(stored), len(content))
