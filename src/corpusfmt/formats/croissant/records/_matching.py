"""The helper process of `patterns`: runs regular expressions, one request a line. Imports nothing of corpusfmt."""

from __future__ import annotations

import json
import re
import sys
from typing import Any


def answer(pattern: str, replacement: str | None, texts: list[str]) -> list[str | None]:
    """Return what a pattern makes of each text: its first group that is not empty, or the text with all matches replaced."""
    compiled = re.compile(pattern)
    if replacement is not None:
        return [compiled.sub(replacement, text) for text in texts]
    return [_first_group(compiled.match(text)) for text in texts]


def _first_group(match: re.Match[str] | None) -> str | None:
    if match is None:
        return None
    return next((group for group in match.groups() if group), match.group() if not match.re.groups else "")


def main() -> None:
    """Answer requests until there are no more."""
    for line in sys.stdin.buffer:
        reply: dict[str, Any]
        try:
            reply = {"values": answer(*json.loads(line))}
        except (re.error, IndexError, RecursionError, MemoryError, OverflowError) as error:
            reply = {"error": str(error) or type(error).__name__}
        sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
