"""Internal: A description as text to edit: edits of its JSON leave the rest as the author wrote it."""

from __future__ import annotations

import codecs
import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Any

from corpusfmt.formats.croissant.model.graph import Description, View
from corpusfmt.formats.croissant.model.jsontree import TOKEN, Node, Places, name_at, parent_of
from corpusfmt.formats.croissant.model.shapes import Property, properties_of
from corpusfmt.io.paths import Entry
from corpusfmt.io.text import escaped
from corpusfmt.model import Edit, Finding, Fix

_MOST_BYTES = 1024 * 1024
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_UTF8_MARKS = re.compile(rb"(?:\xef\xbb\xbf)+")
_MOST_SLIPS = 1_000
# Strings are matched to be passed over.
_SLIP = re.compile(r'"(?:[^"\\]++|\\.)*+"|(?P<comma>,)\s*+[}\]]|(?P<constant>NaN|-?Infinity)', re.DOTALL)


def fix_of_bytes(data: bytes) -> Fix | None:
    """Return how to write a description as UTF-8 without a byte order mark: safely, if a mark shows its encoding."""
    if mark := _UTF8_MARKS.match(data):
        return Fix((Edit(0, mark.end(), ""),))
    if len(data) > _MOST_BYTES:
        return None
    encoding = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "cp1252")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return Fix((Edit(0, len(data), text),), safe=encoding != "cp1252")


def fix_of_syntax(finding: Finding, text: str, places: Places) -> Fix | None:
    """Return the repair of a common JSON mistake: a comma before a closing bracket, a malformed number.

    It includes all mistakes of that kind that precede another error.
    """
    slips = (found for found in _SLIP.finditer(text) if found.lastgroup)
    first = next((found for found in slips if _is_at(found, finding, places)), None)
    if first is None:
        return None
    alike = [first, *islice((found for found in slips if found.lastgroup == first.lastgroup), _MOST_SLIPS)]
    kind = first.lastgroup or ""
    new = "null" if kind == "constant" else ""
    end = _end_of_json(_SLIP.sub(lambda found: _blanked(found, kind), text))
    spans = [found.span(kind) for found in alike if found is first or found.start() < end]
    edits = (Edit(places.byte_at(start), places.byte_at(stop), new) for start, stop in spans)
    return Fix(tuple(edits), safe=kind == "comma")


def _is_at(found: re.Match[str], finding: Finding, places: Places) -> bool:
    # Versions of Python report a comma too many at the comma or at the bracket behind it.
    start, end = places.byte_at(found.start()), places.byte_at(found.end())
    byte = finding.location.byte
    return byte is not None and (start == byte or (found.lastgroup == "comma" and start <= byte <= end))


def _blanked(found: re.Match[str], kind: str) -> str:
    """Return a text of the same length, without a mistake of this kind."""
    piece = found.group()
    if found.lastgroup != kind:
        return piece
    return f" {piece[1:]}" if kind == "comma" else "0".ljust(len(piece))


def _end_of_json(text: str) -> int:
    try:
        json.loads(text, parse_int=float)
    except json.JSONDecodeError as error:
        return error.pos
    except RecursionError:
        return 0
    return len(text)


class NoPlace(Exception):
    """The text has another form than an edit needs: the finding has no repair."""


ABSENT = object()
_MOST_EDITS = 50_000
_IN_A_LIST = re.compile(r"/(?:key|containedIn)/\d+$")
_IN_A_RECORD = re.compile(r"/(?:\w+:)?(?:data|examples)(?:/\d+)?/[^/]+$")


