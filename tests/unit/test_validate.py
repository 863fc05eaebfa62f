"""The engine around the formats: crashes and unreadable shards never look valid, workers change nothing."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from support import Inline, gzipped

import corpusfmt
from corpusfmt import formats
from corpusfmt.engine.progress import Gauge, Progress, note_read
from corpusfmt.engine.run import Late
from corpusfmt.engine.sharing import Validation
from corpusfmt.engine.validate import _ended, grading
from corpusfmt.formats import CheckOptions, Shard, ShardResult
from corpusfmt.io.limits import Limits
from corpusfmt.io.paths import entry_of
from corpusfmt.model import UsageError
from corpusfmt.report import RENDERERS

ROW = '{"id": "%s", "text": "x", "source": "s"}\n'


def documents(root: Path, *names: str) -> Path:
    """Make files of one document each."""
    (root / "documents").mkdir(parents=True)
    for name in names:
        (root / f"documents/{name}.jsonl").write_text(ROW % name)
    return root


def crash(shard: Shard, options: CheckOptions) -> ShardResult:
    raise RecursionError("too deep")


def vanish(shard: Shard, options: CheckOptions) -> ShardResult:
    raise FileNotFoundError(2, "No such file or directory")


def crash_at_the_end(*_: Any) -> None:
    raise KeyError("nothing")


@pytest.mark.parametrize(
    ("changes", "code", "path", "message"),
    [
        (
            {"check": crash},
            "GEN000",
            "en/en.txt.gz",
            "the check of this shard failed: RecursionError: too deep",
        ),
        ({"check": vanish}, "GEN001", "en/en.txt.gz", "cannot be read: No such file or directory"),
        ({"finish": crash_at_the_end}, "GEN000", ".", "the dataset-level check failed: KeyError: 'nothing'"),
    ],
)
def test_what_fails_is_named_and_the_verdict_incomplete(
    oscar_corpus: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], code: str, path: str, message: str
) -> None:
    broken = replace(formats.formats()["oscar"], **changes)
    monkeypatch.setattr(formats, "named_format", lambda name: (broken, ""))
    monkeypatch.setattr("corpusfmt.engine.validate.named_format", lambda name: (broken, ""))
    report = corpusfmt.validate(oscar_corpus, format="oscar", ignore=["GEN"])
    assert report.verdict.value == "incomplete"
    found = {(finding.location.path, finding.message) for finding in report.findings if finding.code == code}
    assert (path, message) in found


class Deadly(Inline):
    """As if the system killed the worker of one file, time and again."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        shard, _ = args[0]
        if shard.files["documents"].name != "a.jsonl":
            return super().submit(fn, *args, **kwargs)
        future = Future[Any]()
        future.set_exception(BrokenExecutor())
        return future


def deadly(_jobs: int) -> Deadly:
    return Deadly()


def test_a_shard_that_kills_its_workers_is_named_and_the_rest_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[1])
    report = corpusfmt.validate(documents(tmp_path, "a", "b"), engine="py:unit.test_validate:deadly", jobs=2)
    (finding,) = report.findings
    assert (finding.code, finding.location.path) == ("GEN000", "documents/a.jsonl")
    assert finding.message == "the worker that checked this shard failed: RuntimeError: the worker process died"
    assert (report.verdict.value, report.coverage.documents) == ("incomplete", 1)


def test_a_shard_whose_worker_was_ended_at_the_end_of_time_is_named(tmp_path: Path) -> None:
    dolma = formats.formats()["dolma"]
    options = CheckOptions(limits=Limits(timeout=5).begun())
    (shard,) = dolma.plan(entry_of(str(documents(tmp_path, "a"))), options).shards
    (finding,) = _ended(dolma, options, shard, Late()).tally.findings
    assert (finding.code, finding.location.path) == ("GEN003", "documents/a.jsonl")
    assert finding.message == "not finished within --limit timeout (5 seconds)"


