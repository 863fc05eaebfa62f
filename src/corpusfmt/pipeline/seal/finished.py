"""Internal: A build that has ended: the same command again has nothing to do, and another one must not touch the
corpus.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from corpusfmt.engine.workplace import Workplace
from corpusfmt.io.compress import FileFacts, all_there
from corpusfmt.model import Coverage, Json, Report, Tally
from corpusfmt.pipeline.intake.supply import Supply

MANIFEST, STATS = "MANIFEST.json", "stats.json"


def is_finished(destination: Path) -> bool:
    """Tell whether a folder holds a corpus that a build has sealed."""
    return (destination / MANIFEST).is_file() and not Workplace.is_unfinished(destination)


def report_of_finished(destination: Path, choices: Mapping[str, Any], supply: Supply) -> Report | None:
    """Return the report of the build that made a corpus of the same inputs by the same choices; None for any other folder.

    Inputs are known by name and size. Of a corpus from which files are missing, or that was made without some of its
    inputs, nothing is said.
    """
    if not is_finished(destination):
        return None
    try:
        manifest: Any = msgspec.json.decode((destination / MANIFEST).read_bytes())
        stats: Any = msgspec.json.decode((destination / STATS).read_bytes())
        sizes = {each["name"]: each["size"] for each in manifest["inputs"] if "sha256" in each}
        whole = all_there(destination, msgspec.convert(manifest["files"], dict[str, FileFacts]))
        same = {key: manifest[key] for key in choices} == msgspec.json.decode(msgspec.json.encode(choices))
        documents = stats["total"]["original"]["documents"]
        results: Json = {"stats": stats, "dropped": manifest["dropped"], "finished": True}
    except (OSError, msgspec.MsgspecError, KeyError, TypeError):
        return None  # somebody else's files
    if not (whole and same and len(sizes) == len(manifest["inputs"]) and supply.gave(sizes)):
        return None
    inputs = len(sizes)
    coverage = Coverage(inputs, inputs, documents, sum(sizes.values()))
    return Report("wet", "", Tally(), coverage, results=results)
