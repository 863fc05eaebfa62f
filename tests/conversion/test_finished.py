"""A conversion that has ended: the same command says so and exits 0, any other is refused, and nothing is touched."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support import run_cli

import corpusfmt
from corpusfmt.model import UsageError, Verdict


def stamps(root: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in root.rglob("*")}


@pytest.mark.parametrize("to", ["dolma", "oscar-1.1", "parquet"])
def test_the_same_command_has_nothing_to_do(to: str, oscar_corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    if to == "parquet":
        pytest.importorskip("pyarrow")
    made = corpusfmt.convert(oscar_corpus, out, to=to)
    before = stamps(out)
    again = corpusfmt.convert(oscar_corpus, out, to=to, jobs=2)
    assert again.results == made.results | {"finished": True}
    assert (again.coverage, again.by_rule) == (made.coverage, made.by_rule)
    done = run_cli("convert", oscar_corpus, out, "--to", to)
    assert done.returncode == 0
    said = f"nothing to do: {out} holds the finished conversion of these files with these choices\n"
    assert done.stderr.decode() == said
    assert f" shards -> {out}: ".encode() in done.stdout
    assert stamps(out) == before
    assert corpusfmt.validate(out).verdict is Verdict.VALID


def test_other_choices_changed_inputs_or_missing_files_are_refused(dolma_corpus: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    shutil.copytree(dolma_corpus, source)
    corpusfmt.convert(source, out, to="dolma")
    with pytest.raises(UsageError, match="holds a finished corpus"):
        corpusfmt.convert(source, out, to="dolma", merge_attributes=True)
    with pytest.raises(UsageError, match="holds a finished corpus"):
        corpusfmt.convert(source, out, to="oscar", language_field="language")
    one = next(iter(sorted(out.rglob("*.jsonl.gz"))))
    data = one.read_bytes()
    one.write_bytes(data[:-1])
    with pytest.raises(UsageError, match="holds a finished corpus"):
        corpusfmt.convert(source, out, to="dolma")
    one.write_bytes(data)
    assert corpusfmt.convert(source, out, to="dolma").results["finished"]
    shard = next(iter(sorted(source.rglob("*.jsonl.gz"))))
    shard.write_bytes(shard.read_bytes())
    with pytest.raises(UsageError, match="holds a finished corpus"):
        corpusfmt.convert(source, out, to="dolma")


def test_what_was_rejected_is_said_again(tmp_path: Path) -> None:
    folder = tmp_path / "in" / "documents"
    folder.mkdir(parents=True)
    rows = '{"id": "1", "text": "a", "source": "s"}\n{"id": "2", "text": null, "source": "s"}\n'
    (folder / "a.jsonl").write_text(rows, "utf-8")
    options = ("--to", "dolma", "--on-bad-record", "quarantine")
    first = run_cli("convert", tmp_path / "in", tmp_path / "out", *options)
    again = run_cli("convert", tmp_path / "in", tmp_path / "out", *options)
    assert (first.returncode, first.stdout) == (again.returncode, again.stdout)
    assert b"rejected: 1 record" in again.stdout
    assert again.stderr.startswith(b"nothing to do: ")
