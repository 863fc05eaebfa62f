"""What each job costs as its input grows, from 1 MB to as much as is wanted: the points of the plots.

    python benchmarks/sizes.py [--largest 1000] [--jobs oscar,convert] [--rounds 2]

Sizes grow tenfold; 10000 is 10 GB and takes 25 GB of disk. One part is generated; a larger release has it many times, as
links or, in Dolma, as documents of another source. WET files are generated each. Next to each job runs `gzip -dc` on the
same files, up to 1 GB.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from corpora import dolma, multiplied, oscar, wet
from measuring import Command, race, record, table
from validate_oscar import VALIDATE

PIECE = 10
WET_PIECE = 100
MOST_OF_GZIP = 1000
LANGUAGES = [(language, 1) for language in ("en", "de", "fr", "ru", "zh")]
READ = 'find "$1" -name "*.gz" -exec gzip -dc {} + | wc -c'


def make_oscar(folder: Path, megabytes: int) -> None:
    first = folder.with_name("piece")
    oscar(first, min(megabytes, PIECE), parts=LANGUAGES)
    multiplied(first, folder, max(1, megabytes // PIECE))
    shutil.rmtree(first)


def make_dolma(folder: Path, megabytes: int) -> None:
    first = folder.with_name("piece")
    dolma(first, min(megabytes, PIECE), shards=2)
    multiplied(first / "gz", folder, max(1, megabytes // PIECE))
    shutil.rmtree(first)


def make_wet(folder: Path, megabytes: int) -> None:
    for number in range(max(1, megabytes // WET_PIECE)):
        wet(folder / f"{number:03}.warc.wet.gz", min(megabytes, WET_PIECE), seed=number + 1)


def command(*words: str) -> Callable[[Path], Command]:
    """Return what gives the command on a folder; it runs in an empty folder."""
    return lambda folder: [
        sys.executable,
        "-m",
        "corpusfmt",
        *(str(folder) if word == "IN" else word for word in words),
    ]


MAKERS = {"oscar": make_oscar, "dolma": make_dolma, "wet": make_wet}
# The input of a job, and how it is run on it.
JOBS: dict[str, tuple[str, Callable[[Path], Command]]] = {
    "validate OSCAR": ("oscar", lambda folder: [sys.executable, "-c", VALIDATE, folder, "1"]),
    "validate Dolma": ("dolma", lambda folder: [sys.executable, "-c", VALIDATE, folder, "1", "dolma"]),
    "convert OSCAR to Dolma": ("oscar", command("convert", "IN", "out", "--to", "dolma", "--jobs", "1")),
    "statistics of OSCAR": ("oscar", command("stats", "IN", "--jobs", "1")),
    "build from WET": ("wet", command("build", "IN", "-o", "out", "--jobs", "1")),
}


def sizes(largest: int) -> list[int]:
    return [size for size in (10**power for power in range(5)) if size <= largest]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=1000, metavar="MB")
    parser.add_argument("--jobs", default=",".join(MAKERS), help="by their input: oscar,dolma,wet")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    rows: dict[str, list[str]] = {name: [name] for name in JOBS}
    for source in options.jobs.split(","):
        for size in sizes(options.largest):
            with tempfile.TemporaryDirectory(prefix="sizes-") as scratch:
                folder = Path(scratch, "corpus")
                folder.mkdir()
                MAKERS[source](folder, size)
                jobs = {name: run(folder) for name, (wanted, run) in JOBS.items() if wanted == source}
                if size <= MOST_OF_GZIP:
                    jobs["gzip -dc"] = ["sh", "-c", READ, "sh", folder]
                for name, costs in race("", jobs, options.rounds if size < MOST_OF_GZIP else 1).items():
                    seconds = min(cost.cpu for cost in costs)
                    own = name if name in rows else f"gzip -dc of {source}"
                    rows.setdefault(own, [own]).append(f"{seconds:.2f}")
                    record(f"size, {source}", {name: costs}, size)
    table(
        "CPU seconds by the size of the input, MB",
        ["job", *(f"{size:,}" for size in sizes(options.largest))],
        [[*cells, *[""] * (len(sizes(options.largest)) + 1 - len(cells))] for cells in rows.values() if len(cells) > 1],
    )


if __name__ == "__main__":
    main()
