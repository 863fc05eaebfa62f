"""Internal: Descriptions in RDF, read by rdflib and nested as JSON-LD.

Values stay in the order of the file. A node is where the specification has it, and a reference elsewhere.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from itertools import chain, islice
from typing import Any
from xml.parsers import expat

from pyld import jsonld
from rdflib import RDF, XSD, BNode, Graph, Literal, URIRef, term
from rdflib.plugins.parsers.notation3 import BadSyntax

from corpusfmt.formats.croissant.model.contexts import appendix
from corpusfmt.formats.croissant.model.expand import BASE
from corpusfmt.formats.croissant.model.jsontree import Places
from corpusfmt.formats.croissant.model.nodes import LATER_NAMESPACES, NAMESPACES, OTHER_NAMESPACES, short
from corpusfmt.formats.croissant.model.shapes import SHAPES, TASKS
from corpusfmt.formats.croissant.model.version import VERSION_IRI
from corpusfmt.io.limits import bounded_memory, meter
from corpusfmt.io.text import JsonFault, parsed_json, path_to
from corpusfmt.model import Location

# The parsers of rdflib need several times the size of a file, and for some texts its square in time.
_MOST_BYTES = 8 * 1024 * 1024
_MOST_MEMORY = 256 * 1024 * 1024
_MOST_TRIPLES, _MOST_NODES = 100_000, 40_000
# Nodes below so many others are at the top of the document.
_MOST_LEVELS = 40
_MOST_KEYS = 100
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_NUMBERS = {XSD.integer, XSD.decimal, XSD.double, XSD.float}
# More digits are not exact in every reader of JSON.
_MOST_DIGITS = 15

# What a document is about, unless one of these names it.
_MAIN = {"sc:Dataset", *TASKS}
_OWNING = {"sc:distribution", "cr:recordSet", "cr:field", "cr:subField", "cr:annotation"}
# As readers expect them, also where there is only one.
_LISTED = {
    "distribution": {"@id": "sc:distribution", "@container": "@set"},
    "recordSet": {"@id": "cr:recordSet", "@container": "@set"},
}
# In the specification a URL is a text; in RDF it may be an IRI.
_TEXTS = {row.name for shape in SHAPES.values() for row in shape.properties if "URL" in row.kinds}
_PREFIXES = (*NAMESPACES.items(), *OTHER_NAMESPACES.items(), *LATER_NAMESPACES.items(), ("xsd", str(XSD)))


class RdfFault(Exception):
    """A file is not RDF from `line` on, or (`is_large`) too much of it."""

    def __init__(self, reason: str, line: int | None = None, *, is_large: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.is_large = is_large


class NodePlaces(Places):
    """The places of a description in RDF: the identifier of the nearest node that has one, and the pointer in JSON-LD."""

    def __init__(self, path: str, tree: Any) -> None:
        super().__init__(path, "")
        self._tree = tree

    def of(self, pointer: str) -> Location:
        value, name = self._tree, self._tree.get("@id")
        for step in path_to(pointer) if pointer else ():
            if isinstance(value, list):
                value = value[int(step)]
            else:
                value = value.get(step) if isinstance(value, dict) else None
            if isinstance(value, dict) and len(value) > 1:  # no reference to another node
                name = value.get("@id", name)
        return Location(self.path, pointer=pointer, record=name)


def as_json_ld(data: bytes, syntax: str) -> dict[str, Any]:
    """Return a description in the syntax "turtle" (which includes N-Triples) or "xml" as JSON-LD. Raises `RdfFault`."""
    if len(data) > _MOST_BYTES:
        raise RdfFault(f"{len(data):,} bytes of RDF, the limit is {_MOST_BYTES:,}", is_large=True)
    try:
        with bounded_memory(_MOST_MEMORY):
            return _Nesting(_triples(data, syntax)).document()
    except MemoryError:
        raise RdfFault("the triples do not fit into memory", is_large=True) from None


class _Triples(Graph):
    """Triples in the order of the file, without indexes, and how it declares the usual prefixes."""

    def __init__(self) -> None:
        super().__init__(bind_namespaces="none")
        self.nodes: dict[Any, dict[URIRef, dict[Any, None]]] = {}
        self.declared: dict[str, str] = {}
        self._left = _MOST_TRIPLES

    def add(self, triple: Any) -> _Triples:
        subject, predicate, value = triple
        self.nodes.setdefault(subject, {}).setdefault(predicate, {})[value] = None
        self._left -= 1
        if self._left < 0 or len(self.nodes) > _MOST_NODES:
            raise RdfFault(f"more than {_MOST_TRIPLES:,} triples or {_MOST_NODES:,} nodes", is_large=True)
        return self

    def bind(self, prefix: str | None, namespace: Any, *_: Any, **__: Any) -> None:
        if prefix in NAMESPACES:
            self.declared[prefix] = str(namespace)


def _triples(data: bytes, syntax: str) -> _Triples:
    found = _Triples()
    try:
        if syntax == "xml":
            _refuse_other_files(data)
        with _as_written():
            found.parse(BytesIO(data), format=syntax, publicID=BASE)
    except (MemoryError, RdfFault):
        raise
    except BadSyntax as error:
        raise RdfFault(f"not Turtle: {error.args[-1]}", error.lines + 1) from error
    except expat.ExpatError as error:
        raise RdfFault(f"not XML: {expat.ErrorString(error.code)}", error.lineno) from error
    except Exception as error:  # rdflib has no common error, and crashes on some files
        meter().check()
        raise RdfFault(f"not RDF: {error}", is_large=isinstance(error, RecursionError)) from error
    return found


def _refuse_other_files(data: bytes) -> None:
    """Raise `RdfFault` for XML with parts in other files, which rdflib would leave out."""
    reader = expat.ParserCreate()

    def refuse(name: str, _: bool, value: str | None = None, *__: object) -> None:
        if value is None:
            raise RdfFault(f"the entity `{name}` is in another file, which is not read", reader.CurrentLineNumber)

    reader.EntityDeclHandler = reader.SkippedEntityHandler = refuse
    reader.Parse(data, True)


@contextmanager
def _as_written() -> Iterator[None]:
    """Keep literals as they are: rdflib would write "01" as "1", parse XML in them, and log what it cannot read."""
    conversions, log = term._toPythonMapping, logging.getLogger(term.__name__)  # noqa: SLF001 - no public way
    kept, log.disabled = dict(conversions), True
    conversions.clear()
    try:
        yield
    finally:
        conversions.update(kept)
        log.disabled = False


class _Nesting:
    """Puts nodes into each other, each once, and writes them as JSON-LD."""

    def __init__(self, found: _Triples) -> None:
        self._nodes = found.nodes
        self._declared = found.declared
        self._mentions = Counter(chain.from_iterable(v for node in found.nodes.values() for v in node.values()))
        languages = Counter(each.language for each in self._mentions if isinstance(each, Literal) and each.language)
        self._language = max(languages, key=lambda name: languages[name], default=None)
        self._base = self._base_of_keys()
        self._lists = self._take_lists()
        self._labels: dict[BNode, str] = {}
        #: The node and property that a node is in; for one that was written, None.
        self._holders: dict[Any, tuple[Any, URIRef] | None] = {}

    def document(self) -> dict[str, Any]:
        """Return the nodes that are in no other, under the context of Appendix 1."""
        main = {node for node, each in self._nodes.items() if not _MAIN.isdisjoint(map(short, each.get(RDF.type, ())))}
        inner = {value for node in main for _, value in self._below(node)}
        tops: list[Any] = []
        for node in sorted(self._nodes, key=lambda each: (each not in main, each in inner, self._mentions[each] > 0)):
            if node not in self._holders:
                tops.append(node)
                for owning in (True, False):
                    self._place_below(node, owning=owning)
        context = self._context()
        # PyLD cannot reset a language, and mlcroissant fails without any.
        used = {name: each for name, each in context.items() if each is not None} | _LISTED
        try:
            document: dict[str, Any] = jsonld.compact(
                [self._node(each) for each in tops], used, {"skipExpansion": True}
            )
        except jsonld.JsonLdError as error:
            raise RdfFault(f"`{error.details['iri']}` has a prefix that is not declared") from error
        return document | {"@context": context}

    def _take_lists(self) -> dict[Any, list[Any]]:
        """Remove the cells of lists, and return the items of each by its head; other nodes with such properties stay."""
        cells = {
            node: [*each[RDF.first], *each[RDF.rest]]
            for node, each in self._nodes.items()
            if isinstance(node, BNode) and each.keys() == {RDF.first, RDF.rest} and self._mentions[node] == 1
        }
        lists: dict[Any, list[Any]] = {RDF.nil: []}
        for head in cells.keys() - {cell[-1] for cell in cells.values()}:
            taken, cell = [], head
            while len(cells.get(cell, ())) == 2:
                taken.append(cell)
                cell = cells[cell][1]
            items = [cells[each][0] for each in taken]
            if cell == RDF.nil and cells.keys().isdisjoint(items):
                lists[head] = items
                for each in taken:
                    del self._nodes[each]
        return lists

    def _below(self, node: Any) -> Iterator[tuple[URIRef, Any]]:
        for predicate, values in self._nodes[node].items():
            for value in values if predicate != RDF.type else ():
                yield from ((predicate, each) for each in self._lists.get(value, (value,)) if each in self._nodes)

    def _place_below(self, top: Any, *, owning: bool) -> None:
        self._holders[top] = None
        pending, seen = deque([(top, 0)]), {top}
        while pending:
            node, level = pending.popleft()
            for predicate, value in self._below(node):
                if level < _MOST_LEVELS and (not owning or short(predicate) in _OWNING):
                    self._holders.setdefault(value, (node, predicate))
                if self._holders.get(value) == (node, predicate) and value not in seen:
                    seen.add(value)
                    pending.append((value, level + 1))

    def _node(self, node: Any) -> dict[str, Any]:
        written: dict[str, Any] = {}
        if isinstance(node, URIRef) or self._mentions[node] > (self._holders[node] is not None):
            written["@id"] = self._id(node)
        for predicate, values in self._nodes[node].items():
            if predicate == RDF.type and all(isinstance(each, URIRef) for each in values):
                written["@type"] = list(map(str, values))
            else:
                written[str(predicate)] = [self._value(node, predicate, each) for each in values]
        return written

    def _value(self, node: Any, predicate: URIRef, value: Any) -> dict[str, Any]:
        if value in self._lists:
            return {"@list": [self._value(node, predicate, each) for each in self._lists[value]]}
        if isinstance(value, Literal):
            return _literal(value)
        if value not in self._nodes:
            if isinstance(value, URIRef) and short(predicate) in _TEXTS:
                return {"@value": self._id(value)} | ({"@language": self._language} if self._language else {})
            if isinstance(value, BNode) and self._mentions[value] == 1:
                return {}
        elif self._holders[value] == (node, predicate):
            written = self._node(value)
            self._holders[value] = None
            return written
        return {"@id": self._id(value)}

    def _id(self, node: Any) -> str:
        if isinstance(node, BNode):
            return self._labels.setdefault(node, f"_:b{len(self._labels)}")
        rest = node.removeprefix(self._base)
        return str(node if not rest or ":" in rest or rest[0] in "/?#." else rest)

    def _base_of_keys(self) -> str:
        """Return the IRI of the file in which the keys of inline records were the identifiers of fields."""
        if any(node.startswith(BASE) for node in self._nodes):
            return BASE
        literals = (each for each in self._mentions if isinstance(each, Literal) and each.datatype == RDF.JSON)
        values = [_literal(each)["@value"] for each in literals]
        rows = [row for each in values for row in (each if isinstance(each, list) else [each])]
        for key in islice((key for row in rows if isinstance(row, dict) for key in row if key), _MOST_KEYS):
            for node in self._nodes:
                if node.endswith((f"/{key}", f"#{key}")):
                    return str(node[: -len(key)])
        return BASE

    def _context(self) -> dict[str, Any]:
        """Return the context of Appendix 1 with the language, the prefixes and the form of schema.org that are used."""
        typed = (_literal(each).get("@type", "") for each in self._mentions if isinstance(each, Literal))
        objects = (each for each in self._mentions if isinstance(each, URIRef))
        used = {str(each) for each in chain(objects, typed, *self._nodes.values())}

        def uses_of(namespace: str) -> int:
            return sum(each.startswith(namespace) for each in used)

        version = "1.1" if any(str(each) == f"{VERSION_IRI}1.1" for each in self._mentions) else "1.0"
        context = appendix(version) | {"@language": self._language}
        schema_org = max(context["sc"], "https://schema.org/", "http://schema.org/", key=uses_of)
        context |= {"@vocab": schema_org, "sc": schema_org}
        context |= {prefix: each for prefix, each in self._declared.items() if uses_of(each)}
        return context | {prefix: each for prefix, each in _PREFIXES if prefix not in context and uses_of(each)}


def _literal(value: Literal) -> dict[str, Any]:
    text, kind = str(value), value.datatype
    if value.language:
        return {"@value": text, "@language": value.language}
    if kind == RDF.JSON:
        with suppress(JsonFault):
            return {"@value": parsed_json(text).value, "@type": "@json"}
        return {"@value": text, "@type": "@json"}
    if kind == XSD.boolean and text in _BOOLEANS:
        return {"@value": _BOOLEANS[text]}
    if kind in _NUMBERS and len(text) <= _MOST_DIGITS:
        with suppress(JsonFault):
            number = parsed_json(text).value
            if isinstance(number, int | float):
                return {"@value": number}
    return {"@value": text, "@type": str(kind)} if kind and kind != XSD.string else {"@value": text}
