"""Any content of a disk is reported, without a crash, a hang or unbounded memory."""

from __future__ import annotations

import gzip
import os
import random
import socket
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from oscar.corpus import Tree, gunzip, gz, release, relisted, write
from support import LONG_LINE

import corpusfmt
from corpusfmt.io.limits import Limits
from corpusfmt.model import Report, Verdict

AF, DE = "af/af.txt.gz", "de/de_part_2.txt.gz"


@pytest.fixture
def tree() -> Tree:
    return release("1.1", {"af": [[2, 1, 3]], "de": [[1, 2], [2, 2]]}).tree()


def told(report: Report) -> list[tuple[str, str]]:
    return sorted({(finding.code, finding.location.path) for finding in report.findings})


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_a_file_without_read_permission(tree: Tree, tmp_path: Path) -> None:
    write(tree, tmp_path)
    (tmp_path / AF).chmod(0)
    report = corpusfmt.validate(tmp_path)
    assert told(report) == [("GEN001", AF)]
    assert report.verdict is Verdict.INCOMPLETE


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_a_directory_without_read_permission(tree: Tree, tmp_path: Path) -> None:
    write(tree, tmp_path)
    (tmp_path / "de").chmod(0)
    try:
        report = corpusfmt.validate(tmp_path)
    finally:
        (tmp_path / "de").chmod(0o755)
    assert ("GEN001", "de") in told(report)
    assert report.verdict is Verdict.INCOMPLETE


# Everything is imported, and used once, before the rights are given up: the interpreter may be out of reach without them.
UNPRIVILEGED = """
import os, sys
import corpusfmt
corpusfmt.validate(sys.argv[1])
os.setgid(65534)
os.setuid(65534)
report = corpusfmt.validate(sys.argv[2])
print(report.verdict, sorted({(each.code, each.location.path) for each in report.findings}))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("path", [AF, "de", "af/af_sha256.txt"])
def test_what_another_user_may_not_read(path: str, tree: Tree, tmp_path: Path) -> None:
    for parent in (tmp_path, *(each for each in tmp_path.parents if each.name.startswith(("pytest-", "popen-")))):
        parent.chmod(0o755)
    whole, closed = write(tree, tmp_path / "whole"), write(tree, tmp_path / "closed")
    (closed / path).chmod(0)
    command = [sys.executable, "-c", UNPRIVILEGED, str(whole), str(closed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "incomplete" in done.stdout, done.stderr
    assert f"('GEN001', '{path}')" in done.stdout


def test_a_socket_and_a_pipe_where_files_are_expected(tree: Tree, tmp_path: Path) -> None:
    del tree[AF]
    write(tree, tmp_path)
    os.mkfifo(tmp_path / DE.replace("2", "3"))
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(tmp_path / "af")  # the name of a socket may not be long
        try:
            server.bind("af.txt.gz")
        finally:
            os.chdir(here)
        report = corpusfmt.validate(tmp_path)
    assert {("GEN001", AF), ("GEN001", "de/de_part_3.txt.gz")} <= set(told(report))
    assert report.verdict is Verdict.INCOMPLETE


def test_links_that_lead_nowhere_or_in_circles(tree: Tree, tmp_path: Path) -> None:
    write(tree, tmp_path)
    (tmp_path / AF).unlink()
    (tmp_path / AF).symlink_to(tmp_path / AF)
    (tmp_path / "af" / "up").symlink_to(tmp_path)
    (tmp_path / "de" / "nowhere").symlink_to(tmp_path / "nothing")
    report = corpusfmt.validate(tmp_path)
    assert told(report) == [("GEN001", AF), ("GEN001", "de/nowhere"), ("OSC109", "af/up")]
    read = [gunzip(data) for path, data in tree.items() if path.endswith(".gz") and path != AF]
    assert report.coverage.bytes == sum(map(len, read))


def test_a_directory_where_a_file_is_expected(tree: Tree, tmp_path: Path) -> None:
    data = tree.pop(AF)
    write(tree | {f"{AF}/{Path(AF).name}": data}, tmp_path)
    report = corpusfmt.validate(tmp_path)
    assert ("OSC109", AF) in told(report)
    assert "GEN000" not in report.by_rule


def test_names_of_other_scripts_and_of_no_encoding(tree: Tree, tmp_path: Path) -> None:
    write(tree | {"af/примечание.md": b"x", "中文/文.txt.gz": gz(b"x\n")}, tmp_path)
    with open(os.fsencode(tmp_path) + b"/de/\xff\xfe.txt.gz", "wb") as file:
        file.write(gz(b"x\n"))
    report = corpusfmt.validate(tmp_path)
    assert told(report) == [
        ("OSC102", "中文"),
        ("OSC108", "de/\\xff\\xfe.txt.gz"),
        ("OSC109", "af/примечание.md"),
    ]


@pytest.mark.parametrize("path", [AF, "af/af_meta.jsonl.gz", "af/af_sha256.txt"])
def test_empty_files(path: str, tree: Tree, tmp_path: Path) -> None:
    report = corpusfmt.validate(write(tree | {path: b""}, tmp_path))
    assert told(report) == [("OSC201" if path.endswith(".txt") else "GEN101", path)]


def test_a_list_that_is_no_text(tree: Tree, tmp_path: Path) -> None:
    report = corpusfmt.validate(write(tree | {"af/af_sha256.txt": os.urandom(1 << 16)}, tmp_path))
    assert told(report) == [("OSC202", "af/af_sha256.txt")]


def test_a_list_of_one_endless_line(tree: Tree, tmp_path: Path) -> None:
    report = corpusfmt.validate(write(tree | {"af/af_sha256.txt": b"0" * (1 << 22)}, tmp_path))
    assert told(report) == [("OSC202", "af/af_sha256.txt")]


def test_a_bound_that_is_reached_ends_one_part(tree: Tree, tmp_path: Path) -> None:
    report = corpusfmt.validate(write(tree, tmp_path), limits=Limits(total_bytes=100))
    found = {(each.location.path, each.hint) for each in report.findings if each.code == "GEN003"}
    assert (AF, "raise --limit total-bytes or name less data") in found
    assert "GEN000" not in report.by_rule


def test_what_is_not_compared_with_a_file_that_breaks_off_is_named(tree: Tree, tmp_path: Path) -> None:
    assert not corpusfmt.validate(write(tree, tmp_path)).coverage.not_run
    (tmp_path / AF).write_bytes(tree[AF][:-9])
    left_out = corpusfmt.validate(tmp_path).coverage.not_run
    compared = ("OSC501", "OSC502", "OSC503", "OSC504", "OSC505", "OSC605")
    assert {rule for path, rule, why in left_out if (path, why) == (AF, "the file is truncated")} == set(compared)
    assert {path for path, _, _ in left_out} == {AF}


def test_a_last_line_that_is_too_long_is_named_although_the_file_breaks_off(tree: Tree, tmp_path: Path) -> None:
    packed = gz(gunzip(tree[AF]) + random.Random(1).randbytes(20_000).replace(b"\n", b""))
    report = corpusfmt.validate(write(tree | {AF: packed[:-100]}, tmp_path), max_line_bytes=10_000)
    assert (AF, "GEN302", "the file is corrupt") in report.coverage.not_run


def test_what_was_found_in_a_corrupt_file_is_taken_back(tree: Tree, tmp_path: Path) -> None:
    first, last = gunzip(tree[AF]).split(b"\n", 1)
    packed = gz(b"\0" + first + b"\n") + gz(last)
    report = corpusfmt.validate(write(relisted(tree | {AF: packed}), tmp_path / "whole"), select=["GEN101", "OSC307"])
    assert told(report) == [("OSC307", AF)]
    damaged = packed[:-8] + bytes(4) + packed[-4:]
    report = corpusfmt.validate(write(relisted(tree | {AF: damaged}), tmp_path / "damaged"))
    assert told(report) == [("GEN101", AF)]
    assert (AF, "OSC307", "the file is corrupt") in report.coverage.not_run


# The system's own figure for a child begins with what its parent held, so the child has to look itself.
MEASURED = """
import re, sys
from pathlib import Path
import corpusfmt

