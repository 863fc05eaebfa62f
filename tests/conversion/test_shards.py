"""A conversion that shards share, killed and run again, gives the bytes of one run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conversion.rows import document, write_rows
from support import run_cli, tree

import corpusfmt
from corpusfmt.model import BadInput, Incomplete, Verdict

CONVERSIONS: list[dict[str, Any]] = [
    {"to": "dolma", "on_bad_record": "quarantine"},  # rejects repeated ids: their tasks run twice
    {"to": "jsonl", "on_loss": "allow"},
    {"to": "oscar-1.1", "language_entry": "lang", "on_loss": "allow"},  # sorts documents by language, then packs these
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Four files of documents in two languages; each file repeats an id of the first."""
    for shard in range(4):
        rows = [document(100 * shard + number) for number in range(6)]
        rows[3] = document(2, text=f"another {shard}")
        for number, row in enumerate(rows):
            row["metadata"] = {"lang": "de" if number % 2 else "fr"}
        write_rows(tmp_path / "source" / "documents" / f"{shard}.jsonl.gz", rows)
    return tmp_path / "source"


def with_quarantine(out: Path) -> dict[str, bytes]:
    """The output and what was rejected; only the messages name the folder."""
    return {path: data for path, data in tree(out.parent).items() if path.startswith(out.name)}


@pytest.mark.parametrize("options", CONVERSIONS, ids=str)
def test_shards_give_the_bytes_of_one_run(options: dict[str, Any], source: Path, tmp_path: Path) -> None:
    one, out = tmp_path / "one" / "out", tmp_path / "several" / "out"
    whole = corpusfmt.convert(source, one, **options)
    with pytest.raises(Incomplete, match="no shard has begun"):
        corpusfmt.convert(source, out, finish=True, **options)
    # Small files are sorted together.
    tasks = [1, 1, 1] if "language_entry" not in options else [0, 0, 0]
    for shard, done in zip(("2/3", "2/3", "3/3"), tasks, strict=True):
        assert corpusfmt.convert(source, out, shard=shard, **options).results == {"shard": {"tasks": done}}
    assert not (out / "croissant.json").exists()
    report = corpusfmt.convert(source, out, finish=True, **options)
    assert (report.results, report.verdict) == (whole.results, Verdict.VALID)
    assert with_quarantine(out) == with_quarantine(one)
    # Run again after the end.
    for again in ({"shard": "1/3"}, {"finish": True}):
        assert corpusfmt.convert(source, out, **again, **options).results == {}
    assert with_quarantine(out) == with_quarantine(one)
    write_rows(source / "documents" / "0.jsonl.gz", [document(1)])
    assert run_cli("convert", source, out, "--to", options["to"], "--shard", "1/3").returncode == 2


POINTS = [
    "1/2:corpusfmt.engine.stages:publish_bytes:2",
    "2/2:corpusfmt.formats.parts:publish_all:1",
    "2/2:corpusfmt.conversion.repeats:KeyWriter.close:1",
    "finish:corpusfmt.conversion.tasks:write_repeats:2",
    "finish:corpusfmt.engine.stages:publish_bytes:1",
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks shards")
def test_killed_shards_lose_nothing(source: Path, tmp_path: Path) -> None:
    out, options = tmp_path / "out", CONVERSIONS[0]
    script = f"""
import sys, dying
dying.killed(lambda **part: dying.corpusfmt.convert(*sys.argv[1:3], **part, **{options!r}), *sys.argv[3:])
"""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "pipeline")}
    command = [sys.executable, "-c", script, str(source), str(out), *POINTS]
    ended = subprocess.run(command, capture_output=True, check=True, env=environment)
    assert ended.stdout.split() == [b"-9"] * len(POINTS), ended.stderr
    # A shard leaves alone what is being finished.
    assert corpusfmt.convert(source, out, shard="2/2", **options).results["shard"]["tasks"] in {0, 2}
    corpusfmt.convert(source, out, finish=True, **options)
    corpusfmt.convert(source, tmp_path / "alone", **options)
    assert tree(out) == tree(tmp_path / "alone")


def test_a_bad_record_ends_a_shard_and_leaves_the_others_alone(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    corpusfmt.convert(source, out, to="dolma", shard="1/1")
    with pytest.raises(BadInput, match="CNV106"):
        corpusfmt.convert(source, out, to="dolma", finish=True)
    write_rows(source / "documents" / "3.jsonl.gz", [{"id": 3}])
    with pytest.raises(BadInput, match="DOL"):
        corpusfmt.convert(source, out, to="dolma", shard="1/1")
    assert list((out / "documents").iterdir())
    assert (out / ".corpusfmt").is_dir()
