"""Outputs appear whole or not at all."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from support import run_cli, tree

from corpusfmt.io.paths import is_partial
from corpusfmt.io.publish import (
    create_bytes,
    is_written_in_place,
    note_published,
    publish,
    publish_all,
    publish_bytes,
    published,
    writing,
)
from corpusfmt.model import UsageError


def test_published_when_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "new" / "file"
    with publish(target) as file:
        file.write(b"whole")
        (partial,) = target.parent.iterdir()
        assert is_partial(partial.name)  # hidden, and known to who looks for files to be gone
    assert tree(tmp_path) == {"new/file": b"whole"}
    assert target.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not list open files")
def test_no_file_stays_open(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    publish_bytes(tmp_path / "file", b"whole")
    assert os.listdir("/proc/self/fd") == before


def test_a_file_aside_is_published_into_a_new_folder(tmp_path: Path) -> None:
    publish_bytes(tmp_path / "new/folder/file", b"whole", aside=tmp_path / "aside")
    note = b"ebe3ad874cca45dd../new/folder/file\0"
    assert tree(tmp_path) == {"aside/published": 2 * note, "new/folder/file": b"whole"}


def test_damage_in_one_place_of_a_list_loses_no_name_and_is_seen(tmp_path: Path) -> None:
    names = {tmp_path / name for name in ("a", "b@c", "new folder/d")}
    note_published(tmp_path, sorted(names))
    whole = (tmp_path / "published").read_bytes()
    assert published(tmp_path) == (sorted(names), True)
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        (tmp_path / "published").write_bytes(damaged)
        paths, is_whole = published(tmp_path)
        assert (set(paths), is_whole) == (names, False)
    for size in range(len(whole) // 2, len(whole)):  # a run was killed while it wrote the second copy
        (tmp_path / "published").write_bytes(whole[:size])
        paths, is_whole = published(tmp_path)
        assert (set(paths), is_whole) == (names, whole[:size].endswith(b"\0"))


@pytest.mark.parametrize("names", [["a"], ["a", "b"]])
def test_damage_that_loses_a_name_is_seen(tmp_path: Path, names: list[str]) -> None:
    note_published(tmp_path, [tmp_path / name for name in names])
    whole = (tmp_path / "published").read_bytes()
    for first in range(len(whole)):
        for second in range(first, len(whole)):
            damaged = bytearray(whole)
            damaged[first] ^= 1
            damaged[second] ^= 2
            (tmp_path / "published").write_bytes(damaged)
            assert not published(tmp_path)[1]


@pytest.mark.parametrize(("named", "told"), [((), "file"), (("other",), "other")])
def test_a_failure_to_write_names_the_file(named: tuple[str, ...], told: str) -> None:
    with pytest.raises(OSError, match="No space left") as raised, writing(Path("file")):
        raise OSError(errno.ENOSPC, "No space left on device", *named)
    assert raised.value.filename == told


def test_an_exception_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "file"
    publish_bytes(target, b"old")

    def fail() -> None:
        with publish(target) as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert tree(tmp_path) == {"file": b"old"}


def test_a_kill_leaves_nothing_under_the_final_name(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from corpusfmt.io.publish import publish\n"
        "with publish(Path(sys.argv[1])) as file:\n"
        "    file.write(b'half'); file.flush(); print('written', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, tmp_path / "file"], stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"written\n"
        process.send_signal(signal.SIGKILL)
    assert not (tmp_path / "file").exists()


def test_the_mask_of_new_files_is_never_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", lambda _: pytest.fail("another thread makes files meanwhile"))
        publish_bytes(tmp_path / "file", b"")
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_a_fifo_is_written_in_place(tmp_path: Path) -> None:
    fifo, read = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    publish_bytes(fifo, b"whole")
    reader.join()
    assert read == [b"whole"]
    assert stat.S_ISFIFO(fifo.lstat().st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["fifo"]


def test_a_device_is_written_in_place(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")
    publish_bytes(device, b"nothing")
    assert stat.S_ISCHR(device.lstat().st_mode)


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no process substitution")
def test_process_substitution_and_standard_output(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id":"a","text":"b","source":"s"}\n', "utf-8")
    read, write = os.pipe()
    with open(read, "rb") as pipe:
        done = run_cli("validate", tmp_path / "a.jsonl", "--report", f"concise=/dev/fd/{write}", pass_fds=[write])
        os.close(write)
        assert done.returncode == 0
        assert b"VALID: 0 errors" in pipe.read()
    done = run_cli("validate", tmp_path / "a.jsonl", "--report", "jsonl=/dev/stdout")
    assert b"VALID: 0 errors" in done.stdout
    assert b'"kind":"summary"' in done.stdout
    whole = tmp_path / "whole"
    with whole.open("wb") as file:
        command = [
            sys.executable,
            "-m",
            "corpusfmt",
            "validate",
            str(tmp_path / "a.jsonl"),
            "--report",
            "jsonl=/dev/stdout",
        ]
        assert subprocess.run(command, stdout=file, check=False).returncode == 0
    assert [line[:20] for line in whole.read_bytes().split(b"\n")] == [line[:20] for line in done.stdout.split(b"\n")]


@pytest.mark.skipif(not Path("/dev/stdout").is_symlink(), reason="no /dev/stdout")
def test_standard_output_is_written_in_place_where_it_is_a_file(tmp_path: Path) -> None:
    before = os.dup(1)
    try:
        with (tmp_path / "file").open("wb") as file:
            os.dup2(file.fileno(), 1)
        assert is_written_in_place(Path("/dev/stdout"))
    finally:
        os.dup2(before, 1)
        os.close(before)


def test_a_link_is_neither_replaced_nor_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    for target in ("file", "nowhere"):
        link = tmp_path / f"link to {target}"
        link.symlink_to(target)
        with pytest.raises(UsageError, match="symbolic link"):
            publish_bytes(link, b"new")
        assert link.is_symlink()
    assert (tmp_path / "file").read_bytes() == b"old"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no shared memory")
def test_a_link_in_shared_memory_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        link = Path(folder) / "link"
        link.symlink_to(tmp_path / "file")
        with pytest.raises(UsageError, match="symbolic link"):
            publish_bytes(link, b"new")
    assert (tmp_path / "file").read_bytes() == b"old"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc")
@pytest.mark.parametrize("folder", ["/dev/fd", "/proc/self/fd", "/proc/thread-self/fd"])
def test_what_a_process_has_open_is_written_in_place(tmp_path: Path, folder: str) -> None:
    with (tmp_path / "file").open("ab") as file:
        publish_bytes(Path(folder, str(file.fileno())), b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


@pytest.mark.parametrize("links", [True, False], ids=["links", "no-links"])
def test_a_file_is_created_once(links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if not links:  # as on some network file systems
        monkeypatch.setattr(os, "link", refuse)
    create_bytes(tmp_path / "claim", b"first")
    create_bytes(tmp_path / "claim", b"second")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"claim": b"first"}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o666])
def test_the_mode_of_a_replaced_file_stays(mode: int, tmp_path: Path) -> None:
    for name in ("alone", "aside", "together"):
        (tmp_path / name).write_bytes(b"before")
        (tmp_path / name).chmod(mode)
    publish_bytes(tmp_path / "alone", b"after")
    (tmp_path / "state").mkdir()
    publish_bytes(tmp_path / "aside", b"after", aside=tmp_path / "state")
    (tmp_path / "state" / "partial").write_bytes(b"after")
    publish_all({tmp_path / "state" / "partial": tmp_path / "together"}, aside=tmp_path / "state")
    for name in ("alone", "aside", "together"):
        assert (tmp_path / name).read_bytes() == b"after"
        assert (tmp_path / name).stat().st_mode & 0o777 == mode


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_nobody_reads_a_file_that_replaces_a_private_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"before")
    (tmp_path / "file").chmod(0o600)
    with publish(tmp_path / "file") as file:
        file.write(b"secret")
        file.flush()
        modes = {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {0o600}
