"""What an interrupted run leaves on disk can be resumed as long as `CODE_FORMAT` is the same.

`unfinished` has runs that were interrupted before their last step, written by the code as it was when the number was last
raised. Where today's code does not resume them, raise the number, run `make unfinished`, and say so in `CHANGELOG.md`.
"""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

import pytest
from golden.unfinished import KEPT, RUNS, fill_store, folder_of, interrupt, join_all
from support import tree

import corpusfmt

# They hold sizes and digests of what is compressed, which another zlib compresses otherwise.
_OF_COMPRESSED = ("MANIFEST.json", "croissant.json", "_sha256.txt")


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder as it was before it was compressed."""
    found = {name: data for name, data in tree(folder).items() if not name.endswith(_OF_COMPRESSED)}
    return {name: gzip.decompress(data) if name.endswith(".gz") else data for name, data in found.items()}


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
    interrupt(name, kept / "out", times=1)
    untouched = {path for path in state.glob("*/*.json") if path.stat().st_mtime_ns == 0}
    assert untouched == set(markers), f"some of it was done again: raise CODE_FORMAT of `{RUNS[name][0]}`"
    _, run, _, _ = RUNS[name]
    run(kept / "out")
    run(tmp_path / "fresh" / "out")
    assert contents(kept) == contents(tmp_path / "fresh")
    assert corpusfmt.validate(kept / "out").verdict is corpusfmt.Verdict.VALID
