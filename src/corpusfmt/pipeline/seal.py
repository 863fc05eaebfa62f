"""Internal: The files that seal a corpus, written last and removed first; its statistics and manifest; a finished build."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from corpusfmt.description import described
from corpusfmt.description.card import NAME as CARD
from corpusfmt.description.card import Release, card_of, existing_card
from corpusfmt.engine.workplace import Workplace
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.outputs import Place
from corpusfmt.io.publish import all_there, publish_pieces
from corpusfmt.io.text import pretty_pieces
from corpusfmt.manifest.listed import publish_manifest
from corpusfmt.manifest.model import NAME as MANIFEST
from corpusfmt.manifest.model import ListedFile
from corpusfmt.model import Coverage, Json, Report, Tally
from corpusfmt.pipeline.intake.inputs import STANDARD_INPUT, Source
from corpusfmt.pipeline.intake.report import Usable
from corpusfmt.pipeline.intake.take import Taken
from corpusfmt.pipeline.package.variants import form_of, variants
from corpusfmt.pipeline.package.write import Packaged
from corpusfmt.pipeline.process.store import Processed
from corpusfmt.pipeline.process.store import Size as KeptSize
from corpusfmt.pipeline.recipe import Recipe
from corpusfmt.statistics.render import indented, markdown
from corpusfmt.statistics.result import Statistics
from corpusfmt.statistics.sizes import (
    LENGTHS,
    UNITS_ASKED_FOR,
    Built,
    Counted,
    Extent,
    Extents,
    Size,
    Sketch,
    count_name,
)

STATS = "stats.json"
# Written last, in this order.
_SEALS = (STATS, "stats.md", "croissant.json", MANIFEST)


def unseal(place: Workplace) -> None:
    """Remove the seal of an earlier run."""
    place.withdraw(sorted(set(_SEALS).intersection(place.published())))


def seal(
    place: Workplace,
    recipe: Recipe,
    outputs: Mapping[str, FileFacts],
    statistics: Statistics,
    manifest: Json,
    inputs: Callable[[], Iterator[Json]],
) -> None:
    """Remove files that are not part of the corpus, and write statistics, description, card and manifest."""
    root, target = place.destination, recipe.output.format
    card = existing_card(root / CARD)
    files = dict(sorted(outputs.items()))
    place.withdraw_others(files)
    place.refuse_replaced(files)
    place.see(files)
    below, form = variants(recipe)[0].root, form_of(target)
    record = statistics.to_dict()
    description = described(
        target,
        form.describer,
        files,
        below,
        root=root,
        name=recipe.name,
        made={**manifest, "inputs": inputs()},
        statistics=record,
    )
    # Attribute sets change the paths of a writer, not how they are loaded.
    release = Release(recipe.name, recipe.summary, "original", files, form.writer.loaded, below)
    written = {
        STATS: _text([indented(record)]),
        "stats.md": _text(markdown(statistics, most_rows=None)),
        "croissant.json": pretty_pieces(description),
        CARD: [card_of(release, card)],
    }
    sealed = {name: publish_pieces(root / name, pieces, aside=place.state) for name, pieces in written.items()}
    publish_manifest(
        root, target, dict(sorted((files | sealed).items())), {**manifest, "inputs": inputs()}, aside=place.state
    )


def _text(lines: Iterable[str]) -> Iterator[bytes]:
    return (f"{line}\n".encode() for line in lines)


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


def made(usable: Usable, built: Built) -> Json:
    """Return the counts of a corpus for its manifest, without its inputs."""
    total = built.total
    dropped = {**usable.dropped, "repeated in its language": total.original.lines - total.final.lines}
    return {
        "inputs": [],
        "dropped": {reason: count for reason, count in sorted(dropped.items()) if count},
        **({"cleaned": dict(sorted(usable.cleaned.items()))} if usable.cleaned else {}),
        **({"steps": {name: dict(counts) for name, counts in usable.steps.items()}} if usable.steps else {}),
    }


def fates(taken: Iterable[Taken]) -> Iterator[Json]:
    """Yield what became of each input."""
    for each in taken:
        yield {"name": each.input.path, "size": each.input.size} | _fate(each.processed)


def _fate(processed: Processed) -> Json:
    if processed.quarantined is not None:
        return {"quarantined": processed.quarantined}
    cut = {} if processed.cut is None else {"cut": processed.cut}
    padding = {} if processed.padding is None else {"padding": processed.padding.reason}
    return {"sha256": processed.sha256, "records": processed.records} | cut | padding


def built(
    recipe: Recipe, original: Mapping[str, KeptSize], packaged: Mapping[str, Packaged], cleaned: Mapping[str, int]
) -> Built:
    """Return the sizes of each language of the corpus, given those before deduplication."""
    final, *_ = variants(recipe)
    languages = {
        label: Extents(_before(original.get(label) or KeptSize()), _after(each.counts[final.root].size))
        for label, each in packaged.items()
    }
    return Built(languages, dict(sorted(cleaned.items())))


def statistics(
    recipe: Recipe, packaged: Mapping[str, Packaged], outputs: Mapping[str, FileFacts], sizes: Built
) -> Statistics:
    """Return the statistics of all variants of the corpus."""
    form = form_of(recipe.output.format)
    counted = Counted(Size({unit: Sketch() for unit in LENGTHS if unit not in UNITS_ASKED_FOR}))
    for label, each in packaged.items():
        for root, counts in each.counts.items():
            size = counts.size
            if size.documents:
                counted.total.merge(size)
                coarse = size.coarse()
                for grouping, name in (("language", label), ("source", form.source), ("variant", root)):
                    counted.group(grouping, name).merge(coarse)
            for month, number in counts.created.items():
                count_name(counted.created, month, number)
    counted.shards = sum(facts.documents is not None for facts in outputs.values()) or len(outputs)
    found = Statistics.of(counted, ".", form.kind, counted.shards, attributes=False)
    found.build = sizes
    return found


def _before(size: KeptSize) -> Extent:
    # The text of a document does not include the end of its last line.
    return Extent(size.documents, size.lines, size.text_bytes - size.documents)


def _after(size: Size) -> Extent:
    return Extent(size.documents, size.lines, size.bytes)
