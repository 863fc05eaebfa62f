"""Internal: CRO1xx: the document as text, as JSON and as JSON-LD; identifiers and references."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain

from msgspec import Struct

from corpusfmt.formats.croissant.model.graph import (
    Description,
    Element,
    Field,
    RecordSet,
    Reference,
    Resource,
    View,
    problem_of_all,
)
from corpusfmt.formats.croissant.model.nodes import (
    LATER_NAMESPACES,
    MISTAKEN_NAMESPACES,
    NAMESPACES,
    OTHER_NAMESPACES,
    Literal,
    Node,
    local_name,
    misbound,
)
from corpusfmt.formats.croissant.model.shapes import CROISSANT_PROPERTIES, DOMAINS, REMOVED_TERMS, VOCABULARIES
from corpusfmt.formats.croissant.model.values import NOT_IN_IRIS
from corpusfmt.formats.croissant.model.version import VERSION_IRI
from corpusfmt.formats.croissant.model.vocabulary import is_schema_property
from corpusfmt.formats.croissant.model.wording import article, clip
from corpusfmt.formats.croissant.ruleset import MILDER, RULES, WARNING
from corpusfmt.model import Problem, Severity

_NAMESPACES = "croissant-1.0#namespaces"
_APPENDIX = "croissant-1.0#appendix-1-json-ld-context"
_IDS = "croissant-1.0#id-and-reference-mechanism"


class Part(Struct):
    """A node of a Croissant class, for rules that look only at its property names: one node stands for all with equal
    names.
    """

    view: View


JSON_SYNTAX = RULES.finding(
    "CRO101",
    "json-syntax",
    """The document is not a single JSON value.

    Why: Croissant metadata is JSON-LD, which must be valid JSON; a parser stops at the first error.
    Example: a missing comma, a truncated file, two documents in one file, `NaN`.
    Fix: repair the JSON at the reported position.
    """,
    spec="croissant-1.0#format-example",
)


NOT_UTF8 = RULES.finding(
    "CRO102",
    "not-utf8",
    """The document is not UTF-8. A byte order mark at the start is accepted and reported as info.

    Why: JSON interchange requires UTF-8 without a byte order mark; other tools stop here.
    Example: a file saved as UTF-16 or Latin-1.
    Fix: save the file as UTF-8 without a byte order mark.
    """,
    spec="RFC 8259, section 8.1",
    grades={"minor": Severity.INFO},
)


NOT_A_JSONLD_OBJECT = RULES.finding(
    "CRO103",
    "not-a-jsonld-object",
    """The document is not a JSON-LD description: not an object, a list without a dataset, or malformed JSON-LD.

    Why: a description is one node of type Dataset, and tools that look for it find nothing.
    Example: `"a string"`, `[]`, a value object with two types.
    Fix: make the document one object with `@context` and `"@type": "sc:Dataset"`.
    """,
    spec="JSON-LD 1.1, section 9",
)


NESTING_TOO_DEEP = RULES.finding(
    "CRO104",
    "nesting-too-deep",
    """Arrays and objects nest deeper than the limit, or there are more values than fit in memory.

    Why: unlimited depth and size crash readers, and no real description is that deep or large.
    Example: 100,000 opening brackets, ten million empty lists.
    Fix: flatten the description; move records to separate files.
    """,
)


JSON_DUPLICATE_KEY = RULES.finding(
    "CRO105",
    "json-duplicate-key",
    """An object has the same name twice.

    Why: most parsers silently keep the last value, some the first.
    Example: `{"name": "a", "name": "b"}`.
    Fix: keep one value, or make it a list.
    """,
    severity=WARNING,
    spec="RFC 8259, section 4",
)


RDF_SYNTAX = RULES.finding(
    "CRO108",
    "rdf-syntax",
    """A description with a name of RDF is not Turtle (`.ttl`), N-Triples (`.nt`) or RDF/XML (`.rdf`, `.xml`).

    Why: a parser stops at the first error, and nothing after it is read.
    Example: a missing full stop, an undeclared prefix, an XML entity that is defined in another file.
    Fix: correct the file at the reported line.
    """,
    spec="RDF 1.1 Turtle, section 6; RDF 1.1 XML Syntax, section 7",
)


HTML_NO_JSONLD = RULES.finding(
    "CRO106",
    "html-no-jsonld",
    """A web page contains no JSON-LD script with a dataset.

    Why: search engines find a description only in `<script type="application/ld+json">`.
    Example: a landing page that only links to its `croissant.json`.
    Fix: embed the description in the page.
    """,
    spec="croissant-1.0#croissant-in-web-pages",
)


@RULES.rule("CRO107", "multiple-datasets", on=Description, severity=WARNING)
def multiple_datasets(description: Description) -> Iterator[Problem]:
    """The document describes several datasets; each is checked.

    Why: tools use only one of them, and tools differ in which.
    Example: a `@graph` with two nodes of type Dataset.
    Fix: write one document for each dataset.
    """
    if len(description.datasets) > 1:
        message = f"{len(description.datasets)} datasets in one document, expected one"
        yield Problem(message, description.datasets[1].at, "write one document for each dataset")


@RULES.rule("CRO111", "context-missing", on=Description, spec="croissant-1.0#required", grades=MILDER)
def context_missing(description: Description) -> Iterator[Problem]:
    """The document has no `@context`. A warning if every name is an absolute or prefixed IRI.

    Why: without a context, JSON-LD expansion drops the names.
    Example: plain JSON with `name`, `distribution`, `recordSet`.
    Fix: add the context of Appendix 1 of the specification.
    """
    if not description.has_context:
        hint = "add the context of Appendix 1 of the specification"
        yield Problem("`@context` is missing", description.at, hint, minor=not description.is_meaningless)


CONTEXT_INVALID = RULES.finding(
    "CRO112",
    "context-invalid",
    """The context cannot be processed.

    Why: JSON-LD processors stop here, so the description cannot be read.
    Example: two terms that define each other, a term named `@id`, a number as context.
    Fix: use the context of Appendix 1 of the specification, and add only the terms it lacks.
    """,
    spec="JSON-LD 1.1 API, section 4",
)


CONTEXT_REMOTE = RULES.finding(
    "CRO113",
    "context-remote",
    """The context is a URL without a bundled copy; nothing is ever fetched.

    Why: the meaning of a description must not depend on a server, and a validator must not contact one.
    Example: `"@context": "https://example.org/context.jsonld"`. The contexts of schema.org and Croissant are bundled.
    Fix: write the context into the document.
    """,
    spec="croissant-1.0#required",
)


@RULES.rule("CRO114", "namespace-wrong", on=Description, spec=_NAMESPACES, grades={"minor": Severity.INFO})
def namespace_wrong(description: Description) -> Iterator[Problem]:
    """A vocabulary has the wrong namespace IRI, or a usual prefix stands for another vocabulary. Mixing http and https
    schema.org is reported as info.

    Why: tools compare IRIs character by character, so they do not recognise the terms. The terms are checked as the ones
    that were meant.
    Example: `"cr": "https://mlcommons.org/croissant/"`, `"rai": "http://mlcommons.org/croissant/RAI/1.0/"`.
    Fix: write the namespace in the hint.
    """
    used = description.expansion.namespaces
    wrong = {
        f"{context.pointer}/{name}": (iri, prefix)
        for context in description.expansion.contexts
        for name, iri, prefix in misbound(context.value)
        if name == "@vocab" or f'"{name}:' in json.dumps(description.tree)
    }
    for namespace, pointer in used.items():
        if namespace in MISTAKEN_NAMESPACES:
            wrong[declared_at(description, namespace) or pointer] = namespace, MISTAKEN_NAMESPACES[namespace]
    for pointer, (iri, prefix) in wrong.items():
        message = f"the namespace is `{clip(iri)}`, expected `{NAMESPACES[prefix]}`"
        yield Problem(message, description.places.of(pointer), f"write `{NAMESPACES[prefix]}`")
    if {"http://schema.org/", "https://schema.org/"} <= used.keys():
        at = description.places.of(used["http://schema.org/"])
        message = "the document uses both `http://schema.org/` and `https://schema.org/`"
        yield Problem(message, at, "use one of them throughout", minor=True)


def declared_at(description: Description, namespace: str) -> str | None:
    """Return the pointer to the context's term for a namespace."""
    contexts = [context for context in description.expansion.contexts if isinstance(context.value, dict)]
    terms = ((f"{each.pointer}/{name}", value) for each in contexts for name, value in each.value.items())
    return next((pointer for pointer, value in terms if value == namespace), None)


