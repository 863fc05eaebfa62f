"""Shards in any order and number, killed and run again, give the bytes of one run."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from support import LONG_LINE, corpus, run_cli, tree, wet_file, wet_record

import corpusfmt
from corpusfmt.engine.shares import Share
from corpusfmt.engine.workplace import Workplace
from corpusfmt.model import Incomplete, UsageError, Verdict
from corpusfmt.pipeline.choices import Selection

GERMAN = "Alle Menschen sind frei und gleich an Würde und Rechten geboren, sie sind mit Vernunft und Gewissen begabt."
DYING = Path(__file__).parent / "dying.py"
NEXT = "once all shards have ended, run the same command with --finish instead of --shard\n"


@pytest.fixture(scope="module")
def wet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Inputs that share lines."""
    folder = tmp_path_factory.mktemp("shards") / "wet"
    for number in range(8):
        text = "".join(f"{LONG_LINE} {(number * 7 + line) % 30}\n" for line in range(3))
        records = [wet_record(number * 10, text), wet_record(number * 10 + 1, f"{GERMAN} {number % 5}\n")]
        wet_file(folder / f"{number}.warc.wet.gz", records)
    return folder


@pytest.fixture(scope="module")
def alone(wet: Path) -> dict[str, bytes]:
    """The corpus of one run."""
    corpusfmt.build(wet, wet.parent / "alone")
    return tree(wet.parent / "alone")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    # Few inputs suffice for all stages.
    monkeypatch.setattr("corpusfmt.pipeline.dedup._SMALLEST_GROUP", 3)


@pytest.mark.parametrize("order", [(1,), (2, 1), (3, 1, 2), (1, 1, 3), (2, 9)], ids=str)
def test_shards_in_any_order_give_the_bytes_of_one_run(
    wet: Path, alone: dict[str, bytes], tmp_path: Path, order: tuple[int, ...]
) -> None:
    out = tmp_path / "out"
    for number in order:
        report = corpusfmt.build(wet, out, shard=f"{number}/{max(order)}")
        assert report.results == {"shard": {"tasks": len(range(number - 1, 8, max(order)))}}
        assert not (out / "MANIFEST.json").exists()
    log = tmp_path / "log.jsonl"
    assert corpusfmt.build(wet, out, finish=True, log=log).verdict is Verdict.VALID
    done = sum(len(range(number - 1, 8, max(order))) for number in set(order))
    assert f'"stage":"process","tasks":8,"resumed":{done}'.encode() in log.read_bytes()
    assert tree(out) == alone
    assert corpusfmt.build(wet, out, shard="1/3").results["finished"]
    assert corpusfmt.build(wet, out, finish=True).results["finished"]
    assert tree(out) == alone


