"""Inputs that come and go: the same bytes as a plain build, little on disk, and nothing deleted too early."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import LONG_LINE, corpus, run_cli, tree, wet_file, wet_record

import corpusfmt
from corpusfmt.engine.executors import available_processors
from corpusfmt.io.paths import entry_of
from corpusfmt.model import Incomplete, UsageError
from corpusfmt.pipeline.intake import fetch, supply
from corpusfmt.pipeline.intake.inputs import arrival_of
from corpusfmt.pipeline.intake.supply import remove_if_unchanged
from corpusfmt.pipeline.options import Sourcing

COUNT = 5
BROKEN = "broken.warc.wet.gz"


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Inputs that share lines, so that the order of arrival would show."""
    folder = tmp_path_factory.mktemp("files")
    for number in range(COUNT):
        lines = [f"{LONG_LINE} {(number * 7 + line) % 30}\n" for line in range(20)]
        wet_file(folder / f"{number}.warc.wet.gz", [wet_record(number * 100 + n, line) for n, line in enumerate(lines)])
    return folder


@pytest.fixture(scope="session")
def plain(files: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a plain build makes of them."""
    out = tmp_path_factory.mktemp("plain") / "out"
    corpusfmt.build(files, out)
    return tree(out)


@pytest.fixture
def copies(files: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(files, tmp_path / "wet"))


@pytest.fixture
def listed(files: Path, tmp_path: Path) -> Path:
    path = tmp_path / "wet.paths"
    path.write_text("".join(f"{name.name}\n" for name in sorted(files.iterdir(), reverse=True)))
    return path


def state_bytes(out: Path) -> int:
    """What counts against the scratch limit, of which unfinished files of the corpus are no part."""
    sizes = 0
    for path in (out / ".corpusfmt").rglob("*"):
        try:
            sizes += path.stat().st_size if path.is_file() and "aside" not in path.parts else 0
        except FileNotFoundError:
            continue
    return sizes


@pytest.mark.parametrize("jobs", [1, 2])
def test_inputs_are_deleted_once_they_are_stored(
    tmp_path: Path, copies: Path, plain: dict[str, bytes], jobs: int
) -> None:
    report = corpusfmt.build(copies, tmp_path / "out", jobs=jobs, sourcing=Sourcing(delete_input=True))
    assert report.verdict.value == "valid"
    assert list(copies.iterdir()) == []
    assert tree(tmp_path / "out") == plain


def test_what_is_quarantined_or_has_changed_is_not_deleted(tmp_path: Path, copies: Path) -> None:
    (copies / BROKEN).write_bytes((copies / "0.warc.wet.gz").read_bytes()[:-100])
    report = corpusfmt.build(copies, tmp_path / "out", sourcing=Sourcing(delete_input=True))
    assert [each.location.path for each in report.findings] == [BROKEN]
    assert [path.name for path in copies.iterdir()] == [BROKEN]
    arrival = arrival_of(entry_of(str(copies / BROKEN)))
    os.utime(copies / BROKEN, ns=(1, 1))
    remove_if_unchanged(arrival)
    assert (copies / BROKEN).exists()


def test_killed_runs_that_delete_their_inputs_resume_to_the_same_bytes(
    tmp_path: Path, copies: Path, plain: dict[str, bytes]
) -> None:
    out = tmp_path / "out"
    rng = random.Random(3)
    for attempt in range(4):
        command = [sys.executable, "-m", "corpusfmt", "build", str(copies), "--output", str(out), "--delete-input"]
        with subprocess.Popen([*command, "--jobs", str(1 + attempt % 2)], stderr=subprocess.DEVNULL) as run:
            wanted = max(0, len(list(copies.iterdir())) - 1 - attempt % 2)
            while run.poll() is None and len(list(copies.iterdir())) > wanted:
                time.sleep(0.002)
            time.sleep(rng.uniform(0, 0.02))
            run.send_signal(signal.SIGKILL)
        if (out / "MANIFEST.json").exists():
            break
    assert len(list(copies.iterdir())) < COUNT
    if (out / ".corpusfmt").exists():
        assert run_cli("build", copies, "--output", out).returncode == 2
        assert run_cli("build", copies, "--output", out, "--delete-input").returncode == 0
    assert tree(out) == plain


def test_a_run_whose_inputs_are_all_gone_resumes(
    tmp_path: Path, copies: Path, plain: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wet.paths").write_text("".join(f"{path.name}\n" for path in copies.iterdir()))
    named = [*map(str, copies.iterdir()), str(copies), str(copies / "*.gz"), str(tmp_path / "wet.paths")]
    sourcing = Sourcing(delete_input=True, base=str(copies))
    monkeypatch.setattr("corpusfmt.pipeline.run.packaged", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        corpusfmt.build(named, tmp_path / "out", sourcing=sourcing)
    monkeypatch.undo()
    assert list(copies.iterdir()) == []
    with pytest.raises(UsageError, match="does not exist"):
        corpusfmt.build(named, tmp_path / "another", sourcing=sourcing)
    corpusfmt.build(named, tmp_path / "out", sourcing=sourcing)
    assert tree(tmp_path / "out") == plain


def test_a_watched_folder_is_taken_as_it_fills(
    tmp_path: Path, files: Path, plain: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supply, "_SETTLED_SECONDS", 0.3)
    monkeypatch.setattr(supply, "_LOOK_SECONDS", 0.05)
    folder = tmp_path / "in"
    folder.mkdir()
    taken: list[tuple[str, Any]] = []

    def fill() -> None:
        for path in sorted(files.iterdir(), reverse=True):
            data = path.read_bytes()
            with (folder / path.name).open("wb") as file:
                for start in range(0, len(data), 400):
                    file.write(data[start : start + 400])
                    file.flush()
                    time.sleep(0.01)
        (folder / "half.warc.wet.gz.part").write_bytes(b"half")
        (folder / "_DONE").touch()

    writer = threading.Thread(target=fill)
    writer.start()
    report = corpusfmt.build(
        [],
        tmp_path / "out",
        sourcing=Sourcing(watch=folder, delete_input=True),
        progress=lambda stage, step: taken.append((stage, step.shards)),
    )
    writer.join()
    assert report.verdict.value == "valid"
    assert tree(tmp_path / "out") == plain
    assert sorted(path.name for path in folder.iterdir()) == ["_DONE", "half.warc.wet.gz.part"]
    assert ("process", COUNT) in taken


def test_a_stalled_copy_is_taken_again_when_it_is_whole(
    tmp_path: Path, files: Path, plain: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supply, "_SETTLED_SECONDS", 0.05)
    monkeypatch.setattr(supply, "_LOOK_SECONDS", 0.02)
    folder = tmp_path / "in"
    shutil.copytree(files, folder)
    stalled = folder / "3.warc.wet.gz"
    whole = stalled.read_bytes()
    stalled.write_bytes(whole[: len(whole) // 2])
    log = tmp_path / "log.jsonl"

    def finish() -> None:
        while b'"quarantine"' not in (log.read_bytes() if log.exists() else b""):
            time.sleep(0.02)
        stalled.write_bytes(whole)
        (folder / "_DONE").touch()

    writer = threading.Thread(target=finish)
    writer.start()
    report = corpusfmt.build([], tmp_path / "out", sourcing=Sourcing(watch=folder, delete_input=True), log=log)
    writer.join()
    assert report.verdict.value == "valid"
    assert tree(tmp_path / "out") == plain
    assert [path.name for path in folder.iterdir()] == ["_DONE"]


def test_watching_ends_with_a_count(
    tmp_path: Path, copies: Path, plain: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supply, "_SETTLED_SECONDS", 0.05)
    monkeypatch.setattr(supply, "_LOOK_SECONDS", 0.02)
    corpusfmt.build([], tmp_path / "out", sourcing=Sourcing(watch=copies, watch_until=COUNT))
    assert tree(tmp_path / "out") == plain
    report = corpusfmt.build([], tmp_path / "two", sourcing=Sourcing(watch=copies, watch_until=2))
    assert report.coverage.shards_total == 2


def test_nothing_that_comes_is_no_corpus(tmp_path: Path, files: Path, plain: dict[str, bytes]) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "_DONE").touch()
    with pytest.raises(Incomplete, match="no input has arrived"):
        corpusfmt.build([], tmp_path / "out", sourcing=Sourcing(watch=folder))
    shutil.copytree(files, folder, dirs_exist_ok=True)
    done = run_cli("build", "--watch", folder, "--watch-until", str(COUNT), "--output", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, b"")
    assert tree(tmp_path / "out") == plain


def copying(files: Path, tmp_path: Path) -> str:
    """Return a command that downloads, and notes how many copies lie on disk."""
    script = tmp_path / "fetch.py"
    script.write_text(
        "import pathlib, shutil, sys\n"
        f"source, output = pathlib.Path({str(files)!r}, sys.argv[1]), pathlib.Path(sys.argv[2])\n"
        "shutil.copy(source, output)\n"
        "lying = len([path for path in output.parents[2].rglob('*') if path.is_file()])\n"
        f"with open({str(tmp_path / 'lying')!r}, 'a') as file:\n"
        "    file.write(f'{lying}\\n')\n"
    )
    return f"{sys.executable} {script} {{path}} {{output}}"


@pytest.mark.parametrize(("jobs", "ahead"), [(1, 1), (2, 3)])
def test_a_command_downloads_a_few_ahead(
    tmp_path: Path, files: Path, listed: Path, plain: dict[str, bytes], jobs: int, ahead: int
) -> None:
    command = copying(files, tmp_path)
    sourcing = Sourcing(fetch_command=command, fetch_ahead=ahead)
    report = corpusfmt.build(listed, tmp_path / "out", jobs=jobs, sourcing=sourcing)
    assert report.verdict.value == "valid"
    assert tree(tmp_path / "out") == plain
    lying = [int(line) for line in (tmp_path / "lying").read_text().split()]
    assert len(lying) == COUNT
    assert max(lying) <= ahead


def test_a_download_that_fails_is_tried_again_and_then_left_out(
    tmp_path: Path, files: Path, listed: Path, plain: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "_FIRST_PAUSE_SECONDS", 0.01)
    tries = tmp_path / "tries"
    tries.mkdir()
    code = (
        'n=$(ls "$0" | grep -c "^$1"); touch "$0/$1.$n"; '
        'case "$1" in 1*) [ "$n" -lt 2 ] && { echo "no route" >&2; exit 7; };; gone*) echo "not found" >&2; exit 22;; '
        'nothing*) exit 0;; esac; cp "$2/$1" "$3"'
    )
    command = f"sh -c '{code}' {tries} {{path}} {files} {{output}}"
    with listed.open("a") as file:
        file.write("gone.warc.wet.gz\nnothing.warc.wet.gz\n")
    report = corpusfmt.build(listed, tmp_path / "out", sourcing=Sourcing(fetch_command=command, fetch_ahead=2))
    assert report.verdict.value == "incomplete"
    assert {each.location.path: each.message for each in report.findings} == {
        "gone.warc.wet.gz": "cannot be read: the fetch command failed 3 times: status 22, not found",
        "nothing.warc.wet.gz": "cannot be read: the fetch command failed 3 times: no file was written",
    }
    assert len(list(tries.glob("1.*"))) == len(list(tries.glob("gone*"))) == fetch.ATTEMPTS
    assert len(list(tries.glob("2.*"))) == 1
    out = corpus(tmp_path / "out")
    del out["MANIFEST.json"]
    assert out == {path: data for path, data in plain.items() if path != "MANIFEST.json"}


def test_a_list_of_files_that_stay_where_they_are_is_fetched(
    tmp_path: Path, files: Path, plain: dict[str, bytes]
) -> None:
    listed = tmp_path / "wet.paths"
    listed.write_text("".join(f"{path}\n" for path in files.iterdir()))
    report = corpusfmt.build(listed, tmp_path / "out", sourcing=Sourcing(fetch_command="cp {path} {output}"))
    assert report.verdict.value == "valid"
    assert (tmp_path / "out/en/en.txt.gz").read_bytes() == plain["en/en.txt.gz"]
    assert len(list(files.iterdir())) == COUNT


def test_what_a_failed_attempt_has_written_is_gone_at_the_next(
    tmp_path: Path, files: Path, listed: Path, plain: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "_FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setenv("LYING", str(tmp_path / "lying"))
    code = (
        'd=${2%/*/*}; find "$d" -type f >> "$LYING"; n=${2#"$d"/}; n=${n%%/*}; '
        '[ "$n" -lt 2 ] && { echo half > "$2"; exit 1; }; cp "$0/$1" "$2"'
    )
    command = f"sh -c '{code}' {files} {{path}} {{output}}"
    corpusfmt.build(listed, tmp_path / "out", sourcing=Sourcing(fetch_command=command, fetch_ahead=1))
    assert (tmp_path / "lying").read_text() == ""
    assert tree(tmp_path / "out") == plain


def children(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield int(child)
            yield from children(int(child))


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads /proc")
def test_an_interrupted_run_ends_its_downloads(
    tmp_path: Path, files: Path, listed: Path, plain: dict[str, bytes]
) -> None:
    out = tmp_path / "out"
    slow = f"sh -c 'echo $$ >> {tmp_path}/pids; sleep 60; cp {files}/$0 $1' {{path}} {{output}}"
    command = [sys.executable, "-m", "corpusfmt", "build", str(listed), "--output", str(out), "--fetch-command"]
    with subprocess.Popen([*command, slow, "--fetch-ahead", "2"], stderr=subprocess.PIPE) as run:
        while run.poll() is None and not (tmp_path / "pids").exists():
            time.sleep(0.02)
        time.sleep(0.1)
        downloads = list(children(run.pid))
        run.send_signal(signal.SIGINT)
        _, stderr = run.communicate(timeout=60)
    assert (run.returncode, stderr) == (130, b"interrupted; run the same command again to resume\n")
    assert downloads
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in downloads) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in downloads if Path(f"/proc/{pid}").exists()]
    assert run_cli(*command[3:], copying(files, tmp_path)).returncode == 0
    assert tree(out) == plain


def test_what_was_downloaded_and_stored_is_not_downloaded_again(
    tmp_path: Path, files: Path, listed: Path, plain: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    sourcing = Sourcing(fetch_command=copying(files, tmp_path), fetch_ahead=1)
    monkeypatch.setattr("corpusfmt.pipeline.run.packaged", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        corpusfmt.build(listed, out, sourcing=sourcing)
    monkeypatch.undo()
    (tmp_path / "lying").unlink()
    corpusfmt.build(listed, out, sourcing=sourcing)
    assert not (tmp_path / "lying").exists()
    assert tree(out) == plain


def test_the_scratch_limit_holds_or_stops_the_run(tmp_path: Path, files: Path, plain: dict[str, bytes]) -> None:
    out = tmp_path / "out"
    with pytest.raises(Incomplete, match=r"0\.warc\.wet\.gz may need .* of scratch space in addition to 0 B in use"):
        corpusfmt.build(files, out, sourcing=Sourcing(scratch_limit=100))
    one = (files / "0.warc.wet.gz").stat().st_size
    with pytest.raises(Incomplete, match="run the same command again with a larger limit"):
        corpusfmt.build(files, out, sourcing=Sourcing(scratch_limit=one), jobs=2)
    stored = list((out / ".corpusfmt" / "process").glob("*.box"))
    assert 0 < len(stored) < COUNT
    assert sum(path.stat().st_size for path in stored) <= one
    done = run_cli("build", files, "--output", out, "--scratch-limit", "1MiB")
    assert done.returncode == 0
    assert tree(out) == plain


def test_what_is_kept_of_standard_input_counts_against_the_scratch_limit(
    tmp_path: Path, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (files / "0.warc.wet.gz").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    said = r"standard-input\.warc\.wet may need (.+) of scratch space in addition to \1 in use"
    with pytest.raises(Incomplete, match=said):
        corpusfmt.build("-", tmp_path / "out", sourcing=Sourcing(scratch_limit=len(data)))


@pytest.mark.parametrize("inputs_joined", [64, 2])
def test_running_inputs_wait_for_room_and_downloads_too(
    tmp_path: Path,
    files: Path,
    listed: Path,
    plain: dict[str, bytes],
    inputs_joined: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("corpusfmt.pipeline.dedup.compact._SMALLEST_GROUP", inputs_joined)
    sizes: list[int] = []
    # Like downloads, what is deleted cannot be read again: containers are kept until the end.
    deleted = Sourcing(delete_input=True)
    copies = Path(shutil.copytree(files, tmp_path / "copies"))
    corpusfmt.build(
        copies, tmp_path / "all", sourcing=deleted, progress=lambda *_: sizes.append(state_bytes(tmp_path / "all"))
    )
    one = max(path.stat().st_size for path in files.iterdir())
    limit = max(sizes) + 2 * one
    sizes.clear()
    out = tmp_path / "out"
    sourcing = Sourcing(fetch_command=copying(files, tmp_path), fetch_ahead=COUNT, scratch_limit=limit)
    corpusfmt.build(listed, out, sourcing=sourcing, jobs=2, progress=lambda *_: sizes.append(state_bytes(out)))
    assert max(sizes) <= limit
    assert max(int(line) for line in (tmp_path / "lying").read_text().split()) < COUNT
    assert tree(out) == plain


HOLES = "--fetch-command needs {path} (a line of the list) and {output} (the file to write)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"watch_until": 3}, "--watch-until needs --watch DIR"),
        ({"fetch_ahead": 3}, "--fetch-ahead needs --fetch-command"),
        ({"watch": Path("wet")}, "--watch takes its inputs from the folder: remove the other inputs"),
        ({"fetch_command": "curl {path}"}, HOLES),
        ({"fetch_command": "no-such-program {path} {output}"}, "--fetch-command: program no-such-program not found"),
        (
            {"fetch_command": "cp '{path} {output}"},
            """--fetch-command "cp '{path} {output}": No closing quotation""",
        ),
        ({"fetch_command": ""}, HOLES),
        (
            {"fetch_command": "cp {path} {output}", "base": "elsewhere"},
            "--fetch-command works with lists of paths (*.paths, *.paths.gz) and without --base",
        ),
    ],
    ids=str,
)
def test_options_that_contradict_each_other(listed: Path, tmp_path: Path, options: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        corpusfmt.build(listed, tmp_path / "out", sourcing=Sourcing(**options))
    assert str(caught.value) == message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("asked", "ahead"), [(0, 6), (1, 1), (7, 7)])
def test_two_downloads_for_each_worker_lie_ahead_unless_said(listed: Path, asked: int, ahead: int) -> None:
    sourcing = Sourcing(fetch_command="cp {path} {output}", fetch_ahead=asked)
    found = sourcing.supply([str(listed)], 3, resuming=False)
    assert isinstance(found, fetch.Fetched)
    assert found.ahead == ahead


def test_small_inputs_get_one_worker_and_those_of_unknown_size_as_many_as_there_are_processors(files: Path) -> None:
    for given, workers in ((str(files), 1), ("-", available_processors())):
        found = Sourcing().supply([given], None, resuming=False)
        assert (found.workers(None), found.workers(7)) == (workers, 7)


def test_a_command_takes_lists_only_and_a_watched_folder_must_be_there(tmp_path: Path, files: Path) -> None:
    with pytest.raises(UsageError, match=r"\*\.paths"):
        corpusfmt.build(files, tmp_path / "out", sourcing=Sourcing(fetch_command="cp {path} {output}"))
    with pytest.raises(UsageError, match="does not exist"):
        corpusfmt.build([], tmp_path / "out", sourcing=Sourcing(watch=tmp_path / "missing"))


def test_the_manifest_names_what_was_taken(tmp_path: Path, copies: Path) -> None:
    (copies / BROKEN).write_bytes(b"")
    corpusfmt.build(copies, tmp_path / "out", sourcing=Sourcing(delete_input=True))
    inputs = json.loads((tmp_path / "out" / "MANIFEST.json").read_bytes())["inputs"]
    assert [each["name"] for each in inputs] == [*(f"{n}.warc.wet.gz" for n in range(COUNT)), BROKEN]
    assert "quarantined" in inputs[-1]
