"""Internal: What is rebuilt: the build that a manifest describes, and the inputs that a seed chooses."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Struct, field

from corpusfmt._version import VERSION
from corpusfmt.formats.general import barred
from corpusfmt.io.digests import facts_of
from corpusfmt.io.paths import COPY_HERE, Entry, entry_of, is_hidden, refuse_remote, walk
from corpusfmt.langid import BackendChoice, Classifier
from corpusfmt.langid._values import LangidError
from corpusfmt.manifest.model import NAME, Manifest
from corpusfmt.model import Location, Problem, UsageError
from corpusfmt.pipeline.choices import CODE_FORMAT
from corpusfmt.pipeline.process.filters import Addresses, AddressFilter, addresses
from corpusfmt.pipeline.recipe import Recipe, recipe_of
from corpusfmt.release.reproduce.rules import INPUT_DIFFERS, INPUT_MISSING
from corpusfmt.rules import Judge
from corpusfmt.wording import clipped


class Request(Struct, frozen=True):
    """How many inputs to rebuild, chosen by `seed`, and the files and folders to look for them.

    `model`, `allow_urls` and `deny_urls` are the files that the build used, as for `build`.
    """

    count: int
    inputs: Sequence[str]
    seed: int = 0
    model: str | None = None
    allow_urls: str | None = None
    deny_urls: str | None = None


class Origin(Struct, frozen=True):
    """An input of a release; without `sha256` nothing of it was used."""

    name: str
    size: int = 0
    sha256: str = ""

    @property
    def base(self) -> str:
        return self.name.rpartition("/")[2]


class _Tool(Struct, frozen=True):
    name: str
    version: str
    format: int


class _Model(Struct, frozen=True):
    sha256: str
    backend: BackendChoice


class _List(Struct, frozen=True):
    sha256: str


class _Made(Struct, frozen=True):
    tool: _Tool
    recipe: dict[str, object]
    model: _Model
    inputs: list[Origin]
    addresses: dict[str, _List] = field(default_factory=dict)


class Made(Struct, frozen=True):
    """The build of a release: its recipe, its model, and its inputs in the order in which they are in the release."""

    recipe: Recipe
    addresses: AddressFilter
    classifier: Callable[[], Classifier]
    inputs: Sequence[Origin]


def made_of(manifest: Manifest, request: Request) -> Made:
    """Return the build that a manifest describes. Raises `UsageError` if this installation cannot repeat it."""
    try:
        made = msgspec.convert(manifest.whole, _Made)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"{NAME} does not describe a build ({str(error).partition(' - at')[0]}): only what `corpusfmt build` wrote "
            "can be rebuilt; of a conversion, verify its source"
        ) from error
    if (made.tool.name, made.tool.format) != ("corpusfmt", CODE_FORMAT):
        raise UsageError(
            f"the release was built with {clipped(made.tool.name)} {clipped(made.tool.version)} (format {made.tool.format}), "
            f"and this is corpusfmt {VERSION} (format {CODE_FORMAT}), which may write other bytes: run this command with "
            f"that version, like `pip install corpusfmt=={clipped(made.tool.version)}`"
        )
    used = [each for each in made.inputs if each.sha256]
    if not used:
        raise UsageError(f"{NAME} names no inputs with digests, so none can be rebuilt")
    recipe = recipe_of(made.recipe, NAME)
    if recipe.step:
        raise UsageError(
            f"the release was built with steps ({', '.join(clipped(each.name) for each in recipe.step)}): code that a release "
            "names is never run, so build the inputs again with the recipe and `corpusfmt compare` the two"
        )
    classifier = _same_model(made.model, request.model)
    lists = AddressFilter(
        _same_list("allow", request.allow_urls, made.addresses), _same_list("deny", request.deny_urls, made.addresses)
    )
    return Made(recipe, lists, classifier.loader(), used)


def _same_model(expected: _Model, path: str | None) -> Classifier:
    if path is not None:
        refuse_remote(path, "the model", COPY_HERE)
    try:
        found = Classifier(path, backend=expected.backend, remember=True)
    except LangidError as error:
        raise UsageError(f"the release was built with the backend {expected.backend}: {error}") from error
    if found.model_digest != expected.sha256:
        raise UsageError(
            f"the release was built with the model of SHA-256 {clipped(expected.sha256)}, found {found.model_digest}: "
            "name the file of that model with --model"
        )
    return found


def _same_list(kind: str, path: str | None, expected: Mapping[str, _List]) -> Addresses | None:
    found = addresses(path)
    digest = expected[kind].sha256 if kind in expected else None
    if (found.sha256 if found else None) != digest:
        said = f"the list of SHA-256 {clipped(digest)}" if digest else "no list"
        raise UsageError(f"the release was built with {said} as --{kind}-urls: name the same here")
    return found


def chosen(made: Made, request: Request) -> list[int]:
    """Return the numbers of the inputs that a seed chooses, in order; a larger count adds to those of a smaller one."""

    def lot(number: int) -> bytes:
        each = made.inputs[number]
        return hashlib.sha256(f"{request.seed}\0{each.sha256}\0{each.name}".encode()).digest()

    return sorted(sorted(range(len(made.inputs)), key=lot)[: request.count])


class Sources:
    """The files that may be inputs, by name."""

    def __init__(self, named: Sequence[str]) -> None:
        self._by_name: dict[str, list[Entry]] = {}
        for url in named:
            entry = entry_of(url)
            for each in walk(entry) if entry.kind == "directory" else (entry,):
                if each.kind == "file" and not is_hidden(each.path):
                    self._by_name.setdefault(each.name, []).append(each)

    def find(self, origin: Origin, judge: Judge | None) -> Entry | None:
        """Return the file of an input, or report why there is none."""
        found = self._by_name.get(origin.base, [])
        # The size of a remote input may be unknown to the build.
        sized = [each for each in found if origin.size in {0, each.size}]
        try:
            same = next((each for each in sized if facts_of(each).sha256 == origin.sha256), None)
        except OSError as error:
            if judge is not None:
                judge.report(*barred(error, Location(origin.name)))
            return None
        if same is None and judge is not None:
            at, again = Location(origin.name), "fetch the input again"
            if not found:
                problem = Problem("not below --inputs", at, "fetch the input, or name the folder that contains it")
                judge.report(INPUT_MISSING, problem)
            elif not sized:
                message = f"{found[0].size:,} bytes, expected {origin.size:,}"
                judge.report(INPUT_DIFFERS, Problem(message, at, again))
            else:
                message = f"SHA-256 is `{facts_of(sized[0]).sha256}`, expected `{origin.sha256}`"
                judge.report(INPUT_DIFFERS, Problem(message, at, again))
        return same
