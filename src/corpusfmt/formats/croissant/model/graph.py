"""Internal: A description as the specification speaks of it: data sets, files, record sets, fields, and what refers
to what.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from msgspec import Struct

from corpusfmt.formats.croissant.model.expand import Expansion
from corpusfmt.formats.croissant.model.jsontree import Places
from corpusfmt.formats.croissant.model.nodes import Literal, Node, Value, local_name, short
from corpusfmt.formats.croissant.model.shapes import (
    CROISSANT_PROPERTIES,
    DATA_SOURCE,
    DATASET,
    EXTRACT,
    FIELD,
    FILE_OBJECT,
    FILE_SET,
    LATER_TERMS,
    RECORD_SET,
    TRANSFORM,
    UNMAPPED_BY_APPENDIX,
    Shape,
)
from corpusfmt.formats.croissant.model.vocabulary import NearMisses, is_schema_property
from corpusfmt.io.text import escaped
from corpusfmt.model import Location

#: The properties of a DataSource that name where data comes from, and what each may name.
SOURCE_PROPERTIES = {
    "cr:fileObject": ("cr:FileObject",),
    "cr:fileSet": ("cr:FileSet",),
    "cr:recordSet": ("cr:RecordSet",),
    "cr:field": ("cr:Field",),
}


# What a property of Croissant becomes under a context that has only `@vocab` for it.
_FALLEN = {name: f"sc:{local_name(name)}" for name in CROISSANT_PROPERTIES}
# What may be such a loss; those that Appendix 1 itself leaves out are read as they are.
_LOST = {f"sc:{name[3:]}": name for name in CROISSANT_PROPERTIES if name[3:] not in UNMAPPED_BY_APPENDIX}
_LOST["sc:conformsTo"] = "dct:conformsTo"
_LATER = {name: term for term in LATER_TERMS for name in (term, f"sc:{local_name(term)}")}
_NONE: list[Value] = []


@dataclass(eq=False)
class View:
    """A node in its role. Croissant terms that fell into schema.org are read as what they were meant to be."""

    node: Node
    description: Description
    parent: View | None = None
    shape: Shape = field(default=DATASET, repr=False)

    def all(self, name: str) -> list[Value]:
        """Return the values of a property, references resolved where the document has their node."""
        values = self.node.values
        return values.get(name) or values.get(_FALLEN.get(name, ""), _NONE)

    def fallen(self, name: str) -> str | None:
        """Return the name under which @vocab hides a Croissant property of this node that the context forgot."""
        fallen = _FALLEN.get(name)
        return fallen if fallen in self.node.values else None

    def lacks(self, name: str) -> bool:
        """Tell whether a property is absent, and no other rule tells why."""
        return not self.all(name) and local_name(name) not in self.node.dropped

    def text(self, name: str) -> str | None:
        """Return the first value of a property that is a string."""
        return next((v.value for v in self.all(name) if isinstance(v, Literal) and isinstance(v.value, str)), None)

    def texts(self, name: str) -> Iterator[Literal]:
        """Yield the values of a property that are strings."""
        return (v for v in self.all(name) if isinstance(v, Literal) and isinstance(v.value, str))

    def is_true(self, name: str) -> bool:
        """Tell whether a boolean property is true."""
        return any(isinstance(v, Literal) and v.value is True for v in self.all(name))

    @property
    def at(self) -> Location:
        return self.description.places.of(self.node.pointer)

    def place(self, name: str) -> Location:
        """Return where a property stands; where it does not, the node."""
        key = self.node.keys.get(name) or self.node.keys.get(self.fallen(name) or "")
        pointer = self.node.pointer
        return self.description.places.of(f"{pointer}/{escaped(key)}" if key else pointer)

    def place_of(self, value: Value) -> Location:
        """Return where a value stands."""
        return self.description.places.of(value.pointer)

    def key(self, name: str) -> str:
        """Return a property as the author wrote it, or as the specification does."""
        return self.node.keys.get(name) or self.node.keys.get(self.fallen(name) or "") or local_name(name)

    @property
    def id(self) -> str | None:
        return self.node.id

    @property
    def label(self) -> str:
        """This node alone: `field "ratings/user_id"`."""
        role = self.node.role or "dataset"
        name = self.node.written_id if isinstance(self.node.written_id, str) else self.text("sc:name")
        if name is not None:
            return f'{role} "{name}"'
        index = self.node.pointer.rpartition("/")[2]
        return f"{role}[{index}]" if index.isdigit() else role

    @property
    def title(self) -> str:
        """This node as a reader finds it: `recordSet "ratings" › field "ratings/user_id"`."""
        titles = [self.label]
        above = self.parent
        while above is not None and not isinstance(above, Dataset):
            titles.append(above.label)
            above = above.parent
        return " › ".join(reversed(titles))

    @property
    def root(self) -> View:
        """The data set, file or record set that this belongs to."""
        above: View = self
        while above.parent is not None and not isinstance(above.parent, Dataset):
            above = above.parent
        return above

    @cached_property
    def data_types(self) -> list[str]:
        """The data types, as short names, whether the context made them IRIs or left them strings."""
        found = []
        for value in self.all("cr:dataType"):
            name = value.id if isinstance(value, Node) else value.value
            if isinstance(name, str):
                found.append(short(name))
        return found


class Dataset(View):
    """The data set."""


class Element(View):
    """A node that others name: a FileObject, FileSet, RecordSet or Field."""


class Resource(Element):
    """A FileObject or FileSet."""

    @property
    def containers(self) -> list[Value]:
        return self.all("cr:containedIn")

    @property
    def formats(self) -> list[str]:
        return [literal.value for literal in self.texts("sc:encodingFormat")]


class FileObject(Resource):
    """One file."""


class FileSet(Resource):
    """Files of one kind inside a container."""


def identity_of(value: Any) -> str:
    """Return what is equal for equal JSON values."""
    return json.dumps(value, sort_keys=True)


@dataclass(eq=False)
class RecordSet(Element):
    """A record set; `fields` are its own, nested ones are below them."""

    fields: list[Field] = field(default_factory=list)
    _columns: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    _values: dict[Field, frozenset[str]] = field(default_factory=dict)

    @property
    def every_field(self) -> Iterator[Field]:
        """Yield the fields, nested ones after the one they are in."""
        pending = list(reversed(self.fields))
        while pending:
            each = pending.pop()
            yield each
            pending.extend(reversed(each.sub_fields))

    @cached_property
    def rows(self) -> list[tuple[str, Any]] | None:
        """The inline records with their JSON pointers; None where there is no `data` that is JSON."""
        return self.inline("cr:data")

    def columns(self, name: str) -> dict[str, dict[str, Any]]:
        """Return what `data` or `examples` have under each key, by the JSON pointer of the record."""
        if name not in self._columns:
            found = self._columns[name] = {}
            for pointer, row in self.inline(name) or ():
                for key, value in row.items() if isinstance(row, dict) else ():
                    found.setdefault(key, {})[pointer] = value
        return self._columns[name]

    def column(self, each: Field, name: str = "cr:data") -> dict[str, Any]:
        """Return what `data` or `examples` have for a field, under its id as written or else as expanded."""
        ids = dict.fromkeys(id_ for id_ in (each.id, each.node.written_id) if isinstance(id_, str))
        first, *others = [self.columns(name).get(id_, {}) for id_ in ids] or [{}]
        return first | others[0] if others else first

    def values_of(self, each: Field) -> frozenset[str]:
        """Return the identities of what the inline records have for a field."""
        if each not in self._values:
            self._values[each] = frozenset(map(identity_of, self.column(each).values()))
        return self._values[each]

    def inline(self, name: str) -> list[tuple[str, Any]] | None:
        """Return what `data` or `examples` hold: a single object counts as a list of one."""
        literals = [v for v in self.all(name) if isinstance(v, Literal) and v.type == "@json"]
        if not literals:
            return None
        rows: list[tuple[str, Any]] = []
        for literal in literals:
            if isinstance(literal.value, list):
                rows += [(f"{literal.pointer}/{index}", row) for index, row in enumerate(literal.value)]
            else:
                rows.append((literal.pointer, literal.value))
        return rows

    @property
    def keys(self) -> list[Value]:
        return self.all("cr:key")

    def field_named(self, name: str) -> Field | None:
        """Return the field that a row's key or a `key` names: its id, as written or as expanded."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        found: dict[str, Field] = {}
        for each in self.every_field:
            for name in (each.node.id, each.node.written_id):
                if isinstance(name, str):
                    found.setdefault(name, each)
        return found

    @property
    def key_fields(self) -> list[Field]:
        """Return the fields of the key, none where it names something else, too."""
        found = []
        for value in self.keys:
            name = value.value if isinstance(value, Literal) else value.id
            named = self.field_named(name) if isinstance(name, str) else None
            if named is not None:
                found.append(named)
        return found if len(found) == len(self.keys) else []


