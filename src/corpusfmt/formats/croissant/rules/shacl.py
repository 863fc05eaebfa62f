"""Internal: The table of shapes as SHACL: `python -m corpusfmt.formats.croissant.rules.shacl >
schemas/croissant/1.0/shapes.ttl`.

Each constraint is a property shape of its own, named after the rule that tells of it here, with the severity of profile
strict; that of profile standard stands beside it.
"""

from __future__ import annotations

import sys
from itertools import count
from typing import TYPE_CHECKING

from corpusfmt.formats.croissant.model.nodes import NAMESPACES, local_name
from corpusfmt.formats.croissant.model.shapes import (
    DATA_SOURCE,
    EXTRACT,
    SHAPES,
    TRANSFORM,
    UNMAPPED_BY_APPENDIX,
    Property,
    Shape,
    properties_of,
)
from corpusfmt.model import Rule, Severity

if TYPE_CHECKING:
    from rdflib import Graph, URIRef
    from rdflib.term import Node

VERSION = "1.0"
SHAPES_IRI = "https://corpusfmt.github.io/schemas/croissant/1.0/shapes#"
HTTP_SCHEMA_ORG = "http://schema.org/"

#: Classes whose nodes carry no type: they are found by the properties that lead to them.
_REACHED_BY = {
    DATA_SOURCE.name: ("cr:source", "cr:references"),
    EXTRACT.name: ("cr:extract",),
    TRANSFORM.name: ("cr:transform",),
}
#: Rules over whole nodes that a shape of a single value cannot say.
_MISTYPED_AS_SHAPE = ("CRO214", "CRO215", "CRO301", "CRO401", "CRO402", "CRO420", "CRO501")
_SEVERITIES = {Severity.ERROR: "Violation", Severity.WARNING: "Warning", Severity.INFO: "Info"}


def export() -> str:
    """Return the shapes of version 1.0 as Turtle."""
    return _Exporter().graph.serialize(format="turtle")


