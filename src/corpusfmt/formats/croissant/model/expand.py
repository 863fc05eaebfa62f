"""Internal: Offline JSON-LD expansion that keeps the place of every node in the author's text.

Simple descriptions (one context object of simple terms) are expanded here in one pass, all others with PyLD. Tests
check that both give the same nodes. For PyLD, each node carries its number as a private property.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import chain
from typing import Any
from typing import Literal as OneOf

from msgspec import Struct, field

from corpusfmt.formats.croissant.model.contexts import (
    NotSimple,
    PlacedContext,
    bundled,
    contexts_of,
    is_absolute,
    is_keyword_like,
    json_terms,
    likely_terms,
    simple_terms,
)
from corpusfmt.formats.croissant.model.nodes import MISTAKEN_NAMESPACES, Literal, Node, Value, as_meant, short
from corpusfmt.formats.croissant.model.wording import clip
from corpusfmt.io.limits import meter
from corpusfmt.io.text import escaped

# JSON-LD never reads a name with "//" after its colon as a compact IRI, with any prefixes in the context.
_STAMP = "corpusfmt://place"
#: What relative IRIs are resolved against, and without again afterwards.
BASE = "https://document.invalid/"

# Schemes of absolute IRIs; other registered schemes do not occur in names of properties or classes.
_SCHEMES = frozenset(
    ("ark", "data", "doi", "file", "ftp", "gs", "http", "https", "info", "ipfs", "mailto", "s3", "tag", "urn", "_"),
)

FaultKind = OneOf["context", "remote", "syntax", "value"]


class ExpansionFault(Exception):
    """The document cannot be expanded as JSON-LD."""

    def __init__(self, kind: FaultKind, reason: str, pointer: str = "", hint: str = "") -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.pointer = pointer
        self.hint = hint


class Expansion(Struct):
    """The nodes of a document (`nodes` at the top, `every` node in document order), and what the expansion found.

    `names` maps the IRIs of all properties and classes to their short names, `undeclared` a prefix that no context declares
    to the pointers of its uses; `namespaces` maps mistaken namespace IRIs and both forms of schema.org to the pointer of their
    first use.
    """

    nodes: list[Node]
    contexts: list[PlacedContext]
    every: list[Node] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    undeclared: dict[str, list[str]] = field(default_factory=dict)
    namespaces: dict[str, str] = field(default_factory=dict)
    ids_not_strings: list[tuple[str, Any]] = field(default_factory=list)

    def short(self, iri: str, pointer: str) -> str:
        """Return the short name of an IRI that is used at a pointer."""
        name = self.names.get(iri)
        if name is None:
            name = self.names[iri] = short(iri)
            namespace = iri[: len(iri) - len(name.partition(":")[2])]
            if name is not iri and (namespace in MISTAKEN_NAMESPACES or name.startswith("sc:")):
                self.namespaces.setdefault(namespace, pointer)
        if name is iri:
            prefix, colon, rest = iri.partition(":")
            if colon and prefix not in _SCHEMES and not rest.startswith("//"):
                self.undeclared.setdefault(prefix, []).append(pointer)
        return name


def expand(tree: Any) -> Expansion:
    """Expand a JSON document decoded by `parse`. Raises `ExpansionFault`."""
    try:
        return _Simple(tree).expansion
    except NotSimple:
        return expand_fully(tree)


class _Simple:
    """Expands a simple document; raises `NotSimple` at the first thing that is not simple."""

    def __init__(self, tree: Any) -> None:
        if not isinstance(tree, dict):
            raise NotSimple
        context = tree.get("@context")
        self._terms = simple_terms(as_meant(context))
        #: What each name means (None if the context drops it), how its values are read, and its step in a JSON pointer.
        self._meanings: dict[str, tuple[str | None, str, str]] = {}
        self.expansion = Expansion([], [PlacedContext("/@context", context)])
        self.expansion.nodes.append(self._node(tree, "", ""))

    def _node(self, raw: dict[str, Any], pointer: str, role: str) -> Node:
        node = Node(pointer, role=role)
        self.expansion.every.append(node)
        for key, value in raw.items():
            if key[:1] == "@":
                self._keyword(node, key, value)
                continue
            if key not in self._meanings:
                iri = self._terms.iri(key)
                known = iri if iri is not None and ":" in iri else None
                self._meanings[key] = known, self._terms.coercions.get(key, ""), f"/{escaped(key)}"
            iri, coercion, step = self._meanings[key]
            place = pointer + step
            if iri is None:
                node.dropped[key] = place
                continue
            values = self._values(value, coercion, place, key)
            if values or isinstance(value, list):
                name = self.expansion.short(iri, place)
                if name in node.keys:
                    raise NotSimple  # two spellings of one property: the full algorithm decides their order
                node.keys[name] = key
                node.values[name] = values
        return node

    def _keyword(self, node: Node, key: str, value: Any) -> None:
        if key == "@id" and isinstance(value, str):
            node.written_id = value
            node.id = self._id(value)
        elif key == "@type" and isinstance(value, str | list):
            for each in value if isinstance(value, list) else [value]:
                if not isinstance(each, str):
                    raise NotSimple
                node.types.append(self.expansion.short(self._class(each), f"{node.pointer}/@type"))
        elif not (key == "@context" and not node.pointer) and not (key == "@language" and isinstance(value, str)):
            raise NotSimple

    def _class(self, name: str) -> str:
        iri = self._terms.iri(name)
        if iri is None or name[:1] == "@":
            raise NotSimple
        return iri

    def _id(self, written: str) -> str:
        if ":" in written:
            absolute = self._terms.absolute(written)
            if absolute is None or written[0] == ":":
                raise NotSimple
            return absolute
        if not written or written[0] in "/?#.@" or "/." in written:
            raise NotSimple
        return written

    def _values(self, value: Any, coercion: str, pointer: str, key: str) -> list[Value]:
        if coercion == "@json":
            return [Literal(value, pointer, "@json")]
        if isinstance(value, str):
            if coercion == "@vocab":
                return [self._reference(self._class(value), value, pointer, key)]
            if coercion == "@id":
                return [self._reference(self._id(value), value, pointer, key)]
            return [Literal(value, pointer, "", self._terms.language)]
        if isinstance(value, dict):
            return [self._node(value, pointer, key)]
        if isinstance(value, list):
            items = (self._values(each, coercion, f"{pointer}/{index}", key) for index, each in enumerate(value))
            return list(chain.from_iterable(items))
        return [] if value is None else [Literal(value, pointer)]

    def _reference(self, iri: str, written: str, pointer: str, key: str) -> Node:
        self.expansion.short(iri, pointer)
        reference = Node(pointer, iri, written, role=key)
        self.expansion.every.append(reference)
        return reference


def expand_fully(tree: Any) -> Expansion:
    """Expand a document with PyLD. Raises `ExpansionFault`."""
    if not isinstance(tree, dict | list):
        return Expansion([], [])
    return _Full(tree).expansion


class _Full:
    """Stamps nodes with their numbers, expands them with PyLD, and reads the result back."""

    def __init__(self, tree: Any) -> None:
        self._contexts = contexts_of(tree)
        self.expansion = Expansion([], self._contexts)
        if len(self._contexts) > _MOST_CONTEXTS:
            reason = f"{len(self._contexts)} contexts, the limit is {_MOST_CONTEXTS}"
            hint = "write one `@context` object for the whole document"
            raise ExpansionFault("context", reason, self._first_context(), hint)
        for context in self._contexts:
            if isinstance(context.value, str) and bundled(context.value) is None:
                reason = f"remote context `{context.value}`: nothing is fetched"
                raise ExpansionFault("remote", reason, context.pointer, "write the context into the document")
        self._terms = likely_terms([PlacedContext(each.pointer, as_meant(each.value)) for each in self._contexts])
        self._opaque = {term for context in self._contexts for term in json_terms(context.value)}
        self._maps = {term for context in self._contexts for term in _map_terms(context.value)}
        self._ids_named = self._meaning("@id")
        self._values_named = self._meaning("@value", "@list", "@set")
        self._stamped: list[tuple[str, dict[str, Any]]] = []
        stamped = self._with_stamps(tree, "", stamp=True)
        if len(self._stamped) > _MOST_NODES:
            reason = f"{len(self._stamped)} nodes, the limit under this context is {_MOST_NODES}"
            hint = "write one `@context` object of simple terms, as in the specification"
            raise ExpansionFault("syntax", reason, hint=hint)
        for item in self._pyld(stamped):
            self._take_top(item)

    def _meaning(self, *keywords: str) -> set[str]:
        """Return some keywords, and the terms that mean the same."""
        return {*keywords, *(name for name, iri in self._terms.iris.items() if iri in keywords)}

    def _with_stamps(self, value: Any, pointer: str, *, stamp: bool) -> Any:
        if isinstance(value, list):
            return [self._with_stamps(each, f"{pointer}/{index}", stamp=stamp) for index, each in enumerate(value)]
        if not isinstance(value, dict):
            return value
        copy: dict[str, Any] = {}
        for name, each in value.items():
            if name == "@context" or name in self._opaque:
                copy[name] = as_meant(each) if name == "@context" else each
                if name == "@context" and not pointer and isinstance(each, dict) and each.get("@language", "") is None:
                    del copy[name]["@language"]  # PyLD cannot reset a language that is not set
            elif name in self._ids_named and not isinstance(each, str):
                self.expansion.ids_not_strings.append((f"{pointer}/{escaped(name)}", each))
            else:
                is_node = name not in self._maps and name not in ("@nest", "@reverse")
                copy[name] = self._with_stamps(each, f"{pointer}/{escaped(name)}", stamp=is_node)
        if stamp and self._values_named.isdisjoint(value):
            copy[_STAMP] = len(self._stamped)
            self._stamped.append((pointer, value))
        return copy

    def _pyld(self, tree: Any) -> list[Any]:
        from pyld import jsonld  # noqa: PLC0415 - slow to import, and most descriptions do without

        try:
            return _expanded(tree)
        except jsonld.JsonLdError as error:
            meter().check()  # PyLD reports any exception raised inside it as a fault of the document
            raise self._fault(error) from error
        except RecursionError as error:
            reason = "the context refers to itself, or nests too deep"
            raise ExpansionFault("context", reason, self._first_context()) from error
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            # PyLD crashes on values that contexts and nodes must not have: a fault of the document.
            reason = f"not valid JSON-LD: {type(error).__name__}: {error}"
            raise ExpansionFault("syntax", reason) from error

    def _fault(self, error: Any) -> ExpansionFault:
        code = str(error.code or error.type)
        details = error.details or {}
        if "language map" in code or "language-tagged" in code:
            wrong = details.get("languageMap", details.get("value", details.get("element", "")))
            return ExpansionFault("value", f"`{clip(wrong)}`", self._place_of({"value": wrong}))
        term = details.get("term")
        is_of_context = "context" in details or not _IS_OF_CONTEXT.isdisjoint(code.replace("@", " ").split())
        if is_of_context and not isinstance(term, str):
            term = self._faulty_term(code)
        reason = f"{code} (`{term}`)" if isinstance(term, str) else code
        if is_of_context:
            hint = "correct the context, or use the one of Appendix 1 of the specification"
            return ExpansionFault("context", reason, self._place_of_term(term), hint)
        return ExpansionFault("syntax", reason, self._place_of(details))

    def _faulty_term(self, code: str) -> str | None:
        """Return the faulty term that PyLD does not name: the first that fails the same way alone, with the prefixes."""
        contexts = (context.value for context in self._contexts if isinstance(context.value, dict))
        for context in (each for each in contexts if len(each) <= _MOST_TERMS):
            prefixes = {term: iri for term, iri in context.items() if is_absolute(iri)}
            for term, definition in context.items():
                if _context_fault({**prefixes, term: definition}) == code:
                    return str(term)
        return None

    def _first_context(self) -> str:
        return self._contexts[0].pointer if self._contexts else ""

    def _place_of_term(self, term: Any) -> str:
        for context in self._contexts:
            if isinstance(context.value, dict) and term in context.value:
                return f"{context.pointer}/{escaped(term)}"
        return self._first_context()

    def _place_of(self, details: dict[str, Any]) -> str:
        wrong = details.get("value", details.get("element"))
        for pointer, raw in self._stamped:
            for key, value in raw.items():
                if wrong not in (None, "") and (value in (wrong, [wrong]) or wrong == [value]):
                    return f"{pointer}/{escaped(key)}"
        return ""

    def _take_top(self, item: Any) -> None:
        node = self._node(item, "")
        included = [*item.get("@graph", ()), *item.get("@included", ())]
        if node.types or node.values or node.dropped or node.is_reference or not included:
            self.expansion.nodes.append(node)
        for inner in included:
            if isinstance(inner, dict) and "@value" not in inner:
                self._take_top(inner)

    def _node(self, item: dict[str, Any], role: str, pointer: str = "") -> Node:
        raw: dict[str, Any] = {}
        for stamp in item.get(_STAMP, ())[:1]:
            number = stamp.get("@value")
            if type(number) is int and 0 <= number < len(self._stamped):
                pointer, raw = self._stamped[number]
        node = Node(pointer, role=role)
        self.expansion.every.append(node)
        written = {name: value for name, value in raw.items() if name in self._ids_named}
        if "@id" in item:
            node.id = item["@id"].removeprefix(BASE) if isinstance(item["@id"], str) else None
            node.written_id = next(iter(written.values()), node.id)
        # A type that only looks like a keyword, such as `@foo`, expands to null.
        for each in filter(None, item.get("@type", ())):
            node.types.append(self.expansion.short(each.removeprefix(BASE), f"{pointer}/@type"))
        self._read_keys(node, raw)
        for iri, values in item.items():
            if iri[:1] != "@" and iri != _STAMP:
                place = node.keys.get(short(iri))
                at = f"{pointer}/{escaped(place)}" if place else pointer
                name = self.expansion.short(iri, at)
                node.values.setdefault(name, []).extend(self._values(values, raw.get(place or ""), at, place or ""))
                node.keys.setdefault(name, name)
        node.keys = {name: key for name, key in node.keys.items() if name in node.values}
        return node

    def _read_keys(self, node: Node, raw: dict[str, Any]) -> None:
        for key in raw:
            if is_keyword_like(key):
                continue
            iri = self._terms.iri(key)
            if iri is None or ":" not in iri:
                if not (iri or "").startswith("@"):
                    node.dropped[key] = f"{node.pointer}/{escaped(key)}"
            else:
                node.keys.setdefault(short(iri), key)

    def _values(self, values: list[Any], raw: Any, pointer: str, key: str) -> list[Value]:
        items = list(_items(values))
        leaves = list(_leaves(raw, pointer))
        if len(leaves) != len(items):
            leaves = [(pointer, raw)] * len(items)
        read: list[Value] = []
        for item, (place, leaf) in zip(items, leaves, strict=True):
            if "@value" in item:
                kind = item.get("@type", "")
                if kind == "@json":  # one literal, of any value
                    read.append(Literal(_without_stamps(item["@value"]), pointer, kind))
                else:
                    read.append(Literal(item["@value"], place, kind, item.get("@language", "")))
            else:
                child = self._node(item, key, place)
                read.append(child)
                if child.is_reference and _STAMP not in item:  # a string that the context made a reference
                    child.written_id = leaf
                    self.expansion.short(item["@id"], place)
        return read


#: In a context with more terms, the faulty term is not searched for.
_MOST_TERMS = 200


def _expanded(tree: Any) -> list[Any]:
    from pyld import jsonld  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyLD warns about terms and types, which have rules of their own
        return list(jsonld.expand(tree, {"base": BASE, "documentLoader": _load}))


def _context_fault(context: dict[str, Any]) -> str | None:
    from pyld import jsonld  # noqa: PLC0415

    try:
        _expanded({"@context": context})
    except jsonld.JsonLdError as error:
        return str(error.code or error.type)
    except (ExpansionFault, RecursionError, AttributeError, IndexError, KeyError, TypeError, ValueError):
        pass
    return None


# PyLD takes up to a millisecond for a context, even a short one.
_MOST_CONTEXTS = 1_000
# PyLD needs several kilobytes for a node.
_MOST_NODES = 50_000
# Words in the codes of faults of contexts.
_IS_OF_CONTEXT = frozenset(
    "base container context cyclic keyword mapping prefix redefinition term vocab".split()  # noqa: SIM905
)


def _map_terms(context: Any) -> Iterator[str]:
    for term, definition in context.items() if isinstance(context, dict) else ():
        containers = definition.get("@container", "@set") if isinstance(definition, dict) else "@set"
        if containers not in ("@set", "@list", ["@set"], ["@list"]):
            yield term


def _load(url: str, _options: Any) -> dict[str, Any]:
    context = bundled(url)
    if context is None:
        raise ExpansionFault("remote", f"remote context `{url}`: nothing is fetched")
    document = {"@context": dict(context)}
    return {"contentType": "application/ld+json", "contextUrl": None, "documentUrl": url, "document": document}


def _items(values: Any) -> Iterator[dict[str, Any]]:
    for item in values if isinstance(values, list) else [values]:
        if isinstance(item, dict):
            if "@list" in item:
                yield from _items(item["@list"])
            else:
                yield item


def _leaves(raw: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    """Yield the values of nested lists flattened and without null, as JSON-LD reads them."""
    if isinstance(raw, list):
        for index, each in enumerate(raw):
            yield from _leaves(each, f"{pointer}/{index}")
    elif raw is not None:
        yield pointer, raw


def _without_stamps(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_stamps(each) for each in value]
    if isinstance(value, dict):
        return {name: _without_stamps(each) for name, each in value.items() if name != _STAMP}
    return value
