"""Internal: Local copies that the user names for files of a description (--map)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from corpusfmt.formats.croissant.data.files import names_of
from corpusfmt.formats.croissant.model.graph import Description, FileSet, Resource
from corpusfmt.io.paths import Entry
from corpusfmt.model import BadInput, UsageError
from corpusfmt.wording import clipped


def refuse_unknown(found: Iterable[Entry], maps: Mapping[str, Entry]) -> None:
    """Raise `UsageError` for a copy of something that no description has, unless a description is invalid."""
    from corpusfmt.formats.croissant.data.stream import understood  # noqa: PLC0415 - a cycle of imports

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
