"""Internal: The log of a run: one JSON object a line, appended as things happen."""

from __future__ import annotations

import io
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from corpusfmt.io.paths import reason_of
from corpusfmt.io.publish import writing
from corpusfmt.model import Json, UsageError


class Journal:
    """Appends events to a file, or does nothing where there is none; the end of the run is its last event.

    Raises `UsageError` where the file cannot be opened.
    """

    def __init__(self, path: str | Path | None) -> None:
        self._path = Path(path or "")
        try:
            self._file = None if path is None else io.FileIO(path, "a")
        except OSError as error:
            raise UsageError(f"cannot write the log {path}: {reason_of(error)}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # what ended the run must not be hidden by a log that cannot be written either
            if isinstance(error, KeyboardInterrupt):
                self("run-end", {"status": "interrupted"})
            elif error is not None:
                self("run-end", {"status": "failed", "reason": str(error)})
        if self._file is not None:
            self._file.close()

    def __call__(self, event: str, facts: Json) -> None:
        """Write an event with the time and what there is to know of it."""
        if self._file is not None:
            time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            with writing(self._path):
                self._file.write(msgspec.json.encode({"time": time, "event": event} | facts) + b"\n")
