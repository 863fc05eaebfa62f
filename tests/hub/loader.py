"""What `datasets` loads of a folder, in another process: `make hub`."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest

#: A folder whose file system need not wait for a disk.
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else gettempdir()
PYTHON = os.environ.get("CORPUSFMT_HUB")
needs_datasets = pytest.mark.skipif(PYTHON is None, reason="CORPUSFMT_HUB is not set")


def loaded(paths: Iterable[Path], configs: Sequence[str | None] = (None,)) -> list[dict[str, Any]]:
    """Return for each folder the rows of its configs by split, None for the default, or the `error`."""
    assert PYTHON is not None
    asked = "".join(json.dumps({"path": str(path), "configs": configs}) + "\n" for path in paths)
    script = Path(__file__).with_name("load.py")
    done = subprocess.run([PYTHON, script, MEMORY], input=asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]
