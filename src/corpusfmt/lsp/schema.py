"""Internal: What a JSON Schema says of the values at a path: names, values and descriptions for completion and hover."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from corpusfmt.lsp.outline import Value

_Schema = Mapping[str, Any]
_BRANCHES = ("anyOf", "oneOf", "allOf")


class Schema:
    """A JSON Schema with references within itself, as those of `schemas/`."""

    def __init__(self, root: _Schema) -> None:
        self.root = root

    def at(self, path: Sequence[tuple[Value, str]]) -> list[_Schema]:
        """Return the schemas that apply to the value at a path: `path` has each container, and the name of what is in it."""
        found = list(self._branches(self.root))
        for container, name in path:
            fitting = [each for each in found if _fits(each, container)]
            found = [leaf for each in fitting for inner in _inner(each, name) for leaf in self._branches(inner)]
        return found

    def properties(self, schemas: Sequence[_Schema], container: Value) -> dict[str, _Schema]:
        """Return the properties that an object may have, each with its own schema."""
        fitting = [each for each in schemas if _fits(each, container)]
        return {name: own for each in fitting for name, own in each.get("properties", {}).items()}

    def _branches(self, schema: _Schema) -> Iterator[_Schema]:
        """Yield a schema and all that it refers to or combines."""
        yield schema
        if "$ref" in schema:
            yield from self._branches(self._referred(schema["$ref"]))
        for key in _BRANCHES:
            for each in schema.get(key, ()):
                yield from self._branches(each)

    def _referred(self, reference: str) -> _Schema:
        found: Any = self.root
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]
        return dict(found)


def _fits(schema: _Schema, container: Value) -> bool:
    """Return whether a schema is for the type that an object has, if it has any."""
    own = container.string("@type")
    allowed = schema.get("properties", {}).get("@type", {}).get("enum", ())
    return not own or not allowed or own in allowed


def _inner(schema: _Schema, name: str) -> Iterator[_Schema]:
    if not name:
        if "items" in schema:
            yield schema["items"]
        return
    if name in schema.get("properties", {}):
        yield schema["properties"][name]
        return
    for pattern, each in schema.get("patternProperties", {}).items():
        if re.search(pattern, name):
            yield each


def described(schemas: Sequence[_Schema]) -> str:
    """Return the first description of a value."""
    return next((each["description"] for each in schemas if "description" in each), "")


def proposed(schemas: Sequence[_Schema]) -> list[Any]:
    """Return the values that schemas allow or give as examples."""
    found: dict[Any, None] = {}
    for schema in schemas:
        names = [schema["const"]] if "const" in schema else []
        for value in [*names, *schema.get("enum", ()), *schema.get("examples", ())]:
            if isinstance(value, str | bool | int | float):
                found[value] = None
        if schema.get("type") == "boolean":
            found |= {True: None, False: None}
    return list(found)
