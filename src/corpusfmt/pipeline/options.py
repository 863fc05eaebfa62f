"""Internal: What a run can be asked for besides its recipe: filters, and how inputs come and go."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.engine.executors import available_processors
from corpusfmt.formats import refuse_barred
from corpusfmt.formats.languages import LABEL
from corpusfmt.io.paths import entry_of
from corpusfmt.model import UsageError
from corpusfmt.pipeline.intake.fetch import Fetched
from corpusfmt.pipeline.intake.inputs import LIST_SUFFIXES, inputs_named, paths_listed
from corpusfmt.pipeline.intake.supply import Listed, Supply, Watched
from corpusfmt.pipeline.process.filters import AddressFilter, addresses
from corpusfmt.pipeline.recipe import Recipe

_FILE_NAME = re.compile(r"[^./\0][^/\0]*")
_MOST_NAMED = 3


class Selection(Struct, frozen=True):
    """Filters by option, each above what the recipe says (None: what the recipe says).

    `allow_urls` and `deny_urls` are files of hosts and URL prefixes.
    """

    min_lines: int | None = None
    languages: Sequence[str] | None = None
    exclude_languages: Sequence[str] | None = None
    allow_urls: str | None = None
    deny_urls: str | None = None

    def applied(self, recipe: Recipe, known: Sequence[str]) -> Recipe:
        """Return the recipe with these filters.

        Raises `UsageError` for a language that the model does not know, and for what the recipe leaves no room for: its
        reader may drop addresses, its format may have no documents, or no way to name a language of the model.
        """
        asked = {
            "min_lines": self.min_lines,
            "languages": None if self.languages is None else tuple(sorted(set(self.languages))),
            "exclude_languages": None if self.exclude_languages is None else tuple(sorted(set(self.exclude_languages))),
        }
        chosen = replace(recipe.filter, **{key: each for key, each in asked.items() if each is not None})
        unknown = sorted({*chosen.languages, *chosen.exclude_languages}.difference(known))
        if unknown:
            raise UsageError(f"the model knows no language {', '.join(unknown)}; it knows: {', '.join(sorted(known))}")
        kept = set(chosen.languages or known).difference(chosen.exclude_languages)
        fit = LABEL if recipe.output.format in {"oscar-1.0", "oscar-1.1"} else _FILE_NAME
        if unfit := sorted(label for label in kept if not fit.fullmatch(label)):
            raise UsageError(
                f"the format {recipe.output.format} cannot hold languages called {', '.join(unfit[:_MOST_NAMED])}"
                f"{f' and {len(unfit) - _MOST_NAMED} more' if len(unfit) > _MOST_NAMED else ''}: "
                "choose a recipe for another format, like dolma, or leave them out with --exclude-languages"
            )
        if chosen.min_lines < 1:
            raise UsageError(f"a document has at least 1 line; --min-lines is {chosen.min_lines}")
        if recipe.output.format == "goclassy" and chosen.min_lines > 1:
            raise UsageError("--min-lines is for documents, and the format goclassy has none")
        if recipe.records.reader == "goclassy" and (self.allow_urls is not None or self.deny_urls is not None):
            raise UsageError("--allow-urls and --deny-urls need addresses, and the reader goclassy drops them")
        return replace(recipe, filter=chosen)

    @property
    def by_address(self) -> AddressFilter:
        """Read the lists of addresses. Raises `UsageError` where they are none."""
        return AddressFilter(addresses(self.allow_urls), addresses(self.deny_urls))


class Sourcing(Struct, frozen=True):
    """How inputs come, and what they may take on disk.

    `base` is where the relative lines of a list lie. `watch` is a folder that fills, until it holds `_DONE` or
    `watch_until` inputs were taken (0: no bound). `fetch_command` downloads the lines of a list, `fetch_ahead` (0: two a
    worker) of them on disk at most. `delete_input` removes each local input once it is stored. `scratch_limit` bounds the
    bytes that the run keeps beside its output (0: no bound). `follow_links` lets links lead out of what is named.
    """

    base: str | None = None
    watch: Path | None = None
    watch_until: int = 0
    fetch_command: str | None = None
    fetch_ahead: int = 0
    delete_input: bool = False
    scratch_limit: int = 0
    follow_links: bool = False

    def supply(self, given: Sequence[str], jobs: int | None, *, resuming: bool) -> Supply:
        """Return what gives the inputs; a run that is resumed may have deleted some. Raises `UsageError` where options contradict each other or name nothing."""
        if self.watch_until and self.watch is None:
            raise UsageError("--watch-until needs --watch DIR")
        if self.fetch_ahead and self.fetch_command is None:
            raise UsageError("--fetch-ahead needs --fetch-command")
        if self.watch is not None:
            if given or self.fetch_command is not None or self.base is not None:
                raise UsageError("--watch takes its inputs from the folder: name no others")
            if not self.watch.is_dir():
                raise UsageError(f"--watch: no such folder: {self.watch}")
            return Watched(self.watch.resolve(), self.watch_until, self.delete_input, self.follow_links)
        if not given:
            raise UsageError("name WET files, folders of them or a list, or --watch DIR")
        if self.fetch_command is not None:
            if self.base is not None or not all(each.endswith(LIST_SUFFIXES) for each in given):
                raise UsageError("--fetch-command takes lists of paths (*.paths, *.paths.gz) and no --base")
            lists = [entry_of(each, follow_links=self.follow_links) for each in given]
            for each in lists:
                refuse_barred(each)
            lines = dict.fromkeys(line for each in lists for line in paths_listed(each))
            return Fetched(list(lines), self.fetch_command, self.fetch_ahead or 2 * (jobs or available_processors()))
        some_gone = resuming and self.delete_input
        inputs = inputs_named(given, self.base, some_gone=some_gone, follow_links=self.follow_links)
        return Listed(inputs, self.delete_input)


#: What is asked for where nothing is.
NO_SELECTION, PLAIN_SOURCING = Selection(), Sourcing()
