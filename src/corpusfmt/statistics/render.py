"""Internal: Output formats of statistics: text, JSON, Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from corpusfmt.model import Json, UsageError
from corpusfmt.statistics.result import Statistics
from corpusfmt.statistics.sizes import Attribute, Built, Size
from corpusfmt.wording import json_text, leading, markdown_table, plain, plural, text_table, unknown
from corpusfmt.wording import markdown as code

_MOST_ROWS = 50
_MOST_FINDINGS = 10
_SHOWN = ("0.05", "0.25", "0.5", "0.75", "0.95")

# An array of numbers in indented JSON: line feeds never occur in its strings.
_NUMBERS = re.compile(r"\[\n *[-+.\de]+(?:,\n *[-+.\de]+)*\n *\]")

#: A title, the names of columns, and rows of cells.
Table = tuple[str, Sequence[str], list[Sequence[str]]]


def text(found: Statistics) -> Iterator[str]:
    """Yield tables, then what was not counted."""
    for title, heads, rows in _tables(found, leading):
        yield from text_table([[title, *heads], *rows[:_MOST_ROWS]])
        if len(rows) > _MOST_ROWS:
            yield f"{len(rows) - _MOST_ROWS:,} more"
        yield ""
    for note in _notes(found):
        yield plain(note)
    yield plain(_summary(found))


def json_object(found: Statistics) -> Iterator[str]:
    """Yield one JSON object that conforms to `schemas/stats/stats.schema.json`."""
    yield indented(found.to_dict())


def indented(record: Json) -> str:
    """Return the JSON of statistics, with the numbers of a histogram on one line."""
    lines = msgspec.json.format(msgspec.json.encode(record), indent=2).decode()
    return json_text(_NUMBERS.sub(lambda array: re.sub(r"\n *", "", array[0]), lines))


def markdown(found: Statistics, most_rows: int | None = _MOST_ROWS) -> Iterator[str]:
    """Yield tables for the card of a corpus."""
    yield f"{_summary(found)}."
    yield ""
    for title, heads, rows in _tables(found, code):
        yield from markdown_table([title, *heads], rows, most_rows)
        yield ""
    for note in _notes(found):
        yield f"- {code(note)}"


#: Each function yields the lines of an output, without line ends.
RENDERERS: Mapping[str, Callable[[Statistics], Iterable[str]]] = {
    "text": text,
    "json": json_object,
    "markdown": markdown,
}


def renderer(name: str) -> Callable[[Statistics], Iterable[str]]:
    """Return the function for an output format. Raises `UsageError` for an unknown name."""
    if name not in RENDERERS:
        raise UsageError(unknown("output format", name, RENDERERS))
    return RENDERERS[name]


def _tables(found: Statistics, named: Callable[[str], str]) -> Iterator[Table]:
    units = ["documents", *(found.units if _has_text(found) else [])]
    by = (("language", found.by_language), ("source", found.by_source), ("variant", found.by_variant))
    for title, groups in by:
        if set(groups) <= {""} and title != "language":
            continue
        rows: list[Sequence[str]] = [
            [named(name) if name else "none", *_cells(size, units)] for name, size in groups.items()
        ]
        if len(groups) != 1:
            rows.insert(0, ["all", *_cells(found.total, units)])
        yield title, units, rows
    if found.build is not None:
        yield _built(found.build, named)
    if _has_text(found):
        yield _lengths(found)
    counts = (
        ("script", "letters", found.scripts or {}),
        *((name, "documents", getattr(found, name)) for name in ("created", "added", "snapshots")),
    )
    for title, head, numbers in counts:
        if numbers:
            yield title, [head], [[named(name), f"{count:,}"] for name, count in numbers.items()]
    if found.domains is not None and found.domains.most:
        yield (
            "domain",
            ["documents", "bytes"],
            [[named(name), f"{documents:,}", f"{size:,}"] for name, documents, size in found.domains.most],
        )
    if found.attributes:
        heads = ["documents", "spans", "min", "50%", "max", "mean"]
        yield "attribute", heads, [[named(name), *_attribute(each)] for name, each in found.attributes.items()]
    if found.repeated_lines is not None and found.repeated_documents is not None:
        both = (("documents", found.repeated_documents), ("lines", found.repeated_lines))
        heads = ["compared", "repeated", "share"]
        yield "repeats", heads, [[name, f"{e.compared:,}", f"{e.repeated:,}", f"{e.share:.2%}"] for name, e in both]
        if found.repeated_lines.most:
            yield "most repeated lines", ["times"], [[named(line), f"{n:,}"] for line, n in found.repeated_lines.most]


def _has_text(found: Statistics) -> bool:
    """Return whether sizes say something: not those of rows of a table."""
    return found.total.bytes > 0 or not found.total.documents


def _built(built: Built, named: Callable[[str], str]) -> Table:
    units = ("documents", "lines", "bytes")
    largest = sorted(built.languages.items(), key=lambda each: (-each[1].final.bytes, each[0]))
    rows: list[Sequence[str]] = [
        [name, *(f"{getattr(of, unit):,}" for unit in units for of in (each.original, each.final))]
        for name, each in [("all", built.total), *((named(name), each) for name, each in largest)]
    ]
    return "built", [f"{unit}, {of}" for unit in units for of in ("original", "final")], rows


def _attribute(attribute: Attribute) -> list[str]:
    values = attribute.values
    numbers = (
        [values.least, values.quantiles()["0.5"], values.most, values.total / values.number] if values.number else []
    )
    cells = [f"{attribute.documents:,}", f"{attribute.spans:,}", *(f"{number:.4g}" for number in numbers)]
    return cells + [""] * (6 - len(cells))


def _cells(size: Size, units: Sequence[str]) -> list[str]:
    return [f"{getattr(size, unit):,}" for unit in units]


def _lengths(found: Statistics) -> Table:
    rows: list[Sequence[str]] = []
    sketches = {name: found.lengths[name] for name in found.units} | {"language score": found.language_scores}
    for name, sketch in sketches.items():
        if sketch.number:
            digits = ".3f" if name == "language score" else ",.0f"
            quantiles = sketch.quantiles()
            numbers = [sketch.least, *(quantiles[each] for each in _SHOWN), sketch.most, sketch.total / sketch.number]
            rows.append([name, *(format(number, digits) for number in numbers)])
    return "of a document", ["min", *(f"{float(each):.0%}" for each in _SHOWN), "max", "mean"], rows


def _notes(found: Statistics) -> Iterator[str]:
    for each in found.broken:
        yield f"{each.location}: {each.code} {each.message}; what follows is not counted"
    if found.rejected:
        first = found.findings[:_MOST_FINDINGS]
        listed = sum(each.problem.count for each in first)
        yield f"{plural(found.rejected, 'record')} not counted{', the first ones' if found.rejected > listed else ''}:"
        for each in first:
            times = f", {plural(each.problem.count, 'time')}" if each.problem.count > 1 else ""
            yield f"{each.location}: {each.code} {each.message}{times}"
    if found.domains is not None:
        yield f"{plural(found.domains.distinct, 'domain')}, {plural(found.domains.without, 'document')} without one"
    for what, count in found.left_out.items():
        yield f"not counted: {what}, {plural(count, 'time')}"
    if found.unread:
        yield f"{plural(len(found.unread), 'file')} next to the data not counted"


def _summary(found: Statistics) -> str:
    whole = (
        f"{plural(found.shards, 'shard')}"
        if found.is_complete
        else f"{found.whole_shards:,} of {found.shards:,} shards whole"
    )
    kind = f"{found.format} {found.version}".rstrip()
    # A build counts the folder that it writes into.
    where = "" if found.path == "." else f"{found.path}: "
    size = f", {plural(found.total.bytes, 'byte')} of" if _has_text(found) else " without"
    return f"{where}{kind}, {plural(found.total.documents, 'document')}{size} text, {whole}"
