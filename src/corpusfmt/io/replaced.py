"""Internal: The existing files that a call will replace with its outputs, which it therefore must not read as its data."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from corpusfmt.model import UsageError
from corpusfmt.wording import clipped

# Real paths and URLs, each with the name of the output, by call; of all threads, since those of a pool read for others.
_noted: dict[int, dict[str, str]] = {}
_own: ContextVar[dict[str, str] | None] = ContextVar("_own", default=None)


@contextmanager
def noting_outputs(noted: Collection[tuple[str, str]] = ()) -> Iterator[None]:
    """Let outputs be noted until the block ends, the given ones from the beginning: a worker has those of its call.

    Functions with outputs are decorated with this.
    """
    own = dict(noted)
    before = _own.set(own)
    _noted[id(own)] = own
    try:
        yield
    finally:
        del _noted[id(own)]
        _own.reset(before)


def noted_outputs() -> list[tuple[str, str]]:
    """Return what has been noted."""
    return [item for each in list(_noted.values()) for item in each.items()]


def note_output(place: str, what: str, *, is_remote: bool) -> None:
    """Note an output of this call, if it would replace a file."""
    own = _own.get()
    if own is not None and (is_remote or os.path.isfile(place)):  # noqa: PTH113
        own[place if is_remote else os.path.realpath(place)] = f"{what} is {clipped(place)}"


def refuse_replaced(url: str, *, is_remote: bool) -> None:
    """Raise `UsageError` for a file that a call reads and would replace."""
    noted = noted_outputs()
    if noted and (said := dict(noted).get(url if is_remote else os.path.realpath(url))):
        raise UsageError(f"{said}, which is also read: choose another path")
