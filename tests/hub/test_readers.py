"""pandas, Polars, DuckDB, pyarrow and datatrove read what `convert` writes (`make hub`)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hub.loader import PYTHON, needs_datasets

import corpusfmt

READERS = ["pandas", "polars", "duckdb", "pyarrow", "datatrove"]


@needs_datasets
@pytest.mark.parametrize("target", ["dolma", "jsonl", "parquet"])
def test_ids_and_texts_are_equal(target: str, oscar_corpus: Path, tmp_path: Path) -> None:
    corpusfmt.convert(oscar_corpus, tmp_path / "out", to=target)
    expected = sorted([each.id, each.text] for each in corpusfmt.read(oscar_corpus))
    assert PYTHON is not None
    script = Path(__file__).with_name("read.py")
    done = subprocess.run([PYTHON, script, tmp_path / "out"], capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    found = json.loads(done.stdout)
    assert list(found) == READERS
    assert [name for name in READERS if found[name] != expected] == []
