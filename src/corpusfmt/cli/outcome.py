"""Internal: How a command ends: exit statuses for exceptions and reports, and writing of reports."""

from __future__ import annotations

import atexit
import errno
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from msgspec.structs import replace

from corpusfmt.cli.console import (
    colours_are_shown,
    encoded,
    is_quiet,
    is_verbose,
    leave_unread,
    links_are_shown,
    summarise,
    warn,
    wrapped,
    write,
)
from corpusfmt.io.limits import LimitReached
from corpusfmt.io.paths import noting_outputs
from corpusfmt.model import (
    INCOMPLETE_CODES,
    BadInput,
    Finding,
    Incomplete,
    Location,
    Report,
    Severity,
    UsageError,
    Verdict,
    full_disk,
    names_options,
)
from corpusfmt.options import FailOn
from corpusfmt.report.text import stated
from corpusfmt.report.view import DEFAULT_VIEW, View
from corpusfmt.rules import NOT_JUDGED
from corpusfmt.wording import clipped, clipped_message, masked, plural

FINDINGS, USAGE, UNFINISHED, INTERRUPTED, TERMINATED = 1, 2, 3, 130, 143
_AGAIN_SECONDS = 0.05

Excerpts = Callable[[Location], Iterable[str]]
P = ParamSpec("P")
T = TypeVar("T")


def resumable(command: Callable[P, T]) -> Callable[P, T]:
    """Like `guarded`, for a command that resumes when run again."""
    return guarded(command, how_to_resume="run the same command again to resume")


class _Terminated(KeyboardInterrupt):
    """Like Ctrl-C, but sent by `kill`, a scheduler or a container runtime."""


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let a run clean up on SIGTERM: workers and downloads must not outlive it."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    own = os.getpid()

    def terminate(*_: object) -> None:
        if os.getpid() == own:
            raise _Terminated
        # A worker that another library has forked ends as if it had never seen this handler.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        with _lost_no_signal():
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _lost_no_signal() -> Iterator[None]:
    """Send a signal again if Python could only print its exception: in a destructor, or in what follows a fork."""
    shown, own = sys.unraisablehook, os.getpid()

    def lost(unraisable: sys.UnraisableHookArgs) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt) or os.getpid() != own:
            shown(unraisable)
            return
        sent = signal.SIGTERM if issubclass(unraisable.exc_type, _Terminated) else signal.SIGINT
        threading.Timer(_AGAIN_SECONDS, os.kill, [own, sent]).start()

    sys.unraisablehook = lost
    try:
        yield
    finally:
        sys.unraisablehook = shown


class Stopped(SystemExit):
    """The end of a command that an error stopped: what it has printed is not its result."""


def guarded(command: Callable[P, T], how_to_resume: str = "") -> Callable[P, T]:
    """Wrap a command so that any exception becomes its documented exit status."""
    hint = how_to_resume and f"; {how_to_resume}"

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        names_options.set(True)
        try:
            with _ended_by_sigterm(), noting_outputs():
                return command(*args, **kwargs)
        except UsageError as error:
            _fail(USAGE, f"error: {error}")
        except BadInput as error:
            explain(error.finding)
            raise Stopped(UNFINISHED if error.finding.code in INCOMPLETE_CODES else FINDINGS) from None
        except LimitReached as error:
            explain(error.finding)
            raise Stopped(UNFINISHED) from None
        except Incomplete as error:
            _fail(UNFINISHED, f"error: {error.args[0]}", *error.details)
        except _Terminated:
            _leave(TERMINATED, f"terminated{hint}")
        except KeyboardInterrupt:
            _leave(INTERRUPTED, f"interrupted{hint}")
        except BrokenPipeError:
            # The reader of our output is gone: flushing it would raise again.
            leave_unread()
            raise SystemExit(0) from None
        except OSError as error:
            said = _full(error) if error.errno == errno.ENOSPC and error.filename is None else str(error)
            _fail(UNFINISHED, f"error: {said}" + (how_to_resume and f"; fix that, then {how_to_resume}"))
        except Exception as error:
            if is_verbose():
                from traceback import print_exception

                print_exception(error)
            _fail(UNFINISHED, f"internal error, please report it: {type(error).__name__}: {error}")
        raise AssertionError

    return run


def _full(error: OSError) -> str:
    """Return what is full: standard output, to which only this package prints, or the disk of temporary files."""
    from traceback import walk_tb

    *_, (frame, _) = walk_tb(error.__traceback__)
    if frame.f_globals["__name__"].startswith(f"{__package__}.") and sys.stdout is sys.__stdout__:
        leave_unread()
        return f"standard output: {error.strerror}"
    return full_disk(error)


