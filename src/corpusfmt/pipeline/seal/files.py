"""Internal: The files that seal a corpus: written last and removed first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from corpusfmt.description import described
from corpusfmt.description.card import NAME as CARD
from corpusfmt.description.card import Release, card_of, existing_card
from corpusfmt.engine.workplace import Workplace
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.publish import publish_pieces
from corpusfmt.io.text import pretty
from corpusfmt.manifest.listed import publish_manifest
from corpusfmt.manifest.model import NAME
from corpusfmt.model import Json
from corpusfmt.pipeline.package.variants import form_of, variants
from corpusfmt.pipeline.recipe import Recipe
from corpusfmt.statistics.render import indented, markdown
from corpusfmt.statistics.result import Statistics

# Written last, in this order.
_SEALS = ("stats.json", "stats.md", "croissant.json", NAME)


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
        "stats.json": _text([indented(record)]),
        "stats.md": _text(markdown(statistics, most_rows=None)),
        "croissant.json": pretty(description),
        CARD: [card_of(release, card)],
    }
    sealed = {name: publish_pieces(root / name, pieces, aside=place.state) for name, pieces in written.items()}
    publish_manifest(
        root, target, dict(sorted((files | sealed).items())), {**manifest, "inputs": inputs()}, aside=place.state
    )


def _text(lines: Iterable[str]) -> Iterator[bytes]:
    return (f"{line}\n".encode() for line in lines)
