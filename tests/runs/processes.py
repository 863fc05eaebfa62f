"""Commands in processes of their own, whose workers can be found and sent signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def running(
    words: Sequence[object], folder: Path, environment: Mapping[str, str] = os.environ, python: str = sys.executable
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command in a process group of its own; what is left of that when the block ends is killed."""
    with subprocess.Popen(
        [python, "-m", "corpusfmt", *map(str, words)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as run:
        try:
            yield run
        finally:
            kill_all(run.pid)


def kill_all(group: int) -> None:
    """Kill a process group."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def descendants_of(pid: int) -> list[int]:
    """Return what a process has started, and what that has started."""
    found = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in listed.read_text().split():
                found += [int(child), *descendants_of(int(child))]
    return found


def workers_of(pid: int, *, of_ray: bool = False) -> list[int]:
    """Return the processes that do a run's work: those that have started no others, or that Ray names so.

    Ray names its agents like its workers; a node of Ray ends with either of its agents.
    """
    found = []
    for each in descendants_of(pid):
        try:
            command = Path(f"/proc/{each}/cmdline").read_bytes()
        except OSError:
            continue
        if of_ray:
            is_worker = command.startswith(b"ray::") and b"Agent" not in command
        else:
            is_worker = command != b"" and b"resource_tracker" not in command and not descendants_of(each)
        if is_worker:
            found.append(each)
    return found


def opened_by(pid: int) -> list[str]:
    """Return the paths of the files that a process has open."""
    paths = []
    with suppress(OSError):
        for each in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                paths.append(str(each.readlink()))
    return paths
