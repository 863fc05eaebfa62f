"""Internal: The nodes of an expanded description, with short names: `sc:name` for both http and https schema.org."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

#: The namespaces of a description, by the specification's prefix (section Namespaces).
NAMESPACES = {
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "wd": "https://www.wikidata.org/wiki/",
    "geocr": "http://mlcommons.org/croissant/geo/",
    "prov": "http://www.w3.org/ns/prov#",
    "odrl": "http://www.w3.org/ns/odrl/2/",
}
#: Other common vocabularies, which are not checked.
OTHER_NAMESPACES = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "ddi-stats": "http://rdf-vocabulary.ddialliance.org/cv/SummaryStatisticType/2.1.2/",
    "duo": "http://purl.obolibrary.org/obo/DUO_",
    "mondo": "http://purl.obolibrary.org/obo/MONDO_",
    "wdt": "https://www.wikidata.org/prop/direct/",
}
#: Namespaces that differ in version 1.1.
LATER_NAMESPACES = {
    "sc": "http://schema.org/",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
}
_READ_AS = {
    iri: prefix for names in (NAMESPACES, LATER_NAMESPACES) for prefix, iri in names.items() if prefix in NAMESPACES
} | {"https://www.wikidata.org/entity/": "wd", "http://www.wikidata.org/wiki/": "wd"}
#: Mistaken IRIs: each is a finding, and then read as the right one, so it causes no further findings.
MISTAKEN_NAMESPACES = {
    "https://mlcommons.org/croissant/RAI/": "rai",
    "https://mlcommons.org/croissant/geo/": "geocr",
    "https://mlcommons.org/croissant/": "cr",
    "http://www.mlcommons.org/croissant/": "cr",
    "https://www.mlcommons.org/croissant/": "cr",
    "http://mlcommons.org/croissant#": "cr",
    "https://mlcommons.org/croissant#": "cr",
    "http://mlcommons.org/schema/": "cr",
    "https://mlcommons.org/schema/": "cr",
    "http://mlcommons.org/croissant/1.0/": "cr",
    "http://mlcommons.org/croissant/1.1/": "cr",
    "http://www.schema.org/": "sc",
    "https://www.schema.org/": "sc",
    "https://purl.org/dc/terms/": "dct",
    "http://purl.org/dc/elements/1.1/": "dct",
}
#: Every namespace IRI that is read, right or mistaken, and its usual prefix.
PREFIXES = {**_READ_AS, **MISTAKEN_NAMESPACES}


def misbound(context: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the terms of a context that should be a namespace of the specification, with their IRI and the usual prefix.

    These are usual prefixes of another IRI, and a `@vocab` without the `/` or `#` at the end.
    """
    for name, value in context.items() if isinstance(context, dict) else ():
        iri = value.get("@id") if isinstance(value, dict) else value
        if not isinstance(iri, str) or "/" not in iri or (":" in iri and "://" not in iri):
            continue
        prefix = (_READ_AS.get(f"{iri}/") or _READ_AS.get(f"{iri}#") or "") if name == "@vocab" else name
        if prefix in NAMESPACES and _READ_AS.get(iri) != prefix:
            yield name, iri, prefix


def as_meant(context: Any) -> Any:
    """Return a context with the namespaces that are meant in place of IRIs that are none."""
    if isinstance(context, list):
        return [as_meant(each) for each in context]
    meant = {name: NAMESPACES[prefix] for name, iri, prefix in misbound(context) if iri not in PREFIXES}
    return {**context, **meant} if meant else context


_BY_LENGTH = sorted(PREFIXES.items(), key=lambda pair: -len(pair[0]))


def short(iri: str) -> str:
    """Return an IRI under its usual prefix, or as it is."""
    if iri.startswith("http"):
        above, _, last = iri.rpartition("/")
        usual = PREFIXES.get(f"{above}/")
        if usual is not None and last:  # the common case: no namespace can be longer
            return f"{usual}:{last}"
        for namespace, prefix in _BY_LENGTH:
            if iri.startswith(namespace):
                rest = iri[len(namespace) :]
                # A namespace below it is another vocabulary.
                return f"{prefix}:{rest}" if rest and "/" not in rest else iri
    return iri


def local_name(name: str) -> str:
    """Return a short name without its prefix."""
    return name.rpartition(":")[2].rpartition("/")[2]


class Literal(Struct):
    """A plain value. `type` is "@json" for a JSON literal (any JSON value), else a datatype IRI or ""."""

    value: Any
    pointer: str
    type: str = ""
    language: str = ""

    @property
    def iri(self) -> str | None:
        """The value as the identifier of a node, None if it is not a string."""
        return self.value if isinstance(self.value, str) else None


class Node(Struct, eq=False):
    """A node object at its place in the document: `id` is expanded, `written_id` as written, `keys` the names as written.

    `dropped` are the names that the context maps to nothing. `role` is the name, as written, of the property it is in.
    """

    pointer: str
    id: str | None = None
    written_id: Any = None
    types: list[str] = field(default_factory=list)
    values: dict[str, list[Value]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    role: str = ""

    @property
    def iri(self) -> str | None:
        return self.id

    @property
    def is_reference(self) -> bool:
        """Whether this is only a reference: "no other properties are specified within the same object"."""
        return self.id is not None and not self.types and not self.values

    def nodes(self, name: str) -> Iterator[Node]:
        """Yield the values of a property that are nodes."""
        return (value for value in self.values.get(name, ()) if isinstance(value, Node))

    def literals(self, name: str) -> Iterator[Literal]:
        """Yield the values of a property that are not nodes."""
        return (value for value in self.values.get(name, ()) if isinstance(value, Literal))


Value = Node | Literal
