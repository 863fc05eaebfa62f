"""Runs that were interrupted before their last step, each kept in a folder named for its `CODE_FORMAT`: `make unfinished`.

The inputs are in a store whose entity tags are made of their bytes, so that a run begun elsewhere can be resumed here.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from support import LONG_LINE, wet_record

import corpusfmt

HERE = Path(__file__).parent
KEPT = HERE / "unfinished"
PACKAGE = Path(corpusfmt.__file__).parent

Run = Callable[..., corpusfmt.Report]

_GERMAN = "Alle Menschen sind frei und gleich an Würde und Rechten geboren, sie sind mit Vernunft und Gewissen begabt."


class _Store(MemoryFileSystem):  # type: ignore[misc]  # fsspec ships no type information
    protocol = "kept"
    store: dict[str, Any] = {}  # noqa: RUF012 - as in the class above
    pseudo_dirs: list[str] = [""]  # noqa: RUF012

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.removeprefix("kept://")))

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        facts: dict[str, Any] = super().info(path, **options)
        if facts["type"] == "file":
            facts["ETag"] = hashlib.sha256(self.cat_file(path)).hexdigest()
        return facts


def fill_store() -> None:
    """Put the inputs into the store: two WET files, and Dolma documents of two languages, the id of one given twice."""
    fsspec.register_implementation("kept", _Store, clobber=True)
    store = _Store()
    for number, line in enumerate((LONG_LINE, _GERMAN)):
        store.pipe_file(f"/wet/{number}.warc.wet", wet_record(number, f"{LONG_LINE}\n{line}\nshort\n"))
    for shard, ids in (("a", (0, 1)), ("b", (1, 2))):
        rows = [
            {"id": str(each), "text": f"{each} {LONG_LINE}", "source": "s", "metadata": {"language": language}}
            for each, language in zip(ids, ("en", "de"), strict=True)
        ]
        data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        store.pipe_file(f"/dolma/documents/{shard}.jsonl", data)


# Stock fastText and zlib: what is there wherever this is tested.
_BUILD = partial(corpusfmt.build, "kept://wet", langid="fasttext", compression="zlib-6")
_CONVERT = partial(corpusfmt.convert, "kept://dolma", on_bad_record="quarantine", compression="zlib-6")


class Unfinished(NamedTuple):
    """A run of a package that is interrupted when a stage has ended, of several times the `nth`."""

    package: str
    run: Run
    stage: str
    nth: int = 1


RUNS = {
    "build": Unfinished("pipeline", _BUILD, "package"),
    "convert-to-dolma-first": Unfinished("conversion", partial(_CONVERT, to="dolma"), "identify"),
    "convert-to-dolma": Unfinished("conversion", partial(_CONVERT, to="dolma"), "convert", nth=2),
    "convert-to-oscar": Unfinished("conversion", partial(_CONVERT, to="oscar"), "pack"),
}


def code_format(name: str) -> int:
    """Return the number that the package of a run has for what it leaves on disk."""
    sources = (path.read_text("utf-8") for path in (PACKAGE / RUNS[name].package).rglob("*.py"))
    (number,) = (number for text in sources for number in re.findall(r"^CODE_FORMAT = (\d+)$", text, re.MULTILINE))
    return int(number)


def folder_of(name: str) -> Path:
    return KEPT / f"{name}-{code_format(name)}"


def interrupt(name: str, destination: Path, *, nth: int, stage: str = "") -> None:
    """Run until the stage, or that of the kept run, has ended this many times, and no further."""
    run, last = RUNS[name].run, stage or RUNS[name].stage
    left = nth

    def stop(stage: str, progress: corpusfmt.Progress) -> None:
        nonlocal left
        left -= stage == last and progress.shards == progress.shards_total > 0
        if not left:
            raise KeyboardInterrupt

    try:
        run(destination, progress=stop)
    except KeyboardInterrupt:
        return
    raise AssertionError(f"{name} was not interrupted")


def main() -> None:
    """Keep the runs whose `CODE_FORMAT` has changed; the others stay as they are."""
    new = [name for name in RUNS if not folder_of(name).exists()]
    if not new:
        raise SystemExit("all are kept already: where what a run leaves on disk has changed, raise CODE_FORMAT first")
    fill_store()
    with pytest.MonkeyPatch.context() as patched:
        join_all(patched)
        for name in new:
            for older in KEPT.glob(f"{name}-[0-9]*"):
                shutil.rmtree(older)
            destination = folder_of(name) / "out"
            interrupt(name, destination, nth=RUNS[name].nth)
            (destination / ".corpusfmt" / "lock").unlink()


def join_all(patched: pytest.MonkeyPatch) -> None:
    """Have few containers joined, as else only those of many inputs are, and small languages divided."""
    patched.setattr("corpusfmt.pipeline.dedup._SMALLEST_GROUP", 1)
    patched.setattr("corpusfmt.pipeline.stages._LINES_A_SHARE", 1)


if __name__ == "__main__":
    main()
