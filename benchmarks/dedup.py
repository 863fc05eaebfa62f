"""Measure deduplication alone, on keys that are made: how much memory and time so many lines of one language take.

python benchmarks/dedup.py [--lines 100000000] [--folder DIR]

Containers of a million lines are written as the stage `process` writes them (24 bytes a line on disk with siphash_128, 16
with xxh64); every tenth line repeats an earlier one. Then the buckets are worked off one after the other, and the lines
that stay are looked up, in a process of their own.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import get_args

import numpy as np
from measuring import alone, peak, table

from corpusfmt.io.containers import ContainerWriter
from corpusfmt.pipeline.dedup import HASHES, DedupTask, buckets, dedup, first_occurrences, keys_of, sorted_keys
from corpusfmt.pipeline.recipe import HashName

A_CONTAINER = 1_000_000
# Odd factors: lines that differ have different words.
FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)


def write(path: Path, first: int, name: HashName) -> None:
    lines = np.arange(first, first + A_CONTAINER, dtype=np.uint64)
    repeats = lines % 10 == 9
    lines[repeats] = lines[repeats] // 20 * 10
    words = np.stack([lines * np.uint64(factor) for factor in FACTORS[: HASHES[name].words]], axis=1)
    with path.open("wb") as file:
        container = ContainerWriter(file)
        container.add(keys_of("en"), sorted_keys(words.astype(">u8").tobytes(), name))
        container.finish()


def run(folder: Path, count: int, name: HashName) -> tuple[int, float, float, float]:
    """Return how many lines were dropped, seconds of CPU for that and for looking up what stays, and the peak in MB."""
    paths = tuple(folder / f"{number}.box" for number in range(count))
    started = time.process_time()
    tasks = [
        DedupTask((bucket,), paths, folder / f"drops-{bucket.number}.box", name)
        for bucket in buckets("en", count * A_CONTAINER)
    ]
    dropped = sum(dedup(task).dropped for task in tasks)
    found = time.process_time()
    drops = [task.drops for task in tasks]
    stay = sum(A_CONTAINER - first_occurrences(drops, "en", number).count(0) for number in range(count))
    assert stay + dropped == count * A_CONTAINER
    return dropped, found - started, time.process_time() - found, peak()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=100_000_000)
    parser.add_argument("--folder", type=Path, help="where to put the containers (default: the temporary folder)")
    options = parser.parse_args()
    count = -(-options.lines // A_CONTAINER)
    rows = []
    for name in get_args(HashName):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            for number in range(count):
                write(Path(folder) / f"{number}.box", number * A_CONTAINER, name)
            dropped, seconds, looking, memory = alone(run, Path(folder), count, name)
        expected = count * A_CONTAINER // 10
        assert dropped == expected, f"{dropped:,} lines dropped, {expected:,} are repetitions"
        million = count * A_CONTAINER / 1e6
        cells = [seconds, looking, million / seconds, million / (seconds + looking)]
        rows.append([name, *(f"{each:.1f}" for each in cells), f"{memory:.0f}"])
    heads = ["hash", "CPU-s", "and to look up, CPU-s", "million keys per CPU-s", "and looked up", "peak memory, MB"]
    table(f"{count * A_CONTAINER:,} lines in {count} containers", heads, rows)


if __name__ == "__main__":
    main()
