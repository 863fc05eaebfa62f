"""Internal: Filters of a run that override those of its recipe."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats.languages import LABEL
from corpusfmt.model import UsageError
from corpusfmt.pipeline.process.filters import AddressFilter, addresses
from corpusfmt.pipeline.recipe import Recipe

_FILE_NAME = re.compile(r"[^./\0][^/\0]*")
_MOST_NAMED = 3


class Selection(Struct, frozen=True):
    """Filters that override the recipe's (None: keep the recipe's).

    `allow_urls` and `deny_urls` are files of hosts and URL prefixes.
    """

    min_lines: int | None = None
    languages: Sequence[str] | None = None
    exclude_languages: Sequence[str] | None = None
    allow_urls: str | None = None
    deny_urls: str | None = None

    def applied(self, recipe: Recipe, known: Sequence[str]) -> Recipe:
        """Return the recipe with these filters.

        Raises `UsageError` for a language that the model does not know, and for a filter that the recipe cannot apply:
        its reader may drop URLs, and its format may have no documents or no name for a language of the model.
        """
        asked = {
            "min_lines": self.min_lines,
            "languages": None if self.languages is None else tuple(sorted(set(self.languages))),
            "exclude_languages": None if self.exclude_languages is None else tuple(sorted(set(self.exclude_languages))),
        }
        chosen = replace(recipe.filter, **{key: each for key, each in asked.items() if each is not None})
        unknown = sorted({*chosen.languages, *chosen.exclude_languages}.difference(known))
        if unknown:
            raise UsageError(f"language unknown to the model: {', '.join(unknown)}; known: {', '.join(sorted(known))}")
        kept = set(chosen.languages or known).difference(chosen.exclude_languages)
        fit = LABEL if recipe.output.format in {"oscar-1.0", "oscar-1.1"} else _FILE_NAME
        if unfit := sorted(label for label in kept if not fit.fullmatch(label)):
            raise UsageError(
                f"the format {recipe.output.format} has no name for the languages {', '.join(unfit[:_MOST_NAMED])}"
                f"{f' and {len(unfit) - _MOST_NAMED} more' if len(unfit) > _MOST_NAMED else ''}: "
                "choose a recipe for another format, like dolma, or exclude them with --exclude-languages"
            )
        if chosen.min_lines < 1:
            raise UsageError(f"--min-lines is {chosen.min_lines}, expected at least 1")
        if recipe.output.format == "goclassy" and chosen.min_lines > 1:
            raise UsageError("--min-lines counts lines of documents, and the format goclassy has no documents")
        if recipe.records.reader == "goclassy" and (self.allow_urls is not None or self.deny_urls is not None):
            raise UsageError("--allow-urls and --deny-urls need URLs, and the reader goclassy drops them")
        return replace(recipe, filter=chosen)

    @property
    def by_address(self) -> AddressFilter:
        """Read the URL lists. Raises `UsageError`."""
        return AddressFilter(addresses(self.allow_urls), addresses(self.deny_urls))


#: The default: the filters of the recipe.
NO_SELECTION = Selection()
