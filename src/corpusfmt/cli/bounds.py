"""Internal: Resource limits and workers: options shared by the commands that read data."""

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
        help="Largest ratio of uncompressed to compressed bytes of a file (default: 200; 256 MiB are always allowed).",
        rich_help_panel=_PANEL,
    ),
]
MaxTotalBytes = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Most uncompressed bytes to read in the run, like 20GB.", rich_help_panel=_PANEL),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Longest run time (default: none, but each task has 20 CPU seconds and 5 more per MB read).",
        rich_help_panel=_PANEL,
    ),
]
Jobs = Annotated[int | None, typer.Option(min=1, help="Worker processes (default: one per CPU, one for small input).")]
Engine = Annotated[
    str | None, typer.Option(help="serial, processes, dask[:ADDRESS], ray[:ADDRESS] or py:MODULE:FACTORY.")
]


def limits_of(
    max_expansion: float | None, max_total_bytes: str | None, timeout: float | None, settings: Config | None = None
) -> Limits:
    """Return the limits from the options, else the settings, else the defaults. Raises `UsageError`."""
    from corpusfmt.io.limits import MAX_EXPANSION, Limits

    if settings is not None:
        max_expansion = settings.max_expansion if max_expansion is None else max_expansion
        max_total_bytes = settings.max_total_bytes if max_total_bytes is None else max_total_bytes
        timeout = settings.timeout if timeout is None else timeout
    # Comparisons with NaN are false.
    if max_expansion is not None and not 1 <= max_expansion < math.inf:
        raise UsageError(f"--max-expansion is {max_expansion:g}, expected a finite ratio of at least 1")
    if timeout is not None and not 0 < timeout < math.inf:
        raise UsageError(f"--timeout is {timeout:g}, expected a finite number of seconds above 0")
    return Limits(
        MAX_EXPANSION if max_expansion is None else max_expansion,
        None if max_total_bytes is None else size(max_total_bytes),
        timeout,
    )
