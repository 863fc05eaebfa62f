"""Internal: Progress on standard error: a bar on a terminal, else a line every 30 seconds."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from corpusfmt.cli.console import is_quiet, warn
from corpusfmt.wording import plain

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

_HEARTBEAT_SECONDS = 30.0
_STEPS_OF_PACE = 100
# Columns of a terminal that shows sizes, speed and time left next to the bar.
_WIDE = 76


class Progressing(Protocol):
    """Progress of a run in shards and bytes on disk; a total of 0 is unknown."""

    @property
    def shards(self) -> int: ...
    @property
    def shards_total(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def bytes_total(self) -> int: ...
    @property
    def note(self) -> str: ...


@contextmanager
def shown_progress(action: str) -> Iterator[Callable[[Progressing], None]]:
    """Provide a function that shows a step."""
    if is_quiet():
        yield lambda _: None
        return
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        with _heartbeat(action) as beat:
            yield beat
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    # An empty FORCE_COLOR would deny that this is a terminal.
    console = Console(stderr=True, force_terminal=True)
    with Progress(*_columns(console.width), console=console, transient=True) as bar:
        task = bar.add_task(action, total=None, note="")

        def show(step: Progressing) -> None:
            bar.update(
                task,
                total=step.bytes_total or None,
                completed=step.bytes,
                description=f"{action} {_count(step)}",
                note=escape(plain(step.note)),
            )

        yield show


def _columns(width: int) -> tuple[str | ProgressColumn, ...]:
    """Return what is on a line of progress, as far as there is room."""
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn

    head, note = "{task.description}", "{task.fields[note]}"
    if width < _WIDE:
        return head, BarColumn(None), "{task.percentage:>3.0f} %", note
    return head, BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(), note


@contextmanager
def shown_stages() -> Iterator[Callable[[str, Progressing], None]]:
    """Provide a function that shows a step of a named stage."""
    with ExitStack() as stack:
        shown: dict[str, Callable[[Progressing], None]] = {}

        def show(stage: str, step: Progressing) -> None:
            if stage not in shown:
                stack.close()
                shown[stage] = stack.enter_context(shown_progress(stage))
            shown[stage](step)

        yield show


def _count(step: Progressing) -> str:
    return f"{step.shards:,} of {step.shards_total:,}" if step.shards_total else f"{step.shards:,}"


class _Pace:
    """Speed over the last steps: the bytes that an earlier run had done must not count."""

    def __init__(self) -> None:
        self._steps: deque[tuple[float, int]] = deque(maxlen=_STEPS_OF_PACE)

    def line(self, step: Progressing) -> str:
        """Return progress and, where known, speed and time left."""
        self._steps.append((time.monotonic(), step.bytes))
        parts = [_count(step)]
        if step.bytes_total:
            parts.append(f"{100 * step.bytes // step.bytes_total} %")
        (began, before), (now, done) = self._steps[0], self._steps[-1]
        if done > before and now > began:
            speed = (done - before) / (now - began)
            parts.append(f"{speed / 1e6:.1f} MB/s")
            if step.bytes_total:
                parts.append(f"{timedelta(seconds=round((step.bytes_total - done) / speed))} left")
        return ", ".join(filter(None, [*parts, step.note]))


@contextmanager
def _heartbeat(action: str) -> Iterator[Callable[[Progressing], None]]:
    """Print a line now and then, even while no step ends: a silent job looks dead."""
    ended = threading.Event()
    pace = _Pace()
    latest: list[str] = []

    def beat() -> None:
        while not ended.wait(_HEARTBEAT_SECONDS):
            warn(f"{action}: {latest[-1] if latest else 'started'}")

    def show(step: Progressing) -> None:
        latest[:] = [pace.line(step)]

    threading.Thread(target=beat, daemon=True).start()
    try:
        yield show
    finally:
        ended.set()
