"""Internal: Read the records of a record set: a stream of rows from its source, joined with rows of other sources."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain, count
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, field

from corpusfmt.formats.croissant.data.batches import (
    BATCH_BYTES,
    Batch,
    Broken,
    Lacking,
    NoColumn,
    NotRead,
    Take,
    Trouble,
)
from corpusfmt.formats.croissant.data.files import Files, Opened
from corpusfmt.formats.croissant.data.findings import (
    DATA_COLUMN_MISSING,
    DATA_FOREIGN_KEY_VIOLATION,
    DATA_TRANSFORM_FAILED,
    DATA_VALUE_CAST,
)
from corpusfmt.formats.croissant.data.leaves import Leaf, leaf_from, leaf_of, of_field, pointer_of, source_of, takes_of
from corpusfmt.formats.croissant.data.lookup import Lookup
from corpusfmt.formats.croissant.data.patterns import TIME_LIMIT, PatternFault, Patterns
from corpusfmt.formats.croissant.data.rows import batches
from corpusfmt.formats.croissant.model.casts import NO_ARRAY, Reason
from corpusfmt.formats.croissant.model.graph import Description, Field, FileObject, FileSet, RecordSet, Resource
from corpusfmt.formats.croissant.model.wording import clip
from corpusfmt.formats.general import out_of_range
from corpusfmt.formats.recordsets import Record
from corpusfmt.io.limits import meter
from corpusfmt.io.paths import Entry
from corpusfmt.io.temporary import temporary_folder
from corpusfmt.io.text import NumberFault
from corpusfmt.model import Fault, Location, Problem

Origin = Resource | RecordSet
#: Values of leaves, and the nested records of joins with a container (lists of values of their leaves), by identity.
Columns = Mapping[int, Sequence[Any]]


class Tree(Struct, eq=False):
    """A source, its leaves, and the sources joined to it."""

    origin: Origin
    leaves: list[Leaf] = field(default_factory=list)
    joins: list[Join] = field(default_factory=list)

    def everything(self) -> Iterator[Leaf]:
        """Yield the leaves of this source and of its joins, without the leaves of nested records."""
        yield from self.leaves
        for join in self.joins:
            if join.container is None:
                yield from join.tree.everything()


class Join(Struct, eq=False):
    """A source that is looked up: the records of `tree` whose `remote` value equals the `local` one.

    Each match makes a record; with a `container` field, the matches are its list of nested records. A join that
    `follows` a reference must find a match; a join against the reference may find none.
    """

    local: Leaf
    remote: Leaf
    tree: Tree
    container: Field | None = None
    follows: bool = True


class Edge(Struct, frozen=True, eq=False):
    """A reference: the values of one leaf occur in another."""

    local: Leaf
    remote: Leaf


class RecordPlan(Struct, eq=False):
    """How to make the records of a record set: its tree, and by identity the leaf or join of each field with values."""

    record_set: RecordSet
    tree: Tree
    leaf: dict[int, Leaf]
    nested: dict[int, Join]

    def value(self, each: Field, columns: Columns, row: int) -> Any:
        """Return the value of a field in a row."""
        leaf, join = self.leaf.get(id(each)), self.nested.get(id(each))
        if leaf is not None:
            return columns[id(leaf)][row]
        if each.has_constant:
            return each.constant
        if join is not None:
            matches = columns[id(join)][row]
            inner = dict(zip(map(id, join.tree.everything()), zip(*matches, strict=True), strict=False))
            return [self._object(each, inner, number) for number in range(len(matches))]
        values = self._object(each, columns, row)
        lists = [value for value in values.values() if isinstance(value, list)]
        if each.is_array and all(value is None for value in values.values()):
            return None
        several = each.is_array or "cr:RecordSet" in each.data_types
        if several and len(lists) == len(values) and len({len(value) for value in lists}) == 1:
            return [dict(zip(values, items, strict=True)) for items in zip(*lists, strict=True)]
        return values

    def _object(self, each: Field, columns: Columns, row: int) -> dict[str, Any]:
        return {name_of(inner): self.value(inner, columns, row) for inner in each.sub_fields}


def plan_records(record_set: RecordSet, wanted: Iterable[Field] | None = None) -> RecordPlan:
    """Return how to make the records of a record set, or only their wanted values.

    Raises `NotRead` if the description is incomplete.
    """
    leaf: dict[int, Leaf] = {}
    edges: list[Edge] = []
    containers: list[tuple[Field, list[Leaf]]] = []

    def add(each: Field, leaves: list[Leaf]) -> None:
        if each.has_constant and not each.sources:
            return
        if each.sub_fields:
            if each.parent_fields:
                leaves = []
                containers.append((each, leaves))
            for inner in each.sub_fields:
                add(inner, leaves)
            return
        own = leaf[id(each)] = leaf_of(each)
        if own.origin is record_set:
            raise NotRead(f"{each.title}: the source is a field of the same record set")
        leaves.append(own)
        edges.extend(references_of(each, own))

    own_leaves: list[Leaf] = []
    for each in record_set.fields if wanted is None else wanted:
        add(each, own_leaves)
    if not own_leaves and wanted is not None:
        return plan_records(record_set)  # constants are in as many records as the other fields
    origins = list({id(each.origin): each.origin for each in own_leaves}.values())
    if not origins:
        raise NotRead(f"{record_set.title}: no field has a source")
    for origin in origins:
        for each in origin.every_field if isinstance(origin, RecordSet) else ():
            if not each.sub_fields and each.references:
                edges.extend(references_of(each, of_field(each)))
    targets = {id(edge.remote.origin) for edge in edges if edge.remote.origin is not edge.local.origin}
    first = next((origin for origin in origins if id(origin) not in targets), origins[0])
    trees = {id(first): Tree(first)}

    def is_joined(origin: Origin) -> bool:
        """Add an origin below one that is already in the tree, along or against a reference."""
        for edge in edges:
            for local, remote in ((edge.local, edge.remote), (edge.remote, edge.local)):
                if remote.origin is origin and id(local.origin) in trees:
                    tree = trees[id(origin)] = Tree(origin)
                    trees[id(local.origin)].joins.append(Join(local, remote, tree, follows=local is edge.local))
                    return True
        return False

    pending = [origin for origin in origins if origin is not first]
    while pending:
        joined = next(filter(is_joined, pending), None)
        if joined is None:
            raise NotRead(f"{record_set.title}: the sources are not joined")
        pending.remove(joined)
    for own in own_leaves:
        trees[id(own.origin)].leaves.append(own)
    nested = {}
    for container, leaves in containers:
        join = _join_of(container, leaves, leaf)
        trees[id(join.local.origin)].joins.append(join)
        nested[id(container)] = join
    return RecordPlan(record_set, trees[id(first)], leaf, nested)


def _join_of(container: Field, leaves: list[Leaf], leaf: Mapping[int, Leaf]) -> Join:
    for parent in container.parent_fields:
        if parent.sources:
            remote = leaf_from(parent, parent.sources[0])
            for target in (target for reference in parent.references for target in reference.target_views):
                local = leaf.get(id(target))
                if local is not None and all(each.origin is remote.origin for each in leaves):
                    return Join(local, remote, Tree(remote.origin, leaves), container)
    raise NotRead(f"{container.title}: `parentField` does not join the source to a field of the record set")


def references_of(each: Field, leaf: Leaf) -> Iterator[Edge]:
    """Yield the references of a field: to a field, and to the source of that field."""
    for reference in each.references:
        if reference is source_of(each):
            continue
        for target in reference.target_views:
            if isinstance(target, Field):
                if target.record_set is not None:
                    yield Edge(leaf, of_field(target))
                if target.sources:
                    beyond = leaf_of(target)
                    if isinstance(beyond.origin, FileObject | FileSet):
                        yield Edge(leaf, beyond)
            elif isinstance(target, Resource) and reference.extracts:
                yield Edge(leaf, leaf_from(each, reference))


def referring_parents(record_set: RecordSet) -> Iterator[Leaf]:
    """Yield the sources of `parentField` that refer to a field, except those that only repeat a reference.

    If `ratings/film` references `films/id`, a parentField that joins it to values taken from `films/id` is a repetition.
    """
    for container in record_set.every_field:
        for parent in container.parent_fields:
            if parent.sources and parent.references and not _is_repetition(parent):
                yield leaf_from(parent, parent.sources[0])


def _is_repetition(parent: Field) -> bool:
    known = {id(target) for same in _of_same_values(parent) if same is not parent for target in _referenced(same)}
    targets = list(_referenced(parent))
    return bool(targets) and all(any(id(same) in known for same in _of_same_values(target)) for target in targets)


def _referenced(each: Field) -> Iterator[Field]:
    return (view for reference in each.references for view in reference.target_views if isinstance(view, Field))


def _of_same_values(each: Field | None) -> Iterator[Field]:
    """Yield a field, and the fields whose values it takes unchanged."""
    seen: set[int] = set()
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        yield each
        source = source_of(each)
        targets = source.target_views if source is not None and not source.transforms else []
        each = next((view for view in targets if isinstance(view, Field)), None)


T = TypeVar("T")

_EXPANDED = 4096
# The nested records of a record are one value, which must fit in memory.
_NESTED_BYTES = 64 * 1024 * 1024
# The transformed values of one batch must fit in memory; other values come from the file.
_TRANSFORMED_BYTES = 128 * 1024 * 1024
# The memory of a text in a list, in addition to its characters.
_TEXT_BYTES = 56
# Each record set reads all record sets that it draws from.
_MOST_DRAWN = 20


class Table(Struct):
    """Rows with the values of leaves, their places, and the faults of rejected rows."""

    size: int
    columns: Columns
    at: Callable[[int], Location]
    faults: list[Fault] = field(default_factory=list)
    #: The leaves (by identity) with values that could not be cast.
    rejected: set[int] = field(default_factory=set)


class _Lookup(Struct, frozen=True):
    """The rows of a join, with the values of the leaves `carried`; `below` marks a join to rows that are joined themselves."""

    join: Join
    lookup: Lookup
    carried: list[int]
    below: bool


@contextmanager
def reading(
    description: Description, folder: Entry, maps: Mapping[str, Entry], scratch: Path | None = None
) -> Iterator[RecordReader]:
    """Provide a reader of the record sets of a description; end its helpers and remove its temporary files."""
    with Patterns(TIME_LIMIT) as patterns, ExitStack() as closing:
        if scratch is None:
            scratch = closing.enter_context(temporary_folder())
        else:
            scratch = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="records-", dir=scratch)))
        yield RecordReader(Files(description, folder, maps, patterns), patterns, scratch, closing)


class RecordReader:
    """Reads the record sets of one description.

    Raises `NotRead` if data cannot be read at all; faulty data gives faults in the stream.
    """

    def __init__(self, files: Files, patterns: Patterns, scratch: Path, closing: ExitStack) -> None:
        self._files = files
        self._patterns = patterns
        self._scratch = scratch
        self._closing = closing
        self._numbers = count()
        self._reading: list[RecordSet] = []
        #: The fields of record sets that are sources of others, by pointer.
        self._fields: dict[RecordSet, dict[str, Field]] = {}

    def spill(self, name: str) -> Path:
        """Return a new path in a local folder that is removed at the end."""
        return self._scratch / f"{name}-{next(self._numbers)}"

    def records(self, record_set: RecordSet, names: Sequence[str] | None = None) -> Iterator[Record | Fault]:
        """Yield the records of a record set, and the faults in the data; with `names`, only these fields.

        A record with an unreadable value is rejected: its faults take its place. A record whose joined record does not
        exist has null for the missing values, and is followed by a fault.
        """
        fields = [(name_of(each), each) for each in record_set.fields if names is None or name_of(each) in names]
        if record_set.rows is not None:
            for pointer, row in record_set.rows:
                if isinstance(row, dict):
                    values = {name: _inline_value(row, each) for name, each in fields}
                    yield Record(values, record_set.description.places.of(pointer))
            return
        plan = plan_records(record_set)
        is_table = not plan.tree.joins and isinstance(plan.tree.origin, Resource)
        if is_table and all(leaf.take.kind == "column" for leaf in plan.tree.leaves):
            # A record is a row of one table, so other columns can be ignored.
            plan = plan_records(record_set, [each for _, each in fields])
        for table in self.tables(plan.tree):
            rows = (
                Record({name: plan.value(each, table.columns, row) for name, each in fields}, table.at(row))
                for row in range(table.size)
            )
            yield from _in_order(rows, table.faults)

    # --- columns ---

    def tables(self, tree: Tree) -> Iterator[Table]:
        """Yield the rows of a source with the values of its leaves, joined with the sources below it."""
        leaves = list(tree.leaves)
        leaves += [join.local for join in tree.joins if join.local not in leaves]
        lookups: list[_Lookup] = []
        for join in tree.joins:
            faults = self._look_up(join, lookups)
            if faults:
                yield Table(0, {}, _nowhere, faults)
        for batch in self.batches(tree.origin, takes_of(leaves)):
            table = self.evaluated(leaves, batch)
            if tree.joins:
                yield from _joined(table, tree, lookups)
            else:
                yield table
        for each in lookups:
            each.lookup.close()

    def evaluated(self, leaves: Sequence[Leaf], batch: Batch) -> Table:
        """Return the values of leaves for a batch; rows with a value that cannot be cast are rejected."""
        faults: list[Fault] = []
        for trouble in batch.faults:
            if not isinstance(trouble, NoColumn):
                faults.append(trouble)
                continue
            is_column = trouble.take.kind == "column"
            what = f"no column `{trouble.take.name}`" if is_column else f"`{trouble.take.name}` selects nothing"
            for leaf in leaves:  # once for each field that uses the column
                if leaf.take == trouble.take and leaf.view is not None:
                    message = f"{leaf.view.title}: {what} in `{trouble.at.path}`"
                    place = leaf.view.place("cr:column" if is_column else "cr:jsonPath")
                    faults.append(Fault(DATA_COLUMN_MISSING, Problem(message, place, trouble.hint)))
        bad: set[int] = set()
        rejected: set[int] = set()
        columns: dict[int, Sequence[Any]] = {}
        held = 0
        for leaf in leaves:
            try:
                values, wrong = leaf.values(batch.columns[leaf.take], self._patterns)
            except PatternFault as fault:
                raise _transform_fault(leaf, str(fault), "write a pattern without nested repetition") from fault
            held += sum(map(_size, values)) if leaf.steps else 0
            if held > _TRANSFORMED_BYTES:
                message = (
                    f"transformed values of {batch.size:,} rows need more than {_TRANSFORMED_BYTES:,} bytes of memory"
                )
                raise _transform_fault(leaf, message, "transform fewer or shorter texts")
            columns[id(leaf)] = values
            bad |= wrong.keys()
            rejected |= {id(leaf)} if wrong else set()
            faults += [value_fault(leaf, reason, batch.at(row)) for row, reason in wrong.items()]
        if not bad:
            return Table(batch.size, columns, batch.at, faults)
        good = [row for row in range(batch.size) if row not in bad]
        kept = {name: [values[row] for row in good] for name, values in columns.items()}
        return Table(len(good), kept, lambda row: batch.at(good[row]), faults, rejected)

    def batches(self, origin: Origin, takes: Sequence[Take]) -> Iterator[Batch]:
        """Yield the rows of a file, file set or record set; if a file cannot be read further, its fault comes last."""
        if isinstance(origin, RecordSet):
            yield from self._of_record_set(origin, takes)
        else:
            yield from self.of_files(origin, takes, lambda _: None)

    def of_files(
        self, origin: Resource, takes: Sequence[Take], quickly: Callable[[Opened], Iterator[T] | None]
    ) -> Iterator[T | Batch]:
        """Yield like `batches` for a file or file set; `quickly` may read a file in another way.

        Rows of one file may lack a member that another file has, which JSON shows only after its rows: what no file has is
        a fault after the last file. A table that lacks a column is not read at all.
        """
        empty: dict[Take, Sequence[Any]] = {take: [] for take in takes}
        opened = self._files.opened(origin)
        files = 0
        absent: Counter[Take] = Counter()
        first: dict[Take, NoColumn] = {}
        while True:
            try:
                file = next(opened, None)
                if file is None:
                    break
                rows = quickly(file)
                if rows is not None:
                    yield from rows
                    continue
                has_content = False
                for batch in batches(origin, file, takes):
                    lacking = [fault for fault in batch.faults if isinstance(fault, NoColumn)]
                    for fault in lacking:
                        first.setdefault(fault.take, fault)
                        absent[fault.take] += 1
                    has_content = has_content or bool(lacking) or batch.size > 0
                    batch.faults = [fault for fault in batch.faults if not isinstance(fault, NoColumn)]
                    yield batch
                files += has_content
            except Broken as broken:
                yield Batch("", 0, empty, faults=[broken.fault])
            except Lacking as lacks:
                yield Batch("", 0, empty, faults=[*lacks.faults])
        faults: list[Trouble] = [fault for take, fault in first.items() if absent[take] == files]
        if faults:
            yield Batch("", 0, empty, faults=faults)

    def _of_record_set(self, record_set: RecordSet, takes: Sequence[Take]) -> Iterator[Batch]:
        if record_set in self._reading:
            raise NotRead(f"{record_set.title}: the record set is its own source")
        if len(self._reading) >= _MOST_DRAWN:
            raise NotRead(f"{record_set.title}: more than {_MOST_DRAWN} record sets are sources of each other")
        if record_set not in self._fields:
            fields = chain(record_set.every_field, record_set.every_annotation)
            self._fields[record_set] = {pointer_of(each): each for each in fields}
        wanted = {take: self._fields[record_set][take.name] for take in takes}
        places = record_set.description.places
        if takes and takes[0].kind == "constant":
            place = places.of(next(iter(wanted.values())).constant_pointer or "")
            yield Batch("", 1, {take: [each.constant] for take, each in wanted.items()}, place=lambda _: place)
            return
        if record_set.rows is not None:
            rows = [(pointer, row) for pointer, row in record_set.rows if isinstance(row, dict)]
            inline = {take: [_inline_value(row, each) for _, row in rows] for take, each in wanted.items()}
            yield Batch("", len(rows), inline, place=lambda row: places.of(rows[row][0]))
            return
        self._reading.append(record_set)
        try:
            plan = plan_records(record_set, wanted.values())
            for table in self.tables(plan.tree):
                columns = {
                    take: [plan.value(each, table.columns, row) for row in range(table.size)]
                    for take, each in wanted.items()
                }
                yield Batch("", table.size, columns, faults=[*table.faults], place=table.at)
        finally:
            self._reading.remove(record_set)

    def _look_up(self, join: Join, lookups: list[_Lookup], *, below: bool = False) -> list[Fault]:
        """Add the rows of a join, then the rows of the joins below it, but never their product; return their faults."""
        lookup = Lookup(self.spill("joined"))
        self._closing.callback(lookup.close)
        carried = list(dict.fromkeys([*join.tree.leaves, *(each.local for each in join.tree.joins)]))
        lookups.append(_Lookup(join, lookup, [id(leaf) for leaf in carried], below))
        faults: list[Fault] = []
        followed = []
        for each in join.tree.joins:
            position = len(lookups)
            faults += self._look_up(each, lookups, below=True)
            if each.follows:
                followed.append((each, lookups[position].lookup))
        for table in self.tables(Tree(join.tree.origin, [*carried, join.remote])):
            keys = table.columns.get(id(join.remote), ())
            columns = [table.columns[id(leaf)] for leaf in carried] if table.size else []
            rows = zip(*columns, strict=True) if columns else ((),) * table.size
            lookup.add(zip(keys, rows, strict=True))
            faults += table.faults[: _EXPANDED - len(faults)]
            for each, found in followed:
                for row, value in enumerate(table.columns.get(id(each.local), ())):
                    if value is not None and len(faults) < _EXPANDED and next(found.find(value), None) is None:
                        faults.append(unmatched(each.local, each.remote, value, table.at(row)))
        lookup.ready()
        return faults


def _transform_fault(leaf: Leaf, message: str, hint: str) -> Broken:
    place = leaf.view.at if leaf.view is not None else leaf.field.at
    return Broken(Fault(DATA_TRANSFORM_FAILED, Problem(f"{leaf.field.title}: {message}", place, hint)))


def _size(value: Any) -> int:
    """Return the approximate size of a value in bytes."""
    return sys.getsizeof(value) + (len(value) * _TEXT_BYTES if isinstance(value, list) else 0)


def value_fault(leaf: Leaf, reason: Reason, at: Location) -> Fault:
    """Return the fault of a value that does not fit its field."""
    if isinstance(reason, NumberFault):
        return out_of_range(at, reason)
    message = f"{leaf.field.title}: {reason}{_where(at)}"
    if "does not match" in reason:
        return Fault(DATA_TRANSFORM_FAILED, Problem(message, at, "correct the pattern or the value"))
    hint = (
        f'add `"{leaf.field.array_term}": true`' if reason.endswith(NO_ARRAY) else "correct the value or the data type"
    )
    return Fault(DATA_VALUE_CAST, Problem(message, at, hint))


def _where(at: Location) -> str:
    """Return the suffix of a message for a place without a line."""
    return f" in {at.record}" if at.line is None and at.record is not None else ""


def _nowhere(_row: int) -> Location:
    raise AssertionError


class _Row(Struct):
    """A row of a table with some of its joins, and the faults to report behind it."""

    columns: dict[int, Any]
    at: Location
    faults: list[Fault]
    #: The approximate number of bytes joined to it.
    size: int = 0
    #: Whether it is the first row made from a row of the table; the first carries the faults.
    is_first: bool = True


def _joined(table: Table, tree: Tree, joins: Sequence[_Lookup]) -> Iterator[Table]:
    """Yield the rows of a table with their joins: a row for each match, or one with nulls if there is none."""
    names = [id(leaf) for leaf in tree.everything()]
    names += [id(each.join) for each in joins if each.join.container is not None]
    faults = table.faults
    taken: list[_Row] = []
    size = 0

    def joined() -> Table:
        columns = {name: [row.columns[name] for row in taken] for name in names}
        places = [row.at for row in taken]
        return Table(len(taken), columns, places.__getitem__, faults + [fault for row in taken for fault in row.faults])

    for index in range(table.size):
        values = {name: column[index] for name, column in table.columns.items()}
        for row in _matched(_Row(values, table.at(index), []), joins):
            taken.append(row)
            size += row.size
            if len(taken) >= _EXPANDED or size > BATCH_BYTES:
                meter().check()
                yield joined()
                faults, taken, size = [], [], 0
    if taken or faults:
        yield joined()


def _matched(row: _Row, joins: Sequence[_Lookup]) -> Iterator[_Row]:
    """Yield a row for each combination of its matches, without keeping all of them in memory."""
    if not joins:
        yield row
        return
    this, rest = joins[0], joins[1:]
    join = this.join
    local = row.columns[id(join.local)]
    faults, is_first, found = row.faults, row.is_first, False
    if join.container is not None:
        matches: list[list[Any]] = []
        for match, size in this.lookup.find(local):
            matches.append(match)
            row.size += size
            if row.size > _NESTED_BYTES:
                reason = f"the nested records of one record need more than {_NESTED_BYTES:,} bytes of memory"
                raise NotRead(f"{join.container.title}: {reason}")
        yield from _matched(_Row(row.columns | {id(join): matches}, row.at, faults, row.size, is_first), rest)
        return
    for match, size in this.lookup.find(local):
        found = True
        columns = row.columns | dict(zip(this.carried, match, strict=True))
        yield from _matched(_Row(columns, row.at, faults, row.size + size, is_first), rest)
        faults, is_first = [], False
    if not found:
        if local is not None and join.follows and row.is_first and not this.below:
            faults = [*faults, unmatched(join.local, join.remote, local, row.at)]
        columns = row.columns | dict.fromkeys(this.carried)
        yield from _matched(_Row(columns, row.at, faults, row.size, row.is_first), rest)


def unmatched(local: Leaf, remote: Leaf, value: Any, at: Location) -> Fault:
    """Return the fault of a value that does not occur in the referenced field."""
    target = remote.field.node.written_id if remote.take.kind == "field" else remote.take.name
    message = f"{local.field.title}: `{clip(value)}` is not a value of `{target}`{_where(at)}"
    return Fault(DATA_FOREIGN_KEY_VIOLATION, Problem(message, at, "correct the value, or add the missing record"))


# --- records ---


def _in_order(records: Iterable[Record], faults: Iterable[Fault]) -> Iterator[Record | Fault]:
    """Yield records and faults in file order: faults of more than one row first, others after their row."""
    pending = deque(sorted(faults, key=lambda fault: _row_of(fault.problem.at)))
    for record in records:
        row = _row_of(record.at)
        while pending and _row_of(pending[0].problem.at) < row:
            yield pending.popleft()
        yield record
        while pending and _row_of(pending[0].problem.at) == row:
            yield pending.popleft()
    yield from pending


def _row_of(at: Location) -> int:
    number = (at.record or "").removeprefix("record ")
    return at.line or (int(number) if number.isdecimal() else 0)


def name_of(each: Field) -> str:
    """Return the name of a value in a record: the field's identifier as written, else its name."""
    written = each.node.written_id
    return written if isinstance(written, str) else each.text("sc:name") or pointer_of(each)


def _inline_value(row: Mapping[str, Any], each: Field) -> Any:
    """Return the value of a field in a record in the description."""
    written = each.node.written_id
    name = written if isinstance(written, str) and written in row else each.id or ""
    if name in row:
        return row[name]
    if not each.has_constant and any(inner.is_in_constant for inner in each.sub_fields):
        return {name_of(inner): _inline_value(row, inner) for inner in each.sub_fields}
    return each.constant
