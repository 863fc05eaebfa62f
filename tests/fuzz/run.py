"""Run cases by the thousand on all processors: `python -m fuzz.run --cases 100000 --seed 1`, from `make fuzz`.

Each case runs in two processes, whose hashes and histories differ; both must give the same answer. A case that takes too
long, or takes its process with it, is reported, and the rest goes on.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import pickle
import re
import resource
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fuzz import trees
from fuzz.cases import MOST_MEMORY, MOST_SECONDS, Case, Failure, case_of, described, forbid_connections, run_case
from fuzz.mutate import Pool, pool_of
from fuzz.seeds import Seed, seeds
from fuzz.shrink import shrunk

_BLOCK = 50
_MEMORY = 4 << 30
_KEPT_OF_A_CAUSE = 3
_RESULTS = Path("build/fuzz")
_HASHES = ("1", "2")


@dataclass
class _Worker:
    """A process, the cases that it still has to do, and since when it is at the first of them."""

    process: subprocess.Popen[bytes]
    flavour: str
    cases: list[int] = field(default_factory=list)
    since: float = 0.0
    ready: bool = False
    buffer: bytes = b""


class _Run:
    """Who does what, and what was found."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.seed: int = options.seed
        self.folder = folder
        self.seeds = seeds()
        self.pool = pool_of(self.seeds)
        (folder / "seeds").write_bytes(pickle.dumps((self.seeds, self.pool)))
        numbers = range(options.start, options.start + options.cases)
        self.blocks = {
            each: [list(numbers[at : at + _BLOCK]) for at in range(0, len(numbers), _BLOCK)] for each in _HASHES
        }
        self.answers: dict[int, str] = {}
        self.done = 0
        self.failures: dict[tuple[str, str], list[int]] = {}
        self.total = len(numbers)

    def fail(self, number: int, failure: Failure) -> None:
        known = self.failures.setdefault((failure.kind, failure.cause), [])
        if number in known:
            return
        known.append(number)
        with (_RESULTS / "failures.jsonl").open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.write(json.dumps({"seed": self.seed, "case": number, **asdict(failure)}) + "\n")
        if len(known) <= _KEPT_OF_A_CAUSE:
            case = case_of(self.seeds, self.pool, self.seed, number)
            keep(case, _RESULTS / f"{_slug(failure)}" / f"{self.seed}-{number}", failure)

    def answered(self, number: int, answer: str, failures: list[Failure]) -> None:
        for failure in failures:
            self.fail(number, failure)
        before = self.answers.pop(number, None)
        if before is None:
            self.answers[number] = answer
            return
        self.done += 1
        if "" not in (before, answer) and before != answer:
            case = case_of(self.seeds, self.pool, self.seed, number)
            self.fail(number, Failure("another answer", case.action, "two processes disagree"))

    def go(self, processes: int) -> None:
        """Keep as many processes at work, half of them of each flavour, until nothing is left to do."""
        selector = selectors.DefaultSelector()
        told = time.monotonic()
        for number in range(processes):
            self._start(selector, _HASHES[number % 2], [])
        while selector.get_map():
            for key, _ in selector.select(1):
                self._hear(selector, key.data)
            now = time.monotonic()
            for key in list(selector.get_map().values()):
                worker: _Worker = key.data
                if worker.ready and worker.cases and now - worker.since > MOST_SECONDS:
                    self._replace(selector, worker, Failure("hangs", "killed", f"after {MOST_SECONDS} s"))
            if now - told > 60:
                told = now
                print(f"{self.done:,} of {self.total:,} cases, {len(self.failures)} causes of failure", flush=True)

    def _start(self, selector: selectors.BaseSelector, flavour: str, cases: list[int]) -> None:
        environment = {**os.environ, "PYTHONHASHSEED": flavour, "TMPDIR": str(self.folder)}
        command = [sys.executable, "-m", "fuzz.run", "--worker", str(self.folder), "--seed", str(self.seed)]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
        )
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        selector.register(process.stdout, selectors.EVENT_READ, _Worker(process, flavour, cases))

    def _hear(self, selector: selectors.BaseSelector, worker: _Worker) -> None:
        assert worker.process.stdout is not None
        data = worker.process.stdout.read()
        if not data:
            self._replace(selector, worker, Failure("died", f"status {worker.process.wait()}"))
            return
        *lines, worker.buffer = (worker.buffer + data).split(b"\n")
        for line in lines:
            worker.since = time.monotonic()
            if not worker.ready:
                worker.ready = True
                self._send(worker)
                continue
            found = json.loads(line)
            worker.cases.remove(found["case"])
            self.answered(found["case"], found["answer"], [Failure(**each) for each in found["failures"]])
        if worker.ready and not worker.cases:
            if self.blocks[worker.flavour]:
                worker.cases = self.blocks[worker.flavour].pop(0)
                self._send(worker)
            else:
                selector.unregister(worker.process.stdout)
                worker.process.communicate()

    def _send(self, worker: _Worker) -> None:
        if worker.cases:
            assert worker.process.stdin is not None
            worker.process.stdin.write(json.dumps(worker.cases).encode() + b"\n")
            worker.process.stdin.flush()

    def _replace(self, selector: selectors.BaseSelector, worker: _Worker, failure: Failure) -> None:
        """End a process that hangs or is gone, report the case that it was at, and let another one do the rest."""
        assert worker.process.stdout is not None
        selector.unregister(worker.process.stdout)
        if worker.process.poll() is None:
            os.killpg(worker.process.pid, 9)
        worker.process.communicate()
        if not worker.ready:
            raise SystemExit("a worker did not start")
        if worker.cases:
            number, *rest = worker.cases
            self.answered(number, "", [failure])
            self._start(selector, worker.flavour, rest)
        elif self.blocks[worker.flavour]:
            self._start(selector, worker.flavour, [])


