"""Internal: Regular expressions under a time limit.

A pattern such as `(a+)+$` takes practically forever on a text of sixty characters, and this process could not interrupt
it. Therefore patterns run in a helper process, on many texts at a time; one that exceeds the time limit is killed, and
its pattern reported.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from threading import Timer

from corpusfmt.formats.croissant.data import _matching
from corpusfmt.io.limits import meter, processor_time

#: The time for one call on at most `_MOST_CHARACTERS` of text (or one longer text), in seconds.
TIME_LIMIT = 10.0
_MOST_CHARACTERS = 1 << 20
#: The number of characters that the replaced texts of one call may have: the length of the longest line.
_MOST_REPLACED = 32 * 1024 * 1024
_MOST_REPLY_BYTES = 128 * 1024 * 1024


class PatternFault(Exception):
    """A pattern cannot be run, or takes too long."""


class Patterns(AbstractContextManager["Patterns"]):
    """Runs regular expressions in a separate process, which starts when it is first needed."""

    def __init__(self, time_limit: float) -> None:
        self._time_limit = time_limit
        self._process: subprocess.Popen[bytes] | None = None
        #: Patterns that took too long.
        self._slow: set[str] = set()

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the helper process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def first_groups(self, pattern: str, texts: Sequence[str]) -> list[str | None]:
        """Return the first nonempty group of each text, None if the text does not match from its start.

        A pattern without groups gives the whole match. Raises `PatternFault`.
        """
        return [value for part in _portions(texts) for value in self._ask(pattern, None, part, 0)]

    def replaced(self, pattern: str, replacement: str, texts: Sequence[str]) -> list[str]:
        """Return the texts with every match replaced. Raises `PatternFault`."""
        found: list[str] = []
        left = _MOST_REPLACED
        for part in _portions(texts):
            values = [value or "" for value in self._ask(pattern, replacement, part, left)]
            left -= sum(map(len, values))
            found += values
        return found

    def _ask(self, pattern: str, replacement: str | None, texts: Sequence[str], most: int) -> list[str | None]:
        late = PatternFault(f"no answer within {self._time_limit:g} seconds: the pattern backtracks without end")
        if pattern in self._slow:
            raise late
        if self._process is None:
            # Isolated and without site packages, it starts within 20 ms and sees nothing but its script.
            command = [sys.executable, "-I", "-S", _matching.__file__]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - our own
        process, task, line = self._process, meter(), b""
        assert process.stdin is not None
        assert process.stdout is not None
        began = time.monotonic() - processor_time()
        timer = Timer(min(self._time_limit, task.seconds_left), process.kill)
        timer.start()
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps([pattern, replacement, texts, most]).encode() + b"\n")
                process.stdin.flush()
                line = process.stdout.readline(_MOST_REPLY_BYTES + 1)
        finally:
            timer.cancel()
            task.waited += time.monotonic() - processor_time() - began  # the helper's time counts as the task's
        if len(line) > _MOST_REPLY_BYTES:
            self.close()
            raise PatternFault("the replaced texts are too long")
        if not line.endswith(b"\n"):
            self.close()
            meter().check()
            self._slow.add(pattern)
            raise late
        reply = json.loads(line)
        if "error" in reply:
            raise PatternFault(reply["error"])
        values: list[str | None] = reply["values"]
        return values


def _portions(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    start, size = 0, 0
    for index, text in enumerate(texts):
        size += len(text)
        if size > _MOST_CHARACTERS and index > start:
            yield texts[start:index]
            start, size = index, len(text)
    if start < len(texts):
        yield texts[start:]
