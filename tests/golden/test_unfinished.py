"""The state of an interrupted run can be resumed as long as `CODE_FORMAT` is the same.

`unfinished` has runs that were interrupted before their last step, written by the code as it was when the number was last
raised. Where today's code does not resume them, raise the number, run `make unfinished`, and say so in `CHANGELOG.md`.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from golden.unfinished import KEPT, RUNS, fill_store, folder_of, interrupt, join_all
from support import tree

import corpusfmt


def outcome(report: corpusfmt.Report, folder: Path) -> dict[str, Any]:
    """Return what a run says and writes, but for the sizes and digests of compressed files: another zlib has others."""
    found: dict[str, Any] = {"coverage": report.coverage, "results": report.results | {"resumed": None}}
    for name, data in tree(folder).items():
        if name.endswith("MANIFEST.json"):
            found[name] = json.loads(data) | {"files": None, "tree": None}
        elif not name.endswith(("croissant.json", "_sha256.txt")):
            found[name] = gzip.decompress(data) if name.endswith(".gz") else data
    return found


@pytest.fixture(autouse=True)
def _ready(monkeypatch: pytest.MonkeyPatch) -> None:
    fill_store()
    join_all(monkeypatch)


def test_runs_of_each_format_number_are_kept() -> None:
    assert sorted(KEPT.iterdir()) == sorted(map(folder_of, RUNS)), "run `make unfinished`"


@pytest.mark.parametrize("name", RUNS)
def test_an_unfinished_run_is_resumed(name: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    shutil.copytree(folder_of(name), kept)
    state = kept / "out" / ".corpusfmt"
    markers = list(state.glob("*/*.json"))
    for path in markers:
        os.utime(path, ns=(0, 0))
    interrupt(name, kept / "out", nth=1)
    untouched = {path for path in state.glob("*/*.json") if path.stat().st_mtime_ns == 0}
    assert untouched == set(markers), f"some of it was done again: raise CODE_FORMAT of `{RUNS[name].package}`"
    run = RUNS[name].run
    resumed, whole = run(kept / "out"), run(tmp_path / "whole" / "out")
    assert outcome(resumed, kept) == outcome(whole, tmp_path / "whole")
    assert corpusfmt.validate(kept / "out").verdict is corpusfmt.Verdict.VALID
