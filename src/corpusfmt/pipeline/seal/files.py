"""Internal: The files that seal a corpus: written last, and withdrawn first."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from corpusfmt.description import described
from corpusfmt.engine.workplace import Workplace
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.publish import publish_bytes
from corpusfmt.model import Json
from corpusfmt.pipeline.package.variants import form_of, variants
from corpusfmt.pipeline.recipe import Recipe
from corpusfmt.pipeline.seal.summary import stats, stats_table
from corpusfmt.pipeline.size import Sizes

# What is written last, in this order.
_SEALS = ("stats.json", "stats.md", "croissant.json", "MANIFEST.json")


def unseal(place: Workplace) -> None:
    """Withdraw what an earlier run has sealed: it is no seal of what comes now."""
    place.withdraw(place.published().intersection(_SEALS))


def seal(
    place: Workplace, recipe: Recipe, outputs: Mapping[str, FileFacts], sizes: Mapping[str, Sizes], manifest: Json
) -> Json:
    """Withdraw what is no part of the corpus, and write statistics, description and manifest; return the statistics."""
    place.withdraw(place.published() - outputs.keys())
    summary = stats(sizes, manifest.get("cleaned", {}))
    root, target = place.destination, recipe.output.format
    below = variants(recipe)[0].root
    description = described(target, form_of(target).describer, outputs, below, root=root, name=recipe.name)
    sealed = {
        "stats.json": _pretty(summary),
        "stats.md": stats_table(sizes, deduplicated=recipe.deduplication.lines).encode(),
        "croissant.json": _pretty(description),
        "MANIFEST.json": _pretty(manifest),
    }
    for name in _SEALS:
        publish_bytes(root / name, sealed[name], aside=place.state)
    return summary


def _pretty(value: Json) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