class _Exporter:
    def __init__(self) -> None:
        from rdflib import Graph, Namespace  # noqa: PLC0415 - slow to import
        from rdflib.namespace import SH  # noqa: PLC0415

        from corpusfmt.formats.croissant.ruleset import RULES  # noqa: PLC0415 - the rules import this package's shapes

        self._rules: dict[str, Rule] = {rule.code: rule for rule in RULES}
        self._sh = SH
        self._own = Namespace(SHAPES_IRI)
        self._blank = count(1)
        self.graph: Graph = Graph()
        self.graph.bind("sh", SH)
        self.graph.bind("shapes", self._own)
        for prefix, namespace in NAMESPACES.items():
            self.graph.bind(prefix, namespace)
        for shape in SHAPES.values():
            self._shape(shape)

    def _shape(self, shape: Shape) -> None:
        from rdflib import RDF, RDFS, Literal  # noqa: PLC0415

        node = self._own[local_name(shape.name)]
        self.graph.add((node, RDF.type, self._sh.NodeShape))
        self.graph.add((node, RDFS.comment, Literal(f"Croissant 1.0, section {shape.section}")))
        if shape.name in _REACHED_BY:
            for name in _REACHED_BY[shape.name]:
                self.graph.add((node, self._sh.targetObjectsOf, self._iri(name)))
        else:
            for kind in self._spellings(shape.name):
                self.graph.add((node, self._sh.targetClass, kind))
        for row in properties_of(shape, VERSION):
            self._row(node, shape, row)

    def _row(self, node: Node, shape: Shape, row: Property) -> None:
        from rdflib import Literal  # noqa: PLC0415

        if row.requirement == "required":
            present = self._constraint(node, shape, row, row.missing)
            self.graph.add((present, self._sh.minCount, Literal(1)))
            if row.kinds == ("Text",):
                self.graph.add((present, self._sh.pattern, Literal(r"\S")))
        elif row.requirement == "recommended":
            present = self._constraint(node, shape, row, "CRO212")
            self.graph.add((present, self._sh.minCount, Literal(1)))
        if not row.many and row.name != "dct:conformsTo":  # the RAI vocabulary asks for a second value there
            single = self._constraint(node, shape, row, "CRO213")
            self.graph.add((single, self._sh.maxCount, Literal(1)))
        if row.mistyped in _MISTYPED_AS_SHAPE:
            typed = self._constraint(node, shape, row, row.mistyped, minor=row.loose)
            self.graph.add(
                (typed, self._sh["or"], self._list([item for kind in row.kinds for item in self._kind(kind)]))
            )

    def _constraint(self, node: Node, shape: Shape, row: Property, code: str, *, minor: bool = False) -> Node:
        from rdflib import RDF, Literal  # noqa: PLC0415

        rule = self._rules[code]
        named = self._own[f"{code}-{local_name(shape.name)}-{local_name(row.name)}"]
        strict = rule.severity_for(version=VERSION, profile="strict", minor=minor)
        standard = rule.severity_for(version=VERSION, profile="standard", minor=minor)
        assert strict is not None
        assert standard is not None
        self.graph.add((node, self._sh.property, named))
        self.graph.add((named, RDF.type, self._sh.PropertyShape))
        self.graph.add((named, self._sh.path, self._path(row.name)))
        self.graph.add((named, self._sh.severity, self._sh[_SEVERITIES[strict]]))
        self.graph.add((named, self._own.severityInProfileStandard, self._sh[_SEVERITIES[standard]]))
        self.graph.add((named, self._sh.message, Literal(f"{code} {rule.slug}: {local_name(row.name)}")))
        return named

    def _iri(self, name: str) -> URIRef:
        from rdflib import URIRef  # noqa: PLC0415

        prefix, _, local = name.partition(":")
        return URIRef(NAMESPACES[prefix] + local)

    def _spellings(self, name: str) -> list[URIRef]:
        """Return the IRIs that count as one name: schema.org's two, and where the appendix lets a term fall."""
        from rdflib import URIRef  # noqa: PLC0415

        local = local_name(name)
        found = [self._iri(name)]
        if name.startswith("cr:") and local in UNMAPPED_BY_APPENDIX:
            found += self._spellings(f"sc:{local}")
        elif name.startswith("sc:"):
            found.append(URIRef(HTTP_SCHEMA_ORG + local))
        return found

    def _path(self, name: str) -> Node:
        spellings = self._spellings(name)
        if len(spellings) == 1:
            return spellings[0]
        path = self._new()
        self.graph.add((path, self._sh.alternativePath, self._list(list(spellings))))
        return path

    def _new(self) -> Node:
        from rdflib import BNode  # noqa: PLC0415

        return BNode(f"n{next(self._blank):05d}")  # numbered, so that the file comes out the same every time

    def _list(self, items: list[Node]) -> Node:
        from rdflib import RDF  # noqa: PLC0415

        head: Node = RDF.nil
        for item in reversed(items):
            cell = self._new()
            self.graph.add((cell, RDF.first, item))
            self.graph.add((cell, RDF.rest, head))
            head = cell
        return head

    def _having(self, predicate: Node, value: Node) -> Node:
        shape = self._new()
        self.graph.add((shape, predicate, value))
        return shape

    def _kind(self, kind: str) -> list[Node]:
        from rdflib import RDF, XSD, Literal  # noqa: PLC0415

        sh = self._sh
        if kind in ("Text", "Date"):
            return [self._having(sh.datatype, each) for each in (XSD.string, RDF.langString)]
        if kind == "URL":
            return [self._having(sh.nodeKind, sh.IRI), *self._kind("Text")]
        if kind == "Boolean":
            return [self._having(sh.datatype, XSD.boolean)]
        if kind == "Number":
            return [self._having(sh.datatype, each) for each in (XSD.integer, XSD.double, XSD.decimal)]
        if kind == "JSON":
            return [self._having(sh.datatype, RDF.JSON)]
        if kind == "Type":
            return [self._having(sh.nodeKind, sh.IRI)]
        if kind == "sc:CreativeWork":
            work = self._having(sh.nodeKind, sh.BlankNodeOrIRI)
            for agent in ("sc:Person", "sc:Organization"):
                for spelling in self._spellings(agent):
                    self.graph.add((work, sh["not"], self._having(sh["class"], spelling)))
            return [work]
        if ":" in kind:
            found = [self._having(sh["class"], each) for each in self._spellings(kind)]
            if kind.startswith("sc:"):  # an IRI of which the description says nothing more
                elsewhere = self._having(sh.nodeKind, sh.IRI)
                untyped = self._having(sh.path, RDF.type)
                self.graph.add((untyped, sh.maxCount, Literal(0)))
                self.graph.add((elsewhere, sh.property, untyped))
                found.append(elsewhere)
            return found
        return [self._having(sh.nodeKind, sh.BlankNodeOrIRI)]


if __name__ == "__main__":
    sys.stdout.write(export())
