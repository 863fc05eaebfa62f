"""Internal: Printed lines of text. Control characters in data cannot forge or hide a line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Literal

from corpusfmt._version import VERSION
from corpusfmt.wording import plain


def say(line: str) -> None:
    """Print a line on standard output."""
    with read_or_not():
        print(plain(line))


# No line is broken into shorter ones.
_NARROW = 40


class Loudness(IntEnum):
    """How much is said besides results and errors."""

    QUIET = 0
    USUAL = 1
    VERBOSE = 2


_loudness = Loudness.USUAL


def set_loudness(wanted: Loudness) -> None:
    """Decide for all further output."""
    global _loudness  # noqa: PLW0603 - an option of every command
    _loudness = wanted


def is_quiet() -> bool:
    """Whether only results and errors are printed."""
    return _loudness is Loudness.QUIET


def is_verbose() -> bool:
    """Whether details are printed."""
    return _loudness is Loudness.VERBOSE


def summarise(line: str) -> None:
    """Print a line on what was done on standard output, unless that is not wanted."""
    if not is_quiet():
        say(line)


def mention(line: str) -> None:
    """Print a line that is no error on standard error, unless that is not wanted."""
    if not is_quiet():
        warn(line)


def detail(line: str) -> None:
    """Print a line on standard error if details are wanted."""
    if is_verbose():
        warn(line)


def warn(line: str) -> None:
    """Print a line on standard error."""
    print(plain(line), file=sys.stderr, flush=True)


def print_version() -> None:
    """Print the name and version of the tool."""
    write([f"corpusfmt {VERSION}"])


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


def wrapped(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines that are broken between words where they would not fit into the terminal, if there is one."""
    if not sys.stdout.isatty():
        yield from lines
        return
    from shutil import get_terminal_size
    from textwrap import wrap

    width = max(get_terminal_size().columns, _NARROW)
    for line in lines:
        if len(line) <= width or " | " in line[:_NARROW]:  # excerpts stay as they are
            yield line
        else:
            yield from wrap(line, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


#: When output is coloured.
Colour = Literal["auto", "always", "never"]
_colour: Colour = "auto"


def set_colour(wanted: Colour) -> None:
    """Decide for all further output."""
    global _colour  # noqa: PLW0603 - an option of the whole command line
    _colour = wanted


def links_are_shown() -> bool:
    """Whether standard output is a terminal that shows links (OSC 8), or at least ignores them."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in {"dumb", "linux"}


def colours_are_shown() -> bool:
    """Whether standard output is coloured: as asked for, or by NO_COLOR, FORCE_COLOR and the terminal, in this order."""
    if _colour != "auto":
        return _colour == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


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
