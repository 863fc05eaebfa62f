"""Internal: Recipes: the settings of the pipeline as data, each with its source (`pipeline/*.toml`, `schemas/recipe/`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from corpusfmt._resources import resource
from corpusfmt.io.compress import COMPRESSION, CompressionName
from corpusfmt.io.paths import read_named
from corpusfmt.io.toml import complaints_of, decoded_toml
from corpusfmt.model import Json, UsageError
from corpusfmt.wording import unknown

HashName = Literal["siphash_128", "xxh64"]
ValueType = Literal["number", "string", "boolean"]


class Records(Struct, forbid_unknown_fields=True, frozen=True):
    """How WET files are read: by `wet_batches`, or by `GoclassyReader` up to the first record that it cannot read."""

    reader: Literal["wet", "goclassy"] = "wet"


class Lines(Struct, forbid_unknown_fields=True, frozen=True, rename="kebab"):
    """Which lines are kept: at least `min_chars` code points, classified with at least `min_confidence`.

    Before that, carriage returns are removed and lines normalised, if the recipe asks for it.
    """

    min_chars: Annotated[int, Meta(ge=0, le=10**9)]
    min_confidence: Annotated[float, Meta(ge=0, le=1)]
    strip_carriage_returns: bool = False
    nfc: bool = False


class Deduplication(Struct, forbid_unknown_fields=True, frozen=True, rename="kebab"):
    """Whether to keep only the first occurrence of a line in its language, and the hash that compares lines.

    `keep_original` also writes the corpus before deduplication.
    """

    lines: bool
    hash: HashName = "siphash_128"
    keep_original: bool = False


class Output(Struct, forbid_unknown_fields=True, frozen=True, rename="kebab"):
    """What is written: the format, and the bytes of text per part.

    `shuffle_seed` shuffles the lines of a language; `language_scores` adds attributes with the language of each line.
    """

    format: Literal["oscar-1.1", "oscar-1.0", "dolma", "goclassy"]
    part_bytes: Annotated[int, Meta(ge=1, le=10**15)] | None = None
    compression: CompressionName | None = None
    shuffle_seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    language_scores: bool = False

    @property
    def compressor(self) -> CompressionName:
        """The compressor, if the format compresses."""
        return self.compression or COMPRESSION


class Filter(Struct, forbid_unknown_fields=True, frozen=True, rename="kebab"):
    """Which documents are kept: at least `min_lines` lines, in `languages` (empty: any), not in `exclude_languages`."""

    min_lines: Annotated[int, Meta(ge=1, le=10**9)] = 1
    languages: tuple[str, ...] = ()
    exclude_languages: tuple[str, ...] = ()


class Step(Struct, forbid_unknown_fields=True, frozen=True):
    """A function of the user's, `py:MODULE:FUNCTION`, that judges documents or their lines, with its options.

    `annotations` are the names and types of the values that it may return. `timeout` is the most seconds that it may take
    for a document.
    """

    name: Annotated[str, Meta(pattern=r"^(?!corpusfmt)[a-z][a-z0-9_]{0,63}$")]
    function: Annotated[str, Meta(pattern=r"^py:.+:[A-Za-z_][A-Za-z0-9_]*$")]
    on: Literal["documents", "lines"] = "documents"
    annotations: dict[Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,63}$")], ValueType] = {}
    options: dict[str, Any] = {}
    timeout: Annotated[float, Meta(gt=0, le=10**6)] = 60.0


class Recipe(Struct, forbid_unknown_fields=True, frozen=True):
    """What the output depends on besides the inputs and the model."""

    name: str
    summary: str
    lines: Lines
    deduplication: Deduplication
    output: Output
    records: Records = Records()
    filter: Filter = Filter()
    step: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        output, deduplication = self.output, self.deduplication
        oscar = output.format in {"oscar-1.0", "oscar-1.1"}
        if deduplication.keep_original and not (deduplication.lines and oscar):
            raise ValueError("keep-original needs deduplication and an OSCAR format")
        if output.shuffle_seed is not None and output.format != "oscar-1.0":
            raise ValueError("shuffle-seed needs the format oscar-1.0")
        if output.language_scores and output.format != "dolma":
            raise ValueError("language-scores needs the format dolma")
        whole = deduplication.lines, output.part_bytes is None, output.compression is None
        if output.format == "goclassy" and whole != (False, True, True):
            raise ValueError("the format goclassy does not support deduplication, part-bytes or compression")
        if output.format == "goclassy" and self.filter.min_lines > 1:
            raise ValueError("the format goclassy has no documents, so min-lines cannot apply")

    @property
    def of_processing(self) -> tuple[object, ...]:
        """The settings that decide what is stored of an input; the others only affect the written corpus."""
        output = self.output
        as_goclassy = output.format == "goclassy"
        return self.records, self.lines, self.filter, self.deduplication, output.language_scores, as_goclassy

    @property
    def choices(self) -> Json:
        """The recipe as in its file, with defaults filled in; optional settings only if they are used."""
        tables: Json = msgspec.to_builtins(self)
        tables["lines"] = {key: value for key, value in tables["lines"].items() if value is not False}
        tables["output"] = {key: value for key, value in tables["output"].items() if value is not None}
        if not self.step:
            del tables["step"]
        return tables


def recipe_names() -> list[str]:
    """Return the names of the bundled recipes."""
    names = (entry.name for entry in resource("pipeline", "").iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


_MOST_BYTES = 1024 * 1024


def recipe_text(name: str) -> str:
    """Return the source of a recipe, by the name of a bundled one or a path. Raises `UsageError`."""
    if name.endswith(".toml"):
        try:
            return read_named(name, _MOST_BYTES, "recipe").decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read the recipe {name}: {error}") from error
    if name not in recipe_names():
        known = recipe_names()
        raise UsageError(unknown("recipe", name, known, f"known: {', '.join(known)}, or the path of a .toml file"))
    return resource("pipeline", f"{name}.toml").read_text("utf-8")


def load_recipe(name: str, instead: Mapping[str, Json] | None = None) -> Recipe:
    """Return a recipe in which the settings of `instead`, by table, replace its own.

    Raises `UsageError` that names each wrong key and what is allowed.
    """
    found = decoded_toml(recipe_text(name), f"recipe {name}", _finite)
    for table, choices in (instead or {}).items():
        if isinstance(found.get(table), dict):
            found[table] |= choices
    if not name.endswith(".toml"):  # tests check bundled recipes by the schema: only `instead` can be wrong
        with suppress(msgspec.ValidationError):
            return msgspec.convert(found, Recipe)
    return recipe_of(found, name)


def recipe_of(found: dict[str, Any], name: str) -> Recipe:
    """Return a recipe from a table of keys and values, checked by the published schema. Raises `UsageError`."""
    if complaints := complaints_of(found, resource("schemas", "recipe/recipe.schema.json").read_bytes()):
        raise UsageError(f"recipe {name}: {'; '.join(complaints)}")
    return msgspec.convert(found, Recipe)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"found {digits}, expected a finite number")
    return value
