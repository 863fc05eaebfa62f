"""Internal: CRO1xx: the document as text, as JSON and as JSON-LD; identifiers and references."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from corpusfmt.formats.croissant.model.graph import Description, Element, Field, RecordSet, Reference, View
from corpusfmt.formats.croissant.model.nodes import (
    MISTAKEN_NAMESPACES,
    NAMESPACES,
    OTHER_NAMESPACES,
    Literal,
    Node,
    local_name,
)
from corpusfmt.formats.croissant.model.shapes import (
    CROISSANT_PROPERTIES,
    RAI_OTHERWISE,
    is_rai,
    rai_names,
)
from corpusfmt.formats.croissant.model.version import OLD_NAMESPACES, VERSION_IRI
from corpusfmt.formats.croissant.model.vocabulary import is_schema_property
from corpusfmt.formats.croissant.model.wording import clip, first_and_more
from corpusfmt.formats.croissant.ruleset import RULES
from corpusfmt.model import Location, Problem, Severity


class Part(Struct):
    """Any node of a Croissant class, for what its names alone tell: of several nodes with equal names one is judged."""

    view: View

    @property
    def at(self) -> Location:
        return self.view.at


JSON_SYNTAX = RULES.finding(
    "CRO101",
    "json-syntax",
    """The document is not one JSON value.

    Why: Croissant metadata is JSON-LD, which is JSON first; a parser stops at the first fault.
    Example: a missing comma, a file cut short, two documents in one file, `NaN`.
    Fix: repair the place that the finding names; a JSON-aware editor shows it.
    """,
    spec="croissant-1.0#format-example",
)


NOT_UTF8 = RULES.finding(
    "CRO102",
    "not-utf8",
    """The document is not UTF-8. A byte order mark before it is tolerated, and said.

    Why: JSON that is exchanged must be UTF-8 without a mark; other tools stop here.
    Example: a file saved as UTF-16 or Latin-1.
    Fix: save the file as UTF-8 without a byte order mark.
    """,
    spec="RFC 8259, section 8.1",
    grades={"minor": Severity.INFO},
)


NOT_A_JSONLD_OBJECT = RULES.finding(
    "CRO103",
    "not-a-jsonld-object",
    """The document is no JSON-LD description: not an object, a list without one data set, or broken JSON-LD.

    Why: a description is one node of type Dataset; tools that look for it find nothing.
    Example: `"a string"`, `[]`, a value object with two types.
    Fix: make the document one object with `@context` and `"@type": "sc:Dataset"`.
    """,
    spec="JSON-LD 1.1, section 9",
)


NESTING_TOO_DEEP = RULES.finding(
    "CRO104",
    "nesting-too-deep",
    """Arrays and objects nest deeper than the limit, or there are more values than there is memory for.

    Why: a document without a limit on depth and size takes readers down, and no real description is so deep or large.
    Example: 100,000 opening brackets, ten million empty lists.
    Fix: flatten the description; put records into files of their own.
    """,
)


JSON_DUPLICATE_KEY = RULES.finding(
    "CRO105",
    "json-duplicate-key",
    """A name stands twice in one object.

    Why: most parsers keep the last value without a word, some the first.
    Example: `{"name": "a", "name": "b"}`.
    Fix: keep one of them, or make the value a list.
    """,
    severity=Severity.WARNING,
    spec="RFC 8259, section 4",
)


HTML_NO_JSONLD = RULES.finding(
    "CRO106",
    "html-no-jsonld",
    """A web page holds no JSON-LD script with a data set.

    Why: search engines find a description only in `<script type="application/ld+json">`.
    Example: a landing page that only links to its `croissant.json`.
    Fix: embed the description in the page.
    """,
    spec="croissant-1.0#croissant-in-web-pages",
)


@RULES.rule("CRO107", "multiple-datasets", on=Description, severity=Severity.WARNING)
def multiple_datasets(description: Description) -> Iterator[Problem]:
    """Several data sets stand in one document; each of them is judged.

    Why: tools take one of them, and which one is up to them.
    Example: a `@graph` with two nodes of type Dataset.
    Fix: write one document for each data set.
    """
    if len(description.datasets) > 1:
        message = f"{len(description.datasets)} data sets in one document, expected one"
        yield Problem(message, description.datasets[1].at, "write one document for each data set")


@RULES.rule(
    "CRO111", "context-missing", on=Description, spec="croissant-1.0#required", grades={"minor": Severity.WARNING}
)
def context_missing(description: Description) -> Iterator[Problem]:
    """The document has no `@context`. Milder where every name is an absolute or prefixed IRI.

    Why: without a context the names mean nothing: expansion drops them all.
    Example: plain JSON with `name`, `distribution`, `recordSet`.
    Fix: take the context of Appendix 1 of the specification.
    """
    if not description.has_context:
        hint = "add the context of Appendix 1 of the specification"
        yield Problem("no `@context`", description.at, hint, minor=not description.is_meaningless)


CONTEXT_INVALID = RULES.finding(
    "CRO112",
    "context-invalid",
    """The context cannot be processed.

    Why: a processor stops here, so nothing of the description can be read.
    Example: two terms that define each other, a term named `@id`, a number as context.
    Fix: take the context of Appendix 1 of the specification, and add only what it lacks.
    """,
    spec="JSON-LD 1.1 API, section 4",
)


CONTEXT_REMOTE = RULES.finding(
    "CRO113",
    "context-remote",
    """The context is a URL of which no copy is bundled; nothing is ever fetched.

    Why: what a description means must not depend on a server, and a validator must not call one.
    Example: `"@context": "https://example.org/context.jsonld"`. Those of schema.org and Croissant are bundled.
    Fix: write the context into the document.
    """,
    spec="croissant-1.0#required",
)


@RULES.rule(
    "CRO114", "namespace-wrong", on=Description, spec="croissant-1.0#namespaces", grades={"minor": Severity.INFO}
)
def namespace_wrong(description: Description) -> Iterator[Problem]:
    """A vocabulary is used under a wrong namespace IRI. Mixing http and https schema.org is only remarked.

    Why: IRIs are compared letter by letter; under another one a term means nothing. What was meant is judged as such.
    Example: `"cr": "https://mlcommons.org/croissant/"`.
    Fix: write the namespace that the hint gives.
    """
    used = description.expansion.namespaces
    for namespace, pointer in used.items():
        if namespace in MISTAKEN_NAMESPACES and not (description.version == "0.8" and namespace in OLD_NAMESPACES):
            right = NAMESPACES[MISTAKEN_NAMESPACES[namespace]]
            at = description.places.of(declared_at(description, namespace) or pointer)
            yield Problem(f"namespace `{namespace}`, expected `{right}`", at, f"write `{right}`")
    if {"http://schema.org/", "https://schema.org/"} <= used.keys():
        at = description.places.of(used["http://schema.org/"])
        yield Problem("both http and https schema.org are used", at, "use one of them throughout", minor=True)


def declared_at(description: Description, namespace: str) -> str | None:
    """Return the pointer of the context's term for a namespace."""
    for context in description.expansion.contexts:
        if isinstance(context.value, dict):
            for name, value in context.value.items():
                if value == namespace:
                    return f"{context.pointer}/{name}"
    return None