@dataclass(eq=False)
class Field(Element):
    """A field, nested or not. `is_parent_field` marks what stands in parentField, which may be an untyped shorthand."""

    sub_fields: list[Field] = field(default_factory=list)
    parent_fields: list[Field] = field(default_factory=list)
    sources: list[DataSource] = field(default_factory=list)
    references: list[DataSource] = field(default_factory=list)
    is_parent_field: bool = field(kw_only=True)

    @property
    def record_set(self) -> RecordSet | None:
        root = self.root
        return root if isinstance(root, RecordSet) else None


@dataclass(eq=False)
class DataSource(View):
    """A source or a reference: a DataSource object, or a plain reference, which then is `short_form`."""

    short_form: bool = False
    extracts: list[Extract] = field(default_factory=list)
    transforms: list[Transform] = field(default_factory=list)

    @cached_property
    def targets(self) -> list[tuple[str, Value]]:
        """The (property, value) of everything that this says the data comes from."""
        if self.short_form:
            return [("", self.node)]
        return [(name, value) for name in SOURCE_PROPERTIES for value in self.all(name)]

    @cached_property
    def target_views(self) -> list[View]:
        """The nodes that this leads to, where the document has them; to be asked for when all its views are made."""
        found = (self.description.view_of(value) for _, value in self.targets)
        return [view for view in found if view is not None]


