"""Internal: What profiles require beyond the specification."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from corpusfmt.formats.croissant.model.graph import Description, Field, Transform, View
from corpusfmt.formats.croissant.model.nodes import NAMESPACES, OTHER_NAMESPACES, Literal, Value, local_name
from corpusfmt.formats.croissant.model.vocabulary import ATOMIC_TYPES
from corpusfmt.formats.croissant.model.wording import clip, one_of
from corpusfmt.formats.croissant.rules.document import declared_at
from corpusfmt.formats.croissant.ruleset import RULES
from corpusfmt.io.text import escaped
from corpusfmt.model import Location, Problem, Severity
from corpusfmt.rules import Requirement


class Wanted(Struct):
    """A node of a class, and a property of that class that a profile requires."""

    view: View
    requirement: Requirement

    @property
    def at(self) -> Location:
        return self.view.at


@RULES.rule(
    "CRO290",
    "profile-property-missing",
    on=Wanted,
    grades={"minor": Severity.WARNING},
    spec="the source in the message",
)
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
    values = _values(view, name)
    if any(map(_says_something, values)):
        return
    above = "" if view.parent is None else f"{view.title}: "
    fault = f"`{name}` is empty" if values else f"`{name}` is missing"
    example = json.dumps(requirement.example, ensure_ascii=False, default=str)
    key = name.partition(":")[2] if name.startswith(("sc:", "cr:")) else name
    message = f"{above}{fault}, required by {requirement.source}"
    at = view.place_of(values[0]) if values else view.at
    yield Problem(message, at, f'add `"{key}": {example}`', minor=requirement.severity is not Severity.ERROR)


def _values(view: View, name: str) -> list[Value]:
    """Return the values of a property by its IRI, with a usual prefix or in full."""
    prefix, _, local = name.partition(":")
    namespace = NAMESPACES.get(prefix) or OTHER_NAMESPACES.get(prefix)
    return view.all(name) or (view.node.values.get(namespace + local, []) if namespace else [])


def _says_something(value: Value) -> bool:
    return not (isinstance(value, Literal) and (value.value is None or str(value.value).strip() in ("", "{}", "[]")))


# Properties whose values are data, names of data or parts of programs.
_NO_PROSE = frozenset(
    "@context data examples value column jsonPath regex format separator delimiter includes excludes key".split()  # noqa: SIM905
)
_NAMED_LIKE_DATA = re.compile(r"/(distribution|recordSet|[fF]ield|subField|annotation)/")


def _texts(description: Description) -> Iterator[tuple[str, str, str]]:
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


_PLACEHOLDER = re.compile(
    r"""
    [\W_]*+(todo|tb[dac]|fixme|n/?a|n\.\s?a\.|x{3,}|placeholder|(change|fill|replace)[ _-]?me)[\W_]*+
    | [.?_\s\u2026-]+ | (?-i:TODO|TBD|FIXME)\b.* | .*\blorem\ ipsum\b.*
    | .*[\[<{]\s*(your|insert|add|fill|replace|verify|todo|tbd|placeholder)\b[^\[\]<>{}]*[\]>}].*
    | .*\byour[-_](org|user|name|team|repo|dataset|email|url)\w*.*
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


@RULES.rule("CRO291", "placeholder", on=Description, severity=Severity.WARNING, spec="croissant-1.0#required")
def placeholder(description: Description) -> Iterator[Problem]:
    """A text is a placeholder, or repeats the name of its property. One finding for all equal ones.

    Why: it satisfies a requirement in form and says nothing; templates are published by mistake.
    Example: `"rai:dataBiases": "TODO"`, `N/A`, `[VERIFY THIS]`, `https://example.org/<your-org>/data`.
    Fix: write the text, or remove the property.
    """
    places: dict[tuple[str, str], list[str]] = {}
    for pointer, name, text in _texts(description):
        is_label = name in ("", "name", "sc:name") and _NAMED_LIKE_DATA.search(pointer)
        repeats = text.strip().casefold() == local_name(name).casefold() and (
            name[:4] in ("rai:", "prov") or name in _PROSE
        )
        if not is_label and text.strip() and (repeats or _PLACEHOLDER.fullmatch(text)):
            places.setdefault((name, text), []).append(pointer)
    for (name, text), pointers in places.items():
        at = description.places.of(pointers[0])
        yield Problem(f"`{name}` is the placeholder `{clip(text)}`", at, "write the text", count=len(pointers))


