"""A command that has ended has nothing to do: it says so, and succeeds."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conversion.rows import document, write_rows
from support import SAMPLE, gzipped, run_cli, tree

import corpusfmt
from corpusfmt.conversion import stages
from corpusfmt.engine.workplace import Workplace
from corpusfmt.io.witness import witnessing
from corpusfmt.model import Incomplete, UsageError


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for shard in range(2):
        rows = [document(10 * shard + number) for number in range(3)]
        for row in rows:
            row["metadata"] = {"lang": "de"}
        write_rows(tmp_path / "source" / "documents" / f"{shard}.jsonl.gz", rows)
    return tmp_path / "source"


WAYS = [("dolma",), ("jsonl", "--on-loss", "allow"), ("oscar-1.1", "--language-entry", "lang", "--on-loss", "allow")]


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_a_finished_conversion_has_nothing_to_do(source: Path, tmp_path: Path, way: tuple[str, ...]) -> None:
    out = tmp_path / "out"
    first = run_cli("convert", source, out, "--to", *way)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    again = run_cli("convert", source, out, "--to", *way, "--jobs", "2")
    said = f"nothing to do: {out} already contains the finished corpus of these inputs and options\n".encode()
    assert (first.returncode, again.returncode) == (0, 0)
    assert again.stderr.startswith(said)
    assert again.stderr.removeprefix(said) == first.stderr
    assert again.stdout == first.stdout
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


def changed_option(_source: Path, _out: Path) -> dict[str, Any]:
    return {"on_loss": "allow"}


def larger_input(source: Path, _out: Path) -> dict[str, Any]:
    write_rows(source / "documents" / "0.jsonl.gz", [document(number) for number in range(9)])
    return {}


def new_input(source: Path, _out: Path) -> dict[str, Any]:
    write_rows(source / "documents" / "2.jsonl.gz", [document(99)])
    return {}


def lost_input(source: Path, _out: Path) -> dict[str, Any]:
    (source / "documents" / "1.jsonl.gz").unlink()
    return {}


def lost_output(_source: Path, out: Path) -> dict[str, Any]:
    (out / "documents" / "1.jsonl.gz").unlink()
    return {}


@pytest.mark.parametrize("change", [changed_option, larger_input, new_input, lost_input, lost_output])
def test_what_is_not_the_finished_conversion_is_refused(source: Path, tmp_path: Path, change: Any) -> None:
    out = tmp_path / "out"
    corpusfmt.convert(source, out, to="dolma")
    options = change(source, out)
    before = tree(out)
    with pytest.raises(UsageError, match="contains a finished corpus: remove it or choose another folder"):
        corpusfmt.convert(source, out, to="dolma", **options)
    assert tree(out) == before


def test_a_truncated_source_is_reported_again(source: Path, tmp_path: Path) -> None:
    path = source / "documents" / "1.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-9])
    words: list[str | Path] = ["convert", source, tmp_path / "out", "--to", "dolma", "--on-bad-record", "quarantine"]
    first, again = run_cli(*words), run_cli(*words)
    assert (first.returncode, again.returncode) == (3, 3)
    assert b"truncated: documents/1.jsonl.gz" in again.stderr + again.stdout


@contextmanager
def ended_by_another(monkeypatch: pytest.MonkeyPatch, run: Any) -> Iterator[None]:
    """Let another run of the same command end between the first look at the destination and the lock."""
    entered = Workplace.entered
    with monkeypatch.context() as patched:

        def late(*arguments: Any, **options: Any) -> Any:
            monkeypatch.setattr(Workplace, "entered", entered)
            run()
            return entered(*arguments, **options)

        patched.setattr(Workplace, "entered", late)
        yield


def test_a_run_that_waited_for_another_has_nothing_to_do(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build() -> corpusfmt.Report:
        return corpusfmt.build(SAMPLE, tmp_path / "built")

    def convert() -> corpusfmt.Report:
        return corpusfmt.convert(source, tmp_path / "converted", to="dolma")

    for run in (build, convert):
        with ended_by_another(monkeypatch, run):
            assert run().results["finished"] is True


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Path.unlink, "cannot be read again for its digest: No such file or directory; restore the file"),
        (lambda path: shutil.copy(path.with_name("other"), path), "changed while it was read"),
        (lambda path: path.with_name("other").rename(path), "changed while it was read"),
    ],
    ids=["vanishes", "is written", "is swapped"],
)
def test_an_input_that_is_not_what_was_read_is_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object], said: str
) -> None:
    """The metadata of a corpus are read by blocks, so a digest takes another reading, for which the file may be gone."""
    built = tmp_path / "corpus"
    corpusfmt.build(SAMPLE, built)
    lost, other = (built / "my" / name for name in ("my_meta.jsonl.gz", "other"))
    shutil.copy(lost, tmp_path / "kept")

    @contextmanager
    def losing() -> Iterator[Any]:
        with witnessing() as read:
            yield read
        if read.pop(str(lost), None):
            shutil.copy(built / "de" / "de_meta.jsonl.gz", other)
            change(lost)

    with monkeypatch.context() as patched:
        patched.setattr(stages, "witnessing", losing)
        with pytest.raises(Incomplete, match=rf"my_meta\.jsonl\.gz: {said}"):
            corpusfmt.convert(built, tmp_path / "out", to="dolma")
    other.unlink(missing_ok=True)
    shutil.copy(tmp_path / "kept", lost)
    corpusfmt.convert(built, tmp_path / "out", to="dolma")
    corpusfmt.convert(built, tmp_path / "clean", to="dolma")
    assert tree(tmp_path / "out") == tree(tmp_path / "clean")


@pytest.mark.parametrize("policy", ["stop", "quarantine"])
def test_the_working_folder_is_a_destination(source: Path, tmp_path: Path, policy: str) -> None:
    with (source / "documents" / "0.jsonl.gz").open("ab") as file:
        file.write(gzipped(b"{\n") if policy == "quarantine" else b"")
    here = tmp_path / "here"
    here.mkdir()
    words: list[str | Path] = ["convert", source, "--to", "dolma", "--on-bad-record", policy]
    done = run_cli(*words, ".", cwd=here)
    named = run_cli(*words, tmp_path / "named")
    assert (done.returncode, named.returncode) == (0, 0), done.stderr
    assert tree(here) == tree(tmp_path / "named")
    assert tree(tmp_path / "here-quarantine") == tree(tmp_path / "named-quarantine")
    assert run_cli(*words, ".", cwd=here).stderr.startswith(b"nothing to do: . already contains")