def test_shards_at_the_same_time_divide_the_work(wet: Path, alone: dict[str, bytes], tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "corpusfmt", "build", str(wet), "--output", str(out), "--jobs", "1"]
    runs = [
        subprocess.Popen([*command, "--shard", f"{number}/3"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for number in (1, 2, 3)
    ]
    for number, tasks, run in zip((1, 2, 3), (3, 3, 2), runs, strict=True):
        said, _ = run.communicate()
        assert run.returncode == 0, said
        assert said.decode() == f"shard {number}/3: {tasks} tasks done; {NEXT}"
    assert run_cli("build", wet, "--output", out, "--finish").returncode == 0
    assert tree(out) == alone


# Where a run is killed: before and after the marker of a task, and between two files of one.
POINTS = [
    "1/3:corpusfmt.engine.stages:publish_bytes:1",
    "2/3:corpusfmt.engine.stages:publish_bytes:2",
    "2/3:corpusfmt.pipeline.process.store:ContainerWriter.finish:1",
    "finish:corpusfmt.pipeline.process.store:ContainerWriter.finish:3",
    "finish:corpusfmt.pipeline.stages:groups:1",
    "finish:corpusfmt.pipeline.dedup:ContainerWriter.finish:1",
    "finish:corpusfmt.pipeline.stages:compact:1",
    "finish:corpusfmt.pipeline.stages:remove_joined:1",
    "1/3:corpusfmt.engine.stages:publish_bytes:1",
    "finish:corpusfmt.formats.parts:publish_all:1",
    "finish:corpusfmt.formats.parts:publish_all:1",
    "finish:corpusfmt.engine.stages:publish_bytes:1",
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks shards")
def test_killed_shards_lose_nothing(wet: Path, alone: dict[str, bytes], tmp_path: Path) -> None:
    out = tmp_path / "out"
    ended = subprocess.run([sys.executable, str(DYING), str(wet), str(out), *POINTS], capture_output=True, check=True)
    # The first shard has nothing left to do at the second time: its inputs are in joined containers.
    expected = [b"0" if number == 8 else b"-9" for number in range(len(POINTS))]
    assert ended.stdout.split() == expected, ended.stderr
    assert not (out / "MANIFEST.json").exists()
    corpusfmt.build(wet, out, finish=True)
    assert tree(out) == alone


def test_nothing_is_finished_while_shards_are_at_work(wet: Path, alone: dict[str, bytes], tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(Incomplete, match="no shard has begun to write to"):
        corpusfmt.build(wet, out, finish=True)
    assert not out.exists()
    corpusfmt.build(wet, out, shard="1/2")
    plan, identity = ((out / ".corpusfmt" / name).read_text().partition(" ")[0] for name in ("plan", "run"))
    with Workplace.at(out, identity).entered(plan, Share(1, 2), finish=False):
        for finish in (True, False):
            with pytest.raises(UsageError, match=r"another run is using .*: wait until it has ended"):
                corpusfmt.build(wet, out, finish=finish)
        corpusfmt.build(wet, out, shard="1/2")
    corpusfmt.build(wet, out, finish=True)
    assert tree(out) == alone


def test_a_run_and_shards_resume_each_other(
    wet: Path, alone: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr("corpusfmt.pipeline.run.packaged", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            corpusfmt.build(wet, out)
    log = tmp_path / "log.jsonl"
    corpusfmt.build(wet, out, shard="1/2", log=log)
    assert b'"stage":"process","tasks":4,"resumed":4' in log.read_bytes()
    corpusfmt.build(wet, out, log=log)
    assert b'"stage":"process","tasks":8,"resumed":8' in log.read_bytes()
    assert tree(out) == alone


def test_shards_of_other_inputs_do_not_meet(wet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corpusfmt.engine.workplace._ATTEMPTS", 2)
    out, first = tmp_path / "out", sorted(wet.iterdir())[:3]
    others: list[dict[str, Any]] = [{"compression": "zlib-9"}, {"selection": Selection(languages=["de"])}, {}]
    for other in others:
        corpusfmt.build(first, out, shard="1/2", **other)  # nobody is at work: the plan is replaced
    for again in (first[:2], first):
        with pytest.raises(UsageError, match="a run of other inputs or options: finish it with"):
            corpusfmt.build(again, out, finish=True, compression="isal-0")
    plan, identity = ((out / ".corpusfmt" / name).read_text().partition(" ")[0] for name in ("plan", "run"))
    with (
        Workplace.at(out, identity).entered(plan, Share(1, 1), finish=False),
        pytest.raises(UsageError, match=r"shards of other inputs or options are using .*: wait until"),
    ):
        corpusfmt.build(first[:2], out, shard="1/2")
    with Workplace.at(out, identity).claimed(), pytest.raises(UsageError, match="another run is using"):
        corpusfmt.build(first, out, shard="1/2")
    corpusfmt.build(first, out, finish=True)
    corpusfmt.build(first, tmp_path / "alone")
    assert tree(out) == tree(tmp_path / "alone")


def test_excluded_inputs_are_read_again(wet: Path, tmp_path: Path) -> None:
    first = sorted(wet.iterdir())[:2]
    broken = tmp_path / "broken.warc.wet.gz"
    broken.write_bytes(first[0].read_bytes()[:-20])
    out, inputs = tmp_path / "out", [*first, broken]
    ended = [run_cli("build", *inputs, "--output", out, "--shard", shard) for shard in ("1/2", "2/2")]
    assert [each.returncode for each in ended] == [0, 0]
    # Inputs are in the order of their names.
    assert ended[0].stderr.startswith(b"to be excluded: broken.warc.wet.gz: GEN101 "), ended[0].stderr
    assert ended[1].stderr == b""
    assert run_cli("build", *inputs, "--output", out, "--finish").returncode == 3
    sealed = corpus(out)
    assert b"quarantined" in sealed["MANIFEST.json"]
    assert run_cli("build", *inputs, "--output", out, "--shard", "1/2").returncode == 0
    assert corpus(out) == sealed
    broken.write_bytes(first[0].read_bytes())
    corpusfmt.build(inputs, out, shard="1/2")
    assert corpusfmt.build(inputs, out, finish=True).verdict is Verdict.VALID
    corpusfmt.build(inputs, tmp_path / "alone")
    assert tree(out) == tree(tmp_path / "alone")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--shard", "0/3"], "--shard is '0/3', expected i/n with i from 1 to n, like 3/8"),
        (["--shard", "4/3"], "--shard is '4/3', expected i/n with i from 1 to n, like 3/8"),
        (["--shard", "x"], "--shard is 'x', expected i/n with i from 1 to n, like 3/8"),
        (["--shard", "1/0"], "--shard is '1/0', expected i/n with i from 1 to n, like 3/8"),
        (["--shard", "1/2", "--finish"], "--shard and --finish are two steps: run all shards, then --finish alone"),
        (["--shard", "1/2", "--engine", "dask"], "--engine is dask, and shards run on their own machines: remove one of the two"),
        (["--shard", "1/2", "-"], "shards cannot share standard input: remove it, and name inputs that all machines see"),
        (["--shard", "1/2", "--output", "memory://bucket/out"], "memory://bucket/out is in a store where shards cannot write side by side: choose a folder, s3:// or gs://"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_wrong_shares_are_refused(wet: Path, tmp_path: Path, arguments: list[str], error: str) -> None:
    ended = run_cli("build", wet, "--output", tmp_path / "out", *arguments)
    assert (ended.returncode, ended.stderr) == (2, f"error: {error}\n".encode())
    assert not (tmp_path / "out").exists()


def without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corpusfmt.io.temporary._taken", lambda *_, **__: None)


def test_two_runs_where_nothing_is_locked_write_no_file_of_each_other(
    wet: Path,
    alone: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The first run is in the middle of a file while the second begins and ends."""
    out = tmp_path / "out"
    without_locks(monkeypatch)
    inner = import_module("corpusfmt.pipeline.stages").package

    def overtaken(task: Any) -> Any:
        monkeypatch.setattr("corpusfmt.pipeline.stages.package", inner)
        unfinished = task.aside / "000000-0.partial"
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(b"half")
        corpusfmt.build(wet, out)
        assert tree(out) == alone
        return inner(task)

    monkeypatch.setattr("corpusfmt.pipeline.stages.package", overtaken)
    with pytest.raises(Incomplete, match="is missing"):
        corpusfmt.build(wet, out)
    assert corpus(out) == alone
    assert f"{out / '.corpusfmt'} has no locks, and nothing keeps a second run out of {out}" in caplog.text


def test_a_file_that_another_run_replaced_is_not_sealed(
    wet: Path, alone: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    inner = import_module("corpusfmt.pipeline.run").data_files

    def replaced(*arguments: Any) -> Any:
        files = inner(*arguments)
        path = out / "de" / "de.txt.gz"
        path.write_bytes(path.read_bytes()[::-1])
        return files

    with monkeypatch.context() as patched:
        without_locks(patched)
        patched.setattr("corpusfmt.pipeline.run.data_files", replaced)
        with pytest.raises(
            Incomplete, match=r"another run has replaced 1 file, like .*/de/de.txt.gz: end it, then run"
        ):
            corpusfmt.build(wet, out)
        assert not (out / "MANIFEST.json").exists()
    corpusfmt.build(wet, out)
    assert tree(out) == alone


def test_of_two_runs_where_nothing_is_locked_the_later_one_goes_on(
    wet: Path, alone: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    inner = import_module("corpusfmt.pipeline.run").data_files

    def overtaken(*arguments: Any) -> Any:
        monkeypatch.setattr("corpusfmt.pipeline.run.data_files", killed)
        with pytest.raises(KeyboardInterrupt):
            corpusfmt.build(wet, out)
        return inner(*arguments)

    def killed(*_: Any) -> Any:
        raise KeyboardInterrupt

    without_locks(monkeypatch)
    monkeypatch.setattr("corpusfmt.pipeline.run.data_files", overtaken)
    with pytest.raises(Incomplete, match=r"another run has begun to write to .*, which goes on: this one has ended"):
        corpusfmt.build(wet, out)
    assert not (out / "MANIFEST.json").exists()
    monkeypatch.setattr("corpusfmt.pipeline.run.data_files", inner)
    corpusfmt.build(wet, out)
    assert tree(out) == alone
