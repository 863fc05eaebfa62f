"""What a conversion's own process needs for each file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

# Another process: what is imported and cached in this one depends on the tests before.
_PEAK = """
import sys, tracemalloc, corpusfmt
first, source, target, to, field = sys.argv[1:]
options = {"to": to, "on_loss": "allow", "language_field": field or None}
corpusfmt.convert(first, target + "-first", **options)
tracemalloc.start()
corpusfmt.convert(source, target, **options)
print(tracemalloc.get_traced_memory()[1])
"""


def rows(folder: Path, number: int) -> Path:
    folder.mkdir()
    for each in range(number):
        row = {"id": f"{each}", "text": f"All human beings {each}", "source": "s", "metadata": {"language": "en"}}
        (folder / f"part-{each:06}.jsonl").write_bytes(json.dumps(row).encode() + b"\n")
    return folder


@pytest.mark.parametrize(
    ("to", "field"),
    [
        pytest.param("dolma", "", marks=pytest.mark.deep),
        # Documents are sorted by language first: 300 files in a task.
        pytest.param("oscar", "language", marks=pytest.mark.deep),
        pytest.param("jsonl", "", marks=pytest.mark.deep),
        pytest.param("text", "", marks=pytest.mark.deep),
    ],
)
def test_a_file_takes_little_memory(to: str, field: str, tmp_path: Path) -> None:
    first = rows(tmp_path / "first", 1)

    def peak(number: int) -> int:
        source = rows(tmp_path / f"{number}", number)
        command = [sys.executable, "-c", _PEAK, str(first), str(source), str(tmp_path / f"{number}-out"), to, field]
        return int(subprocess.run(command, check=True, capture_output=True).stdout)

    few, many = 1_500, 4_500
    assert (peak(many) - peak(few)) / (many - few) < 1_500