@RULES.rule("CRO115", "prefix-undeclared", on=Description, severity=WARNING, spec=_NAMESPACES)
def prefix_undeclared(description: Description) -> Iterator[Problem]:
    """No context declares the prefix of a compact IRI. It is read as the specification's prefix of the same name.

    Why: a JSON-LD processor reads `wd:Q48277` as an absolute IRI with scheme `wd`, which identifies nothing.
    Example: `"dataType": "wd:Q48277"` under the context of Appendix 1, which lacks `wd`.
    Fix: declare the prefix in the context.
    """
    if not description.has_context:
        return  # CRO111 reports the missing context
    for prefix, pointers in sorted(description.expansion.undeclared.items()):
        if prefix in ("cr", "dct") and several_lost(description):
            continue  # CRO119 reports that the context is not Croissant's
        later = LATER_NAMESPACES.get(prefix) if description.version == "1.1" else None
        meant = later or NAMESPACES.get(prefix) or OTHER_NAMESPACES.get(prefix)
        hint = f'add `"{prefix}": "{meant}"` to the context' if meant else "declare the prefix in the context"
        at = description.places.of(pointers[0])
        yield Problem(f"prefix `{prefix}` is not declared", at, hint, count=len(pointers))


@RULES.rule("CRO116", "property-unmapped", on=Part, spec=_APPENDIX)
def property_unmapped(part: Part) -> Iterator[Problem]:
    """The context drops a property: it has neither a term for it nor `@vocab`.

    Why: every JSON-LD tool silently loses the value on expansion.
    Example: `"creator"` under a context that has no `@vocab` and does not define it.
    Fix: add the term or `@vocab` to the context.
    """
    view = part.view
    for name, pointer in view.node.dropped.items():
        hint = "add the term or `@vocab` to the context"
        if name.startswith("@"):
            hint = f"did you mean `@id`? JSON-LD reserves names of the form `{name}`"
        yield view.problem(f"the context drops `{name}`", hint, pointer)


