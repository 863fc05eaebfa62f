"""Internal: A run of a command: with typer, or without it if there is nothing to parse."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from typing import NoReturn

from corpusfmt.cli.console import read_or_not


def run(arguments: list[str]) -> NoReturn:
    """Run the command that the arguments name, and exit."""
    for stream in (sys.stdout, sys.stderr):
        # Any path or text must print on a terminal of any encoding.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    # Skip the final garbage collection: it takes a quarter of the time of a short command.
    atexit.register(gc.freeze)
    try:
        if _are_paths_to_validate(arguments):
            from corpusfmt.cli.validate import command

            status = command(arguments[1:])
        else:
            from corpusfmt.cli.app import parse_and_run

            status = parse_and_run(arguments)
    except SystemExit as ended:
        status = ended.code
    with read_or_not():
        sys.stdout.flush()
    raise SystemExit(status)


def _are_paths_to_validate(arguments: list[str]) -> bool:
    """Return whether this is `validate` without options: importing typer takes as long as checking a small description.

    On Windows, typer expands patterns.
    """
    if arguments[:1] != ["validate"] or len(arguments) == 1 or os.name == "nt":
        return False
    return not any(each.startswith("-") for each in arguments)
