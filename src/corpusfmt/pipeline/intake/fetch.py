"""Internal: Inputs that a command of the user downloads, a few ahead of processing."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from corpusfmt.engine.executors import available_processors
from corpusfmt.engine.workplace import DOWNLOADS
from corpusfmt.io.paths import entry_of
from corpusfmt.model import Json, UsageError
from corpusfmt.pipeline.intake.inputs import Arrival, Input
from corpusfmt.pipeline.intake.scratch import Scratch
from corpusfmt.wording import clipped

ATTEMPTS = 3
_FIRST_PAUSE_SECONDS = 1.0
_MOST_ERROR_BYTES = 2000
# Words with a meaning only to a shell.
_SHELL = re.compile(r"[0-9]*(>>?|<)(&[0-9])?|\|\|?|&&?|;|2>&1")
_HOLE = re.compile(r"\{path\}|\{output\}")


@dataclass(slots=True)
class Fetched:
    """The files of a list, each downloaded by `command`, with at most `ahead` of them on disk at one time.

    `command` contains `{path}`, a line of the list, and `{output}`, the file to write. It runs without a shell, up to
    three times per file.
    """

    paths: Sequence[str]
    command: str
    ahead: int
    _pool: ThreadPoolExecutor = field(init=False)
    _stop: threading.Event = field(default_factory=threading.Event)
    # Copied early, because starting a worker changes it for a moment.
    _environment: Mapping[str, str] = field(default_factory=os.environ.copy)
    _running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _on_disk: set[str] = field(default_factory=set)
    _largest: int = 0
    _wanted: frozenset[str] = frozenset()
    _scratch: Scratch = field(init=False)

    def __post_init__(self) -> None:
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise UsageError(f"--fetch-command {clipped(self.command)!r}: {error}") from error
        if {hole for word in words for hole in _HOLE.findall(word)} != {"{path}", "{output}"}:
            raise UsageError("--fetch-command needs {path} (a line of the list) and {output} (the file to write)")
        if operators := [word for word in words if _SHELL.fullmatch(word)]:
            raise UsageError(
                f"--fetch-command runs without a shell, which `{operators[0]}` needs: "
                """write sh -c '...', like sh -c 'cat "$0" > "$1"' {path} {output}"""
            )
        if shutil.which(words[0]) is None:
            raise UsageError(f"--fetch-command: program {words[0]} not found")
        self._wanted = frozenset(self.paths)
        self._pool = ThreadPoolExecutor(self.ahead, thread_name_prefix="fetch")

    @property
    def identity(self) -> Json:
        return {"fetched": True}

    @property
    def plan(self) -> str:
        return ""

    @property
    def is_lasting(self) -> bool:
        return False

    def remembers(self, known: Input) -> bool:
        return known.key in self._wanted

    def lacks(self, known: Input) -> bool:
        del known
        return False

    def gave(self, finished: Mapping[str, int]) -> bool:
        return self._wanted == finished.keys()

    def expected(self, known: Mapping[str, Input]) -> tuple[int, int]:
        del known
        return len(self.paths), 0

    def workers(self, jobs: int | None) -> int:
        return jobs or available_processors()

    def arrivals(self, state: Path, known: Mapping[str, Input], scratch: Scratch) -> Iterator[Arrival | None]:
        self._scratch = scratch
        folder = state / DOWNLOADS
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        waiting = deque(path for path in sorted(self.paths) if path not in known)
        flying: dict[Future[Arrival], str] = {}
        while waiting or flying:
            while waiting and len(self._on_disk) < self.ahead and self._has_room(scratch):
                path = waiting.popleft()
                self._on_disk.add(path)
                scratch.reserve(_download(path), self._largest)
                flying[self._pool.submit(self._fetch, path, folder)] = path
            if waiting and not self._on_disk:
                raise scratch.refuse(waiting[0], self._largest + scratch.need(self._largest))
            ready = [future for future in flying if future.done()]
            if not ready:
                yield None
            for future in ready:
                scratch.release(_download(flying.pop(future)))
                arrival = future.result()
                self._largest = max(self._largest, arrival.input.size)
                scratch.hold(arrival.input.size)
                yield arrival

    def _has_room(self, scratch: Scratch) -> bool:
        """Return whether there is room for another file of the largest size so far; the first one is always admitted."""
        if scratch.limit and not self._largest and self._on_disk:
            return False
        return scratch.admits(self._largest + scratch.need(self._largest))

    def _fetch(self, path: str, folder: Path) -> Arrival:
        name = path.rstrip("/").rpartition("/")[2] or "file"
        own = Path(tempfile.mkdtemp(dir=folder))
        reason = ""
        for attempt in range(ATTEMPTS):
            if attempt and self._stop.wait(_FIRST_PAUSE_SECONDS * 4 ** (attempt - 1)):
                break
            output = own / str(attempt) / name
            output.parent.mkdir()
            reason = self._run(path, output)
            if not reason:
                # A command of the user may make a link.
                return Arrival(Input(path, path, output.stat().st_size), entry_of(str(output), follow_links=True))
            shutil.rmtree(output.parent, ignore_errors=True)
        shutil.rmtree(own, ignore_errors=True)
        return Arrival(Input(path, path), defect=("unreadable", f"the fetch command failed {ATTEMPTS} times: {reason}"))

    def _run(self, path: str, output: Path) -> str:
        """Run the command once; return why there is no file, or nothing."""
        values = {"{path}": path, "{output}": str(output)}
        words = [_HOLE.sub(lambda hole: values[hole[0]], word) for word in shlex.split(self.command)]
        with tempfile.TemporaryFile() as errors:
            try:
                # In a separate session, so that Ctrl-C reaches it and its children only through `close`.
                process = subprocess.Popen(  # noqa: S603 - it is the user's own command
                    words,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    start_new_session=True,
                )
            except OSError as error:
                return str(error)
            self._running.add(process)
            if self._stop.is_set():
                _kill(process)
            status = process.wait()
            self._running.discard(process)
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - _MOST_ERROR_BYTES))
            said = errors.read().decode(errors="replace").strip().rpartition("\n")[2]
        if status:
            return f"status {status}" + (f", {said}" if said else "")
        return "" if output.is_file() else "no file was written"

    def done(self, arrival: Arrival, *, quarantined: bool) -> None:
        """Delete the copy, even of a quarantined input: it can be fetched again."""
        del quarantined
        self._on_disk.discard(arrival.input.key)
        self._scratch.hold(-arrival.input.size)
        if arrival.entry:
            shutil.rmtree(Path(arrival.entry.url).parent.parent, ignore_errors=True)

    def close(self) -> None:
        self._stop.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in list(self._running):
            _kill(process)


def _download(path: str) -> str:
    return f"download of {path}"


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a command and its children; its partial output is discarded."""
    with suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
