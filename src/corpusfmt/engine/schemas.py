"""Internal: Tables that a user writes in TOML, judged by a published JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from corpusfmt._resources import resource

if TYPE_CHECKING:
    from jsonschema import ValidationError


def complaints_of(found: dict[str, Any], schema: str) -> list[str]:
    """Return what is wrong with tables, each key named, by a schema below `schemas/`; nothing where all is right."""
    return sorted(complaint for error in _errors(found, schema) for complaint in _complaints(error))


def _errors(found: dict[str, Any], schema: str) -> Iterator[ValidationError]:
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415 - slow, and only user files need it

    rules = json.loads(resource("schemas", schema).read_bytes())
    # TOML distinguishes 100 from 100.0, JSON Schema does not.
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    judge = validators.extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
    yield from judge(rules).iter_errors(found)


def _complaints(error: ValidationError) -> Iterator[str]:
    path = [str(step) for step in error.absolute_path]
    schema: Any = error.schema
    found: Any = error.instance
    if error.validator == "required":
        yield f"{error.message} of `{'.'.join(path)}`" if path else error.message
    elif error.validator == "additionalProperties":
        known = schema["properties"]
        for key in found.keys() - known.keys():
            yield f"`{'.'.join([*path, key])}` is unknown; known: {', '.join(sorted(known))}"
    else:
        yield f"`{'.'.join(path)}` is {json.dumps(found, default=str)}, expected {schema['description']}"
