"""Internal: How a command ends: exceptions and reports turned into exit statuses, and reports written where they
were asked for.
"""

from __future__ import annotations

import functools
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import ParamSpec, TypeVar

import typer

from corpusfmt.cli.console import encoded, leave_unread, warn, write
from corpusfmt.io.limits import LimitReached
from corpusfmt.model import (
    INCOMPLETE_CODES,
    BadInput,
    Finding,
    Incomplete,
    Report,
    Severity,
    UsageError,
    Verdict,
)
from corpusfmt.report.text import stated
from corpusfmt.report.view import DEFAULT_VIEW, View
from corpusfmt.wording import clipped, clipped_message

FINDINGS, USAGE, UNFINISHED, INTERRUPTED, TERMINATED = 1, 2, 3, 130, 143

P = ParamSpec("P")
T = TypeVar("T")


class FailOn(StrEnum):
    """From which severity on findings make a run fail."""

    ERROR = "error"
    WARNING = "warning"
    NEVER = "never"


def resumable(command: Callable[P, T]) -> Callable[P, T]:
    """As `guarded`, for a command that goes on where it was interrupted when it is run again."""
    return guarded(command, how_to_resume="run the same command again to resume")


class _Terminated(KeyboardInterrupt):
    """As Ctrl-C, but sent by `kill`, a scheduler or a container that is stopped."""


def _terminate(*_: object) -> None:
    raise _Terminated


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let a run clean up when it is told to end: workers and downloads must not outlive it."""
    if threading.current_thread() is not threading.main_thread():  # others may not set handlers
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def guarded(command: Callable[P, T], how_to_resume: str = "") -> Callable[P, T]:
    """Give a command the exit statuses of the contract, whatever is raised in it."""
    hint = how_to_resume and f"; {how_to_resume}"

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            with _ended_by_sigterm():
                return command(*args, **kwargs)
        except UsageError as error:
            _fail(USAGE, f"error: {error}")
        except BadInput as error:
            explain(error.finding)
            raise typer.Exit(UNFINISHED if error.finding.code in INCOMPLETE_CODES else FINDINGS) from None
        except LimitReached as error:
            explain(error.finding)
            raise typer.Exit(UNFINISHED) from None
        except Incomplete as error:
            _fail(UNFINISHED, f"error: {error.args[0]}", *error.details)
        except _Terminated:
            _fail(TERMINATED, f"terminated{hint}")
        except KeyboardInterrupt:
            _fail(INTERRUPTED, f"interrupted{hint}")
        except BrokenPipeError:
            # Whoever read our output has gone, and has seen what it wanted: nothing may be flushed to them.
            leave_unread()
            raise typer.Exit from None
        except OSError as error:
            _fail(UNFINISHED, f"error: {error}" + (how_to_resume and f"; once that is mended, {how_to_resume}"))
        except typer.Exit:
            raise
        except Exception as error:
            _fail(UNFINISHED, f"internal error, please report it: {type(error).__name__}: {error}")
        raise AssertionError

    return run


def explain(finding: Finding, before: str = "") -> None:
    """Print a finding on standard error, with its hint on a line of its own."""
    line = stated(finding.location, f"{finding.code} {finding.message}")
    print(f"{before}{line}", file=sys.stderr, flush=True)
    if finding.hint:
        warn(f"  help: {finding.hint}")


def _fail(status: int, *lines: str) -> None:
    for line in lines:
        warn(clipped_message(line))
    raise typer.Exit(status)


def exit_status(report: Report, fail_on: FailOn, *, require_complete: bool = False) -> int:
    """Return the status that a report deserves."""
    if report.has_gaps or (require_complete and report.verdict is Verdict.INCOMPLETE):
        return UNFINISHED
    counts = report.counts
    failing = {FailOn.ERROR: counts[Severity.ERROR], FailOn.NEVER: 0}
    failing[FailOn.WARNING] = failing[FailOn.ERROR] + counts[Severity.WARNING]
    return FINDINGS if failing[fail_on] else 0


def write_reports(report: Report, output_format: str, destinations: Sequence[str], view: View = DEFAULT_VIEW) -> None:
    """Print a report on standard output, and write each `FORMAT=PATH` asked for; `-` is standard output, too."""
    from corpusfmt.report import FOR_TERMINALS, renderer

    write(renderer(output_format)(report, view), utf8=output_format not in FOR_TERMINALS)
    for destination in destinations:
        name, _, path = destination.partition("=")
        if path == "-":
            write(renderer(name)(report, view), utf8=True)
        else:
            save_report(report, name, Path(path), view)


def save_report(report: Report, output_format: str, path: Path, view: View = DEFAULT_VIEW) -> None:
    """Write a report to a file, whole or not at all."""
    from corpusfmt.io.publish import publish
    from corpusfmt.report import renderer

    with publish(path) as file:
        file.writelines(encoded(renderer(output_format)(report, view)))


def check_outputs(output_format: str, destinations: Sequence[str]) -> None:
    """Refuse unknown output formats and what cannot be written before hours of work, not after."""
    from corpusfmt.io.publish import refuse_output
    from corpusfmt.report import renderer

    for destination in destinations:
        path = destination.partition("=")[2]
        if not path:
            raise UsageError(f"--report takes FORMAT=PATH, like junit=report.xml; got {clipped(destination)!r}")
        if path != "-":
            refuse_output(path, "--report")
    for name in (output_format, *(destination.partition("=")[0] for destination in destinations)):
        renderer(name)
