"""Internal: JSON-LD contexts: where a document has them, which terms they define, and bundled copies of remote ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from msgspec import Struct, field

from corpusfmt.io.text import escaped

_SCHEMA_ORG = {"@vocab": "http://schema.org/", "schema": "http://schema.org/", "sc": "http://schema.org/"}
_REMOTE_CROISSANT = re.compile(r"https?://(www\.)?mlcommons\.org/croissant/(1\.[01])(/(context(\.jsonld?)?)?)?")
_REMOTE_SCHEMA_ORG = re.compile(r"https?://(www\.)?schema\.org(/(docs/jsonldcontext\.json(ld)?)?)?")

_TERM = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S*")
_KEYWORD_LIKE = re.compile(r"@[a-zA-Z]+")
_ENDS_A_PREFIX = tuple(":/?#[]@")


class NotSimple(Exception):
    """The simple expansion cannot handle something and leaves it to the full algorithm."""


@cache
def appendix(version: str) -> dict[str, Any]:
    """Return the context of Appendix 1 of a version (1.0, 1.1), bundled with this package."""
    import json  # noqa: PLC0415

    from corpusfmt._resources import resource  # noqa: PLC0415

    document: dict[str, Any] = json.loads(resource("schemas", f"croissant/{version}/context.jsonld").read_bytes())
    context: dict[str, Any] = document["@context"]
    return context


def bundled(url: str) -> dict[str, Any] | None:
    """Return the bundled copy of a well-known remote context, None for any other URL: nothing is ever fetched."""
    croissant = _REMOTE_CROISSANT.fullmatch(url)
    if croissant is not None:
        return appendix(croissant.group(2))
    if _REMOTE_SCHEMA_ORG.fullmatch(url):
        return dict(_SCHEMA_ORG)
    return None


class PlacedContext(Struct, frozen=True):
    """One element of a `@context`: an object, a URL, null or an unexpected value."""

    pointer: str
    value: Any


def contexts_of(tree: Any) -> list[PlacedContext]:
    """Return every context of a document, outermost first, including those inside term definitions."""
    found: list[PlacedContext] = []
    pending: list[tuple[str, Any]] = [("", tree)]
    opaque: set[str] = set()
    while pending:
        pointer, value = pending.pop()
        if isinstance(value, list):
            pending.extend((f"{pointer}/{index}", each) for index, each in enumerate(value))
        elif isinstance(value, dict):
            if "@context" in value:
                for context in _elements(f"{pointer}/@context", value["@context"]):
                    found.append(context)
                    opaque |= json_terms(context.value)
            for name, each in value.items():
                if isinstance(each, list | dict) and name != "@context" and name not in opaque:
                    pending.append((f"{pointer}/{escaped(name)}", each))
    return found


def _elements(pointer: str, value: Any) -> Iterator[PlacedContext]:
    pending = [(pointer, value)]
    while pending:
        pointer, value = pending.pop()
        if isinstance(value, list):
            pending.extend((f"{pointer}/{index}", each) for index, each in reversed(list(enumerate(value))))
            continue
        yield PlacedContext(pointer, value)
        if isinstance(value, dict):
            for name, definition in value.items():
                if isinstance(definition, dict) and "@context" in definition:
                    pending.append((f"{pointer}/{escaped(name)}/@context", definition["@context"]))
                elif name == "@import" and isinstance(definition, str):
                    pending.append((f"{pointer}/@import", definition))


def json_terms(context: Any) -> set[str]:
    """Return the terms whose values are JSON literals."""
    if isinstance(context, str):
        context = bundled(context)
    if not isinstance(context, dict):
        return set()
    return {term for term, value in context.items() if isinstance(value, dict) and value.get("@type") == "@json"}


class Terms(Struct):
    """The IRI and the coercion of each term of simple contexts."""

    iris: dict[str, str | None] = field(default_factory=dict)
    coercions: dict[str, str] = field(default_factory=dict)
    prefixes: dict[str, str] = field(default_factory=dict)
    vocab: str | None = None
    language: str = ""

    def iri(self, name: str) -> str | None:
        """Return the IRI of a property or type, None for a name that the context drops (JSON-LD 1.1 API, 5.2)."""
        if name in self.iris:
            return self.iris[name]
        if ":" in name[1:]:
            absolute = self.absolute(name)
            if absolute is not None:
                return absolute
        return None if self.vocab is None else self.vocab + name

    def absolute(self, name: str) -> str | None:
        """Return the IRI of a compact or absolute IRI, None for a name that is neither."""
        prefix, _, rest = name.partition(":")
        if prefix == "_" or rest.startswith("//"):
            return name
        if prefix in self.prefixes:
            return self.prefixes[prefix] + rest
        return name if _ABSOLUTE.fullmatch(name) else None


def simple_terms(context: Any) -> Terms:
    """Return the terms of a simple context, the usual kind. Raises `NotSimple` for any other."""
    if not isinstance(context, dict):
        raise NotSimple
    terms = Terms()
    # Prefixes before the terms that use them.
    for name, definition in sorted(context.items(), key=lambda term: "://" not in str(term[1])):
        if name == "@vocab" and isinstance(definition, str) and "://" in definition:
            terms.vocab = definition
        elif name == "@language" and (definition is None or isinstance(definition, str)):
            terms.language = (definition or "").lower()
        elif not _TERM.fullmatch(name):
            raise NotSimple
        elif isinstance(definition, dict) and definition.keys() <= {"@id", "@type"}:
            terms.iris[name] = _full(terms, definition.get("@id"))
            if "@type" in definition:
                if definition["@type"] not in ("@id", "@vocab", "@json"):
                    raise NotSimple
                terms.coercions[name] = definition["@type"]
        else:
            iri = terms.iris[name] = _full(terms, definition)
            if iri.endswith(_ENDS_A_PREFIX):
                terms.prefixes[name] = iri
    return terms


def _full(terms: Terms, iri: Any) -> str:
    """Return the IRI of a term. Raises `NotSimple` if it is neither absolute nor compact, with a prefix that is known."""
    prefix, colon, rest = iri.partition(":") if isinstance(iri, str) else ("_", "", "")
    if not colon or prefix == "_" or not (rest.startswith("//") or prefix in terms.prefixes):
        raise NotSimple
    full = iri if rest.startswith("//") else terms.prefixes[prefix] + rest
    if not _ABSOLUTE.fullmatch(full):
        raise NotSimple
    return str(full)


def likely_terms(contexts: list[PlacedContext]) -> Terms:
    """Return the terms of all contexts of a document, for finding the author's spelling of a property.

    The full algorithm decides what the names mean; where this differs, a location is slightly less exact.
    """
    terms = Terms()
    for placed in contexts:
        context = bundled(placed.value) if isinstance(placed.value, str) else placed.value
        if not isinstance(context, dict):
            continue
        if isinstance(context.get("@vocab"), str):
            terms.vocab = context["@vocab"]
        for name, definition in context.items():
            iri = definition.get("@id", "") if isinstance(definition, dict) else definition
            if isinstance(iri, str | None) and not name.startswith("@"):
                terms.iris[name] = iri if iri != "" else (terms.vocab or "") + name
                if iri and "://" in iri and _is_prefix(definition, iri):
                    terms.prefixes.setdefault(name, iri)
    for name, iri in terms.iris.items():
        if iri and not iri.startswith("@"):
            terms.iris[name] = terms.absolute(iri) or (terms.vocab or "") + iri
    return terms


def _is_prefix(definition: Any, iri: str) -> bool:
    return definition.get("@prefix") is True if isinstance(definition, dict) else iri.endswith(_ENDS_A_PREFIX)


def is_absolute(value: Any) -> bool:
    """Return whether a value is an absolute IRI with an authority, such as that of a namespace."""
    return isinstance(value, str) and "://" in value and _ABSOLUTE.fullmatch(value) is not None


def is_keyword_like(name: str) -> bool:
    """Return whether JSON-LD reserves a name of this form: "@" and letters."""
    return _KEYWORD_LIKE.fullmatch(name) is not None