class Selection(View):
    """An extract or a transform, for the expressions that both may hold."""


class Extract(Selection):
    """What is taken out of a source."""


class Transform(Selection):
    """What is done to values on the way."""


class Reference(Struct, eq=False):
    """A value that names another node, and the classes that it may name; `count` places say the same as this one."""

    holder: View
    name: str
    value: Value
    allowed: tuple[str, ...]
    count: int = 1

    @property
    def at(self) -> Location:
        return self.holder.place_of(self.value)

    @property
    def target_id(self) -> str | None:
        return reference_id(self.value)


class Stranger(Struct, frozen=True, eq=False):
    """A value of distribution, recordSet, field or subField that is not of the class that stands there."""

    holder: View
    name: str
    value: Value
    expected: tuple[str, ...]

    @property
    def at(self) -> Location:
        return self.holder.place_of(self.value)


def reference_id(value: Value) -> str | None:
    """Return the id that a value names: that of a node, or the text of a string."""
    if isinstance(value, Node):
        return value.id
    return value.value if isinstance(value.value, str) else None


_Linked = TypeVar("_Linked", bound=View)


def rings(views: Iterable[_Linked], following: Callable[[_Linked], Iterable[_Linked]]) -> Iterator[list[_Linked]]:
    """Yield each ring of views once, found in one pass over the links."""
    finished: set[int] = set()
    for start in views:
        path: list[_Linked] = []
        on_path: dict[int, int] = {}
        pending: list[tuple[_Linked, Iterator[_Linked]]] = []
        if id(start) not in finished:
            pending.append((start, iter(following(start))))
            on_path[id(start)] = 0
            path.append(start)
        while pending:
            view, links = pending[-1]
            link = next(links, None)
            if link is None:
                pending.pop()
                path.pop()
                del on_path[id(view)]
                finished.add(id(view))
            elif id(link) in on_path:
                yield path[on_path[id(link)] :]
            elif id(link) not in finished:
                on_path[id(link)] = len(path)
                path.append(link)
                pending.append((link, iter(following(link))))


