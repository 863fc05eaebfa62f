"""Progress on standard error: a bar on a terminal, a heartbeat line elsewhere, nothing at all for a short run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Protocol

_HEARTBEAT_SECONDS = 30.0


class Step(Protocol):
    """How far a run is, in shards and in bytes on disk."""

    @property
    def shards(self) -> int: ...
    @property
    def shards_total(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def bytes_total(self) -> int: ...


@contextmanager
def shown_progress(action: str) -> Iterator[Callable[[Step], None]]:
    """Give a function that shows each step it is told."""
    if not sys.stderr.isatty():
        yield _heartbeat(action)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(action, total=None)

        def show(step: Step) -> None:
            bar.update(
                task,
                total=step.bytes_total,
                completed=step.bytes,
                description=f"{action} {step.shards}/{step.shards_total}",
            )

        yield show


@contextmanager
def shown_stages() -> Iterator[Callable[[str, Step], None]]:
    """Give a function that shows each step of a named stage; a stage begins when it is first told."""
    with ExitStack() as stack:
        shown: dict[str, Callable[[Step], None]] = {}

        def show(stage: str, step: Step) -> None:
            if stage not in shown:
                stack.close()
                shown[stage] = stack.enter_context(shown_progress(stage))
            shown[stage](step)

        yield show


def _heartbeat(action: str) -> Callable[[Step], None]:
    last = time.monotonic()

    def show(step: Step) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _HEARTBEAT_SECONDS:
            last = now
            share = 100 * step.bytes // step.bytes_total if step.bytes_total else 100
            print(f"{action}: {step.shards} of {step.shards_total} shards, {share} %", file=sys.stderr, flush=True)

    return show
