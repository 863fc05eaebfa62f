"""What a recipe writes: one corpus, or the original and the deduplicated one side by side as releases have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from corpusfmt.formats.dolma.write import DOLMA
from corpusfmt.formats.oscar.write import OSCAR_1_0, OSCAR_1_0_DEDUPLICATED, OSCAR_1_1
from corpusfmt.formats.parts import Writer
from corpusfmt.pipeline.goclassy import GOCLASSY
from corpusfmt.pipeline.recipe import Output, Recipe

#: The attributes that say how sure the classifier is of each line.
ATTRIBUTE_SET = "corpusfmt_langid"

# The folders of the original and of the deduplicated variant: in the unshuffled and the shuffled files of 1.0, and in 21.09.
_UNSHUFFLED = ("unshuffled/original", "unshuffled/deduplicated")
_SHUFFLED = ("shuff-orig", "shuff-dedup")
_PACKAGED = ("packaged_nondedup", "packaged")


# The formats themselves would bring what checks and reads them.
_WRITERS: Mapping[str, Writer[Any]] = {
    "dolma": DOLMA,
    "goclassy": GOCLASSY,
    "oscar-1.0": OSCAR_1_0,
    "oscar-1.1": OSCAR_1_1,
}


class Variant(Struct, frozen=True):
    """One corpus of a build: whether repeated lines are gone from it, and its folder below the output."""

    name: Literal["final", "original"]
    deduplicated: bool
    root: str = ""


def variants(recipe: Recipe) -> list[Variant]:
    """Return what a recipe writes, what `stats` calls final first."""
    if not recipe.deduplication.keep_original:
        return [Variant("final", recipe.deduplication.lines)]
    original, final = _PACKAGED
    if recipe.output.format == "oscar-1.0":
        original, final = _UNSHUFFLED if recipe.output.shuffle_seed is None else _SHUFFLED
    return [Variant("final", deduplicated=True, root=final), Variant("original", deduplicated=False, root=original)]


def writer_of(output: Output, variant: Variant) -> Writer[Any]:
    """Return what writes a variant in the form that a recipe asks for."""
    if output.language_scores:
        assert DOLMA.with_sets is not None
        return DOLMA.with_sets([ATTRIBUTE_SET])
    if output.format == "oscar-1.0" and variant.deduplicated:
        return OSCAR_1_0_DEDUPLICATED
    return _WRITERS[output.format]


def language_attribute(label: str) -> str:
    """Return the name of the attribute of lines of a language: experiment, tagger and label, as the toolkit joins them."""
    return f"{ATTRIBUTE_SET}__line__{label}"
