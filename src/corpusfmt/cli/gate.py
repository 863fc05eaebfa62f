"""Internal: `corpusfmt gate`."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from corpusfmt.cli.console import say, write
from corpusfmt.cli.outcome import UNFINISHED, guarded

if TYPE_CHECKING:
    from corpusfmt.gate import Plan, ReleaseStep

_SECONDS_TO_END = 10

Release = Annotated[Path, typer.Argument(metavar="RELEASE.toml", help="The steps of a release.")]
ReportsFolder = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="DIR", help="Folder for all reports (default: the one in the file)."),
]
OutputFormat = Annotated[str, typer.Option(help="How findings are printed: any output format of `corpusfmt validate`.")]


@guarded
def command(release: Release, reports: ReportsFolder = None, output_format: OutputFormat = "full") -> None:
    """Run the steps of a release in order, and put all reports into one folder; the exit status is the worst of all steps."""
    from corpusfmt.cli.outcome import check_outputs
    from corpusfmt.gate import SUMMARY, Done, as_json, as_markdown, plan_of, reason_not_to_run, worst
    from corpusfmt.io.publish import publish_bytes, refuse_link

    check_outputs(output_format, [])
    plan = plan_of(release, reports, output_format)
    refuse_link(plan.reports)
    plan.reports.mkdir(parents=True, exist_ok=True)
    for name in (f"{SUMMARY}.json", f"{SUMMARY}.md", *(name for step in plan.steps for name in step.reports)):
        (plan.reports / name).unlink(missing_ok=True)
    done: list[Done] = []
    for step in plan.steps:
        reason = reason_not_to_run(step, done)
        say(f"{step.name}: not run, {reason}" if reason else f"$ {shlex.join(['corpusfmt', *step.arguments])}")
        done.append(Done(step, None, reason) if reason else Done(step, _run(plan, step)))
        summary = json.dumps(as_json(plan, done), ensure_ascii=False, indent=2)
        publish_bytes(plan.reports / f"{SUMMARY}.json", f"{summary}\n".encode())
        publish_bytes(plan.reports / f"{SUMMARY}.md", as_markdown(plan, done).encode())
    say("gate: " + ", ".join(f"{each.step.name} {'not run' if each.status is None else each.status}" for each in done))
    raise SystemExit(worst(done))


def _run(plan: Plan, step: ReleaseStep) -> int:
    """Run a command in a separate process; print its output, and save it with the reports. Return its status."""
    from corpusfmt.io.publish import publish

    with publish(plan.reports / f"{step.name}.txt") as kept, _started(plan, step) as process:
        assert process.stdout is not None
        for line in process.stdout:
            kept.write(line)
            write([line.decode("utf-8", "backslashreplace").removesuffix("\n")])
    # A process that a signal ended has not finished.
    return process.returncode if process.returncode >= 0 else UNFINISHED


@contextmanager
def _started(plan: Plan, step: ReleaseStep) -> Iterator[subprocess.Popen[bytes]]:
    from corpusfmt.safe_path import SafeStarts, can_start_safely

    isolated = ("-I",) if sys.flags.isolated or not can_start_safely() else ()
    command = [sys.executable, *isolated, "-m", "corpusfmt", *step.arguments]
    with SafeStarts():
        process = subprocess.Popen(command, cwd=plan.folder, stdout=subprocess.PIPE)  # noqa: S603 - our own
    try:
        yield process
        process.wait()
    except KeyboardInterrupt as error:
        # Ctrl-C interrupts the step, too; a second signal would break into its cleanup. SIGTERM reaches only this process.
        if type(error) is KeyboardInterrupt:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_SECONDS_TO_END)
        raise
    finally:
        process.terminate()
        process.wait()
