"""Internal: Hover, completion and definitions at a cursor in a JSON-LD description, by its outline and a JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct, field

Kind = Literal["object", "array", "string", "other"]

# A string that is not closed ends with its line.
_TOKEN = re.compile(r'"(?:[^"\\\n\r]++|\\[^\n\r])*+"?|[{}\[\],:]|[^\s{}\[\],:"]++')
_OPENING: dict[str, Kind] = {"{": "object", "[": "array"}
_CLOSING: dict[str, Kind] = {"}": "object", "]": "array"}
# What is nested deeper is left out.
_MOST_DEPTH = 100


class Value(Struct, eq=False):
    """A value from offset `start` up to `end`, which is beyond the end of the text for a bracket that is never closed."""

    kind: Kind
    start: int
    end: int
    text: str = ""
    members: list[Member] = field(default_factory=list)
    items: list[Value] = field(default_factory=list)

    def member(self, name: str) -> Value | None:
        """Return the first value of a name in an object."""
        return next((each.value for each in self.members if each.name.text == name), None)

    def string(self, name: str) -> str:
        """Return the string of a name in an object, "" without one."""
        value = self.member(name)
        return value.text if value is not None and value.kind == "string" else ""

    def holds(self, offset: int) -> bool:
        """Return whether a cursor at an offset is inside."""
        return self.start < offset < self.end or (offset == self.end and self.kind in ("string", "other"))


class Member(Struct, eq=False):
    """A name in an object; `colon` is the offset after its colon and `comma` that of the comma, None before they are written."""

    name: Value
    colon: int | None = None
    value: Value | None = None
    comma: int | None = None

    def expects_value(self, offset: int) -> bool:
        """Return whether a cursor is where the value is or should be."""
        if self.colon is None or offset < self.colon:
            return False
        end = self.comma if self.value is None else self.value.end
        return end is None or offset <= end


class Place(Struct):
    """Where a cursor is: in the last of `path`, at the name or value `token`, or where one could be written.

    `path` has each container on the way with the name of the value in it ("" in an array). `is_name` is true where an object
    expects a name; `member` is the member whose value it would be, or whose name it is.
    """

    path: list[tuple[Value, str]]
    is_name: bool
    token: Value | None = None
    member: Member | None = None

    @property
    def container(self) -> Value:
        return self.path[-1][0]


@lru_cache(1)
def outline(text: str) -> Value | None:
    """Return the first value of a text; None if there is none."""
    reading = _Reading(len(text) + 1)
    for match in _TOKEN.finditer(text):
        reading.take(match[0], match.start(), match.end())
    return reading.root


def values(root: Value) -> Iterator[Value]:
    """Yield a value and all in it, in order."""
    waiting = [root]
    while waiting:
        value = waiting.pop()
        yield value
        inner = [each.value for each in value.members if each.value is not None]
        waiting += reversed([*value.items, *inner])


def place_at(root: Value, offset: int) -> Place | None:
    """Return where a cursor is; None outside of the outermost brackets."""
    if root.kind not in ("object", "array") or not root.holds(offset):
        return None
    path: list[tuple[Value, str]] = []
    value = root
    while True:
        if value.kind == "array":
            path.append((value, ""))
            inner = next((each for each in value.items if each.holds(offset)), None)
            member = None
        else:
            member = next((each for each in reversed(value.members) if each.name.start < offset), None)
            if member is None or not member.expects_value(offset):
                at_name = member if member is not None and member.name.holds(offset) else None
                return Place([*path, (value, "")], True, at_name.name if at_name else None, at_name)
            path.append((value, member.name.text))
            inner = member.value if member.value is not None and member.value.holds(offset) else None
        if inner is None or inner.kind in ("string", "other"):
            return Place(path, False, inner, member)
        value = inner


class _Reading:
    def __init__(self, end: int) -> None:
        self.end = end
        self.root: Value | None = None
        self.open: list[Value] = []
        self.too_deep = 0

    def take(self, piece: str, start: int, end: int) -> None:
        if self.too_deep or (piece in _OPENING and len(self.open) == _MOST_DEPTH):
            self.too_deep += (piece in _OPENING) - (piece in _CLOSING)
        elif piece in _OPENING:
            value = Value(_OPENING[piece], start, self.end)
            self._attach(value)
            self.open.append(value)
        elif piece in _CLOSING:
            self._close(_CLOSING[piece], end)
        elif piece == ":":
            self._colon(end)
        elif piece == ",":
            self._comma(start)
        else:
            is_string = piece.startswith('"')
            self._attach(
                Value("string" if is_string else "other", start, end, _unquoted(piece) if is_string else piece)
            )

    def _close(self, kind: str, end: int) -> None:
        if not any(each.kind == kind for each in self.open):
            return
        while self.open:
            value = self.open.pop()
            value.end = end
            if value.kind == kind:
                break
            value.end = end - 1

    def _last(self) -> Member | None:
        top = self.open[-1] if self.open else None
        return top.members[-1] if top is not None and top.members else None

    def _colon(self, end: int) -> None:
        last = self._last()
        if last is None or last.comma is not None:
            return
        if last.colon is None:
            last.colon = end
        elif last.value is not None and last.value.kind == "string":
            # The value is not written yet, and the next name was taken for it.
            self.open[-1].members.append(Member(last.value, end))
            last.value = None

    def _comma(self, start: int) -> None:
        last = self._last()
        if last is not None and last.comma is None:
            last.comma = start

    def _attach(self, value: Value) -> None:
        if not self.open:
            self.root = self.root or value
            return
        top, last = self.open[-1], self._last()
        if top.kind == "array":
            top.items.append(value)
        elif last is not None and last.colon is not None and last.value is None and last.comma is None:
            last.value = value
        elif value.kind == "string":
            top.members.append(Member(value))


def _unquoted(piece: str) -> str:
    closed = piece if len(piece) > 1 and piece.endswith('"') else f'{piece}"'
    try:
        return str(json.loads(closed, strict=False))
    except ValueError:
        return piece.strip('"')


# What a reference under a name refers to, by the end of its `@type`; under other names, to anything.
_REFERRED = {
    "fileObject": ("FileObject",),
    "fileSet": ("FileSet",),
    "containedIn": ("FileObject", "FileSet"),
    "recordSet": ("RecordSet",),
    "field": ("Field",),
    "key": ("Field",),
    "parentField": ("Field",),
    "references": ("Field",),
}


class Proposal(Struct, frozen=True):
    """A text that could replace the characters from `start` up to `end`."""

    label: str
    text: str
    start: int
    end: int
    detail: str = ""
    is_name: bool = False


class Shown(Struct, frozen=True):
    """Markdown about the characters from `start` up to `end`."""

    markdown: str
    start: int
    end: int


def complete(text: str, offset: int, schema: Schema) -> list[Proposal]:
    """Return what could be written at a cursor: names of properties, values, or identifiers of the description."""
    root = outline(text)
    place = place_at(root, offset) if root is not None else None
    if root is None or place is None:
        return []
    start, end = (place.token.start, place.token.end) if place.token is not None else (offset, offset)
    if place.is_name:
        return [Proposal(name, written, start, end, about, True) for name, written, about in _names(place, schema)]
    # The `@id` of an object that says nothing else is a reference.
    if _is_identifier(place) and {each.name.text for each in place.container.members} == {"@id"}:
        found = _identifiers(root, place)
        return [
            Proposal(value.text, json.dumps(value.text, ensure_ascii=False), start, end, kind) for value, kind in found
        ]
    return [Proposal(str(each), json.dumps(each), start, end) for each in proposed(schema.at(place.path))]


def _names(place: Place, schema: Schema) -> Iterator[tuple[str, str, str]]:
    """Yield each property that an object lacks: its name, what to write, and its description."""
    present = {each.name.text for each in place.container.members if each is not place.member}
    has_colon = place.member is not None and place.member.colon is not None
    known = schema.properties(schema.at(place.path[:-1]), place.container)
    for name, own in known.items():
        if name not in present:
            yield name, json.dumps(name) + ("" if has_colon else ": "), described([own])


def show(text: str, offset: int, schema: Schema) -> Shown | None:
    """Return the description of the property at a cursor, or of the node that an identifier names; None without one."""
    root = outline(text)
    place = place_at(root, offset) if root is not None else None
    if root is None or place is None or place.token is None:
        return None
    token = place.token
    if not place.is_name:
        if (node := _target(root, place)) is None:
            return None
        heading = f"**{node.string('@id')}** ({node.string('@type').rpartition(':')[2] or 'node'})"
        text = "\n\n".join(filter(None, (heading, node.string("name"), node.string("description"))))
        return Shown(text, token.start, token.end)
    own = schema.at([*place.path[:-1], (place.container, token.text)])
    section = described([{"description": each["title"]} for each in schema.at(place.path[:-1]) if "title" in each])
    lines = [f"**{token.text}**", described(own), *([f"*{section}*"] if section else [])]
    return Shown("\n\n".join(filter(None, lines)), token.start, token.end) if own else None


def definition(text: str, offset: int) -> tuple[int, int] | None:
    """Return the place of the `@id` that the reference at a cursor names; None if it names none."""
    root = outline(text)
    place = place_at(root, offset) if root is not None else None
    target = _target(root, place) if root is not None and place is not None else None
    own = target.member("@id") if target is not None else None
    return (own.start, own.end) if own is not None else None


def references(text: str, offset: int) -> list[tuple[int, int]]:
    """Return the places of all references to the `@id` at a cursor, and of its definition."""
    root = outline(text)
    place = place_at(root, offset) if root is not None else None
    if root is None or place is None or place.token is None or not _is_identifier(place):
        return []
    owns = (each.member("@id") for each in values(root) if each.kind == "object")
    return [(own.start, own.end) for own in owns if own is not None and own.text == place.token.text]


def _is_identifier(place: Place) -> bool:
    return not place.is_name and place.path[-1][1] == "@id"


def _target(root: Value, place: Place) -> Value | None:
    if not _is_identifier(place) or place.token is None:
        return None
    return next((node for node in _nodes(root) if node.string("@id") == place.token.text), None)


def _nodes(root: Value) -> Iterator[Value]:
    """Yield the objects that define an identifier: those that say more than it."""
    return (each for each in values(root) if each.string("@id") and len(each.members) > 1)


def _identifiers(root: Value, place: Place) -> Iterator[tuple[Any, str]]:
    role = next((name for _, name in reversed(place.path[:-1]) if name), "")
    wanted = _REFERRED.get(role)
    for node in _nodes(root):
        kind = node.string("@type").rpartition(":")[2].rpartition("/")[2]
        if wanted is None or kind in wanted:
            yield node.member("@id"), kind


_Schema = Mapping[str, Any]
_BRANCHES = ("anyOf", "oneOf", "allOf")


class Schema:
    """A JSON Schema with references within itself, as those of `schemas/`."""

    def __init__(self, root: _Schema) -> None:
        self.root = root

    def at(self, path: Sequence[tuple[Value, str]]) -> list[_Schema]:
        """Return the schemas that apply to the value at a path: `path` has each container, and the name of what is in it."""
        found = list(self._branches(self.root))
        for container, name in path:
            fitting = [each for each in found if _fits(each, container)]
            found = [leaf for each in fitting for inner in _inner(each, name) for leaf in self._branches(inner)]
        return found

    def properties(self, schemas: Sequence[_Schema], container: Value) -> dict[str, _Schema]:
        """Return the properties that an object may have, each with its own schema."""
        fitting = [each for each in schemas if _fits(each, container)]
        return {name: own for each in fitting for name, own in each.get("properties", {}).items()}

    def _branches(self, schema: _Schema) -> Iterator[_Schema]:
        """Yield a schema and all that it refers to or combines."""
        yield schema
        if "$ref" in schema:
            yield from self._branches(self._referred(schema["$ref"]))
        for key in _BRANCHES:
            for each in schema.get(key, ()):
                yield from self._branches(each)

    def _referred(self, reference: str) -> _Schema:
        found: Any = self.root
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]
        return dict(found)


def _fits(schema: _Schema, container: Value) -> bool:
    """Return whether a schema is for the type that an object has, if it has any."""
    own = container.string("@type")
    allowed = schema.get("properties", {}).get("@type", {}).get("enum", ())
    return not own or not allowed or own in allowed


def _inner(schema: _Schema, name: str) -> Iterator[_Schema]:
    if not name:
        if "items" in schema:
            yield schema["items"]
        return
    if name in schema.get("properties", {}):
        yield schema["properties"][name]
        return
    for pattern, each in schema.get("patternProperties", {}).items():
        if re.search(pattern, name):
            yield each


def described(schemas: Sequence[_Schema]) -> str:
    """Return the first description of a value."""
    return next((each["description"] for each in schemas if "description" in each), "")


def proposed(schemas: Sequence[_Schema]) -> list[Any]:
    """Return the values that schemas allow or give as examples."""
    found: dict[Any, None] = {}
    for schema in schemas:
        names = [schema["const"]] if "const" in schema else []
        for value in [*names, *schema.get("enum", ()), *schema.get("examples", ())]:
            if isinstance(value, str | bool | int | float):
                found[value] = None
        if schema.get("type") == "boolean":
            found |= {True: None, False: None}
    return list(found)
