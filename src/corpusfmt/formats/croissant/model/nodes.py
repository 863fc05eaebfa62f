"""Internal: The nodes of an expanded description, under short names: `sc:name` whether the author's schema.org was
http or https.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

#: The namespaces that a description may use, by the prefix that the specification gives them (section Namespaces).
NAMESPACES = {
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "wd": "https://www.wikidata.org/wiki/",
}
#: Vocabularies that descriptions commonly use besides, which are not judged.
OTHER_NAMESPACES = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "geocr": "http://mlcommons.org/croissant/geo/",
    "odrl": "http://www.w3.org/ns/odrl/2/",
    "prov": "http://www.w3.org/ns/prov#",
    "wdt": "https://www.wikidata.org/prop/direct/",
}
#: Namespace IRIs and the prefix that each is read as: the right ones, and those that are read as what they were meant to be.
_READ_AS = {
    "http://mlcommons.org/croissant/RAI/": "rai",
    "http://mlcommons.org/croissant/": "cr",
    "https://schema.org/": "sc",
    "http://schema.org/": "sc",
    "http://purl.org/dc/terms/": "dct",
    "https://www.wikidata.org/wiki/": "wd",
    "http://www.wikidata.org/wiki/": "wd",
}
#: What authors write instead; each is a finding, and then read as what was meant, so that it has no consequences.
MISTAKEN_NAMESPACES = {
    "https://mlcommons.org/croissant/RAI/": "rai",
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
_PREFIXES = {**_READ_AS, **MISTAKEN_NAMESPACES}
_BY_LENGTH = sorted(_PREFIXES.items(), key=lambda pair: -len(pair[0]))


def short(iri: str) -> str:
    """Return an IRI under its usual prefix, or as it is."""
    if iri.startswith("http"):
        above, _, last = iri.rpartition("/")
        usual = _PREFIXES.get(f"{above}/")
        if usual is not None and last:  # true of nearly all: there can be no longer namespace
            return f"{usual}:{last}"
        for namespace, prefix in _BY_LENGTH:
            if iri.startswith(namespace):
                rest = iri[len(namespace) :]
                return (
                    f"{prefix}:{rest}" if rest and "/" not in rest else iri
                )  # a namespace below is another vocabulary
    return iri


def local_name(name: str) -> str:
    """Return a short name without its prefix."""
    return name.rpartition(":")[2].rpartition("/")[2]


class Literal(Struct):
    """A plain value. `type` is "@json" for a JSON literal, whose value may be any JSON; else a datatype IRI or ""."""

    value: Any
    pointer: str
    type: str = ""
    language: str = ""


class Node(Struct, eq=False):
    """A node object, as the author placed it: `id` is as expanded, `written_id` as written, `keys` the names as written.

    `dropped` are names that the context maps to nothing. `role` is the name, as written, that it stands under.
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
    def is_reference(self) -> bool:
        """Whether this only names a node: "no other properties are specified within the same object"."""
        return self.id is not None and not self.types and not self.values

    def nodes(self, name: str) -> Iterator[Node]:
        """Yield the values of a property that are nodes."""
        return (value for value in self.values.get(name, ()) if isinstance(value, Node))

    def literals(self, name: str) -> Iterator[Literal]:
        """Yield the values of a property that are not nodes."""
        return (value for value in self.values.get(name, ()) if isinstance(value, Literal))


Value = Node | Literal
