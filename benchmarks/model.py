"""Measure the memory of workers that classify with a large dense model, and compare their labels with stock fastText.

python benchmarks/model.py [--megabytes 1700] [--jobs 4] [--folder DIR] [--engines processes,spawned,dask,ray]

The model has random weights: vectors of 256 numbers for some words and for as many buckets of n-grams as fill the size
(GlotLID has 1.7 GB), and 200 labels. `corpusfmt build` reads the pages of the committed sample with it, on each engine. Workers
of `processes` are forked, those of `spawned` are not. While it runs, the
proportional set size (PSS) of its processes is summed: a page that n processes share counts 1/n for each. Then stock
fastText classifies the same lines. The folder needs twice the size of the model. `--ray` is the Python of an environment
with Ray (`make engines-test` makes one, `build/ray`).
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import fasttext
import numpy as np
from measuring import MB, paragraphs
from scale import workers_of

from corpusfmt.langid import Classifier

HERE = Path(__file__).resolve().parent
DIMENSION, LABELS, WORDS, WANTED_LINES = 256, 200, 2_000, 20_000
ROWS_AT_A_TIME = 4096


def write_model(path: Path, size: int, words: list[str]) -> None:
    """Write a supervised model with softmax and n-grams of two to five characters, in the layout of fastText 0.9."""
    buckets = size // (DIMENSION * 4) - len(words)
    rng = np.random.default_rng(7)
    with path.open("wb") as file:
        header = (793712314, 12, DIMENSION, 5, 5, 1, 5, 1, 3, 3, buckets, 2, 5, 100)
        file.write(struct.pack("<14id", *header, 1e-4))
        file.write(struct.pack("<3i2q", len(words) + LABELS, len(words), LABELS, 10**6, -1))
        labels = [f"__label__l{number:03}" for number in range(LABELS)]
        for kind, names in enumerate((words, labels)):
            for name in names:
                file.write(name.encode() + b"\0" + struct.pack("<qb", 100, kind))
        for rows in (len(words) + buckets, LABELS):
            file.write(struct.pack("<?2q", False, rows, DIMENSION))
            for first in range(0, rows, ROWS_AT_A_TIME):
                count = min(ROWS_AT_A_TIME, rows - first)
                file.write(rng.standard_normal((count, DIMENSION), dtype=np.float32).tobytes())


def write_pages(folder: Path, lines: list[str], files: int) -> list[str]:
    """Write WET files whose lines are those of the sample, each with a number; return the long ones."""
    folder.mkdir()
    rng = random.Random(7)
    written = []
    for number in range(files):
        chosen = [f"{rng.choice(lines)} {number}-{each}" for each in range(WANTED_LINES // files)]
        text = "".join(f"{line}\n" for line in chosen).encode()
        head = f"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: {len(text)}\r\n\r\n".encode()
        (folder / f"{number:03}.warc.wet").write_bytes(head + text + b"\r\n\r\n")
        written += chosen
    return [line for line in written if len(line) > 100]


def proportional(pid: int) -> float:
    """Return the proportional set size of a process in MB."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
    except OSError:
        return 0.0
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0) * 1024 / MB


def spawned(jobs: int) -> Executor:
    """Return workers that inherit nothing."""
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))


def measure(commands: list[list[str]]) -> tuple[float, float]:
    """Return the peak PSS of the workers of commands, and of all their processes, in MB."""
    workers = everything = 0.0
    path = os.pathsep.join(map(str, [HERE.parent / "src", HERE]))
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                subprocess.Popen(
                    each, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": path, "RAY_worker_niceness": "0"}
                )
            )
            for each in commands
        ]
        while any(each.poll() is None for each in started):
            own = sum(proportional(worker) for each in started for worker in workers_of(each.pid))
            workers = max(workers, own)
            everything = max(everything, own + sum(proportional(each.pid) for each in started))
            time.sleep(0.2)
    for command, each in zip(commands, started, strict=True):
        if each.returncode:
            sys.exit(f"`{' '.join(command)}` ended with status {each.returncode}")
    return workers, everything


def commands_of(engine: str, build: list[str], jobs: int, ray: str) -> list[list[str]]:
    """Return the commands of a build on an engine."""
    named = "py:model:spawned" if engine == "spawned" else engine
    return [[ray if engine == "ray" else sys.executable, *build, "--jobs", str(jobs), "--engine", named]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1700)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--engines", default="processes")
    parser.add_argument("--ray", default=sys.executable)
    parser.add_argument("--folder", type=Path, help="where to put the model (default: the temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        sample = [line for _, line in paragraphs()]
        words = sorted({word for line in sample for word in line.split()})[:WORDS]
        model = folder / "model.bin"
        write_model(model, options.megabytes * MB, ["</s>", *words])
        lines = write_pages(folder / "wet", sample, 8 * options.jobs)
        print(f"model of {model.stat().st_size / MB:,.0f} MB, {options.jobs} workers; peak PSS, MB:")
        print("| engine | workers | all processes |\n|---|---:|---:|")
        for engine in options.engines.split(","):
            build = ["-m", "corpusfmt", "build", str(folder / "wet"), "-o", str(folder / engine)]
            build += ["--recipe", "dolma", "--model", str(model)]
            workers, everything = measure(commands_of(engine, build, options.jobs, options.ray))
            print(f"| {engine} | {workers:,.0f} | {everything:,.0f} |", flush=True)
        ours = [each.label for each in Classifier(model, backend="native").predict(lines)]
        stock = fasttext.load_model(str(model))
        theirs = [stock.f.predict(f"{line}\n", 1, 0.0, "strict")[0][1].removeprefix("__label__") for line in lines]
        different = sum(one != other for one, other in zip(ours, theirs, strict=True))
        print(
            f"{len(lines):,} lines, {len(set(ours))} labels, {different} lines with another label than stock fastText"
        )


if __name__ == "__main__":
    main()
