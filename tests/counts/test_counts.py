"""Which packages commands import, and how often they wait for the disk, is as pinned; `make counts` pins it anew."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import LONG_LINE, SAMPLE, wet_file, wet_record

HERE = Path(__file__).parent
PINS = HERE / "pins.json"

# In their order: what one writes is what others read.
STEPS = {
    "version": "--version",
    "help": "--help",
    "build": f"build {SAMPLE} -o oscar --jobs 1",
    "validate OSCAR": "validate oscar --jobs 1",
    "convert OSCAR to Dolma": "convert oscar dolma --to dolma --jobs 1",
    "validate Dolma": "validate dolma --jobs 1",
    "validate Dolma for the Hub": "validate dolma --profile hub --jobs 1",
    "convert Dolma to OSCAR": "convert dolma again --to oscar --jobs 1",
    "validate a description": "validate oscar/croissant.json",
    "stats": "stats oscar --jobs 1",
    "verify": "verify oscar --jobs 1",
    "describe": "describe oscar -o described.json",
    "build 50 tiny inputs": "build tiny -o of-tiny --jobs 1",  # one fsync each
}
_TINY = 50


def counted(words: str, folder: Path) -> Any:
    """Count what one command does in a folder."""
    command = [sys.executable, str(HERE / "counted.py"), *words.split()]
    done = subprocess.run(command, cwd=folder, env=os.environ | {"HOME": str(folder)}, capture_output=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stderr.decode()[-2000:]}"
    return json.loads(done.stdout.splitlines()[-1])


def test_counts_are_as_pinned(tmp_path: Path) -> None:
    pinned = json.loads(PINS.read_bytes())
    for number in range(_TINY):  # every second line repeats an earlier one
        wet_file(tmp_path / "tiny" / f"{number:02}.warc.wet.gz", [wet_record(number, f"{LONG_LINE} {number // 2}\n")])
    counts = {name: counted(words, tmp_path) for name, words in STEPS.items()}
    if "CORPUSFMT_PIN_COUNTS" in os.environ:
        PINS.write_text(f"{json.dumps(counts, indent=1)}\n", "utf-8")
        pytest.skip("pinned")
    for name, of_step in counts.items():
        more = sorted({*of_step["packages"]} - {*pinned[name]["packages"]})
        assert not more, f"{name} imports {', '.join(more)}, too"
    assert {name: of_step["fsyncs"] for name, of_step in counts.items()} == {
        name: of_step["fsyncs"] for name, of_step in pinned.items()
    }
