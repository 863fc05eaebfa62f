"""Code in the data set: no command may run it, in no process."""

from __future__ import annotations

import gzip
from pathlib import Path

from security.attacks import Attack, Outcome

_CODE = 'import os\nopen({marker!r}, "w").close()\nraise SystemExit("code of the data set runs")\n'
#: Modules that Python, multiprocessing or corpusfmt import late; any of them in a data set must stay data.
_NAMES = ("threading", "random", "socket", "tempfile", "selectors", "signal", "queue", "numpy", "msgspec", "rich")
# More than this, and workers are started where there are two processors.
_LARGE = 17 * 1024 * 1024


def _data_set_with_code(folder: Path) -> None:
    data = folder / "data"
    for name in _NAMES:
        (data / f"{name}.py").write_text(_CODE.format(marker=str(folder / "executed")), "utf-8")
    documents = data / "documents"
    documents.mkdir()
    row = b'{"id":"%d","text":"All human beings are born free.","source":"s"}\n'
    for part in range(2):
        rows = b"".join(row % number for number in range(part * 1000, part * 1000 + 1000))
        incompressible = b'{"id":"big-%d","text":"%s","source":"s"}\n' % (part, b"x" * (_LARGE // 2))
        (documents / f"{part}.jsonl.gz").write_bytes(gzip.compress(rows + incompressible, compresslevel=0))


def _is_valid(outcome: Outcome) -> None:
    assert outcome.status == 0, outcome.text


ATTACKS = [
    Attack("code-1-worker", _data_set_with_code, ("validate", ".", "--jobs", "1"), _is_valid, cwd="data"),
    Attack("code-2-workers", _data_set_with_code, ("validate", ".", "--jobs", "2"), _is_valid, cwd="data"),
    Attack("code-default-workers", _data_set_with_code, ("validate", "."), _is_valid, cwd="data"),
]
