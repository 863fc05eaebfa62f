"""pandas, Polars, DuckDB, pyarrow and datatrove read what `convert` writes; pandas and `datasets` take what `read` yields
(`make hub`).
"""

from __future__ import annotations

import json
import subprocess
import sys
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


@needs_datasets
def test_frames_and_data_sets_are_made_of_documents(oscar_corpus: Path) -> None:
    expected = [[each.id, each.text, each.lang] for each in corpusfmt.read(oscar_corpus)]
    assert PYTHON is not None
    script = Path(__file__).with_name("frames.py")
    packages = [each for each in sys.path if each.endswith("-packages")]
    command = [PYTHON, str(script), str(oscar_corpus), str(Path(corpusfmt.__file__).parents[1]), *packages]
    done = subprocess.run(command, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    assert json.loads(done.stdout) == {"pandas": expected, "datasets": expected}
