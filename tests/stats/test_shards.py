"""Shares of a run, joined, are the run; parts that do not belong together, or are damaged, are refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import xxhash
from support import run_cli

import corpusfmt
from corpusfmt import Incomplete, UsageError
from corpusfmt.engine.parts import Parts, PartWriter
from corpusfmt.engine.parts import parts_at as parts_of_kind
from corpusfmt.engine.shares import Share
from corpusfmt.statistics import run
from corpusfmt.statistics.options import OPTIONAL, Counting
from corpusfmt.statistics.run import joined


@pytest.fixture(autouse=True)
def _small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_BYTES_A_TASK", 1)


def parts_of(corpus: Path, folder: Path, count: int) -> list[str]:
    names = [str(folder / f"{number}.part") for number in range(1, count + 1)]
    for number, name in enumerate(names, 1):
        with Path(name).open("wb") as file:
            part = PartWriter(file, Share(number, count), run.kind_of_parts())
            run.statistics_of(str(corpus), Counting(count=OPTIONAL), part)
            part.end()
    return names


def parts_at(names: list[str]) -> Parts:
    return parts_of_kind(names, run.kind_of_parts())


@pytest.mark.parametrize("made", ["dolma_corpus", "oscar_corpus"])
def test_joined_parts_are_one_run(made: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    corpus = request.getfixturevalue(made)
    lists = [tmp_path / "whole.csv", tmp_path / "joined.csv"]
    whole = corpusfmt.stats(corpus, count=OPTIONAL, domains=lists[0])
    found = joined(parts_at(parts_of(corpus, tmp_path, 5)[::-1]), lists[1])
    assert found.to_dict() == whole.to_dict()
    assert found.repeated_lines is not None
    assert found.repeated_lines.compared > 0
    assert lists[0].read_bytes() == lists[1].read_bytes()


def test_shards_without_a_file(dolma_corpus: Path, tmp_path: Path) -> None:
    file = min((dolma_corpus / "documents").rglob("*.gz"))
    found = joined(parts_at(parts_of(file, tmp_path, 3)))
    assert found.to_dict() == corpusfmt.stats(file, count=OPTIONAL).to_dict()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (rb'"compared_lines":\d+', b'"compared_lines":-1'),
        (rb'"compared_lines":\d+', b'"compared_lines":1' + b"0" * 400),
        (rb'"rejected":\d+', b'"rejected":"many"'),
        (rb'"scripts":\{[^}]*\}', b'"scripts":{"Latn":-1}'),
        (rb'"scripts":\{[^}]*\}', b'"scripts":7'),
        (rb'"scripts":\{[^}]*\}', b'"scripts":{"Latn":"many"}'),
        (rb'"bits":8', b'"bits":100000'),
        (rb'"bits":8', b'"bits":-1'),
        (rb'"bits":8,"number":\d+', b'"bits":8,"number":7000000'),
        (rb'"total":\d+,"counts"', b'"total":1' + b"0" * 400 + b',"counts"'),
        (rb'"total":\d+,"counts"', b'"total":NaN,"counts"'),
        (rb'"counted":', b'"counter":'),
    ],
)
def test_a_forged_part_is_damaged(old: bytes, new: bytes, dolma_corpus: Path, tmp_path: Path) -> None:
    [part] = parts_of(min((dolma_corpus / "documents").rglob("*.gz")), tmp_path, 1)
    lines = Path(part).read_bytes().split(b"\n")[:-2]
    forged, times = re.subn(old, new, b"".join(line + b"\n" for line in lines), count=1)
    assert times == 1
    checksum = f'{{"kind":"checksum","xxh3":"{xxhash.xxh3_128_hexdigest(forged)}"}}\n'
    Path(part).write_bytes(forged + checksum.encode())
    with pytest.raises(UsageError, match="is damaged"):
        joined(parts_at([part]))


def test_damaged_parts_and_those_of_another_version_are_refused(dolma_corpus: Path, tmp_path: Path) -> None:
    parts = parts_of(min((dolma_corpus / "documents").rglob("*.gz")), tmp_path, 2)
    whole = (tmp_path / "1.part").read_bytes()
    for damaged in (whole[:-100], whole.replace(b'"bytes":', b'"byte":'), b""):
        (tmp_path / "1.part").write_bytes(damaged)
        with pytest.raises(UsageError, match="is damaged"):
            parts_at(parts)
    lines = whole.replace(b'"version":"', b'"version":"9', 1).split(b"\n")[:-2]
    data = b"".join(line + b"\n" for line in lines)
    checksum = f'{{"kind":"checksum","xxh3":"{xxhash.xxh3_128_hexdigest(data)}"}}\n'
    (tmp_path / "1.part").write_bytes(data + checksum.encode())
    with pytest.raises(UsageError, match=r"is of corpusfmt 9"):
        parts_at(parts)


def test_a_bug_is_not_taken_for_damage(dolma_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(*_: object) -> None:
        raise ValueError("a bug")

    parts = parts_of(min((dolma_corpus / "documents").rglob("*.gz")), tmp_path, 2)
    monkeypatch.setattr(run, "_repeats_in", bug)
    with pytest.raises(ValueError, match="a bug"):
        joined(parts_at(parts))


def test_parts_that_do_not_belong_together_are_refused(dolma_corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    files = sorted((dolma_corpus / "documents").rglob("*.gz"))
    one, other = parts_of(files[0], tmp_path, 2)[0], parts_of(files[1], tmp_path / "other", 2)[1]
    saved = tmp_path / "saved.json"
    saved.write_text(json.dumps(corpusfmt.stats(files[0]).to_dict()))
    with pytest.raises(Incomplete, match="1 part of 2 missing: 2; run the shard with `shard 2/2`"):
        parts_at([one])
    for paths, message in (
        ([one, one], "are both part 1 of 2"),
        ([one, other], "are of different runs"),
        ([one, str(saved)], "is damaged, or not a part that `corpusfmt stats --shard` wrote"),
    ):
        with pytest.raises(UsageError, match=message):
            parts_at(paths)


def test_parts_of_files_that_have_changed_are_refused(dolma_corpus: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus" / "documents"
    corpus.mkdir(parents=True)
    for number, file in enumerate(sorted((dolma_corpus / "documents").rglob("*.gz"))[:2]):
        (corpus / f"{number}.jsonl.gz").write_bytes(file.read_bytes())
    parts = parts_of(corpus.parent, tmp_path, 2)
    (corpus / "1.jsonl.gz").unlink()
    with pytest.raises(UsageError, match="is of other files"):
        joined(parts_at(parts))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--shard", "1/2"), b"add --report part=FILE alone"),
        (("--shard", "1/2", "--report", "part=x", "--domains", "y"), b"--domains with --merge"),
        (("--shard", "1/2", "--merge"), b"run all shards, then --merge"),
    ],
)
def test_usage(options: tuple[str, ...], message: bytes, tmp_path: Path) -> None:
    done = run_cli("stats", str(tmp_path), *options)
    assert (done.returncode, done.stdout) == (2, b"")
    assert message in done.stderr


def test_the_command_writes_and_joins_parts(dolma_corpus: Path, tmp_path: Path) -> None:
    file = str(min((dolma_corpus / "documents").rglob("*.gz")))
    for number in ("1", "2"):
        part = f"part={tmp_path / number}"
        done = run_cli("stats", file, "--count", "all", "--shard", f"{number}/2", "--report", part)
        assert done.returncode == 0
        assert f"part {number}/2: ".encode() in done.stdout
    whole = run_cli("stats", file, "--count", "all", "--output-format", "json")
    found = run_cli("stats", "--merge", str(tmp_path / "1"), str(tmp_path / "2"), "--output-format", "json")
    assert (found.returncode, found.stdout) == (whole.returncode, whole.stdout)
