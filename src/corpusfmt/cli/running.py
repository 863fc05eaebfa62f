"""Internal: A run of a command: with typer, or without it if there is nothing to parse."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from contextlib import suppress
from typing import NoReturn

from corpusfmt.cli.console import read_or_not

# Objects that are made before the collector looks for cycles: by default (700), it looks dozens of times while modules are
# imported, and finds none.
_NEW_OBJECTS = 60_000


def run(arguments: list[str]) -> NoReturn:
    """Run the command that the arguments name, and exit."""
    for stream in (sys.stdout, sys.stderr):
        # Any path or text must print on a terminal of any encoding.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    gc.set_threshold(_NEW_OBJECTS)
    gc.callbacks.append(_keep_all_once)
    # Skip the final garbage collection: it takes a quarter of the time of a short command.
    atexit.register(gc.freeze)
    try:
        if _are_paths_to_validate(arguments):
            _import_msgspec()
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


def _keep_all_once(_phase: str, _details: object) -> None:
    """Keep all objects when the first collection begins: most are those of modules, and looking through them takes 10 ms."""
    gc.callbacks.remove(_keep_all_once)
    gc.freeze()


def _are_paths_to_validate(arguments: list[str]) -> bool:
    """Return whether this is `validate` without options: importing typer takes as long as checking a small description.

    On Windows, typer expands patterns.
    """
    if arguments[:1] != ["validate"] or os.name == "nt":
        return False
    return not any(each.startswith("-") for each in arguments)


def _import_msgspec() -> None:
    """Import msgspec without typing_extensions, which imports inspect: it takes nothing from there that `typing` does not have."""
    name = "typing_extensions"
    if name not in sys.modules:
        sys.modules[name] = None  # type: ignore[assignment]
        with suppress(ImportError):
            import msgspec  # noqa: F401
        del sys.modules[name]
