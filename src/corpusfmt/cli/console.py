"""Internal: Lines of text for people: nothing that came from data or from the system can forge or hide one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from corpusfmt.wording import plain


def say(line: str) -> None:
    """Print a line on standard output."""
    with read_or_not():
        print(plain(line))


def warn(line: str) -> None:
    """Print a line on standard error."""
    print(plain(line), file=sys.stderr, flush=True)


def write(lines: Iterable[str], *, utf8: bool = False) -> None:
    """Print lines that are fit to print: in the encoding of the terminal, or in UTF-8."""
    with read_or_not():
        if utf8:
            sys.stdout.flush()
            sys.stdout.buffer.writelines(encoded(lines))
        else:
            for line in lines:
                print(line)
        sys.stdout.flush()


def encoded(lines: Iterable[str]) -> Iterator[bytes]:
    """Yield lines in UTF-8, with their ends."""
    return (f"{line}\n".encode("utf-8", "backslashreplace") for line in lines)


@contextmanager
def read_or_not() -> Iterator[None]:
    """Go on where the reader of standard output has gone: it has seen what it wanted, and the status tells the verdict."""
    try:
        yield
    except BrokenPipeError:
        leave_unread()


def leave_unread() -> None:
    """Write what is still to come to nobody."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
