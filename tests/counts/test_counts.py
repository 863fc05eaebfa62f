"""What commands count is as pinned, within 3 %: imported modules, bytes, fsyncs, and with valgrind instructions and allocations.

`make counts` pins anew what a change was meant to change, and `CORPUSFMT_INSTRUCTIONS=1` compares what valgrind counts.
"""

from __future__ import annotations

import json
import os
import shutil

import pytest
from counts.steps import PINS, STEPS, counts, differing, environment, new_folder

ASKED = "CORPUSFMT_INSTRUCTIONS" in os.environ


@pytest.mark.parametrize(
    "kind",
    [
        "counts",
        pytest.param("instructions", marks=pytest.mark.skipif(not ASKED, reason="CORPUSFMT_INSTRUCTIONS is not set")),
    ],
)
def test_counts_are_as_pinned(kind: str) -> None:
    pins = json.loads(PINS.read_bytes())[kind]
    assert pins["commands"].keys() == STEPS.keys()
    with new_folder() as folder:
        here = environment(folder)
        elsewhere = pins["environment"] != here
        if kind == "instructions" and (elsewhere or not shutil.which("valgrind")):
            pytest.skip(f"instructions are pinned for {pins['environment']} with valgrind; this is {here}")
        changes = [
            f"{name}: {each}"
            for name, own in counts(folder, instructions=kind == "instructions")
            for each in differing(pins["commands"][name], own, everywhere=elsewhere)
        ]
    assert not changes, "\n".join(["if it is meant, run `make counts`, and say why", *changes])