_PROSE = ("description", "license", "citeAs", "creator", "publisher", "keywords", "url", "version", "sha256")


class ToReview(Struct):
    """A description for reviewers who must not learn whose it is."""

    description: Description


_AGENTS = re.compile(
    r"(?i).*(creator|author|publisher|contributor|maintainer|funder|funding|sponsor|editor|producer|provider|"
    r"copyrightHolder|accountablePerson|agent|wasAttributedTo|wasAssociatedWith)"
)
_OF_OTHERS = re.compile(r"/(prov:)?(wasDerivedFrom|isBasedOn)(/|$)|[lL]icense(/|$)")
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
    for pointer, name, text in _texts(description):
        kinds = [kind for kind, pattern in _REVEALING.items() if re.search(pattern, text)]
        role = _AGENTS.match(pointer)
        if not kinds and role and not pointer.endswith(("@type", "@id")) and "anonym" not in text.casefold():
            kinds = ["a name"]
        if kinds and text.strip() and not _OF_OTHERS.search(pointer):
            message = f"`{name}` has {' and '.join(kinds)}: `{clip(text)}`"
            yield Problem(message, description.places.of(pointer), "write `Anonymous`, or remove it for the review")


class ToLoad(Struct):
    """A description for mlcroissant."""

    description: Description


_LOADED = ATOMIC_TYPES.keys() - {"sc:Number", "sc:String"} | {
    "sc:AudioObject", "sc:ImageObject", "sc:VideoObject", "cr:BoundingBox",
}  # fmt: skip


_TRANSFORMS = ("cr:format", "cr:jsonPath", "cr:regex", "cr:replace", "cr:separator", "cr:readLines", "cr:unArchive")


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
    told: set[str] = set()
    for view in description.parts:
        for message, place, hint in _not_loaded(view):
            if hint not in told or "context" not in hint:
                yield Problem(f"mlcroissant: {view.title}: {message}", place, hint)
            told.add(hint)


def _not_loaded(view: View) -> Iterator[tuple[str, Location, str]]:
    if len(view.node.types) > 1:
        at = view.description.places.of(f"{view.node.pointer}/@type")
        yield "`@type` is a list", at, f"write `{view.shape.name}` alone"
    for name in ("sc:sha256", "cr:md5"):
        for literal in view.texts(name):
            if literal.value != literal.value.lower():
                yield (
                    f"`{view.key(name)}` in capitals is not loaded",
                    view.place_of(literal),
                    f"write `{literal.value.lower()}`",
                )
    for literal in view.texts("sc:encodingFormat"):
        if literal.value == "application/vnd.apache.parquet":
            yield f"`{literal.value}` is not loaded", view.place_of(literal), "write `application/x-parquet`"
    if len(view.all("sc:name")) > 1:
        yield "`name` has several values", view.place("sc:name"), "keep one of them"
    if isinstance(view, Transform) and not any(view.text(name) or view.is_true(name) for name in _TRANSFORMS):
        yield "no transformation that it knows", view.at, f"write {one_of([local_name(each) for each in _TRANSFORMS])}"
    read, other = ("sc:", "cr:") if view.description.version == "1.0" else ("cr:", "sc:")
    if f"{other}containedIn" in view.node.values:
        at = view.place(f"{other}containedIn")
        yield (
            f"`containedIn` is not loaded as `{other}containedIn`",
            at,
            f"map it to `{read}containedIn` in the context",
        )
    if isinstance(view, Field):
        of_field = any(source.all("cr:field") for source in view.sources)
        if _LOADED.isdisjoint(view.data_types) and not view.sub_fields and not of_field:
            yield "no `dataType` that it knows", view.place("cr:dataType"), "add a type such as `sc:Text`"
        for reference in (*view.sources, *view.references):
            if reference.short_form:
                at = view.description.places.of(reference.node.pointer)
                yield (
                    f"`{reference.node.role}` is not read",
                    at,
                    f'write `{{"field": {{"@id": "{reference.node.written_id}"}}}}`',
                )
