"""Judges the data behind a description: types, transformations, keys and foreign keys, in bounded memory."""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corpusfmt.formats.croissant.graph import Description, Field, RecordSet, Resource, reference_id
from corpusfmt.formats.croissant.records.batches import Batch, Broken, Fault, NotRead
from corpusfmt.formats.croissant.records.cells import combined, hashes_of
from corpusfmt.formats.croissant.records.files import Opened
from corpusfmt.formats.croissant.records.leaves import Leaf, of_field, takes_of
from corpusfmt.formats.croissant.records.lookup import key_of
from corpusfmt.formats.croissant.records.reader import RecordReader, Table, unmatched
from corpusfmt.formats.croissant.records.rows import DELIMITERS, kind_of
from corpusfmt.formats.croissant.records.tables import Accepted, KeyOf, judged
from corpusfmt.formats.croissant.records.trees import (
    Edge,
    Origin,
    RecordPlan,
    Tree,
    plan_records,
    references_of,
    referring_parents,
)
from corpusfmt.formats.croissant.rules.data import key_fields
from corpusfmt.formats.croissant.rules.files import DataFault, Gap
from corpusfmt.formats.croissant.rules.wording import clip
from corpusfmt.io.keys import KeyWriter, among, few_hashes, repeated
from corpusfmt.io.keys import unmatched as absent
from corpusfmt.io.paths import Entry
from corpusfmt.model import Location

# As many faults of one kind as a report shows; beyond them only the number is told.
_SHOWN = 10
_MEDIA = {"sc:ImageObject": "images are", "sc:AudioObject": "sound is", "sc:VideoObject": "videos are"}
_CODES = ("CRO606", "CRO607", "CRO608", "CRO609", "CRO610", "CRO611", "CRO612", "CRO613")


@dataclass(eq=False)
class _Watched:
    """Keys that one pass over a source collects: the values of some leaves of each row, as hashes on local disk.

    Those that are `known` are left out: a reference that is found needs no second look.
    """

    key: KeyOf
    folder: Path
    known: npt.NDArray[np.uint64] | None = None
    writer: KeyWriter = field(init=False)
    row: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir()
        self.writer = KeyWriter(self.folder, 0)

    def accept(self, part: tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]) -> None:
        """Take the rows of a block."""
        hashes, present = part
        rows = np.flatnonzero(present)
        self._write(hashes[rows], rows)
        self.row += len(hashes)

    def take(self, table: Table) -> None:
        """Take the rows of a table; a row without a value in some leaf has no key."""
        rows, keys = _keys_in(self.key.leaves, table)
        if keys:
            hashes = combined([hashes_of(part) for part in zip(*keys, strict=True)])
            self._write(hashes, np.array(rows, dtype=np.int64))
        self.row += table.size

    def _write(self, hashes: npt.NDArray[np.uint64], rows: npt.NDArray[np.int64]) -> None:
        if self.known is not None:
            strange = ~among(hashes, self.known)
            hashes, rows = hashes[strange], rows[strange]
        self.writer.extend_array(hashes, (rows + self.row).astype(np.uint64))


def _keys_in(leaves: Sequence[Leaf], table: Table) -> tuple[list[int], list[tuple[bytes, ...]]]:
    """Return the keys of a table's rows, and which row each is of; of a list, each value is one."""
    rows: list[int] = []
    keys: list[tuple[bytes, ...]] = []
    columns = [table.columns[id(leaf)] for leaf in leaves]
    for row in range(table.size):
        values = [column[row] for column in columns]
        several = values[0] if len(values) == 1 and isinstance(values[0], list) else None
        for parts in [[each] for each in several] if several is not None else [values]:
            key = tuple(part for value in parts if (part := key_of(value)) is not None)
            if len(key) == len(parts):
                rows.append(row)
                keys.append(key)
    return rows, keys


def judge_data(
    description: Description, folder: Entry, scratch: Path | None, tell: Callable[[Fault], Any]
) -> tuple[int, list[Gap]]:
    """Read the record sets of a description in a folder, and tell what is wrong with their data.

    `scratch` is a local folder to spill to. Returns the number of records, and what rules were not run on.
    """
    with RecordReader(description, folder, scratch) as reader:
        judge = _DataJudge(description, reader, tell)
        judge.run()
    return judge.records, judge.gaps