@RULES.rule("CRO115", "prefix-undeclared", on=Description, severity=Severity.WARNING, spec="croissant-1.0#namespaces")
def prefix_undeclared(description: Description) -> Iterator[Problem]:
    """A compact IRI has a prefix that no context declares. It is read as the specification's own prefix of that name.

    Why: to a JSON-LD processor `wd:Q48277` then is an absolute IRI of scheme `wd`, and names nothing.
    Example: `"dataType": "wd:Q48277"` under the context of Appendix 1, which lacks `wd`.
    Fix: declare the prefix in the context.
    """
    if not description.has_context:
        return  # that there is none is a finding of its own
    for prefix, pointers in sorted(description.expansion.undeclared.items()):
        if prefix in ("cr", "dct") and several_lost(description):
            continue  # the context is not one of Croissant: that is CRO119
        meant = NAMESPACES.get(prefix) or OTHER_NAMESPACES.get(prefix)
        hint = f'add `"{prefix}": "{meant}"` to the context' if meant else "declare it in the context"
        at = description.places.of(pointers[0])
        yield Problem(f"prefix `{prefix}` is not declared", at, hint, count=len(pointers))


@RULES.rule("CRO116", "property-unmapped", on=Part, spec="croissant-1.0#appendix-1-json-ld-context")
def property_unmapped(part: Part) -> Iterator[Problem]:
    """The context drops a property: it has no term for it, and no `@vocab`.

    Why: on expansion the value disappears without a word, for every JSON-LD tool.
    Example: `"creator"` under a context without `@vocab` that does not define it.
    Fix: add the term to the context, or an `@vocab`.
    """
    view = part.view
    for name, pointer in view.node.dropped.items():
        hint = "add the term to the context, or `@vocab`"
        if name.startswith("@"):
            hint = f"did you mean `@id`? JSON-LD reserves names of the form `{name}`"
        yield Problem(f"{view.title}: the context drops `{name}`", view.description.places.of(pointer), hint)


