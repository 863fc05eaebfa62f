"""Internal: Survey a folder: files of one kind with the same header become a record set, and each keeps its digest."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import accumulate
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from corpusfmt.formats.croissant.data.globs import matches, may_match_below
from corpusfmt.formats.croissant.survey.columns import Column, Keys, Verdict
from corpusfmt.formats.croissant.survey.files import Seen, look_at
from corpusfmt.formats.croissant.survey.rows import Rows, step_to
from corpusfmt.formats.describing import (
    FieldOf,
    FileOf,
    RecordSetOf,
    Survey,
    is_read_as_date,
    patterns,
    record_count,
)
from corpusfmt.formats.general import pointer_as_input
from corpusfmt.io.limits import fitting
from corpusfmt.io.paths import Entry, PointerFile, is_hidden, reason_of, walk
from corpusfmt.io.temporary import temporary_folder
from corpusfmt.model import Json
from corpusfmt.wording import clipped, plural

_LANGUAGE_NAMES = ("language", "lang")
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,3}")

# As many as the rules of the format allow.
_MOST_DIMENSIONS = 64
# pandas reads larger numbers as times, in seconds.
_LEAST_TIME = 31536000
_NO_PATH = "no JSON path is written alike for all readers"


class Fields(Struct):
    """The fields of a record set, notes on columns that have none, the reasons for types, and languages in the values."""

    version: str
    found: list[FieldOf] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    evidence: Json = field(default_factory=dict)
    languages: set[str] = field(default_factory=set)

    def not_described(self, name: str, why: str) -> None:
        self.notes.append(f"`{clipped(name)}` is not described: {why}")

    def why_no_list(self, dimensions: int) -> str:
        """Return why a version has no lists of so many dimensions, "" if it has."""
        most = 1 if self.version == "1.0" else _MOST_DIMENSIONS
        return "Croissant 1.0 has no lists of lists" if dimensions > most else ""


def fields_of(columns: Mapping[str, Column], path: str, version: str) -> Fields:
    """Return the fields of columns, or of the members at the JSON path of a document, for a description of a version."""
    made = Fields(version)
    verdicts = [(column, column.verdict) for column in columns.values()]
    # mlcroissant extracts only the fields that are not objects from a JSON document.
    has_objects = any(verdict.is_object for _, verdict in verdicts)
    is_flat = bool(path) and not any(verdict.type for _, verdict in verdicts)
    for column, verdict in verdicts:
        name = column.name
        made.languages |= _languages(column)
        if unread := "" if path else _why_not_read(column, verdict):
            made.not_described(name, unread)
        elif not verdict.is_object:
            is_whole = not column.absent and not has_objects
            made.found += _leaf(made, column, _source(name, path, is_whole=is_whole), name)
        elif verdict.dimensions:
            made.found += _list(made, column, _source(name, path), name, column.rows)
        else:
            lists: list[FieldOf] = []
            children = _children(made, column, _source(name, path), name, lists)
            if is_flat:
                made.found += [replace(child, name=f"{name}.{child.name}") for child in children]
            elif children:
                made.found.append(FieldOf(name, "", {}, f"Object `{clipped(name)}`", fields=children))
            made.found += lists
    if path and all(each.fields for each in made.found):
        for each in made.found:
            made.not_described(each.name, "no field next to it is a value")
        made.found.clear()
    return made


def _why_not_read(column: Column, verdict: Verdict) -> str:
    """Return why mlcroissant 1.1.1 fails on a column of a table, of JSON Lines or of Parquet; nothing if it does not."""
    if not column.name:
        return "it has no name"
    if column.lacking:
        return f"{column.lacking} does not have it, and mlcroissant 1.1.1 reads only columns that all files have"
    is_date = verdict.type in ("sc:Date", "sc:DateTime") or verdict.dimensions or verdict.is_object
    if not column.is_json_line or is_date or not is_read_as_date(column.name):
        return ""
    may_be_read = "text" in column.kinds or column.high > _LEAST_TIME
    return "mlcroissant 1.1.1 reads a column of this name as dates; rename it" if may_be_read else ""


class _Source(Struct, frozen=True):
    """The place of values: the extraction, and the JSON path from there; None if no path leads there.

    In a list of objects `list_steps` lead to the list, and `steps` are those from each object.
    """

    extract: Mapping[str, str]
    steps: str | None
    list_steps: str | None = None


def _source(name: str, path: str, *, is_whole: bool = False) -> _Source:
    """Return the place of a column; `is_whole` says that each record has it."""
    if not path:
        return _Source({"column": name}, "")
    step = step_to(name)
    if not step:
        return _Source({}, None)
    if is_whole:
        return _Source({"jsonPath": f"{path}{step}"}, "")
    return _Source({"jsonPath": path}, step)


def _children(
    made: Fields, column: Column, source: _Source, title: str, lists: list[FieldOf] | None = None
) -> list[FieldOf]:
    """Return the members of objects, of all levels, as fields of one level: readers agree on one level.

    Lists of objects are added to `lists`, as fields next to this one; in a list of objects there are none.
    """
    children: list[FieldOf] = []
    for path, child, steps in _leaves(column, source.steps, ""):
        inside = _Source(source.extract, steps, source.list_steps)
        if steps is None:
            made.notes.append(f"`{title}.{clipped(path)}`: {_NO_PATH}")
        elif child.verdict.is_object and lists is not None:
            lists += _list(made, child, inside, f"{title}.{path}", column.rows)
        else:
            children += _leaf(made, child, inside, f"{title}.{path}", path)
    return children


def _list(made: Fields, column: Column, source: _Source, title: str, records: int) -> Iterator[FieldOf]:
    """Yield a list of objects as a field with the members of each; or each member, where the list is missing."""
    assert column.items is not None
    if source.steps is None:
        made.notes.append(f"`{clipped(title)}`: {_NO_PATH}")
        return
    children = _children(made, column.items, _Source(source.extract, "", source.steps), title)
    if not children:
        return
    made.evidence[title] = {"type": None, "why": "lists of objects", "array": True}
    if column.there == records:
        yield FieldOf(title, "", {}, f"List of objects `{clipped(title)}`", dimensions=1, fields=children)
        return
    # For a list that is null, mlcroissant has a list of one object, and null for a list of values.
    made.evidence[title]["why"] = f"lists of objects, missing or null {records - column.there} times: by member"
    for child in children:
        name, dimensions = f"{title}.{child.name}", child.dimensions + 1
        has_null = dimensions > 1 and ("nulls" in made.evidence[name] or column.items.nulls)
        if why := "lists of lists and null" if has_null else made.why_no_list(dimensions):
            made.not_described(name, why)
        else:
            yield replace(child, name=name, dimensions=dimensions)


def _leaves(column: Column, steps: str | None, above: str) -> Iterator[tuple[str, Column, str | None]]:
    for name, child in column.children.items():
        step = step_to(name)
        inside = None if steps is None or not step else f"{steps}{step}"
        path = f"{above}.{name}" if above else name
        if child.kinds.keys() == {"object"} and not child.is_too_wide:
            yield from _leaves(child, inside, path)
        else:
            yield path, child, inside


def _leaf(made: Fields, column: Column, source: _Source, title: str, name: str = "") -> Iterator[FieldOf]:
    """Yield the field of a column of values, if there is one; `name` is the one inside of an object."""
    verdict, nulls = column.verdict, column.nulls + column.absent
    array = {"array": True} if verdict.dimensions else {}
    made.evidence[title] = {
        "type": verdict.type or None,
        "why": verdict.why,
        **array,
        **({"nulls": nulls} if nulls else {}),
    }
    unknown = made.why_no_list(verdict.dimensions)
    if made.version == "1.0" and column.has_times:
        unknown = unknown or "Croissant 1.0 has no times"
    if not verdict.type or source.steps is None or unknown:
        made.not_described(title, unknown or verdict.why or "no JSON path leads to it")
        return
    steps = source.steps if source.list_steps is None else source.list_steps
    kind = "List" if verdict.dimensions else "Column" if "column" in source.extract else "Member"
    yield FieldOf(
        name or column.name,
        verdict.type,
        source.extract,
        f"{kind} `{clipped(title)}`",
        f"${steps}" if steps else None,
        dimensions=verdict.dimensions,
        item_path=None if source.list_steps is None else f"${source.steps}",
    )


def _languages(column: Column) -> set[str]:
    inside = column.children.get("language")
    found: Any = inside.values if column.name == "metadata" and inside is not None else None
    if column.name in _LANGUAGE_NAMES and column.kinds.keys() == {"text"}:
        found = column.values
    return set(found) if found and all(map(_LANGUAGE.fullmatch, found)) else set()


def _names_of(fields: Sequence[FieldOf]) -> list[str]:
    return [each.name for each in fields]


_MOST_LISTED = 200
_SPLITS = {
    "train": "cr:TrainingSplit", "training": "cr:TrainingSplit",
    "val": "cr:ValidationSplit", "valid": "cr:ValidationSplit", "validation": "cr:ValidationSplit",
    "dev": "cr:ValidationSplit",
    "test": "cr:TestSplit", "testing": "cr:TestSplit",
}  # fmt: skip
_NAMES = "|".join(_SPLITS)
# Finds the split in a path: the last one in it.
_REGEX_OF_SPLITS = rf"^(?:.*[/._-])?({_NAMES})(?:[/._-].*)?$"
_SPLIT = re.compile(_REGEX_OF_SPLITS, re.DOTALL)


def includes_of(wanted: Sequence[str], others: Collection[str], links: Collection[str]) -> list[str] | None:
    """Return patterns that match some paths, none of the others, and nothing behind links; None if there are none."""

    def may_reach_links(globs: Sequence[str]) -> bool:
        return any(
            "/" not in glob or matches(glob, link) or may_match_below(glob, link) for link in links for glob in globs
        )

    globs = patterns(wanted)
    has_all = all(any(matches(glob, path) and fnmatchcase(path, glob) for glob in globs) for path in wanted)
    has_others = any(matches(glob, path) or fnmatchcase(path, glob) for path in others for glob in globs)
    if has_all and not has_others and not may_reach_links(globs):
        return globs
    names = {path for path in wanted if "/" not in path}
    is_elsewhere = bool(names) and any(path.rpartition("/")[2] in names for path in others)
    literal = [re.sub(r"[*?[]", r"[\g<0>]", path) for path in wanted]
    if len(literal) > _MOST_LISTED or is_elsewhere or any("\\" in path for path in wanted) or may_reach_links(literal):
        return None
    return literal


def _split_in(path: str) -> str | None:
    """Return the split in a path, as it is written there."""
    match = _SPLIT.match(path)
    return match[1] if match else None


_OF_PATHS = {"fileProperty": "fullpath"}
_PATH_FIELD = FieldOf("file", "sc:Text", _OF_PATHS, "Path of the file")
_SPLIT_FIELD = FieldOf("split", "sc:Text", _OF_PATHS, "The split", regex=_REGEX_OF_SPLITS, means="cr:Split")

# Files that say what the arrays next to them are, in versions 2 and 3 of Zarr.
_OF_ZARR = frozenset({".zarray", ".zattrs", ".zgroup", ".zmetadata", "zarr.json"})
# mlcroissant 1.1.1 has these columns of its own for each file.
_OF_FILES = frozenset({"content", "filename", "filepath", "fullpath"})
# Larger sets are described without their files: readers load the whole description into memory.
_MOST_FILES = 1000
# The names of all files must fit in memory.
_MOST_HELD_BYTES = 192 * 1024 * 1024
_ENTRY_BYTES = 300
_MOST_TABLES = 500
_MOST_NOTES = 10_000
_PARTS = re.compile(r"[-_.]?(?:part|shard|chunk)?[-_.]?\d+(?:[-_.]?of[-_.]?\d+)?$", re.IGNORECASE)
_ODD_IN_NAMES = re.compile(r"[^\w-]+")
_CONTENT_TYPES = {"text": "sc:Text", "image": "sc:ImageObject", "audio": "sc:AudioObject"}
_CONTENTS = {"text": "The text of the file", "image": "The image", "audio": "The sound"}
# The formats whose contents mlcroissant 1.1.1 reads outside archives: it also reads TIFF and MP3, as other values.
_READ_OUTSIDE_ARCHIVES = frozenset({"text/plain", "image/jpeg", "image/png"})


class Group(Struct):
    """Files whose rows have the same columns: one table."""

    encoding: str
    path: str
    files: list[FileOf]
    columns: dict[str, Column]
    records: int

    def has_columns_of(self, rows: Rows) -> bool:
        """Return whether rows have the columns of this table: all, or in JSON, which may omit a name, half of them."""
        ours, theirs = self.columns.keys(), rows.columns.keys()
        if self.encoding in ("application/json", "application/jsonlines"):
            return 2 * len(ours & theirs) >= len(ours | theirs)
        return list(ours) == list(theirs)

    def add(self, file: FileOf, rows: Rows) -> None:
        for name, column in rows.columns.items():
            if name in self.columns:
                self.columns[name].merge(column)
            else:
                self.columns[name] = column
                column.lack(self.files[0].path, self.records)
        for name, column in self.columns.items():
            if name not in rows.columns:
                column.lack(file.path, rows.records)
        self.files.append(file)
        self.records += rows.records


def survey(
    folder: Entry, *, prefix: str, leave_out: Callable[[Entry], bool], version: str, beside: Iterable[str]
) -> Survey:
    """Survey the files below a folder, or one file, except for some paths, for a description of a version.

    `prefix` leads to the folder from the description; files `beside` the data will be written, and no pattern may match them.
    """
    with temporary_folder() as scratch:
        surveyor = _Surveyor(prefix, Keys(scratch), version, beside)
        surveyor.take_all(folder, leave_out)
        surveyor.make_record_sets()
        return surveyor.finish()


def _cost(entry: Entry) -> int:
    return 2 * len(entry.path) + len(entry.url) + _ENTRY_BYTES


class _Surveyor:
    """Adds files one by one, and groups those that belong together."""

    def __init__(self, prefix: str, keys: Keys, version: str, beside: Iterable[str]) -> None:
        self._prefix = prefix
        self._version = version
        self._keys = keys
        self._found = Survey()
        self._groups: list[Group] = []
        #: Files whose content is a record, by the archives that they are in, which are shards of one if their names differ
        #: in a number, and by encoding and suffix.
        self._media: defaultdict[tuple[str, str, str], list[FileOf]] = defaultdict(list)
        #: The first JSON document with one record in such archives.
        self._samples: dict[str, Seen | None] = {}
        # No pattern may match what is written next to the data.
        self._paths = [f"{prefix}{each}" for each in beside]
        self._links: list[str] = []
        self._names: Counter[str] = Counter()
        self._splits: dict[tuple[str, ...], str] = {}
        self._seen: Json = {}
        #: The tables by record set, and the files outside of archives that are values of one.
        self._tables: dict[str, Group] = {}
        self._pictures: dict[str, Sequence[str]] = {}
        self._members: defaultdict[str, list[str]] = defaultdict(list)
        self._unsaid = 0

    def take_all(self, folder: Entry, leave_out: Callable[[Entry], bool]) -> None:
        """Read the files; a first walk finds the stores of arrays, and what no pattern may match."""
        hidden = 0
        wanted = []
        arrays: Counter[str] = Counter()
        entries = walk(folder) if folder.kind == "directory" else iter([folder])
        for entry in fitting(entries, _cost, _MOST_HELD_BYTES, "files", folder.path):
            if entry.kind == "directory":
                continue
            path = self._prefix + entry.path
            self._links += [path] if entry.kind == "outside" else []
            self._paths.append(path)
            above, _, name = entry.path.rpartition("/")
            if name in _OF_ZARR:
                arrays[above] = 0
            if is_hidden(above if name in _OF_ZARR else entry.path):
                hidden += 1
            elif not leave_out(entry):
                wanted.append(entry)
        for entry in wanted:
            parents = accumulate(entry.path.split("/")[:-1], "{}/{}".format)
            store = next((parent for parent in parents if parent in arrays), None)
            if store is not None:
                arrays[store] += 1
            self._take(entry, is_part=store is not None)
        for store, parts in arrays.items():
            if parts:
                self._note(store, f"no records: a Zarr store, listed by its {plural(parts, 'file')}")
        if hidden:
            self._note("", f"{plural(hidden, 'hidden file')} left out")

    def finish(self) -> Survey:
        if self._unsaid:
            self._found.notes.append(f"{plural(self._unsaid, 'further note')} left out")
        self._found.evidence = {"files": self._seen, "recordSets": self._found.evidence, "notes": self._found.notes}
        return self._found

    def _note(self, path: str, note: str) -> None:
        if len(self._found.notes) < _MOST_NOTES:
            self._found.notes.append(f"{path}: {note}" if path else note)
        else:
            self._unsaid += 1

    def _take(self, entry: Entry, *, is_part: bool) -> None:
        if entry.is_barred:
            self._note(entry.path, f"left out: {entry.reason}")
            return
        # The path of a file may be a printable form of its name on disk.
        if not entry.is_remote and not entry.url.endswith(entry.name):
            self._note(entry.path, "left out: its name is not UTF-8")
            return
        try:
            for seen in look_at(entry, self._prefix, self._keys, is_part=is_part):
                self._put(seen)
        except PointerFile as pointer:
            # What it stands for belongs to the data, which would be described without it.
            raise pointer_as_input(pointer, entry.path) from pointer
        except OSError as error:
            self._note(entry.path, f"left out: {reason_of(error)}")

    def _put(self, seen: Seen) -> None:
        file, kind = seen.file, seen.kind
        for note in seen.notes:
            self._note(seen.title, note)
        if not file.path:
            return
        if file.container:
            self._members[file.container].append(file.path)
        if len(self._seen) < _MOST_NOTES:
            self._seen[seen.title] = {"kind": kind.name, "encodingFormat": kind.encoding, "why": kind.why}
        if file.container and [each.path for each in seen.rows] == ["$"]:
            self._put_sample(seen)
        elif seen.rows:
            self._put_rows(seen)
        elif seen.has_content:
            suffix = file.path.rpartition(".")[2] if file.container else ""
            self._media[_shards_of(file.container), kind.encoding, suffix].append(file)
        elif not seen.notes and kind.name == "other" and "about the data" not in kind.why:
            self._note(seen.title, f"no records: {kind.encoding} is not read as a table, text or medium")
        if not file.container:
            self._found.files.append(file)

    # --- tables ---

    def _put_sample(self, seen: Seen) -> None:
        """Add a JSON document in an archive: a table of its own, unless there are more of them."""
        shards = _shards_of(seen.file.container)
        for each in seen.rows[0].columns.values():
            each.close()
        first = self._samples.setdefault(shards, seen)
        if first is seen:
            return
        self._samples[shards] = None
        self._media[shards, seen.kind.encoding, ""] += [each.file for each in (first, seen) if each is not None]

    def _put_rows(self, seen: Seen) -> None:
        if seen.file.container:
            self._found.files.append(seen.file)
        if seen.title in self._seen:
            self._seen[seen.title]["records"] = sum(rows.records for rows in seen.rows)
        for number, rows in enumerate(seen.rows):
            file = replace(seen.file, number=number)
            for column in rows.columns.values():
                column.close()
            if number:
                self._found.files.append(file)
            if len(seen.rows) == 1 and (table := self._table_of(file, rows)) is not None:
                table.add(file, rows)
            elif len(self._groups) >= _MOST_TABLES:
                self._note(seen.title, f"no records: there are more than {_MOST_TABLES} tables")
                return
            else:
                self._groups.append(Group(file.encoding, rows.path, [file], rows.columns, rows.records))

    def _table_of(self, file: FileOf, rows: Rows) -> Group | None:
        """Return the table that rows belong to, by their columns and the depth of the file, if there is one."""
        for group in self._groups if not file.container else ():
            first = group.files[0]
            is_alike = (group.encoding, group.path, first.container) == (file.encoding, rows.path, "")
            if is_alike and first.path.count("/") == file.path.count("/") and group.has_columns_of(rows):
                return group
        return None

    def make_record_sets(self) -> None:
        for sample in filter(None, self._samples.values()):
            self._put_rows(sample)
        for group in self._groups:
            self._record_set(group)
        for (shards, encoding, _), files in self._media.items():
            self._contents(shards, encoding, files)
        self._found.record_sets = [self._joined(records) for records in self._found.record_sets]

    def _joined(self, records: RecordSetOf) -> RecordSetOf:
        """Return a table with the files that a column names, if there is one."""
        group = self._tables.get(records.name)
        if group is None or group.path or not _OF_FILES.isdisjoint(group.columns):
            return records
        for number, one in enumerate(records.fields):
            values = group.columns[one.name].names_of_files if one.name in group.columns else set()
            for files, paths in self._pictures.items() if values else ():
                names = [path.rpartition("/")[2] for path in paths]
                if values <= set(paths) - set(names):
                    why = "mlcroissant 1.1.1 joins by the names of files, not by their paths"
                    self._note(records.name, f"`{clipped(one.name)}` is not joined to the images: {why}")
                if not values <= set(names) or len(set(names)) < len(names):
                    continue
                title, content = clipped(one.name), _free("content", _names_of(records.fields))
                self._found.evidence[records.name]["join"] = f"each value of `{title}` is the name of a file"
                extract, what = {"fileProperty": "content"}, f"The image that `{title}` names"
                joined = [*records.fields, FieldOf(content, "sc:ImageObject", extract, what, files_of=files)]
                joined[number] = replace(one, joins=files)
                return replace(records, fields=joined)
        return records

    def _record_set(self, group: Group) -> None:
        made = fields_of(group.columns, group.path, self._version)
        paths = [file.path for file in group.files]
        title = group.files[0].path if len(paths) == 1 else f"{paths[0]} and {plural(len(paths) - 1, 'file')} like it"
        for note in made.notes:
            self._note(title, note)
        if not made.found:
            self._note(title, "no records: no column can be described")
            return
        self._found.languages |= made.languages
        if len(paths) == 1:
            self._made(group, made, title, file=group.files[0])
            return
        includes = includes_of(paths, self._others(paths), self._links)
        if includes is not None:
            self._made(group, made, title, includes=includes)
            return
        self._note(title, "one record set each: no pattern selects these files alone")
        for file in group.files:
            self._made(group, made, file.path, file=file)

    def _made(
        self, group: Group, made: Fields, title: str, *, file: FileOf | None = None, includes: Sequence[str] = ()
    ) -> None:
        """Add a record set; for one file out of several, without the facts about all of them together."""
        is_whole = len(group.files) == 1 or bool(includes)
        paths = [each.path for each in group.files]
        name = self._name(file.path if file is not None else _stem(paths))
        fields = made.found
        evidence: Json = {"files": len(paths) if includes else 1}
        evidence |= {"records": group.records} if is_whole else {}
        keys = [each for each in _names_of(fields) if is_whole and each in group.columns and group.columns[each].is_key]
        if includes:
            fields = [*fields, *self._of_path(_names_of(fields), paths, evidence)]
        evidence["key"] = f"`{keys[0]}` has a name like a key, and a value of its own in each record" if keys else None
        self._found.evidence[name] = evidence | {"fields": made.evidence}
        if is_whole:
            self._tables[name] = group
        statistics = [record_count(group.records)] if is_whole else []
        summary, encoding = f"Records of {title}", group.encoding
        records = RecordSetOf(name, summary, includes, encoding, fields, file, key=keys[:1], statistics=statistics)
        self._found.record_sets.append(records)

    def _of_path(self, taken: Sequence[str], paths: Sequence[str], evidence: Json) -> Iterator[FieldOf]:
        """Yield the fields from the paths of files: the split, and otherwise the path if it adds something."""
        if names := _splits(paths):
            evidence["split"] = f"each path names one of {', '.join(names)}"
            known = self._splits.get(tuple(names))
            if known is None:
                known = self._splits[tuple(names)] = self._name("splits")
                name = FieldOf("name", "sc:Text", {}, "Name of the split")
                fields = [name, FieldOf("url", "sc:URL", {}, "What split it is")]
                rows = [[each, _SPLITS[each]] for each in names]
                self._found.record_sets.append(
                    RecordSetOf(known, "The splits", fields=fields, data=rows, data_type="cr:Split", key=["name"])
                )
            yield replace(_SPLIT_FIELD, name=_free("split", taken), refers_to=known)
        elif len({_PARTS.sub("", path.partition(".")[0]) for path in paths}) > 1:
            yield replace(_PATH_FIELD, name=_free("file", taken))

    # --- texts, images, sounds ---

    def _contents(self, shards: str, encoding: str, files: Sequence[FileOf]) -> None:
        kind = encoding.partition("/")[0] if encoding.startswith(("image/", "audio/")) else "text"
        containers = list(dict.fromkeys(each.container for each in files if each.container))
        container = containers[0] if containers else ""
        title = f"{plural(len(files), 'file')} of {encoding}" + (
            f" in {', '.join(containers[:2])}" if containers else ""
        )
        title += f" and {plural(len(containers) - 2, 'other')}" if len(containers) > 2 else ""
        paths = sorted({each.path for each in files}) if container else [each.path for each in files]
        others = self._others(paths) if not container else self._members_but(containers, files)
        includes = includes_of(paths, others, [] if container else self._links)
        if includes is None:
            self._note(title, "no record set: no pattern selects these alone")
            return
        if encoding == "application/json":
            self._note(title, "one text each: mlcroissant 1.1.1 reads the members of JSON only outside of archives")
        is_many = len(paths) > _MOST_FILES and not container
        is_read = bool(container) or encoding in _READ_OUTSIDE_ARCHIVES
        if not is_read:
            self._note(title, "no records: mlcroissant 1.1.1 reads such files in a zip or tar only; pack them")
        if is_many:
            listed = set(paths)
            self._found.files = [each for each in self._found.files if each.container or each.path not in listed]
            self._note(title, f"not listed one by one: more than {_MOST_FILES}")
        elif not is_read:
            return
        suffix = paths[0].rpartition(".")[2]
        what = suffix if kind == "text" and suffix != "txt" else kind
        name = self._name(f"{shards}/{what}" if container else _stem(paths))
        if kind == "image" and is_read and not container:
            self._pictures[name] = paths
        self._found.record_sets.append(
            RecordSetOf(
                name,
                f"{title}, one a record",
                includes,
                encoding,
                self._of_content(name, kind, paths) if is_read else [],
                containers=containers,
                statistics=[record_count(len(files))],
            )
        )

    def _of_content(self, name: str, kind: str, paths: Sequence[str]) -> list[FieldOf]:
        """Return the fields of whole files: path, content, and the split."""
        evidence: Json = {"files": len(paths), "records": len(paths), "fields": {}}
        self._found.evidence[name] = evidence
        content = FieldOf("content", _CONTENT_TYPES[kind], {"fileProperty": "content"}, _CONTENTS[kind])
        if not (names := _splits(paths)):
            return [_PATH_FIELD, content]
        evidence["split"] = f"each path names one of {', '.join(names)}"
        # It refers to no record set: mlcroissant would have the split for the path, too.
        return [_PATH_FIELD, content, _SPLIT_FIELD]

    def _others(self, paths: Sequence[str]) -> list[str]:
        wanted = set(paths)
        return [path for path in self._paths if path not in wanted]

    def _members_but(self, containers: Sequence[str], files: Sequence[FileOf]) -> list[str]:
        wanted = {(each.container, each.path) for each in files}
        return [path for each in containers for path in self._members[each] if (each, path) not in wanted]

    def _name(self, wanted: str) -> str:
        """Return a unique name, derived from a path."""
        plain = wanted.rpartition("/")[2].partition(".")[0] if "/" in wanted or "." in wanted else wanted
        name = _ODD_IN_NAMES.sub("_", plain).strip("_") or "records"
        self._names[name] += 1
        return name if self._names[name] == 1 else self._name(f"{name}_{self._names[name]}")


def _splits(paths: Sequence[str]) -> list[str]:
    """Return the splits in paths, if each has one, and there are several."""
    found = {_split_in(path) for path in paths}
    return sorted(name for name in found if name) if None not in found and len(found) > 1 else []


def _free(name: str, taken: Sequence[str]) -> str:
    return name if name not in taken else _free(f"{name}_", taken)


def _shards_of(container: str) -> str:
    """Return the path of an archive without its number and suffix."""
    folder, slash, name = container.rpartition("/")
    return f"{folder}{slash}{_PARTS.sub('', name.partition('.')[0])}"


def _stem(paths: Sequence[str]) -> str:
    """Return the common part of the names of files, else their folder, without numbers and splits."""
    common = os.path.commonprefix([path.rpartition("/")[2] for path in paths])  # noqa: RUF071 - characters are meant
    stem = _PARTS.sub("", common.partition(".")[0]).rstrip("-_.")
    if len(stem) > 2 and _split_in(stem) is None:
        return stem
    folder = os.path.commonpath([path.rpartition("/")[0] for path in paths])
    return folder.rpartition("/")[2] or (stem if len(paths) == 1 else "records")
