"""Internal: Rebuild the inputs that a seed chooses, and compare what they contributed to a release."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from corpusfmt.engine.executors import default_jobs
from corpusfmt.engine.progress import Progress
from corpusfmt.io.limits import Meter
from corpusfmt.io.paths import Entry
from corpusfmt.manifest.model import NAME, Manifest
from corpusfmt.model import Json, Location, Problem
from corpusfmt.release.reproduce.languages import Comparing, needs_neighbours
from corpusfmt.release.reproduce.rebuild import Neighbours, rebuilt
from corpusfmt.release.reproduce.request import Request, Sources, chosen, made_of
from corpusfmt.release.reproduce.rules import INPUT_DIFFERS, RULES
from corpusfmt.rules import Grading, Judge


def reproduce(
    root: Entry,
    manifest: Manifest,
    request: Request,
    *,
    jobs: int | None,
    meter: Meter,
    progress: Callable[[Progress], None] | None,
) -> tuple[Judge, Json]:
    """Rebuild the inputs that a request chooses, and compare what they contributed to a release.

    Returns a judge with the findings, and which inputs were rebuilt. Raises `UsageError` if the release cannot be rebuilt
    here.
    """
    judge = Judge(RULES, Grading(), version="", path=NAME)
    made = made_of(manifest, request)
    numbers = chosen(made, request)
    sources = Sources(request.inputs)
    found = {each: entry for each in numbers if (entry := sources.find(made.inputs[each], judge))}
    for each in [*found] if needs_neighbours(made.recipe) else ():
        before = sources.find(made.inputs[each - 1], None) if each and each - 1 not in found else None
        if before is not None:
            found[each - 1] = before
    workers = jobs or default_jobs(sum(each.size for each in found.values()), len(found))
    with tempfile.TemporaryDirectory(prefix="corpusfmt-rebuild-") as scratch:
        folder = Path(scratch)
        ready = []
        for one in rebuilt(made, dict(sorted(found.items())), folder, workers, meter, progress):
            if one.processed.quarantined is None:
                ready.append(one)
            elif one.number in numbers:
                at = Location(one.origin.name)
                judge.report(INPUT_DIFFERS, Problem(one.processed.quarantined, at, "fetch the input again"))
        compared = frozenset({each.number for each in ready}.intersection(numbers))
        neighbours = Neighbours(made, sources, folder)
        Comparing(replace(root, path=""), manifest, made, judge, folder, compared, neighbours).run(ready)
    names = [made.inputs[each].name for each in sorted(compared)]
    return judge, {"seed": request.seed, "of": len(made.inputs), "inputs": names}
