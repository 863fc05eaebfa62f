"""Recipes: the published schema and the code agree, and errors name the key."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from strategies import examples
from support import SAMPLE, run_cli

from corpusfmt._resources import resource
from corpusfmt.model import UsageError
from corpusfmt.pipeline.recipe import Recipe, load_recipe, recipe_names, recipe_of, recipe_text

SCHEMA = json.loads(resource("schemas", "recipe/recipe.schema.json").read_bytes())
VALIDATOR = Draft202012Validator(SCHEMA)
DEFAULT = tomllib.loads(recipe_text("oscar-1.1"))

# What TOML can hold, with every value that means something somewhere among it.
SCALARS = st.one_of(
    st.booleans(),
    st.sampled_from([-1, 0, 1, 101, 10**9 + 1, 2**63 - 1, 2**63, 0.0, 0.8, 1.0, 1.5, -0.5, 1e30]),
    st.sampled_from(
        ["oscar-1.1", "oscar-1.0", "dolma", "goclassy", "wet", "siphash_128", "xxh64", "isal-3", "zlib-0", ""]
    ),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(st.sampled_from("ab"), SCALARS, max_size=1))
GOOD: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "records": {"reader": st.sampled_from(["wet", "goclassy"])},
    "lines": {
        "min-chars": st.sampled_from([0, 100, 10**9]),
        "min-confidence": st.sampled_from([0, 0.8, 1, 1.0]),
        "strip-carriage-returns": st.booleans(),
        "nfc": st.booleans(),
    },
    "deduplication": {
        "lines": st.booleans(),
        "hash": st.sampled_from(["siphash_128", "xxh64"]),
        "keep-original": st.booleans(),
    },
    "output": {
        "format": st.sampled_from(["oscar-1.1", "oscar-1.0", "dolma", "goclassy"]),
        "part-bytes": st.sampled_from([1, 10**15]),
        "compression": st.sampled_from(["isal-0", "isal-3", "zlib-1", "zlib-9"]),
        "shuffle-seed": st.sampled_from([0, 2**63 - 1]),
        "language-scores": st.booleans(),
    },
    "filter": {
        "min-lines": st.sampled_from([1, 2, 10**9]),
        "languages": st.lists(st.sampled_from(["de", "en"]), max_size=2),
        "exclude-languages": st.lists(st.sampled_from(["de", "xx"]), max_size=2),
    },
}
REQUIRED = {"min-chars", "min-confidence", "lines", "format"}


@st.composite
def tables(draw: st.DrawFn) -> Any:
    """Return a recipe whose keys are good, then perhaps one that is spoilt somewhere."""
    found: dict[str, Any] = {"name": "mine", "summary": ""}
    for table, keys in GOOD.items():
        found[table] = {key: draw(value) for key, value in keys.items() if key in REQUIRED or draw(st.booleans())}
    if draw(st.booleans()):
        table = draw(st.sampled_from(["", *GOOD]))
        target = found[table] if table else found
        key = draw(st.sampled_from([*target, "more"]))
        if draw(st.booleans()):
            target.pop(key, None)
        else:
            target[key] = draw(VALUES)
    return found


def _scalars(found: Any) -> Iterator[Any]:
    for value in found.values() if isinstance(found, dict) else found:
        if isinstance(value, dict | list):
            yield from _scalars(value)
        else:
            yield value


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


# The published schema takes 100.0 for an integer, as JSON Schema has it; the code, as TOML, does not.
@given(found=tables())
@examples(300)
def test_the_schema_and_the_code_judge_alike(found: Any) -> None:
    try:
        msgspec.convert(found, Recipe)
        accepted = True
    except msgspec.ValidationError:
        accepted = False
    if accepted:
        assert VALIDATOR.is_valid(found)
        assert recipe_of(found, "mine") == msgspec.convert(found, Recipe)
    else:
        with pytest.raises(UsageError, match="recipe mine: "):
            recipe_of(found, "mine")
        if not any(isinstance(value, float) and value.is_integer() for value in _scalars(found)):
            assert not VALIDATOR.is_valid(found)


@pytest.mark.parametrize("table", ["", *GOOD])
def test_no_table_takes_a_key_that_it_does_not_know(table: str) -> None:
    found = copy.deepcopy(DEFAULT)
    target = found.setdefault(table, {}) if table else found
    target["more"] = 7
    with pytest.raises(msgspec.ValidationError, match="unknown field `more`"):
        msgspec.convert(found, Recipe)
    with pytest.raises(UsageError, match=f"^recipe mine: `{table}{'.' if table else ''}more` is unknown; known: "):
        recipe_of(found, "mine")


@pytest.mark.parametrize("name", recipe_names())
def test_every_choice_of_a_bundled_recipe_has_its_source(name: str) -> None:
    assert load_recipe(name).name == name
    before = ""
    for line in recipe_text(name).split("\n"):
        if " = " in line and not line.startswith(("name", "summary", "#")):
            assert before.startswith("#"), f"{name}: {line}"
        before = line


def test_the_command_prints_the_choices_with_their_sources() -> None:
    done = run_cli("recipe", "oscar-1.1")
    assert done.returncode == 0
    assert done.stdout.decode() == recipe_text("oscar-1.1") + "\n"


def _set(table: str, key: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda found: found.setdefault(table, {}).update({key: value})


COMPLAINTS: list[tuple[Callable[[dict[str, Any]], None], str]] = [
    (_set("lines", "min-chars", -1), r"`lines.min-chars` is -1, expected an integer from 0"),
    (_set("lines", "min-chars", "many"), r'`lines.min-chars` is "many", expected an integer from 0'),
    (_set("lines", "min-chars", 100.0), r"`lines.min-chars` is 100.0, expected an integer from 0"),
    (
        _set("lines", "max-chars", 7),
        r"`lines.max-chars` is unknown \(did you mean `min-chars`\?\); known: min-chars, min-confidence",
    ),
    (lambda found: found["lines"].pop("min-chars"), r"'min-chars' is a required property of `lines`"),
    (lambda found: found.pop("output"), r"'output' is a required property"),
    (_set("deduplication", "hash", "md5"), r'`deduplication.hash` is "md5", expected `siphash_128` or `xxh64`'),
    (_set("output", "compression", "zlib-0"), r'`output.compression` is "zlib-0", expected a compressor and its level'),
    (_set("output", "shuffle-seed", 1), r"`output.format` is \"oscar-1.1\", expected `oscar-1.0` with `shuffle-seed`"),
    (_set("output", "language-scores", True), r"expected `dolma` with `language-scores`"),
    (_set("filter", "min-lines", 0), r"`filter.min-lines` is 0, expected an integer from 1"),
    (_set("filter", "languages", "de"), r'`filter.languages` is "de", expected a list of labels'),
    (_set("filter", "languages", ["de", 7]), r"`filter.languages.1` is 7, expected a label of the model"),
    (_set("output", "format", "goclassy"), r"`output.part-bytes` is 500000000, expected nothing with .* `goclassy`"),
]


@pytest.mark.parametrize(("spoil", "complaint"), COMPLAINTS)
def test_a_complaint_names_the_key_and_what_is_allowed(spoil: Callable[[dict[str, Any]], None], complaint: str) -> None:
    found = copy.deepcopy(DEFAULT)
    spoil(found)
    with pytest.raises(UsageError, match=complaint):
        recipe_of(found, "mine")


@pytest.mark.parametrize("odd", ["nan", "-inf", "1979-05-27", "1 2", '"0.8"'])
def test_a_file_of_ones_own_is_judged_before_anything_runs(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(recipe_text("oscar-1.1").replace("0.8\n", f"{odd}\n"))
    done = run_cli("build", SAMPLE, "--recipe", path, "--output", tmp_path / "out")
    assert done.returncode == 2
    assert re.search(rb"recipe .*mine.toml: ", done.stderr)
    assert b"Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
