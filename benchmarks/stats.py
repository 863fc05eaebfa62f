"""Processor time of `stats` next to `validate` on the same corpus, and its memory on ten times as much.

python benchmarks/stats.py CORPUS [--format NAME]      any corpus; in turns, the median of five
python benchmarks/stats.py --memory                    peak memory on 40 MB and on 400 MB of Dolma
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from validate_dolma import row_of

import corpusfmt

_ROUNDS = 5
_COMMANDS = {
    "validate": ["validate"],
    "stats --with none": ["stats", "--with", "none"],
    "stats": ["stats"],
    "stats --with all": ["stats", "--with", "all"],
}


def spent(arguments: list[str]) -> tuple[float, float]:
    """Return the processor time of a command in seconds, and its peak memory in megabytes."""
    script = "import resource,subprocess,sys;subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL,stderr=subprocess.DEVNULL);"
    script += "r=resource.getrusage(resource.RUSAGE_CHILDREN);print(r.ru_utime+r.ru_stime,r.ru_maxrss)"
    command = [sys.executable, "-c", script, sys.executable, "-m", "corpusfmt", *arguments]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    seconds, kilobytes = done.stdout.split()
    return float(seconds), float(kilobytes) / 1000


def times(corpus: str, name: str) -> None:
    found: dict[str, list[float]] = {each: [] for each in _COMMANDS}
    for _ in range(_ROUNDS):
        for each, command in _COMMANDS.items():
            found[each].append(spent([*command, corpus, "--format", name, "--jobs", "1"])[0])
    least = statistics.median(found["validate"])
    for each, seconds in found.items():
        median = statistics.median(seconds)
        print(f"{each:20} {median:7.2f} s  {median / least:5.2f}")


def memory() -> None:
    for megabytes in (40, 400):
        with tempfile.TemporaryDirectory() as folder:
            numbers = random.Random(1)
            documents = Path(folder) / "corpus"
            rows = (row_of(numbers, each) for each in range(megabytes * 270))
            corpusfmt.write((_document(row) for row in rows), documents, to="dolma", shard_bytes=20_000_000)
            size = sum(each.stat().st_size for each in (documents / "documents").iterdir())
            peak = spent(["stats", "--with", "all", str(documents), "--jobs", "1"])[1]
            print(f"{megabytes:4} MB ({size / 1e6:,.0f} MB compressed): {peak:,.0f} MB")


def _document(row: dict[str, Any]) -> corpusfmt.Document:
    return corpusfmt.Document(row["id"], row["text"], row["source"], metadata=row["metadata"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?")
    parser.add_argument("--format", default="auto")
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    if options.corpus:
        times(options.corpus, options.format)
    if options.memory:
        memory()


if __name__ == "__main__":
    main()