_CROISSANT = [local_name(name) for name in CROISSANT_PROPERTIES]


@RULES.rule("CRO117", "unknown-property", on=Part, severity=WARNING, spec="croissant-1.0#recordset")
def unknown_property(part: Part) -> Iterator[Problem]:
    """A property is not defined by its vocabulary: schema.org, Croissant, RAI or GeoCroissant. Others are not checked.

    Why: `@vocab` turns every unknown name into one of schema.org, so that a typo looks like data.
    Example: `"recordset"`, `"encodingformat"`, `"rai:dataLimitation"`.
    Fix: correct the name, or use a vocabulary that has the property.
    """
    view = part.view
    for name in view.node.values:
        prefix, _, local = name.partition(":")
        if prefix == "sc":
            known = is_schema_property(local) or f"cr:{local}" in CROISSANT_PROPERTIES or local == "conformsTo"
            owner = "schema.org"
        elif prefix == "cr":
            known, owner = name in DOMAINS or name in CROISSANT_PROPERTIES, "Croissant"
        elif prefix in VOCABULARIES:
            known, owner = VOCABULARIES[prefix].knows(name), VOCABULARIES[prefix].owner
        else:
            continue
        if not known:
            likely = _likely(view, prefix, local)
            hint = f"did you mean `{likely}`?" if likely else "correct the name, or use a vocabulary that has it"
            yield view.problem(f"{owner} has no property `{view.key(name)}`", hint, name)


def _likely(view: View, prefix: str, local: str) -> str:
    for owner, vocabulary in VOCABULARIES.items():
        name = f"{owner}:{local}"
        meant = name if vocabulary.knows(name) else vocabulary.otherwise.get(name, "")
        if meant or prefix == owner:
            return meant or view.description.near_misses.of(name, sorted(vocabulary.properties))
    return view.description.near_misses.of_property(local, _CROISSANT)


# The loss of one of these terms alone has its own rule, so CRO119 is silent: one root cause, one finding.
_HAVE_OWN_RULES = {"conformsTo", "source", "dataType", "data", "examples"}


def several_lost(description: Description) -> bool:
    """Return whether the context lacks several terms: then `CRO119` reports all of them, and no other rule does."""
    return len(description.lost_terms) > 1


