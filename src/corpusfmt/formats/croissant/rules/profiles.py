"""Internal: What profiles require beyond the specification."""

from __future__ import annotations

import json
from collections.abc import Iterator

from msgspec import Struct

from corpusfmt.formats.croissant.model.graph import View
from corpusfmt.formats.croissant.model.nodes import NAMESPACES, OTHER_NAMESPACES, Literal, Value, local_name
from corpusfmt.formats.croissant.ruleset import RULES
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
    """Return the values of a property, by its prefixed name, its IRI, or its name in the document."""
    prefix, _, local = name.partition(":")
    namespace = NAMESPACES.get(prefix) or OTHER_NAMESPACES.get(prefix)
    found = view.all(name) or (view.node.values.get(namespace + local, []) if namespace else [])
    written = (key for key, by_author in view.node.keys.items() if by_author == name)
    return found or next((view.node.values[key] for key in written if key in view.node.values), [])


def _says_something(value: Value) -> bool:
    return not (isinstance(value, Literal) and (value.value is None or str(value.value).strip() in ("", "{}", "[]")))
