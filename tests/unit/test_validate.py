"""The engine around the formats: crashes and unreadable shards never look valid, workers change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import corpusfmt
from corpusfmt import formats
from corpusfmt.engine.progress import Gauge, Progress, note_read
from corpusfmt.engine.validate import grading
from corpusfmt.formats import CheckOptions, Shard, ShardResult
from corpusfmt.model import UsageError
from corpusfmt.report import RENDERERS


def crash(shard: Shard, options: CheckOptions) -> ShardResult:
    raise RecursionError("too deep")


def vanish(shard: Shard, options: CheckOptions) -> ShardResult:
    raise FileNotFoundError(2, "No such file or directory")


def crash_at_the_end(*_: Any) -> None:
    raise KeyError("nothing")


@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"check": crash}, "GEN000", "en/en.txt.gz"),
        ({"check": vanish}, "GEN001", "en/en.txt.gz"),
        ({"finish": crash_at_the_end}, "GEN000", "."),
    ],
)
def test_what_fails_is_named_and_the_verdict_incomplete(
    oscar_corpus: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], code: str, path: str
) -> None:
    broken = replace(formats.formats()["oscar"], **changes)
    monkeypatch.setattr(formats, "named_format", lambda name: (broken, ""))
    monkeypatch.setattr("corpusfmt.engine.validate.named_format", lambda name: (broken, ""))
    report = corpusfmt.validate(oscar_corpus, format="oscar", ignore=["GEN"])
    assert report.verdict.value == "incomplete"
    assert path in {finding.location.path for finding in report.findings if finding.code == code}


@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_workers_change_nothing(oscar_corpus: Path, dolma_corpus: Path, engine: str) -> None:
    for corpus in (oscar_corpus, dolma_corpus):
        one, two = corpusfmt.validate(corpus), corpusfmt.validate(corpus, jobs=2, engine=engine)
        two.started, two.finished, two.shards = one.started, one.finished, one.shards
        for name in RENDERERS:
            assert corpusfmt.render(one, name) == corpusfmt.render(two, name)


def test_progress_ends_at_all_of_it(oscar_corpus: Path) -> None:
    steps: list[Any] = []
    corpusfmt.validate(oscar_corpus, progress=steps.append)
    last = steps[-1]
    assert (last.shards, last.bytes) == (last.shards_total, last.bytes_total)
    assert last.bytes > 0


def test_a_sample_is_the_same_each_time_and_says_so(oscar_corpus: Path) -> None:
    reports = [corpusfmt.validate(oscar_corpus, sample=0.1) for _ in range(2)]
    assert reports[0].by_path == reports[1].by_path
    coverage = reports[0].coverage
    assert coverage.sampled
    assert 0 < coverage.shards_seen < coverage.shards_total
    assert reports[0].verdict.value == "incomplete"
    whole = corpusfmt.validate(oscar_corpus)
    assert all(
        count <= whole.by_path[path][code]
        for path, codes in reports[0].by_path.items()
        for code, count in codes.items()
    )


def test_unknown_names_are_refused() -> None:
    wrong: list[dict[str, Any]] = [{"profile": "lenient"}, {"select": ["OSC9"]}, {"ignore": [""]}]
    for arguments in wrong:
        with pytest.raises(UsageError, match="unknown"):
            grading(**arguments)


def test_thousands_of_runs_leave_nothing_open(dolma_corpus: Path) -> None:
    shard = dolma_corpus / "documents" / "en" / "en.jsonl.gz"
    before = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0
    for _ in range(200):
        assert corpusfmt.validate(shard, format="dolma").verdict.value == "valid"
    after = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0
    assert after <= before + 2


@pytest.fixture(scope="module")
def large_shard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dataset of one file of 24 MB, which repeats as many keys as a search on disk takes."""
    root = tmp_path_factory.mktemp("large")
    row = '{"id": "%d", "text": "' + "x" * 60 + '", "source": "web"}\n'
    (root / "documents").mkdir()
    (root / "documents" / "0.jsonl").write_text("".join(row % (number % 199_000) for number in range(240_000)), "utf-8")
    return root


@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_moves_within_one_file_and_while_keys_are_compared(large_shard: Path, jobs: int) -> None:
    steps: list[Progress] = []
    report = corpusfmt.validate(large_shard, jobs=jobs, progress=steps.append)
    assert report.by_rule == {"DOL313": 41_000}
    first, last = steps[0], steps[-1]
    assert (first.shards, first.bytes, first.shards_total) == (0, 0, 1)
    assert first.bytes_total == last.bytes_total == last.bytes > 20_000_000
    within = [step.bytes for step in steps if step.shards == 0 and step.bytes]
    assert within == sorted(within)
    assert jobs == 2 or len(within) >= 4
    compared = [step.note for step in steps if step.note]
    assert compared[0] == "comparing files"
    assert len(set(compared)) >= 4
    assert compared[-1].endswith(" MB read")


def test_a_task_that_is_read_elsewhere_is_seen_from_here(tmp_path: Path) -> None:
    seen: list[dict[int, int]] = []
    gauge = Gauge(tmp_path / "read", seen.append)
    note_read(gauge.file, 1, 7)  # on a machine that does not have the file
    assert not gauge.file.exists()
    gauge.file.touch()
    note_read(gauge.file, 1, 7)
    note_read(gauge.file, 3, 1 << 40)
    gauge.look([0, 1, 3, 9])
    assert seen == [{0: 0, 1: 7, 3: 1 << 40, 9: 0}]
