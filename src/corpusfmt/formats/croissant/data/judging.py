"""Internal: Check the data of a description: types, transformations, keys and foreign keys, in bounded memory."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from importlib.util import find_spec
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from xxhash import xxh64_intdigest

from corpusfmt.formats.croissant.data.batches import Batch, Broken, NotRead, Take
from corpusfmt.formats.croissant.data.files import Opened
from corpusfmt.formats.croissant.data.findings import (
    DATA_ARCHIVE_CORRUPT,
    DATA_FILE_MISSING,
    DATA_FILESET_EMPTY,
    DATA_FOREIGN_KEY_VIOLATION,
    DATA_FORMAT_MISMATCH,
    DATA_KEY_NOT_UNIQUE,
    DATA_KEY_NULL,
    Gap,
)
from corpusfmt.formats.croissant.data.leaves import Leaf, leaf_of, of_field, pointer_of, takes_of
from corpusfmt.formats.croissant.data.lookup import key_of
from corpusfmt.formats.croissant.data.reader import (
    Edge,
    Origin,
    RecordPlan,
    RecordReader,
    Table,
    Tree,
    plan_records,
    reading,
    references_of,
    referring_parents,
    unmatched,
)
from corpusfmt.formats.croissant.data.rows import DELIMITERS, kind_of
from corpusfmt.formats.croissant.data.stored import StoredTypes
from corpusfmt.formats.croissant.data.tables import (
    HAS_NUMPY,
    Accepted,
    Hashes,
    KeyOf,
    absent_in,
    are_distinct,
    as_hashes,
    combined,
    few_hashes,
    hashes_of,
    judged,
)
from corpusfmt.formats.croissant.model.graph import Description, Field, FileObject, RecordSet, Resource
from corpusfmt.formats.croissant.model.wording import clip
from corpusfmt.formats.whole import MOST_KEYS
from corpusfmt.io.keys import KeyWriter, Place, repeated_in_batches
from corpusfmt.io.keys import unmatched as unmatched_places
from corpusfmt.io.limits import LimitReached
from corpusfmt.io.paths import Entry
from corpusfmt.model import Fault, Location, Problem

if TYPE_CHECKING or HAS_NUMPY:
    import numpy as np
if TYPE_CHECKING:
    import numpy.typing as npt

    from corpusfmt.formats.croissant.data.tables import Key, Keys

# The number of faults of one kind in a report; the others are only counted.
_SHOWN = 10
_MEDIA = {"sc:ImageObject": "images are", "sc:AudioObject": "sound is", "sc:VideoObject": "videos are"}
_CODES = ("CRO606", "CRO607", "CRO608", "CRO609", "CRO610", "CRO611", "CRO612", "CRO613", "CRO617")
# The rules that `Storage` reports at places in the description.
_REPORTED_OF_FILES = (DATA_FILESET_EMPTY, DATA_ARCHIVE_CORRUPT, DATA_FORMAT_MISMATCH)
# The identity of a referenced field.
_Name = tuple[int, int, str]
# How often one source is read for the fields that others refer to.
_MOST_PASSES = 100
# The number of keys that are compared in memory, in 24 bytes each.
_MOST_HELD = 1 << 22
# The number of keys of all references that wait to be written, in 16 bytes each.
_MOST_WAITING = 1 << 21
# The number of referenced fields whose keys may be in memory at one time.
_MOST_KNOWN = 4


class _Watched:
    """Keys that one pass over a source collects: the values of some leaves of each row, as hashes on local disk.

    `known` keys are skipped: a reference that is found needs no second look. Keys that must be unique are held in memory
    while they are few: if all are different, none needs a place on disk. `most_waiting` keys wait to be written.
    """

    def __init__(
        self, key: KeyOf, folder: Path, known: Hashes | None = None, most_waiting: int = _MOST_WAITING
    ) -> None:
        self.key = key
        self.folder = folder
        self._writer = KeyWriter(folder, 0)
        self._known = known
        self._most_waiting = most_waiting
        self._row = 0
        #: Keys, and their rows; None once they are too many.
        self._held: list[tuple[Keys, npt.NDArray[np.int64]]] | None = [] if key.required else None
        self._held_keys = 0

    def accept(self, part: Key) -> None:
        """Take the rows of a block."""
        keys, present = part
        rows = np.flatnonzero(present)
        self._write(keys if len(rows) == len(keys) else keys[rows], rows)
        self._row += len(keys)

    def take(self, table: Table) -> None:
        """Take the rows of a table; a row without a value in some leaf has no key."""
        rows, keys = _keys_in(self.key.leaves, table)
        if not HAS_NUMPY:
            self._writer.extend(map(xxh64_intdigest, map(_as_bytes, keys)), map(self._row.__add__, rows))
            self._make_room()
        elif keys:
            hashes = combined([hashes_of(part) for part in zip(*keys, strict=True)])
            self._write(hashes, np.array(rows, dtype=np.int64))
        self._row += table.size

    def _write(self, keys: Keys, rows: npt.NDArray[np.int64]) -> None:
        if self._known is not None and len(keys):
            strange = absent_in(self._known, keys)
            keys, rows = keys[strange], rows[strange]
        if not len(keys):
            return
        block = keys, rows + self._row
        if self._held is None:
            self._spill([block])
            return
        self._held.append(block)
        self._held_keys += len(keys)
        if self._held_keys > _MOST_HELD:
            self._spill(self._held)
            self._held = None

    def _spill(self, blocks: Iterable[tuple[Keys, npt.NDArray[np.int64]]]) -> None:
        for keys, rows in blocks:
            self._writer.add_columns((as_hashes(keys).tobytes(), rows.astype(np.uint64).tobytes()))
            self._make_room()

    def _make_room(self) -> None:
        if len(self._writer.columns[0]) > self._most_waiting:
            self._writer.close()

    def close(self) -> None:
        """Write the keys that may occur twice."""
        if self._held and not are_distinct([keys for keys, _ in self._held]):
            self._spill(self._held)
        self._writer.close()


def _keys_in(leaves: Sequence[Leaf], table: Table) -> tuple[list[int], list[tuple[bytes, ...]]]:
    """Return the row and the key of each key in a table; each value of a list is a key."""
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


def _as_bytes(key: Iterable[bytes]) -> bytes:
    """Return the parts of a key, each after its length, so that no other parts give the same."""
    return b"".join(len(part).to_bytes(8, "little") + part for part in key)


def judge_data(
    description: Description,
    folder: Entry,
    maps: Mapping[str, Entry],
    scratch: Path | None,
    report: Callable[[Fault], Any],
) -> tuple[int, list[Gap]]:
    """Check the data of a description's record sets in a folder, and report the faults.

    `maps` names local copies by id; `scratch` is a local folder for temporary files. Returns the number of records and the
    data that was not checked.
    """
    with reading(description, folder, maps, scratch) as reader:
        judge = _DataJudge(description, reader, report)
        judge.run()
    return judge.records, judge.gaps


class _DataJudge:
    """Checks each record set of a description in one pass, and reports the faults that `Storage` does not."""

    def __init__(self, description: Description, reader: RecordReader, report: Callable[[Fault], Any]) -> None:
        self._description = description
        self._reader = reader
        self._report = report
        #: The folder with the keys of each referenced field, or why there is none.
        self._targets: dict[_Name, Path | NotRead] = {}
        self._passes: Counter[int] = Counter()
        self._broken: set[Fault] = set()
        self.gaps: list[Gap] = []
        self._left_out: set[Gap] = set()
        #: The number of records read.
        self.records = 0

    def run(self) -> None:
        """Check every record set."""
        for view in self._description.views.values():
            if isinstance(view, RecordSet):
                try:
                    self._record_set(view)
                except NotRead as reason:
                    self._leave_out(_CODES, reason)
                except Broken as broken:
                    if broken.fault not in self._broken:
                        self._broken.add(broken.fault)
                        self._pass_on(broken.fault)

    def _record_set(self, record_set: RecordSet) -> None:
        # Rules on the description check its values, except for their references to data in files.
        records = self.records
        for each in chain(record_set.every_field, record_set.every_annotation):
            if each.is_in_constant and _refers_to_files(
                leaf := Leaf(each, record_set, Take("constant", pointer_of(each)))
            ):
                self._sources(record_set, [leaf], [])
        if record_set.rows is not None:
            fields = [each for each in record_set.fields if not each.is_in_constant]
            self._sources(record_set, [leaf for each in fields if _refers_to_files(leaf := of_field(each))], [])
        self.records = records  # inline records are already counted
        if record_set.rows is not None:
            return
        plan = plan_records(record_set)
        fields = record_set.key_fields
        key = _leaves_of(fields, plan.tree.leaves)
        of_rows = len(key) == len(fields) and _makes_one_of_each(plan.tree)
        leaves = [*plan.leaf.values(), *referring_parents(record_set)]
        # Annotations with values of their own are checked like fields, and are not part of a record.
        for each in record_set.every_annotation:
            if each.sources and not each.sub_fields:
                try:
                    leaves.append(leaf_of(each))
                except NotRead as reason:
                    self._leave_out(_CODES, reason)
        self._sources(record_set, leaves, key if of_rows else [])
        if fields and not of_rows:
            try:
                self._key_of_records(plan, fields)
            except NotRead as reason:
                self._leave_out(("CRO611", "CRO612"), reason)

    def _sources(self, record_set: RecordSet, leaves: list[Leaf], key: list[Leaf]) -> None:
        edges: list[Edge] = []
        for leaf in leaves:
            # Each target once, as a field if it is one.
            targets: set[int] = set()
            for edge in references_of(leaf.field, leaf):
                if id(edge.remote.field) not in targets and edge.remote.origin is not leaf.origin:
                    targets.add(id(edge.remote.field))
                    edges.append(edge)
        for origin in {id(leaf.origin): leaf.origin for leaf in leaves}.values():
            own = [leaf for leaf in leaves if leaf.origin is origin]
            own_key = [leaf for leaf in key if leaf.origin is origin]
            self._source(record_set, origin, own, own_key, [edge for edge in edges if edge.local.origin is origin])

    def _key_of_records(self, plan: RecordPlan, fields: list[Field]) -> None:
        """Check a key on the joined records. The faults of their values are already reported for each source."""
        key = _leaves_of(fields, plan.tree.everything())
        if len(key) < len(fields):
            raise NotRead(f"{plan.record_set.title}: the key is in nested records, or has subfields")
        watched = _Watched(KeyOf(key), self._folder())
        unmatched_at: set[Location] = set()
        for table in self._reader.tables(plan.tree):
            if table.size:
                # The records of one row of the first source, one for each match, may continue in the next table.
                unmatched_at = unmatched_at & {table.at(0)} | _where_unmatched(table)
                self._nulls(key, table, unmatched_at)
                watched.take(table)
        watched.close()
        self._repeated(plan.record_set, lambda: self._reader.tables(plan.tree), key, watched.folder)

    def _source(
        self, record_set: RecordSet, origin: Origin, leaves: list[Leaf], key: list[Leaf], edges: list[Edge]
    ) -> None:
        """Read one source of a record set: check its values, its key, and its foreign keys."""
        self._collect([edge.remote for edge in edges])
        targets = []
        for edge in edges:
            target = self._targets[_name_of(edge.remote)]
            if isinstance(target, NotRead):
                self._leave_out(("CRO613",), target)
            else:
                targets.append((edge, target))
        folders = list(dict.fromkeys(folder for _, folder in targets))
        known = {folder: few_hashes(folder) for folder in folders} if len(folders) <= _MOST_KNOWN else {}
        of_key = [_Watched(KeyOf(key), self._folder())] if key else []
        foreign = [
            _Watched(
                KeyOf([edge.local], required=False), self._folder(), known.get(target), _MOST_WAITING // len(targets)
            )
            for edge, target in targets
        ]
        watched = [*of_key, *foreign]
        before = self.records
        types = StoredTypes(leaves)
        for part in self._parts(origin, leaves, [each.key for each in watched]):
            types.see(part)
            if isinstance(part, Accepted):
                for each, keys in zip(watched, part.keys, strict=True):
                    each.accept(keys)
                self.records += part.size
                continue
            table = self._reader.evaluated(leaves, part)
            types.reject(table.rejected)
            # Faults in another record set that is the source are reported there.
            for fault in table.faults if isinstance(origin, Resource) else table.faults[len(part.faults) :]:
                self._pass_on(fault)
            self.records += table.size
            if key:
                self._nulls(key, table, _where_unmatched(table))
            for each in watched:
                each.take(table)
        for fault in types.faults():
            self._report(fault)
        for leaf in leaves if self.records > before else ():
            kind = next((_MEDIA[each] for each in leaf.field.data_types if each in _MEDIA), None)
            if kind is not None:
                left_out = f"{leaf.field.title}: {kind} not decoded"
                self.gaps.append(Gap(("CRO609",), self._description.places.path, left_out, self.records - before))
        for each in watched:
            each.close()
        for each in of_key:
            self._repeated(record_set, lambda: self._tables(origin, leaves), key, each.folder)
        absent = [unmatched_places(each.folder, [target]) for each, (_, target) in zip(foreign, targets, strict=True)]
        self._unmatched(self._tables(origin, leaves), [edge for edge, _ in targets], absent)

    def _parts(self, origin: Origin, leaves: Sequence[Leaf], keys: Sequence[KeyOf]) -> Iterator[Accepted | Batch]:
        takes = takes_of(leaves)
        if not isinstance(origin, Resource) or any(leaf.steps or leaf.take.kind != "column" for leaf in leaves):
            yield from self._reader.batches(origin, takes)
            return
        are_plain = all(leaf.is_plain for leaf in leaves)

        def quickly(file: Opened) -> Iterator[Accepted | Batch] | None:
            kind = kind_of(origin, file.name)
            if keys and not HAS_NUMPY:
                return None
            if kind == "parquet" and HAS_NUMPY and find_spec("pyarrow") is not None:
                from corpusfmt.formats.croissant.data.arrays import judged_arrays  # noqa: PLC0415 - needs pyarrow

                return judged_arrays(file, leaves, keys)
            return judged(file, DELIMITERS[kind], leaves, keys) if kind in DELIMITERS and are_plain else None

        yield from self._reader.of_files(origin, takes, quickly)

    def _tables(self, origin: Origin, leaves: Sequence[Leaf]) -> Iterator[Table]:
        for batch in self._reader.batches(origin, takes_of(leaves)):
            yield self._reader.evaluated(leaves, batch)

    def _collect(self, remotes: Iterable[Leaf]) -> None:
        """Collect the keys of referenced fields, each once: columns of one file together."""
        together: defaultdict[object, dict[_Name, Leaf]] = defaultdict(dict)
        for remote in remotes:
            name, leaf = _name_of(remote), remote
            if name in self._targets:
                continue
            if isinstance(remote.origin, RecordSet) and remote.origin.rows is None and not remote.field.sub_fields:
                with suppress(NotRead):  # the reference itself reports it
                    drawn = leaf_of(remote.field)  # its values are taken unchanged
                    leaf = drawn if isinstance(drawn.origin, Resource) else remote
            # Transformed values of several fields would share the limit of their memory.
            is_column = isinstance(leaf.origin, FileObject) and leaf.take.kind == "column" and not leaf.steps
            together[id(leaf.origin) if is_column else name][name] = leaf
        for leaves in together.values():
            self._collect_together(leaves)

    def _collect_together(self, leaves: dict[_Name, Leaf]) -> None:
        try:
            folders = self._collected(list(leaves.values()))
        except NotRead as error:
            reason = NotRead(str(error), error.path)  # without the traceback, which keeps files open
        else:
            self._targets |= zip(leaves, folders, strict=True)
            return
        half = len(leaves) // 2
        if not half:
            self._targets |= dict.fromkeys(leaves, reason)
            return
        self._passes[id(next(iter(leaves.values())).origin)] -= 1  # columns that can be read have as many as if alone
        for some in (list(leaves)[:half], list(leaves)[half:]):
            self._collect_together({name: leaves[name] for name in some})

    def _collected(self, leaves: Sequence[Leaf]) -> list[Path]:
        """Return the folder with the keys of each leaf of one source. Raises `NotRead` if there is one without."""
        origin = leaves[0].origin
        self._passes[id(origin)] += 1
        if self._passes[id(origin)] > _MOST_PASSES:
            raise NotRead(f"{origin.title}: references to this source need more than {_MOST_PASSES} passes over it")
        most = _MOST_WAITING // len(leaves)
        watched = [_Watched(KeyOf([leaf], required=False), self._folder(), None, most) for leaf in leaves]
        for part in self._parts(origin, leaves, [each.key for each in watched]):
            if isinstance(part, Accepted):
                for each, keys in zip(watched, part.keys, strict=True):
                    each.accept(keys)
                continue
            table = self._reader.evaluated(leaves, part)
            if table.faults or part.faults:
                raise NotRead(f"{leaves[0].field.title}: some values cannot be read")
            for each in watched:
                each.take(table)
        for each in watched:
            each.close()
        return [each.folder for each in watched]

    def _folder(self) -> Path:
        folder = self._reader.spill("keys")
        folder.mkdir()
        return folder

    # --- reporting ---

    def _leave_out(self, codes: Sequence[str], reason: NotRead) -> None:
        gap = Gap(tuple(codes), reason.path or self._description.places.path, str(reason))
        if gap not in self._left_out:
            self._left_out.add(gap)
            self.gaps.append(gap)

    def _pass_on(self, fault: Fault) -> None:
        """Report a fault, unless the check of the files reports it: a missing file, or a fault in the description."""
        in_description = fault.problem.at.path == self._description.places.path
        if fault.type is not DATA_FILE_MISSING and not (fault.type in _REPORTED_OF_FILES and in_description):
            self._report(fault)

    def _nulls(self, key: Sequence[Leaf], table: Table, unmatched_at: Collection[Location]) -> None:
        """Report records without a key, unless the cause is a dangling reference, which is reported itself."""
        for leaf in key:
            for row, value in enumerate(table.columns[id(leaf)]):
                if value is None and not (unmatched_at and table.at(row) in unmatched_at):
                    message = f"{leaf.field.title}: the key has no value"
                    self._report(Fault(DATA_KEY_NULL, Problem(message, table.at(row), "give the record a key")))

    def _repeated(
        self, record_set: RecordSet, tables: Callable[[], Iterator[Table]], key: Sequence[Leaf], folder: Path
    ) -> None:
        """Read the rows whose keys have equal hashes again, and report those with equal keys."""
        first_at: dict[bytes, Location] = {}
        reported = 0
        beyond: Fault | None = None
        for batch in repeated_in_batches(folder):
            if not batch.continues:
                first_at.clear()
            rows = chain.from_iterable(rows for _, rows in batch.rows_by_shard())
            for _, table, index in _read_again(tables(), (row for row, _ in groupby(rows))):
                values = [table.columns[id(leaf)][index] for leaf in key]
                identity = blake2b(_as_bytes(key_of(value) or b"" for value in values), digest_size=16).digest()
                at = table.at(index)
                first = first_at.get(identity)
                if first is None:
                    first_at[identity] = at
                    if len(first_at) > MOST_KEYS:
                        raise LimitReached(
                            "keys were chosen to have equal hashes", "change the keys of this file", at.path
                        )
                    continue
                reported += 1
                if reported <= _SHOWN:
                    shown = clip(values[0] if len(values) == 1 else values)
                    place = (
                        f"on line {first.line}" if first.line is not None else f"in {first.record or 'the description'}"
                    )
                    message = f"{record_set.title}: the key `{shown}` is repeated, first {place} of {first.path}"
                    beyond = Fault(DATA_KEY_NOT_UNIQUE, Problem(message, at, "correct one of the records, or the key"))
                    self._report(beyond)
        if beyond is not None and reported > _SHOWN:
            self._report(_counted(beyond, reported - _SHOWN))

    def _unmatched(self, tables: Iterator[Table], edges: Sequence[Edge], absent: Sequence[Iterable[Place]]) -> None:
        """Report dangling references: for each edge, the places of the values that the other field lacks."""
        left = [0] * len(edges)
        shown: defaultdict[int, list[int]] = defaultdict(list)
        for number, places in enumerate(absent):
            first: list[int] = []
            for _, row in places:
                left[number] += 1
                (heapq.heappush if left[number] <= _SHOWN else heapq.heappushpop)(first, -row)
            for row in set(first):
                shown[-row].append(number)
        last: dict[int, Fault] = {}
        for row, table, index in _read_again(tables, iter(sorted(shown))):
            for number in shown[row]:
                edge = edges[number]
                value = table.columns[id(edge.local)][index]
                last[number] = unmatched(edge.local, edge.remote, value, table.at(index))
                self._report(last[number])
                left[number] -= 1
        for number, fault in last.items():
            if left[number]:
                self._report(_counted(fault, left[number]))


def _read_again(tables: Iterator[Table], rows: Iterator[int]) -> Iterator[tuple[int, Table, int]]:
    """Yield the given rows (in ascending order), each with its table and its index in that table."""
    wanted = next(rows, None)
    if wanted is None:
        return
    start = 0
    for table in tables:
        while wanted is not None and wanted < start + table.size:
            yield wanted, table, wanted - start
            wanted = next(rows, None)
        if wanted is None:
            return
        start += table.size


def _where_unmatched(table: Table) -> set[Location]:
    return {fault.problem.at for fault in table.faults if fault.type is DATA_FOREIGN_KEY_VIOLATION}


def _counted(fault: Fault, count: int) -> Fault:
    return Fault(fault.type, replace(fault.problem, count=count))


def _refers_to_files(leaf: Leaf) -> bool:
    origins = [edge.remote.origin for edge in references_of(leaf.field, leaf)]
    return any(not isinstance(origin, RecordSet) or origin.rows is None for origin in origins)


def _name_of(leaf: Leaf) -> _Name:
    return id(leaf.origin), id(leaf.field), leaf.take.name


def _leaves_of(fields: Sequence[Field], leaves: Iterable[Leaf]) -> list[Leaf]:
    by_field = {id(leaf.field): leaf for leaf in leaves}
    return [by_field[id(each)] for each in fields if id(each) in by_field]


def _makes_one_of_each(tree: Tree) -> bool:
    """Return whether each row of a source makes one record: every join looks up a key."""
    return all(
        join.container is not None or (join.follows and _is_key(join.remote.field) and _makes_one_of_each(join.tree))
        for join in tree.joins
    )


def _is_key(each: Field) -> bool:
    owner = each.record_set
    return owner is not None and [value.iri for value in owner.keys] == [each.id]
