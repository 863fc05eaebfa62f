"""Limits, ends and orders that a small slip would move: each of these was changed by hand once, and nothing noticed."""

from __future__ import annotations

import errno
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import fsspec
import msgspec
import pytest
from fixtures.croissant.builders import CONTEXT
from fsspec.implementations.memory import MemoryFileSystem
from support import Inline, gzipped, tree, zstd

import corpusfmt
from corpusfmt.engine.executors import Workers
from corpusfmt.engine.progress import Progress, ShardProgress
from corpusfmt.engine.run import run_tasks
from corpusfmt.engine.stages import Stages, StageTask
from corpusfmt.engine.workplace import digest
from corpusfmt.formats import CheckOptions, formats
from corpusfmt.formats.croissant.data.globs import matches
from corpusfmt.formats.croissant.model.casts import CASTS
from corpusfmt.formats.croissant.model.jsontree import Places
from corpusfmt.formats.croissant.repairs.draft import Draft, NoPlace
from corpusfmt.formats.dolma import rowfiles
from corpusfmt.formats.dolma.alignment import Difference
from corpusfmt.formats.dolma.rows import DocumentRow
from corpusfmt.formats.dolma.ruleset import RULES
from corpusfmt.formats.general import LINE_TOO_LONG
from corpusfmt.formats.oscar.alignment import LOOKAHEAD, Alignment
from corpusfmt.formats.oscar.records import Rows
from corpusfmt.formats.oscar.text import Documents
from corpusfmt.io import temporary
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.limits import DEFAULT_LIMITS
from corpusfmt.io.lines import MAX_LINE_BYTES, Block, Line, LongLine, blocks, lines
from corpusfmt.io.paths import entry_of, open_named
from corpusfmt.io.streams import Chunks, StreamFault
from corpusfmt.io.text import is_date
from corpusfmt.manifest.claims import _report_wrong
from corpusfmt.manifest.read import read_manifest
from corpusfmt.manifest.rules import RULES as MANIFEST_RULES
from corpusfmt.manifest.rules import STATEMENT_MISMATCH
from corpusfmt.model import Finding, Location, Problem, Rule, Severity
from corpusfmt.pipeline.dedup import groups
from corpusfmt.pipeline.intake.inputs import Input
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


def test_a_byte_order_mark_is_one_at_the_start_of_a_file_alone(tmp_path: Path) -> None:
    marked = ("\ufeff" * 101 + "\n").encode() * 1_000  # so each block begins with one
    (tmp_path / "af").mkdir()
    (tmp_path / "af/af.txt.gz").write_bytes(gzipped(marked))
    assert corpusfmt.validate(tmp_path, format="oscar", select=["OSC307"]).by_rule == {"OSC307": 1}


def test_documents_are_searched_for_as_far_as_agreement_may_begin() -> None:
    """The text has lost its first documents, and one line was added: eight pairs agree from the last place that is tried."""
    lost = LOOKAHEAD - 9
    counts = random.Random(1).choices(range(1, 9), k=100)
    starts = list(accumulate((count + 1 for count in counts), initial=0))
    rows, documents = Rows(), Documents()
    alignment = Alignment(rows, documents, set(), "af_meta.jsonl.gz")
    for number in range(50):
        rows.add(starts[number], counts[number], 9, number)
        known = starts[number + lost] + 1, counts[number + lost], 1, 0
        columns = documents.starts, documents.counts, documents.sizes, documents.gaps
        for column, value in zip(columns, known, strict=True):
            column.append(value)
        alignment.advance(text_ended=False, metadata_ended=False)
    assert (alignment.lost, alignment.shift) == (False, 1)


def test_the_shortest_name_of_a_nested_attribute_set_wins(tmp_path: Path) -> None:
    for path in ("documents/x.jsonl", "documents/a/x.jsonl", "attributes/s/a/x.jsonl"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    shards = formats()["dolma"].plan(entry_of(str(tmp_path)), CheckOptions()).shards
    assert {shard.name: sorted(shard.files) for shard in shards} == {
        "documents/a/x.jsonl": ["attributes/s", "documents"],
        "documents/x.jsonl": ["documents"],
    }


def test_after_a_failure_no_later_task_is_tried_again() -> None:
    tried: list[int] = []
    first: Future[Any] = Future()

    class Breaking(Inline):
        """Takes no second task, and then fails the first."""

        def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
            tried.append(arguments[0])
            if len(tried) == 2:
                threading.Timer(0.01, first.set_exception, [ValueError("first")]).start()
                raise BrokenExecutor
            return first

    with pytest.raises(ValueError, match="first"):
        list(run_tasks(int, range(3), Breaking, window=WINDOW))
    assert tried == [0, 1]


def test_a_member_is_not_renamed_to_one_that_exists(tmp_path: Path) -> None:
    text = '{"nam": 1, "name": 2}'
    (tmp_path / "a.json").write_text(text)
    draft = Draft(Places("a.json", text), json.loads(text), None, entry_of(str(tmp_path)), reading=False)
    with pytest.raises(NoPlace):
        draft.rename("/nam", "name")


@pytest.mark.parametrize(("size", "is_told"), [(950, False), (949, True)])
def test_sizes_with_a_unit_may_differ_by_a_twentieth(size: int, is_told: bool, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"x" * size)
    file = {
        "@type": "cr:FileObject",
        "@id": "a",
        "contentUrl": "a.csv",
        "contentSize": "1 kB",
        "encodingFormat": "text/csv",
    }
    described = {"@context": CONTEXT, "@type": "sc:Dataset", "distribution": [file]}
    (tmp_path / "croissant.json").write_text(json.dumps(described), "utf-8")
    report = corpusfmt.validate(tmp_path / "croissant.json", data=True)
    assert ("CRO602" in report.by_rule) is is_told


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    root = tmp_path / "corpus"
    root.mkdir()
    for name in "ab":
        (root / f"{name}.jsonl").write_text(f'{{"text":"{name}"}}\n', "utf-8")
    corpusfmt.seal(root)
    return root


def test_one_wrong_digest_is_named_and_several_are_of_another_release(sealed: Path) -> None:
    judge = Judge(MANIFEST_RULES, Grading(), version="", path="x")
    manifest = read_manifest(entry_of(str(sealed / "MANIFEST.json")), judge)
    assert manifest is not None
    for claimed in ({"a.jsonl": "0" * 64}, {"a.jsonl": "0" * 64, "b.jsonl": "1" * 64}):
        _report_wrong("s", claimed, manifest, judge, STATEMENT_MISMATCH, lambda _: "")
    assert ["another release" in each.message for each in judge.tally.findings] == [False, True]


class Unreadable(MemoryFileSystem):  # type: ignore[misc]  # fsspec ships no type information
    """A store that lists its files, of which it gives only the manifest."""

    protocol = "unreadable"

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.removeprefix("unreadable://")))

    def _open(self, path: str, *arguments: Any, **options: Any) -> Any:
        if not path.endswith("MANIFEST.json"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return super()._open(path, *arguments, **options)


def test_files_that_cannot_be_read_are_not_said_to_be_verified(sealed: Path) -> None:
    fsspec.register_implementation("unreadable", Unreadable, clobber=True)
    for path, data in tree(sealed).items():
        MemoryFileSystem().pipe_file(f"/unreadable/{path}", data)
    report = corpusfmt.verify("unreadable://unreadable", jobs=1)
    assert (report.verdict, report.coverage.shards_seen, report.coverage.shards_total) == ("incomplete", 0, 2)
