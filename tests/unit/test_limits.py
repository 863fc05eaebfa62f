"""The bounds of a run end it as incomplete, name themselves, and let the same command go on with a higher bound."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import random
import signal
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest
from support import SAMPLE, corpus, gzipped, run_cli, zstd

import corpusfmt
from corpusfmt.engine.executors import are_spare, available_processors, executor_factory
from corpusfmt.engine.run import Late, run_tasks
from corpusfmt.formats.croissant.data.patterns import PatternFault, Patterns
from corpusfmt.io import limits
from corpusfmt.io.limits import UNLIMITED, Account, LimitReached, Limits, limited
from corpusfmt.io.publish import publish
from corpusfmt.io.streams import Chunks
from corpusfmt.io.text import has_too_many_values
from corpusfmt.model import Finding, Location, Problem, Severity, Tally

ROW = b'{"id":"%d","text":"All human beings are born free.","source":"s"}\n'


def dolma(root: Path, parts: int = 3, rows: int = 1000) -> Path:
    documents = root / "documents"
    documents.mkdir(parents=True)
    for part in range(parts):
        content = b"".join(ROW % (part * rows + number) for number in range(rows))
        (documents / f"{part}.jsonl.gz").write_bytes(gzipped(content))
    return root


@pytest.fixture
def no_free_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FREE_BYTES", 1000)


def reached(report: corpusfmt.Report) -> list[tuple[str, str]]:
    return [(each.location.path, each.message) for each in report.findings if each.code == "GEN003"]


@pytest.mark.usefixtures("no_free_bytes")
def test_what_expands_too_far_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    dolma(tmp_path)
    (tmp_path / "documents/1.jsonl.gz").write_bytes(gzip.compress(ROW % 7 + b" " * 100_000))
    report = corpusfmt.validate(tmp_path, limits=Limits(expansion=50))
    assert [path for path, _ in reached(report)] == ["documents/1.jsonl.gz"]
    size = (tmp_path / "documents/1.jsonl.gz").stat().st_size
    assert reached(report)[0][1] == (
        f"{size:,} bytes expand to more than {len(ROW % 7) + 100_000:,}, more than --limit expansion (50) allows"
    )
    assert (report.verdict, report.coverage.documents) == ("incomplete", 2000)


@pytest.mark.parametrize("jobs", [1, 2])
def test_total_bytes_end_a_run(jobs: int, tmp_path: Path) -> None:
    dolma(tmp_path, parts=20)
    report = corpusfmt.validate(tmp_path, jobs=jobs, limits=Limits(total_bytes=200_000))
    assert report.verdict == "incomplete"
    assert report.coverage.shards_seen < report.coverage.shards_total == 20
    assert any("more than --limit total-bytes (200,000)" in message for _, message in reached(report))
    assert any(path == "." and "shards were read" in message for path, message in reached(report))
    assert corpusfmt.validate(tmp_path, jobs=jobs, limits=Limits(total_bytes=1_500_000)).verdict == "valid"


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("parts", [1, 2, 4])
def test_a_limit_that_the_last_file_reaches_is_reported(jobs: int, parts: int, tmp_path: Path) -> None:
    dolma(tmp_path, parts)
    size = sum(len(ROW % number) for number in range(parts * 1000))
    assert corpusfmt.validate(tmp_path, jobs=jobs, limits=Limits(total_bytes=2 * size)).verdict == "valid"
    for less in (1, size // parts // 2):
        report = corpusfmt.validate(tmp_path, jobs=jobs, limits=Limits(total_bytes=size - less))
        assert report.verdict == "incomplete"
        assert reached(report)


@pytest.mark.parametrize("jobs", [1, 4])
def test_the_total_binds_where_each_shard_alone_is_below_it(jobs: int, tmp_path: Path) -> None:
    report = corpusfmt.validate(dolma(tmp_path, parts=4), jobs=jobs, limits=Limits(total_bytes=100_000))
    assert report.verdict == "incomplete"
    assert any("more than --limit total-bytes (100,000)" in message for _, message in reached(report))


def test_the_total_counts_what_planning_reads(tmp_path: Path) -> None:
    text = tmp_path / "af" / "af.txt.gz"
    text.parent.mkdir()
    text.write_bytes(gzipped(b"All human beings are born free and equal in dignity and rights.\n" * 1000))
    # Whether its lines are shuffled is seen before it is read.
    report = corpusfmt.validate(tmp_path, format="oscar-1.0", limits=Limits(total_bytes=100_000))
    assert reached(report)
    assert not reached(corpusfmt.validate(tmp_path, format="oscar-1.0", limits=Limits(total_bytes=200_000)))


def test_the_total_counts_what_comparing_reads(tmp_path: Path) -> None:
    text = tmp_path / "af" / "af_dedup.txt.gz"
    text.parent.mkdir()
    line = b"All human beings are born free and equal in dignity and rights. %d\n"
    text.write_bytes(gzipped(b"".join(line % (number % 900) for number in range(1000))))
    size = 3 * 70_000
    report = corpusfmt.validate(tmp_path, format="oscar-1.0", dedup=True, limits=Limits(total_bytes=140_000))
    assert reached(report)
    assert not reached(corpusfmt.validate(tmp_path, format="oscar-1.0", dedup=True, limits=Limits(total_bytes=size)))


def test_tasks_that_wait_are_not_begun_once_the_total_is_reached() -> None:
    begun: list[int] = []
    submitted, reached = Event(), Event()

    def tasks() -> Iterator[int]:
        yield from range(6)
        submitted.set()

    def read(number: int) -> int:
        begun.append(number)
        Account().add(6, 6)
        assert (submitted if number < 2 else reached).wait(60)
        return number

    def finished(index: int, _: object) -> None:
        if index == 1:
            reached.set()

    results = run_tasks(
        read,
        tasks(),
        lambda: ThreadPoolExecutor(1),
        window=7,
        finished=finished,
        limits=Limits(total_bytes=10),
    )
    with pytest.raises(LimitReached, match=r"more than `total_bytes` \(10\)"):
        list(results)
    assert begun == [0, 1, 2]


def test_time_ends_a_run(tmp_path: Path) -> None:
    report = corpusfmt.validate(dolma(tmp_path), limits=Limits(timeout=1e-9))
    assert report.verdict == "incomplete"
    assert [(each.code, each.slug, each.hint) for each in report.findings] == [
        ("GEN003", "limit-reached", "raise --limit timeout")
    ]


def sleep_on(number: int) -> int:
    if number == 1:
        # As in a call into a library that heeds no signals.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        time.sleep(60)
    return number


def test_a_worker_that_does_not_come_back_is_ended() -> None:
    results = run_tasks(
        sleep_on, range(4), executor_factory("processes", 2), window=4, limits=Limits(timeout=2).begun()
    )
    ended: list[object] = []
    with pytest.raises(LimitReached, match=r"`timeout` \(2 seconds\)"):
        ended.extend(results)
    assert ended == [0, Late(), 2, 3]


def test_processor_time_is_guarded_without_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CPU_SECONDS", -1)
    with limited(Limits()), pytest.raises(LimitReached, match="seconds of processor time for 10 bytes"):
        Account("a").add(10, 10)
    with limited(Limits(timeout=1)):
        Account("a").add(10, 10)
    with limited(Limits(timeout=1).of_own_files):
        Account("a").add(10, 10**12)


def busy() -> None:
    """What no check of ours interrupts."""
    for _ in range(10**9):
        pass


needs_signals = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="POSIX alone has timers")


@needs_signals
@pytest.mark.parametrize(
    ("bounds", "said"),
    [(Limits(timeout=0.2), r"`timeout` \(0.2 seconds\)"), (Limits(), "of processor time for 0 bytes")],
    ids=["timeout", "guard"],
)
def test_time_ends_what_asks_no_meter(
    bounds: Limits, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CPU_SECONDS", 0.2)
    with pytest.raises(LimitReached, match=said), limited(bounds.begun()), publish(tmp_path / "out"):
        busy()
    assert list(tmp_path.iterdir()) == []
    for timer, number in ((signal.ITIMER_REAL, signal.SIGALRM), (signal.ITIMER_VIRTUAL, signal.SIGVTALRM)):
        assert (signal.getitimer(timer), signal.getsignal(number)) == ((0.0, 0.0), signal.SIG_DFL)


@needs_signals
def test_the_meter_asked_is_that_of_the_block_within(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CPU_SECONDS", 0.2)
    with limited(Limits()), limited(Limits(None)) as inner:
        inner.stored = 1_000_000
        inner.limits = UNLIMITED
        for _ in range(3 * 10**7):
            pass
    with limited(Limits()) as entered:
        entered.stored = 10**9
        for _ in range(3 * 10**7):
            pass


@needs_signals
def test_who_swallows_the_end_of_time_is_told_again() -> None:
    with limited(Limits(timeout=0.2).begun()) as entered:
        with suppress(LimitReached):
            busy()
        with pytest.raises(LimitReached):
            entered.check()


@needs_signals
def test_signals_that_a_program_has_use_for_are_left_to_it() -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: rung.append(number))
    try:
        with limited(Limits(timeout=0.1).begun()) as entered:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            while not rung:
                pass
            with pytest.raises(LimitReached):
                entered.check()
    finally:
        signal.signal(signal.SIGALRM, before)


@needs_signals
def test_threads_set_no_timers() -> None:
    found: list[tuple[float, float]] = []

    def run() -> None:
        with limited(Limits(timeout=100).begun()):
            found.append(signal.getitimer(signal.ITIMER_REAL))

    thread = Thread(target=run)
    thread.start()
    thread.join()
    assert found == [(0.0, 0.0)]


def test_waiting_for_a_pattern_counts_as_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CPU_SECONDS", 0.5)
    with limited(Limits()), Patterns(60) as patterns, pytest.raises(LimitReached, match="seconds of processor time"):
        patterns.first_groups("(a+)+$", ["a" * 60 + "!"])


def test_a_pattern_that_took_too_long_is_not_tried_again() -> None:
    with limited(Limits()) as meter, Patterns(0.5) as patterns:
        for _ in range(2):
            with pytest.raises(PatternFault, match=r"no answer within 0\.5 seconds"):
                patterns.first_groups("(a+)+$", ["a" * 60 + "!"])
            waited = meter.waited
        with pytest.raises(PatternFault, match=r"no answer within 0\.5 seconds"):
            patterns.first_groups("(a+)+$", ["b"])
        assert meter.waited == waited > 0


def test_stored_bytes_count_once_however_often_they_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(1000))
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    with limited(Limits()) as meter:
        for name in ("a", "b", "./a"):
            with (tmp_path / name).open("rb", buffering=0) as file:
                Account(name, file=file).add(5000, 5000)
        assert (meter.stored, meter.read) == (1000, 15_000)


def test_stored_bytes_are_counted_piece_by_piece() -> None:
    counted = []
    with limited(Limits()) as meter:
        first, again = Account("a"), Account("a")
        for account, size in ((first, 300), (first, 400), (again, 500), (again, 500)):
            account.add(size, size)
            counted.append(meter.stored)
    assert counted == [300, 700, 700, 1000]


def test_what_is_read_back_from_scratch_reaches_the_limit_of_time_alone() -> None:
    meter = limits.Meter(Limits(total_bytes=10), spent=11)
    meter.add(100, 0)
    with pytest.raises(LimitReached, match="read 12 uncompressed bytes"):
        meter.add(0, 1)
    late = limits.Meter(Limits(timeout=1, ends=time.time() - 1))
    with pytest.raises(LimitReached, match="not finished within"):
        late.add(100, 0)


def test_how_far_reading_is_is_told_every_few_megabytes() -> None:
    told: list[int] = []
    with limited(UNLIMITED, tell=told.append):
        account = Account()
        for _ in range(1000):
            account.add(10_000, 10_000)
    assert told == [4_200_000, 8_400_000]


def test_the_bounds_of_one_run_do_not_hold_for_the_next() -> None:
    with limited(Limits(total_bytes=10)), pytest.raises(LimitReached):
        Account().add(11, 11)
    Account().add(11, 11)


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (("--limit", "total-bytes=100kB"), 'limit.total-bytes = "100kB"'),
        (("--limit", "timeout=0.000001"), "limit.timeout = 0.000001"),
        (("--limit", "expansion=2"), "limit.expansion = 2"),
    ],
)
def test_options_and_settings(options: tuple[str, str], settings: str, tmp_path: Path) -> None:
    documents = dolma(tmp_path / "corpus") / "documents"
    (documents / "9.jsonl.gz").write_bytes(gzipped(ROW % 1) + gzipped(b" " * 1_000_000) * 270)
    (tmp_path / "settings.toml").write_text(settings, "utf-8")
    for given in (options, ("--config", tmp_path / "settings.toml")):
        done = run_cli("validate", tmp_path / "corpus", "--output-format", "json", *given)
        assert done.returncode == 3
        assert f"--limit {options[1].partition('=')[0]}" in next(
            each["message"] for each in json.loads(done.stdout)["findings"] if each["rule"] == "GEN003"
        )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--limit", "expansion=0.5"), b"--limit expansion is 0.5, expected a finite ratio of at least 1"),
        (("--limit", "timeout=0"), b"--limit timeout is 0, expected a finite number of seconds above 0"),
        (("--limit", "timeout=soon"), b"--limit timeout is soon, expected a finite number of seconds above 0"),
        (("--limit", "timeout="), b"--limit timeout has no value, expected timeout=VALUE"),
        (("--limit", "max-expansion=2"), b"unknown --limit 'max-expansion' (did you mean `expansion`?)"),
        (("--limit", "total-bytes=many"), b"size is 'many', expected a size like 500MB"),
    ],
)
def test_wrong_bounds(options: tuple[str, str], said: bytes, tmp_path: Path) -> None:
    done = run_cli("validate", tmp_path, *options)
    assert (done.returncode, said in done.stderr) == (2, True)


def test_bounds_cannot_be_ignored(tmp_path: Path) -> None:
    report = corpusfmt.validate(dolma(tmp_path), ignore=["GEN"], limits=Limits(total_bytes=1000))
    assert report.by_rule["GEN003"]


def test_a_conversion_goes_on_with_a_higher_bound(tmp_path: Path) -> None:
    source, out = dolma(tmp_path / "source"), tmp_path / "out"
    with pytest.raises(LimitReached, match=r"`total_bytes` \(100,000\)"):
        corpusfmt.convert(source, out, to="parquet", limits=Limits(total_bytes=100_000))
    markers = list((out / ".corpusfmt").rglob("000000.json"))
    before = [(path.stat().st_ino, path.stat().st_mtime_ns) for path in markers]
    assert markers
    assert not (out / "croissant.json").exists()
    steps: list[tuple[str, int]] = []
    report = corpusfmt.convert(
        source, out, to="parquet", progress=lambda stage, done: steps.append((stage, done.shards))
    )
    assert (report.verdict, report.coverage.documents, len(before)) == ("valid", 3000, 1)
    assert len(corpus(out)) >= 3


def test_a_build_goes_on_with_a_higher_bound(tmp_path: Path) -> None:
    command = ("build", SAMPLE, "-o", tmp_path / "bounded/corpus", "--jobs", "1")
    done = run_cli(*command, "--limit", "total-bytes=100kB")
    assert (done.returncode, b"GEN003" in done.stderr, b"help: raise --limit total-bytes" in done.stderr) == (
        3,
        True,
        True,
    )
    assert not (tmp_path / "bounded/corpus/MANIFEST.json").exists()
    assert run_cli(*command).returncode == 0
    assert corpusfmt.build(SAMPLE, tmp_path / "plain/corpus").verdict == "valid"
    assert corpus(tmp_path / "bounded/corpus") == corpus(tmp_path / "plain/corpus")


def test_describe_and_records_end_with_the_bound(tmp_path: Path) -> None:
    source = dolma(tmp_path / "source")
    done = run_cli("describe", source, "--limit", "total-bytes=10kB")
    assert (done.returncode, done.stdout, b"GEN003" in done.stderr) == (3, b"", True)
    (tmp_path / "source" / "croissant.json").write_bytes(run_cli("describe", source).stdout)
    done = run_cli("records", source / "croissant.json", "--limit", "total-bytes=10kB")
    assert (done.returncode, b"more than --limit total-bytes (10,000)" in done.stderr) == (3, True)


def test_records_leave_no_bounds_behind(tmp_path: Path) -> None:
    source = dolma(tmp_path / "source")
    (source / "croissant.json").write_bytes(run_cli("describe", source).stdout)
    found = corpusfmt.records(source / "croissant.json", limits=Limits(total_bytes=1_000_000))
    for _ in found:
        Account().add(10**9, 10**9)
        break


def test_many_streams_share_the_memory_for_windows() -> None:
    with limited(Limits()):
        first, second = Account(), Account()
        assert first.take_memory(100 << 20)
        assert not second.take_memory(100 << 20)
        first.release_memory(100 << 20)
        assert second.take_memory(100 << 20)


@pytest.mark.parametrize(
    ("codec", "packed"),
    [("bzip2", bz2.compress(b"ab" * 5000) * 2), ("gzip", gzip.compress(b"ab" * 5000) * 2)],
    ids=["bzip2", "gzip"],
)
def test_chunks_of_several_members(codec: str, packed: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(packed)
    with (tmp_path / "a").open("rb") as file:
        chunks = Chunks(file, codec)  # type: ignore[arg-type]
        assert (b"".join(chunks), chunks.members) == (b"ab" * 10_000, 2)


def test_commas_in_strings_are_no_values() -> None:
    text = rb'["a\"b\\",' + b'"' + b"," * 300_000 + b'"]'
    assert not has_too_many_values(text, 10)
    assert has_too_many_values(b"[" + b"[]," * 300_000, 10)
    assert has_too_many_values(b'["' + b"a" * 500_000 + b'",' + b"1," * 10 + b"1]", 10)
    assert not has_too_many_values(b'["' + b"a" * 500_000 + b'",' + b"1," * 5 + b"1]", 10)


LONG = "x" * (1 << 20)


@pytest.mark.parametrize(
    "problem",
    [
        Problem(LONG, Location("a")),
        Problem("m", Location("a"), LONG),
        Problem("m", Location(LONG)),
        Problem("m", Location("a", pointer=LONG)),
        Problem("m", Location("a", record=LONG)),
    ],
    ids=["message", "hint", "path", "pointer", "record"],
)
def test_findings_kept_are_bounded_by_bytes_and_each_rule_keeps_one(problem: Problem) -> None:
    tally = Tally(cap=100_000)
    for code in ("A", "B"):
        for _ in range(100):
            tally.add(Finding(code, "slug", Severity.ERROR, problem))
    assert {each.code for each in tally.findings} == {"A", "B"}
    assert 20 < len(tally.findings) < 32
    assert sum(tally.counts.values()) == 200


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="Linux alone bounds it")  # noqa: PTH110
def test_memory_is_bounded_in_the_block_alone() -> None:
    with pytest.raises(MemoryError), limits.bounded_memory(10 << 20):
        bytes(200 << 20)
    assert len(bytes(200 << 20)) == 200 << 20


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers of POSIX systems")
@pytest.mark.parametrize("number", [1, 3])
def test_a_limit_is_not_lost_where_an_object_is_removed(number: int, capfd: pytest.CaptureFixture[str]) -> None:
    class Removed: ...

    bounds = Limits(timeout=0.2).begun()
    hook, noted = sys.unraisablehook, []

    def remove() -> None:
        for _ in range(number):
            held = Removed()
            noted.append(weakref.ref(held, lambda _: time.sleep(1)))
            del held
        time.sleep(10)

    with pytest.raises(LimitReached), limited(bounds):
        remove()
    assert sys.unraisablehook is hook
    assert capfd.readouterr() == ("", "")


# The limit may be reached between the opening of a file and the block that closes it: the collector closes it then.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_one_large_file_is_read_ahead_by_a_thread_with_the_same_report(tmp_path: Path) -> None:
    texts = (random.Random(number).randbytes(1200).hex() for number in range(5000))
    rows = (json.dumps({"id": str(number), "text": text}) for number, text in enumerate(texts))
    data = "\n".join([*rows, "no row"]).encode()
    others = set(threading.enumerate())
    for suffix, whole in ((".gz", gzip.compress(data, 1)), (".zst", zstd.compress(data, 1))):
        path = tmp_path / f"a.jsonl{suffix}"
        path.write_bytes(whole[:-9])
        alone = corpusfmt.validate(path, jobs=1)
        assert alone.verdict == "invalid"
        for jobs in (None, 2):
            assert corpusfmt.validate(path, jobs=jobs).tally.counts == alone.tally.counts
            late = corpusfmt.validate(path, jobs=jobs, limits=Limits(timeout=0.001))
            assert "limit-reached" in {finding.slug for finding in late.findings}
            assert set(threading.enumerate()) <= others


def test_a_second_processor_is_spare_where_it_has_no_file() -> None:
    assert [are_spare(None, jobs, tasks) for jobs, tasks in ((1, 1), (2, 1), (2, 2), (4, 2), (4, 3))] == [
        False, True, False, True, False
    ]  # fmt: skip
    assert are_spare(None, None, 1) == (available_processors() > 1)
    assert not are_spare("dask", 8, 1)
