"""Internal: Options of a run besides its recipe: filters, and the sources of inputs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.engine.executors import available_processors
from corpusfmt.engine.shares import Share
from corpusfmt.formats import refuse_barred
from corpusfmt.formats.languages import LABEL
from corpusfmt.io.paths import entry_of
from corpusfmt.model import UsageError
from corpusfmt.pipeline.intake.inputs import LIST_SUFFIXES, STANDARD_INPUT, inputs_named, paths_listed
from corpusfmt.pipeline.intake.supply import Listed, Supply, Watched
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


class Sourcing(Struct, frozen=True):
    """Sources of inputs, and limits on their disk space.

    `base` is the base of relative lines in a list. `watch` is a folder to take files from until it contains `_DONE` or
    `watch_until` inputs were taken (0: no limit). `fetch_command` downloads the lines of a list, with at most
    `fetch_ahead` downloads on disk (0: two per worker). `delete_input` removes each local input once it is stored.
    `scratch_limit` is the most bytes of scratch data (0: no limit). `follow_links` allows links that lead out of the
    inputs.
    """

    base: str | None = None
    watch: Path | None = None
    watch_until: int = 0
    fetch_command: str | None = None
    fetch_ahead: int = 0
    delete_input: bool = False
    scratch_limit: int = 0
    follow_links: bool = False

    def refuse_alone(self, given: Sequence[str], sharing: str) -> None:
        """Raise `UsageError` for sources and limits of one process, which others cannot share; `sharing` says why they must."""
        asked = {
            "--watch": self.watch,
            "--fetch-command": self.fetch_command,
            "--delete-input": self.delete_input,
            "--scratch-limit": self.scratch_limit,
            "standard input": STANDARD_INPUT in given,
        }
        if alone := [name for name, value in asked.items() if value]:
            raise UsageError(f"{sharing} cannot share {alone[0]}: remove it, and name inputs that all machines see")

    def supply(self, given: Sequence[str], jobs: int | None, share: Share | None = None, *, resuming: bool) -> Supply:
        """Return the supply of inputs, or of a share; a resumed run may have deleted some. Raises `UsageError`."""
        if self.watch_until and self.watch is None:
            raise UsageError("--watch-until needs --watch DIR")
        if self.fetch_ahead and self.fetch_command is None:
            raise UsageError("--fetch-ahead needs --fetch-command")
        if self.watch is not None:
            if given or self.fetch_command is not None or self.base is not None:
                raise UsageError("--watch takes its inputs from the folder: remove the other inputs")
            if not self.watch.is_dir():
                raise UsageError(f"--watch: folder {self.watch} does not exist")
            return Watched(self.watch.resolve(), self.watch_until, self.delete_input, self.follow_links)
        if not given:
            raise UsageError("no inputs: name WET files, folders of WET files or lists of paths, or add --watch DIR")
        if self.fetch_command is not None:
            from corpusfmt.pipeline.intake.fetch import Fetched  # noqa: PLC0415 - slow to import, and few builds download

            if self.base is not None or not all(each.endswith(LIST_SUFFIXES) for each in given):
                raise UsageError("--fetch-command works with lists of paths (*.paths, *.paths.gz) and without --base")
            lists = [entry_of(each, follow_links=self.follow_links) for each in given]
            for each in lists:
                refuse_barred(each)
            lines = dict.fromkeys(line for each in lists for line in paths_listed(each))
            return Fetched(list(lines), self.fetch_command, self.fetch_ahead or 2 * (jobs or available_processors()))
        some_gone = resuming and self.delete_input
        inputs = inputs_named(given, self.base, some_gone=some_gone, follow_links=self.follow_links)
        return Listed(inputs, self.delete_input, share)


#: The defaults.
NO_SELECTION, PLAIN_SOURCING = Selection(), Sourcing()
