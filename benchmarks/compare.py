"""Measure what a comparison does with ids once documents are read: sorting, spilling and matching rows of digests.

python benchmarks/compare.py [--documents 20000000] [--folder DIR]

Rows are made as the stage that reads documents makes them, 56 bytes a document, and no text is read: how fast that is
depends on the format (`corpusfmt convert` reads as fast). Of the new release's documents every 100th has another text,
every 100th is new and every 100th has another name. Counted are the ids of both releases, by the processor time of one core:
spilling them as sorted runs, then matching them by name, and what is left by text. What is found is checked.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from corpusfmt.comparison.matching import Fate
from corpusfmt.comparison.names import join_names
from corpusfmt.comparison.runs import ROW_BYTES, Rows, RunWriter, bucket_sizes, ranges
from corpusfmt.comparison.tasks import ADDED, REMOVED, RENAMED, Join, Joined, Places
from corpusfmt.comparison.texts import join_texts

AT_A_TIME = 1 << 14
DOCUMENTS_A_FILE = 1_000_000
# Odd factors: documents that differ have different digests.
FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)


def digests(numbers: Rows, salt: int) -> Rows:
    found = numbers + np.uint64(salt)
    for factor in FACTORS[:2]:
        found = (found ^ (found >> np.uint64(31))) * np.uint64(factor)
    return found


def made(first: int, count: int, *, changed: bool) -> Rows:
    """Return rows of documents, in the new release with what has changed."""
    numbers = np.arange(first, first + count, dtype=np.uint64)
    names, texts = numbers.copy(), numbers.copy()
    if changed:
        texts[numbers % 100 == 1] += np.uint64(1 << 40)
        names[numbers % 100 == 2] += np.uint64(1 << 40)
        new = numbers % 100 == 3
        names[new] += np.uint64(1 << 41)
        texts[new] += np.uint64(1 << 41)
    columns = [digests(names, 1), digests(names, 2), digests(texts, 3), digests(texts, 4), digests(names, 5)]
    nothing = np.zeros(count, np.uint64)
    return np.stack([*columns, nothing, numbers], axis=1)


def spill(folder: Path, documents: int) -> tuple[float, float]:
    """Write both releases; return the seconds of CPU that writing took, and the peak in MB."""
    seconds = 0.0
    for name in ("old", "new"):
        for start in range(0, documents, DOCUMENTS_A_FILE):
            runs = RunWriter(folder / f"{name}-{start:012}")
            end = min(start + DOCUMENTS_A_FILE, documents)
            for first in range(start, end, AT_A_TIME):
                rows = made(first, min(AT_A_TIME, end - first), changed=name == "new")
                began = time.process_time()
                runs.add(rows)
                seconds += time.process_time() - began
            began = time.process_time()
            runs.close()
            seconds += time.process_time() - began
    return seconds, peak()


def match(folder: Path) -> tuple[float, float, float, Joined]:
    """Match both releases; return seconds of CPU by name and by text, the peak in MB, and what was found."""
    old, new = (sorted(each for each in folder.glob(f"{name}-*") if not each.suffix) for name in ("old", "new"))
    nowhere = Places(np.zeros(len(old) + 1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))
    seconds = []
    found = Joined()
    for stage in (join_names, join_texts):
        began = time.process_time()
        wanted = ranges(bucket_sizes([*old, *new]))
        left = [folder / f"{stage.__name__}.{name}" for name in ("old", "new")]
        found.add(stage(Join(old, new, wanted, nowhere, nowhere, True, 10, *left)), 10)
        seconds.append(time.process_time() - began)
        old, new = [left[0]], [left[1]]
    return seconds[0], seconds[1], peak(), found


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024 * 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=20_000_000, help="of each release, in hundreds")
    parser.add_argument("--folder", type=Path, help="where to put the rows (default: the temporary folder)")
    options = parser.parse_args()
    documents: int = options.documents // 100 * 100
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            spilling, first_peak = pool.submit(spill, Path(folder), documents).result()
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            naming, reading, second_peak, found = pool.submit(match, Path(folder)).result()
    hundredth = documents // 100
    same = documents - 3 * hundredth
    expected = {
        Fate.SAME: same,
        Fate.CHANGED_TEXT: hundredth,
        Fate.MOVED: hundredth,
        RENAMED: hundredth,
        REMOVED: hundredth,
        ADDED: hundredth,
    }
    counted = {kind: count for (kind, _), count in found.counts.items() if count}
    assert counted == expected, counted
    ids = 2 * documents
    print(f"{documents:,} documents in each of two releases: {ids:,} ids, {ROW_BYTES * ids / 1e9:.1f} GB of rows")
    print(f"spill    {spilling:6.1f} CPU-s, {ids / spilling / 1e6:5.1f} M ids/s, peak {first_peak:.0f} MB")
    print(f"by name  {naming:6.1f} CPU-s, {ids / naming / 1e6:5.1f} M ids/s, peak {second_peak:.0f} MB")
    print(f"by text  {reading:6.1f} CPU-s (what is left: {4 * hundredth:,} rows)")
    total = spilling + naming + reading
    print(f"in all   {total:6.1f} CPU-s, {ids / total / 1e6:5.1f} M ids/s")


if __name__ == "__main__":
    main()
