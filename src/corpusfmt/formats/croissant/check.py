"""Internal: Checking one description: from bytes to nodes to rules."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from corpusfmt.formats import CheckOptions, Shard, ShardResult
from corpusfmt.formats.croissant.data.findings import Gap
from corpusfmt.formats.croissant.layout import content_of, syntax_of
from corpusfmt.formats.croissant.model.expand import ExpansionFault, expand
from corpusfmt.formats.croissant.model.graph import (
    Dataset,
    DataSource,
    Description,
    Field,
    RecordSet,
    Selection,
    View,
)
from corpusfmt.formats.croissant.model.jsontree import EncodingFault, Places, decode, name_at, parse
from corpusfmt.formats.croissant.model.nodes import NAMESPACES, Literal, Node, Value
from corpusfmt.formats.croissant.model.shapes import (
    ALL_SHAPES,
    CLASSES,
    CROISSANT_PROPERTIES,
    KINDS_OF,
    Property,
    properties_of,
)
from corpusfmt.formats.croissant.model.values import NOT_IN_IRIS, has_form
from corpusfmt.formats.croissant.model.version import meant_extension, version_in_text
from corpusfmt.formats.croissant.model.wording import article, clip, one_of, shown
from corpusfmt.formats.croissant.rules.data import Constant, array_shape_faults, references_of_examples
from corpusfmt.formats.croissant.rules.dataset import CARDINALITY_ONE, Claims, mistyped
from corpusfmt.formats.croissant.rules.document import (
    CONTEXT_INVALID,
    CONTEXT_REMOTE,
    HTML_NO_JSONLD,
    ID_NOT_STRING,
    JSON_DUPLICATE_KEY,
    JSON_SYNTAX,
    NESTING_TOO_DEEP,
    NOT_A_JSONLD_OBJECT,
    NOT_UTF8,
    RDF_SYNTAX,
    Part,
)
from corpusfmt.formats.croissant.rules.profiles import ToLoad, ToReview, Wanted
from corpusfmt.formats.croissant.ruleset import RULES
from corpusfmt.formats.general import (
    LIMIT_REACHED,
    LINK_OUTSIDE_ROOT,
    barred,
    out_of_range,
    too_long,
)
from corpusfmt.io.limits import LimitReached
from corpusfmt.io.paths import Entry
from corpusfmt.io.text import DepthFault, JsonFault, NumberFault
from corpusfmt.model import Fault, Location, Problem, UsageError
from corpusfmt.rules import Judge, Requirement

# By their own names, and by the names that `@vocab` gives them.
_CONSTANTS_AND_ARRAYS = frozenset({"cr:value", "sc:value", "cr:arrayShape", "sc:arrayShape"})
# The rules beyond JSON and the processing of JSON-LD; CRO7xx are those of conversion.
_OF_DESCRIPTIONS = re.compile("CRO1[1-9]|CRO[2-68]")
# Nodes and the data that rules need take more memory than the JSON.
_MOST_VALUES = 300_000
# Recommended properties are missing: the most common finding, which has no repair.
_FOR_AUTHORS = "CRO212"


def check(shard: Shard, options: CheckOptions) -> ShardResult:
    """Check one description."""
    entry = shard.files["description"]
    with _without_collection():
        checker = Checker(entry, options)
        try:
            checker.run()
            checker.offer_fixes()
        except LimitReached as limit:
            checker.judge.report(LIMIT_REACHED, limit.at(entry.path).problem)
        while checker.understood:
            checker.understood.pop().take_apart()
    return ShardResult(checker.judge.tally, checker.judge.coverage)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Disable the cycle collector: all nodes of a description live to its end, so collections find nothing and would take
    a third of the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Checker:
    """Reads one file as far as possible, and applies the rules on the way."""

    def __init__(self, entry: Entry, options: CheckOptions) -> None:
        self.entry = entry
        self.options = options
        self.judge = self._judge_for(options.version or "1.0")
        #: One for each JSON-LD document in the file that can be expanded.
        self.descriptions: list[Description] = []
        #: Those, and what is of a version that is not judged or means nothing without a context.
        self.understood: list[Description] = []
        self._links: set[Location] = set()
        self._data = b""
        #: The JSON texts in the file, and what each holds, None where it is not JSON.
        self._texts: list[tuple[Places, Any]] = []
        self._required: dict[str, list[Requirement]] = {}
        for each in options.grading.requirements:
            self._required.setdefault(f"{'sc' if each.of == 'Dataset' else 'cr'}:{each.of}", []).append(each)

    def _judge_for(self, version: str) -> Judge:
        options = self.options
        return Judge(RULES, options.grading, version=version, path=self.entry.path, cap=options.max_per_rule)

    def run(self) -> None:
        coverage = self.judge.coverage
        at = Location(self.entry.path)
        most = self.options.max_line_bytes
        try:
            # A web server may not say how much it has.
            data = content_of(self.entry, most + 1) if self.entry.size <= most else b""
        except OSError as error:
            self.judge.report(*barred(error, at))
            return
        if (size := max(self.entry.size, len(data))) > most:
            self.judge.report(*too_long(at, size, most, "document"))
            return
        coverage.bytes = len(data)
        self._data = data
        if syntax_of(self.entry) == "xml":
            self._rdf(data, "xml")
            return
        try:
            text, marked = decode(data)
        except EncodingFault as fault:
            line = data.count(b"\n", 0, fault.offset) + 1
            column = fault.offset - (data.rfind(b"\n", 0, fault.offset) + 1) + 1
            place = Location(self.entry.path, line=line, column=column, byte=fault.offset)
            self.judge.report(NOT_UTF8, Problem(f"not UTF-8: {fault.reason}", place, fault.hint))
            return
        if marked:
            first = Location(self.entry.path, line=1, byte=0)
            hint = "save the file as UTF-8 without a byte order mark"
            self.judge.report(NOT_UTF8, Problem("the file starts with a byte order mark", first, hint, minor=True))
        if syntax := syntax_of(self.entry):
            self._rdf(text.encode(), syntax)
        else:
            self._text(text, head_bytes=3 if marked else 0)

    def _rdf(self, data: bytes, syntax: str) -> None:
        try:
            from corpusfmt.formats.croissant.model.rdf import NodePlaces, RdfFault, as_json_ld  # noqa: PLC0415
        except ImportError:
            needed = f"{self.entry.path} is RDF, which needs rdflib: pip install 'corpusfmt[rdf]'"
            raise UsageError(needed) from None
        version = self.options.version
        if self.options.fixing and version != version_in_text(data):
            refused = f"{self.entry.path} is RDF: write it with --to json-ld, and bring that to {version}"
            raise UsageError(refused)
        try:
            tree = as_json_ld(data, syntax)
        except RdfFault as fault:
            kind, hint = RDF_SYNTAX, "correct the file, or write the description again"
            if fault.is_large:
                kind, hint = NESTING_TOO_DEEP, "flatten the description; move records to separate files"
            self.judge.report(kind, Problem(fault.reason, Location(self.entry.path, line=fault.line), hint))
            return
        self._jsonld(tree, NodePlaces(self.entry.path, tree))

    def _text(self, text: str, head_bytes: int) -> None:
        if not is_page(self.entry.name, text):
            self._json(text, Places(self.entry.path, text, head_bytes=head_bytes))
            return
        scripts = list(scripts_in(text))
        wanted = [script for script in scripts if re.compile(_DATASET).search(text, *script)]
        if not wanted:
            at = Location(self.entry.path, line=1)
            reason = "the page has no JSON-LD script" + (" with a Dataset" if scripts else "")
            hint = 'embed the description in `<script type="application/ld+json">`'
            self.judge.report(HTML_NO_JSONLD, Problem(reason, at, hint))
        for start, end in wanted:
            places = Places(self.entry.path, text, start=start, end=end, head_bytes=head_bytes)
            self._json(text[start:end], places)

    def _json(self, text: str, places: Places) -> None:
        try:
            tree, duplicates = parse(text, _MOST_VALUES)
            self._texts.append((places, tree))
        except JsonFault as fault:
            self._texts.append((places, None))
            at = places.at_offset((fault.column or 1) - 1)
            if isinstance(fault, NumberFault):
                self.judge.report(*out_of_range(at, fault))
            elif isinstance(fault, DepthFault):
                self.judge.report(NESTING_TOO_DEEP, Problem(fault.reason, at, fault.hint))
            else:
                self.judge.report(JSON_SYNTAX, Problem(f"not JSON: {fault.reason}", at, fault.hint))
            return
        if duplicates:
            pairs = [(nodes[0], again) for nodes in places.repeated() for again in nodes[1:]]
            for first, again in sorted(pairs, key=lambda pair: pair[1].start):
                line, at = places.at_offset(first.start).line, places.at_offset(again.start)
                message = f"`{name_at(again.pointer)}` occurs twice in one object, first on line {line}"
                hint = "keep one of them, or make the value a list"
                self.judge.report(JSON_DUPLICATE_KEY, Problem(message, at, hint))
        if isinstance(tree, dict) or (isinstance(tree, list) and any(isinstance(each, dict) for each in tree)):
            self._jsonld(tree, places)
            return
        what = (
            f"`{clip(tree)}`" if not isinstance(tree, list) else "a list without objects" if tree else "an empty list"
        )
        hint = 'write one object with `@context` and `"@type": "sc:Dataset"`'
        problem = Problem(f"the document is {what}, expected an object", places.of(""), hint)
        self.judge.report(NOT_A_JSONLD_OBJECT, problem)

    def _jsonld(self, tree: Any, places: Places) -> None:
        try:
            expansion = expand(tree)
        except ExpansionFault as fault:
            self._not_expanded(fault, places.of(fault.pointer))
            return
        for pointer, value in expansion.ids_not_strings:
            reason = f"`@id` is `{clip(value)}`, expected a string"
            self.judge.report(ID_NOT_STRING, Problem(reason, places.of(pointer), "write the identifier as a string"))
        description = Description(tree, expansion, places)
        description.wanted_version = self.options.wanted_version
        description.required_by_profiles = {
            (kind, each.property) for kind in self._required for each in self._required[kind]
        }
        judge = self._judge_for(description.version)
        judge.tally, judge.coverage = self.judge.tally, self.judge.coverage
        self.judge = judge
        self.judge.check(Claims(description))
        self.understood.append(description)
        if description.version == "0.8":
            codes = [rule.code for rule in RULES if _OF_DESCRIPTIONS.match(rule.code) and rule not in RULES.on(Claims)]
            self._left_out(Gap(tuple(codes), self.entry.path, "the document is of version 0.8"), "the description")
            return
        self.judge.check(description)
        if description.is_meaningless:
            return
        self.descriptions.append(description)
        for dataset in description.datasets:
            self.judge.check(dataset)
        for subject in (ToReview, ToLoad):
            if any(each.grade_of(rule) for each in self.options.grading.profiles for rule in RULES.on(subject)):
                self.judge.check(subject(description))
        self._description(description)
        self._files(description)

    def offer_fixes(self) -> None:
        """Give each finding about the description the edits that repair it, where there are such."""
        findings = self.judge.tally.findings
        # Most descriptions that are checked have nothing to repair.
        if not self._texts or all(finding.code == _FOR_AUTHORS for finding in findings):
            return
        from corpusfmt.formats.croissant.repairs.registry import offered  # noqa: PLC0415

        by_places = {id(each.places): each for each in self.understood}
        texts = [(places, tree, by_places.get(id(places))) for places, tree in self._texts]
        try:
            findings[:] = offered(findings, self.entry, self._data, texts, reading=self.options.fixing)
        except Exception as error:
            self.judge.crash("the repair of a finding", error)

    def _not_expanded(self, fault: ExpansionFault, at: Location) -> None:
        match fault.kind:
            case "value":
                self.judge.report(*mistyped("a language map", fault.reason, "strings by language", at))
            case "context":
                message = f"the context cannot be processed: {fault.reason}"
                self.judge.report(CONTEXT_INVALID, Problem(message, at, fault.hint))
            case "remote":
                self.judge.report(CONTEXT_REMOTE, Problem(fault.reason, at, fault.hint))
            case "syntax":
                self.judge.report(NOT_A_JSONLD_OBJECT, Problem(fault.reason, at, fault.hint))

    def _files(self, description: Description) -> None:
        coverage = self.judge.coverage
        if not self.options.data:
            return
        from corpusfmt.formats.croissant.data.judging import judge_data  # noqa: PLC0415 - only --data needs it
        from corpusfmt.formats.croissant.data.storage import Storage  # noqa: PLC0415

        folder = self.entry.folder()
        storage = Storage(description, folder, self.options.maps)
        storage.check()
        of_files: frozenset[Fault] = frozenset()

        def report(fault: Fault) -> None:
            """Report a fault, but not again what the files have; a link once, however many files are behind it."""
            at = fault.problem.at
            if fault.type is LINK_OUTSIDE_ROOT:
                if at in self._links:
                    return
                self._links.add(at)
            if fault not in of_files:
                self.judge.report(*fault)

        for fault in storage.faults:
            report(fault)
        coverage.bytes += storage.bytes_read
        of_files = frozenset(storage.faults)
        records, gaps = judge_data(description, folder, self.options.maps, self.options.scratch, report)
        coverage.documents += records
        for gap in (*storage.gaps, *gaps):
            self._left_out(gap, "data")

    def _left_out(self, gap: Gap, what: str) -> None:
        self.judge.coverage.gap(gap.path, what, gap.reason, gap.count)
        for code in gap.codes:
            self.judge.coverage.skip(gap.path, code, gap.reason, gap.count)

    def _description(self, description: Description) -> None:
        for stranger in description.strangers:
            self.judge.check(stranger)
        for reference in description.distinct_references():
            self.judge.check(reference)
        known: set[tuple[str, ...]] = set()
        for view in description.parts:
            # If the names on one node of a class are right, so are the same names on another; except dropped ones.
            names = (view.shape.name, *view.node.values)
            if (names not in known or view.node.dropped) and self.judge.check(Part(view)):
                known.add(names)
            if not isinstance(view, Dataset):
                self.judge.check(view)
            if isinstance(view, RecordSet):
                self.judge.coverage.documents += len(view.rows or ())
                for reference in references_of_examples(view):
                    self.judge.check(reference)
            if isinstance(view, Field) and not _CONSTANTS_AND_ARRAYS.isdisjoint(view.node.values):
                if view.has_constant:
                    self.judge.check(Constant(view))
                for fault in array_shape_faults(view):
                    self.judge.report(*fault)
            for requirement in self._required.get(view.shape.name, ()):
                self.judge.check(Wanted(view, requirement))
            for fault in judged_by_shape(view, description.version):
                self.judge.report(*fault)
        for term in description.terms:
            if term.shape.name.startswith(("geocr:", "cr:")):
                self.judge.check(Part(term))
            self.judge.check(term)
            for fault in judged_by_shape(term, description.version):
                self.judge.report(*fault)


def judged_by_shape(view: View, version: str) -> Iterator[Fault]:
    """Yield where a node violates its table: another class, too many values, or values of the wrong type."""
    rows = _rows(view.shape.name, version)
    is_part = isinstance(view, Selection) or (isinstance(view, DataSource) and view.targets)
    if is_part and view.node.types and view.shape.name not in view.node.types:
        where = f"{view.title}: `@type`"
        found = one_of(view.node.types)
        yield mistyped(where, found, f"`{view.shape.name}`", view.description.places.of(f"{view.node.pointer}/@type"))
    for name in view.node.values:
        row = rows.get(name)
        if row is None:
            continue
        values = view.all(row.name)
        languages = {value.language for value in values if isinstance(value, Literal)} - {""}
        if len(values) > 1 and not row.many and len(languages) < len(values):
            count = len({_identity(value) for value in values if not _names_extension(row, value)})
            if count > 1:
                message = f"{view.title}: `{view.key(row.name)}` has {count} values, expected one"
                yield Fault(CARDINALITY_ONE, Problem(message, view.place(row.name), "keep one of them"))
        if row.mistyped == "CRO214":
            for value in values:
                if not fits(view, value, row):
                    where = f"{view.title}: `{view.key(row.name)}`"
                    yield mistyped(where, shown(value), expected(row), view.place(value), minor=row.loose)


@cache
def _rows(shape: str, version: str) -> dict[str, Property]:
    """Return the rows of a class by every name that they are read under."""
    rows = {}
    for row in properties_of(ALL_SHAPES[shape], version):
        if row.name in CROISSANT_PROPERTIES:
            rows[f"sc:{row.name[3:]}"] = row
        rows[row.name] = row
    return rows


def _identity(value: Value) -> object:
    """Return the identity of a value: in RDF, equal values are one."""
    if isinstance(value, Node):
        return value.id if value.is_reference else id(value)
    return type(value.value), str(value.value), value.language


def _names_extension(row: Property, value: Value) -> bool:
    # The RAI and GeoCroissant vocabularies require a second value of conformsTo, where the table of 1.0 has one.
    return row.name == "dct:conformsTo" and meant_extension(value.iri or "") != ""


_WORDS = {
    "Text": "a string",
    "URL": "a URL",
    "IRI": "a URL",
    "Boolean": "true or false",
    "Number": "a number",
    "Integer": "an integer",
    "Date": "an ISO 8601 date",
    "JSON": "JSON",
    "Extract": "an object",
    "Transform": "an object",
}


def expected(row: Property) -> str:
    """Return the range of a row for a message."""
    return " or ".join(_WORDS.get(kind) or article(kind.partition(":")[2] or kind) for kind in row.kinds)


def fits(view: View, value: Value, row: Property) -> bool:
    """Return whether a value is in the range of a row."""
    if row.form == "property":
        iri = value.id if isinstance(value, Node) else value.value
        return isinstance(iri, str) and has_form(iri, row.form, row.kinds)
    # A node that is described here need not be found by its identifier.
    written = value.value if isinstance(value, Literal) else value.written_id if value.is_reference else None
    if "IRI" in row.kinds and isinstance(written, str) and (not written or NOT_IN_IRIS.search(written)):
        return False
    if isinstance(value, Literal):
        return type(value.value) in _plain_types(row.kinds)
    return any(_is_of(view, value, kind) for kind in row.kinds)


#: The JSON types of each kind; other kinds have no plain values.
PLAIN: dict[str, set[type]] = {
    "Text": {str},
    "URL": {str},
    "IRI": {str},
    "Date": {str},
    "Boolean": {bool},
    "Number": {int, float},
    "Integer": {int},
    "JSON": {str, bool, int, float, list, dict, type(None)},
}


@cache
def _plain_types(kinds: tuple[str, ...]) -> frozenset[type]:
    return frozenset(each for kind in kinds for each in PLAIN.get(kind, ()))


def _is_of(view: View, node: Node, kind: str) -> bool:
    if kind in ("Extract", "Transform", "JSON"):
        return True
    prefix = kind.partition(":")[0]
    if kind == "URL":
        return node.id is not None
    if prefix not in NAMESPACES:
        return False
    named = view.description.resolve(node)
    if named is None or not {kind, *KINDS_OF.get(kind, ())}.isdisjoint(named.types):
        return True
    # The vocabulary of the property does not restrict the classes of other vocabularies.
    is_open = prefix in ("geocr", "odrl", "prov") and CLASSES.isdisjoint(named.types)
    # schema.org has hundreds of subclasses of CreativeWork; any typed node except an agent passes as one.
    is_work = kind == "sc:CreativeWork" and {"sc:Person", "sc:Organization"}.isdisjoint(named.types)
    return is_open or is_work


# --- web pages ---


_OPENING = r"(?i)<!--|<script\b"
_CLOSING = r"(?i)</script\s*>"
_JSON_LD = r"(?i)\btype\s*=\s*[\"']?application/ld\+json"
_DATASET = r'"@type"\s*:\s*(\[[^\]]{0,200})?"[^"]{0,100}Dataset"'


def is_page(name: str, text: str) -> bool:
    """Return whether a file is a web page, by its name or its beginning."""
    return name.lower().endswith((".html", ".htm")) or text[:256].lstrip().lower().startswith(("<!doctype", "<html"))


def scripts_in(page: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of the content of each JSON-LD script."""
    opening_of, closing_of, json_ld = map(re.compile, (_OPENING, _CLOSING, _JSON_LD))
    position = 0
    while (opening := opening_of.search(page, position)) is not None:
        if opening.group() == "<!--":
            end = page.find("-->", opening.end())
            if end < 0:
                return
            position = end
            continue
        start = page.find(">", opening.end()) + 1
        closing = closing_of.search(page, start) if start else None
        if closing is None:
            return
        if json_ld.search(page, opening.end(), start):
            yield start, closing.start()
        position = closing.end()
