"""Write schemas/croissant/*/shapes.ttl, the tables of Croissant as SHACL: `make rules` after changing a table.

Each constraint is a separate property shape, named after the rule that reports it, with the severities of both profiles.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path

from rdflib import RDF, RDFS, XSD, BNode, Graph, Literal, Namespace, URIRef
from rdflib.namespace import SH
from rdflib.term import Node

from corpusfmt.formats.croissant.format import FORMAT
from corpusfmt.formats.croissant.model.arrays import SHAPE_PATTERN
from corpusfmt.formats.croissant.model.nodes import NAMESPACES, local_name
from corpusfmt.formats.croissant.model.shapes import (
    CLASSES,
    DATA_SOURCE,
    EXTENSION_SHAPES,
    EXTRACT,
    FIELD,
    KINDS_OF,
    SCHEMA_ORG_SHAPES,
    SHAPES,
    TERM_SHAPES,
    TRANSFORM,
    UNMAPPED_BY_APPENDIX,
    Property,
    Shape,
    properties_of,
)
from corpusfmt.formats.croissant.model.values import FORMS
from corpusfmt.model import Rule, Severity
from corpusfmt.profiles import shipped_profile
from corpusfmt.rules import Grading

SCHEMAS = Path(__file__).parents[1] / "schemas" / "croissant"
HTTP_SCHEMA_ORG = "http://schema.org/"

#: Classes whose nodes have no type: they are found by the properties that lead to them.
_REACHED_BY = {
    DATA_SOURCE.name: ("cr:source", "cr:references", "cr:containedIn"),
    EXTRACT.name: ("cr:extract",),
    TRANSFORM.name: ("cr:transform",),
}
#: The rules on the type of a value that a property shape can express.
_MISTYPED_AS_SHAPE = ("CRO214", "CRO215", "CRO217", "CRO301", "CRO401", "CRO402", "CRO420", "CRO501")
_SEVERITIES = {Severity.ERROR: "Violation", Severity.WARNING: "Warning", Severity.INFO: "Info"}


# The vocabularies in the tables of Croissant, RAI and, from 1.1 on, GeoCroissant and Tasks; others have their own shapes.
_PREFIXES = {"1.0": ("cr:", "dct:", "rai:", "sc:"), "1.1": ("cr:", "dct:", "geocr:", "rai:", "sc:")}
_EXTENSIONS = {"1.0": ("sc:",), "1.1": ("cr:", "geocr:", "sc:")}


def shapes_iri(version: str) -> str:
    """Return the namespace of the shapes of a version."""
    return f"https://corpusfmt.github.io/schemas/croissant/{version}/shapes#"


def export(version: str) -> str:
    """Return the shapes of a version (1.0, 1.1) as Turtle."""
    return _Exporter(version).graph.serialize(format="turtle")


class _Exporter:
    def __init__(self, version: str) -> None:
        self._rules: dict[str, Rule] = {rule.code: rule for rule in FORMAT.rules}
        self._strict = Grading((shipped_profile("strict"),))
        self._version = version
        self._sh = SH
        self._own = Namespace(shapes_iri(version))
        self._blank = count(1)
        self.graph: Graph = Graph()
        self.graph.bind("sh", SH)
        self.graph.bind("shapes", self._own)
        for prefix in _PREFIXES[version]:
            self.graph.bind(prefix.rstrip(":"), NAMESPACES[prefix.rstrip(":")])
        extensions = (shape for name, shape in TERM_SHAPES.items() if name.startswith(_EXTENSIONS[version]))
        for shape in (*SHAPES.values(), *extensions):
            self._shape(shape)

    def _shape(self, shape: Shape) -> None:
        node = self._own[local_name(shape.name)]
        self.graph.add((node, RDF.type, self._sh.NodeShape))
        self.graph.add((node, RDFS.comment, Literal(self._origin(shape))))
        if shape.name in _REACHED_BY:
            for name in _REACHED_BY[shape.name]:
                self.graph.add((node, self._sh.targetObjectsOf, self._iri(name)))
        else:
            for kind in self._spellings(shape.name):
                self.graph.add((node, self._sh.targetClass, kind))
        for row in properties_of(shape, self._version):
            if row.name.startswith(_PREFIXES[self._version]):
                self._row(node, shape, row)
        if shape is FIELD:
            self._array_shape(node)

    def _origin(self, shape: Shape) -> str:
        if shape.name in SCHEMA_ORG_SHAPES:
            return f"schema.org, class {shape.section}"
        tasks = "Croissant Tasks" if shape.name in EXTENSION_SHAPES else f"Croissant {self._version}"
        specification = "GeoCroissant 1.0" if shape.name.startswith("geocr:") else tasks
        return f"{specification}, section {shape.section}"

    def _array_shape(self, field: Node) -> None:
        """Add constraints that a row cannot express: the form of arrayShape, and that it needs isArray."""
        sh = self._sh
        row = next(row for row in properties_of(FIELD, self._version) if row.name == "cr:arrayShape")
        form = self._constraint(field, FIELD, row, row.mistyped, aspect="-form")
        self.graph.add((form, sh.pattern, Literal(f"^{SHAPE_PATTERN}$")))
        alone = self._having(sh.path, self._path("cr:arrayShape"))
        self.graph.add((alone, sh.maxCount, Literal(0)))
        array = self._having(sh.path, self._path("cr:isArray"))
        self.graph.add((array, sh.hasValue, Literal(True)))
        either = [self._having(sh.property, each) for each in (alone, array)]
        together = self._own["CRO214-Field-arrayShape-isArray"]
        self.graph.add((together, RDF.type, sh.NodeShape))
        for kind in self._spellings(FIELD.name):
            self.graph.add((together, sh.targetClass, kind))
        self.graph.add((together, sh["or"], self._list(either)))
        self.graph.add((together, sh.message, Literal("CRO214 value-type: arrayShape without isArray")))

    def _row(self, node: Node, shape: Shape, row: Property) -> None:
        if row.requirement == "required":
            present = self._constraint(node, shape, row, row.missing)
            self.graph.add((present, self._sh.minCount, Literal(1)))
            if row.kinds == ("Text",):
                self.graph.add((present, self._sh.pattern, Literal(r"\S")))
            if row.missing == "CRO811":
                self._unless_reference(node, shape, present)
        elif row.requirement == "recommended":
            present = self._constraint(node, shape, row, "CRO212")
            self.graph.add((present, self._sh.minCount, Literal(1)))
        if not row.many and row.name != "dct:conformsTo":  # the RAI vocabulary requires a second value
            single = self._constraint(node, shape, row, "CRO213")
            self.graph.add((single, self._sh.maxCount, Literal(1)))
        if row.mistyped in _MISTYPED_AS_SHAPE:
            typed = self._constraint(node, shape, row, row.mistyped, minor=row.loose)
            kinds = [
                item for kind in row.kinds for item in self._kind(kind, is_extension=shape.name in EXTENSION_SHAPES)
            ]
            self.graph.add((typed, self._sh["or"], self._list(kinds)))
            if row.form == "property":
                self.graph.add((typed, self._sh.pattern, Literal(f"^{FORMS[row.form].patterns['URL']}$")))

    def _unless_reference(self, node: Node, shape: Shape, present: Node) -> None:
        """Move a constraint to a shape that accepts nodes of which the document says nothing but their class."""
        sh = self._sh
        self.graph.remove((node, sh.property, present))
        elsewhere = self._having(sh.nodeKind, sh.IRI)
        self.graph.add((elsewhere, sh.closed, Literal(True)))
        self.graph.add((elsewhere, sh.ignoredProperties, self._list([RDF.type])))
        either = URIRef(f"{present}-or-elsewhere")
        self.graph.add((either, RDF.type, sh.NodeShape))
        for kind in self._spellings(shape.name):
            self.graph.add((either, sh.targetClass, kind))
        self.graph.add((either, sh["or"], self._list([self._having(sh.property, present), elsewhere])))
        self.graph.add((either, sh.message, next(self.graph.objects(present, sh.message))))

    def _constraint(
        self, node: Node, shape: Shape, row: Property, code: str, *, minor: bool = False, aspect: str = ""
    ) -> Node:
        rule = self._rules[code]
        named = self._own[f"{code}-{local_name(shape.name)}-{local_name(row.name)}{aspect}"]
        strict, _ = self._strict.judged(rule, self._version, "", minor=minor)
        standard = rule.severity_for(version=self._version, minor=minor)
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
        prefix, _, local = name.partition(":")
        return URIRef(NAMESPACES[prefix] + local)

    def _spellings(self, name: str) -> list[URIRef]:
        """Return the IRIs that count as one name: both of schema.org, and what Appendix 1 makes of unmapped terms."""
        local = local_name(name)
        found = [self._iri(name)]
        if name.startswith("cr:") and local in UNMAPPED_BY_APPENDIX["1.0"]:
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
        return BNode(f"n{next(self._blank):05d}")  # numbered, for reproducible output

    def _list(self, items: list[Node]) -> Node:
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

    def _kind(self, kind: str, *, is_extension: bool = False) -> list[Node]:
        sh = self._sh
        if kind in ("Text", "Date"):
            return [self._having(sh.datatype, each) for each in (XSD.string, RDF.langString)]
        if kind == "URL":
            return [self._having(sh.nodeKind, sh.IRI), *self._kind("Text")]
        if kind == "Boolean":
            return [self._having(sh.datatype, XSD.boolean)]
        if kind in ("Number", "Integer"):
            return [self._having(sh.datatype, each) for each in (XSD.integer, XSD.double, XSD.decimal)]
        if kind == "JSON":
            return [self._having(sh.datatype, RDF.JSON)]
        if kind == "Type":
            return [self._having(sh.nodeKind, sh.IRI)]
        if kind == "sc:CreativeWork":
            return [self._any_but("sc:Person", "sc:Organization")]
        if kind.startswith("geocr:"):  # also of a class of another vocabulary
            return [self._any_but(*sorted(CLASSES - {kind}))]
        if ":" in kind:
            kinds = (kind, *sorted(KINDS_OF.get(kind, ())))
            found = [self._having(sh["class"], each) for name in kinds for each in self._spellings(name)]
            if kind.startswith("sc:") or is_extension:  # an IRI that the description does not describe
                elsewhere = self._having(sh.nodeKind, sh.IRI)
                untyped = self._having(sh.path, RDF.type)
                self.graph.add((untyped, sh.maxCount, Literal(0)))
                self.graph.add((elsewhere, sh.property, untyped))
                found.append(elsewhere)
            return found
        return [self._having(sh.nodeKind, sh.BlankNodeOrIRI)]

    def _any_but(self, *kinds: str) -> Node:
        node = self._having(self._sh.nodeKind, self._sh.BlankNodeOrIRI)
        for spelling in (each for kind in kinds for each in self._spellings(kind)):
            self.graph.add((node, self._sh["not"], self._having(self._sh["class"], spelling)))
        return node


if __name__ == "__main__":
    for each in _PREFIXES:
        (SCHEMAS / each / "shapes.ttl").write_text(export(each), "utf-8")
