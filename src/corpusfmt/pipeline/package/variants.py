"""Internal: The variants that a recipe writes: one corpus, or the original next to the deduplicated one, as releases do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from corpusfmt.formats import named_format
from corpusfmt.formats.describing import Describer
from corpusfmt.formats.parts import Writer
from corpusfmt.pipeline.goclassy import GOCLASSY, GOCLASSY_DESCRIBER
from corpusfmt.pipeline.recipe import Output, Recipe, Step

#: The `source` of documents, unless the form has another.
CRAWLED = "common-crawl"
#: The attributes with the classifier's probability of each line.
ATTRIBUTE_SET = "corpusfmt_langid"

# Forms whose documents have the dates of their pages.
_DATED = frozenset({"oscar-1.1", "dolma"})
# Folders of the original and the deduplicated variant: unshuffled 1.0, shuffled 1.0, and 21.09.
_UNSHUFFLED = ("unshuffled/original", "unshuffled/deduplicated")
_SHUFFLED = ("shuff-orig", "shuff-dedup")
_PACKAGED = ("packaged_nondedup", "packaged")


class Variant(Struct, frozen=True):
    """One corpus of a build: whether it is deduplicated, and its folder below the output."""

    name: Literal["final", "original"]
    deduplicated: bool
    root: str = ""


def variants(recipe: Recipe) -> list[Variant]:
    """Return the variants of a recipe; the first is the one that `stats` calls final."""
    if not recipe.deduplication.keep_original:
        return [Variant("final", recipe.deduplication.lines)]
    original, final = _PACKAGED
    if recipe.output.format == "oscar-1.0":
        original, final = _UNSHUFFLED if recipe.output.shuffle_seed is None else _SHUFFLED
    return [Variant("final", deduplicated=True, root=final), Variant("original", deduplicated=False, root=original)]


class Form(Struct, frozen=True):
    """How documents are written and described: a format with its version, their `source`, and whether they have dates."""

    kind: tuple[str, str]
    writer: Writer[Any]
    describer: Describer
    source: str = CRAWLED
    is_dated: bool = False


def form_of(name: str) -> Form:
    """Return a form by name: a format, or `goclassy`."""
    if name == "goclassy":
        return Form((name, ""), GOCLASSY, GOCLASSY_DESCRIBER)
    fmt, version = named_format(name)
    version = version or fmt.versions[-1]
    source = fmt.reader.source_name if fmt.reader else None
    return Form((fmt.name, version), fmt.writers[version], fmt.describers[version], source or CRAWLED, name in _DATED)


def sets_of(output: Output, steps: Sequence[Step]) -> list[str]:
    """Return the attribute sets of a corpus: the language of lines, and the annotations of each step that has some."""
    if output.format != "dolma":
        return []
    return [*([ATTRIBUTE_SET] if output.language_scores else []), *(step.name for step in steps if step.annotations)]


def writer_of(form: Form, output: Output, variant: Variant, steps: Sequence[Step] = ()) -> Writer[Any]:
    """Return the writer of a variant."""
    if sets := sets_of(output, steps):
        assert form.writer.with_sets is not None
        return form.writer.with_sets(sets)
    return (variant.deduplicated and form.writer.deduplicated) or form.writer


#: Its attribute, joined of experiment, tagger and label as in the Dolma toolkit. It has one name in all languages, because
#: loaders make one table of all files: the language is in the metadata of the document.
LANGUAGE_SCORE = f"{ATTRIBUTE_SET}__line__score"