@RULES.rule("CRO119", "term-unmapped", on=Description, spec=_APPENDIX, grades=MILDER)
def term_unmapped(description: Description) -> Iterator[Problem]:
    """The context does not map Croissant terms that the description uses. A warning if the data can be found without them.

    Why: `@vocab` turns them into schema.org properties that do not exist, so readers miss them. They are checked as the
    Croissant terms that were meant.
    Example: `"@context": "https://schema.org/"`; a context without `fileObject`.
    Fix: use the context of Appendix 1 of the specification, or add the terms.
    """
    lost = description.lost_terms
    if not lost or (len(lost) == 1 and not _HAVE_OWN_RULES.isdisjoint(lost)):
        return
    minor = _HAVE_OWN_RULES.isdisjoint(lost)
    if len(lost) == 1:
        ((term, views),) = lost.items()
        message = f"the context does not map `{term}`, which becomes `sc:{term}`"
        hint = f'add `"{term}": "cr:{term}"` to the context'
        yield views[0].problem(message, hint, f"sc:{term}", count=len(views), minor=minor)
        return
    more = f" and {len(lost) - _TERMS_SHOWN} more" if len(lost) > _TERMS_SHOWN else ""
    message = f"the context does not map {len(lost)} Croissant terms: `{'`, `'.join(list(lost)[:_TERMS_SHOWN])}`{more}"
    at = description.places.of(next((context.pointer for context in description.expansion.contexts), ""))
    hint = "use the context of Appendix 1 of the specification, or add the terms"
    yield Problem(message, at, hint, minor=minor)


_TERMS_SHOWN = 8


@RULES.rule("CRO120", "term-of-later-version", on=Description, severity=WARNING, spec="croissant-1.1")
def term_of_later_version(description: Description) -> Iterator[Problem]:
    """A description of version 1.0 uses a term of version 1.1.

    Why: readers of 1.0 ignore the term. Its values are checked as in 1.1.
    Example: `"isArray": true` on a field, and `conformsTo` claims 1.0.
    Fix: set `conformsTo` to `http://mlcommons.org/croissant/1.1`, or remove the term (1.0 has `repeated` for `isArray`).
    """
    if not any(dataset.all("dct:conformsTo") for dataset in description.datasets):
        return  # CRO203 says that it claims nothing
    hint = f"set `conformsTo` to `{VERSION_IRI}1.1`, or "
    for term, views in description.later_terms.items():
        message = f"`{term}` is a term of Croissant 1.1, the document claims {description.version}"
        yield views[0].problem(message, f"{hint}remove `{term}`", f"cr:{term}", count=len(views))
    listed = [view for view in description.views.values() if isinstance(view, Resource) and view.manifests]
    if listed and description.version == "1.0":
        message = "a DataSource in `containedIn` is new in Croissant 1.1, the document claims 1.0"
        yield problem_of_all(listed, message, f"{hint}name a file or file set", "cr:containedIn")


@RULES.rule("CRO126", "term-of-earlier-version", on=Description, severity=WARNING, spec="croissant-1.1")
def term_of_earlier_version(description: Description) -> Iterator[Problem]:
    """A description of version 1.1 uses a term that 1.1 removed.

    Why: readers of 1.1 do not know the term, and the context of 1.1 does not map it.
    Example: `"repeated": true`, a transform with `delimiter`, a field of type `cr:RecordSet` with nested records.
    Fix: use the terms of 1.1 instead: `isArray`, `separator`, `jsonPath`, `subField`.
    """
    for term, views in description.removed_terms.items():
        hint = f"write {REMOVED_TERMS[f'cr:{term}']}"
        yield problem_of_all(views, f"Croissant 1.1 has no `{term}`", hint, f"cr:{term}")
    parts = description.views.values() if description.version == "1.1" else ()
    if nested := [view for view in parts if isinstance(view, Field) and "cr:RecordSet" in view.data_types]:
        message = "Croissant 1.1 has no nested record sets (`dataType` `cr:RecordSet`)"
        hint = "write a field with `subField`, and `isArray` for several"
        yield problem_of_all(nested, message, hint, "cr:dataType")


#: Properties of schema.org that the tables allow only on files.
OF_FILES = {"sc:contentUrl", "sc:contentSize", "sc:sha256"}


def _files(view: View) -> tuple[str, ...]:
    # In 1.1 a FileSet is also a schema.org DataDownload, which has these properties; in 1.0 it is an Intangible.
    return ("cr:FileObject", "cr:FileSet") if view.description.version == "1.1" else ("cr:FileObject",)