_CROISSANT = [local_name(name) for name in CROISSANT_PROPERTIES]


@RULES.rule("CRO117", "unknown-property", on=Part, severity=Severity.WARNING, spec="croissant-1.0#recordset")
def unknown_property(part: Part) -> Iterator[Problem]:
    """A property that neither schema.org nor Croissant nor its RAI vocabulary has. Properties of others are not judged.

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
            known, owner = name in CROISSANT_PROPERTIES, "Croissant"
        elif prefix == "rai":
            known, owner = is_rai(name), "the RAI vocabulary"
        else:
            continue
        if not known:
            likely = _likely(view, prefix, local)
            hint = f"did you mean `{likely}`?" if likely else "correct the name, or use a vocabulary that has it"
            yield Problem(f"{view.title}: {owner} has no property `{view.key(name)}`", view.place(name), hint)


def _likely(view: View, prefix: str, local: str) -> str:
    name = f"rai:{local}"
    meant = name if is_rai(name) else RAI_OTHERWISE.get(name, "")
    if prefix == "rai":
        return meant or view.description.near_misses.of(name, rai_names())
    return meant or view.description.near_misses.of_property(local, _CROISSANT)


# Where the loss of a single term has a rule of its own, CRO119 is silent: one root cause, one finding.
_LOSS_IS_TOLD = {"conformsTo", "source", "dataType", "data", "examples"}


def several_lost(description: Description) -> bool:
    """Tell whether the context forgot several terms: then `CRO119` reports all of them, and nothing else does."""
    return len(description.lost_terms) > 1


@RULES.rule(
    "CRO119", "term-unmapped", on=Description, spec="croissant-1.0#appendix-1-json-ld-context",
    grades={"minor": Severity.WARNING, "0.8": None, "0.8/minor": None},
)  # fmt: skip
def term_unmapped(description: Description) -> Iterator[Problem]:
    """The context does not map terms of Croissant that the description uses. Milder where data can be found without them.

    Why: `@vocab` makes them properties of schema.org, which has none of these names; no reader finds them. They are
    judged as what they were meant to be.
    Example: `"@context": "https://schema.org/"`; a context without `fileObject`.
    Fix: take the context of Appendix 1 of the specification, or add the terms.
    """
    lost = description.lost_terms
    if not lost or (len(lost) == 1 and not _LOSS_IS_TOLD.isdisjoint(lost)):
        return
    count, minor = 1, _LOSS_IS_TOLD.isdisjoint(lost)
    if len(lost) == 1:
        ((term, views),) = lost.items()
        count = len(views)
        message = f"{views[0].title}: the context does not map `{term}`, so that it means `sc:{term}`"
        at, hint = views[0].place(f"sc:{term}"), f'add `"{term}": "cr:{term}"` to the context'
    else:
        shown = "`, `".join(list(lost)[:_TERMS_SHOWN])
        more = f" and {len(lost) - _TERMS_SHOWN} more" if len(lost) > _TERMS_SHOWN else ""
        message = f"the context does not map {len(lost)} terms of Croissant: `{shown}`{more}"
        contexts = description.expansion.contexts
        at = description.places.of(contexts[0].pointer if contexts else "")
        hint = "take the context of Appendix 1 of the specification, or add the terms"
    yield Problem(message, at, hint, count, minor)


_TERMS_SHOWN = 8


@RULES.rule(
    "CRO120", "term-of-later-version", on=Description, severity=Severity.WARNING, spec="croissant-1.1",
    grades={"0.8": None},
)  # fmt: skip
def term_of_later_version(description: Description) -> Iterator[Problem]:
    """A description of version 1.0 uses a term of version 1.1.

    Why: readers of 1.0 do not know it, and what it says is not judged.
    Example: `"isArray": true` on a field, and `conformsTo` claims 1.0.
    Fix: claim `http://mlcommons.org/croissant/1.1`, or leave the term out (`repeated` is what 1.0 has for `isArray`).
    """
    for term, views in description.later_terms.items():
        name = f"cr:{term}" if f"cr:{term}" in views[0].node.values else f"sc:{term}"
        message = f"{views[0].title}: `{term}` is a term of Croissant 1.1 in a document of {description.version}"
        hint = f"claim `{VERSION_IRI}1.1` in `conformsTo`, or leave it out"
        yield Problem(message, views[0].place(name), hint, count=len(views))


# Properties of schema.org that the tables give to files alone.
_OF_FILES = {"sc:contentUrl", "sc:contentSize", "sc:sha256"}


def _files(view: View) -> tuple[str, ...]:
    # In 1.1 a FileSet is a schema.org DataDownload, too, which has these properties; in 1.0 it is an Intangible.
    return ("cr:FileObject", "cr:FileSet") if view.description.version == "1.1" else ("cr:FileObject",)


@RULES.rule("CRO118", "property-wrong-class", on=Part, severity=Severity.WARNING, spec="croissant-1.0#fileset")
def property_wrong_class(part: Part) -> Iterator[Problem]:
    """A known property stands on a class that does not have it.

    Why: tools read it where the tables put it, and nowhere else.
    Example: `includes` on a FileObject, `column` on a source instead of its `extract`.
    Fix: move it to the class that the message names.
    """
    view = part.view
    for name in view.node.values:
        home = ""
        if name in CROISSANT_PROPERTIES and view.shape.name not in CROISSANT_PROPERTIES[name]:
            home = " or ".join(local_name(each) for each in CROISSANT_PROPERTIES[name])
        elif name in _OF_FILES and view.shape.name.startswith("cr:") and view.shape.name not in _files(view):
            home = "FileObject"
        if home:
            message = f"{view.title}: `{view.key(name)}` is no property of a {local_name(view.shape.name)}"
            yield Problem(message, view.place(name), f"it belongs on a {home}")


ID_NOT_STRING = RULES.finding(
    "CRO121",
    "id-not-string",
    """An `@id` is not a string.

    Why: a processor stops here.
    Example: `"@id": 7`.
    Fix: write the identifier as a string.
    """,
    spec="JSON-LD 1.1, section 9.2",
)


_NO_IRI = re.compile(r'[\s<>"{}|\\^`\x00-\x20]')


@RULES.rule(
    "CRO122", "id-not-iri", on=Description, spec="croissant-1.0#id-and-reference-mechanism", grades={"0.8": None}
)
def id_not_iri(description: Description) -> Iterator[Problem]:
    """An `@id` is no IRI reference. Those of fields that only repeat the one of their record set are counted with it.

    Why: identifiers are interpreted as IRIs, which have no spaces, and no quotes, braces or angle brackets.
    Example: `"@id": "my files"`.
    Fix: write it without them; `name` may hold any text.
    """
    groups: dict[int, list[View]] = {}
    seen: set[str] = set()
    for view in description.parts:
        written = view.node.written_id
        if isinstance(written, str) and written not in seen and (not written or _NO_IRI.search(written)):
            seen.add(written)
            above = view.parent
            prefix = f"{above.node.written_id}/" if above is not None else ""
            inherited = prefix and written.startswith(prefix) and not _NO_IRI.search(written, len(prefix))
            group = groups.get(id(above)) if inherited else None
            group = groups[id(view)] = [] if group is None else group
            group.append(view)
    for group in {id(group): group for group in groups.values()}.values():
        view = group[0]
        at = description.places.of(f"{view.node.pointer}/@id")
        message = f"{view.title}: `{view.node.written_id}` is no IRI"
        yield Problem(message, at, "write it without spaces and quotes", count=len(group))


_REFERABLE = ("cr:FileObject", "cr:FileSet", "cr:RecordSet", "cr:Field")


@RULES.rule(
    "CRO123", "id-missing", on=Element, severity=Severity.WARNING, spec="croissant-1.0#id-and-reference-mechanism"
)
def id_missing(element: Element) -> Iterator[Problem]:
    """A FileObject, FileSet, RecordSet or Field has no `@id`.

    Why: what has no identifier cannot be referenced, and rows of inline data have no name for it.
    Example: a FileSet with only a `name`.
    Fix: add an `@id`; a field's starts with that of its record set and a slash.
    """
    is_shorthand = isinstance(element, Field) and element.is_parent_field
    if element.id is None and not is_shorthand:
        yield Problem(f"{element.title}: no `@id`", element.at, "add one")


@RULES.rule(
    "CRO124", "duplicate-id", on=Description, spec="croissant-1.0#id-and-reference-mechanism", grades={"0.8": None}
)
def duplicate_id(description: Description) -> Iterator[Problem]:
    """Two nodes define the same `@id`.

    Why: JSON-LD merges them into one node: two files become one, with the properties of both.
    Example: a file and a record set that are both `data`.
    Fix: give each its own identifier; an object with only `@id` is a reference.
    """
    for name, nodes in description.definitions.items():
        views = [description.views[id(node)] for node in nodes if id(node) in description.views]
        others = [node for node in nodes if id(node) not in description.views and _is_croissant(node)]
        if len(views) + len(others) > 1 and views:
            second = views[1].node if len(views) > 1 else others[0]
            first = description.places.of(views[0].node.pointer).line
            at = description.places.of(f"{second.pointer}/@id")
            count = len(views) + len(others) - 1
            yield Problem(f"`{name}` is defined again, first in line {first}", at, "rename one of them", count=count)


def _is_croissant(node: Node) -> bool:
    return any(kind in _REFERABLE for kind in node.types)


@RULES.rule(
    "CRO125",
    "field-id-prefix",
    on=RecordSet,
    severity=Severity.WARNING,
    spec="croissant-1.0#id-and-reference-mechanism",
)
def field_id_prefix(record_set: RecordSet) -> Iterator[Problem]:
    """A field's `@id` does not start with that of its record set and a slash.

    Why: identifiers are unique in the whole data set; the prefix keeps fields of the same name apart.
    Example: field `hash` of record set `images`; recommended is `images/hash`.
    Fix: put the record set's identifier and a slash before it.
    """
    if record_set.id is None:
        return
    stray = [each for each in record_set.every_field if each.id is not None and not _is_below(each)]
    if stray:
        message = f"{first_and_more(stray)}: does not start with `{record_set.node.written_id}/`"
        at = record_set.description.places.of(f"{stray[0].node.pointer}/@id")
        yield Problem(message, at, f"write `{record_set.node.written_id}/…`", count=len(stray))


def _is_below(each: Field) -> bool:
    above = each.parent
    while above is not None and above.id is not None:
        if (each.id or "").startswith(f"{above.id}/"):
            return True
        above = above.parent
    return False


@RULES.rule("CRO131", "reference-dangling", on=Reference, spec="croissant-1.0#id-and-reference-mechanism")
def reference_dangling(reference: Reference) -> Iterator[Problem]:
    """A reference names no node of the document.

    Why: the data cannot be found, or not be joined.
    Example: `"containedIn": {"@id": "archive"}` where no file has this `@id`.
    Fix: correct the identifier, or add what it names.
    """
    holder, target = reference.holder, reference.target_id
    if target is None or reference.value is None or holder.description.resolve(reference.value) is not None:
        return
    written = target
    if isinstance(reference.value, Node) and isinstance(reference.value.written_id, str):
        written = reference.value.written_id
    likely = holder.description.near_misses.of(target, holder.description.definitions)
    hint = f"did you mean `{likely}`?" if likely else "correct it, or add the node that it names"
    what = f"`{holder.key(reference.name)}` names `{written}`" if reference.name else f"`{written}`"
    yield Problem(
        f"{holder.title}: {what}, which no node of the document has as `@id`", reference.at, hint, reference.count
    )


@RULES.rule(
    "CRO132", "reference-type", on=Reference, spec="croissant-1.0#fileobject",
    grades={"minor": Severity.WARNING, "strict/minor": Severity.ERROR},
)  # fmt: skip
def reference_type(reference: Reference) -> Iterator[Problem]:
    """A reference names a node of the wrong class. Milder where files and file sets are taken for each other.

    Why: a reader looks for the properties of the class that belongs there.
    Example: `containedIn` that names a record set, `references` that names one instead of its field.
    Fix: name a node of the class that the message asks for.
    """
    holder = reference.holder
    node = holder.description.resolve(reference.value)
    if node is None or (isinstance(reference.value, Node) and not reference.value.is_reference):
        return
    strange = any(stranger.value is node for stranger in holder.description.strangers)
    if strange or set(reference.allowed).intersection(node.types):
        return
    found = " and ".join(local_name(kind) for kind in node.types) or "node without type"
    wanted = " or ".join(local_name(kind) for kind in reference.allowed)
    files = {"cr:FileObject", "cr:FileSet"}
    minor = bool(files.intersection(node.types)) and reference.name in ("cr:fileObject", "cr:fileSet", "cr:field")
    key = holder.key(reference.name)
    message = f"{holder.title}: `{key}` names `{node.written_id}`, a {found}, expected a {wanted}"
    yield Problem(message, reference.at, f"name a {wanted}", reference.count, minor)


@RULES.rule(
    "CRO133", "reference-malformed", on=Reference, spec="croissant-1.0#field", grades={"minor": Severity.WARNING}
)
def reference_malformed(reference: Reference) -> Iterator[Problem]:
    """A reference is neither an object with `@id` nor a data source. Milder for a text in `containedIn`.

    Why: it leads nowhere, so the data cannot be found.
    Example: `"fileObject": "data.csv"`, `"references": {"@idfield": "a/b"}`, `"source": {}`.
    Fix: write `{"@id": "…"}` with the identifier of the node.
    """
    holder, value = reference.holder, reference.value
    texts_allowed = ("cr:source", "cr:examples")
    if isinstance(value, Literal):
        if isinstance(value.value, str) and reference.name in texts_allowed:
            return
        message = f"{holder.title}: `{holder.key(reference.name)}` is `{clip(value.value)}`, expected a reference"
        hint = f'write `{{"@id": "{clip(value.value)}"}}`'
        # The table of FileObject has Text there, all examples a reference; it is read as one, but not by mlcroissant.
        minor = isinstance(value.value, str) and reference.name == "cr:containedIn"
        yield Problem(message, reference.at, hint, minor=minor)
    elif value.id is None and not value.dropped:
        if holder.description.version == "1.1" and reference.name == "cr:containedIn":
            return  # there it may be a data source
        key = holder.key(reference.name)
        if reference.name in ("cr:source", "cr:references"):
            yield Problem(f"{holder.title}: `{key}` {_NAMES_NOTHING}", reference.at, _NAME_ONE)
        else:
            hint = 'write `{"@id": "…"}` with the identifier of the node'
            yield Problem(f"{holder.title}: `{key}` has no `@id`", reference.at, hint)
    elif not value.is_reference and reference.name in ("cr:source", "cr:references"):
        yield Problem(f"{holder.title}: `{holder.key(reference.name)}` {_NAMES_NOTHING}", reference.at, _NAME_ONE)


_NAMES_NOTHING = "names no file, record set or field"
_NAME_ONE = "add `fileObject`, `fileSet`, `recordSet` or `field`"
