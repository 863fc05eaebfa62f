"""Limits, ends and orders that a small slip would move: each of these was changed by hand once, and nothing noticed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from functools import partial
from pathlib import Path
from typing import Any

import fsspec
import msgspec
import pytest
from support import gzipped, zstd

import corpusfmt
from corpusfmt.engine.executors import Workers
from corpusfmt.engine.progress import Progress, ShardProgress
from corpusfmt.engine.run import run_tasks
from corpusfmt.engine.stages import Stages, StageTask
from corpusfmt.engine.workplace import digest
from corpusfmt.formats import formats
from corpusfmt.formats.croissant.data.casts import CASTS
from corpusfmt.formats.croissant.data.globs import matches
from corpusfmt.formats.croissant.model.values import is_date
from corpusfmt.formats.dolma import rowfiles
from corpusfmt.formats.dolma.alignment import Difference
from corpusfmt.formats.dolma.rows import DocumentRow
from corpusfmt.formats.dolma.ruleset import RULES
from corpusfmt.formats.general import LINE_TOO_LONG
from corpusfmt.io import temporary
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.limits import DEFAULT_LIMITS
from corpusfmt.io.lines import MAX_LINE_BYTES, Block, Line, LongLine, blocks, lines
from corpusfmt.io.paths import open_named
from corpusfmt.io.streams import Chunks, StreamFault
from corpusfmt.model import Finding, Incomplete, Location, Problem, Rule, Severity
from corpusfmt.pipeline.dedup import groups
from corpusfmt.pipeline.intake.inputs import Input
from corpusfmt.pipeline.intake.take import Scratch
from corpusfmt.report.view import View
from corpusfmt.rules import STANDARD, Grade, Grading, Judge, Profile

WINDOW = 4


class FirstIsSlow(Executor):
    """Ends every task at once, but for the first, which ends when nothing has been started for a while."""

    def __init__(self) -> None:
        self.first: Future[Any] = Future()
        self.started = 0
        self.most_before_the_first = 0
        threading.Thread(target=self._end_the_first, daemon=True).start()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        self.started += 1
        if self.started == 1:
            self.first_result = partial(function, *arguments)
            return self.first
        if not self.first.done():
            self.most_before_the_first = self.started
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future

    def _end_the_first(self) -> None:
        before = 0
        while before < self.started or not self.started:
            before = self.started
            time.sleep(0.2)
        self.first.set_result(self.first_result())


def test_results_that_wait_count_against_the_window() -> None:
    executor = FirstIsSlow()
    results = run_tasks(int, range(3 * WINDOW), lambda: executor, window=WINDOW)
    assert list(results) == list(range(3 * WINDOW))
    assert executor.most_before_the_first <= WINDOW


def is_there(path: str) -> bool:
    return Path(path).exists()


def test_a_marker_is_gone_while_its_task_runs_again(tmp_path: Path) -> None:
    marker = tmp_path / "stage" / "task.json"
    task = StageTask("task", str(marker), "fingerprint")
    with Workers(None, 1) as workers:
        for stands in (None, lambda *_: False):
            results: list[Any] = []

            def ended(_: object, result: object, results: list[Any] = results) -> Progress:
                results.append(result)
                return Progress(1, 1, 1, 1)

            Stages(tmp_path, workers, None).stream("stage", is_there, [task], bool, ended, stands)
            assert (results, marker.exists()) == ([False], True)


def test_a_lock_on_a_file_that_its_holder_removed_is_not_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lock"
    take = temporary._taken

    def taken_as_it_goes(descriptor: int, *, shared: bool) -> bool | None:
        path.unlink()  # as another run does that ends between our opening and our locking
        return take(descriptor, shared=shared)

    monkeypatch.setattr(temporary, "_taken", taken_as_it_goes)
    with temporary.locked(path) as mine:
        assert not mine


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_sized_integers_end_where_their_bits_do(bits: int) -> None:
    signed, unsigned = CASTS[f"cr:Int{bits}"], CASTS[f"cr:UInt{bits}"]
    half, whole = 1 << bits - 1, 1 << bits
    for cast, low, high in ((signed, -half, half - 1), (unsigned, 0, whole - 1)):
        assert [cast(low), cast(str(high))] == [low, high]
        for beyond in (low - 1, high + 1):
            with pytest.raises(Exception, match=f"an integer from {low} to {high}"):
                cast(beyond)


LIMIT = 5


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 7, 100])
@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("length", [LIMIT - 1, LIMIT, LIMIT + 1, 2 * LIMIT, 2 * LIMIT + 1])
@pytest.mark.parametrize("before", [b"", b"ab\n", b"abcdef\n"])
def test_a_line_at_the_limit_is_none_beyond_it(before: bytes, length: int, end: bytes, size: int) -> None:
    data = before + b"x" * length + end
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    expected: list[Line | LongLine] = []
    byte = 0
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), 1):
        terminated = byte + len(line) < len(data)
        long = len(line) > LIMIT
        expected.append(LongLine(number, byte, len(line)) if long else Line(line, number, byte, terminated))
        byte += len(line) + 1
    assert list(lines(chunks, LIMIT)) == expected
    assert all(len(block.data) <= max(size, LIMIT) + 1 for block in blocks(chunks, LIMIT) if isinstance(block, Block))


@pytest.mark.parametrize(("first", "skippable"), [(0x4F, False), (0x50, True), (0x5F, True), (0x60, False)])
def test_skippable_frames_of_zstd_are_sixteen(first: int, skippable: bool) -> None:
    frame = bytes([first]) + b"\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"
    data = zstd.compress(b"text") + frame + zstd.compress(b" and more")

    class Once:
        def __init__(self) -> None:
            self.parts: Iterator[bytes] = iter([data])

        def read(self, _size: int = -1, /) -> bytes:
            return next(self.parts, b"")

    if skippable:
        assert b"".join(Chunks(Once(), "zstd")) == b"text and more"
    else:
        with pytest.raises(StreamFault, match="bytes after the last zstd frame"):
            b"".join(Chunks(Once(), "zstd"))


@pytest.mark.parametrize(
    ("pattern", "path", "matched"),
    [
        ("a*", "a", True),
        ("a**", "a", True),
        ("*", "a", True),
        ("a*b", "a", False),
        ("x/a*", "x/a", True),
        ("a/**", "a", True),
        ("a/*", "a", False),
        ("a?*", "a", False),
    ],
)
def test_a_star_at_the_end_may_match_nothing(pattern: str, path: str, matched: bool) -> None:
    assert matches(pattern, path) is matched


def test_scratch_counts_what_compacting_writes_once_more() -> None:
    scratch = Scratch(limit=250)
    scratch.keep("a", 100, 100, 50)
    assert (scratch.used, scratch.need(100), scratch.admits(100)) == (150, 150, True)
    scratch.check()
    scratch = Scratch(limit=249, again=0.5)
    scratch.keep("a", 100, 100, 50)
    assert (scratch.used, scratch.need(100)) == (200, 200)
    scratch.keep_all_twice()
    scratch.keep("a", 100, 100, 50)
    assert (scratch.used, scratch.need(100), scratch.admits(1)) == (250, 250, False)
    with pytest.raises(Incomplete, match="the remaining stages may need up to 250 B"):
        scratch.check()


@pytest.mark.parametrize(
    "value", [Progress(0, 1, 0, 1), FileFacts(1, "00"), DEFAULT_LIMITS, formats()["dolma"]], ids=type
)
def test_values_that_are_handed_around_do_not_change(value: msgspec.Struct) -> None:
    with pytest.raises(AttributeError, match="immutable type"):
        setattr(value, value.__struct_fields__[0], None)


def test_a_profile_grades_a_rule_only_where_it_applies() -> None:
    rule = Rule(code="XMP101", slug="x", severity=Severity.WARNING, explanation="", grades={"1.0": None})
    strict = Profile("strict", grades=(Grade(("XMP101",), Severity.ERROR, "the letter"),))
    found = {(v, p.name): Grading((p,)).judged(rule, v, "a")[0] for v in ("1.0", "1.1") for p in (STANDARD, strict)}
    assert found == {
        ("1.0", "standard"): None,
        ("1.1", "standard"): Severity.WARNING,
        ("1.0", "strict"): None,
        ("1.1", "strict"): Severity.ERROR,
    }


def dolma_findings(folder: Path, attributes: str) -> list[tuple[str, str, Location]]:
    for path, line in (
        ("documents/0.jsonl.gz", '{"id": "1", "text": "some text here, long enough", "source": "s"}'),
        ("attributes/pii/0.jsonl.gz", f'{{"id": "1", "source": "s", "attributes": {attributes}}}'),
    ):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_bytes(gzipped(line.encode() + b"\n"))
    return [(each.code, each.message, each.location) for each in corpusfmt.validate(folder).findings]


def test_spans_within_another_are_compared_with_it(tmp_path: Path) -> None:
    spans = "[[0, 20, 1.0], [2, 4, 1.0], [5, 7, 1.0], [20, 21, 1.0]]"
    found = dolma_findings(tmp_path, f'{{"a": {spans}}}')
    assert [(code, message, at.pointer) for code, message, at in found] == [
        ("DOL608", "the span [2, 4] overlaps [0, 20]", "/attributes/a/1"),
        ("DOL608", "the span [5, 7] overlaps [0, 20]", "/attributes/a/2"),
    ]


def test_a_finding_in_a_row_has_the_pointer_of_its_value(tmp_path: Path) -> None:
    found = dolma_findings(tmp_path, '{"a/b~c": [[0, 4, 1.0], [5, 500, 1.0]]}')
    file = "attributes/pii/0.jsonl.gz"
    assert [(code, at) for code, _, at in found] == [
        ("DOL407", Location(file, 1, 0, pointer="/attributes/a~1b~0c")),
        ("DOL604", Location(file, 1, 0, pointer="/attributes/a~1b~0c/1", record="1")),
    ]


@pytest.mark.parametrize(
    ("time", "real"),
    [("23:59:60Z", True), ("23:59:60", True), ("05:29:60+05:30", True), ("05:44:60+05:45", True), ("23:58:60Z", False)],
)
def test_a_leap_second_ends_an_hour_or_a_part_of_one(time: str, real: bool) -> None:
    assert is_date(f"2016-12-31T{time}") is real


def test_findings_are_where_they_are_however_rows_are_cut_into_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f'{{"id": "{number}", "text": "x", "source": "s"}}' for number in range(20)]
    rows[13] = rows[13].replace('"x"', "7")
    said = [f'{{"id": "{number}", "attributes": {{"a__b__c": []}}}}' for number in range(20)]
    said[17] = said[17].replace("[]", "[[0, 9, 1.0]]")
    for folder, lines_of_file in (("documents", rows), ("attributes/a", said)):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "0.jsonl").write_text("".join(f"{line}\n" for line in lines_of_file))

    def found() -> list[tuple[str, Location]]:
        return [(each.code, each.location) for each in corpusfmt.validate(tmp_path).findings]

    whole = found()
    assert [(code, at.line) for code, at in whole] == [("DOL305", 14), ("DOL604", 18)]
    monkeypatch.setattr(rowfiles, "PIECE", 100)
    assert found() == whole


@pytest.mark.parametrize("inputs", [1, 7, 64, 1000])
def test_every_container_is_in_one_group(inputs: int) -> None:
    found = groups(inputs)
    assert (sum(found), min(found) > 0) == (inputs, True)


def test_a_million_rows_are_kept_to_tell_what_happened() -> None:
    rows = 1 << 20
    difference = Difference(0, Location("x"), "a", "b")
    difference.add_documents(["a", *["c"] * (rows - 2), "b", "a"])
    difference.add_attributes(["b", *["c"] * (rows - 2), "a", "b"])
    assert difference.explained().endswith(f": rows 1 and {rows} are swapped")


def test_a_few_names_of_attributes_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rowfiles, "_REMEMBERED_KEYS", 2)
    keys = rowfiles.Keys(Judge(RULES, Grading(), version="1.0", path="x"))
    keys.add(("a", "b", "c"), 1, lambda: Location("x", 1))
    assert list(keys.seen) == ["a", "b"]


def test_a_named_file_is_opened_where_it_is(tmp_path: Path) -> None:
    fsspec.filesystem("memory").pipe("/named/list", b"there")
    path = tmp_path / "list"
    path.write_bytes(b"here")
    for named, expected in (("memory://named/list", b"there"), (str(path), b"here")):
        with open_named(named) as file:
            assert file.read() == expected


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_named_file_may_be_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with os.fdopen(os.open(tmp_path / "fifo", os.O_RDWR), "wb") as written:
        written.write(b"here")
        written.flush()
        with open_named(str(tmp_path / "fifo")) as fifo:
            assert fifo.read(4) == b"here"


def test_the_id_of_a_task_is_its_file_and_a_digest_of_its_key() -> None:
    name = "ä" * 80 + ".warc.wet.gz"
    assert Input(f"there/{name}", "k").task_id == "ä" * 75 + "-" + digest("k")[:12]


def test_what_nobody_grades_is_not_regraded() -> None:
    judge = Judge(RULES, Grading(), version="1.0", path="x")
    judge.check(DocumentRow(Location("x"), {"id": "1", "text": "t"}))
    assert [each.code for each in judge.tally.findings] == ["DOL306"]
    assert not judge.tally.regraded


def test_progress_counts_what_was_read_of_unfinished_files(tmp_path: Path) -> None:
    seen: list[Progress] = []
    with ShardProgress(seen.append, [100, 50]) as shown:
        assert shown.gauge is not None
        shown.gauge.moved({0: 40, 1: 60})
        shown.finished(1, None)
        shown.gauge.moved({0: 70})
    assert [each.bytes for each in seen] == [0, 90, 90, 120]


def test_the_longest_line_is_what_its_rule_says() -> None:
    assert f"({MAX_LINE_BYTES // 2**20} MiB)" in LINE_TOO_LONG.explanation


def test_what_is_merely_worth_knowing_is_shown_on_request() -> None:
    finding = Finding("OSC607", "x", Severity.INFO, Problem("m", Location("a")))
    assert [View().wanted([finding]), View(info=True).wanted([finding])] == [[], [finding]]
