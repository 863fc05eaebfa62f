"""Internal: The statistics of a built corpus, as `corpusfmt stats` counts it, and of what deduplication has removed."""

from __future__ import annotations

from collections.abc import Mapping

from corpusfmt.io.compress import FileFacts
from corpusfmt.pipeline.package.variants import form_of, variants
from corpusfmt.pipeline.package.write import Packaged
from corpusfmt.pipeline.process.store import Size as KeptSize
from corpusfmt.pipeline.recipe import Recipe
from corpusfmt.statistics.result import Statistics
from corpusfmt.statistics.sizes import LENGTHS, UNITS_ASKED_FOR, Built, Counted, Extent, Extents, Size, count_name
from corpusfmt.statistics.sketch import Sketch


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