def peak():
    return int(re.search(r"VmHWM:\\s+([0-9]+)", Path("/proc/self/status").read_text())[1]) // 1024

corpusfmt.validate(sys.argv[1])
before = peak()
report = corpusfmt.validate(sys.argv[2], max_line_bytes=1 << 24)
print(peak() - before, *sorted(report.by_rule))
"""
ON_LINUX = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")


def grown(small: Path, large: Path) -> tuple[int, list[str]]:
    """Return by how many MiB the memory of a process grew from a small corpus to a large one, and what was told."""
    command = [sys.executable, "-c", MEASURED, str(small), str(large)]
    growth, *rules = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return int(growth), rules


@ON_LINUX
def test_a_bomb_of_one_line(tree: Tree, tmp_path: Path) -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(b"x" * (1 << 20)) for _ in range(160)) + packer.flush()
    small = write(tree, tmp_path / "small")
    large = write(relisted(tree | {AF: bomb}), tmp_path / "large")
    growth, rules = grown(small, large)
    assert "GEN302" in rules
    assert growth < 80


@ON_LINUX
def test_metadata_that_goes_on_for_long(tree: Tree, tmp_path: Path) -> None:
    path = "af/af_meta.jsonl.gz"
    first = gunzip(tree[path]).split(b"\n")[0]
    more = gunzip(tree[path]) + (first + b"\n") * 100_000
    small = write(tree, tmp_path / "small")
    large = write(relisted(tree | {path: gzip.compress(more, 1, mtime=0)}), tmp_path / "large")
    growth, rules = grown(small, large)
    assert {"OSC502", "OSC505"} & set(rules)
    assert growth < 80


def test_deep_nesting_in_metadata(tree: Tree, tmp_path: Path) -> None:
    path = "af/af_meta.jsonl.gz"
    lines = gunzip(tree[path]).split(b"\n")
    lines[1] = lines[1][:-1] + b',"more":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    report = corpusfmt.validate(write(relisted(tree | {path: gz(b"\n".join(lines))}), tmp_path))
    assert told(report) == [("GEN301", path)]


def test_no_file_handles_are_left_open(tree: Tree, tmp_path: Path) -> None:
    write(relisted(tree | {AF: tree[AF][:50]}), tmp_path)
    before = len(os.listdir("/dev/fd"))
    for _ in range(5):
        corpusfmt.validate(tmp_path, dedup=True)
    assert len(os.listdir("/dev/fd")) == before


@pytest.mark.parametrize("count", ['"one"', "-1", "1.5", "null"])
def test_a_single_record_without_a_usable_count_ends_the_comparison(tmp_path: Path, count: str) -> None:
    folder = tmp_path / "en"
    folder.mkdir()
    text = gz(LONG_LINE.encode() + b"\n\n")
    metadata = gz(b'{"headers":{},"offset":0,"nb_sentences":%s}\n' % count.encode())
    for name, data in (("en.txt.gz", text), ("en_meta.jsonl.gz", metadata)):
        (folder / name).write_bytes(data)
    report = corpusfmt.validate(tmp_path, select=["OSC4", "OSC5"])
    assert report.by_rule["OSC402"] == 1
