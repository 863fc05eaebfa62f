"""Internal: The path of a field's values: source, extraction, transformations, type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from corpusfmt.formats.croissant.data.batches import NotRead, Take
from corpusfmt.formats.croissant.data.patterns import Patterns
from corpusfmt.formats.croissant.model.arrays import ANY_LIST, ArrayShape
from corpusfmt.formats.croissant.model.casts import (
    CASTS,
    DATES,
    NUMBERS,
    Cast,
    Reason,
    cast_all,
    date_in,
    date_pattern,
    grouped,
    json_value,
    shaped,
    to_text,
    unchanged,
)
from corpusfmt.formats.croissant.model.graph import DataSource, Field, RecordSet, Resource, Transform, View
from corpusfmt.formats.croissant.model.values import compiled
from corpusfmt.formats.croissant.model.wording import clip
from corpusfmt.io.text import JsonFault, NumberFault

_FILE_PROPERTIES = ("content", "filename", "filepath", "fullpath", "lines", "lineNumbers")
#: The order in one transform object, where the specification defines none (CRO417).
_ORDER = ("cr:jsonQuery", "cr:jsonPath", "cr:regex", "cr:replace", "cr:separator", "cr:delimiter")

#: The values of a column, and the faults of some of them by index.
Column = tuple[list[Any], dict[int, Reason]]
Step = Callable[[Sequence[Any], Patterns], Column]


class Leaf(Struct, eq=False):
    """A field with values: `take` is read from `origin`, transformed by `steps`, and cast to the type."""

    field: Field
    origin: Resource | RecordSet
    take: Take
    steps: tuple[Step, ...] = ()
    type: str = ""
    cast: Cast = unchanged
    repeated: bool = False
    #: Whether its lists are split from text, which gives arrays of several dimensions as one list.
    splits: bool = False
    #: The shape of its lists, None for any.
    shape: ArrayShape | None = None
    #: The extraction in the description.
    view: View | None = None

    @property
    def is_plain(self) -> bool:
        """Whether values are only cast."""
        return not self.steps and not self.repeated

    def values(self, column: Sequence[Any], patterns: Patterns) -> Column:
        """Return the values of this field for a column of the source. Raises `PatternFault`."""
        faults: dict[int, Reason] = {}
        for step in self.steps:
            column, wrong = step(column, patterns)
            faults |= wrong
        found, wrong = cast_all(self.cast, column, repeated=self.repeated, shape=self.shape, may_be_flat=self.splits)
        return found, wrong | faults


def pointer_of(each: Field) -> str:
    """Return the identity of a field in a description, with or without an id."""
    return each.node.pointer


def of_field(each: Field) -> Leaf:
    """Return the leaf whose source is another field, with that field's values."""
    owner = each.record_set
    if owner is None:
        raise NotRead(f"{each.title}: the field is not in a record set")
    return Leaf(each, owner, Take("field", pointer_of(each)))


def takes_of(leaves: Iterable[Leaf]) -> list[Take]:
    """Return the takes of leaves without duplicates, in an order that is the same in every process."""
    return sorted({leaf.take for leaf in leaves})


def leaf_of(each: Field) -> Leaf:
    """Return the leaf of a field. Raises `NotRead` if its description is incomplete."""
    source = source_of(each)
    if source is None:
        raise NotRead(f"{each.title}: `source` is missing")
    leaf = leaf_from(each, source)
    kinds = [kind for kind in each.data_types if kind in CASTS]
    if kinds:
        leaf.type = kinds[0]
        leaf.cast = _cast(each, source, kinds[0])
    leaf.splits = any(each.all("cr:separator") or each.all("cr:delimiter") for each in source.transforms)
    leaf.repeated = each.is_array or leaf.splits
    leaf.shape = each.array_shape
    if leaf.steps and (each.is_array or _is_of_items(each)):
        leaf.steps = steps_of(source, by_item=True)
    if leaf.steps and _is_of_items(each):
        if each.is_array:
            shape = leaf.shape or ANY_LIST
            leaf.cast, leaf.shape = partial(shaped, shape, leaf.cast, may_be_flat=leaf.splits), None
        leaf.repeated = True
        return leaf
    if leaf.repeated and leaf.take.kind == "jsonPath":
        leaf.take = Take("jsonPaths", leaf.take.name)
    return leaf


def _is_of_items(each: Field) -> bool:
    """Return whether a field is a member of the objects in a list."""
    return isinstance(each.parent, Field) and not each.is_annotation and each.parent.is_array


def source_of(each: Field) -> DataSource | None:
    """Return the source of a field, else a reference in the form of a source, as published descriptions have it."""
    if each.sources:
        return each.sources[0]
    return next((reference for reference in each.references if reference.extracts), None)


def leaf_from(each: Field, source: DataSource) -> Leaf:
    """Return the leaf of a source or reference, untyped."""
    target = next(iter(source.target_views), None)
    steps = steps_of(source)
    if isinstance(target, Field):
        leaf = of_field(target)
        return Leaf(each, leaf.origin, leaf.take, steps)
    if not isinstance(target, Resource):
        raise NotRead(f"{each.title}: the source is not a file, file set or field")
    take, view = taken_from(each, source)
    return Leaf(each, target, take, steps, view=view)