class _DataJudge:
    """Reads each record set of a description once, and tells what is wrong; what `Storage` tells is left to it."""

    def __init__(self, description: Description, reader: RecordReader, tell: Callable[[Fault], Any]) -> None:
        self._description = description
        self._reader = reader
        self._tell = tell
        self._targets: dict[tuple[int, int, str], Path] = {}
        self._broken: list[Fault] = []
        self.gaps: list[Gap] = []
        self._left_out: set[Gap] = set()
        #: Records that were read.
        self.records = 0

    def run(self) -> None:
        """Judge every record set."""
        for view in self._description.views.values():
            if isinstance(view, RecordSet):
                try:
                    self._record_set(view)
                except NotRead as reason:
                    self._leave_out(_CODES, reason)
                except Broken as broken:
                    if broken.fault not in self._broken:
                        self._broken.append(broken.fault)
                        self._pass_on(broken.fault)

    def _record_set(self, record_set: RecordSet) -> None:
        if record_set.rows is not None:
            # The description's own rules judge records in it, but not what refers from them to data in files.
            leaves = [leaf for each in record_set.fields if _refers_to_files(leaf := of_field(each))]
            self._sources(record_set, leaves, [])
            return
        plan = plan_records(record_set)
        fields = key_fields(record_set)
        key = _leaves_of(fields, plan.tree.leaves)
        of_rows = len(key) == len(fields) and _makes_one_of_each(plan.tree)
        self._sources(record_set, [*plan.leaf.values(), *referring_parents(record_set)], key if of_rows else [])
        if fields and not of_rows:
            try:
                self._key_of_records(plan, fields)
            except NotRead as reason:
                self._leave_out(("CRO611", "CRO612"), reason)

    def _sources(self, record_set: RecordSet, leaves: list[Leaf], key: list[Leaf]) -> None:
        edges = [edge for leaf in leaves for edge in _foreign(leaf)]
        for origin in {id(leaf.origin): leaf.origin for leaf in leaves}.values():
            own = [leaf for leaf in leaves if leaf.origin is origin]
            own_key = [leaf for leaf in key if leaf.origin is origin]
            self._source(record_set, origin, own, own_key, [edge for edge in edges if edge.local.origin is origin])

    def _key_of_records(self, plan: RecordPlan, fields: list[Field]) -> None:
        """Judge a key on the records as they are joined; what is wrong with their values, each source has told."""
        key = _leaves_of(fields, plan.tree.everything())
        if len(key) < len(fields):
            raise NotRead(f"{plan.record_set.title}: its key is in nested records, or made of other fields")
        watched = _Watched(KeyOf(key), self._folder())
        unmatched_at: set[Location] = set()
        for table in self._reader.tables(plan.tree):
            if table.size:
                # The records of one row of the first source, one for each match, may go on in the next table.
                unmatched_at = unmatched_at & {table.at(0)} | _where_unmatched(table)
                self._nulls(key, table, unmatched_at)
                watched.take(table)
        watched.writer.close()
        self._repeated(plan.record_set, lambda: self._reader.tables(plan.tree), watched)

    def _source(
        self, record_set: RecordSet, origin: Origin, leaves: list[Leaf], key: list[Leaf], edges: list[Edge]
    ) -> None:
        """Read one source of a record set: judge its values, its key, and its foreign keys."""
        targets = []
        for edge in edges:
            try:
                targets.append((edge, self._target(edge.remote)))
            except NotRead as reason:
                self._leave_out(("CRO613",), reason)
        watched = [_Watched(KeyOf(key), self._folder())] if key else []
        foreign = [
            (_Watched(KeyOf([edge.local], required=False), self._folder(), few_hashes(at)), edge, at)
            for edge, at in targets
        ]
        followed = [*watched, *(each for each, _, _ in foreign)]
        before = self.records
        for part in self._parts(origin, leaves, [each.key for each in followed]):
            if isinstance(part, Accepted):
                for each, keys in zip(followed, part.keys, strict=True):
                    each.accept(keys)
                self.records += part.size
                continue
            table = self._reader.evaluated(leaves, part)
            # What is wrong with a record set that is drawn from is told of there.
            for fault in table.faults if isinstance(origin, Resource) else table.faults[len(part.faults) :]:
                self._pass_on(fault)
            self.records += table.size
            if key:
                self._nulls(key, table, _where_unmatched(table))
            for each in followed:
                each.take(table)
        self._not_decoded(leaves, self.records - before)
        for each in followed:
            each.writer.close()
        for each in watched:
            self._repeated(record_set, lambda: self._tables(origin, leaves), each)
        for each, edge, folder in foreign:
            self._unmatched(self._tables(origin, leaves), each, edge, folder)

    def _parts(self, origin: Origin, leaves: Sequence[Leaf], keys: Sequence[KeyOf]) -> Iterator[Accepted | Batch]:
        takes = takes_of(leaves)
        if isinstance(origin, Resource) and all(leaf.is_plain and leaf.take.kind == "column" for leaf in leaves):

            def quickly(file: Opened) -> Iterator[Accepted | Batch] | None:
                kind = kind_of(origin, file.name)
                return judged(file, DELIMITERS[kind], leaves, keys) if kind in DELIMITERS else None

            yield from self._reader.of_files(origin, takes, quickly)
        else:
            yield from self._reader.batches(origin, takes)

    def _tables(self, origin: Origin, leaves: Sequence[Leaf]) -> Iterator[Table]:
        for batch in self._reader.batches(origin, takes_of(leaves)):
            yield self._reader.evaluated(leaves, batch)

    def _target(self, leaf: Leaf) -> Path:
        """Return where the keys of a field that is referenced are, collected once."""
        name = (id(leaf.origin), id(leaf.field), leaf.take.name)
        if name not in self._targets:
            watched = _Watched(KeyOf([leaf], required=False), self._folder())
            for part in self._parts(leaf.origin, [leaf], [watched.key]):
                if isinstance(part, Accepted):
                    watched.accept(part.keys[0])
                    continue
                table = self._reader.evaluated([leaf], part)
                if table.faults:
                    raise NotRead(f"{leaf.field.title}: some of its values cannot be read")
                watched.take(table)
            watched.writer.close()
            self._targets[name] = watched.folder
        return self._targets[name]

    def _folder(self) -> Path:
        return self._reader.spill("keys")

    # --- telling ---

    def _leave_out(self, codes: Sequence[str], reason: NotRead) -> None:
        gap = Gap(tuple(codes), reason.path or self._description.places.path, str(reason))
        if gap not in self._left_out:
            self._left_out.add(gap)
            self.gaps.append(gap)

    def _not_decoded(self, leaves: Sequence[Leaf], values: int) -> None:
        for leaf in leaves if values else ():
            kind = next((_MEDIA[each] for each in leaf.field.data_types if each in _MEDIA), None)
            if kind is not None:
                reason = f"{leaf.field.title}: {kind} not decoded"
                self.gaps.append(Gap(("CRO609",), self._description.places.path, reason, values))

    def _pass_on(self, fault: Fault) -> None:
        """Tell of a fault, but for what the check of the files has told already: it stands in the description."""
        told = isinstance(fault, DataFault) and fault.kind in ("missing", "empty", "corrupt", "format")
        if not (told and fault.at.path == self._description.places.path):
            self._tell(fault)

    def _nulls(self, key: Sequence[Leaf], table: Table, unmatched_at: Collection[Location]) -> None:
        """Tell of records without a key, but for those that lack it since a reference leads nowhere: that is told of."""
        for leaf in key:
            for row, value in enumerate(table.columns[id(leaf)]):
                if value is None and not (unmatched_at and table.at(row) in unmatched_at):
                    message = f"{leaf.field.title}: a key without a value"
                    self._tell(DataFault("null", message, table.at(row), "give the record a key"))

    def _repeated(self, record_set: RecordSet, tables: Callable[[], Iterator[Table]], watched: _Watched) -> None:
        """Read the rows again whose keys have equal hashes: only those whose keys are equal are told of."""
        groups = repeated(watched.folder)
        first = next(groups, None)
        if first is None:
            return
        with closing(sqlite3.connect(self._reader.spill("seen"), isolation_level=None)) as seen:
            seen.execute("PRAGMA journal_mode = OFF")
            seen.execute("PRAGMA synchronous = OFF")
            seen.execute("CREATE TABLE candidate (row INTEGER PRIMARY KEY)")
            seen.execute("CREATE TABLE seen (key BLOB PRIMARY KEY, place TEXT) WITHOUT ROWID")
            seen.execute("BEGIN")
            for group in chain([first], groups):
                seen.executemany("INSERT INTO candidate VALUES (?)", ((row,) for _, row in group))
            wanted = (row for (row,) in seen.execute("SELECT row FROM candidate ORDER BY row"))
            told = 0
            beyond: DataFault | None = None
            for key, values, at in _read_again(tables(), watched.key.leaves, wanted):
                row = seen.execute("SELECT place FROM seen WHERE key = ?", (key,)).fetchone()
                if row is None:
                    seen.execute("INSERT INTO seen VALUES (?, ?)", (key, _spoken(at)))
                    continue
                told += 1
                if told <= _SHOWN:
                    shown = clip(values[0] if len(values) == 1 else values)
                    message = f"{record_set.title}: the key `{shown}` is there again, first in {row[0]}"
                    beyond = DataFault("again", message, at, "correct one of the records, or the key")
                    self._tell(beyond)
            if beyond is not None and told > _SHOWN:
                self._tell(replace(beyond, count=told - _SHOWN))

    def _unmatched(self, tables: Iterator[Table], watched: _Watched, edge: Edge, targets: Path) -> None:
        number = 0

        def counted() -> Iterator[int]:
            nonlocal number
            for _, row in absent(watched.folder, targets):
                number += 1
                yield row

        rows = heapq.nsmallest(_SHOWN, counted())
        left = number
        fault = None
        for _, values, at in _read_again(tables, [edge.local], iter(sorted(set(rows)))):
            left -= 1
            fault = unmatched(edge.local, edge.remote, values[0], at)
            self._tell(fault)
        if fault is not None and left:
            self._tell(replace(fault, count=left))


