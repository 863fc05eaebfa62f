"""Internal: The options that bound a run, the same for every command that reads data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from corpusfmt.cli.inputs import size
from corpusfmt.model import UsageError

if TYPE_CHECKING:
    from corpusfmt.engine.config import Config
    from corpusfmt.io.limits import Limits

_PANEL = "Bounds"

MaxExpansion = Annotated[
    float | None,
    typer.Option(
        metavar="RATIO",
        help="Uncompressed bytes for each compressed one of a file (default: 200; 256 MiB are always allowed).",
        rich_help_panel=_PANEL,
    ),
]
MaxTotalBytes = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Uncompressed bytes of the whole run, like 20GB.", rich_help_panel=_PANEL),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="How long the run may take (default: no limit, but 20 CPU seconds and 5 for each MB read for each task).",
        rich_help_panel=_PANEL,
    ),
]


def limits_of(
    max_expansion: float | None, max_total_bytes: str | None, timeout: float | None, settings: Config | None = None
) -> Limits:
    """Return the bounds that options name, else settings, else the defaults. Raises `UsageError`."""
    from corpusfmt.io.limits import MAX_EXPANSION, Limits

    if settings is not None:
        max_expansion = settings.max_expansion if max_expansion is None else max_expansion
        max_total_bytes = settings.max_total_bytes if max_total_bytes is None else max_total_bytes
        timeout = settings.timeout if timeout is None else timeout
    # Comparisons with what is not a number are false.
    if max_expansion is not None and not 1 <= max_expansion < math.inf:
        raise UsageError(f"--max-expansion is a finite ratio of at least 1; got {max_expansion:g}")
    if timeout is not None and not 0 < timeout < math.inf:
        raise UsageError(f"--timeout is a finite number of seconds above 0; got {timeout:g}")
    return Limits(
        MAX_EXPANSION if max_expansion is None else max_expansion,
        None if max_total_bytes is None else size(max_total_bytes),
        timeout,
    )