def steps_of(source: DataSource, *, by_item: bool = False) -> tuple[Step, ...]:
    """Return the transformations of a source, in order; `by_item`: a name in a JSON path is that of each item of a list."""
    return tuple(
        _STEPS[name](transform, text) if name in _STEPS else _query(transform, text, by_item)
        for transform in source.transforms
        for name in _ORDER
        if (text := transform.text(name)) is not None
    )


def taken_from(each: View, source: DataSource) -> tuple[Take, View | None]:
    """Return the take of a source, and the view of its extraction; without one, the content or lines of files."""
    content = "lines" if source.reads_lines else "content"
    for extract in source.extracts:
        for kind in ("column", "jsonPath", "fileProperty"):
            name = extract.text(f"cr:{kind}")
            if name is None:
                continue
            if kind == "jsonPath":
                _path(each, name)
            if kind == "fileProperty" and name not in _FILE_PROPERTIES:
                raise NotRead(f"{each.title}: unknown file property `{clip(name)}`")
            return Take(kind, content if (kind, name) == ("fileProperty", "content") else name), extract
    return Take("fileProperty", content), None


def _path(view: View, text: str) -> list[Any]:
    from corpusfmt.formats.croissant.model.jsonpath import PathFault, parse_path  # noqa: PLC0415 - few descriptions have one

    try:
        return parse_path(text)
    except PathFault as fault:
        raise NotRead(f"{view.title}: `{clip(text)}` is not a JSON path: {fault}") from None


def _cast(each: Field, source: DataSource, kind: str) -> Cast:
    written = next((text for view in (source, *source.transforms) if (text := view.text("cr:format"))), None)
    if written is not None and kind in DATES:
        pattern = date_pattern(written)
        if pattern is None:
            raise NotRead(f"{each.title}: the date format `{clip(written)}` is not supported")
        return date_in(pattern)
    if written is not None and "," in written and kind in NUMBERS:
        return grouped(CASTS[kind])
    return CASTS[kind]


# --- transformations ---


def _on_texts(change: Callable[[list[str], Patterns], Sequence[Any]], pattern: str = "") -> Step:
    """Return a step that changes the texts of a column; where it gives None, the text does not match `pattern`."""

    def step(column: Sequence[Any], patterns: Patterns) -> Column:
        texts: dict[int, str] = {}
        faults: dict[int, Reason] = {}
        for index, value in enumerate(column):
            if value is not None:
                try:
                    texts[index] = to_text(value)
                except ValueError as error:
                    faults[index] = str(error)
        found: list[Any] = [None] * len(column)
        for (index, text), value in zip(texts.items(), change(list(texts.values()), patterns), strict=True):
            found[index] = value
            if value is None:
                faults[index] = f"`{clip(text)}` does not match `{clip(pattern)}`"
        return found, faults

    return step


def _regex(transform: Transform, text: str) -> Step:
    pattern = _pattern(transform, text)
    return _on_texts(lambda texts, patterns: patterns.first_groups(pattern, texts), pattern)


def _replace(transform: Transform, text: str) -> Step:
    pattern, slash, replacement = text.partition("/")
    if not slash:
        raise NotRead(f"{transform.title}: `replace` is `{clip(text)}`, expected a pattern, a slash and a replacement")
    pattern = _pattern(transform, pattern)
    return _on_texts(lambda texts, patterns: patterns.replaced(pattern, replacement, texts))


def _split(_transform: Transform, separator: str) -> Step:
    return _on_texts(lambda texts, _: [text.split(separator) if separator else list(text) for text in texts])


def _query(transform: Transform, text: str, by_item: bool) -> Step:
    from corpusfmt.formats.croissant.model.jsonpath import select  # noqa: PLC0415 - few descriptions have one

    steps = _path(transform, text)
    by_item = by_item and bool(steps) and isinstance(steps[0].value, str)

    def selected(tree: Any) -> Any:
        if by_item and isinstance(tree, list):
            return list(map(selected, tree))
        values = select(tree, steps)
        if values is None:
            raise NotRead(f"{transform.title}: the JSON path `{clip(text)}` is not supported")
        return values[0] if len(values) == 1 else values or None

    def step(column: Sequence[Any], _patterns: Patterns) -> Column:
        found: list[Any] = []
        faults: dict[int, Reason] = {}
        for index, value in enumerate(column):
            try:
                tree = json_value(value) if isinstance(value, str | bytes) else value
            except NumberFault as fault:
                faults[index] = fault.with_traceback(None)
                tree = None
            except (JsonFault, UnicodeDecodeError) as error:
                faults[index] = f"`{clip(str(value))}` is not JSON: {error}"
                tree = None
            found.append(selected(tree))
        return found, faults

    return step


_STEPS: dict[str, Callable[[Transform, str], Step]] = {
    "cr:regex": _regex,
    "cr:replace": _replace,
    "cr:separator": _split,
    "cr:delimiter": _split,
}


def _pattern(transform: Transform, text: str) -> str:
    expression = compiled(text)
    if isinstance(expression, str):
        raise NotRead(f"{transform.title}: `{clip(text)}` is not a regular expression: {expression}")
    return expression.pattern
