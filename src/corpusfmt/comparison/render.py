"""Internal: Output formats of a comparison: text, JSON, a changelog in Markdown, an HTML page with tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from corpusfmt.comparison.result import KINDS, ComparedRelease, Comparison, Counts, come, gone
from corpusfmt.model import UsageError
from corpusfmt.page import Column, document, table
from corpusfmt.wording import (
    json_text,
    leading,
    markdown_table,
    marked_up,
    markup,
    plain,
    plural,
    text_table,
    unknown,
)
from corpusfmt.wording import markdown as code

#: The maximum number of languages, sources or shards in text.
_MOST_GROUPS = 50
_MOST_ROWS = 1_000
_TITLES = {kind: kind.replace("-", " ") for kind in (*KINDS, "same")}


def text(comparison: Comparison) -> Iterator[str]:
    """Yield the documents that differ, the languages, sources and fields that do, and counts."""
    for each in comparison.differences:
        before = f", was {each.old}" if each.old and each.new and each.old != each.new else ""
        what = f"{_TITLES[each.kind]}: `{each.id}`{before}"
        yield f"{leading(each.new or each.old or '')}: {plain(what)}"
    if comparison.differences:
        yield ""
    if changed := list(_changed(comparison)):
        yield from map(plain, changed)
        yield ""
    for title, groups in _tables(comparison):
        rows = _differing(groups)
        if rows:
            yield title
            kinds = _kinds(rows[:_MOST_GROUPS])
            cells = [["", "old", "new", *(_TITLES[kind] for kind in kinds)], *_cells(rows[:_MOST_GROUPS], kinds, plain)]
            yield from (f"  {line}" for line in text_table(cells))
            if len(rows) > _MOST_GROUPS:
                yield f"  {len(rows) - _MOST_GROUPS:,} more"
            yield ""
    for name, side in (("old", comparison.old), ("new", comparison.new)):
        yield plain(f"{name}: {_side(side)}")
    for note in _notes(comparison):
        yield plain(note)
    yield _counted(comparison.documents)


def json_object(comparison: Comparison) -> Iterator[str]:
    """Yield one JSON object that conforms to `schemas/compare/compare.schema.json`."""
    yield json_text(json.dumps(comparison.as_json(), ensure_ascii=False, indent=2))


def markdown(comparison: Comparison) -> Iterator[str]:
    """Yield a changelog: additions, removals and changes, and tables by language and by source."""
    yield "## Changes"
    yield ""
    yield f"{_counted(comparison.documents)}."
    yield ""
    listed = [*_changed(comparison, code), *map(code, _notes(comparison))]
    if listed:
        yield from (f"- {line}" for line in listed)
        yield ""
    for title, groups in _tables(comparison)[:2]:
        rows = _differing(groups)
        if rows:
            heads = [title, "old", "new", *(_TITLES[kind] for kind in KINDS)]
            yield from markdown_table(heads, _cells(rows, KINDS, code), _MOST_GROUPS)
            yield ""
    if comparison.differences:
        yield "| kind | document | old | new |"
        yield "|---|---|---|---|"
        for each in comparison.differences:
            places = (code(place) if place else "" for place in (each.old, each.new))
            yield f"| {_TITLES[each.kind]} | {code(each.id)} | {' | '.join(places)} |"


def html(comparison: Comparison) -> Iterator[str]:
    """Yield one self-contained page."""
    title = f"{comparison.old.path} → {comparison.new.path}: comparison"
    yield from document(title, _body(comparison))


def _body(comparison: Comparison) -> Iterator[str]:
    yield f"<h1>{markup(_counted(comparison.documents))}</h1>"
    for name, side in (("old", comparison.old), ("new", comparison.new)):
        yield f"<p>{name}: {markup(_side(side))}</p>"
    lines = [*_changed(comparison), *_notes(comparison)]
    if lines:
        items = "".join(f"<li>{marked_up(line)}</li>" for line in lines)
        yield f"<ul>{items}</ul>"
    for title, groups in _tables(comparison):
        rows = _differing(groups)
        if rows:
            kinds = _kinds(rows)
            numbers = ("old", "new", "difference", *(_TITLES[kind] for kind in kinds))
            yield f"<h2>Documents {title}</h2>"
            heads = [Column(title.removeprefix("by ")), *(Column(each, "n") for each in numbers)]
            cells = []
            for name, counts in rows[:_MOST_ROWS]:
                kept = (f"{getattr(counts, KINDS[kind]):,}" for kind in kinds)
                difference = f"{counts.new - counts.old:+,}"
                cells.append([markup(name or "none"), f"{counts.old:,}", f"{counts.new:,}", difference, *kept])
            yield from table(f"Documents {title}", heads, cells)
            if len(rows) > _MOST_ROWS:
                yield f"<p>{len(rows) - _MOST_ROWS:,} more</p>"
    if comparison.differences:
        yield "<h2>Documents that differ</h2>"
        heads = [Column(each) for each in ("document", "difference", "old", "new")]
        cells = [
            [f"<code>{markup(each.id)}</code>", _TITLES[each.kind], markup(each.old or ""), markup(each.new or "")]
            for each in comparison.differences
        ]
        yield from table("Documents that differ", heads, cells)


#: Each function yields the lines of an output, without line ends.
RENDERERS: Mapping[str, Callable[[Comparison], Iterable[str]]] = {
    "text": text,
    "json": json_object,
    "markdown": markdown,
    "html": html,
}


def renderer(name: str) -> Callable[[Comparison], Iterable[str]]:
    """Return the function for an output format. Raises `UsageError` for an unknown name."""
    if name not in RENDERERS:
        raise UsageError(unknown("output format", name, RENDERERS))
    return RENDERERS[name]


def _tables(comparison: Comparison) -> list[tuple[str, Mapping[str, Counts]]]:
    by = (("language", comparison.by_language), ("source", comparison.by_source), ("shard", comparison.by_shard))
    return [(f"by {name}", groups) for name, groups in by]


def _differing(groups: Mapping[str, Counts]) -> list[tuple[str, Counts]]:
    """Return the groups that differ, the ones with the most differences first."""
    rows = [(name, counts) for name, counts in groups.items() if counts.differ]
    return sorted(rows, key=lambda each: (each[1].same - each[1].new - each[1].removed, each[0]))


def _kinds(rows: Sequence[tuple[str, Counts]]) -> list[str]:
    """Return the kinds of differences that occur in rows."""
    return [kind for kind, name in KINDS.items() if any(getattr(counts, name) for _, counts in rows)]


def _cells(
    rows: Sequence[tuple[str, Counts]], kinds: Iterable[str], named: Callable[[str], str]
) -> list[Sequence[str]]:
    """Return rows as their names and numbers, those of some kinds of differences."""
    columns = ["old", "new", *(KINDS[kind] for kind in kinds)]
    return [[named(name or "none"), *(f"{getattr(counts, column):,}" for column in columns)] for name, counts in rows]


def _side(release: ComparedRelease) -> str:
    kind = f"{release.format} {release.version}".rstrip()
    return f"{release.path}: {kind}, {plural(release.documents, 'document')} in {plural(release.shards, 'shard')}"


# Kinds that are included in others.
_PART_OF = {"changed-text": "reassigned", "moved": "renamed"}


def _counted(documents: Counts) -> str:
    found = documents.found
    parts = []
    for kind, name in KINDS.items():
        if name in found and kind not in _PART_OF.values():
            part = _PART_OF.get(kind, "")
            among = f" ({found[part]:,} {part})" if part in found else ""
            parts.append(f"{found[name]:,} {_TITLES[kind]}{among}")
    same = f"{documents.same:,} the same"
    return ", ".join([*parts, same])


def _changed(comparison: Comparison, named: Callable[[str], str] = lambda text: f"`{text}`") -> Iterator[str]:
    """Yield the languages and sources that are gone or new, and the fields that differ."""
    for what, groups in (("language", comparison.by_language), ("source", comparison.by_source)):
        for verb, names in (("removed", gone(groups)), ("added", come(groups))):
            if names:
                more = f" and {len(names) - _MOST_GROUPS:,} more" if len(names) > _MOST_GROUPS else ""
                shown = ", ".join(named(name or "none") for name in names[:_MOST_GROUPS])
                yield f"{what}s {verb}: {shown}{more}"
    for each in comparison.fields:
        if each.old is None:
            yield f"field {named(each.name)} is new: {named(each.new or '')}"
        elif each.new is None:
            yield f"field {named(each.name)} is gone, was {named(each.old)}"
        else:
            yield f"field {named(each.name)}: {named(each.old)} → {named(each.new)}"


def _notes(comparison: Comparison) -> list[str]:
    notes = list(comparison.notes)
    for name, side in (("old", comparison.old), ("new", comparison.new)):
        if side.rejected:
            notes.append(f"{name}: {plural(side.rejected, 'record')} not compared")
            notes += [f"{name}: {each.location}: {each.code} {each.message}" for each in side.findings]
        notes += [f"{name}: {path} was not read to its end; how much of it is missing is unknown" for path in side.cut]
        if side.unread:
            notes.append(f"{name}: {plural(side.unread, 'file')} next to the data not compared")
        notes += [f"{name}: not compared: {what}, {plural(count, 'time')}" for what, count in side.left_out.items()]
    if not comparison.same_shards:
        notes.append("the releases have different shards: moves between them were not compared")
    return notes
