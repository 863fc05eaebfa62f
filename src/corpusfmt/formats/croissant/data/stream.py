"""Internal: The records of one record set of a description, for those who want them and not a verdict."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextvars import copy_context
from pathlib import Path

from corpusfmt.formats import CheckOptions, refuse_barred
from corpusfmt.formats.croissant.check import Checker
from corpusfmt.formats.croissant.data.batches import Broken, NotRead
from corpusfmt.formats.croissant.data.reader import Record, RecordReader
from corpusfmt.formats.croissant.layout import plan
from corpusfmt.formats.croissant.model.graph import Description, RecordSet
from corpusfmt.formats.croissant.ruleset import RULES
from corpusfmt.io.limits import DEFAULT_LIMITS, Limits, limited
from corpusfmt.io.paths import Entry, entry_of
from corpusfmt.model import BadInput, Finding, Severity, UsageError
from corpusfmt.rules import finding_of
from corpusfmt.wording import clipped


def records(
    path: str | Path,
    record_set: str | None = None,
    *,
    follow_links: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[Record | Finding]:
    """Yield the records of a record set (by its `@id` or name), and findings about its data where they come up.

    `path` is a Croissant description, or a folder with one; `record_set` may be left out where there is only one. A
    record that cannot be read whole gives a finding instead; one whose join finds nothing has null for what it lacks,
    and a finding after it. Only local files beside the description are read, as a stream; `follow_links` lets links lead to others.

    Raises `UsageError` for a missing path, an unknown record set, and data that cannot be read here (on the web, Parquet
    without pyarrow); `BadInput` where the description itself is not understood; `LimitReached` where `limits` end it.
    """
    entry = entry_of(str(path), follow_links=follow_links)
    refuse_barred(entry)
    # A context of its own: the bounds are no business of what the caller does between two records.
    context = copy_context()
    found = _records(entry, record_set, limits.begun())
    try:
        while (each := context.run(next, found, None)) is not None:
            yield each
    finally:
        context.run(found.close)


def _records(entry: Entry, record_set: str | None, limits: Limits) -> Generator[Record | Finding]:
    with limited(limits, interrupting=False):  # what is yielded is used in the block
        entry = description_at(entry)
        description = understood(entry)
        yield from records_of(description, entry.folder(), named(description, record_set))


def records_of(description: Description, folder: Entry, record_set: RecordSet) -> Iterator[Record | Finding]:
    """Yield the records of a record set as `records` does; the data lie in `folder`. Raises `UsageError`."""
    with RecordReader(description, folder) as reader:
        try:
            for each in reader.records(record_set):
                if isinstance(each, Record):
                    yield each
                else:
                    yield finding_of(each, RULES, description.version)
        except Broken as broken:
            yield finding_of(broken.fault, RULES, description.version)
        except NotRead as reason:
            raise UsageError(str(reason)) from None


def description_at(entry: Entry) -> Entry:
    """Return the description at a path: the file itself, or that of a folder. Raises `UsageError` where there is none."""
    return plan(entry, CheckOptions()).shards[0].files["description"] if entry.kind == "directory" else entry


def understood(entry: Entry) -> Description:
    """Read a description. Raises `BadInput` where it is not understood, `UsageError` for a file that holds none."""
    checker = Checker(entry, CheckOptions())
    checker.run()
    if not checker.descriptions:
        errors = [each for each in checker.judge.tally.findings if each.severity is Severity.ERROR]
        if not errors:
            raise UsageError(f"{entry.path} holds no Croissant description")
        raise BadInput(errors[0])
    return checker.descriptions[0]


def record_sets(description: Description) -> dict[str, RecordSet]:
    """Return the record sets of a description by their `@id`, else by name."""
    return {_name_of(view): view for view in description.views.values() if isinstance(view, RecordSet)}


def named(description: Description, name: str | None) -> RecordSet:
    """Return the record set of an `@id` or name; without one, the only one. Raises `UsageError`."""
    known = record_sets(description)
    if name is None and len(known) == 1:
        return next(iter(known.values()))
    for view in known.values():
        if name is not None and name in (view.node.written_id, view.id, view.text("sc:name")):
            return view
    listed = ", ".join(known) or "none"
    if name is None:
        raise UsageError(f"name a record set: {listed}")
    raise UsageError(f"unknown record set {clipped(name)!r}; known: {listed}")


def _name_of(view: RecordSet) -> str:
    written = view.node.written_id
    return written if isinstance(written, str) else view.text("sc:name") or view.label
