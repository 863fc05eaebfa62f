"""A conversion that has ended: the same command again has nothing to do."""

from __future__ import annotations

from pathlib import Path

import msgspec

from corpusfmt.conversion.stages import Converted
from corpusfmt.engine.workplace import Workplace
from corpusfmt.io.compress import all_there
from corpusfmt.io.publish import publish_bytes

#: In a converted corpus: what it was made of, and what became of it. Readers of a corpus pass over it.
RECORD = ".corpusfmt.json"


class _Finished(msgspec.Struct):
    run: str
    converted: Converted


def note_finished(workplace: Workplace, run: str, converted: Converted) -> None:
    """Write down that a run has ended; `run` is a digest of all that its result depends on."""
    record = msgspec.json.encode(_Finished(run, converted))
    publish_bytes(workplace.destination / RECORD, record, aside=workplace.state)


def finished(destination: Path, run: str) -> Converted | None:
    """Return what became of the same run where it has ended here and all of its files are still there."""
    if Workplace.is_unfinished(destination):
        return None
    try:
        record = msgspec.json.decode((destination / RECORD).read_bytes(), type=_Finished)
    except (OSError, msgspec.MsgspecError):
        return None
    same = record.run == run and (destination / "croissant.json").is_file()
    return record.converted if same and all_there(destination, record.converted.files) else None