class Draft:
    """One JSON text, its content, and edits of it."""

    def __init__(
        self, places: Places, tree: Any, description: Description | None, folder: Entry, *, reading: bool
    ) -> None:
        self.places = places
        self.text = places.text
        self.tree = tree
        self.folder = folder
        #: Whether files next to the description may be read to their end.
        self.reading = reading
        #: The number of further edits that repairs may request, so that hostile data cannot request millions.
        self.edits_left = _MOST_EDITS
        #: The names that repairs add, by object: no other repair adds the same, so none is written twice.
        self._names: dict[tuple[str, str], Edit] = {}
        self._description = description

    @property
    def is_understood(self) -> bool:
        """Whether its names have a meaning."""
        return self._description is not None

    @property
    def description(self) -> Description:
        """The model of the text; only for a text that has one."""
        assert self._description is not None
        return self._description

    @property
    def end(self) -> int:
        """The byte of the file behind this text."""
        return self.places.byte_at(len(self.text))

    def at(self, pointer: str) -> object:
        """Return the value at a JSON pointer, `ABSENT` if there is none.

        Descriptions have any value anywhere; therefore its type is not `Any`.
        """
        value: object = self.tree
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and name in value:
                value = value[name]
            elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
                value = value[int(name)]
            else:
                return ABSENT
        return value

    def object_at(self, pointer: str) -> dict[str, Any]:
        """Return the object at a JSON pointer, an empty one if there is none."""
        value = self.at(pointer)
        return value if isinstance(value, dict) else {}

    def list_at(self, pointer: str) -> list[Any]:
        """Return the array at a JSON pointer, an empty one if there is none."""
        value = self.at(pointer)
        return value if isinstance(value, list) else []

    def values_at(self, pointer: str) -> Iterator[tuple[str, Any]]:
        """Yield the elements of an array with their pointers, or any other value alone."""
        value = self.at(pointer)
        if isinstance(value, list):
            yield from ((f"{pointer}/{index}", each) for index, each in enumerate(value))
        else:
            yield pointer, value

    def text_at(self, pointer: str) -> str:
        """Return the string at a JSON pointer, an empty one if there is none."""
        value = self.at(pointer)
        return value if isinstance(value, str) else ""

    def holder_of(self, pointer: str) -> str:
        """Return the pointer of the object that a value is in, also if it is in arrays."""
        above = parent_of(pointer)
        while above and isinstance(self.at(above), list):
            above = parent_of(above)
        return above

    @cached_property
    def repetitions(self) -> dict[int, Fix]:
        """The repairs of names that are repeated with the same value, by the bytes of the later names."""
        fixes = {}
        for nodes in self.places.repeated():
            values = {self.text[node.value : node.end] for node in nodes}
            if len(values) > 1 or values.pop()[0] in "{[":
                continue  # readers take the first value, or the last
            for node in nodes[1:]:
                comma = self.text.rindex(",", 0, node.start)
                edit = Edit(self.places.byte_at(comma), self.places.byte_at(node.end), "")
                fixes[self.places.byte_at(node.start)] = Fix((edit,))
        return fixes

    def spelled(self, pointer: str) -> str:
        """Return the text of a value: as a version, 1.10 is not 1.1."""
        node = self._node(pointer)
        return self.text[node.value : node.end]

    @cached_property
    def views(self) -> dict[str, View]:
        """The nodes of Croissant's and other known classes, by pointer."""
        nodes = (*self.description.terms, *self.description.parts) if self.is_understood else ()
        return {view.node.pointer: view for view in nodes}

    def property_at(self, pointer: str) -> Property | None:
        """Return the row of a property in the table of its class, None if it has none."""
        above, _, key = pointer.rpartition("/")
        view = self.views.get(above)
        rows = properties_of(view.shape, self.description.version) if view is not None else ()
        return next((row for row in rows if view is not None and escaped(view.key(row.name)) == key), None)

    @cached_property
    def ids(self) -> frozenset[str]:
        """Every identifier that the text defines or names."""
        return frozenset(text for text, pointer, _ in self._mentions if pointer.endswith("/@id"))

    @cached_property
    def taken(self) -> set[str]:
        """The identifiers of nodes, and those that repairs give them."""
        return {*self.description.definitions, *(str(view.node.written_id) for view in self.views.values())}

    def mentions(self, text: str, *, below: bool = False) -> list[tuple[str, str, bool]]:
        """Return where a text names a node: text, pointer, and whether it is the key of a record; with `below` also nodes
        whose identifiers begin with it and a slash.
        """
        found = self._between(text, f"{text}\0")
        return [*found, *self._between(f"{text}/", f"{text}0")] if below else found

    def _between(self, first: str, last: str) -> list[tuple[str, str, bool]]:
        start, end = (bisect_left(self._mentions, (each,)) for each in (first, last))
        return self._mentions[start:end]

    @cached_property
    def _mentions(self) -> list[tuple[str, str, bool]]:
        found = []
        pending: list[tuple[str, Any]] = [("", self.tree)]
        while pending:
            pointer, value = pending.pop()
            if isinstance(value, dict):
                pending += [(f"{pointer}/{escaped(key)}", each) for key, each in value.items() if key != "@context"]
            elif isinstance(value, list):
                pending += [(f"{pointer}/{index}", each) for index, each in enumerate(value)]
            name = name_at(pointer)
            if isinstance(value, str) and (name in ("@id", "key", "containedIn") or _IN_A_LIST.search(pointer)):
                found.append((value, pointer, False))
            if _IN_A_RECORD.search(pointer):
                found.append((name, pointer, True))
        return sorted(found)

    def replace(self, pointer: str, value: Any) -> Edit:
        """Replace the value at a pointer."""
        node = self._node(pointer)
        return self._edit(node.value, node.end, self._dumped(value, node.start))

    def rename(self, pointer: str, name: str) -> Edit:
        """Rename a member of an object that has no other of the name."""
        start = self._node(pointer).start
        above = parent_of(pointer)
        holder = self.at(above)
        if not isinstance(holder, dict) or name in holder:
            raise NoPlace
        match = TOKEN.match(self.text, start)
        assert match is not None
        return self._named(above, name, self._edit(start, match.end(), self._dumped(name, start)))

    def merge(self, pointer: str, name: str) -> tuple[Edit, Edit]:
        """Add the values of a member of an object to another one, as one list of different values, and remove the member."""
        into = f"{pointer.rpartition('/')[0]}/{escaped(name)}"
        values = [self.at(into), self.at(pointer)]
        listed = [each for value in values for each in (value if isinstance(value, list) else [value])]
        if not all(isinstance(each, str) for each in listed):
            raise NoPlace
        different = list(dict.fromkeys(listed))
        return self.replace(into, different if len(different) > 1 else different[0]), self.remove(pointer)

    def remove(self, pointer: str) -> Edit:
        """Remove a member of an object or an array, with its comma."""
        node, siblings = self._node(pointer), self._inside(parent_of(pointer))
        index = bisect_left(siblings, node.start, key=lambda each: each.start)
        if index + 1 < len(siblings):
            return self._edit(node.start, siblings[index + 1].start, "")
        return self._edit(siblings[index - 1].end if index else node.start, node.end, "")

    def insert(self, pointer: str, name: str, value: Any) -> Edit:
        """Add a member at the end of an object, spaced like the one before it, or in place of a null."""
        holder = self.at(pointer)
        if isinstance(holder, dict) and name in holder and holder[name] is None:
            return self.replace(f"{pointer}/{escaped(name)}", value)
        if not isinstance(holder, dict) or name in holder:
            raise NoPlace  # a second time, under a context that gives the name another meaning
        text = f"{json.dumps(name, ensure_ascii=False)}{self._colon(pointer)}"
        return self._named(pointer, name, self._add(pointer, text, value))

    def _named(self, pointer: str, name: str, edit: Edit) -> Edit:
        if self._names.setdefault((pointer, name), edit) != edit:
            raise NoPlace
        return edit

    def append(self, pointer: str, value: Any) -> Edit:
        """Add an element at the end of an array, spaced like the one before it."""
        if not isinstance(self.at(pointer), list):
            raise NoPlace
        return self._add(pointer, "", value)

    def _add(self, pointer: str, name: str, value: Any) -> Edit:
        inside = self._inside(pointer)
        if not inside:
            start = self._nodes[pointer].value + 1
            return self._edit(start, start, name + self._dumped(value, start))
        last = inside[-1]
        space = self._space_before(last.start)
        if not space and len(inside) > 1:
            space = self._space_before(inside[-2].start)
        return self._edit(last.end, last.end, f",{space}{name}{self._dumped(value, last.start)}")

    def lead(self, pointer: str, name: str, value: Any) -> Edit:
        """Add a member at the beginning of an object."""
        inside = self._inside(pointer)
        if not inside or name in self.object_at(pointer) or not isinstance(self.at(pointer), dict):
            return self.insert(pointer, name, value)
        start = inside[0].start
        text = f"{json.dumps(name, ensure_ascii=False)}{self._colon(pointer)}{self._dumped(value, start)}"
        return self._named(pointer, name, self._edit(start, start, f"{text},{self._space_before(start) or ' '}"))

    def declare(self, term: str, definition: Any) -> Edit:
        """Define a term in the context of the document."""
        context = self.at("/@context")
        if isinstance(context, dict):
            pointer = f"/@context/{escaped(term)}"
            return self.replace(pointer, definition) if term in context else self.insert("/@context", term, definition)
        if isinstance(context, list):
            objects = [index for index, each in enumerate(context) if isinstance(each, dict)]
            if not objects:
                return self.append("/@context", {term: definition})
            place = f"/@context/{objects[-1]}"
            if term in context[objects[-1]]:
                return self.replace(f"{place}/{escaped(term)}", definition)
            return self.insert(place, term, definition)
        if context is ABSENT:
            return self.lead("", "@context", {term: definition})
        return self.replace("/@context", [context, {term: definition}])

    def wrap(self, pointer: str, name: str) -> Edit:
        """Put a member of an object into an object of its own, under another name."""
        node = self._node(pointer)
        member = self._edit(node.start, node.end, f'"{name}": {{{self.text[node.start : node.end]}}}')
        return self._named(parent_of(pointer), name, member)

    def _edit(self, start: int, end: int, text: str) -> Edit:
        # Inside of a web page "</" would end the script.
        return Edit(self.places.byte_at(start), self.places.byte_at(end), text.replace("</", "<\\/"))

    def _space_before(self, offset: int) -> str:
        start = offset
        while start and self.text[start - 1] in " \t\r\n":
            start -= 1
        return self.text[start:offset]

    def _colon(self, pointer: str) -> str:
        for node in self._inside(pointer):
            name = TOKEN.match(self.text, node.start)
            if name is not None and node.value > name.end():
                return self.text[name.end() : node.value]
        return ": "

    def _dumped(self, value: Any, offset: int) -> str:
        """Return JSON as it is written at a place: on separate lines, indented like the text, or on one line."""
        is_nested = isinstance(value, dict) or (
            isinstance(value, list) and any(isinstance(each, dict | list) for each in value)
        )
        if self._unit is None or not is_nested:
            return json.dumps(value, ensure_ascii=False)
        line = self.text[self.text.rfind("\n", 0, offset) + 1 : offset]
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        return json.dumps(value, ensure_ascii=False, indent=self._unit).replace("\n", "\n" + indent)

    @cached_property
    def _unit(self) -> str | None:
        """The indentation of one level; None if the text is on one line."""
        found = re.match(r"\s*[{\[][ \t]*\r?\n([ \t]+)", self.text)
        return found.group(1) if found else None

    @cached_property
    def _nodes(self) -> dict[str, Node]:
        return {node.pointer: node for node in self.places.nodes()}

    @cached_property
    def _below(self) -> dict[int, list[Node]]:
        below: dict[int, list[Node]] = {}
        for node in self.places.nodes():
            below.setdefault(node.above, []).append(node)
        return below

    def _node(self, pointer: str) -> Node:
        if pointer not in self._nodes:
            raise NoPlace
        return self._nodes[pointer]

    def _inside(self, pointer: str) -> list[Node]:
        return self._below.get(self._nodes[pointer].value, [])