def _slug(failure: Failure) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", f"{failure.kind} {failure.cause}").strip("-")[:100]


def keep(case: Case, folder: Path, failure: Failure) -> None:
    """Write the input of a case, and what is wrong with it, to a folder."""
    trees.remove(folder)
    folder.mkdir(parents=True)
    trees.write(case.tree, folder / case.root)
    text = f"{described(case)}\n\n{failure.kind}: {failure.cause}\n{failure.detail}\n"
    (folder / "case.txt").write_text(text, "utf-8", "backslashreplace")


def work(folder: Path, seed: int) -> None:
    """Do the cases that standard input names, and tell each outcome on standard output, where nothing else may write."""
    found: tuple[list[Seed], Pool] = pickle.loads((folder / "seeds").read_bytes())
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    forbid_connections()
    faulthandler.enable()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        print("{}", file=answers, flush=True)
        for line in sys.stdin:
            for number in json.loads(line):
                answer = _done(*found, seed, number, folder / f"{os.getpid()}-{number}")
                print(json.dumps(answer), file=answers, flush=True)


def _done(seeds: list[Seed], pool: Pool, seed: int, number: int, base: Path) -> dict[str, Any]:
    case = case_of(seeds, pool, seed, number)
    _forget_peak()
    before = _peak()
    outcome = run_case(case, base)
    base.rmdir()
    if (peak := _peak()) > max(MOST_MEMORY, before):
        outcome.fail("memory", case.action, f"{peak >> 20} MiB, {before >> 20} MiB before")
    return {"case": number, "answer": outcome.answer, "failures": [asdict(each) for each in outcome.failures]}


def _forget_peak() -> None:
    """Begin to measure anew; where that cannot be done, a case below the peak of an earlier one is not noticed."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_bytes(b"5")


def _peak() -> int:
    """Return the most memory that this process has held, or one that it has waited for (which is never forgotten)."""
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) << 10


def _replayed(seed: int, number: int, *, shrink: bool) -> Iterator[str]:
    """Run one case here and tell all about it; `shrink` looks for less of it that fails likewise."""
    found = seeds()
    case = case_of(found, pool_of(found), seed, number)
    yield described(case)
    with tempfile.TemporaryDirectory(prefix="corpusfmt-fuzz-") as folder:
        outcome = run_case(case, Path(folder) / "case")
        for failure in outcome.failures:
            yield f"\n{failure.kind}: {failure.cause}\n{failure.detail}"
            target = _RESULTS / _slug(failure) / f"{seed}-{number}"
            small = shrunk(case, failure, Path(folder) / "smaller") if shrink else case
            keep(small, target, failure)
            yield f"kept in {target}" + (f"\n{described(small)}" if shrink else "")
    if not outcome.failures:
        yield "nothing failed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="the number of the first case: to go on from there")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--case", type=int, help="run this case alone, here, and tell all about it")
    parser.add_argument("--shrink", action="store_true", help="with --case: look for less of it that fails likewise")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.worker, options.seed)
        return 0
    if options.case is not None:
        for line in _replayed(options.seed, options.case, shrink=options.shrink):
            sys.stdout.buffer.write(line.encode("utf-8", "backslashreplace") + b"\n")
        return 0
    _RESULTS.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: PTH112
    with tempfile.TemporaryDirectory(prefix="corpusfmt-fuzz-", dir=memory, ignore_cleanup_errors=True) as folder:
        run = _Run(options, Path(folder))
        run.go(max(2, options.jobs + options.jobs % 2))
    for (kind, cause), numbers in sorted(run.failures.items(), key=lambda each: -len(each[1])):
        print(f"{len(numbers):>6}  {kind}: {cause}, first in case {numbers[0]}")
        print(
            f"        replay: PYTHONPATH=tests {sys.executable} -m fuzz.run --seed {run.seed} --case {numbers[0]} --shrink"
        )
    failed = len({number for numbers in run.failures.values() for number in numbers})
    seconds = time.monotonic() - started
    print(
        f"{run.done:,} cases from {options.start:,} on with seed {run.seed} in {seconds:,.0f} s "
        f"({run.done / seconds:.0f} a second), each in two processes: "
        f"{failed:,} failed, of {len(run.failures)} causes" + (f"; inputs in {_RESULTS}" if failed else "")
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
