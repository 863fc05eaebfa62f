"""Internal: Read the records of a record set: a stream of rows from its source, joined with rows of other sources."""

from __future__ import annotations

import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain, count
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from msgspec import Struct, field

from corpusfmt.formats.croissant.data.batches import (
    BATCH_BYTES,
    Absent,
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
from corpusfmt.formats.croissant.model.graph import (
    DataSource,
    Description,
    Field,
    FileObject,
    FileSet,
    RecordSet,
    Resource,
)
from corpusfmt.formats.croissant.model.wording import clip
from corpusfmt.formats.general import out_of_range
from corpusfmt.formats.recordsets import Record
from corpusfmt.io.limits import meter
from corpusfmt.io.paths import Entry
from corpusfmt.io.temporary import temporary_folder
from corpusfmt.io.text import NumberFault
from corpusfmt.model import Fault, Location, Problem

Origin = Resource | RecordSet


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


class RecordPlan(Struct, eq=False):
    """How to make the records of a record set: its tree, and the leaf of each field with values."""

    record_set: RecordSet
    tree: Tree
    leaf: dict[int, Leaf]
    nested: dict[int, Join]

    def leaf_of(self, each: Field) -> Leaf | None:
        """Return the leaf of a field, None for a field that consists of others."""
        return self.leaf.get(id(each))


class Edge(Struct, frozen=True, eq=False):
    """A reference: the values of one leaf occur in another."""

    local: Leaf
    remote: Leaf


def plan_records(record_set: RecordSet, wanted: Iterable[Field] | None = None) -> RecordPlan:
    """Return how to make the records of a record set, or only their wanted values.

    Raises `NotRead` if the description is incomplete.
    """
    builder = _Builder(record_set)
    for each in record_set.fields if wanted is None else wanted:
        builder.add(each, builder.leaves)
    if wanted is not None and not builder.leaves:
        return plan_records(record_set)  # constants are in as many records as the other fields
    return builder.plan()


def references_of(each: Field, leaf: Leaf) -> Iterator[Edge]:
    """Yield the references of a field: to a field, and to the source of that field."""
    for reference in each.references:
        if reference is source_of(each):
            continue
        yield from (Edge(leaf, remote) for remote in _remotes(each, reference))


def _remotes(each: Field, reference: DataSource) -> Iterator[Leaf]:
    for target in reference.target_views:
        if isinstance(target, Field):
            if target.record_set is not None:
                yield of_field(target)
            if target.sources:
                beyond = leaf_of(target)
                if isinstance(beyond.origin, FileObject | FileSet):
                    yield beyond
        elif isinstance(target, Resource) and reference.extracts:
            yield leaf_from(each, reference)


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


class _Builder:
    def __init__(self, record_set: RecordSet) -> None:
        self.record_set = record_set
        self.leaves: list[Leaf] = []
        self._by_field: dict[int, Leaf] = {}
        self._nested: list[tuple[Field, list[Leaf]]] = []
        self._edges: list[Edge] = []

    def add(self, each: Field, leaves: list[Leaf]) -> None:
        if each.has_constant and not each.sources:
            return
        if each.sub_fields:
            below = leaves
            if each.parent_fields:
                below = []
                self._nested.append((each, below))
            for inner in each.sub_fields:
                self.add(inner, below)
            return
        leaf = leaf_of(each)
        if leaf.origin is self.record_set:
            raise NotRead(f"{each.title}: the source is a field of the same record set")
        leaves.append(leaf)
        self._by_field[id(each)] = leaf
        self._edges.extend(references_of(each, leaf))

    def plan(self) -> RecordPlan:
        origins = list({id(leaf.origin): leaf.origin for leaf in self.leaves}.values())
        if not origins:
            raise NotRead(f"{self.record_set.title}: no field has a source")
        self._edges += _edges_between(origins)
        targets = {id(edge.remote.origin) for edge in self._edges if edge.remote.origin is not edge.local.origin}
        first = next((origin for origin in origins if id(origin) not in targets), origins[0])
        trees = {id(first): Tree(first)}
        pending = [origin for origin in origins if origin is not first]
        while pending:
            joined = next((origin for origin in pending if self._joined(origin, trees)), None)
            if joined is None:
                raise NotRead(f"{self.record_set.title}: the sources are not joined")
            pending.remove(joined)
        for leaf in self.leaves:
            trees[id(leaf.origin)].leaves.append(leaf)
        nested = {id(container): self._nest(container, leaves, trees) for container, leaves in self._nested}
        return RecordPlan(self.record_set, trees[id(first)], self._by_field, nested)

    def _joined(self, origin: Origin, trees: dict[int, Tree]) -> bool:
        """Add an origin below one that is already in the tree, along or against a reference."""
        for edge in self._edges:
            for local, remote in ((edge.local, edge.remote), (edge.remote, edge.local)):
                if remote.origin is origin and id(local.origin) in trees:
                    tree = trees[id(origin)] = Tree(origin)
                    follows = local is edge.local
                    trees[id(local.origin)].joins.append(Join(local, remote, tree, follows=follows))
                    return True
        return False

    def _nest(self, container: Field, leaves: list[Leaf], trees: dict[int, Tree]) -> Join:
        for parent in container.parent_fields:
            if not parent.sources:
                continue
            remote = leaf_from(parent, parent.sources[0])
            for reference in parent.references:
                for target in reference.target_views:
                    local = self._by_field.get(id(target))
                    if local is not None and all(leaf.origin is remote.origin for leaf in leaves):
                        join = Join(local, remote, Tree(remote.origin, leaves), container)
                        trees[id(local.origin)].joins.append(join)
                        return join
        raise NotRead(f"{container.title}: `parentField` does not join the source to a field of the record set")


def _edges_between(origins: Iterable[Origin]) -> Iterator[Edge]:
    """Yield the references between record sets that are sources."""
    for origin in origins:
        if isinstance(origin, RecordSet):
            for each in origin.every_field:
                if not each.sub_fields and each.references:
                    yield from references_of(each, of_field(each))


T = TypeVar("T")

_EXPANDED = 4096
# The nested records of a record are one value, which must fit in memory.
_NESTED_BYTES = 64 * 1024 * 1024
# The transformed values of one batch must fit in memory; other values come from the file.
_TRANSFORMED_BYTES = 128 * 1024 * 1024
# The memory of a text in a list, in addition to its characters.
_TEXT_BYTES = 56


class Table(Struct):
    """Rows with the values of leaves (by identity), their places, and the faults of rejected rows."""

    size: int
    columns: Mapping[int, Sequence[Any]]
    at: Callable[[int], Location]
    faults: list[Fault] = field(default_factory=list)
    #: The leaves (by identity) with values that could not be cast.
    rejected: set[int] = field(default_factory=set)
    #: For each row, the nested records of each container (by the identity of its join): again columns of leaves.
    nested: Mapping[int, Sequence[list[list[Any]]]] = field(default_factory=dict)


#: Each record set reads all record sets that it draws from.
_MOST_DRAWN = 20


class RecordReader:
    """Reads the record sets of one description; a context manager, which ends its helpers and removes temporary files.

    Raises `NotRead` if data cannot be read at all; faulty data gives faults in the stream.
    """

    def __init__(
        self, description: Description, folder: Entry, maps: Mapping[str, Entry], scratch: Path | None = None
    ) -> None:
        self.patterns = Patterns(TIME_LIMIT)
        self.files = Files(description, folder, maps, self.patterns)
        self._closing = ExitStack()
        self._scratch = scratch
        self._numbers = count()
        self._reading: list[RecordSet] = []
        #: The fields of record sets that are sources of others, by pointer.
        self._fields: dict[RecordSet, dict[str, Field]] = {}

    def __enter__(self) -> Self:
        self._closing.enter_context(self.patterns)
        if self._scratch is None:
            self._scratch = self._closing.enter_context(temporary_folder())
        else:
            own = tempfile.TemporaryDirectory(prefix="records-", dir=self._scratch)
            self._scratch = Path(self._closing.enter_context(own))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()

    def spill(self, name: str) -> Path:
        """Return a new path in a local folder that is removed at the end."""
        assert self._scratch is not None
        return self._scratch / f"{name}-{next(self._numbers)}"

    def records(self, record_set: RecordSet, names: Sequence[str] | None = None) -> Iterator[Record | Fault]:
        """Yield the records of a record set, and the faults in the data; with `names`, only these fields.

        A record with an unreadable value is rejected: its faults take its place. A record whose joined record does not
        exist has null for the missing values, and is followed by a fault.
        """
        fields = [each for each in record_set.fields if names is None or name_of(each) in names]
        if record_set.rows is not None:
            yield from _inline_records(record_set, fields)
            return
        plan = plan_records(record_set)
        if len(fields) < len(record_set.fields) and _is_one_table(plan):
            plan = plan_records(record_set, fields)
        shape = _Shape(plan, fields)
        for table in self.tables(plan.tree):
            rows = (Record(shape.record(table, row), table.at(row)) for row in range(table.size))
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
        faults = [each for fault in batch.faults for each in _of_fields(fault, leaves)]
        bad: set[int] = set()
        rejected: set[int] = set()
        columns: dict[int, Sequence[Any]] = {}
        held = 0
        for leaf in leaves:
            try:
                values, wrong = leaf.values(batch.columns[leaf.take], self.patterns)
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
        """Yield like `batches` for a file or file set; `quickly` may read a file in another way."""
        empty: dict[Take, Sequence[Any]] = {take: [] for take in takes}
        opened = self.files.opened(origin)
        absent = Absent(empty)
        while True:
            try:
                file = next(opened, None)
                if file is None:
                    yield from absent.rest()
                    return
                rows = quickly(file)
                yield from absent.of_file(batches(origin, file, takes)) if rows is None else rows
            except (Broken, Lacking) as unread:
                yield Batch("", 0, empty, faults=[unread.fault])

    def _of_record_set(self, record_set: RecordSet, takes: Sequence[Take]) -> Iterator[Batch]:
        if record_set in self._reading:
            raise NotRead(f"{record_set.title}: the record set is its own source")
        if len(self._reading) >= _MOST_DRAWN:
            raise NotRead(f"{record_set.title}: more than {_MOST_DRAWN} record sets are sources of each other")
        if record_set not in self._fields:
            fields = chain(record_set.every_field, record_set.every_annotation)
            self._fields[record_set] = {pointer_of(each): each for each in fields}
        wanted = {take: self._fields[record_set][take.name] for take in takes}
        if takes and takes[0].kind == "constant":
            place = record_set.description.places.of(next(iter(wanted.values())).constant_pointer or "")
            yield Batch("", 1, {take: [each.constant] for take, each in wanted.items()}, place=lambda _: place)
            return
        if record_set.rows is not None:
            yield _inline_batch(record_set, wanted)
            return
        self._reading.append(record_set)
        try:
            plan = plan_records(record_set, wanted.values())
            shape = _Shape(plan, ())
            for table in self.tables(plan.tree):
                columns = {
                    take: [shape.value(each, table, row) for row in range(table.size)] for take, each in wanted.items()
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


def _is_one_table(plan: RecordPlan) -> bool:
    """Return whether a record is a row of one table, so that other columns can be ignored."""
    takes = [leaf.take for leaf in plan.tree.leaves]
    return (
        not plan.tree.joins and isinstance(plan.tree.origin, Resource) and all(each.kind == "column" for each in takes)
    )


def _transform_fault(leaf: Leaf, message: str, hint: str) -> Broken:
    place = leaf.view.at if leaf.view is not None else leaf.field.at
    return Broken(Fault(DATA_TRANSFORM_FAILED, Problem(f"{leaf.field.title}: {message}", place, hint)))


def _size(value: Any) -> int:
    """Return the approximate size of a value in bytes."""
    return sys.getsizeof(value) + (len(value) * _TEXT_BYTES if isinstance(value, list) else 0)


class _Lookup(Struct, frozen=True):
    """The rows of a join, with the values of the leaves `carried`; `below` marks a join to rows that are joined themselves."""

    join: Join
    lookup: Lookup
    carried: list[int]
    below: bool


def _of_fields(fault: Trouble, leaves: Sequence[Leaf]) -> Iterator[Fault]:
    """Yield a fault as reported: a missing column once for each field that uses it."""
    if not isinstance(fault, NoColumn):
        yield fault
        return
    for leaf in leaves:
        if leaf.take == fault.take and leaf.view is not None:
            is_column = fault.take.kind == "column"
            what = f"no column `{fault.take.name}`" if is_column else f"`{fault.take.name}` selects nothing"
            place = leaf.view.place("cr:column" if is_column else "cr:jsonPath")
            yield Fault(
                DATA_COLUMN_MISSING, Problem(f"{leaf.view.title}: {what} in `{fault.at.path}`", place, fault.hint)
            )


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


def _joined(table: Table, tree: Tree, joins: Sequence[_Lookup]) -> Iterator[Table]:
    """Yield the rows of a table with their joins: a row for each match, or one with nulls if there is none."""
    leaves = list(tree.everything())
    containers = [each.join for each in joins if each.join.container is not None]
    faults = table.faults
    for rows in _some_at_a_time(_combined(table, joins)):
        meter().check()
        columns = {id(leaf): [row.values[id(leaf)] for row in rows] for leaf in leaves}
        nested = {id(join): [row.nested[id(join)] for row in rows] for join in containers}
        faults = faults + [fault for row in rows for fault in row.faults]
        places = [row.at for row in rows]
        yield Table(len(rows), columns, places.__getitem__, faults, nested=nested)
        faults = []
    if faults:
        yield Table(0, {}, _nowhere, faults)


class _Row(Struct):
    values: dict[int, Any]
    nested: dict[int, list[list[Any]]]
    at: Location
    faults: list[Fault]
    #: The approximate number of bytes joined to it.
    size: int = 0
    #: Whether it is the first row made from a row of the table; the first carries the faults.
    is_first: bool = True


def _some_at_a_time(rows: Iterator[_Row]) -> Iterator[list[_Row]]:
    taken: list[_Row] = []
    size = 0
    for row in rows:
        taken.append(row)
        size += row.size
        if len(taken) >= _EXPANDED or size > BATCH_BYTES:
            yield taken
            taken, size = [], 0
    if taken:
        yield taken


def _combined(table: Table, joins: Sequence[_Lookup]) -> Iterator[_Row]:
    for index in range(table.size):
        row = _Row({name: column[index] for name, column in table.columns.items()}, {}, table.at(index), [])
        yield from _matched(row, joins)


def _matched(row: _Row, joins: Sequence[_Lookup]) -> Iterator[_Row]:
    """Yield a row for each combination of its matches, without keeping all of them in memory."""
    if not joins:
        yield row
        return
    this, rest = joins[0], joins[1:]
    join = this.join
    local = row.values[id(join.local)]
    if join.container is not None:
        matches, size = _nested_in(join.container, this.lookup.find(local))
        row.nested[id(join)] = matches
        row.size += size
        yield from _matched(row, rest)
        return
    faults, is_first, found = row.faults, row.is_first, False
    for each, size in this.lookup.find(local):
        found = True
        values = row.values | dict(zip(this.carried, each, strict=True))
        yield from _matched(_Row(values, dict(row.nested), row.at, faults, row.size + size, is_first), rest)
        faults, is_first = [], False
    if not found:
        if local is not None and join.follows and row.is_first and not this.below:
            faults = [*faults, unmatched(join.local, join.remote, local, row.at)]
        values = row.values | dict.fromkeys(this.carried)
        yield from _matched(_Row(values, row.nested, row.at, faults, row.size, row.is_first), rest)


def _nested_in(container: Field, found: Iterator[tuple[list[Any], int]]) -> tuple[list[list[Any]], int]:
    matches: list[list[Any]] = []
    size = 0
    for match, each in found:
        matches.append(match)
        size += each
        if size > _NESTED_BYTES:
            raise NotRead(
                f"{container.title}: the nested records of one record need more than {_NESTED_BYTES:,} bytes of memory"
            )
    return matches, size


def unmatched(local: Leaf, remote: Leaf, value: Any, at: Location) -> Fault:
    """Return the fault of a value that does not occur in the referenced field."""
    target = remote.field.node.written_id if remote.take.kind == "field" else remote.take.name
    message = f"{local.field.title}: `{clip(value)}` is not a value of `{target}`{_where(at)}"
    return Fault(DATA_FOREIGN_KEY_VIOLATION, Problem(message, at, "correct the value, or add the missing record"))


# --- records ---


def _in_order(records: Iterable[Record], faults: Iterable[Fault]) -> Iterator[Record | Fault]:
    """Yield records and faults in file order: faults of more than one row first, others after their row."""
    placed = sorted(
        ((_row_of(fault.problem.at), number, fault) for number, fault in enumerate(faults)), key=lambda each: each[:2]
    )
    pending = deque(placed)
    for record in records:
        row = _row_of(record.at)
        while pending and pending[0][0] < row:
            yield pending.popleft()[2]
        yield record
        while pending and pending[0][0] == row:
            yield pending.popleft()[2]
    yield from (fault for _, _, fault in pending)


def _row_of(at: Location) -> int:
    number = (at.record or "").removeprefix("record ")
    return at.line or (int(number) if number.isdecimal() else 0)


def name_of(each: Field) -> str:
    """Return the name of a value in a record: the field's identifier as written, else its name."""
    written = each.node.written_id
    return written if isinstance(written, str) else each.text("sc:name") or pointer_of(each)


class _Shape:
    """Combines the values of leaves into nested fields."""

    def __init__(self, plan: RecordPlan, fields: Iterable[Field]) -> None:
        self._plan = plan
        self._fields = [(name_of(each), each) for each in fields]

    def record(self, table: Table, row: int) -> dict[str, Any]:
        return {name: self.value(each, table, row) for name, each in self._fields}

    def value(self, each: Field, table: Table, row: int) -> Any:
        leaf = self._plan.leaf_of(each)
        if leaf is not None:
            return table.columns[id(leaf)][row]
        if each.has_constant:
            return each.constant
        join = self._plan.nested.get(id(each))
        if join is not None:
            leaves = list(join.tree.everything())
            rows = table.nested[id(join)][row]
            return [self._nested(each, dict(zip(map(id, leaves), values, strict=True))) for values in rows]
        values = {name_of(inner): self.value(inner, table, row) for inner in each.sub_fields}
        lists = [value for value in values.values() if isinstance(value, list)]
        if each.is_array and all(value is None for value in values.values()):
            return None
        several = each.is_array or "cr:RecordSet" in each.data_types
        if several and len(lists) == len(values) and len({len(value) for value in lists}) == 1:
            return [dict(zip(values, each_row, strict=True)) for each_row in zip(*lists, strict=True)]
        return values

    def _nested(self, container: Field, values: Mapping[int, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for inner in container.sub_fields:
            leaf = self._plan.leaf_of(inner)
            if leaf is None and inner.has_constant:
                found[name_of(inner)] = inner.constant
            else:
                found[name_of(inner)] = self._nested(inner, values) if leaf is None else values[id(leaf)]
        return found


# --- records in the description ---


def _inline_records(record_set: RecordSet, fields: Sequence[Field]) -> Iterator[Record]:
    for pointer, row in record_set.rows or ():
        if isinstance(row, dict):
            values = {name_of(each): _inline_value(row, each) for each in fields}
            yield Record(values, record_set.description.places.of(pointer))


def _inline_value(row: Mapping[str, Any], each: Field) -> Any:
    written = each.node.written_id
    name = written if isinstance(written, str) and written in row else each.id or ""
    if name in row:
        return row[name]
    if not each.has_constant and any(inner.is_in_constant for inner in each.sub_fields):
        return {name_of(inner): _inline_value(row, inner) for inner in each.sub_fields}
    return each.constant


def _inline_batch(record_set: RecordSet, wanted: Mapping[Take, Field]) -> Batch:
    rows = [(pointer, row) for pointer, row in record_set.rows or () if isinstance(row, dict)]
    columns = {take: [_inline_value(row, each) for _, row in rows] for take, each in wanted.items()}
    places = record_set.description.places
    return Batch("", len(rows), columns, place=lambda row: places.of(rows[row][0]))
