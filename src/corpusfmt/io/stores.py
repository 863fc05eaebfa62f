"""Internal: Stores that fsspec serves: what fails there is an `OSError`, whatever the library raises that talks to
them.
"""

from __future__ import annotations

import errno
from typing import Any, Self


class StoreFailure(OSError):
    """A store did not do what it was asked; the text has the kind of the failure and what the library says of it."""

    def __str__(self) -> str:
        return str(self.strerror)


def store_failure(error: Exception) -> OSError:
    """Return what a library raised as an `OSError`: it is a matter of the network or of the store, not a bug of ours."""
    said = f"{type(error).__name__}: {error}".removesuffix(": ")
    return error if isinstance(error, OSError) else StoreFailure(errno.EIO, said)


class Guarded:
    """A file system of fsspec, or a file that it has opened, whose methods fail as those of local files do."""

    def __init__(self, served: Any) -> None:
        self._served = served

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._served, name)
        if not callable(attribute):
            return attribute

        def call(*arguments: Any, **options: Any) -> Any:
            try:
                return attribute(*arguments, **options)
            except Exception as error:
                raise store_failure(error) from error

        return call

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def opened(self, path: str) -> Guarded:
        """Open a file for reading bytes."""
        return Guarded(self.open(path, "rb"))
