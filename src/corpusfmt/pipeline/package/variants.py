"""Internal: What a recipe writes: one corpus, or the original and the deduplicated one side by side as releases
have them.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from corpusfmt.formats import named_format
from corpusfmt.formats.describing import Describer
from corpusfmt.formats.parts import Writer
from corpusfmt.pipeline.package.goclassy import GOCLASSY, GOCLASSY_DESCRIBER
from corpusfmt.pipeline.recipe import Output, Recipe

#: The `source` of documents, where the format that they are written in does not say another.
CRAWLED = "common-crawl"
#: The attributes that say how sure the classifier is of each line.
ATTRIBUTE_SET = "corpusfmt_langid"

# The folders of the original and of the deduplicated variant: in the unshuffled and the shuffled files of 1.0, and in 21.09.
_UNSHUFFLED = ("unshuffled/original", "unshuffled/deduplicated")
_SHUFFLED = ("shuff-orig", "shuff-dedup")
_PACKAGED = ("packaged_nondedup", "packaged")


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


class Form(Struct, frozen=True):
    """How documents are written and described, and the `source` that they have there."""

    writer: Writer[Any]
    describer: Describer
    source: str = CRAWLED


def form_of(name: str) -> Form:
    """Return the form that a recipe asks for: a format by its name, or what goclassy writes."""
    if name == "goclassy":
        return Form(GOCLASSY, GOCLASSY_DESCRIBER)
    fmt, version = named_format(name)
    version = version or fmt.versions[-1]
    source = fmt.reader.source_name if fmt.reader else None
    return Form(fmt.writers[version], fmt.describers[version], source or CRAWLED)


def writer_of(form: Form, output: Output, variant: Variant) -> Writer[Any]:
    """Return what writes a variant in the form that a recipe asks for."""
    if output.language_scores:
        assert form.writer.with_sets is not None
        return form.writer.with_sets([ATTRIBUTE_SET])
    return (variant.deduplicated and form.writer.deduplicated) or form.writer


def language_attribute(label: str) -> str:
    """Return the name of the attribute of lines of a language: experiment, tagger and label, as the toolkit joins them."""
    return f"{ATTRIBUTE_SET}__line__{label}"
