"""Internal: TOML files of users: settings and recipes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from typing import Any

from corpusfmt.model import UsageError

#: The decoder's time and memory grow with the square of a key's parts.
_MOST_PARTS = 16
_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?:^|[\[{{,])[ \t]*+{_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{_MOST_PARTS}}}", re.MULTILINE)


def decoded_toml(text: str, what: str, parse_float: Callable[[str], float] = float) -> dict[str, Any]:
    """Decode TOML. Raises `UsageError` with a message that begins with `what`."""
    if found := _LONG_KEY.search(text):
        line = text.count("\n", 0, found.end()) + 1
        raise UsageError(f"{what}: the key on line {line} has more than {_MOST_PARTS} parts, more than any setting")
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except ValueError as error:
        raise UsageError(f"{what}: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{what}: nested too deeply: remove brackets") from error
