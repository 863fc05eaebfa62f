"""The commands of corpusfmt, for pages and tests that name them."""

from __future__ import annotations

from functools import cache
from typing import Any

import typer

from corpusfmt.cli.app import application


@cache
def commands() -> dict[str, Any]:
    """Return every command, by its words after `corpusfmt`."""
    root: Any = typer.main.get_command(application())
    known: dict[str, Any] = {}
    for name, command in root.commands.items():
        below = getattr(command, "commands", None)
        known |= (
            {f"{name} {inner}": inner_command for inner, inner_command in below.items()} if below else {name: command}
        )
    return known
