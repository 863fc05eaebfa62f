"""A command that has ended has nothing to do: it says so, and succeeds."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conversion.rows import document, write_rows
from support import SAMPLE, run_cli, tree

import corpusfmt
from corpusfmt.conversion import stages
from corpusfmt.engine.workplace import Workplace
from corpusfmt.model import Incomplete, UsageError


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for shard in range(2):
        rows = [document(10 * shard + number) for number in range(3)]
        for row in rows:
            row["metadata"] = {"lang": "de"}
        write_rows(tmp_path / "source" / "documents" / f"{shard}.jsonl.gz", rows)
    return tmp_path / "source"


WAYS = [("dolma",), ("jsonl", "--on-loss", "allow"), ("oscar-1.1", "--lang-field", "lang", "--on-loss", "allow")]


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


def test_an_input_that_cannot_be_read_again_is_not_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The metadata of a corpus are read by blocks, so a digest takes another reading, for which the file may be gone."""
    built = tmp_path / "corpus"
    corpusfmt.build(SAMPLE, built)
    read = stages._all_read

    def lose(seen: Any, shards: Any) -> Any:
        kept = {url: facts for url, facts in seen.items() if not url.endswith("my_meta.jsonl.gz")}
        if len(kept) < len(seen) and lost.exists():
            lost.rename(lost.with_name("away"))
        return read(kept, shards)

    lost = built / "my" / "my_meta.jsonl.gz"
    with monkeypatch.context() as patched:
        patched.setattr(stages, "_all_read", lose)
        with pytest.raises(Incomplete, match=r"my_meta\.jsonl\.gz: cannot be read again for its digest: No such file"):
            corpusfmt.convert(built, tmp_path / "out", to="dolma")
    lost.with_name("away").rename(lost)
    corpusfmt.convert(built, tmp_path / "out", to="dolma")
    corpusfmt.convert(built, tmp_path / "clean", to="dolma")
    assert tree(tmp_path / "out") == tree(tmp_path / "clean")
    shutil.rmtree(tmp_path / "out")