class Description:
    """One document: its nodes by id, and the views over what its data sets hold."""

    def __init__(self, tree: Any, expansion: Expansion, places: Places) -> None:
        self.tree = tree
        self.expansion = expansion
        self.places = places
        self.version = ""
        self.wanted_version = ""
        self.near_misses = NearMisses()
        self.definitions: dict[str, list[Node]] = {}
        self._index()
        self.views: dict[int, View] = {}
        self.references: list[Reference] = []
        self.strangers: list[Stranger] = []
        self.datasets = [self._dataset(node) for node in expansion.nodes if "sc:Dataset" in node.types]

    @property
    def at(self) -> Location:
        return self.places.of("")

    @property
    def has_context(self) -> bool:
        return any(context.value for context in self.expansion.contexts)

    @property
    def is_meaningless(self) -> bool:
        """Whether there is no context, and names that would need one."""
        return not self.has_context and any(node.dropped for node in self.expansion.nodes)

    def _index(self) -> None:
        for node in self.expansion.every:
            if node.id is not None and not node.is_reference:
                self.definitions.setdefault(node.id, []).append(node)

    def resolve(self, value: Value) -> Node | None:
        """Return the node that a value is or names, None where the document has no such node."""
        if isinstance(value, Node) and not value.is_reference:
            return value
        named = self.definitions.get(reference_id(value) or "")
        return named[0] if named else None

    def view_of(self, value: Value) -> View | None:
        """Return what a value is or names, None where that is nothing of the Croissant classes."""
        node = self.resolve(value)
        return self.views.get(id(node)) if node is not None else None

    def distinct_references(self) -> Iterator[Reference]:
        """Yield the references, those that name the same node by the same property as one."""
        grouped: dict[tuple[str, str | None], Reference] = {}
        for reference in self.references:
            key = (reference.name, reference.target_id)
            if reference.target_id is None or isinstance(reference.value, Literal) or key not in grouped:
                if grouped.setdefault(key, reference) is not reference:
                    yield reference
            else:
                grouped[key].count += 1
        yield from grouped.values()

    def _dataset(self, node: Node) -> Dataset:
        dataset = Dataset(node, self, None, DATASET)
        self.views[id(node)] = dataset
        for value in dataset.all("sc:distribution"):
            self._resource(dataset, value)
        for value in dataset.all("cr:recordSet"):
            self._record_set(dataset, value)
        return dataset

    def _member(self, holder: View, name: str, value: Value, classes: tuple[str, ...]) -> Node | None:
        """Return the node of one of the classes that stands under a property, and note what else stands there."""
        node = self.resolve(value) if isinstance(value, Node) else None
        if node is None and isinstance(value, Node):
            self.references.append(Reference(holder, name, value, classes))
        elif node is None or not set(classes).intersection(node.types):
            self.strangers.append(Stranger(holder, name, value if node is None else node, classes))
        elif id(node) not in self.views:
            if node is not value:  # a flattened document: the node belongs where it is referred to
                node.role = holder.key(name)
            return node
        return None

    def _resource(self, dataset: Dataset, value: Value) -> None:
        node = self._member(dataset, "sc:distribution", value, ("cr:FileObject", "cr:FileSet"))
        if node is None:
            return
        view: Resource
        if "cr:FileObject" in node.types:
            view = FileObject(node, self, dataset, FILE_OBJECT)
        else:
            view = FileSet(node, self, dataset, FILE_SET)
        self.views[id(node)] = view
        for container in view.containers:
            self.references.append(Reference(view, "cr:containedIn", container, ("cr:FileObject", "cr:FileSet")))

    def _record_set(self, dataset: Dataset, value: Value) -> None:
        node = self._member(dataset, "cr:recordSet", value, ("cr:RecordSet",))
        if node is None:
            return
        view = RecordSet(node, self, dataset, RECORD_SET)
        self.views[id(node)] = view
        for each in view.all("cr:field"):
            self._field(view, "cr:field", each, view.fields)

    def _field(self, holder: View, name: str, value: Value, found: list[Field]) -> None:
        pending = [(holder, name, value, found)]
        while pending:
            holder, name, value, found = pending.pop()
            parent_field = name == "cr:parentField"
            node = (
                self._parent_field(holder, value) if parent_field else self._member(holder, name, value, ("cr:Field",))
            )
            if node is None:
                continue
            view = Field(node, self, holder, FIELD, is_parent_field=parent_field)
            self.views[id(node)] = view
            found.append(view)
            self._sources(view, "cr:source", view.sources)
            self._sources(view, "cr:references", view.references)
            for inner, below in (("cr:parentField", view.parent_fields), ("cr:subField", view.sub_fields)):
                pending.extend((view, inner, each, below) for each in reversed(view.all(inner)))

    def _parent_field(self, holder: View, value: Value) -> Node | None:
        if isinstance(value, Node) and not value.is_reference:
            return value if id(value) not in self.views else None
        self.references.append(Reference(holder, "cr:parentField", value, ("cr:Field",)))
        return None

    def _sources(self, view: Field, name: str, found: list[DataSource]) -> None:
        allowed = (
            ("cr:Field",) if name == "cr:references" else ("cr:Field", "cr:FileObject", "cr:FileSet", "cr:RecordSet")
        )
        for value in view.all(name):
            if isinstance(value, Literal):
                if isinstance(value.value, str) and name == "cr:source":  # "DataSource or URL", says the table
                    stand_in = Node(value.pointer, value.value, value.value, role=view.key(name))
                    found.append(DataSource(stand_in, self, view, DATA_SOURCE, short_form=True))
                self.references.append(Reference(view, name, value, allowed))
                continue
            source = DataSource(value, self, view, DATA_SOURCE, short_form=value.is_reference)
            found.append(source)
            if source.short_form:
                self.references.append(Reference(view, name, value, allowed))
                continue
            for target, each in source.targets:
                self.references.append(Reference(source, target, each, SOURCE_PROPERTIES[target]))
            if not source.targets:
                self.references.append(Reference(view, name, value, allowed))
            for each in source.all("cr:extract"):
                if isinstance(each, Node):
                    source.extracts.append(Extract(each, self, source, EXTRACT))
            for each in source.all("cr:transform"):
                if isinstance(each, Node):
                    source.transforms.append(Transform(each, self, source, TRANSFORM))

    @cached_property
    def lost_terms(self) -> dict[str, list[View]]:
        """The Croissant terms that the context forgot, so that `@vocab` made them schema.org's, and the nodes that have them."""
        found: dict[str, list[View]] = {}
        for view in self.parts:
            if not _LOST.keys().isdisjoint(view.node.values):
                for name in view.node.values:
                    if name in _LOST and self._is_lost(view, name):
                        found.setdefault(local_name(name), []).append(view)
        return found

    def _is_lost(self, view: View, name: str) -> bool:
        if name == "sc:conformsTo":
            return isinstance(view, Dataset) and not view.all("dct:conformsTo")
        if _LOST[name] in view.node.values or (_LOST[name] in LATER_TERMS and self.version == "1.0"):
            return False
        return (isinstance(view, Field) and name == "sc:source") or not is_schema_property(local_name(name))

    @cached_property
    def later_terms(self) -> dict[str, list[View]]:
        """The terms of version 1.1 in a document of an earlier one, and the nodes that have them."""
        found: dict[str, list[View]] = {}
        for view in self.parts if self.version == "1.0" else ():
            if not _LATER.keys().isdisjoint(view.node.values):
                for name in view.node.values:
                    if name in _LATER and view.shape.name in CROISSANT_PROPERTIES[_LATER[name]]:
                        found.setdefault(local_name(name), []).append(view)
        return found

    def take_apart(self) -> None:
        """Undo the views, which hold each other in rings, so that all memory is free at once; nothing may follow."""
        for view in self.parts:
            vars(view).clear()
        vars(self).clear()

    @cached_property
    def files(self) -> dict[View | None, list[FileObject]]:
        """The FileObjects by what they are described in."""
        found: dict[View | None, list[FileObject]] = {}
        for view in self.views.values():
            if isinstance(view, FileObject):
                found.setdefault(view.parent, []).append(view)
        return found

    @cached_property
    def parts(self) -> list[View]:
        """Every view, those of sources, extracts and transforms after the field they are in."""
        found: list[View] = []
        for view in self.views.values():
            found.append(view)
            if isinstance(view, Field):
                for source in (*view.sources, *view.references):
                    if not source.short_form:
                        found += (source, *source.extracts, *source.transforms)
        return found
