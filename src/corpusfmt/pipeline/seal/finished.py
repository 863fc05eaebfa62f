"""Internal: Recognise a finished build: repeating its command does nothing, and another command must not touch it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from corpusfmt.engine.workplace import Workplace
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.outputs import Place
from corpusfmt.io.publish import all_there
from corpusfmt.manifest.model import NAME as MANIFEST
from corpusfmt.manifest.model import ListedFile
from corpusfmt.model import Coverage, Json, Report, Tally
from corpusfmt.pipeline.intake.inputs import STANDARD_INPUT, Source

STATS = "stats.json"


def report_of_finished(
    destination: Place, choices: Mapping[str, Any], inputs: Sequence[Source], state: str | Path | None = None
) -> Report | None:
    """Return the report of the finished build with the same inputs and choices, else None.

    Inputs are compared by name and size. A corpus that lacks files, or was made without some of its inputs, gives None.
    """
    if Workplace.is_unfinished(destination, state) or not (destination / MANIFEST).is_file():
        return None
    try:
        manifest: Any = msgspec.json.decode((destination / MANIFEST).read_bytes())
        stats: Any = msgspec.json.decode((destination / STATS).read_bytes())
        sizes = {each["name"]: each["size"] for each in manifest["inputs"] if "sha256" in each}
        files = msgspec.convert(manifest["files"], dict[str, ListedFile])
        whole = all_there(destination, {path: FileFacts(each.size, each.sha256) for path, each in files.items()})
        same = {key: manifest[key] for key in choices} == msgspec.json.decode(msgspec.json.encode(choices))
        summary: Any = stats["build"]
        documents = summary["total"]["original"]["documents"]
        steps = {"steps": manifest["steps"]} if "steps" in manifest else {}
        results: Json = {"stats": summary, "dropped": manifest["dropped"], **steps, "finished": True}
    except (OSError, msgspec.MsgspecError, KeyError, TypeError):
        return None  # not files of a build
    if not (whole and same and len(sizes) == len(manifest["inputs"]) and _are(inputs, sizes)):
        return None
    coverage = Coverage(len(sizes), len(sizes), documents, sum(sizes.values()))
    return Report("wet", "", Tally(), coverage, results=results)


def _are(inputs: Sequence[Source], finished: Mapping[str, int]) -> bool:
    """Return whether a finished run had exactly these inputs, by name and size (0: unknown)."""
    return len(inputs) == len(finished) and all(
        each.input.key != STANDARD_INPUT
        and each.input.path in finished
        and each.input.size in {0, finished[each.input.path]}
        for each in inputs
    )
