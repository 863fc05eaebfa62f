"""Internal: Check one documents file with all its attributes files, and the dataset as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial

from msgspec.structs import replace

from corpusfmt.formats import CheckOptions, Plan, Shard, ShardResult
from corpusfmt.formats.dolma.alignment import Difference, other_count, other_id, other_source
from corpusfmt.formats.dolma.blocklist import BLOCKLISTED_DOCUMENT, Blocklist, key_of, load_blocklist
from corpusfmt.formats.dolma.glance import UNCLEAR, Values, agree, keys_of
from corpusfmt.formats.dolma.layout import ATTRIBUTES, DOCUMENTS
from corpusfmt.formats.dolma.rowfiles import (
    UNKNOWN_LENGTH,
    DolmaFile,
    Keys,
    RowRange,
    attributes_columns,
    document_columns,
    shared_by,
)
from corpusfmt.formats.dolma.rows import ATTRIBUTE_KEY_COLLISION, clipped
from corpusfmt.formats.dolma.ruleset import RULES, VERSION
from corpusfmt.formats.dolma.spans import Spans
from corpusfmt.formats.general import within_limits
from corpusfmt.formats.whole import Key, UniqueKeys, judge_repeated, lines_at
from corpusfmt.io.keys import FewKeys
from corpusfmt.io.text import json_object, pointer
from corpusfmt.model import FindingType, Json, Location, Problem, Severity
from corpusfmt.rules import Grading, Judge

EMPTY_FILE = RULES.finding(
    "DOL104",
    "empty-file",
    """A documents file has no rows.

    Why: it may be intended, but usually a filter dropped everything or a writer failed.
    Example: a gzip file of 20 bytes.
    Fix: delete the file and its attributes, or write it again.
    """,
    severity=Severity.WARNING,
)


class _AttributesSet:
    """One attributes file, read in step with its documents file."""

    def __init__(self, name: str, file: DolmaFile, judge: Judge) -> None:
        self.name = name
        self.file = file
        self.keys = Keys(judge)
        self.difference: Difference | None = None
        self._judge = judge
        self._columns = attributes_columns(file, judge, self.keys)
        self._current: RowRange | None = None
        self._next = 0

    def _take(self, count: int) -> Iterator[tuple[RowRange, int, int]]:
        """Yield the next rows, as ranges of columns; fewer than `count` at the end of the file."""
        while count:
            if self._current is None or self._next == self._current.rows:
                self._current = next(self._columns, None)
                self._next = 0
                if self._current is None:
                    return
                continue
            start = self._next
            self._next = min(start + count, self._current.rows)
            count -= self._next - start
            yield self._current, start, self._next

    def pair(self, documents: RowRange) -> None:
        """Compare the rows that belong to a block of documents with these, up to the first with another id."""
        if self.difference is not None:
            self.difference.add_documents(documents.values.ids)
        first = 0
        for attributes, start, end in self._take(documents.rows):
            if self.difference is not None:
                self.difference.add_attributes(attributes.values.ids[start:end])
                self._judge_spans_alone(attributes, start, end)
                continue
            row, first = first, first + end - start
            if agree(documents.kept, row, attributes.kept, start, end):
                continue
            left, right = documents.values, attributes.values
            for index in range(start, end):
                document_id, attributes_id = left.ids[row], right.ids[index]
                if document_id is not None and attributes_id is not None and document_id != attributes_id:
                    place = attributes.place(index)
                    self.difference = Difference(documents.first_row + row, place, document_id, attributes_id)
                    self.difference.add_documents(left.ids[row:])
                    self.difference.add_attributes(right.ids[index:end])
                    self._judge_spans_alone(attributes, index, end)
                    break
                sources = (left.sources[row], right.sources[index])
                if None not in (attributes_id, document_id, *sources) and sources[0] != sources[1]:
                    self._judge.report(*other_source(attributes.named_place(index), *sources))
                if right.sizes[index] > left.sizes[row]:
                    is_known = left.sizes[row] < UNKNOWN_LENGTH
                    self._judge_spans(attributes, index, documents.row(row) if is_known else None)
                row += 1

    def _judge_spans_alone(self, columns: RowRange, start: int, end: int) -> None:
        for index, reach in enumerate(columns.values.sizes[start:end], start):
            if reach == UNCLEAR:
                self._judge_spans(columns, index, None)

    def _judge_spans(self, columns: RowRange, index: int, document: Json | None) -> None:
        row = columns.row(index)
        if row is None:
            return
        at = columns.named_place(index)
        has_source = columns.values.sources[index] is not None
        for key, value in row["attributes"].items():
            if isinstance(value, list):
                self._judge.check(Spans(at, key, value, document, has_source=has_source))

    def read_alone(self) -> None:
        """Judge all rows, without documents."""
        for columns, start, end in self._take(UNKNOWN_LENGTH):
            self._judge_spans_alone(columns, start, end)
        self.keys.judge_spelling()

    def finish(self, documents: DolmaFile) -> None:
        """Read the rest, and judge how the two files line up."""
        first_extra: Location | None = None
        for columns, start, end in self._take(UNKNOWN_LENGTH):
            first_extra = first_extra or columns.place(start)
            if self.difference is not None:
                self.difference.add_attributes(columns.values.ids[start:end])
            self._judge_spans_alone(columns, start, end)
        if self.file.whole:
            self.keys.judge_spelling()
        if not (documents.whole and self.file.whole):
            for code in ("DOL501", "DOL502"):
                broken = documents.path if not documents.whole else self.file.path
                self._judge.coverage.skip(self.file.path, code, f"needs all rows of {broken}")
            return
        place = self.difference.place if self.difference else first_extra or Location(self.file.path)
        explained = self.difference.explained() if self.difference else ""
        if documents.rows != self.file.rows:
            self._judge.report(*other_count(place, documents.rows, self.file.rows, explained))
        elif explained:
            self._judge.report(*other_id(place, explained))


def check(shard: Shard, options: CheckOptions) -> ShardResult:
    """Check one documents file and its attributes files, row by row.

    Leaves the hashes of all (source, id) in `options.scratch`, if there is one, for `finish`, or returns them if they are few.
    """
    judge = Judge(RULES, options.grading, version=VERSION, path=shard.name, cap=options.max_per_rule)
    keys = UniqueKeys(options.scratch, shard.index)
    with within_limits(judge, shard.name), closing(keys):
        if DOCUMENTS not in shard.files:
            _check_attributes_alone(DolmaFile(shard.files[ATTRIBUTES], judge, options), judge)
            return ShardResult(judge.tally, judge.coverage)
        blocklist = load_blocklist(options.blocklist) if options.blocklist is not None else None
        shared = shared_by(len(shard.files) - 1, options)
        documents = DolmaFile(shard.files[DOCUMENTS], judge, options)
        sets = [
            _AttributesSet(role.removeprefix(f"{ATTRIBUTES}/"), DolmaFile(entry, judge, shared), judge)
            for role, entry in shard.files.items()
            if role != DOCUMENTS
        ]
        for columns in document_columns(documents, judge):
            if isinstance(columns.kept, Values):
                pairs = zip(columns.values.sources, columns.values.ids, strict=True)
                own = [None if name is None else key_of(source, name).encode() for source, name in pairs]
                keys.note(own, columns.first_row)
            else:  # all have an id
                keys.extend(keys_of(columns.kept), columns.first_row)
            if blocklist is not None:
                _judge_listed(columns, blocklist, judge)
            for each in sets:
                each.pair(columns)
        if documents.whole and not documents.rows:
            hint = "delete the file and its attributes, or write it again"
            judge.report(EMPTY_FILE, Problem("no rows", Location(documents.path), hint))
        documents.empty.report(documents.documents, judge)
        for each in sets:
            each.finish(documents)
        _judge_shared_keys(sets, judge)
        judge.coverage.documents = documents.documents
        judge.coverage.bytes = documents.bytes + sum(each.file.bytes for each in sets)
    return ShardResult(judge.tally, judge.coverage, keys.few)


def _check_attributes_alone(file: DolmaFile, judge: Judge) -> None:
    """Check an attributes file without its documents."""
    _AttributesSet("", file, judge).read_alone()
    reason = f"needs the documents of {file.path}"
    judge.coverage.gap(file.path, "attributes", reason)
    for code in ("DOL501", "DOL502", "DOL503", "DOL604"):
        judge.coverage.skip(file.path, code, reason)
    judge.coverage.bytes = file.bytes


def _judge_listed(columns: RowRange, blocklist: Blocklist, judge: Judge) -> None:
    pairs = list(zip(columns.values.ids, columns.values.sources, strict=True))
    known = [document_id for document_id, _ in pairs if document_id is not None]
    if blocklist.misses(known, [key_of(source, document_id) for document_id, source in pairs if document_id]):
        return
    for index, (document_id, source) in enumerate(pairs):
        entry = blocklist.entry_for(source, document_id) if document_id is not None else None
        if entry is not None:
            shown = entry.replace("\t", "`, `")
            at = replace(columns.place(index), record=document_id)
            hint = "remove the document and its attributes rows"
            judge.report(BLOCKLISTED_DOCUMENT, Problem(f"the document is on the blocklist as `{shown}`", at, hint))


def _judge_shared_keys(sets: Sequence[_AttributesSet], judge: Judge) -> None:
    first_with: dict[str, str] = {}
    for each in sets:
        for key, place in each.keys.seen.items():
            other = first_with.setdefault(key, each.name)
            if other != each.name:
                message = f"`{clipped(key)}` is also an attribute of the set `{other}`"
                at = replace(place, pointer=pointer("attributes", key))
                judge.report(ATTRIBUTE_KEY_COLLISION, Problem(message, at, "rename one of them"))


def finish(plan: Plan, facts: Sequence[FewKeys], judge: Judge, options: CheckOptions) -> None:
    """Judge the dataset as a whole: each (source, id) occurs once."""
    # A file of attributes without documents is the only shard of its plan.
    if options.scratch is not None and all(DOCUMENTS in shard.files for shard in plan.shards[:1]):
        judge_repeated(plan.shards, facts, options.scratch, partial(_keys_at, options), judge, _repetition)


DUPLICATE_DOCUMENT_ID = RULES.finding(
    "DOL313",
    "duplicate-document-id",
    """Two documents of the dataset have the same source and the same id.

    Why: neither can be traced, blocked or paired with attributes by its id; loaders that require unique keys fail.
    Example: a shard that was copied under another name; an id that is the digest of the text.
    Fix: drop one of the documents here and in every attribute set, or give it a unique id.
    """,
    spec="dolma-data-format#id-field",
)


def _repetition(at: Location, key: Key, first: Location) -> tuple[FindingType, Problem]:
    hint = "drop one of the two, here and in every attribute set, or give it a unique id"
    return DUPLICATE_DOCUMENT_ID, Problem(f"the id `{at.record}` of source `{key[0]}` also occurs at {first}", at, hint)


def _keys_at(options: CheckOptions, shard: Shard, rows: Iterable[int]) -> Iterator[tuple[int, Key]]:
    """Yield the keys of the documents in some rows. The check has already reported the faults of the file."""
    unheard = Judge(RULES, Grading(), version=VERSION, path=shard.name)
    for row, line, _ in lines_at(DolmaFile(shard.files[DOCUMENTS], unheard, options).blocks(), rows):
        fields = json_object(line)
        if fields is not None and isinstance(fields.get("id"), str):
            source = fields.get("source")
            yield row, (source if isinstance(source, str) else "", fields["id"])
