"""For formats: Check and read files of rows: clean blocks at once, other lines by the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import count
from typing import Any, TypeVar

from msgspec import Struct

from corpusfmt.formats import CheckOptions, Plan, Rejected, Shard, ShardResult
from corpusfmt.formats.general import REPEATED_ID, EmptyTexts, within_limits
from corpusfmt.formats.parts import EncodedRows
from corpusfmt.formats.rows.files import RowFile, pieces
from corpusfmt.formats.rows.records import Records, Row
from corpusfmt.formats.rows.writing import encoded
from corpusfmt.formats.whole import Key, UniqueKeys, judge_repeated, lines_at
from corpusfmt.formats.whole import encoded as encoded_key
from corpusfmt.io.lines import Block, LongLine, Run, first_run, runs
from corpusfmt.io.scan import double_encoding_at
from corpusfmt.io.text import json_object, value_at
from corpusfmt.model import Document, FindingType, Json, Location, Problem, Severity
from corpusfmt.rules import Grading, Judge, RuleSet

T = TypeVar("T")

#: The role of the file in a shard.
ROWS = "rows"
_PIECE = 256 * 1024


class Rows(Struct, frozen=True):
    """Checks and reads a format with one file per shard and one document per row."""

    rules: RuleSet
    records: Callable[[Shard, CheckOptions], Records]
    #: What is reported of a file without rows.
    empty: FindingType
    what: str = "rows"

    def check(self, shard: Shard, options: CheckOptions) -> ShardResult:
        """Check every row of a file, and the stream to its end.

        The facts are the path, those of the records, and hashes of ids, for `judge_ids`, unless they are in `options.scratch`.
        """
        judge = Judge(self.rules, options.grading, version=options.version, path=shard.name, cap=options.max_per_rule)
        entry = shard.files[ROWS]
        records = self.records(shard, options)
        coverage = judge.coverage
        keys = UniqueKeys(options.scratch if records.has_ids else None, shard.index)
        with within_limits(judge, entry.path), closing(keys):
            file = RowFile(entry, judge, options)
            empty = EmptyTexts()
            whole, rows = True, 0
            for found in _scanned(file, records.passed if self._may_accept(records) else _none):
                if isinstance(found, LongLine):
                    judge.report(*file.too_long(found))
                    whole = False
                elif isinstance(found, Run):
                    at = file.at(found.line, found.byte)
                    rows += found.count
                    row = records.judged(found.data, at, judge, found.count)
                    if row is not None and records.has_ids:
                        keys.note([encoded_key(records.key_of(row))] * found.count, found.line - 1)
                    if row is not None:
                        records.note([row], found.line)
                    if row is not None and records.text is None:
                        coverage.documents += found.count
                    elif row is not None and isinstance(text := value_at(row, records.text_path), str):
                        coverage.documents += found.count
                        empty.add(0 if text else found.count, partial(records.place, row, at))
                else:
                    records.note(found.rows, found.lines.line)
                    if records.has_ids:
                        keys.note(records.keys_of(found.rows) * found.times, found.lines.line - 1)
                    for run, row in found.suspects():
                        times = run.count * found.times
                        records.judge_text(row, file.at(run.line, run.byte), judge, times)
                    rows += len(found.rows) * found.times
                    coverage.documents += len(found.rows) * found.times
                    if numbers := records.empty_texts(found.rows):
                        empty.add(len(numbers) * found.times, partial(_place_in, found, numbers[0], records, file))
            coverage.bytes += file.bytes
            empty.report(coverage.documents, judge)
            if whole and file.whole and not rows:
                hint = "delete the file, or write it again"
                judge.report(self.empty, Problem(f"no {self.what}", Location(entry.path), hint))
        facts = (entry.path, records.facts, keys.few)
        return ShardResult(judge.tally, coverage, None if facts[1:] == (None, None) else facts)

    def judge_ids(self, plan: Plan, facts: Sequence[Any], judge: Judge, options: CheckOptions) -> None:
        """Judge whether each id occurs once."""
        if options.scratch is not None:
            few = (each for *_, each in facts if each is not None)
            keys_at = partial(self._keys_at, options)
            judge_repeated(plan.shards, few, options.scratch, keys_at, judge, repetition)

    def _keys_at(self, options: CheckOptions, shard: Shard, rows: Iterable[int]) -> Iterator[tuple[int, Key]]:
        records = self.records(shard, options)
        file = RowFile(shard.files[ROWS], self._fresh_judge(shard, options), options)
        for number, line, _ in lines_at(file.blocks(), rows):
            row = json_object(line)
            if row is not None and (key := records.key_of(row)) is not None:
                yield number, key

    def read(self, shard: Shard, options: CheckOptions) -> Iterator[Document | Rejected]:
        """Yield the rows of a file as documents; unsuitable rows and a corrupt stream become `Rejected`."""
        return self._read(shard, options, lambda documents: documents)

    def batches(self, shard: Shard, options: CheckOptions) -> Iterator[EncodedRows | Document | Rejected]:
        """Yield the same, with the documents of clean blocks together; all must have a source."""
        return self._read(shard, options, lambda documents: [encoded(documents)])

    def _read(
        self, shard: Shard, options: CheckOptions, together: Callable[[Iterator[Document]], Iterable[T]]
    ) -> Iterator[T | Document | Rejected]:
        records = self.records(shard, options)
        of_file = self._fresh_judge(shard, options)
        file = RowFile(shard.files[ROWS], of_file, options)
        number = 0
        for found in _scanned(file, records.fit if self._may_accept(records) else _none):
            if isinstance(found, Fit):
                rows = found.rows * found.times
                yield from together(map(records.document, rows, count(number + 1)))
                number += len(rows)
            elif isinstance(found, LongLine):
                number += 1
                judge = self._fresh_judge(shard, options)
                judge.report(*file.too_long(found))
                yield from rejections(judge, b"")
            else:
                for line in singly(found):
                    number += 1
                    judge = self._fresh_judge(shard, options)
                    judged = records.judged(line.data, file.at(line.line, line.byte), judge)
                    rejected = next(rejections(judge, line.data), None)
                    if rejected is not None:
                        yield rejected
                    elif judged is not None:
                        yield records.document(judged, number)
        yield from rejections(of_file, b"")

    def _may_accept(self, records: Records) -> bool:
        return self.rules.accepts_unseen(Row, records.subject)

    def _fresh_judge(self, shard: Shard, options: CheckOptions) -> Judge:
        return Judge(self.rules, Grading(), version=options.version, path=shard.name)


def _none(_data: bytes) -> None:
    """Take no rows: some rule must see each."""


def repetition(at: Location, key: Key, first: Location) -> tuple[FindingType, Problem]:
    """Return what is reported of a document whose id an earlier one has."""
    hint = "drop one of the two, or give it a unique id"
    return REPEATED_ID, Problem(f"the id `{key[1]}` also occurs at {first}", at, hint)


def rejections(judge: Judge, raw: bytes) -> Iterator[Rejected]:
    """Yield the errors of a judge on a record with the bytes `raw`."""
    return (Rejected(each, raw) for each in judge.tally.findings if each.severity is Severity.ERROR)


class Fit(Struct):
    """Rows on which no rule fires that is not about what texts say, with their lines, which are repeated `times` times."""

    rows: list[Json]
    lines: Block
    times: int = 1

    def suspects(self) -> Iterator[tuple[Run, Json]]:
        """Yield the lines in which a text may be encoded twice, with the row on each."""
        if double_encoding_at(self.lines.data, 0, True) < 0:
            return
        from corpusfmt.io.double_encoding import suspect_lines  # noqa: PLC0415 - few texts come so far

        after = 0
        for number, start, _ in suspect_lines(self.lines.data, escaped=True):
            if number >= after:
                run = first_run(self.lines, self.lines.line + number, start)
                yield run, self.rows[number]
                after = number + run.count


def _place_in(found: Fit, number: int, records: Records, file: RowFile) -> Location:
    lines = found.lines
    byte = sum(map(len, lines.data.split(b"\n", number)[:number])) + number
    return records.place(found.rows[number], file.at(lines.line + number, lines.byte + byte))


def _scanned(file: RowFile, accept: Callable[[bytes], list[Json] | None]) -> Iterator[Fit | Run | LongLine]:
    """Yield the rows of a file in order; those that are accepted are decoded."""
    for block in file.blocks():
        if isinstance(block, LongLine):
            yield block
            continue
        line = block.line
        for start, data in pieces(block.data, _PIECE):
            piece = Block(data, line, block.byte + start)
            accepted = accept(data)
            if accepted is not None:
                yield Fit(accepted, piece)
                line += len(accepted)
                continue
            for run in runs(piece):
                alone = accept(run.data)
                yield Fit(alone, Block(run.data, run.line, run.byte), run.count) if alone else run
                line += run.count


def singly(run: Run) -> Iterator[Run]:
    """Yield each line of a run."""
    for index in range(run.count):
        yield Run(run.data, run.line + index, run.byte + index * (len(run.data) + 1), 1)
