"""Internal: What profiles require beyond the specification."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from corpusfmt.formats.croissant.model.graph import Description, View
from corpusfmt.formats.croissant.model.nodes import NAMESPACES, OTHER_NAMESPACES, Literal, Value, local_name
from corpusfmt.formats.croissant.model.wording import clip
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
    for pointer, name, text in texts_of(description):
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
    for pointer, name, text in texts_of(description):
        kinds = [kind for kind, pattern in _REVEALING.items() if re.search(pattern, text)]
        role = _AGENTS.match(pointer)
        if not kinds and role and not pointer.endswith(("@type", "@id")) and "anonym" not in text.casefold():
            kinds = ["a name"]
        if kinds and text.strip() and not _OF_OTHERS.search(pointer):
            message = f"`{name}` has {' and '.join(kinds)}: `{clip(text)}`"
            yield Problem(message, description.places.of(pointer), "write `Anonymous`, or remove it for the review")
