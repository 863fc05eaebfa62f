"""What all benchmarks share: programs that take turns, what each costs, how much that varies, the machine, tables.

A contender is a command. It runs as the child of a small process that adopts what it leaves behind, so that the processor
time of workers counts, wherever they come from. With CORPUSFMT_BENCH_RUNS=FILE, each race is also added to this file.
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
Command = Sequence[str | Path]

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "tests" / "fixtures" / "langid" / "udhr.tsv.gz"
#: The Python of the environment that `make bench` makes, with DuckDB, jsonschema-rs and fastText built from source.
PEERS = ROOT / "build" / "peers" / "bin" / "python"
MB = 1_000_000
RUNS = "CORPUSFMT_BENCH_RUNS"
# An installed command has its bytecode.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
# `wait4` says of a process that its peak begins with the memory of what started it: a small process starts the contender.
_LAUNCHER = """
import ctypes, json, os, resource, sys, time
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
report, *command = sys.argv[1:]
began = time.perf_counter()
_, status = os.waitpid(os.posix_spawnp(command[0], command, os.environ), 0)
wall = time.perf_counter() - began
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
used = resource.getrusage(resource.RUSAGE_CHILDREN)
unit = 1 if sys.platform == "darwin" else 1024
with open(report, "w") as file:
    json.dump([used.ru_utime + used.ru_stime, wall, used.ru_maxrss * unit / 1e6], file)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@dataclass(frozen=True)
class Cost:
    """Processor and wall-clock seconds of a program and its workers, the peak MB of the largest process, its output."""

    cpu: float
    wall: float
    memory: float
    output: bytes = b""


def cost(command: Command, *, statuses: Sequence[int] = (0,), **environment: str) -> Cost:
    """Run a program in an empty folder; any other status than the given ends the benchmark."""
    source, target = os.pipe()
    with open(source) as report, tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _LAUNCHER, f"/dev/fd/{target}", *map(str, command)],
            cwd=folder,
            env=ENVIRONMENT | environment,
            capture_output=True,
            check=False,
            pass_fds=(target,),
        )
        os.close(target)
        if done.returncode not in statuses:
            sys.exit(f"{' '.join(map(str, command))[:300]}: status {done.returncode}\n{done.stderr.decode()[-2000:]}")
        cpu, wall, memory = json.load(report)
        return Cost(cpu, wall, memory, done.stdout)


def race(
    name: str, contenders: Mapping[str, Command], rounds: int, *, megabytes: float = 0, **options: Any
) -> dict[str, list[Cost]]:
    """Let programs take turns; return what each costs in each round."""
    runs: dict[str, list[Cost]] = {contender: [] for contender in contenders}
    for _ in range(rounds):
        for contender, command in contenders.items():
            runs[contender].append(cost(command, **options))
    record(name, runs, megabytes)
    return runs


def record(name: str, runs: Mapping[str, Sequence[Cost]], megabytes: float) -> None:
    """Add the figures of a race to the file of runs, if one is wanted and the race has a name."""
    if name and RUNS in os.environ:
        with open(os.environ[RUNS], "a") as file:
            for contender, costs in runs.items():
                figures = [[round(each, 4) for each in (run.cpu, run.wall, run.memory)] for run in costs]
                row = {"race": name, "contender": contender, "megabytes": round(megabytes, 3), "rounds": figures}
                file.write(f"{json.dumps(row)}\n")


def least(runs: Sequence[Cost]) -> Cost:
    """Return the best figures of some rounds: what else the machine does can only add to them."""
    return Cost(min(run.cpu for run in runs), min(run.wall for run in runs), min(run.memory for run in runs))


def faster(one: Sequence[float], other: Sequence[float]) -> str:
    """Return how many times less one contender took than another: the median of the rounds, and their range."""
    if min(*one, *other) <= 0:  # less than it takes to start varies
        return "?"
    found = [b / a for a, b in zip(one, other, strict=True)]
    middle = statistics.median(found)
    return f"{middle:.2f}" if len(found) == 1 else f"{middle:.2f} ({min(found):.2f} to {max(found):.2f})"


