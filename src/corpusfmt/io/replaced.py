"""Internal: The existing files that a command will replace with its outputs, which it therefore must not read as its data."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from corpusfmt.model import UsageError
from corpusfmt.wording import clipped

# Real paths and URLs, each with the name of the output, for all threads of a command; None outside of commands.
_noted: dict[str, str] | None = None


@contextmanager
def noting_outputs(noted: Collection[tuple[str, str]] = ()) -> Iterator[None]:
    """Let outputs be noted in the block, the given ones from the beginning: a worker has those of its command."""
    global _noted  # noqa: PLW0603 - threads of a pool have no context of their own
    before = _noted
    _noted = dict(noted)
    try:
        yield
    finally:
        _noted = before


def noted_outputs() -> list[tuple[str, str]]:
    """Return what has been noted."""
    return list((_noted or {}).items())


def note_output(place: str, what: str, *, is_remote: bool) -> None:
    """Note an output of this command, if it would replace a file."""
    if _noted is not None and (is_remote or os.path.isfile(place)):  # noqa: PTH113
        _noted[place if is_remote else os.path.realpath(place)] = f"{what} is {clipped(place)}"


def refuse_replaced(url: str, *, is_remote: bool) -> None:
    """Raise `UsageError` for a file that this command reads and would replace."""
    if _noted and (said := _noted.get(url if is_remote else os.path.realpath(url))):
        raise UsageError(f"{said}, which this command reads: choose another path")