@RULES.rule("CRO118", "property-wrong-class", on=Part, severity=WARNING, spec="croissant-1.0#fileset")
def property_wrong_class(part: Part) -> Iterator[Problem]:
    """A known property is on a class that does not have it.

    Why: tools read a property only on the classes that have it.
    Example: `includes` on a FileObject, `column` on a source instead of its `extract`.
    Fix: move the property to the class in the hint.
    """
    view = part.view
    for name in view.node.values:
        home = ""
        if name in DOMAINS and view.shape.name not in DOMAINS[name]:
            home = " or ".join(local_name(each) for each in DOMAINS[name])
        elif name in OF_FILES and view.shape.name.startswith("cr:") and view.shape.name not in _files(view):
            home = "FileObject"
        if home:
            message = f"`{view.key(name)}` is not a property of {article(local_name(view.shape.name))}"
            yield view.problem(message, f"move it to {article(home)}", name)


ID_NOT_STRING = RULES.finding(
    "CRO121",
    "id-not-string",
    """An `@id` is not a string.

    Why: JSON-LD processors stop here.
    Example: `"@id": 7`.
    Fix: write the identifier as a string.
    """,
    spec="JSON-LD 1.1, section 9.2",
)


@RULES.rule("CRO122", "id-not-iri", on=Description, spec=_IDS)
def id_not_iri(description: Description) -> Iterator[Problem]:
    """An `@id` is not an IRI reference. Fields that inherit the fault from their record set's `@id` count with it.

    Why: identifiers are IRIs, which cannot contain spaces, quotes, braces or angle brackets.
    Example: `"@id": "my files"`.
    Fix: remove these characters; `name` may contain any text.
    """
    groups: dict[int, list[View]] = {}
    seen: set[str] = set()
    for view in description.parts:
        written = view.node.written_id
        if isinstance(written, str) and written not in seen and (not written or NOT_IN_IRIS.search(written)):
            seen.add(written)
            above = view.parent
            prefix = f"{above.node.written_id}/" if above is not None else ""
            inherited = prefix and written.startswith(prefix) and not NOT_IN_IRIS.search(written, len(prefix))
            group = groups.get(id(above)) if inherited else None
            group = groups[id(view)] = [] if group is None else group
            group.append(view)
    for group in {id(group): group for group in groups.values()}.values():
        node = group[0].node
        hint = "remove spaces, quotes, braces and angle brackets"
        yield group[0].problem(f"`{node.written_id}` is not an IRI", hint, f"{node.pointer}/@id", count=len(group))


#: The classes whose nodes others name.
REFERABLE = ("cr:FileObject", "cr:FileSet", "cr:RecordSet", "cr:Field")


@RULES.rule("CRO123", "id-missing", on=Element, severity=WARNING, spec=_IDS)
def id_missing(element: Element) -> Iterator[Problem]:
    """A FileObject, FileSet, RecordSet or Field has no `@id`.

    Why: a node without an identifier cannot be referenced, nor named by inline data.
    Example: a FileSet with only a `name`.
    Fix: add an `@id`; a field's `@id` starts with the record set's and a slash.
    """
    is_shorthand = isinstance(element, Field) and element.is_parent_field
    if element.id is None and not is_shorthand:
        yield element.problem("`@id` is missing", "add an `@id`")


@RULES.rule("CRO124", "duplicate-id", on=Description, spec=_IDS)
def duplicate_id(description: Description) -> Iterator[Problem]:
    """Two nodes define the same `@id`.

    Why: JSON-LD merges them into one node: two files become one, with the properties of both.
    Example: a file and a record set that are both called `data`.
    Fix: give each its own identifier; an object with only `@id` is a reference.
    """
    for name, nodes in description.definitions.items():
        views = [description.views[id(node)] for node in nodes if id(node) in description.views]
        others = [node for node in nodes if id(node) not in description.views]
        others = [node for node in others if not set(REFERABLE).isdisjoint(node.types)]
        if len(views) + len(others) > 1 and views:
            second = views[1].node if len(views) > 1 else others[0]
            first = description.places.of(views[0].node.pointer).line
            at = description.places.of(f"{second.pointer}/@id")
            message = f"`{name}` is defined again, first defined on line {first}"
            yield Problem(message, at, "rename one of them", len(views) + len(others) - 1)


