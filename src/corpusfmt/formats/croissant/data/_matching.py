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
    found: list[str | None] = []
    for text in texts:
        if replacement is not None:
            found.append(_replaced(compiled, replacement, text, most))
            most -= len(found[-1] or "")
        elif (match := compiled.match(text)) is None:
            found.append(None)
        else:
            found.append(next(filter(None, match.groups()), "" if compiled.groups else match.group()))
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
