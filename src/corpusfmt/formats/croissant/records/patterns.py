"""Regular expressions under a time limit.

A pattern such as `(a+)+$` takes longer than the age of the world on a text of sixty characters, and nothing in this
process could interrupt it. So patterns run in a helper process, many texts at a time; one that does not answer in time
is killed, and its pattern told of.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from threading import Timer
from types import TracebackType
from typing import Self

from corpusfmt.formats.croissant.records import _matching

#: How long one call on at most `_MOST_CHARACTERS` of text (or one longer text) may take, in seconds.
TIME_LIMIT = 10.0
_MOST_CHARACTERS = 1 << 20


class PatternFault(Exception):
    """A pattern cannot be run, or took too long."""


class Patterns:
    """Runs regular expressions in a process of its own, which is started when it is first needed."""

    def __init__(self, time_limit: float) -> None:
        self._time_limit = time_limit
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the helper process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def first_groups(self, pattern: str, texts: Sequence[str]) -> list[str | None]:
        """Return the first group of each text that is not empty, None where a text does not match from its start.

        A pattern without groups gives all that it matches. Raises `PatternFault`.
        """
        return [value for part in _portions(texts) for value in self._ask(pattern, None, part)]

    def replaced(self, pattern: str, replacement: str, texts: Sequence[str]) -> list[str]:
        """Return the texts with every match replaced. Raises `PatternFault`."""
        return [value or "" for part in _portions(texts) for value in self._ask(pattern, replacement, part)]

    def _ask(self, pattern: str, replacement: str | None, texts: Sequence[str]) -> list[str | None]:
        process = self._process or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        late = Timer(self._time_limit, process.kill)
        late.start()
        try:
            process.stdin.write(json.dumps([pattern, replacement, texts]).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = b""
        finally:
            late.cancel()
        if not line.endswith(b"\n"):
            self.close()
            raise PatternFault(f"no answer within {self._time_limit:g} seconds: the pattern backtracks without end")
        reply = json.loads(line)
        if "error" in reply:
            raise PatternFault(reply["error"])
        values: list[str | None] = reply["values"]
        return values

    def _started(self) -> subprocess.Popen[bytes]:
        # Isolated, and without site packages: it starts in a fiftieth of a second, and sees nothing but its script.
        command = [sys.executable, "-I", "-S", _matching.__file__]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - our own
        return self._process


def _portions(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    start, size = 0, 0
    for index, text in enumerate(texts):
        size += len(text)
        if size > _MOST_CHARACTERS and index > start:
            yield texts[start:index]
            start, size = index, len(text)
    if start < len(texts):
        yield texts[start:]