@RULES.rule("CRO125", "field-id-prefix", on=RecordSet, severity=WARNING, spec=_IDS)
def field_id_prefix(record_set: RecordSet) -> Iterator[Problem]:
    """A field's `@id` does not start with its record set's `@id` and a slash.

    Why: identifiers are unique across the dataset; the prefix distinguishes fields with the same name.
    Example: field `hash` of record set `images`; the recommended form is `images/hash`.
    Fix: prefix the field's `@id` with the record set's `@id` and a slash.
    """
    fields = chain(record_set.every_field, record_set.every_annotation) if record_set.id is not None else ()
    if stray := [field for field in fields if field.id is not None and not _is_below(field)]:
        message = f"`@id` does not start with `{record_set.node.written_id}/`"
        hint = f"write `{record_set.node.written_id}/…`"
        yield problem_of_all(stray, message, hint, f"{stray[0].node.pointer}/@id")


def _is_below(field: Field) -> bool:
    above = field.parent
    while above is not None and above.id is not None:
        if (field.id or "").startswith(f"{above.id}/"):
            return True
        above = above.parent
    return False


@RULES.rule("CRO131", "reference-dangling", on=Reference, spec=_IDS)
def reference_dangling(reference: Reference) -> Iterator[Problem]:
    """A reference names a node that the document does not define.

    Why: the data cannot be found or joined.
    Example: `"containedIn": {"@id": "archive"}`, and no file has this `@id`.
    Fix: correct the identifier, or add the node.
    """
    holder, target = reference.holder, reference.value.iri
    if target is None or holder.description.resolve(reference.value) is not None:
        return
    written = getattr(reference.value, "written_id", None)
    written = written if isinstance(written, str) else target
    near_misses, known = holder.description.near_misses, holder.description.definitions
    hint = near_misses.hint(target, known, "correct the identifier, or add the node")
    what = f"`{holder.key(reference.name)}` names `{written}`" if reference.name else f"`{written}`"
    yield holder.problem(f"{what}, but no node has this `@id`", hint, reference.value, count=reference.count)


@RULES.rule("CRO132", "reference-type", on=Reference, spec="croissant-1.0#fileobject", grades=MILDER)
def reference_type(reference: Reference) -> Iterator[Problem]:
    """A reference names a node of the wrong class. A warning if a file and a file set are confused.

    Why: readers look for the properties of the expected class.
    Example: `containedIn` that names a record set, `references` that names a record set instead of its field.
    Fix: name a node of the class in the message.
    """
    holder = reference.holder
    node = holder.description.resolve(reference.value)
    if node is None or (isinstance(reference.value, Node) and not reference.value.is_reference):
        return
    is_strange = any(stranger.value is node for stranger in holder.description.strangers)
    if is_strange or set(reference.allowed).intersection(node.types):
        return
    wanted = " or ".join(local_name(kind) for kind in reference.allowed)
    is_file = not {"cr:FileObject", "cr:FileSet"}.isdisjoint(node.types)
    minor = is_file and reference.name in ("cr:fileObject", "cr:fileSet", "cr:field")
    kind = article(" and ".join(map(local_name, node.types)) or "node without a type")
    message = f"`{holder.key(reference.name)}` names `{node.written_id}`, {kind}, expected a {wanted}"
    yield holder.problem(message, f"name a {wanted}", reference.value, count=reference.count, minor=minor)


@RULES.rule("CRO133", "reference-malformed", on=Reference, spec="croissant-1.0#field", grades=MILDER)
def reference_malformed(reference: Reference) -> Iterator[Problem]:
    """A reference is neither an object with `@id` nor a data source. A warning for a string in `containedIn`.

    Why: it refers to nothing, so the data cannot be found.
    Example: `"fileObject": "data.csv"`, `"references": {"@idfield": "a/b"}`, `"source": {}`.
    Fix: write `{"@id": "…"}` with the identifier of the node.
    """
    holder, value, name = reference.holder, reference.value, reference.name
    key = holder.key(name)
    hint = 'write `{"@id": "…"}` with the identifier of the node'
    if isinstance(value, Literal):
        is_text = isinstance(value.value, str)
        if not is_text or name not in ("cr:source", "cr:examples"):
            # The table of FileObject says Text, all examples have a reference.
            minor = is_text and name == "cr:containedIn"
            message = f"`{key}` is `{clip(value.value)}`, expected a reference"
            yield holder.problem(message, f'write `{{"@id": "{clip(value.value)}"}}`', value, minor=minor)
    elif not value.is_reference:
        if name in ("cr:source", "cr:references") or "cr:DataSource" in value.types:
            hint = "add `fileObject`, `fileSet`, `recordSet` or `field`"
            yield holder.problem(f"`{key}` names no file, record set or field", hint, value)
        elif value.id is None and not value.dropped:
            yield holder.problem(f"`{key}` has no `@id`", hint, value)
