"""Internal: Manifests: their lines, columns or JSON values name the files of a set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from corpusfmt.formats.croissant.data.batches import Batch, Broken, Lacking, NoColumn, NotRead
from corpusfmt.formats.croissant.data.files import (
    Listed,
    Opened,
    claims_archive,
    inside_another,
    members_of,
    split_codec,
)
from corpusfmt.formats.croissant.data.findings import DATA_COLUMN_MISSING, DATA_TRANSFORM_FAILED
from corpusfmt.formats.croissant.data.leaves import steps_of, taken_from
from corpusfmt.formats.croissant.data.patterns import PatternFault, Patterns
from corpusfmt.formats.croissant.data.rows import batches
from corpusfmt.formats.croissant.model.casts import to_text
from corpusfmt.formats.croissant.model.graph import DataSource, Resource
from corpusfmt.formats.general import bad_text
from corpusfmt.model import Fault, Location, Problem

_GZIP = ("application/gzip", "application/x-gzip")


def names_in(source: DataSource, target: Resource, opened: Opened, patterns: Patterns) -> Iterator[Listed]:
    """Yield the names in one file, as extracted by a source; an empty line is not a name.

    `patterns` runs the regular expressions of transforms. Raises `NotRead` and `Broken` like reading records.
    """
    take, _ = taken_from(source, source)
    steps = steps_of(source)
    for file in _unpacked(target, opened):
        try:
            for batch in batches(target, file, [take]):
                for trouble in batch.faults:
                    raise Broken(_fault_of(source, trouble))
                column: Sequence[Any] = batch.columns[take]
                for step in steps:
                    column, wrong = step(column, patterns)
                    for row, reason in wrong.items():
                        raise Broken(_failed(source, str(reason), batch.at(row)))
                yield from _texts(column, batch)
        except Lacking as lacks:
            raise Broken(_fault_of(source, lacks.faults[0])) from lacks
        except PatternFault as fault:
            raise Broken(_failed(source, str(fault), source.at)) from fault


def _unpacked(target: Resource, opened: Opened) -> Iterator[Opened]:
    """Yield a manifest, or the manifests in an archive: `unArchive` is the default for archives."""
    if claims_archive(target, opened.name):
        if opened.entry is None:
            raise NotRead(inside_another(target))
        try:
            for member in members_of(target, opened.entry):
                yield Opened(f"{opened.path}/{member.path}", member.path, member.chunks)
        except Broken as broken:
            if not broken.fault.problem.minor:
                raise
    elif split_codec(opened.name)[1] == "plain" and any(each.lower() in _GZIP for each in target.formats):
        yield Opened(opened.path, f"{opened.full_path}.gz", opened.chunks)
    else:
        yield opened


def _texts(column: Sequence[Any], batch: Batch) -> Iterator[Listed]:
    for row, value in enumerate(column):
        for each in value if isinstance(value, list) else [value]:
            try:
                name = "" if each is None else to_text(each).strip()
            except ValueError as error:
                raise Broken(bad_text(batch.at(row), str(error))) from error
            if name:
                yield Listed(name.removeprefix("./"), batch.at(row))


def _fault_of(source: DataSource, trouble: Fault | NoColumn) -> Fault:
    if not isinstance(trouble, NoColumn):
        return trouble
    message = f"{source.title}: `{trouble.take.name}` selects nothing in `{trouble.at.path}`"
    return Fault(DATA_COLUMN_MISSING, Problem(message, source.at, trouble.hint))


def _failed(source: DataSource, reason: str, at: Location) -> Fault:
    return Fault(
        DATA_TRANSFORM_FAILED, Problem(f"{source.title}: {reason}", at, "correct the transform, or the manifest")
    )
