"""Internal: What profiles require beyond the specification, and what mlcroissant cannot read or load although it allows it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from corpusfmt.formats.croissant.model.graph import (
    Dataset,
    DataSource,
    Description,
    Field,
    FileSet,
    Resource,
    Selection,
    Transform,
    View,
)
from corpusfmt.formats.croissant.model.nodes import NAMESPACES, OTHER_NAMESPACES, Literal, Node, Value, local_name
from corpusfmt.formats.croissant.model.vocabulary import ATOMIC_TYPES
from corpusfmt.formats.croissant.model.wording import clip, one_of
from corpusfmt.formats.croissant.rules.document import declared_at
from corpusfmt.formats.croissant.ruleset import MILDER, RULES, WARNING
from corpusfmt.io.text import escaped
from corpusfmt.model import Location, Problem, Severity
from corpusfmt.rules import Requirement


class Wanted(Struct):
    """A node of a class, and a property of that class that a profile requires."""

    view: View
    requirement: Requirement


@RULES.rule("CRO290", "profile-property-missing", on=Wanted, grades=MILDER, spec="the source in the message")
def profile_property_missing(wanted: Wanted) -> Iterator[Problem]:
    """A property that a profile requires is missing or empty. The profile sets the severity.

    Why: the conference, hub or project of the profile requires the property.
    Example: `--profile neurips-2026`, and no `rai:dataLimitations`.
    Fix: add the property; the hint has an example value.
    """
    view, requirement = wanted.view, wanted.requirement
    name = requirement.property
    if local_name(name) in view.node.dropped or name in view.node.dropped:
        return  # CRO116 reports what the context drops
    prefix, _, local = name.partition(":")
    # Properties of vocabularies that are not checked are kept by their full IRI.
    values = view.all(name) or view.node.values.get(f"{(NAMESPACES | OTHER_NAMESPACES).get(prefix, '')}{local}", [])
    if any(map(_says_something, values)):
        return
    above = "" if view.parent is None else f"{view.title}: "
    fault = f"`{name}` is empty" if values else f"`{name}` is missing"
    example = json.dumps(requirement.example, ensure_ascii=False, default=str)
    key = local if prefix in ("sc", "cr") else name
    message = f"{above}{fault}, required by {requirement.source}"
    at = view.place(values[0]) if values else view.at
    yield Problem(message, at, f'add `"{key}": {example}`', minor=requirement.severity is not Severity.ERROR)


def _says_something(value: Value) -> bool:
    return not (isinstance(value, Literal) and (value.value is None or str(value.value).strip() in ("", "{}", "[]")))


# Properties whose values are data, names of data or parts of programs.
_NO_PROSE = frozenset(
    "@context data examples value column jsonPath regex format separator delimiter includes excludes key".split()  # noqa: SIM905
)
_NAMED_LIKE_DATA = r"/(distribution|recordSet|[fF]ield|subField|annotation)/"


def texts_of(description: Description) -> Iterator[tuple[str, str, str]]:
    """Yield the texts of authors with their pointers and the names of their properties, in the order of the document."""
    pending: list[tuple[str, str, Any]] = [("", "", description.tree)]
    while pending:
        pointer, name, value = pending.pop()
        if isinstance(value, str):
            yield pointer, name, value
        elif isinstance(value, list):
            pending += [(f"{pointer}/{index}", name, value[index]) for index in reversed(range(len(value)))]
        elif isinstance(value, dict):
            pending += [
                (f"{pointer}/{escaped(key)}", key if key[:1] != "@" else name, value[key])
                for key in reversed(value)
                if local_name(key) not in _NO_PROSE
            ]


# Compiled where it is first used: few profiles have these rules.
_PLACEHOLDER = r"""(?xis)
    [\W_]*+(todo|tb[dac]|fixme|n/?a|n\.\s?a\.|x{3,}|placeholder|(change|fill|replace)[ _-]?me)[\W_]*+
    | [.?_\s\u2026-]+ | (?-i:TODO|TBD|FIXME)\b.* | .*\blorem\ ipsum\b.*
    | .*[\[<{]\s*(your|insert|add|fill|replace|verify|todo|tbd|placeholder)\b[^\[\]<>{}]*[\]>}].*
    | .*\byour[-_](org|user|name|team|repo|dataset|email|url)\w*.*
    """


@RULES.rule("CRO291", "placeholder", on=Description, severity=WARNING, spec="croissant-1.0#required")
def placeholder(description: Description) -> Iterator[Problem]:
    """A text is a placeholder, or repeats the name of its property. One finding for all equal ones.

    Why: it satisfies a requirement in form and says nothing; templates are published by mistake.
    Example: `"rai:dataBiases": "TODO"`, `N/A`, `[VERIFY THIS]`, `https://example.org/<your-org>/data`.
    Fix: write the text, or remove the property.
    """
    places: dict[tuple[str, str], list[str]] = {}
    for pointer, name, text in texts_of(description):
        is_label = name in ("", "name", "sc:name") and re.search(_NAMED_LIKE_DATA, pointer)
        repeats = text.strip().casefold() == local_name(name).casefold() and (
            name[:4] in ("rai:", "prov") or name in _PROSE
        )
        if not is_label and text.strip() and (repeats or re.fullmatch(_PLACEHOLDER, text)):
            places.setdefault((name, text), []).append(pointer)
    for (name, text), pointers in places.items():
        at = description.places.of(pointers[0])
        yield Problem(f"`{name}` is the placeholder `{clip(text)}`", at, "write the text", count=len(pointers))


_PROSE = ("description", "license", "citeAs", "creator", "publisher", "keywords", "url", "version", "sha256")


class ToReview(Struct):
    """A description for reviewers who must not learn whose it is."""

    description: Description


_AGENTS = (
    r"(?i).*(creator|author|publisher|contributor|maintainer|funder|funding|sponsor|editor|producer|provider|"
    r"copyrightHolder|accountablePerson|agent|wasAttributedTo|wasAssociatedWith)"
)
_OF_OTHERS = r"/(prov:)?(wasDerivedFrom|isBasedOn)(/|$)|[lL]icense(/|$)"
_REVEALING = {
    "an e-mail address": r"(?<![\w.+-])[\w.+-]++@[\w-]+(\.[\w-]+)+",
    "a git remote": r"\bgit@|\bssh://|\bgit://|\.git$",
    "a home folder": r"(?i)(/home|/users|\\users)[/\\]\w|(?:^|\s)~\w*/",
    "an account": r"(?i)://(www\.|gist\.|raw\.)?(github|githubusercontent|gitlab|bitbucket|codeberg|huggingface|kaggle|"
    r"orcid|linkedin|twitter|x|scholar\.google)\.(com|org|co)/(?!mlcommons\b|[\w/-]*anonym).+",
    "an author": r"(?i)\bauthor\s*=\s*[{\"](?!\s*anonym)",
}


@RULES.rule("CRO292", "identity-revealed", on=ToReview)
def identity_revealed(subject: ToReview) -> Iterator[Problem]:
    """A text names the authors: in a role, an e-mail address, an account, a git remote or a home folder. Not checked unless
    a profile, such as `blind`, grades this rule.

    Why: submissions to double-blind review must not reveal who made them.
    Example: `"creator": {"@type": "sc:Person", "name": "Ada Example"}`, `https://github.com/ada/data`.
    Fix: write `Anonymous`, and use an anonymous address, until the review is over.
    """
    description = subject.description
    for pointer, name, text in texts_of(description):
        kinds = [kind for kind, pattern in _REVEALING.items() if re.search(pattern, text)]
        role = re.match(_AGENTS, pointer)
        if not kinds and role and not pointer.endswith(("@type", "@id")) and "anonym" not in text.casefold():
            kinds = ["a name"]
        if kinds and text.strip() and not re.search(_OF_OTHERS, pointer):
            message = f"`{name}` contains {' and '.join(kinds)}: `{clip(text)}`"
            yield Problem(message, description.places.of(pointer), "write `Anonymous`, or remove it for the review")


class ToLoad(Struct):
    """A description for mlcroissant."""

    description: Description


@RULES.rule("CRO293", "mlcroissant-fails", on=ToLoad)
def mlcroissant_fails(subject: ToLoad) -> Iterator[Problem]:
    """Version 1.1.1 of mlcroissant cannot read what the specification allows. Not checked unless a profile, such as
    `mlcroissant`, grades this rule.

    Why: checkers of conferences load descriptions with this library.
    Example: a context without `@language`, a FileObject with two types, a SHA-256 in capitals.
    Fix: write what the hint says; it means the same.
    """
    description = subject.description
    tree, at = description.tree, description.places.of("/@context")
    context = tree.get("@context") if isinstance(tree, dict) else None
    if not isinstance(context, dict):
        kind = "a list" if isinstance(context, list) else "a URL"
        yield Problem(f"mlcroissant: `@context` is {kind}, expected an object", at, "write the terms into the document")
    elif "@language" not in context:
        yield Problem("mlcroissant: the context has no `@language`", at, 'add `"@language": "en"`')
    elif http := description.expansion.namespaces.get("http://schema.org/"):
        at = description.places.of(declared_at(description, "http://schema.org/") or http)
        yield Problem("mlcroissant: `http://schema.org/` is not read", at, "write `https://schema.org/`")
    for prefix in ("cr", "sc"):
        if pointers := description.expansion.undeclared.get(prefix):
            at, hint = description.places.of(pointers[0]), f"declare `{prefix}` in the context"
            yield Problem(f"mlcroissant: prefix `{prefix}` is not declared", at, hint)
    if not description.datasets:
        yield Problem("mlcroissant: a task is not read", description.at, "load the dataset that the task names")
    ids = [pointer for pointer, _, text in texts_of(description) if pointer.endswith("/@id") and re.search(r"\s", text)]
    if ids:
        at = description.places.of(ids[0])
        yield Problem("mlcroissant: `@id` has a space", at, "write an `@id` without spaces", count=len(ids))
    datasets = {node.id or node.pointer: node for node in description.expansion.every if "sc:Dataset" in node.types}
    if len(datasets) > 1:
        at = description.places.of(list(datasets.values())[1].pointer)
        message = f"mlcroissant: {len(datasets)} datasets: all but one, at random, are not loaded"
        yield Problem(message, at, "keep one, and name the others by `@id` alone")
        return
    told: set[str] = set()
    for view in description.parts:
        for message, place, hint in _fails(view):
            if hint not in told or "context" not in hint:
                yield Problem(f"mlcroissant: {view.title}: {message}", place, hint)
            told.add(hint)


_Fault = tuple[str, Location, str]


def _fails(view: View) -> Iterator[_Fault]:
    at = view.description.places.of(f"{view.node.pointer}/@type")
    if isinstance(view, DataSource | Selection) or (isinstance(view, Field) and view.is_parent_field):
        if view.node.types:
            yield "`@type` is not expected", at, "leave out `@type`"
    elif len(view.node.types) > 1 and not isinstance(view, Dataset):
        yield "`@type` is a list", at, f"write `{view.shape.name}` alone"
    names = view.all("sc:name")
    if len(names) > len({name.language for name in names if isinstance(name, Literal)}) > 0:
        message = "`name` has several values in a language: all but one are not loaded"
        yield message, view.place("sc:name"), "keep one of them"
    if isinstance(view, Dataset):
        yield from _of_dataset(view)
    elif isinstance(view, Resource):
        yield from _of_files(view)
    elif isinstance(view, Field):
        yield from _of_field(view)
    elif isinstance(view, Transform):
        yield from _of_transform(view)


_AGENT = ("sc:Organization", "sc:Person")
_WORK = ("sc:CreativeWork",)
# The nodes that it takes as values; where it takes agents, it takes no text.
_NODES = {
    "sc:creator": _AGENT, "sc:publisher": _AGENT, "sc:license": _WORK, "sc:sdLicense": _WORK, "cr:citeAs": (),
    "sc:inLanguage": (), "sc:keywords": (), "sc:sameAs": (), "sc:url": (), "dct:conformsTo": (),
}  # fmt: skip


def _of_dataset(dataset: Dataset) -> Iterator[_Fault]:
    for name, kinds in _NODES.items():
        for value in dataset.all(name):
            node = value if isinstance(value, Literal) else dataset.description.resolve(value) or value
            is_read = kinds is not _AGENT if isinstance(node, Literal) else not set(kinds).isdisjoint(node.types)
            if is_read:
                continue
            hint = "write a text"
            if kinds is _AGENT:
                hint = f"write an object of type {one_of(kinds)}"
            elif isinstance(value, Node) and value.is_reference:
                hint = f"write `{value.written_id}`"
            kind = "text" if isinstance(node, Literal) else "an object"
            yield f"`{dataset.key(name)}` is {kind}", dataset.place(value), hint


def _of_files(view: Resource) -> Iterator[_Fault]:
    claims = [claim.value for each in view.description.datasets for claim in each.texts("dct:conformsTo")]
    read, other = ("sc:", "cr:") if claims and claims[0].endswith("/1.0") else ("cr:", "sc:")
    if f"{other}containedIn" in view.node.values:
        at, hint = view.place(f"{other}containedIn"), f"map it to `{read}containedIn` in the context"
        yield f"`containedIn` is not loaded as `{other}containedIn`", at, hint
    if isinstance(view, FileSet):
        for name in ("cr:includes", "sc:encodingFormat"):
            if not view.all(name):
                yield f"`{local_name(name)}` is missing", view.at, f"add `{local_name(name)}`"
    for name in ("sc:sha256", "cr:md5") if not view.containers else ():
        for literal in view.texts(name):
            if literal.value != literal.value.lower():
                hint = f"write `{literal.value.lower()}`"
                yield f"`{view.key(name)}` in capitals is not loaded", view.place(literal), hint
    for literal in view.texts("sc:encodingFormat"):
        if literal.value == "application/vnd.apache.parquet":
            yield f"`{literal.value}` is not loaded", view.place(literal), "write `application/x-parquet`"


_LOADED = ATOMIC_TYPES.keys() - {"sc:Number", "sc:String"} | {
    "sc:AudioObject", "sc:ImageObject", "sc:VideoObject", "cr:BoundingBox",
}  # fmt: skip


def _of_field(field: Field) -> Iterator[_Fault]:
    of_field = any(source.all("cr:field") for source in field.sources)
    above: View | None = field
    while isinstance(above, Field) and not (above.is_parent_field or above.is_annotation):
        above = above.parent
    is_value = not isinstance(above, Field)
    if is_value and _LOADED.isdisjoint(field.data_types) and not field.sub_fields and not of_field:
        yield "the `dataType` is unknown to it", field.place("cr:dataType"), "add a type such as `sc:Text`"
    shape = field.text("cr:arrayShape") or ""
    if "(" in shape:
        yield "`arrayShape` in parentheses", field.place("cr:arrayShape"), f"write `{shape.strip('(), ')}`"
    for reference in (*field.sources, *field.references):
        at = field.description.places.of(reference.node.pointer)
        if reference.short_form:
            hint = f'write `{{"field": {{"@id": "{reference.node.written_id}"}}}}`'
            yield f"`{reference.node.role}` is not read", at, hint
        for _, value in reference.targets:
            if field.description.resolve(value) is not None and field.description.view_of(value) is None:
                hint = "put it into its record set or distribution"
                yield f"`{reference.node.role}` leads to what is not read", at, hint


def _of_transform(transform: Transform) -> Iterator[_Fault]:
    known = ("cr:format", "cr:jsonPath", "cr:regex", "cr:replace", "cr:separator", "cr:readLines", "cr:unArchive")
    written = [name for name in known if transform.text(name) or transform.is_true(name)]
    if transform.node.values.keys().isdisjoint(written):
        hint = f"write {one_of([local_name(name) for name in known])}"
        if written:
            hint = f"map `{transform.key(written[0])}` to `{written[0]}` in the context"
        yield "the transformation is unknown to it", transform.at, hint
