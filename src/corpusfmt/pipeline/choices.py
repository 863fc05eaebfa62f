"""Internal: The choices of a build, on which its corpus depends besides its inputs: recipe, filters, URL lists, classifier."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt._version import VERSION
from corpusfmt.engine.progress import Progress
from corpusfmt.engine.sharing import Engine, Finish, FollowLinks, Jobs, ShardOf, State
from corpusfmt.engine.workplace import digest
from corpusfmt.formats.languages import LABEL
from corpusfmt.io.limits import DEFAULT_LIMITS, Limited
from corpusfmt.langid import BackendChoice, Classifier
from corpusfmt.model import Json, UsageError
from corpusfmt.options import File, Option, names
from corpusfmt.pipeline.process.filters import AddressFilter, addresses
from corpusfmt.pipeline.process.steps import StepCode
from corpusfmt.pipeline.recipe import Recipe

#: Increase with every change of what the stages write, so that results of an older version are not reused.
CODE_FORMAT = 15


@dataclass(frozen=True)
class Choices:
    """The choices of a build; `model` is the path as given. `key` is that of the hashes of lines, which a run has once it has begun."""

    recipe: Recipe
    addresses: AddressFilter
    classifier: Classifier
    model: str | None
    steps: tuple[StepCode, ...] = ()
    key: bytes = b""

    @cached_property
    def fingerprint(self) -> str:
        """What the results of the stages depend on."""
        return digest(
            CODE_FORMAT,
            self.recipe.of_processing,
            self.addresses.fingerprint,
            self.classifier.model_digest,
            self.classifier.backend,
            self.key,
            *((each.step, each.code) for each in self.steps),
        )

    @property
    def manifest(self) -> Json:
        """The choices as written to the manifest; with the same inputs they make the same corpus."""
        recipe, classifier = self.recipe, self.classifier
        return {
            "tool": {"name": "corpusfmt", "version": VERSION, "format": CODE_FORMAT},
            "recipe": recipe.choices,
            "addresses": {
                kind: {"sha256": each.sha256, "entries": each.entries}
                for kind, each in (("allow", self.addresses.allow), ("deny", self.addresses.deny))
                if each
            },
            "model": {
                "sha256": classifier.model_digest,
                "format": classifier.model_format,
                "backend": classifier.backend,
            },
            "compressor": None if recipe.output.format == "goclassy" else recipe.output.compressor,
            **({"functions": {each.step.name: each.code for each in self.steps}} if self.steps else {}),
        }


_FILE_NAME = re.compile(r"[^./\0][^/\0]*")
_MOST_NAMED = 3
_FILTERS = "Filters"


class Selection(Struct, frozen=True):
    """Filters that override the recipe's (None: keep the recipe's).

    `allow_urls` and `deny_urls` are files of hosts and URL prefixes.
    """

    min_lines: Annotated[
        int | None, Option("Fewest lines that a document keeps in its language.", least=1, panel=_FILTERS)
    ] = None
    languages: Annotated[
        Sequence[str] | None,
        Option("Keep only these languages (labels, comma-separated).", parse=names, panel=_FILTERS),
    ] = None
    exclude_languages: Annotated[
        Sequence[str] | None, Option("Keep all but these languages.", parse=names, panel=_FILTERS)
    ] = None
    allow_urls: Annotated[
        str | None, Option("Keep only pages of these hosts and URL prefixes.", metavar="FILE", panel=_FILTERS)
    ] = None
    deny_urls: Annotated[
        str | None, Option("Exclude pages of these hosts and URL prefixes.", metavar="FILE", panel=_FILTERS)
    ] = None

    def applied(self, recipe: Recipe, known: Sequence[str]) -> Recipe:
        """Return the recipe with these filters.

        Raises `UsageError` for no language or one that the model does not know, and for a filter that the recipe cannot apply:
        its reader may drop URLs, and its format may have no documents or no name for a language of the model.
        """
        asked: dict[str, Any] = {} if self.min_lines is None else {"min_lines": self.min_lines}
        for name, labels in (("languages", self.languages), ("exclude_languages", self.exclude_languages)):
            if labels is not None:
                asked[name] = tuple(sorted(set(labels)))
                if not asked[name]:
                    option = name.replace("_", "-")
                    raise UsageError(f"--{option} names no language: name one, or leave the option out")
        chosen = replace(recipe.filter, **asked)
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


class _Destination(Struct, frozen=True):
    destination: File


class Building(_Destination, frozen=True, kw_only=True):
    """How a corpus is built: the options of `corpusfmt build` and of `build`."""

    recipe: Annotated[str, Option("A bundled recipe or a .toml file.", metavar="NAME|FILE")] = "oscar-1.1"
    keep_original: Annotated[
        bool, Option("Also write the corpus as it was before deduplication.", flag="--keep-original")
    ] = False
    compression: Annotated[
        str | None, Option("isal-0 to isal-3 (default: isal-3) or zlib-1 to zlib-9.", metavar="NAME")
    ] = None
    base: Annotated[
        str | None, Option("Base of the paths in a list (default: the list's folder).", metavar="URL|DIR")
    ] = None
    langid: Annotated[BackendChoice, Option("Classifier: auto, native or fasttext.", metavar="NAME")] = "auto"
    model: Annotated[str | None, Option("A fastText model (default: lid.176.ftz).", metavar="FILE")] = None
    selection: Selection = Selection()
    limits: Limited = DEFAULT_LIMITS
    jobs: Jobs = 1
    engine: Engine = None
    log: Annotated[File | None, Option("Append events as JSON Lines.", metavar="FILE")] = None
    state: State = None
    shard: ShardOf = None
    finish: Finish = False
    follow_links: FollowLinks = False
    progress: Callable[[str, Progress], None] | None = None
