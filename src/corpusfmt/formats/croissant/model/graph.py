"""Internal: A description in the terms of the specification: datasets, files, record sets, fields and references."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

from msgspec import Struct

from corpusfmt.formats.croissant.model.arrays import ArrayShape, items, parsed_shape
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
    REMOVED_TERMS,
    TASKS,
    TERM_SHAPES,
    TRANSFORM,
    UNMAPPED_BY_APPENDIX,
    Property,
    Shape,
)
from corpusfmt.formats.croissant.model.version import version_of
from corpusfmt.formats.croissant.model.vocabulary import NearMisses, is_schema_property
from corpusfmt.io.text import JsonFault, escaped, parsed_json, path_to
from corpusfmt.model import Location, Problem

#: The properties of a DataSource that name the origin of data, and the classes that each may name.
SOURCE_PROPERTIES = {
    "cr:fileObject": ("cr:FileObject",),
    "cr:fileSet": ("cr:FileSet",),
    "cr:recordSet": ("cr:RecordSet",),
    "cr:field": ("cr:Field",),
}
_FILES = ("cr:FileObject", "cr:FileSet")

# What a Croissant property becomes under a context that has only `@vocab` for it.
_FALLEN = {name: f"sc:{local_name(name)}" for name in CROISSANT_PROPERTIES}
# The names that may be lost.
_MEANT = {fallen: name for name, fallen in _FALLEN.items()}
_LOST = {**_MEANT, "sc:conformsTo": "dct:conformsTo"}
# Fields have a property of this name, which schema.org has for others.
_OF_FIELDS = ("sc:source", "sc:value")
_LATER = {name: term for term in LATER_TERMS for name in (term, f"sc:{local_name(term)}")}
_REMOVED = {name: term for term in REMOVED_TERMS for name in (term, f"sc:{local_name(term)}")}
_NONE: list[Value] = []


class View:
    """A node in its role. Croissant terms that `@vocab` turned into schema.org's are read as Croissant's."""

    #: The table of its class.
    shape: Shape

    def __init__(self, node: Node, description: Description, parent: View | None) -> None:
        self.node = node
        self.description = description
        self.parent = parent
        #: The values by property. Few descriptions have terms that fell.
        self.values = _as_meant(node.values) if description.has_fallen else node.values

    def all(self, name: str) -> list[Value]:
        """Return the values of a property."""
        return self.values.get(name, _NONE)

    def fallen(self, name: str) -> str | None:
        """Return the schema.org name that `@vocab` gave to a Croissant property of this node, or None."""
        fallen = _FALLEN.get(name)
        return fallen if fallen in self.node.values else None

    def lacks(self, name: str) -> bool:
        """Return whether a property is absent, unless the context drops it, which has its own rule."""
        return not (
            self.all(name)
            or local_name(name) in self.node.dropped
            or (self.shape.name, name) in self.description.required_by_profiles
        )

    def missing(self, code: str) -> Iterator[Property]:
        """Yield the absent properties that a rule with this code reports."""
        return (row for row in self.shape.properties if row.missing == code and self.lacks(row.name))

    def text(self, name: str) -> str | None:
        """Return the first value of a property that is a string."""
        return next((literal.value for literal in self.texts(name)), None)

    def texts(self, name: str) -> Iterator[Literal]:
        """Yield the values of a property that are strings."""
        return (value for value in self.all(name) if isinstance(value, Literal) and isinstance(value.value, str))

    def is_true(self, name: str) -> bool:
        """Return whether a boolean property is true."""
        return any(isinstance(value, Literal) and value.value is True for value in self.all(name))

    @property
    def at(self) -> Location:
        return self.place()

    def place(self, at: str | Value = "") -> Location:
        """Return the place of a property (of the node if it lacks the property), of a value, or of a JSON pointer."""
        if not isinstance(at, str):
            return self.description.places.of(at.pointer)
        if at[:1] == "/":
            return self.description.places.of(at)
        key = self._written(at)
        return self.description.places.of(f"{self.node.pointer}/{escaped(key)}" if key else self.node.pointer)

    def _written(self, name: str) -> str | None:
        return self.node.keys.get(name) or self.node.keys.get(self.fallen(name) or "")

    def key(self, name: str) -> str:
        """Return the name of a property as the author wrote it, else as in the specification."""
        return self._written(name) or local_name(name)

    def problem(self, message: str, hint: str, at: str | Value = "", *, count: int = 1, minor: bool = False) -> Problem:
        """Return a problem of this node, which its message names, at a place as for `place`."""
        return Problem(f"{self.title}: {message}", self.place(at), hint, count, minor)

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

    @cached_property
    def title(self) -> str:
        """This node and those that contain it: `recordSet "ratings" › field "ratings/user_id"`."""
        titles = [self.label]
        above = self.parent
        while above is not None and not isinstance(above, Dataset):
            titles.append(above.label)
            above = above.parent
        return " › ".join(reversed(titles))

    @property
    def root(self) -> View:
        """The dataset, file or record set that contains this node."""
        above: View = self
        while above.parent is not None and not isinstance(above.parent, Dataset):
            above = above.parent
        return above

    @cached_property
    def data_types(self) -> list[str]:
        """The data types as short names, whether they are IRIs or strings under the context."""
        return [short(value.iri) for value in self.all("cr:dataType") if value.iri is not None]


def _as_meant(values: dict[str, list[Value]]) -> dict[str, list[Value]]:
    fallen = {_MEANT[name]: listed for name, listed in values.items() if name in _MEANT}
    return fallen | {name: listed for name, listed in values.items() if listed}


class Dataset(View):
    """The dataset."""

    shape = DATASET


class Element(View):
    """A node that others name: a FileObject, FileSet, RecordSet or Field."""


class Resource(Element):
    """A FileObject or FileSet; `manifests` are the containers that are a DataSource."""

    def __init__(self, node: Node, description: Description, parent: View) -> None:
        super().__init__(node, description, parent)
        self.manifests: list[DataSource] = []

    @property
    def containers(self) -> list[Value]:
        return self.all("cr:containedIn")

    @cached_property
    def formats(self) -> list[str]:
        return [literal.value for literal in self.texts("sc:encodingFormat")]


class FileObject(Resource):
    """One file."""

    shape = FILE_OBJECT


class FileSet(Resource):
    """A set of files in a container."""

    shape = FILE_SET


def identity_of(value: Any) -> str:
    """Return a text that is equal for equal JSON values."""
    return json.dumps(value, sort_keys=True)


class RecordSet(Element):
    """A record set; `fields` are the top-level ones, `annotations` describe whole records."""

    shape = RECORD_SET

    def __init__(self, node: Node, description: Description, parent: View) -> None:
        super().__init__(node, description, parent)
        self.fields: list[Field] = []
        self.annotations: list[Field] = []
        self._columns: dict[str, dict[str, dict[str, Any]]] = {}
        self._values: dict[Field, frozenset[str]] = {}

    @property
    def every_field(self) -> Iterator[Field]:
        """Yield all fields, nested ones after their parent."""
        return _with_sub_fields(self.fields)

    @property
    def every_annotation(self) -> Iterator[Field]:
        """Yield the annotations of the records, of their fields and of annotations, with their nested fields."""
        pending = [*self.annotations, *(each for field in self.every_field for each in field.annotations)][::-1]
        while pending:
            for field in _with_sub_fields([pending.pop()]):
                yield field
                pending.extend(reversed(field.annotations))

    @cached_property
    def rows(self) -> list[tuple[str, object]] | None:
        """The inline records with their JSON pointers; None if the records are elsewhere. Constants alone are one record."""
        if self.fields and self.lacks("cr:data"):
            leaves = (field for field in self.every_field if not field.sub_fields)
            if all(field.is_in_constant and not field.sources for field in leaves):
                return [(self.node.pointer, {})]
        return self.inline("cr:data")

    def columns(self, name: str) -> dict[str, dict[str, Any]]:
        """Return the values of `data` or `examples` by key and by the JSON pointer of the record."""
        if name not in self._columns:
            columns = self._columns[name] = {}
            for pointer, row in self.inline(name) or ():
                for key, value in row.items() if isinstance(row, dict) else ():
                    columns.setdefault(key, {})[pointer] = value
        return self._columns[name]

    def column(self, field: Field, name: str = "cr:data") -> dict[str, Any]:
        """Return the values of a field in `data` or `examples`, by its id as written or as expanded."""
        ids = [each for each in dict.fromkeys((field.id, str(field.node.written_id))) if each in self.columns(name)]
        columns = [self.columns(name)[each] for each in ids if each is not None]
        return columns[0] if len(columns) == 1 else dict(pair for column in columns for pair in column.items())

    def given(self, field: Field) -> dict[str, Any]:
        """Return the values of a field that the description has, by their JSON pointers: its constant, inline records."""
        place = field.constant_pointer
        return ({} if place is None else {place: field.constant}) | self.column(field)

    def values_of(self, field: Field) -> frozenset[str]:
        """Return the identities of a field's values in the description."""
        if field not in self._values:
            self._values[field] = frozenset(map(identity_of, self.given(field).values()))
        return self._values[field]

    def inline(self, name: str) -> list[tuple[str, object]] | None:
        """Return the records of `data` or `examples` with their pointers: a single object counts as a list of one."""
        literals = [value for value in self.all(name) if isinstance(value, Literal) and value.type == "@json"]
        rows: list[tuple[str, object]] = []
        for literal in literals:
            if isinstance(literal.value, list):
                rows += [(f"{literal.pointer}/{index}", row) for index, row in enumerate(literal.value)]
            else:
                rows.append((literal.pointer, literal.value))
        return rows if literals else None

    @property
    def keys(self) -> list[Value]:
        return self.all("cr:key")

    def field_named(self, name: str | None) -> Field | None:
        """Return the field with this id, as written or as expanded."""
        return self._by_name.get(name) if name is not None else None

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        fields = [*self.every_field, *self.every_annotation][::-1]
        return {name: each for each in fields for name in (each.node.written_id, each.id) if isinstance(name, str)}

    @property
    def key_fields(self) -> list[Field]:
        """Return the fields of the key, or none if it also names something else."""
        named = [self.field_named(value.iri) for value in self.keys]
        fields = [field for field in named if field is not None]
        return fields if len(fields) == len(named) else []