def _read_again(
    tables: Iterator[Table], key: Sequence[Leaf], rows: Iterator[int]
) -> Iterator[tuple[bytes, list[Any], Location]]:
    """Yield the key, its values and the place of some rows of tables, which are in order."""
    wanted = next(rows, None)
    if wanted is None:
        return
    start = 0
    for table in tables:
        while wanted is not None and wanted < start + table.size:
            values = [table.columns[id(leaf)][wanted - start] for leaf in key]
            parts = [key_of(value) or b"" for value in values]
            joined = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
            yield joined, values, table.at(wanted - start)
            wanted = next(rows, None)
        if wanted is None:
            return
        start += table.size


def _where_unmatched(table: Table) -> set[Location]:
    return {fault.at for fault in table.faults if isinstance(fault, DataFault) and fault.kind == "foreign"}


def _spoken(at: Location) -> str:
    place = f"line {at.line}" if at.line is not None else at.record or "the description"
    return f"{place} of {at.path}"


def _refers_to_files(leaf: Leaf) -> bool:
    origins = [edge.remote.origin for edge in references_of(leaf.field, leaf)]
    return any(not isinstance(origin, RecordSet) or origin.rows is None for origin in origins)


def _foreign(leaf: Leaf) -> Iterator[Edge]:
    """Yield what a field references, each target once: as a field where it is one."""
    seen: set[int] = set()
    for edge in references_of(leaf.field, leaf):
        if id(edge.remote.field) not in seen and edge.remote.origin is not leaf.origin:
            seen.add(id(edge.remote.field))
            yield edge


def _leaves_of(fields: Sequence[Field], leaves: Iterable[Leaf]) -> list[Leaf]:
    by_field = {id(leaf.field): leaf for leaf in leaves}
    return [by_field[id(each)] for each in fields if id(each) in by_field]


def _makes_one_of_each(tree: Tree) -> bool:
    """Tell whether each row of a source makes one record: all that is joined to it is found by a key of its own."""
    return all(
        join.container is not None or (join.follows and _is_key(join.remote.field) and _makes_one_of_each(join.tree))
        for join in tree.joins
    )


def _is_key(each: Field) -> bool:
    owner = each.record_set
    return owner is not None and [reference_id(value) for value in owner.keys] == [each.id]
