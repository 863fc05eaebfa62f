"""Internal: Printed lines of text. Control characters in data cannot forge or hide a line."""

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
    """Print lines that are already escaped, in the terminal's encoding or in UTF-8."""
    with read_or_not():
        if utf8:
            sys.stdout.flush()
            sys.stdout.buffer.writelines(encoded(lines))
        else:
            for line in lines:
                print(line)
        sys.stdout.flush()


def links_are_shown() -> bool:
    """Whether standard output is a terminal that shows links (OSC 8), or at least ignores them."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in {"dumb", "linux"}


def encoded(lines: Iterable[str]) -> Iterator[bytes]:
    """Yield lines in UTF-8, each with its line end."""
    return (f"{line}\n".encode("utf-8", "backslashreplace") for line in lines)


@contextmanager
def read_or_not() -> Iterator[None]:
    """Continue if the reader of standard output is gone, so that the exit status still shows the verdict."""
    try:
        yield
    except BrokenPipeError:
        leave_unread()


def leave_unread() -> None:
    """Discard all further standard output."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