class Field(Element):
    """A field, nested or not, in the property `name` of its parent. A value of parentField may be an untyped shorthand."""

    shape = FIELD

    def __init__(self, node: Node, description: Description, parent: View, name: str) -> None:
        super().__init__(node, description, parent)
        self.sub_fields: list[Field] = []
        self.annotations: list[Field] = []
        self.parent_fields: list[Field] = []
        self.sources: list[DataSource] = []
        self.references: list[DataSource] = []
        self.is_parent_field = name == "cr:parentField"
        self.is_annotation = name == "cr:annotation"

    @property
    def record_set(self) -> RecordSet | None:
        root = self.root
        return root if isinstance(root, RecordSet) else None

    @property
    def is_array(self) -> bool:
        """Whether a value is a list."""
        return self.is_true("cr:repeated") or self.is_true("cr:isArray")

    @property
    def array_term(self) -> str:
        """The property that makes it an array in the version of the document."""
        return "repeated" if self.description.version == "1.0" else "isArray"

    @cached_property
    def array_shape(self) -> ArrayShape | None:
        """The dimensions of its lists, None if missing or malformed."""
        text = self.text("cr:arrayShape") if self.is_true("cr:isArray") else None
        return parsed_shape(text) if text is not None else None

    @property
    def has_constant(self) -> bool:
        """Whether the description gives one value for all records."""
        return bool(self.all("cr:value"))

    @property
    def constant_pointer(self) -> str | None:
        """The JSON pointer of its constant value or that of one of its parents, None if there is none."""
        if self.has_constant:
            return self.all("cr:value")[0].pointer
        return self.parent.constant_pointer if isinstance(self.parent, Field) and not self.is_annotation else None

    @property
    def is_in_constant(self) -> bool:
        """Whether this field or one of its parents has a constant value."""
        return self.constant_pointer is not None

    @cached_property
    def constant(self) -> Any:
        """The value of all records, a list for an array; its own `value`, or its part of that of the field above."""
        if self.has_constant:
            return self.meant_by(_plain(self.description.raw(self.node.pointer, self.key("cr:value"))))
        above = self.parent.constant if isinstance(self.parent, Field) else None
        objects = [each for each in items(above) if isinstance(each, dict)]
        values = [each[name] for each in objects if (name := self.key_in(each)) is not None]
        return values if isinstance(above, list) else next(iter(values), None)

    def meant_by(self, value: Any) -> Any:
        """Return JSON as a value of this field: in JSON-LD, one value and a list of one are the same."""
        if self.sub_fields and isinstance(value, str):
            with suppress(JsonFault):
                value = parsed_json(value).value
        if self.is_array:
            return [self._object_in(each) for each in value] if isinstance(value, list) else [self._object_in(value)]
        several = items(value)
        return self._object_in(several[0] if len(several) == 1 else value)

    def _object_in(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        names = {each.key_in(value): each for each in self.sub_fields}
        return {name: names[name].meant_by(each) if name in names else each for name, each in value.items()}

    def key_in(self, value: dict[str, Any]) -> str | None:
        """Return the key of this subfield in an object: its identifier, or the last part of one."""
        written = self.node.written_id if isinstance(self.node.written_id, str) else ""
        exact = (name for name in (written, self.id, written.rpartition("/")[2]) if name and name in value)
        # In the expanded form, a key is an IRI.
        iris = (name for name in value if written and name.endswith(f"/{written}"))
        return next(chain(exact, iris), None)


def _plain(value: Any) -> Any:
    """Return JSON without the objects that JSON-LD's expanded form has for values and lists."""
    if isinstance(value, list) and not (len(value) == 1 and isinstance(value[0], dict) and "@list" in value[0]):
        return [_plain(each) for each in value]
    value = value[0] if isinstance(value, list) else value
    if not isinstance(value, dict):
        return value
    keyword = next((name for name in ("@value", "@list", "@set") if name in value), None)
    return {name: _plain(each) for name, each in value.items()} if keyword is None else _plain(value[keyword])


class DataSource(View):
    """A source or a reference: a DataSource object, or a plain reference (`short_form`)."""

    shape = DATA_SOURCE

    @property
    def short_form(self) -> bool:
        return self.node.is_reference

    @cached_property
    def extracts(self) -> list[Extract]:
        nodes = (value for value in self.all("cr:extract") if isinstance(value, Node))
        return [Extract(node, self.description, self) for node in nodes]

    @cached_property
    def transforms(self) -> list[Transform]:
        nodes = (value for value in self.all("cr:transform") if isinstance(value, Node))
        return [Transform(node, self.description, self) for node in nodes]

    @property
    def reads_lines(self) -> bool:
        """Whether the content of a file is taken line by line."""
        return any(each.is_true("cr:readLines") for each in self.transforms)

    @property
    def lists_files(self) -> bool:
        """Whether this, as a container, names files in its content: a manifest. Otherwise it is only what it names."""
        return bool(self.extracts) or self.reads_lines

    @cached_property
    def targets(self) -> list[tuple[str, Value]]:
        """The (property, value) pairs that name the origin of the data."""
        if self.short_form:
            return [("", self.node)]
        return [(name, value) for name in SOURCE_PROPERTIES for value in self.values.get(name, ())]

    @cached_property
    def target_views(self) -> list[View]:
        """The named nodes that the document defines. Use it only once all views exist."""
        return [view for _, value in self.targets if (view := self.description.view_of(value)) is not None]


def _with_sub_fields(fields: Iterable[Field]) -> Iterator[Field]:
    pending = list(fields)[::-1]
    while pending:
        each = pending.pop()
        yield each
        pending.extend(reversed(each.sub_fields))


class Selection(View):
    """An extract or a transform, for the expressions that both may contain."""


class Extract(Selection):
    """The part of a source that becomes a value."""

    shape = EXTRACT


class Transform(Selection):
    """A transformation of values."""

    shape = TRANSFORM


class Term(View):
    """A node of a class that Croissant refers to: of GeoCroissant, Tasks, PROV-O, ODRL or schema.org."""

    def __init__(self, node: Node, description: Description, shape: Shape) -> None:
        super().__init__(node, description, None)
        self.shape = shape

    @property
    def label(self) -> str:
        name = self.node.written_id
        return f'{local_name(self.shape.name)} "{name}"' if isinstance(name, str) else local_name(self.shape.name)


class Reference(Struct, eq=False):
    """A value that names another node, and the classes that it may name; `count` identical references are one."""

    holder: View
    name: str
    value: Value
    allowed: tuple[str, ...]
    count: int = 1


class Stranger(Struct, frozen=True, eq=False):
    """A value of distribution, recordSet, field or subField that has the wrong class."""

    holder: View
    name: str
    value: Value
    expected: tuple[str, ...]


def problem_of_all(views: Sequence[View], message: str, hint: str, at: str = "", *, minor: bool = False) -> Problem:
    """Return the problem that some nodes have, at the first of them."""
    more = f" and {len(views) - 1} more" if len(views) > 1 else ""
    return Problem(f"{views[0].title}{more}: {message}", views[0].place(at), hint, len(views), minor)


_Linked = TypeVar("_Linked", bound=View)


def rings(views: Iterable[_Linked], following: Callable[[_Linked], Iterable[_Linked]]) -> Iterator[list[_Linked]]:
    """Yield each cycle of views once, in one pass over the links."""
    finished: set[int] = set()
    for start in views:
        path: dict[int, _Linked] = {}
        pending = [iter([start])]
        while pending:
            view = next(pending[-1], None)
            if view is None:
                pending.pop()
                if path:
                    finished.add(path.popitem()[0])
            elif id(view) in path:
                ring = []
                for above in reversed(path.values()):
                    ring.append(above)
                    if above is view:
                        break
                yield ring[::-1]
            elif id(view) not in finished:
                path[id(view)] = view
                pending.append(iter(following(view)))


class Description:
    """One document: its nodes by id, and views of the contents of its datasets."""

    def __init__(self, tree: Any, expansion: Expansion, places: Places) -> None:
        self.tree = tree
        self.expansion = expansion
        self.places = places
        tops = [node for node in expansion.nodes if "sc:Dataset" in node.types]
        claims = [value for node in tops for value in node.values.get("dct:conformsTo", ())]
        contexts = [context.value for context in expansion.contexts if tops and isinstance(context.value, dict)]
        declared = {iri for context in contexts for iri in context.values() if isinstance(iri, str)}
        self.version = version_of(claims, expansion.namespaces, declared)
        self.wanted_version = ""
        #: Properties of classes that profiles require: another rule reports their absence.
        self.required_by_profiles: Container[tuple[str, str]] = ()
        self.near_misses = NearMisses()
        #: The short names of all properties and classes.
        self.names = frozenset(expansion.names.values())
        #: Whether `@vocab` turned Croissant terms into schema.org's.
        self.has_fallen = not _MEANT.keys().isdisjoint(self.names)
        self.definitions: dict[str, list[Node]] = {}
        for node in expansion.every:
            if node.id is not None and not node.is_reference:
                self.definitions.setdefault(node.id, []).append(node)
        self.views: dict[int, View] = {}
        self.references: list[Reference] = []
        self.strangers: list[Stranger] = []
        self.datasets = [self._dataset(node) for node in tops]
        self.tasks = [node for node in expansion.nodes if TASKS.intersection(node.types)]
        terms = self.names & TERM_SHAPES.keys()
        self.terms = [
            Term(node, self, TERM_SHAPES[kind])
            for node in expansion.every
            if not terms.isdisjoint(node.types)
            for kind in node.types[:_MOST_KINDS]
            if kind in TERM_SHAPES and (node.values or node.id is None)  # else it is a reference with a type
        ]

    @property
    def at(self) -> Location:
        return self.places.of("")

    @property
    def has_context(self) -> bool:
        return any(context.value for context in self.expansion.contexts)

    @property
    def is_meaningless(self) -> bool:
        """Whether the document has names that need a context, but no context."""
        return not self.has_context and any(node.dropped for node in self.expansion.nodes)

    def raw(self, pointer: str, key: str) -> Any:
        """Return the value of a key in the object at a JSON pointer, None if there is none."""
        value = self.tree
        for name in (*(path_to(pointer) if pointer else ()), key):
            if isinstance(value, list):
                value = value[int(name)] if name.isdecimal() and int(name) < len(value) else None
            else:
                value = value.get(name) if isinstance(value, dict) else None
        return value

    def resolve(self, value: Value) -> Node | None:
        """Return the node that a value is or names, None if the document has no such node."""
        if isinstance(value, Node) and not value.is_reference:
            return value
        named = self.definitions.get(value.iri or "")
        return named[0] if named else None

    def view_of(self, value: Value) -> View | None:
        """Return the view of the node that a value is or names, None if its class is not Croissant's."""
        node = self.resolve(value)
        return self.views.get(id(node)) if node is not None else None

    def distinct_references(self) -> Iterator[Reference]:
        """Yield the references, merged if they name the same node by the same property."""
        grouped: dict[tuple[str, str], Reference] = {}
        for reference in self.references:
            iri = reference.value.iri
            if iri is None or isinstance(reference.value, Literal):
                yield reference
            elif (first := grouped.setdefault((reference.name, iri), reference)) is not reference:
                first.count += 1
        yield from grouped.values()

    def _dataset(self, node: Node) -> Dataset:
        dataset = Dataset(node, self, None)
        self.views[id(node)] = dataset
        for value in dataset.all("sc:distribution"):
            resource = self._member(dataset, "sc:distribution", value, _FILES)
            if resource is not None:
                self._resource(resource, dataset)
        for value in dataset.all("cr:recordSet"):
            records = self._member(dataset, "cr:recordSet", value, ("cr:RecordSet",))
            if records is not None:
                view = RecordSet(records, self, dataset)
                self.views[id(records)] = view
                for name, fields in (("cr:field", view.fields), ("cr:annotation", view.annotations)):
                    for field in view.all(name):
                        self._field(view, name, field, fields)
        return dataset

    def _member(self, holder: View, name: str, value: Value, classes: tuple[str, ...]) -> Node | None:
        """Return the node of a property's value if it has one of the classes, else record it as a stranger."""
        node = self.resolve(value) if isinstance(value, Node) else None
        if node is None and isinstance(value, Node):
            self.references.append(Reference(holder, name, value, classes))
        elif node is None or not set(classes).intersection(node.types):
            self.strangers.append(Stranger(holder, name, value if node is None else node, classes))
        elif id(node) not in self.views:
            if node is not value:  # a flattened document: the node belongs where it is referenced
                node.role = holder.key(name)
            return node
        return None

    def _resource(self, node: Node, dataset: Dataset) -> None:
        view = (FileObject if "cr:FileObject" in node.types else FileSet)(node, self, dataset)
        self.views[id(node)] = view
        for container in view.containers:
            if isinstance(container, Node) and _is_source(container):
                view.manifests.append(self._source(view, "cr:containedIn", container, _FILES))
            else:
                self.references.append(Reference(view, "cr:containedIn", container, _FILES))

    def _field(self, holder: View, name: str, value: Value, fields: list[Field]) -> None:
        pending = [(holder, name, value, fields)]
        while pending:
            holder, name, value, fields = pending.pop()
            if name != "cr:parentField":
                node = self._member(holder, name, value, ("cr:Field",))
            elif isinstance(value, Node) and not value.is_reference:
                node = value if id(value) not in self.views else None
            else:
                self.references.append(Reference(holder, name, value, ("cr:Field",)))
                continue
            if node is None:
                continue
            view = Field(node, self, holder, name)
            self.views[id(node)] = view
            fields.append(view)
            self._sources(view, "cr:source", view.sources)
            self._sources(view, "cr:references", view.references)
            for inner, below in (
                ("cr:parentField", view.parent_fields),
                ("cr:subField", view.sub_fields),
                ("cr:annotation", view.annotations),
            ):
                pending.extend((view, inner, each, below) for each in reversed(view.all(inner)))

    def _sources(self, view: Field, name: str, sources: list[DataSource]) -> None:
        allowed = ("cr:Field",) if name == "cr:references" else ("cr:Field", *_FILES, "cr:RecordSet")
        for value in view.all(name):
            if isinstance(value, Node):
                sources.append(self._source(view, name, value, allowed))
                continue
            if isinstance(value.value, str) and name == "cr:source":  # the table has "DataSource or URL"
                stand_in = Node(value.pointer, value.value, value.value, role=view.key(name))
                sources.append(DataSource(stand_in, self, view))
            self.references.append(Reference(view, name, value, allowed))

    def _source(self, view: View, name: str, value: Node, allowed: tuple[str, ...]) -> DataSource:
        source = DataSource(value, self, view)
        targets = source.targets if not source.short_form else []
        self.references += [Reference(source, target, named, SOURCE_PROPERTIES[target]) for target, named in targets]
        if not targets:
            self.references.append(Reference(view, name, value, allowed))
        return source

    @cached_property
    def lost_terms(self) -> dict[str, list[View]]:
        """The Croissant terms that `@vocab` turned into schema.org's, and the nodes that have them."""
        return self._having(_LOST, self._is_lost)

    def _is_lost(self, view: View, name: str) -> bool:
        if name == "sc:conformsTo":
            return isinstance(view, Dataset) and not view.all("dct:conformsTo")
        if _LOST[name] in view.node.values:
            return False
        if _LOST[name] in (LATER_TERMS if self.version == "1.0" else REMOVED_TERMS):
            return False  # a term of another version, whose context maps it
        if local_name(name) in UNMAPPED_BY_APPENDIX.get(self.version, ()):
            return False
        return (isinstance(view, Field) and name in _OF_FIELDS) or not is_schema_property(local_name(name))

    @cached_property
    def later_terms(self) -> dict[str, list[View]]:
        """The terms of version 1.1 in a document of an earlier version, and the nodes that have them."""
        return self._having(_LATER, _has_property) if self.version == "1.0" else {}

    @property
    def likely_version(self) -> str:
        """The version whose terms a document has that claims none."""
        return "1.1" if self.later_terms else "1.0"

    @cached_property
    def removed_terms(self) -> dict[str, list[View]]:
        """The terms that version 1.1 removed in a document of that version, and the nodes that have them."""
        return self._having(_REMOVED, _has_property) if self.version == "1.1" else {}

    def _having(self, names: dict[str, str], is_meant: Callable[[View, str], bool]) -> dict[str, list[View]]:
        """Return the nodes with some properties, where these are meant, by the local names of the properties."""
        having: dict[str, list[View]] = {}
        for view in self.parts if not names.keys().isdisjoint(self.names) else ():
            for name in view.node.values:
                if name in names and is_meant(view, name):
                    having.setdefault(local_name(name), []).append(view)
        return having

    def take_apart(self) -> None:
        """Break the reference cycles between views, which frees their memory at once. The views are unusable afterwards."""
        for view in (*self.parts, *self.terms):
            vars(view).clear()
        vars(self).clear()

    @cached_property
    def files(self) -> dict[View | None, list[FileObject]]:
        """The FileObjects by parent."""
        files: dict[View | None, list[FileObject]] = {}
        for view in self.views.values():
            if isinstance(view, FileObject):
                files.setdefault(view.parent, []).append(view)
        return files

    @cached_property
    def manifests(self) -> frozenset[View]:
        """The files whose content lists the files of others."""
        sources = (source for view in self.views.values() if isinstance(view, Resource) for source in view.manifests)
        return frozenset(view for source in sources if source.lists_files for view in source.target_views)

    @cached_property
    def parts(self) -> list[View]:
        """Every view; sources, extracts and transforms follow their field."""
        parts: list[View] = []
        for view in self.views.values():
            parts.append(view)
            sources = [*view.sources, *view.references] if isinstance(view, Field) else []
            sources += view.manifests if isinstance(view, Resource) else []
            for source in sources:
                parts += () if source.short_form else (source, *source.extracts, *source.transforms)
        return parts


# Nobody writes a node with more classes.
_MOST_KINDS = 20


def _has_property(view: View, name: str) -> bool:
    return view.shape.name in CROISSANT_PROPERTIES[_MEANT.get(name, name)]


def _is_source(node: Node) -> bool:
    """Return whether a container is a DataSource, typed or not."""
    return not node.is_reference and (
        "cr:DataSource" in node.types
        or any(name in node.values or _FALLEN[name] in node.values for name in SOURCE_PROPERTIES)
    )