def explain(finding: Finding, before: str = "") -> None:
    """Print a finding on standard error, with its hint on a separate line."""
    line = stated(finding.location, f"{finding.code} {finding.message}")
    print(f"{before}{line}", file=sys.stderr, flush=True)
    if finding.hint:
        warn(f"  help: {finding.hint}")


def _fail(status: int, *lines: str) -> None:
    for line in lines:
        warn(clipped_message(masked(line)))
    raise Stopped(status)


def _leave(status: int, line: str) -> None:
    """End at a signal, without waiting for workers that not even a kill has ended."""
    from corpusfmt.engine.executors import HANGING

    if "multiprocessing" in sys.modules:
        from multiprocessing import active_children

        for worker in active_children():  # no pool knows those that were just being started
            worker.kill()
    if "distributed.deploy.spec" in sys.modules:  # prints a traceback of a cluster that had not begun
        atexit.unregister(sys.modules["distributed.deploy.spec"].close_clusters)
    if HANGING:
        warn(line)
        sys.stdout.flush()
        os._exit(status)
    _fail(status, line)


def exit_status(report: Report, fail_on: FailOn = "error", *, require_complete: bool = False) -> int:
    """Return the exit status of a report."""
    is_idle = any(what == NOT_JUDGED for _, what, _ in report.coverage.gaps)
    if report.has_gaps or (report.verdict is Verdict.INCOMPLETE and (require_complete or is_idle)):
        return UNFINISHED
    counts = report.counts
    errors = counts[Severity.ERROR]
    failing = {"error": errors, "warning": errors + counts[Severity.WARNING], "never": 0}
    return FINDINGS if failing[fail_on] else 0


def write_reports(
    report: Report, output_format: str, destinations: Sequence[str], excerpt: Excerpts | None = None
) -> None:
    """Print a report on standard output and write each `FORMAT=PATH`; `-` is standard output, too.

    `excerpt` yields what to print of the input at a place. Details (`-v`) are all kept findings, whatever their severity.
    """
    from corpusfmt.report import FOR_TERMINALS, renderer

    view = View(sys.maxsize, info=True) if is_verbose() else DEFAULT_VIEW
    view = replace(view, excerpt=excerpt or view.excerpt)

    def printed() -> Iterable[str]:
        lines = wrapped(renderer(output_format)(report, replace(view, terse=is_quiet())))
        if not (colours_are_shown() or links_are_shown()):
            return lines
        from corpusfmt.report.text import coloured, with_links

        lines = coloured(lines) if colours_are_shown() else lines
        return with_links(lines, report.by_rule) if links_are_shown() else lines

    write_outputs(lambda name: renderer(name)(report, view), output_format, destinations, FOR_TERMINALS, printed)


def write_outputs(
    lines: Callable[[str], Iterable[str]],
    output_format: str,
    destinations: Sequence[str],
    for_terminals: Container[str],
    printed: Callable[[], Iterable[str]] | None = None,
) -> None:
    """Print and write the result of `lines` for each output format, as `write_reports` does.

    `printed` returns what is printed instead in a format that is for terminals.
    """
    if output_format in for_terminals:
        write(printed() if printed is not None else lines(output_format))
    else:
        write(lines(output_format), utf8=True)
    for destination in destinations:
        name, _, path = destination.partition("=")
        if path == "-":
            write(lines(name), utf8=True)
        else:
            save(lines(name), path)


def save(lines: Iterable[str], path: str) -> None:
    """Publish lines as a file."""
    from corpusfmt.io.outputs import place_of
    from corpusfmt.io.publish import publish

    with publish(place_of(path, "the report")) as file:
        file.writelines(encoded(lines))


def check_outputs(
    output_format: str, destinations: Sequence[str], renderer: Callable[[str], object] | None = None
) -> None:
    """Raise `UsageError` for unknown formats and unwritable destinations, before hours of work rather than after.

    `renderer` raises it for the name of an unknown format (default: of reports).
    """
    from corpusfmt.io.publish import output_at

    for destination in destinations:
        path = destination.partition("=")[2]
        if not path:
            raise UsageError(f"--report is {clipped(destination)!r}, expected FORMAT=PATH, like junit=report.xml")
        if path != "-":
            output_at(path, "--report")
    if renderer is None:
        from corpusfmt.report import renderer as renderer_of_reports

        renderer = renderer_of_reports
    for name in (output_format, *(destination.partition("=")[0] for destination in destinations)):
        renderer(name)


def say_done(report: Report, shard: str | None) -> None:
    """Print what a shard has done, or that nothing was left to do."""
    done = report.results.get("shard")
    who = "" if shard is None else f"shard {shard}: "
    if done is None:
        summarise(f"{who}nothing to do, the run is finished")
    else:
        tasks = f"{plural(done['tasks'], 'task')} done"
        summarise(f"{who}{tasks}; once all shards have ended, run the same command with --finish instead of --shard")
