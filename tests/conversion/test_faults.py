"""A kill, a full disk, a file that vanishes: nothing half-written under a final name, and the same command resumes."""

from __future__ import annotations

import gzip
import json
import random
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest
from conversion.rows import Json, document, write_rows
from support import LONG_LINE, run_cli, tree, unmeasured

import corpusfmt
from corpusfmt.conversion import stages
from corpusfmt.conversion.options import OnBadRecord
from corpusfmt.model import BadInput, Incomplete


def mixed(root: Path, shards: int = 6) -> Path:
    """Write shards of documents in two languages, so that both stages of the way to OSCAR are needed."""
    for shard in range(shards):
        rows: list[Json] = [document(40 * shard + number, "en" if number % 3 else "de") for number in range(40)]
        write_rows(root / f"documents/{shard}.jsonl.gz", rows)
    return root


def finished(root: Path) -> dict[str, bytes]:
    """Return the files under final names."""
    return {name: data for name, data in tree(root).items() if not name.startswith(".corpusfmt/")}


@pytest.mark.parametrize("way", ["to oscar", "to dolma"])
def test_killed_runs_resume_to_the_same_bytes(way: str, dolma_corpus: Path, tmp_path: Path) -> None:
    source, target = (mixed(tmp_path / "dolma"), "oscar") if way == "to oscar" else (dolma_corpus, "dolma")
    corpusfmt.convert(source, tmp_path / "whole" / "out", to=target)
    out = tmp_path / "killed" / "out"
    command = [sys.executable, "-m", "corpusfmt", "convert", str(source), str(out), "--to", target]
    rng = random.Random(7)
    kills = 0
    for attempt in range(8):
        with subprocess.Popen([*command, "--jobs", str(1 + attempt % 2)], stdout=subprocess.DEVNULL) as run:
            while not (out / ".corpusfmt").exists() and run.poll() is None:
                time.sleep(0.005)
            time.sleep(attempt * rng.uniform(0, 0.04))
            if run.poll() is None:
                run.send_signal(signal.SIGKILL)
                kills += 1
        for name, data in finished(out).items():
            if name.endswith(".gz"):
                assert gzip.decompress(data)
        if not (out / ".corpusfmt").exists():
            break
    assert kills
    if (out / ".corpusfmt").exists():
        assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    assert tree(out) == tree(tmp_path / "whole" / "out")


def test_what_was_done_before_a_stop_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, out = mixed(tmp_path / "dolma"), tmp_path / "out"
    monkeypatch.setattr(stages, "write_parts", None)
    with pytest.raises(TypeError):
        corpusfmt.convert(source, out, to="oscar")
    monkeypatch.undo()
    monkeypatch.setattr(import_module("corpusfmt.formats.dolma.read"), "clean_documents", None)
    report = corpusfmt.convert(source, out, to="oscar")
    assert (report.coverage.documents, report.verdict.value) == (240, "valid")
    corpusfmt.validate(out)


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, dolma_corpus: Path) -> None:
    corpusfmt.convert(dolma_corpus, tmp_path / "whole" / "out", to="oscar")
    out = tmp_path / "full" / "out"
    code = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, resource.RLIM_INFINITY))\n"
        "from corpusfmt.cli import main; main()"
    )
    arguments = ["convert", str(dolma_corpus), str(out), "--to", "oscar"]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, check=False, env=unmeasured())
    assert done.returncode == 3
    assert b"File too large: '%b/" % bytes(out) in done.stderr
    assert done.stderr.endswith(b"; fix that, then run the same command again to resume\n")
    whole = tree(tmp_path / "whole" / "out")
    assert finished(out).items() <= whole.items()
    assert run_cli(*arguments).returncode == 0
    assert tree(out) == whole


@pytest.mark.parametrize("policy", ["stop", "quarantine"])
def test_a_file_that_vanishes_stops_the_run_and_can_be_brought_back(policy: OnBadRecord, tmp_path: Path) -> None:
    source, out = mixed(tmp_path / "dolma"), tmp_path / "out"
    lost = source / "documents/5.jsonl.gz"
    kept = lost.read_bytes()

    def vanish(stage: str, _progress: object) -> None:
        lost.unlink(missing_ok=True)

    with pytest.raises(Incomplete, match=r"documents/5\.jsonl\.gz: cannot be read: No such file"):
        corpusfmt.convert(source, out, to="dolma", on_bad_record=policy, progress=vanish)
    assert sorted(finished(out)) == [f"documents/{number}.jsonl.gz" for number in range(5)]
    lost.write_bytes(kept)
    report = corpusfmt.convert(source, out, to="dolma", on_bad_record=policy)
    assert report.coverage.documents == 240
    assert len(finished(out)) == 9


