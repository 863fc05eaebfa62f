"""What a conversion's own process needs for each file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

# Another process: what is imported and cached in this one depends on the tests before.
_PEAK = """
import sys, tracemalloc, corpusfmt
first, source, target = sys.argv[1:]
corpusfmt.convert(first, target + "-first", to="dolma")
tracemalloc.start()
corpusfmt.convert(source, target, to="dolma")
print(tracemalloc.get_traced_memory()[1])
"""


def rows(folder: Path, number: int) -> Path:
    folder.mkdir()
    for each in range(number):
        row = {"id": f"{each}", "text": f"All human beings {each}", "source": "s"}
        (folder / f"part-{each:06}.jsonl").write_bytes(json.dumps(row).encode() + b"\n")
    return folder


def test_a_file_takes_little_memory(tmp_path: Path) -> None:
    first = rows(tmp_path / "first", 1)

    def peak(number: int) -> int:
        source = rows(tmp_path / f"{number}", number)
        command = [sys.executable, "-c", _PEAK, str(first), str(source), str(tmp_path / f"{number}-out")]
        return int(subprocess.run(command, check=True, capture_output=True).stdout)

    # From here on, what is kept in memory of the first few hundred items makes no difference.
    few, many = 400, 1_000
    assert (peak(many) - peak(few)) / (many - few) < 2_500
