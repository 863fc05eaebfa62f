"""Internal: The inputs in a manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from corpusfmt.model import Json
from corpusfmt.pipeline.intake.take import Taken
from corpusfmt.pipeline.process.store import Processed
from corpusfmt.pipeline.size import Sizes


def made(taken: Iterable[Taken], sizes: Mapping[str, Sizes]) -> Json:
    """Return the inputs and counts of a corpus for its manifest."""
    dropped, changed = Counter[str](), Counter[str]()
    steps: dict[str, Counter[str]] = {}
    inputs = []
    for each in taken:
        # As text, because dictionaries of all inputs would take four times the memory.
        fate = {"name": each.input.path, "size": each.input.size} | _fate(each.processed)
        inputs.append(msgspec.Raw(msgspec.json.encode(fate)))
        for name, counts in each.processed.steps.items():
            steps.setdefault(name, Counter()).update(msgspec.structs.asdict(counts))
        dropped.update(each.processed.dropped)
        changed.update(each.processed.cleaned)
    dropped["repeated in its language"] = sum(each.original.lines - each.final.lines for each in sizes.values())
    return {
        "inputs": inputs,
        "dropped": {reason: count for reason, count in sorted(dropped.items()) if count},
        **({"cleaned": dict(sorted(changed.items()))} if changed else {}),
        **({"steps": {name: dict(counts) for name, counts in steps.items()}} if steps else {}),
    }


def _fate(processed: Processed) -> Json:
    if processed.quarantined is not None:
        return {"quarantined": processed.quarantined}
    cut = {} if processed.cut is None else {"cut": processed.cut}
    padding = {} if processed.padding is None else {"padding": processed.padding.reason}
    return {"sha256": processed.sha256, "records": processed.records} | cut | padding
