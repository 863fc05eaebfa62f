"""Measure what grows with the number of inputs, containers, languages and lines: memory, time per task, open files.

    python benchmarks/scale.py                                        a few minutes
    python benchmarks/scale.py --inputs 1000,10000,100000 --lines 5,50,300

Three parts. First, whole builds of tiny inputs, a line each: peak memory of the driver and of the largest worker, CPU time
per input, wall-clock time, and the most descriptors that one process had open. The start of the command is measured by
a build of one input and subtracted from CPU time. Second, containers of 150 languages as stage `compact` writes them of
300 inputs each: what a task spends on finding the documents and keys of one language in all of them. Third, the search
for repeated lines by stage `dedup`, for millions of lines of one language. `--folder` is for all files (default: the
temporary folder); synchronising files there is part of wall-clock time.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import dedup
from measuring import MB, alone

from corpusfmt.io.containers import Container, ContainerWriter
from corpusfmt.io.lines import Entries
from corpusfmt.pipeline.dedup import keys_of
from corpusfmt.pipeline.process.filters import AddressList

LANGUAGES = 150
JOINED = 300
A_SEGMENT = 900
HEADERS = (
    "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://site-{0}.example/\r\nWARC-Date: 2018-11-12T17:28:45Z\r\n"
    "WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{0:012d}>\r\nContent-Type: text/plain\r\nContent-Length: {1}\r\n\r\n"
)
LINE = (
    "All human beings are born free and equal in dignity and rights, they are endowed with reason and conscience, and they "
    "should act towards one another in a spirit of brotherhood, says article {} of this declaration.\n"
)


def make_inputs(folder: Path, number: int) -> None:
    """Write WET files of one line each, in segments like a snapshot's; every second line repeats an earlier one."""
    for each in range(number):
        segment = folder / f"{each // A_SEGMENT:03}"
        segment.mkdir(parents=True, exist_ok=True)
        text = LINE.format(each // 2)
        (segment / f"{each:06}.warc.wet").write_text(HEADERS.format(each, len(text)) + text + "\r\n\r\n", newline="")


class Watched(NamedTuple):
    """A command: CPU seconds of all processes, seconds by the clock, peaks in MB, and open files of one process."""

    cpu: float
    wall: float
    driver: float
    worker: float
    descriptors: int


def watched(command: list[str]) -> Watched:
    """Run a command and look at its processes every tenth of a second."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    # To compile the modules of Dask takes 12 MB more than to import them.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        driver = worker = 0.0
        descriptors = 0
        seconds: dict[int, float] = {}
        while process.poll() is None:
            for each in [process.pid, *workers_of(process.pid)]:
                memory, opened = _state(each)
                seconds[each] = max(seconds.get(each, 0.0), _cpu(each))
                descriptors = max(descriptors, opened)
                if each == process.pid:
                    driver = max(driver, memory)
                else:
                    worker = max(worker, memory)
            time.sleep(0.1)
        if process.returncode:
            sys.exit((process.stderr.read() if process.stderr else b"").decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # Nobody waits for the workers of Ray.
    return Watched(max(cpu, sum(seconds.values())), time.perf_counter() - began, driver, worker, descriptors)


def workers_of(pid: int) -> list[int]:
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            own = list(map(int, path.read_text("ascii").split()))
        except OSError:
            continue
        found += [*own, *(each for child in own for each in workers_of(child))]
    return found


def _state(pid: int | str) -> tuple[float, int]:
    """Return the peak memory of a process in MB, and the number of files that it has open."""
    try:
        return _memory(pid, "VmHWM"), len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0.0, 0


def _cpu(pid: int) -> float:
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except OSError:
        return 0.0
    return sum(map(int, text.rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int | str, kind: str) -> float:
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith(kind)), 0) * 1024 / MB


def measure_tasks(folder: Path, counts: list[int], jobs: int, engines: list[str]) -> None:
    print("| engine | inputs | driver, MB | worker, MB | CPU per input, ms | wall-clock, s | descriptors |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for engine in engines:
        start = 0.0
        for number in [1, *counts]:
            wet, out = folder / f"wet-{number}", folder / f"out-{number}"
            make_inputs(wet, number)
            command = [sys.executable, "-m", "corpusfmt", "build", str(wet), "-o", str(out)]
            found = watched([*command, "--jobs", str(jobs), "--engine", engine])
            if number == 1:
                start = found.cpu
            else:
                each = (found.cpu - start) / number * 1000
                cells = f"{found.driver:.0f} | {found.worker:.0f} | {each:.1f} | {found.wall:.0f} | {found.descriptors}"
                print(f"| {engine} | {number:,} | {cells} |", flush=True)
            shutil.rmtree(wet)
            shutil.rmtree(out)


def make_containers(folder: Path, number: int) -> list[Path]:
    """Write one joined container, and copies of it."""
    folder.mkdir()
    paths = [folder / f"{each}.box" for each in range(number)]
    with paths[0].open("wb") as file:
        container = ContainerWriter(file)
        for language in range(LANGUAGES):
            for _ in range(JOINED):
                container.add(f"l{language:03}", b"documents")
            container.add(keys_of(f"l{language:03}"), bytes(16))
        container.finish()
    for path in paths[1:]:
        shutil.copyfile(paths[0], path)
    return paths


def look_up(paths: list[Path]) -> tuple[float, float, int]:
    """Return milliseconds for the first documents and all keys of a language from each container, MB more, open files."""
    before, began = _memory("self", "VmRSS"), time.process_time()
    most = 0
    for path in paths:
        with Container(path) as container:
            assert bytes(next(container.sections("l077"))) == b"documents"
            assert len(list(container.sections(keys_of("l077")))) == 1
            most = max(most, _state("self")[1]) if path == paths[-1] else most
    seconds = time.process_time() - began
    return seconds * 1000, _memory("self", "VmRSS") - before, most


def measure_containers(folder: Path, number: int) -> None:
    paths = make_containers(folder / "containers", number)
    milliseconds, memory, descriptors = alone(look_up, paths)
    print(f"\n{number} containers of {LANGUAGES} languages, {paths[0].stat().st_size / MB:.1f} MB each: a task opens")
    print(
        f"all, one by one, and reads the keys of one language in {milliseconds:.0f} ms and {memory:.1f} MB, {descriptors} descriptors"
    )
    shutil.rmtree(folder / "containers")


def look_at_list(path: Path, urls: int) -> tuple[float, float, float]:
    """Return seconds for reading a list, microseconds for finding a URL in it, and the peak memory in MB."""
    began = time.process_time()
    listed = AddressList(Entries(str(path), "addresses", digested=True))
    read = time.process_time()
    found = sum(f"http://www.host-{7 * number}.example/page" in listed for number in range(urls))
    assert found == urls
    return read - began, (time.process_time() - read) / urls * 1e6, _memory("self", "VmHWM")


def measure_lists(folder: Path, hosts: int) -> None:
    path = folder / "deny.txt"
    with path.open("w") as file:
        file.writelines(f"host-{number}.example\n" for number in range(hosts))
    seconds, microseconds, peak = alone(look_at_list, path, 20_000)
    print(f"\n--deny-urls with {hosts:,} hosts: read in {seconds:.1f} s and {peak:.0f} MB,")
    print(f"then {microseconds:.0f} microseconds of CPU time for a URL")


def measure_shuffle(folder: Path, millions: list[int]) -> None:
    print("\n| lines, millions | CPU, s | million keys per CPU-s | and looked up | peak memory, MB |")
    print("|---:|---:|---:|---:|---:|")
    for count in millions:
        keys = folder / "keys"
        keys.mkdir()
        for number in range(count):
            dedup.write(keys / f"{number}.box", number * dedup.A_CONTAINER, "siphash_128")
        _, seconds, looking, peak = alone(dedup.run, keys, count, "siphash_128")
        both = count / (seconds + looking)
        print(
            f"| {count} | {seconds:.1f} | {count / seconds:.1f} | {both:.1f} | {peak:.0f} |",
            flush=True,
        )
        shutil.rmtree(keys)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = lambda text: [int(each) for each in text.split(",") if each]  # noqa: E731
    parser.add_argument("--inputs", type=numbers, default=[500, 5000], help="numbers of tiny inputs (none: skip)")
    parser.add_argument("--containers", type=int, default=300, help="number of joined containers (0: skip)")
    parser.add_argument("--lines", type=numbers, default=[5, 50], help="millions of lines (none: skip)")
    parser.add_argument("--hosts", type=int, default=2_000_000, help="hosts in a list of addresses (0: skip)")
    parser.add_argument("--engines", default="processes", help="like processes,dask (default: processes)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        if options.inputs:
            measure_tasks(folder, options.inputs, options.jobs, options.engines.split(","))
        if options.containers:
            measure_containers(folder, options.containers)
        if options.hosts:
            measure_lists(folder, options.hosts)
        if options.lines:
            measure_shuffle(folder, options.lines)


if __name__ == "__main__":
    main()
