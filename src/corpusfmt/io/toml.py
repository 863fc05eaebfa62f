"""Internal: TOML files of users: settings and recipes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from corpusfmt.io.paths import read_named
from corpusfmt.model import UsageError
from corpusfmt.wording import meant

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
        raise UsageError(f"{what}: {error}{_meant(str(error), kind)}") from error


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
