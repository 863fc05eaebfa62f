"""An input of a build takes little memory."""

from __future__ import annotations

import hashlib
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from corpusfmt.pipeline.intake.inputs import inputs_named
from corpusfmt.pipeline.intake.report import Usable
from corpusfmt.pipeline.intake.take import Inputs, Taken
from corpusfmt.pipeline.process.store import Processed


def held(make: Callable[[], Any]) -> int:
    """Return the bytes that are in memory once something is made."""
    tracemalloc.start()
    try:
        found = make()
        size, _ = tracemalloc.get_traced_memory()
        assert found
    finally:
        tracemalloc.stop()
    return size


def test_an_input_of_a_build_takes_little_memory(tmp_path: Path) -> None:
    many = 2_000
    for number in range(many):
        (tmp_path / f"CC-MAIN-20240220211055-20240221001055-{number:05}.warc.wet.gz").touch()

    def inputs() -> object:
        sources = inputs_named([str(tmp_path)])
        known = [each.input for each in sources]
        usable = Usable(Inputs(cast("Any", None), known, {}))
        for each in known:
            usable.add(Taken(each, Processed(sha256=hashlib.sha256(each.key.encode()).hexdigest())))
        return sources, usable

    assert held(inputs) / many < 1_500
