"""What a run reports while it is running, and how it resumes after being killed."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from documentation.sessions import code_for
from support import LONG_LINE, SAMPLE, corpus, run_cli, tree, wet_file, wet_record

import corpusfmt
from corpusfmt.cli import progress
from corpusfmt.engine.progress import Progress


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def test_the_log_tells_stages_tasks_and_quarantine(tmp_path: Path) -> None:
    wet_file(tmp_path / "wet" / "a.warc.wet.gz", [wet_record(1, f"{LONG_LINE}\n")])
    (tmp_path / "wet" / "b.warc.wet.gz").write_bytes(b"")
    log = tmp_path / "log.jsonl"
    done = run_cli("build", tmp_path / "wet", "--output", tmp_path / "out", "--log", log)
    assert done.returncode == 3
    assert b"excluded: b.warc.wet.gz: GEN101" in done.stderr
    told = events(log)
    assert [each["event"] for each in told if each["event"] != "task-end"][:4] == [
        "run-start",
        "stage-start",
        "quarantine",
        "stage-end",
    ]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", each["time"]) for each in told)
    stages = [each["stage"] for each in told if each["event"] == "stage-start"]
    assert stages[0] == "process"
    assert stages[-1] == "package"
    ended = [each for each in told if each["event"] == "task-end" and each["stage"] == "process"]
    assert [each["result"]["processed"]["stored"] for each in ended] == [{"en": 1}, {}]
    (quarantine,) = (each for each in told if each["event"] == "quarantine")
    assert quarantine["input"] == "b.warc.wet.gz"
    assert told[-1]["event"] == "run-end"
    assert (told[-1]["status"], told[-1]["stats"]["total"]["final"]["lines"]) == ("incomplete", 1)


def test_the_log_tells_how_many_lines_repeat_those_of_other_inputs(tmp_path: Path) -> None:
    lines = [f"{LONG_LINE} {number}\n" for number in range(4)]
    for name, own in (("a", lines), ("b", lines[1:])):
        wet_file(tmp_path / f"{name}.warc.wet.gz", [wet_record(number, line) for number, line in enumerate(own)])
    log = tmp_path / "log.jsonl"
    corpusfmt.build(tmp_path, tmp_path / "out", log=log)
    ended = [each["result"] for each in events(log) if each["event"] == "task-end" and each["stage"] == "dedup"]
    assert ended == [{"dropped": 3}]


def test_the_log_of_a_resumed_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wet_file(tmp_path / "a.warc.wet.gz", [wet_record(1, f"{LONG_LINE}\n")])
    log = tmp_path / "log.jsonl"
    for raised, status in ((KeyboardInterrupt(), "interrupted"), (OSError(28, "No space left on device"), "failed")):
        with monkeypatch.context() as patched:
            patched.setattr("corpusfmt.pipeline.run.packaged", lambda *_, error=raised: (_ for _ in ()).throw(error))
            with pytest.raises(type(raised)):
                corpusfmt.build(tmp_path / "a.warc.wet.gz", tmp_path / "out", log=log)
        assert (events(log)[-1]["event"], events(log)[-1]["status"]) == ("run-end", status)
    corpusfmt.build(tmp_path / "a.warc.wet.gz", tmp_path / "out", log=log)
    ended = [each["resumed"] for each in events(log) if each["event"] == "task-end" and each["stage"] == "process"]
    assert ended == [False, True, True]
    assert [each["status"] for each in events(log) if each["event"] == "run-end"] == ["interrupted", "failed", "valid"]
    begun = [(each["destination"], each["recipe"]) for each in events(log) if each["event"] == "run-start"]
    assert begun == [(str(tmp_path / "out"), "oscar-1.1")] * 3
    resumed = [(each["taken_over"], each["read"]) for each in events(log) if each["event"] == "resume"]
    assert resumed == [(1, 0), (1, 0)]


def test_heartbeats_tell_how_far_how_fast_and_how_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_HEARTBEAT_SECONDS", 0.02)
    told: list[str] = []
    with progress.shown_stages() as show:
        for done in range(3):
            show("process", Progress(done, 1200, done * 10_000_000, 100_000_000, f"{done} languages"))
            time.sleep(0.06)
        told += capsys.readouterr().err.split("\n")
        show("dedup", Progress(0, 0, 0, 0))
        time.sleep(0.06)
        told += capsys.readouterr().err.split("\n")
    assert "process: 0 of 1,200, 0 %, 0 languages" in told
    line = "process: 2 of 1,200, 20 %, 2.0 MB/s, 0:00:00 left, 2 languages"
    measured = re.compile(r"(?<=%, )\d+\.\d MB/s, \d:\d\d:\d\d")
    assert measured.sub("", line) in [measured.sub("", each) for each in told]
    (shown,) = code_for("tests/pipeline/test_operation.py")["docs/pipeline.md"]
    numbers = re.compile(r"[\d.,]*\d")
    assert numbers.sub("#", line) == numbers.sub("#", shown.strip())
    assert "dedup: 0" in told


def test_a_terminal_shows_stages_and_languages(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "corpusfmt", "build", str(SAMPLE), "--output", str(tmp_path / "out")]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL, env=environment) as run:
        os.close(theirs)
        shown = b""
        try:
            while data := os.read(ours, 65536):
                shown += data
        except OSError:
            pass
    os.close(ours)
    assert run.returncode == 0
    for part in (b"process 2 of 2", b"76 languages", b"package 1 of 1"):
        assert part in shown


def test_an_input_that_always_kills_its_worker_is_left_out(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    for number in range(4):
        wet_file(whole / f"{number}.warc.wet.gz", [wet_record(number, f"{LONG_LINE} {number % 3}\n")])
    mixed = Path(shutil.copytree(whole, tmp_path / "mixed"))
    shutil.copy(whole / "1.warc.wet.gz", mixed / "1-deadly.warc.wet.gz")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    options = ("--engine", "py:deadly:workers", "--jobs", "2")
    done = run_cli("build", mixed, "--output", tmp_path / "out", *options, env=environment)
    assert done.returncode == 3
    assert b"excluded: 1-deadly.warc.wet.gz: WET104" in done.stderr
    corpusfmt.build(whole, tmp_path / "clean")
    built, clean = corpus(tmp_path / "out"), tree(tmp_path / "clean")
    manifest = json.loads(built.pop("MANIFEST.json"))
    assert [each["name"] for each in manifest["inputs"] if "quarantined" in each] == ["1-deadly.warc.wet.gz"]
    del clean["MANIFEST.json"], clean["croissant.json"], built["croissant.json"]
    assert built == clean


def test_an_input_is_synchronised_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    fsync = os.fsync

    def counted(descriptor: int) -> None:
        calls.append(descriptor)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", counted)
    counts = []
    for number in (2, 7):
        for name in range(number):
            wet_file(tmp_path / f"{number}" / f"{name}.warc.wet.gz", [wet_record(name, f"{LONG_LINE} {name}\n")])
        calls.clear()
        corpusfmt.build(tmp_path / f"{number}", tmp_path / f"out-{number}")
        counts.append(len(calls))
    assert counts[1] - counts[0] == 5


def test_a_second_run_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    whole = wet_file(tmp_path / "a.warc.wet.gz", [wet_record(1, f"{LONG_LINE}\n")])
    out = tmp_path / "out"
    command = [sys.executable, "-m", "corpusfmt", "build", "-", "--output", str(out)]
    for data in (None, whole.read_bytes()):  # the first run is killed: its lock ends with it
        (out / ".corpusfmt" / "owner").unlink(missing_ok=True)
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
            assert run.stdin is not None
            while not (out / ".corpusfmt" / "owner").exists() and run.poll() is None:
                time.sleep(0.02)
            for options in ((), ("--min-lines", "2")):
                second = run_cli("build", whole, "--output", out, *options)
                assert second.returncode == 2
                assert second.stderr.startswith(f"error: another run is using {out}: wait".encode())
            if data is None:
                run.kill()
            else:
                run.communicate(data, timeout=60)
                assert run.returncode == 0
    assert corpusfmt.validate(out).verdict.value == "valid"


def children_of(pid: int, kind: bytes) -> list[int]:
    """Return the processes that a process has started whose command line holds some bytes."""
    lists = list(Path(f"/proc/{pid}/task").glob("*/children"))
    found = [int(child) for path in lists for child in path.read_text().split()]
    return [child for child in found if kind in Path(f"/proc/{child}/cmdline").read_bytes()]


def workers_of(pid: int) -> list[int]:
    """Return the workers that a run of `build` has forked itself, and those of its fork server."""
    servers = children_of(pid, b"forkserver")
    return [*children_of(pid, b"\0build\0"), *(child for server in servers for child in children_of(server, b""))]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads /proc")
def test_workers_killed_at_random_moments_cost_nothing(tmp_path: Path) -> None:
    wet = tmp_path / "wet"
    for number in range(4):
        lines = [f"{LONG_LINE} {(number * 31 + line) % 997}\n" * 5 for line in range(1200)]
        wet_file(wet / f"{number}.warc.wet.gz", [wet_record(number * 10_000 + n, line) for n, line in enumerate(lines)])
    corpusfmt.build(wet, tmp_path / "clean" / "out")
    out = tmp_path / "killed" / "out"
    rng = random.Random(17)
    killed = 0
    command = [sys.executable, "-m", "corpusfmt", "build", str(wet), "--output", str(out), "--jobs", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as run:
        pause = time.monotonic()
        while run.poll() is None:
            time.sleep(0.005)
            if killed < 2 and time.monotonic() > pause:
                try:
                    workers = workers_of(run.pid)
                    if workers and any((out / ".corpusfmt" / "process").glob("*.partial")):
                        os.kill(rng.choice(workers), signal.SIGKILL)
                        killed += 1
                        pause = time.monotonic() + rng.uniform(0.3, 0.8)
                except (FileNotFoundError, ProcessLookupError):
                    continue
        assert run.stderr is not None
        said = run.stderr.read()
    assert killed
    assert (run.returncode, said) == (0, b"")
    assert tree(tmp_path / "killed") == tree(tmp_path / "clean")


def test_a_full_disk_stops_the_run_and_the_next_one_resumes(tmp_path: Path, oscar_corpus: Path) -> None:
    command = [sys.executable, "-m", "corpusfmt", "build", str(SAMPLE), "--output", str(tmp_path / "oscar")]

    def full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, 8_000))

    done = subprocess.run(command, capture_output=True, check=False, preexec_fn=full)
    assert done.returncode == 3
    assert b"File too large" in done.stderr
    assert not [path for path in tree(tmp_path / "oscar") if ".corpusfmt/" not in path]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert tree(tmp_path / "oscar") == tree(oscar_corpus)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a file that opens and cannot be read")
def test_a_file_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    wet = tmp_path / "wet"
    wet_file(wet / "a.warc.wet.gz", [wet_record(1, f"{LONG_LINE}\n")])
    (wet / "b.warc.wet").symlink_to("/proc/self/mem")
    report = corpusfmt.build(wet, tmp_path / "out")
    assert [(each.code, each.location.path) for each in report.findings] == [("GEN002", "b.warc.wet")]
    assert report.results["stats"]["total"]["final"]["lines"] == 1