def test_a_folder_that_may_be_of_no_format_for_its_links_says_so(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/documents").symlink_to(tmp_path)
    report = corpusfmt.validate(tmp_path / "data")
    assert (report.format, report.verdict.value, report.by_rule) == ("unknown", "incomplete", {"GEN002": 1})
    (finding,) = report.findings
    assert finding.location.path == "documents"
    assert finding.message == f"not opened: a link to `{tmp_path}`, outside the named folder"
    assert finding.hint == "pass `--follow-links` if you trust the link, or replace it by the file"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.parametrize(
    ("asked", "told"), [("auto", "unknown"), ("dolma", "dolma"), ("oscar-1.1", "oscar"), ("oscar-2", "oscar2")]
)
def test_what_is_neither_a_file_nor_a_folder_is_of_the_format_that_was_named(
    asked: str, told: str, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    report = corpusfmt.validate(tmp_path / "pipe", format=asked)
    assert (report.format, report.version, report.verdict.value) == (told, "", "incomplete")
    assert [each.message for each in report.findings] == ["cannot be read: neither a file nor a directory"]


def test_a_link_that_is_not_followed_leaves_a_run_incomplete_whatever_is_ignored(tmp_path: Path) -> None:
    documents(tmp_path / "data", "a")
    (tmp_path / "b.jsonl").write_text(ROW % "b")
    (tmp_path / "data/documents/b.jsonl").symlink_to(tmp_path / "b.jsonl")
    report = corpusfmt.validate(tmp_path / "data", ignore=["GEN"])
    assert (report.verdict.value, report.by_path) == ("incomplete", {"documents/b.jsonl": {"GEN002": 1}})
    assert (report.coverage.shards_seen, report.coverage.shards_total, report.coverage.documents) == (1, 1, 1)
    followed = corpusfmt.validate(tmp_path / "data", follow_links=True)
    assert (followed.verdict.value, followed.coverage.documents) == ("valid", 2)


def test_what_matched_nothing_is_named_where_all_was_seen(tmp_path: Path) -> None:
    corpus = documents(tmp_path, "a", "b")
    assert corpusfmt.validate(corpus, ignore=["DOL5"]).unmatched == ["ignored rule DOL5"]
    assert corpusfmt.validate(corpus, ignore=["DOL5"], sample=0.5).unmatched == []
    (corpus / "documents/c.jsonl").symlink_to("/")
    assert corpusfmt.validate(corpus, ignore=["DOL5"]).unmatched == []


@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_workers_change_nothing(oscar_corpus: Path, dolma_corpus: Path, engine: str) -> None:
    for corpus in (oscar_corpus, dolma_corpus):
        one, two = corpusfmt.validate(corpus), corpusfmt.validate(corpus, jobs=2, engine=engine)
        two.started, two.finished, two.shards = one.started, one.finished, one.shards
        for name in RENDERERS:
            assert corpusfmt.render(one, name) == corpusfmt.render(two, name)


def test_progress_tells_each_shard_and_that_files_are_compared(tmp_path: Path) -> None:
    steps: list[Progress] = []
    report = corpusfmt.validate(documents(tmp_path, "a", "long-name"), progress=steps.append)
    one, both = len(ROW % "a"), len(ROW % "a") + len(ROW % "long-name")
    assert steps == [
        Progress(0, 2, 0, both),
        Progress(1, 2, one, both),
        Progress(2, 2, both, both),
        Progress(2, 2, both, both, "comparing files"),
    ]
    assert (report.verdict.value, report.coverage.bytes) == ("valid", both)


def test_one_process_checks_even_what_is_large_unless_more_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corpusfmt.engine.executors.SMALL_INPUT", 1)
    before, seen = set(multiprocessing.active_children()), set[Any]()
    corpusfmt.validate(documents(tmp_path, "a", "b"), progress=lambda _: seen.update(multiprocessing.active_children()))
    assert seen <= before


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


def test_a_seed_chooses_the_shards_and_the_report_names_them(tmp_path: Path) -> None:
    corpus = documents(tmp_path, *"abcdefgh")
    samples = [
        corpusfmt.validate(corpus, sample=0.25, seed=seed, jobs=jobs).results["sample"]
        for seed in range(9)
        for jobs in (1, 2)
    ]
    assert samples[::2] == samples[1::2]
    assert all(len(each["shards"]) == 2 and each["share"] == 0.25 for each in samples)
    assert len({tuple(each["shards"]) for each in samples}) > 3
    assert "sample" not in corpusfmt.validate(corpus, sample=1.0, seed=1).results
    again = json.loads(json.dumps(corpusfmt.validate(corpus, sample=0.25, seed=3).to_dict()))
    assert again["results"]["sample"] == samples[6]


@pytest.mark.parametrize(("share", "seen"), [(0.001, 1), (0.5, 2), (0.7, 3), (1.0, 4)])
def test_a_sample_has_at_least_one_shard(share: float, seen: int, tmp_path: Path) -> None:
    coverage = corpusfmt.validate(documents(tmp_path, *"abcd"), sample=share).coverage
    assert (coverage.shards_seen, coverage.shards_total, coverage.sampled) == (seen, 4, seen < 4)


@pytest.mark.parametrize("share", [0.0, -0.5, 1.5])
def test_a_sample_of_nothing_is_refused(share: float, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        corpusfmt.validate(documents(tmp_path, "a"), sample=share)
    assert str(raised.value) == f"sample is {share:g}, expected a share above 0 and at most 1, like 0.01"


def test_formats_are_asked_in_the_order_in_which_they_are_likely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    format_in = formats._format_in

    def noted(module: str) -> formats.Format | None:
        asked.append(module.removeprefix("corpusfmt.formats.").removesuffix(".format"))
        return format_in(module)

    monkeypatch.setattr(formats, "_format_in", noted)  # which imports the format that it is asked for
    context = '{"@context": {"sc": "https://schema.org/"}, "@type": "sc:Dataset", "name": "x"}'
    for name, content, expected in (
        ("croissant.json", context, ["croissant"]),
        ("a.jsonl", ROW % "a", ["dolma"]),
    ):
        (tmp_path / name).write_text(content)
        formats.detect(entry_of(str(tmp_path / name)))
        assert asked == expected
        asked.clear()


def test_a_file_that_breaks_off_within_its_first_row_has_the_format_that_it_begins_with(tmp_path: Path) -> None:
    text = random.Random(1).randbytes(20_000).hex()
    row = f'{{"id": "1", "source": "s", "text": "{text}"}}\n'
    (tmp_path / "a.jsonl.gz").write_bytes(gzipped(row.encode())[:10_000])
    report = corpusfmt.validate(tmp_path / "a.jsonl.gz")
    assert (report.format, report.by_rule) == ("dolma", {"GEN101": 1})


def test_unknown_names_are_refused() -> None:
    wrong: list[dict[str, Any]] = [{"profile": "lenient"}, {"select": ["OSC9"]}, {"ignore": [""]}]
    for arguments in wrong:
        with pytest.raises(UsageError, match="unknown"):
            grading(Validation(**arguments))


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
