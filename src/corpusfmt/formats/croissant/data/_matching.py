"""Internal: The helper process of `patterns`: runs regular expressions, one request per line. Does not import corpusfmt."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

# Only Linux counts the memory that is used, not the memory that is reserved.
_MOST_MEMORY = 384 * 1024 * 1024


class _TooLong(Exception):
    """The replaced texts are too long."""


def answer(pattern: str, replacement: str | None, texts: list[str], most: int) -> list[str | None]:
    """Return the first nonempty group of each text, or with a replacement, the text with all matches replaced.

    Replaced texts have at most `most` characters in total.
    """
    compiled = re.compile(pattern)
    if replacement is None:
        return [_first_group(compiled.match(text)) for text in texts]
    found: list[str | None] = []
    for text in texts:
        found.append(_replaced(compiled, replacement, text, most))
        most -= len(found[-1] or "")
    return found


def _replaced(compiled: re.Pattern[str], replacement: str, text: str, most: int) -> str:
    left = most

    def counted(match: re.Match[str]) -> str:
        nonlocal left
        value = match.expand(replacement)
        left -= len(value)
        if left < 0:
            raise _TooLong
        return value

    # Every position may match, and every group may be the whole text.
    longest = len(text) + (len(text) + 1) * (len(replacement) + replacement.count("\\") * len(text))
    if "\\" in replacement and longest > most:
        found = compiled.sub(counted, text)
    else:
        found = compiled.sub(replacement, text, most // max(len(replacement), 1) + 1)
    if len(found) > most:
        raise _TooLong
    return found


def _first_group(match: re.Match[str] | None) -> str | None:
    if match is None:
        return None
    return next((group for group in match.groups() if group), match.group() if not match.re.groups else "")


def main() -> None:
    """Answer requests until there are no more."""
    if sys.platform == "linux":
        import resource  # noqa: PLC0415 - not every platform has it

        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(_reply(line) + b"\n")
        sys.stdout.buffer.flush()


def _reply(line: bytes) -> bytes:
    reply: dict[str, Any]
    try:
        return json.dumps({"values": answer(*json.loads(line))}).encode()
    except _TooLong:
        reply = {"error": "the replaced texts are too long"}
    except MemoryError:
        reply = {"error": "the pattern needs too much memory"}
    except (re.error, IndexError, RecursionError, OverflowError) as error:
        reply = {"error": str(error) or type(error).__name__}
    return json.dumps(reply).encode()


if __name__ == "__main__":
    main()
