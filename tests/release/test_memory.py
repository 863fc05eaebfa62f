"""What it takes to validate or verify a release for each file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import corpusfmt

# Another process: what is imported and cached in this one depends on the tests before.
_PEAK = """
import sys, tracemalloc, corpusfmt
command, first, release = sys.argv[1:]
run = getattr(corpusfmt, command)
run(first)
tracemalloc.start()
assert run(release).verdict == "valid"
print(tracemalloc.get_traced_memory()[1])
"""


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    def release(number: int) -> Path:
        root = tmp_path_factory.mktemp(f"release-{number}")
        (root / "documents").mkdir()
        for each in range(number):
            row = {
                "id": f"{each}",
                "text": f"All human beings {each}",
                "source": "s",
                "created": "2024-01-01T00:00:00Z",
            }
            (root / f"documents/part-{each:06}.jsonl").write_bytes(json.dumps(row).encode() + b"\n")
        corpusfmt.seal(root)
        return root

    return {number: release(number) for number in (1, 1_500, 4_500)}


@pytest.mark.deep
@pytest.mark.parametrize("command", ["validate", "verify"])
def test_a_file_takes_little_memory(command: str, releases: dict[int, Path]) -> None:
    def peak(number: int) -> int:
        arguments = [sys.executable, "-c", _PEAK, command, str(releases[1]), str(releases[number])]
        return int(subprocess.run(arguments, check=True, capture_output=True).stdout)

    few, many = peak(1_500), peak(4_500)
    assert few < 10_000_000
    assert (many - few) / 3_000 < 1_500
