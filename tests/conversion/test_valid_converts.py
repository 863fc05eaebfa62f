"""What `validate` calls VALID, `convert` with the same options reads to its end: of damaged corpora of every format, too."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from damage.kinds import HARMLESS, KINDS, Kind
from damage.run import FORMATS
from support import DEEP, every, tree

import corpusfmt
from corpusfmt.model import Verdict

SEEDS = range(3 if DEEP else 1)
OF_DATA = [kind for kind in (*KINDS, *HARMLESS) if kind.group in FORMATS]


def _made(kind: Kind, seed: int, root: Path) -> Path:
    for name, data in kind.make(random.Random(f"{kind.name} {seed}")).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


@pytest.mark.parametrize("kind", every(3, OF_DATA), ids=lambda kind: f"{kind.group}: {kind.name}")
def test_what_is_valid_is_converted(kind: Kind, tmp_path: Path) -> None:
    for seed in SEEDS:
        root = _made(kind, seed, tmp_path / str(seed))
        name = FORMATS[kind.group]
        if not corpusfmt.validate(root, format=name).counts["error"]:
            corpusfmt.convert(root, tmp_path / f"{seed}-out", to="dolma", format=name, on_loss="allow")
            assert not corpusfmt.validate(tmp_path / f"{seed}-out").counts["error"]


@pytest.mark.parametrize("to", ["dolma", "jsonl", "parquet"])
def test_names_that_a_manifest_refuses_are_escaped(to: str, tmp_path: Path) -> None:
    for name in ("a\r", "b\\c", "d\x7f/e\n"):
        path = tmp_path / "in" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b'{"text":"Some words of this file."}\n')
    corpusfmt.convert(tmp_path / "in", tmp_path / "out", to=to)
    report = corpusfmt.validate(tmp_path / "out")
    assert report.verdict is Verdict.VALID, report.findings
    assert report.coverage.documents == 3
    assert not any(char in path for path in tree(tmp_path / "out") for char in "\\\r\n\x7f")
