"""Measure what a comparison does with ids once documents are read: sorting, spilling and matching rows of digests.

python benchmarks/compare.py [--documents 20000000] [--folder DIR]

Rows are made as the stage that reads documents makes them, 56 bytes a document, and no text is read: how fast that is
depends on the format (`corpusfmt convert` reads as fast). Of the new release's documents every 100th has another text,
every 100th is new and every 100th has another name. Counted are the ids of both releases, by the processor time of one core:
spilling them as sorted runs, then matching them by name, and what is left by text. What is found is checked.

In turn with the stages, numpy sorts as many random numbers, in pieces: the ratio depends less on the machine and on its other
load than the times. System time is part of all times, and mostly for files.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
from measuring import alone, peak, table

from corpusfmt.comparison.matching import (
    COLUMNS,
    RANGE_ROWS,
    RUN_ROWS,
    Join,
    Joined,
    Places,
    join_names,
    join_texts,
    place_of,
)
from corpusfmt.io.runs import END, RunWriter

Rows = npt.NDArray[np.uint64]

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
    return np.stack([*columns, nothing, numbers * np.uint64(place_of(0, 1, 0))])


class Clock:
    """The processor time of this process within `with` blocks, and the system's part of it."""

    def __init__(self) -> None:
        self.seconds = self.system = 0.0

    def __enter__(self) -> None:
        began = resource.getrusage(resource.RUSAGE_SELF)
        self.seconds -= began.ru_utime + began.ru_stime
        self.system -= began.ru_stime

    def __exit__(self, *_: object) -> None:
        ended = resource.getrusage(resource.RUSAGE_SELF)
        self.seconds += ended.ru_utime + ended.ru_stime
        self.system += ended.ru_stime


def sort_alone(clock: Clock, numbers: int) -> None:
    """Sort random numbers in pieces of the size of a range."""
    piece = np.random.default_rng(1).integers(0, 1 << 64, RANGE_ROWS, np.uint64)
    for first in range(0, numbers, RANGE_ROWS):
        copy = piece[: numbers - first].copy()
        with clock:
            copy.sort()


def spill(folder: Path, documents: int) -> tuple[Clock, Clock, float]:
    """Write both releases; return the times of that and of sorting, and the peak in MB."""
    clock, sorting = Clock(), Clock()
    for name in ("old", "new"):
        for start in range(0, documents, DOCUMENTS_A_FILE):
            runs = RunWriter(folder / name, f"{start:012}", COLUMNS, RUN_ROWS)
            end = min(start + DOCUMENTS_A_FILE, documents)
            for first in range(start, end, AT_A_TIME):
                rows = made(first, min(AT_A_TIME, end - first), changed=name == "new")
                with clock:
                    runs.add_columns(column.tobytes() for column in rows)
            with clock:
                runs.close()
            sort_alone(sorting, end - start)
    return clock, sorting, peak()


def match(folder: Path, documents: int) -> tuple[list[Clock], Clock, float, Joined]:
    """Match both releases; return the times by name, by text and of sorting, the peak in MB, and what was found."""
    runs = folder / "old", folder / "new"
    nowhere = Places(np.zeros(1, np.int64), np.zeros(1, np.int64))
    clocks, sorting = [], Clock()
    found = Joined()
    for stage in (join_names, join_texts):
        sort_alone(sorting, documents)
        clocks.append(Clock())
        with clocks[-1]:
            left = folder / f"{stage.__name__}.old", folder / f"{stage.__name__}.new"
            found.add(stage(Join(0, 0, END, *runs, left, (nowhere, nowhere), True, 10)), 10)
        runs = left
    return clocks, sorting, peak(), found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=20_000_000, help="of each release, in hundreds")
    parser.add_argument("--folder", type=Path, help="where to put the rows (default: the temporary folder)")
    options = parser.parse_args()
    documents: int = options.documents // 100 * 100
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        spilling, sorted_first, first_peak = alone(spill, Path(folder), documents)
        (naming, texts), sorted_again, second_peak, found = alone(match, Path(folder), documents)
    hundredth = documents // 100
    same = documents - 3 * hundredth
    expected = {
        "same": same,
        "changed_text": hundredth,
        "moved": hundredth,
        "renamed": hundredth,
        "removed": hundredth,
        "added": hundredth,
    }
    counted = {kind: count for (kind, _), count in found.counts.items() if count}
    assert counted == expected, counted
    ids = 2 * documents
    sorting = (sorted_first.seconds + sorted_again.seconds) / 2
    total = sum(each.seconds for each in (spilling, naming, texts))
    system = sum(each.system for each in (spilling, naming, texts))
    stages = (
        ("spill rows as sorted runs", spilling.seconds, f"{first_peak:.0f}"),
        ("match rows by id", naming.seconds, f"{second_peak:.0f}"),
        (f"match the rest by text: {4 * hundredth:,} rows", texts.seconds, ""),
        (f"in all, {system:.1f} CPU-s of it of the system", total, ""),
        (f"`np.sort` of as many numbers in pieces of {RANGE_ROWS:,}", sorting, ""),
    )
    rows = [[name, f"{seconds:.1f}", f"{ids / seconds / 1e6:.1f}", memory] for name, seconds, memory in stages]
    title = f"{documents:,} documents in each of two releases: {ids:,} ids, {8 * COLUMNS * ids / 1e9:.1f} GB of rows"
    table(title, ["stage", "CPU-s", "M ids per CPU-s", "peak memory, MB"], rows)


if __name__ == "__main__":
    main()
