"""Internal: Recipes: each choice of the pipeline as data, with its source (`pipeline/*.toml`, `schemas/recipe/`)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from corpusfmt._resources import resource
from corpusfmt.io.compress import COMPRESSION, CompressionName
from corpusfmt.io.paths import read_named
from corpusfmt.io.toml import decoded_toml
from corpusfmt.model import Json, UsageError
from corpusfmt.wording import clipped

if TYPE_CHECKING:
    from jsonschema import ValidationError

HashName = Literal["xxh64", "xxh3_128"]


class Records(Struct, forbid_unknown_fields=True, frozen=True):
    """How WET files are read: `wet_records` or, up to the first record that it cannot read, `GoclassyReader`."""

    reader: Literal["wet", "goclassy"] = "wet"


class Lines(Struct, forbid_unknown_fields=True, frozen=True, rename="kebab"):
    """Which lines are kept: at least `min_chars` code points, classified with at least `min_confidence`.

    Before that, carriage returns are taken out of them and they are normalised, where the recipe asks for it.
    """

    min_chars: Annotated[int, Meta(ge=0, le=10**9)]
    min_confidence: Annotated[float, Meta(ge=0, le=1)]
    strip_carriage_returns: bool = False
    nfc: bool = False


class Deduplication(Struct, forbid_unknown_fields=True, frozen=True, rename="kebab"):
    """Whether a line stays only where it occurs first in its language, and by which hash lines are compared.

    `keep_original` writes the corpus as it was before as well.
    """

    lines: bool
    hash: HashName = "xxh64"
    keep_original: bool = False


class Output(Struct, forbid_unknown_fields=True, frozen=True, rename="kebab"):
    """What is written: the format, and from how many bytes of text on a language gets a further part.

    `shuffle_seed` orders the lines of a language anew; `language_scores` adds attributes with the language of each line.
    """

    format: Literal["oscar-1.1", "oscar-1.0", "dolma", "goclassy"]
    part_bytes: Annotated[int, Meta(ge=1, le=10**15)] | None = None
    compression: CompressionName | None = None
    shuffle_seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    language_scores: bool = False

    @property
    def compressor(self) -> CompressionName:
        """What compresses, where anything is compressed."""
        return self.compression or COMPRESSION


class Filter(Struct, forbid_unknown_fields=True, frozen=True, rename="kebab"):
    """Which documents are kept: with at least `min_lines` kept lines, in one of `languages` (empty: in any language)
    and in none of `exclude_languages`.
    """

    min_lines: Annotated[int, Meta(ge=1, le=10**9)] = 1
    languages: tuple[str, ...] = ()
    exclude_languages: tuple[str, ...] = ()


class Recipe(Struct, forbid_unknown_fields=True, frozen=True):
    """All that the output depends on besides the inputs and the model."""

    name: str
    summary: str
    lines: Lines
    deduplication: Deduplication
    output: Output
    records: Records = Records()
    filter: Filter = Filter()

    def __post_init__(self) -> None:
        output, deduplication = self.output, self.deduplication
        oscar = output.format in {"oscar-1.0", "oscar-1.1"}
        if deduplication.keep_original and not (deduplication.lines and oscar):
            raise ValueError("keep-original needs deduplicated lines in an OSCAR format")
        if output.shuffle_seed is not None and output.format != "oscar-1.0":
            raise ValueError("shuffle-seed needs the format oscar-1.0")
        if output.language_scores and output.format != "dolma":
            raise ValueError("language-scores needs the format dolma")
        whole = deduplication.lines, output.part_bytes is None, output.compression is None
        if output.format == "goclassy" and whole != (False, True, True):
            raise ValueError("the format goclassy takes no deduplication, part-bytes or compression")
        if output.format == "goclassy" and self.filter.min_lines > 1:
            raise ValueError("the format goclassy has no documents whose lines a filter could count")

    @property
    def of_processing(self) -> tuple[object, ...]:
        """The choices that decide what is stored of an input; the others matter when the corpus is written, alone."""
        output = self.output
        as_goclassy = output.format == "goclassy"
        return self.records, self.lines, self.filter, self.deduplication, output.language_scores, as_goclassy

    @property
    def choices(self) -> Json:
        """The recipe as its file has it, with the defaults of what that leaves out, but for what is only asked for."""
        tables: Json = msgspec.to_builtins(self)
        tables["lines"] = {key: value for key, value in tables["lines"].items() if value is not False}
        tables["output"] = {key: value for key, value in tables["output"].items() if value is not None}
        return tables


def recipe_names() -> list[str]:
    """Return the names of the bundled recipes."""
    names = (entry.name for entry in resource("pipeline", "").iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


_MOST_BYTES = 1024 * 1024


def recipe_text(name: str) -> str:
    """Return a recipe as its author wrote it, by the name of a bundled one or a path. Raises `UsageError`."""
    if name.endswith(".toml"):
        try:
            return read_named(name, _MOST_BYTES, "recipe").decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read the recipe {name}: {error}") from error
    if name not in recipe_names():
        raise UsageError(
            f"unknown recipe {clipped(name)!r}; known: {', '.join(recipe_names())}, or the path of a .toml file"
        )
    return resource("pipeline", f"{name}.toml").read_text("utf-8")


def load_recipe(name: str, instead: Mapping[str, Json] | None = None) -> Recipe:
    """Return a recipe, with the choices in `instead`, by table, in the place of its own.

    Raises `UsageError` naming each key that is wrong, and what is allowed.
    """
    found = decoded_toml(recipe_text(name), f"recipe {name}", _finite)
    for table, choices in (instead or {}).items():
        if isinstance(found.get(table), dict):
            found[table] |= choices
    if not name.endswith(".toml"):  # ours, which the tests hold to the schema: only a choice in its place can be wrong
        with suppress(msgspec.ValidationError):
            return msgspec.convert(found, Recipe)
    return recipe_of(found, name)


def recipe_of(found: dict[str, Any], name: str) -> Recipe:
    """Return the recipe that a table of keys and values is, judged by the published schema. Raises `UsageError`."""
    if complaints := sorted(complaint for error in _errors(found) for complaint in _complaints(error)):
        raise UsageError(f"recipe {name}: {'; '.join(complaints)}")
    return msgspec.convert(found, Recipe)


def _errors(found: dict[str, Any]) -> Iterator[ValidationError]:
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415 - a help page judges no recipe

    schema = json.loads(resource("schemas", "recipe/recipe.schema.json").read_bytes())
    # TOML tells 100 from 100.0, JSON Schema does not.
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    judge = validators.extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
    yield from judge(schema).iter_errors(found)


def _complaints(error: ValidationError) -> Iterator[str]:
    path = [str(step) for step in error.absolute_path]
    schema: Any = error.schema
    found: Any = error.instance
    if error.validator == "required":
        yield f"{error.message} of `{'.'.join(path)}`" if path else error.message
    elif error.validator == "additionalProperties":
        known = schema["properties"]
        for key in found.keys() - known.keys():
            yield f"`{'.'.join([*path, key])}` is unknown; known: {', '.join(sorted(known))}"
    else:
        yield f"`{'.'.join(path)}` is {json.dumps(found, default=str)}, expected {schema['description']}"


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits} is no number of a recipe")
    return value
