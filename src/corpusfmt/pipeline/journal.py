"""Internal: The log of a run: JSON Lines, appended as events happen."""

from __future__ import annotations

import io
import os
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from corpusfmt.io.outputs import Place, StorePath
from corpusfmt.io.paths import reason_of
from corpusfmt.io.publish import writing
from corpusfmt.model import Json, UsageError

# Objects cannot grow: the log in a store is put again, whole.
_SECONDS_BETWEEN_PUTS = 60.0


class Journal:
    """Appends events to a file or an object, if there is one; the last event is the end of the run.

    Raises `UsageError` if it cannot be written.
    """

    def __init__(self, place: Place | None) -> None:
        self._file: io.FileIO | None = None
        self._store: StorePath | None = None
        if place is None:
            return
        try:
            if isinstance(place, StorePath):
                self._store, self._path = place, _copied(place)
            else:
                self._path = place
            self._file = io.FileIO(self._path, "a")
        except OSError as error:
            raise UsageError(f"cannot write the log {place}: {reason_of(error)}") from error
        self._put_at = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is None:
            return
        try:
            if isinstance(error, KeyboardInterrupt):
                self("run-end", {"status": "interrupted"})
            elif error is not None:
                self("run-end", {"status": "failed", "reason": str(error)})
            self._put()
        except OSError:
            if error is None:  # a failing log must not hide the error that ended the run
                raise
        finally:
            self._file.close()
            if self._store is not None:
                self._path.unlink(missing_ok=True)

    def __call__(self, event: str, facts: Json) -> None:
        """Write an event with its time and facts."""
        if self._file is None:
            return
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        with writing(self._path):
            self._file.write(msgspec.json.encode({"time": at, "event": event} | facts) + b"\n")
        if time.monotonic() - self._put_at > _SECONDS_BETWEEN_PUTS:
            self._put()

    def _put(self) -> None:
        if self._store is not None:
            self._store.put(self._path)
            self._put_at = time.monotonic()


def _copied(place: StorePath) -> Path:
    """Return a local copy of a log, to which events are appended."""
    descriptor, name = tempfile.mkstemp(suffix=".jsonl")
    with os.fdopen(descriptor, "wb") as file, suppress(FileNotFoundError):
        file.write(place.read_bytes())
    return Path(name)
