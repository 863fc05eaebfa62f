"""An attack: the hostile data, the command that reads it, and the guarantees of corpusfmt.

Every attack runs in separate processes, below a folder with two parts: `data`, which the attacker made, and `outside`,
which no command may open. `Outcome.keeps_every_promise` checks the guarantees for every attack.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import served
from security.measured import ADDRESS_SPACE
from served import MOST_STDIN, Ended
from support import server_of, unmeasured

GUARD = Path(__file__).parent / "guard"

#: The documented bound on the memory of any process of ours, whatever it is given.
MOST_MEMORY = 512 * 1024 * 1024
_MOST_SECONDS = 120


@dataclass(frozen=True)
class Attack:
    """One attack. `make` is given the folder of the attack, where `data` and `outside` are.

    In `command`, `{data}`, `{outside}` and `{out}` stand for absolute paths, and `{url}` for the address of the server that
    `serve` starts; the command runs in `cwd`, relative to the
    folder of the attack. `promise` checks what is particular to this attack, after the promises that hold for all.
    """

    name: str
    make: Callable[[Path], None]
    command: tuple[str, ...]
    promise: Callable[[Outcome], None]
    cwd: str = "."
    environment: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    #: Run `command` as it is, not as arguments of corpusfmt.
    program: bool = False
    #: Start Python anew in any case: what the attack attacks is the start.
    fresh: bool = False
    #: Whether opening what is outside is what the user asked for (`--follow-links`).
    may_open_outside: bool = False
    memory: int = MOST_MEMORY
    #: Whether only `make attacks` runs it, as one of very many of its kind.
    slow: bool = False
    #: Serves a store on loopback; yields its host and port, and those of others that the command may ask, too.
    serve: Callable[[Path], AbstractContextManager[list[str]]] | None = None
    #: Removes, once the command has run, what nobody else could.
    clean: Callable[[Path], None] | None = None

    def run(self, folder: Path) -> Outcome:
        """Make the data, run the command, and return all that can be seen of it."""
        try:
            if self.serve is None:
                return self._run(folder, [])
            with self.serve(folder) as stores:
                return self._run(folder, stores)
        finally:
            if self.clean:
                self.clean(folder)

    def _run(self, folder: Path, stores: list[str]) -> Outcome:
        for name in ("data", "outside"):
            (folder / name).mkdir()
        self.make(folder)
        before = _digest(folder / "data")
        log = folder / "guard.log"
        paths = {name: str(folder / name) for name in ("data", "outside", "out")}
        if stores:
            paths["url"] = f"http://{stores[0]}"
            paths["host"] = stores[0]
        arguments = [part.format_map(_Kept(paths)) for part in self.command]
        environment = {
            **unmeasured(),
            "CORPUSFMT_GUARD_LOG": str(log),
            "CORPUSFMT_GUARD_FORBIDDEN": os.path.realpath(folder / "outside"),
            "CORPUSFMT_GUARD_STORES": " ".join(stores),
            "PYTHONPATH": str(GUARD),
            **{name: value.format_map(_Kept(paths)) for name, value in self.environment.items()},
        }
        try:
            ended = self._start(folder, arguments, environment)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {_MOST_SECONDS} seconds") from None
        return Outcome(
            folder=folder,
            **ended._asdict(),
            guarded=tuple(log.read_text("utf-8").splitlines()) if log.exists() else (),
            changed=_digest(folder / "data") != before,
        )

    def _start(self, folder: Path, arguments: list[str], environment: dict[str, str]) -> Ended:
        # What takes long is measured as a command of its own. Stores attack by what they answer, whatever asks them.
        anew = self.fresh or self.program or (self.slow and not self.serve) or len(self.stdin) > MOST_STDIN
        if not anew and served.AVAILABLE:
            server = server_of(environment)
            return server.run(arguments, environment, folder / self.cwd, self.stdin, _MOST_SECONDS, ADDRESS_SPACE)
        command = arguments if self.program else [*CORPUSFMT, *arguments]
        with (folder / "stdout").open("wb") as stdout, (folder / "stderr").open("wb") as stderr:
            process = subprocess.Popen(
                command,
                cwd=folder / self.cwd,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
            try:
                process.communicate(self.stdin, timeout=_MOST_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise
        measured = (
            {"memory": 0, "cpu": 0.0} if self.program else json.loads((folder / "measured.json").read_text("utf-8"))
        )
        output = (folder / "stdout").read_bytes(), (folder / "stderr").read_bytes()
        return Ended(process.returncode, *output, **measured)


#: The installed script, as users run it: `python -m` has the working folder on its path by Python's own doing.
CORPUSFMT = (sys.executable, "-I", str(Path(__file__).parent / "measured.py"))


class _Kept(dict[str, str]):
    """Fields of a format; what has no value stays as it is, as JSON has braces, too."""

    def __missing__(self, name: str) -> str:
        return "{" + name + "}"


def _digest(folder: Path) -> str:
    """Return a digest of names, kinds, link targets and sizes, and of the content of regular files."""
    found = hashlib.sha256()
    pending = [os.fsencode(folder)]
    while pending:
        try:
            with os.scandir(pending.pop()) as found_here:
                entries = sorted(found_here, key=lambda entry: entry.name)
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            continue
        else:
            for entry in entries:
                found.update(entry.name)
                if entry.is_symlink():
                    found.update(bytes(Path(os.fsdecode(entry.path)).readlink()))
                elif entry.is_dir():
                    pending.append(entry.path)
                elif entry.is_file():
                    found.update(hashlib.sha256(Path(os.fsdecode(entry.path)).read_bytes()).digest())
    return found.hexdigest()


@dataclass(frozen=True)
class Outcome:
    """What can be seen of a command that was run on an attacker's data."""

    folder: Path
    status: int
    stdout: bytes
    stderr: bytes
    #: Peak resident memory in bytes of the largest process, and CPU seconds of all of them.
    memory: int
    cpu: float
    guarded: tuple[str, ...]
    changed: bool

    @cached_property
    def report(self) -> Any:
        """The JSON report on standard output."""
        return json.loads(self.stdout)

    @property
    def text(self) -> str:
        return (self.stdout + self.stderr).decode("utf-8", "surrogateescape")

    @property
    def rules(self) -> set[str]:
        return {finding["rule"] for finding in self.report["findings"]}

    def output(self) -> bytes:
        """Return every byte that the command published below `out`, and what it printed."""
        out = self.folder / "out"
        files = sorted(path for path in out.rglob("*") if path.is_file()) if out.is_dir() else []
        published = b"".join(path.read_bytes() for path in files) + (out.read_bytes() if out.is_file() else b"")
        return self.stdout + self.stderr + published

    def keeps_every_promise(self, attack: Attack) -> None:
        """Fail where something happened that must not happen whatever the data is."""
        assert not (self.folder / "executed").exists(), "code of the dataset was run"
        assert "Traceback" not in self.text, self.text
        assert "internal error" not in self.text, self.text
        assert "GEN000" not in self.text, self.text
        assert self.status in {0, 1, 2, 3}, f"status {self.status}: {self.text}"
        assert not self.changed, "the input was changed"
        seen = [line for line in self.guarded if not (attack.may_open_outside and line.startswith("open "))]
        assert not seen, seen
        assert self.memory <= attack.memory, f"{self.memory / 2**20:.0f} MiB"
