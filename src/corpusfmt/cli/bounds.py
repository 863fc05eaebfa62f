"""Internal: Resource limits, from options or settings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from corpusfmt.cli.inputs import size
from corpusfmt.model import UsageError

if TYPE_CHECKING:
    from corpusfmt.engine.config import Config
    from corpusfmt.io.limits import Limits


def limits_of(
    max_expansion: float | None, max_total_bytes: str | None, timeout: float | None, settings: Config | None = None
) -> Limits:
    """Return the limits from the options, else the settings, else the defaults. Raises `UsageError`."""
    from corpusfmt.io.limits import AWAITING, MAX_EXPANSION, Limits

    if settings is not None:
        max_expansion = settings.max_expansion if max_expansion is None else max_expansion
        max_total_bytes = settings.max_total_bytes if max_total_bytes is None else max_total_bytes
        timeout = settings.timeout if timeout is None else timeout
    # Comparisons with NaN are false.
    if max_expansion is not None and not 1 <= max_expansion < math.inf:
        raise UsageError(f"--max-expansion is {max_expansion:g}, expected a finite ratio of at least 1")
    if timeout is not None and not 0 < timeout < math.inf:
        raise UsageError(f"--timeout is {timeout:g}, expected a finite number of seconds above 0")
    found = Limits(
        MAX_EXPANSION if max_expansion is None else max_expansion,
        None if max_total_bytes is None else size(max_total_bytes),
        timeout,
    )
    AWAITING.set(found.begun())
    return found
