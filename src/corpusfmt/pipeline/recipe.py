"""Recipes: each choice of the pipeline as data, with its source (`pipeline/*.toml`)."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import Literal

import msgspec

from corpusfmt._resources import resource
from corpusfmt.model import UsageError
from corpusfmt.pipeline.filters import Filter


class Lines(msgspec.Struct, forbid_unknown_fields=True, frozen=True, rename="kebab"):
    """Which lines are kept: at least `min_chars` code points, classified with at least `min_confidence`."""

    min_chars: int
    min_confidence: float


class Deduplication(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Whether a line stays only where it occurs first in its language, and by which hash lines are compared."""

    lines: bool
    hash: Literal["xxh64"] = "xxh64"


class Output(msgspec.Struct, forbid_unknown_fields=True, frozen=True, rename="kebab"):
    """What is written: the format, and from how many bytes of text on a language gets a further part."""

    format: Literal["oscar-1.1", "oscar-1.0", "dolma"]
    part_bytes: int


class Recipe(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """All that the output depends on besides the inputs and the model."""

    name: str
    summary: str
    lines: Lines
    deduplication: Deduplication
    output: Output
    filter: Filter = Filter()

    @property
    def fingerprint(self) -> str:
        """A digest of every choice: another recipe under the same name has another one."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()


def recipe_names() -> list[str]:
    """Return the names of the bundled recipes."""
    names = (entry.name for entry in resource("pipeline", "").iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def recipe_text(name: str) -> str:
    """Return a recipe as its author wrote it, by the name of a bundled one or a path. Raises `UsageError`."""
    if name.endswith(".toml"):
        try:
            return Path(name).read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read the recipe {name}: {error}") from error
    if name not in recipe_names():
        raise UsageError(f"unknown recipe {name!r}; known: {', '.join(recipe_names())}, or the path of a .toml file")
    return resource("pipeline", f"{name}.toml").read_text("utf-8")


def load_recipe(name: str) -> Recipe:
    """Return a recipe. Raises `UsageError` naming the key that is wrong."""
    try:
        recipe = msgspec.convert(tomllib.loads(recipe_text(name)), Recipe)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"recipe {name}: {error}") from error
    if recipe.lines.min_chars < 0 or not 0 <= recipe.lines.min_confidence <= 1 or recipe.output.part_bytes < 1:
        raise UsageError(f"recipe {name}: min-chars, min-confidence and part-bytes must be in range")
    return recipe