def test_nothing_of_a_shard_with_a_bad_record_is_published(tmp_path: Path) -> None:
    source, out = mixed(tmp_path / "dolma", 3), tmp_path / "out"
    rows = [document(1), {"id": "2", "source": "test"}]
    write_rows(source / "documents/1.jsonl.gz", rows)
    done = run_cli("convert", source, out, "--to", "dolma")
    assert done.returncode == 1
    assert b"documents/1.jsonl.gz:2: DOL304 `text` is missing" in done.stderr
    assert finished(out).keys() <= {"documents/0.jsonl.gz", "documents/2.jsonl.gz"}
    assert "documents/0.jsonl.gz" in finished(out)


def test_a_run_that_stopped_before_it_wrote_can_be_started_with_other_options(tmp_path: Path) -> None:
    source, out = mixed(tmp_path / "dolma", 1), tmp_path / "out"
    write_rows(source / "documents/a.jsonl.gz", [{"id": "2", "text": LONG_LINE, "source": "test"}])
    with pytest.raises(BadInput, match="CNV102"):
        corpusfmt.convert(source, out, to="oscar")
    write_rows(source / "documents/a.jsonl.gz", [document(2, "de")])
    assert corpusfmt.convert(source, out, to="oscar").coverage.documents == 41


def test_a_number_that_no_reader_can_hold_is_not_changed_in_silence(tmp_path: Path) -> None:
    (tmp_path / "dolma/documents").mkdir(parents=True)
    line = b'{"id":"1","text":"%b","source":"test","n":1e999}\n' % LONG_LINE.encode()
    (tmp_path / "dolma/documents/a.jsonl").write_bytes(line)
    with pytest.raises(BadInput, match="GEN303"):
        corpusfmt.convert(tmp_path / "dolma", tmp_path / "out", to="dolma")


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"id": "2", "text": "b"}, "CNV105"),
        ({"id": "2", "text": "b", "source": None}, "DOL307"),
        ({"id": "2", "text": "b", "source": "s", "created": None}, "DOL308"),
        ({"id": "2", "text": "b", "source": "s", "added": None}, "DOL308"),
    ],
)
@pytest.mark.parametrize("to", ["dolma", "parquet"])
def test_what_is_written_is_valid(row: Json, code: str, to: str, tmp_path: Path) -> None:
    write_rows(tmp_path / "dolma/documents/a.jsonl.gz", [{"id": "1", "text": "a", "source": "s"}, row])
    with pytest.raises(BadInput, match=code):
        corpusfmt.convert(tmp_path / "dolma", tmp_path / "stopped", to=to)
    report = corpusfmt.convert(tmp_path / "dolma", tmp_path / "out", to=to, on_bad_record="quarantine")
    assert (report.coverage.documents, report.results["rejected"]) == (1, 1)
    (line,) = (tmp_path / "out-quarantine/000000.jsonl").read_text("utf-8").removesuffix("\n").split("\n")
    assert json.loads(line)["rule"] == code
    assert corpusfmt.validate(tmp_path / "out").verdict == "valid"


def test_a_source_that_is_missing_can_be_given(tmp_path: Path) -> None:
    write_rows(tmp_path / "dolma/documents/a.jsonl.gz", [{"id": "1", "text": "a"}])
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "out", to="dolma", source_name="web")
    assert corpusfmt.validate(tmp_path / "out").verdict == "valid"


@pytest.mark.parametrize("to", ["dolma", "jsonl", "parquet"])
def test_a_last_row_without_lf_is_converted_whatever_follows_the_stream(tmp_path: Path, to: str) -> None:
    rows = b'{"id":"a","text":"a"}\n{"id":"b","text":"b"}'
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.jsonl.gz").write_bytes(gzip.compress(rows) + bytes(3))
    corpusfmt.convert(tmp_path / "in", tmp_path / "out", format="jsonl", to=to)
    assert [document.text for document in corpusfmt.read(tmp_path / "out")] == ["a", "b"]
