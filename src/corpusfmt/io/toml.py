"""Internal: TOML files of users: settings, recipes, releases."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from corpusfmt.io.paths import read_named
from corpusfmt.model import UsageError
from corpusfmt.wording import meant

if TYPE_CHECKING:
    from jsonschema import ValidationError

T = TypeVar("T")
#: The decoder's time and memory grow with the square of a key's parts.
_MOST_PARTS = 16
_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_LONG_KEY = rf"(?m)(?:^|[\[{{,])[ \t]*+{_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{_MOST_PARTS}}}"


def toml_at(path: str | Path, what: str, most: int = 1024 * 1024) -> str:
    """Return the text of a file of at most `most` bytes. Raises `UsageError`."""
    try:
        return read_named(path, most, what).decode("utf-8")
    except OSError as error:
        raise UsageError(f"cannot read the {what} {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{what} {path}: {error}") from error


def converted_toml(text: str, kind: type[T], what: str) -> T:
    """Return TOML as a value of a type. Raises `UsageError` with a message that begins with `what`."""
    return converted(decoded_toml(text, what), kind, what)


def converted(table: dict[str, Any], kind: type[T], what: str) -> T:
    """Return a decoded table as a value of a type. Raises `UsageError` with a message that begins with `what`."""
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"{what}: {_said(str(error))}{_meant(str(error), kind)}") from error


_KINDS = {"str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false", "array": "a list"}
_KINDS |= {"object": "a table", "date": "a date like 2024-01-31", "datetime": "a time"}


def _said(message: str) -> str:
    """Return the message of msgspec on a value, in words of a file."""
    said, _, place = message.partition(" - at `$")
    key = place.rstrip("`").lstrip(".")
    if match := re.fullmatch(r"Object missing required field (`.+`)", said):
        return f"{match[1]} is missing" + (f" in `{key}`" if key else "")
    if match := re.fullmatch(r"Object contains unknown field (`.+`)", said):
        return f"unknown field {match[1]}" + (f" in `{key}`" if key else "")
    if match := re.fullmatch(r"Expected `(.+?)`, got `(.+?)`", said):
        expected = " or ".join(_KINDS.get(kind, kind) for kind in match[1].split(" | ") if kind != "null")
        return f"`{key}` is {_KINDS.get(match[2], match[2])}, expected {expected}"
    return f"`{key}`: {said}" if key else said


_UNKNOWN_KEY = re.compile(r"unknown field `([^`]+)`")


def _meant(message: str, kind: Any) -> str:
    """Return what an unknown key may have meant, if one of the keys of a type and the tables in it is like it."""
    if (match := _UNKNOWN_KEY.search(message)) is None:
        return ""
    tables = msgspec.json.schema(kind).get("$defs", {}).values()
    # The same key may be one of another table.
    return meant(match[1], {key for table in tables for key in table.get("properties", ())} - {match[1]})


def decoded_toml(text: str, what: str, parse_float: Callable[[str], float] = float) -> dict[str, Any]:
    """Decode TOML. Raises `UsageError` with a message that begins with `what`."""
    if found := re.search(_LONG_KEY, text):
        line = text.count("\n", 0, found.end()) + 1
        raise UsageError(f"{what}: the key on line {line} has more than {_MOST_PARTS} parts, more than any setting")
    import tomllib  # noqa: PLC0415 - most commands read no TOML

    try:
        return tomllib.loads(text, parse_float=parse_float)
    except ValueError as error:
        raise UsageError(f"{what}: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{what}: nested too deeply: remove brackets") from error


def complaints_of(found: dict[str, Any], schema: bytes) -> list[str]:
    """Return what is wrong with tables that a user wrote, each key named, by a JSON Schema; nothing where all is right."""
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415 - slow, and only user files need it

    # TOML distinguishes 100 from 100.0, JSON Schema does not.
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    judge = validators.extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
    errors = judge(json.loads(schema)).iter_errors(found)
    return sorted(complaint for error in errors for complaint in _complaints(error))


def _complaints(error: ValidationError) -> Iterator[str]:
    path = [str(step) for step in error.absolute_path]
    schema: Any = error.schema
    found: Any = error.instance
    if error.validator == "required":
        yield f"{error.message} of `{'.'.join(path)}`" if path else error.message
    elif error.validator == "additionalProperties":
        known = schema["properties"]
        for key in found.keys() - known.keys():
            yield f"`{'.'.join([*path, key])}` is unknown{meant(key, known)}; known: {', '.join(sorted(known))}"
    else:
        yield f"`{'.'.join(path)}` is {json.dumps(found, default=str)}, expected {schema['description']}"
