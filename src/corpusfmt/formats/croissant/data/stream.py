"""Internal: The records of one record set of a description, for callers that want records instead of a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from corpusfmt.formats import CheckOptions
from corpusfmt.formats.croissant.check import Checker
from corpusfmt.formats.croissant.data.batches import Broken, NotRead
from corpusfmt.formats.croissant.data.files import names_of
from corpusfmt.formats.croissant.data.reader import name_of, reading
from corpusfmt.formats.croissant.layout import plan, syntax_of
from corpusfmt.formats.croissant.model.casts import CASTS
from corpusfmt.formats.croissant.model.graph import Description, Field, FileSet, RecordSet, Resource
from corpusfmt.formats.croissant.ruleset import RULES
from corpusfmt.formats.recordsets import Column, ColumnType, Record, RecordSource
from corpusfmt.io.paths import Entry
from corpusfmt.model import BadInput, Finding, Json, Severity, UsageError
from corpusfmt.rules import finding_of
from corpusfmt.wording import clipped, unknown


def open_records(entry: Entry, record_set: str | None, maps: Mapping[str, Entry]) -> RecordSource:
    """Return a record set of the description at a path or in the folder there.

    Raises `UsageError` for an unknown record set, and while reading, for data that cannot be read (on the web, Parquet
    without pyarrow); `BadInput` if the description is invalid.
    """
    entry = description_at(entry)
    description = understood(entry)
    refuse_strange([description], maps)
    view = named(description, record_set)
    return RecordSource(
        _name_of(view),
        [column_of(each) for each in view.fields],
        lambda names: records_of(description, entry.folder(), view, maps, names),
        *split_of(view),
    )


def records_of(
    description: Description,
    folder: Entry,
    record_set: RecordSet,
    maps: Mapping[str, Entry],
    names: Sequence[str] | None = None,
) -> Iterator[Record | Finding]:
    """Yield the records of a record set with data in `folder`, and findings about the data as they occur.

    A record that cannot be fully read gives a finding instead; a record whose join finds nothing has null for the missing
    values, and is followed by a finding. `names` selects fields. Only local files are streamed. Raises `UsageError`.
    """
    with reading(description, folder, maps) as reader:
        try:
            for each in reader.records(record_set, names):
                if isinstance(each, Record):
                    yield each
                else:
                    yield finding_of(each, RULES, description.version)
        except Broken as broken:
            yield finding_of(broken.fault, RULES, description.version)
        except NotRead as reason:
            raise UsageError(str(reason)) from None


_TYPES: dict[str, ColumnType] = {
    "sc:Boolean": "boolean",
    "sc:Integer": "integer",
    "sc:Float": "float",
    **dict.fromkeys((f"sc:{name}" for name in ("Text", "String", "Date", "DateTime", "Time", "URL")), "text"),
    **dict.fromkeys((f"cr:Float{bits}" for bits in (16, 32, 64)), "float"),
    **dict.fromkeys((f"cr:{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)), "integer"),
}


def column_of(each: Field) -> Column:
    """Return the name and type of a field as a column."""
    is_list = each.is_true("cr:repeated") or each.is_true("cr:isArray")
    aliases = tuple(name for name in (each.id, each.text("sc:name")) if name is not None)
    if each.sub_fields:
        return Column(name_of(each), "", is_list, tuple(map(column_of, each.sub_fields)), aliases)
    kind = next((kind for kind in each.data_types if kind in CASTS), "")
    return Column(name_of(each), _TYPES.get(kind, ""), is_list or kind == "cr:BoundingBox", (), aliases)


def split_of(record_set: RecordSet) -> tuple[str | None, list[str]]:
    """Return the name of the field with the split of a record, and the splits that the description lists.

    Its type is cr:Split, or it references a record set of splits.
    """
    for each in record_set.fields:
        targets = (view for reference in each.references for view in reference.target_views if isinstance(view, Field))
        listed = [
            owner.column(target).values()
            for target in targets
            if (owner := target.record_set) is not None and "cr:Split" in owner.data_types
        ]
        if listed or "cr:Split" in each.data_types:
            return name_of(each), [value for values in listed[:1] for value in values if isinstance(value, str)]
    return None, []


def description_at(entry: Entry) -> Entry:
    """Return the description at a path: the file itself, or the one in a folder. Raises `UsageError` if there is none."""
    return plan(entry, CheckOptions()).shards[0].files["description"] if entry.kind == "directory" else entry


def json_ld(entry: Entry) -> Json:
    """Return a description in RDF as JSON-LD. Raises `UsageError` for one that is, `BadInput` for what is no description."""
    if not syntax_of(entry):
        raise UsageError(f"{entry.path} is JSON-LD")
    tree: Json = understood(entry).tree
    return tree


def understood(entry: Entry) -> Description:
    """Read a description. Raises `BadInput` if it is invalid, `UsageError` for a file without one."""
    checker = Checker(entry, CheckOptions())
    checker.run()
    if not checker.descriptions:
        errors = [each for each in checker.judge.tally.findings if each.severity is Severity.ERROR]
        if not errors:
            raise UsageError(f"{entry.path} contains no Croissant description")
        raise BadInput(errors[0])
    return checker.descriptions[0]


def record_sets(description: Description) -> dict[str, RecordSet]:
    """Return the record sets of a description by their `@id`, else by name."""
    return {_name_of(view): view for view in description.views.values() if isinstance(view, RecordSet)}


def named(description: Description, name: str | None) -> RecordSet:
    """Return the record set with this `@id` or name; for None, the only one. Raises `UsageError`."""
    known = record_sets(description)
    if name is None and len(known) == 1:
        return next(iter(known.values()))
    for view in known.values():
        if name is not None and name in (view.node.written_id, view.id, view.text("sc:name")):
            return view
    listed = ", ".join(known) or "none"
    if name is None:
        raise UsageError(f"name a record set: {listed}")
    raise UsageError(unknown("record set", name, known, f"known: {listed}"))


def _name_of(view: RecordSet) -> str:
    written = view.node.written_id
    return written if isinstance(written, str) else view.text("sc:name") or view.label


# --- local copies ---


def refuse_unknown(found: Iterable[Entry], maps: Mapping[str, Entry]) -> None:
    """Raise `UsageError` for a copy of something that no description has, unless a description is invalid."""
    descriptions = []
    for entry in found:
        try:
            descriptions.append(understood(entry))
        except BadInput:
            return
    refuse_strange(descriptions, maps)


def refuse_strange(descriptions: Iterable[Description], maps: Mapping[str, Entry]) -> None:
    """Raise `UsageError` for a copy of something that no description has, or a file as the copy of a file set."""
    views = [view for each in descriptions for view in each.views.values() if isinstance(view, Resource)]
    known = {name: view for view in views for name in names_of(view)}
    for name, entry in maps.items():
        if name not in known:
            listed = ", ".join(dict.fromkeys(names_of(view)[-1] for view in views if names_of(view))) or "none"
            raise UsageError(f"--map {clipped(name)}: no such FileObject or FileSet; known: {listed}")
        if isinstance(known[name], FileSet) and entry.kind != "directory":
            raise UsageError(f"--map {clipped(name)}: `{entry.path}` is a file, expected the folder of the file set")