def rates(
    title: str,
    runs: Mapping[str, Sequence[Cost]],
    megabytes: float | Mapping[str, float],
    *,
    tiny: Mapping[str, Sequence[Cost]] | None = None,
    references: Mapping[str, str] | None = None,
    pairs: Mapping[str, str] | None = None,
) -> None:
    """Print the rates of contenders, as a whole and, if a tiny input was run, without what it takes to start.

    `references` gives, by the name of its column, a contender whose processor time the others are compared with, start
    left out; `pairs` the contenders with one worker that others are compared with by the clock.
    """
    pairs = pairs or {}
    sizes = megabytes if isinstance(megabytes, Mapping) else dict.fromkeys(runs, megabytes)
    net = {
        name: [(run.cpu - (least(tiny[name]).cpu if tiny else 0)) / sizes[name] for run in costs]
        for name, costs in runs.items()
    }
    rows = []
    for name, costs in runs.items():
        best = least(costs)
        cells = [name, f"{sizes[name] / best.cpu:.1f}"]
        if tiny:
            cells.append(f"{1 / min(net[name]):.1f}" if min(net[name]) > 0 else "?")
        cells += [
            "1" if reference == name else faster(net[name], net[reference]) if reference in net else ""
            for reference in (references or {}).values()
        ]
        cells.append(f"{sizes[name] / best.wall:.1f}")
        if pairs:
            one = runs.get(pairs.get(name, ""), ())
            cells.append(faster([run.wall for run in costs], [run.wall for run in one]) if one else "")
        rows.append([*cells, f"{spread(costs):.0%}", f"{best.memory:.0f}"])
    heads = ["", "MB per CPU-s", *(["net"] if tiny else []), *(references or {})]
    heads += ["MB/s by the clock", *(["x one worker"] if pairs else []), "spread", "peak, MB"]
    table(title, heads, rows)


def spread(runs: Sequence[Cost]) -> float:
    """Return how much more processor time the worst round took than the best."""
    return max(run.cpu for run in runs) / max(min(run.cpu for run in runs), 1e-9) - 1


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table in Markdown below its title."""
    print(f"\n{title}\n\n| {' | '.join(heads)} |\n|---|{'---:|' * (len(heads) - 1)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def tables(text: str) -> Iterator[dict[str, Any]]:
    """Yield the tables in the output of a benchmark, each with its title."""
    title = ""
    found: dict[str, Any] | None = None
    for line in [*text.split("\n"), ""]:
        if not line.startswith("|"):
            if found:
                yield found
            found, title = None, line.strip() or title
        elif found is None:
            found = {"title": title, "heads": _cells(line), "rows": []}
        elif not line.startswith("|--"):
            found["rows"].append(_cells(line))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def alone(function: Callable[..., T], *arguments: Any) -> T:
    """Run a function in a new process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def peak() -> float:
    """Return the most memory that this process had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / MB


def paragraphs(path: Path | None = None) -> list[tuple[str, str]]:
    """Return the language and the text of each line of the sample, or of a file like it."""
    data = gzip.decompress(SAMPLE.read_bytes()) if path is None else path.read_bytes()
    rows = (line.partition("\t") for line in data.decode().split("\n") if line)
    return [(language, text) for language, _, text in rows]


def machine() -> dict[str, str]:
    """Describe what measures."""
    cpu = platform.processor()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text("utf-8").split("\n")
        cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), cpu)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    installed = ("corpusfmt", "isal", "msgspec", "numpy", "pyarrow", "backports.zstd", "jsonschema", "fasttext-predict")
    versions = {each.metadata["Name"].lower(): each.version for each in metadata.distributions()}
    return {
        "processor": f"{cpu}, {os.cpu_count()} processors",
        "memory": f"{memory:.0f} GB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "packages": ", ".join(f"{name} {versions[name]}" for name in installed if name in versions),
    }
