"""What a machine can hold: layers, documented rules with fixtures on both sides, unique codes, exports, banned calls."""

from __future__ import annotations

import ast
import json
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import FIXTURES, REPOSITORY

import corpusfmt
from corpusfmt import formats, model
from corpusfmt.cli.catalogue import known_rules
from corpusfmt.model import Check, Rule
from corpusfmt.report import RENDERERS

PACKAGE = Path(corpusfmt.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# A layer may import those to its right, and itself.
LAYERS = (
    ("cli",),
    ("pipeline", "conversion"),
    ("description",),
    ("engine", "langid"),
    ("report",),
    ("formats",),
    ("io", "_resources", "_version"),
    ("rules",),
    ("extensions",),
    ("model", "safe_path", "wording"),
)
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names}

# Tested by doing, in tests that no folder of files can hold: a crash of our own code, files that cannot be read, records that
# cannot become documents.
WITHOUT_FIXTURES = {"GEN000", "GEN001", "GEN002", "GEN003", "CRO701", "CRO702", "CRO703"}

RULES: dict[str, Rule] = {rule.code: rule for fmt in formats.formats().values() for rule in fmt.rules}


def layer_of(module: Path) -> str:
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("corpusfmt"):
            yield from (
                [f"corpusfmt.{alias.name}" for alias in node.names] if node.module == "corpusfmt" else [node.module]
            )
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("corpusfmt"))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.relative_to(PACKAGE).as_posix())
def test_layers_import_to_the_right_only(module: Path) -> None:
    layer = layer_of(module)
    if layer in {"__init__", "__main__"}:
        return
    for name in imported(module):
        target = name.split(".")[1]
        assert layer == target or RANKS[layer] < RANKS[target], f"{layer} imports {name}"


def test_formats_do_not_import_each_other() -> None:
    for name in formats.formats():
        others = {f"corpusfmt.formats.{other}" for other in formats.formats()} - {f"corpusfmt.formats.{name}"}
        for module in (PACKAGE / "formats" / name).rglob("*.py"):
            for each in imported(module):
                assert ".".join(each.split(".")[:3]) not in others, f"{module.name} imports {each}"


def test_rules_and_data_of_croissant_do_not_import_each_other() -> None:
    for one, other in (("rules", "data"), ("data", "rules")):
        for module in (PACKAGE / "formats" / "croissant" / one).glob("*.py"):
            for each in imported(module):
                assert f"corpusfmt.formats.croissant.{other}" not in (each, each.rpartition(".")[0]), (
                    f"{module.name} imports {each}"
                )


@pytest.mark.parametrize("layer", ["conversion", "description", "engine", "pipeline", "report"])
def test_formats_are_known_by_their_registry_only(layer: str) -> None:
    named = tuple(f"corpusfmt.formats.{name}" for name in formats.formats())
    modules = [module for module in MODULES if layer_of(module) == layer]
    assert modules
    for module in modules:
        for each in imported(module):
            assert not each.startswith(named), f"{module.name} imports {each}"


BANNED = {
    "splitlines": "only LF ends a line",
    "extractall": "archives are read in place",
    "Pool": "it hangs when a worker dies",
    "unique": "sort and compare neighbours: it is a hundred times faster",
}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.relative_to(PACKAGE).as_posix())
def test_calls_that_lose_data_or_time(module: Path) -> None:
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            assert node.func.attr not in BANNED, f"line {node.lineno}: {BANNED[node.func.attr]}"
            assert ast.unparse(node.func) != "gzip.decompress", f"line {node.lineno}: quadratic in members"


def test_a_code_is_one_rule_and_a_slug_names_one_in_its_format() -> None:
    for fmt in formats.formats().values():
        slugs = [rule.slug for rule in fmt.rules]
        assert len(set(slugs)) == len(slugs)
        for rule in fmt.rules:
            assert RULES[rule.code].slug == rule.slug


@pytest.mark.parametrize("rule", [owners[0][1] for owners in known_rules().values()], ids=lambda rule: rule.code)
def test_each_rule_is_explained(rule: Rule) -> None:
    for part in ("Why: ", "Example: ", "Fix: "):
        assert part in rule.explanation
    assert rule.explanation.split("\n")[0].strip()
    assert rule.requires <= RULES.keys()


@pytest.mark.parametrize("name", formats.formats())
def test_required_rules_come_first_on_their_subject(name: str) -> None:
    rules = formats.formats()[name].rules
    for subject in {rule.subject for rule in rules if isinstance(rule, Check)}:
        seen: set[str] = set()
        same = {rule.code for rule in rules.on(subject)}
        for rule in rules.on(subject):
            assert rule.requires & same <= seen, f"{rule.code} is registered before a rule it requires"
            seen.add(rule.code)


def fixtures() -> list[dict[str, Any]]:
    return [json.loads(path.read_text("utf-8")) for path in sorted(FIXTURES.glob("*/*/*/*/expected.json"))]


def test_each_rule_has_a_case_that_fires_and_one_that_must_not() -> None:
    cases = fixtures()
    fires = {finding["rule"] for case in cases for finding in case["findings"]}
    near = {code for case in cases for code in case.get("near_misses", ())}
    expected = RULES.keys() - WITHOUT_FIXTURES
    assert sorted(expected - fires) == []
    assert sorted(expected - near) == []
    assert (fires | near) <= RULES.keys()


def test_public_names_are_sorted_and_there() -> None:
    assert corpusfmt.__all__ == sorted(corpusfmt.__all__)
    assert set(corpusfmt.__all__) <= set(dir(corpusfmt))
    for name in set(corpusfmt.__all__) - {"__version__"}:
        assert getattr(corpusfmt, name).__module__.startswith("corpusfmt.")
        assert getattr(corpusfmt, name).__doc__


def test_errors_that_are_documented_are_public() -> None:
    errors = {name for name, each in vars(model).items() if isinstance(each, type) and issubclass(each, Exception)}
    assert errors <= set(corpusfmt.__all__)


def test_a_type_checker_knows_every_name_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(
        "".join(f"import corpusfmt\nprint(corpusfmt.{each})\n" for each in corpusfmt.__all__)
    )
    (tmp_path / "bad.py").write_text("import corpusfmt\ncorpusfmt.convrt('a', 'b', to='dolma')\n")
    files = [str(tmp_path / name) for name in ("good.py", "bad.py")]
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert [line.partition("bad.py:")[2] for line in done.stdout.split("\n")[:-2]] == [
        '2: error: Module has no attribute "convrt"; maybe "convert"?  [attr-defined]'
    ]


def test_submodules_do_not_shadow_public_functions() -> None:
    names = {path.name.removesuffix(".py") for path in PACKAGE.iterdir()}
    assert not names & set(corpusfmt.__all__)


def test_the_table_of_outputs_is_in_the_help() -> None:
    help_text = (PACKAGE / "cli" / "validate.py").read_text("utf-8")
    for name in RENDERERS:
        assert name in help_text


def test_every_command_printed_in_the_documentation_exists() -> None:
    commands = {"validate", "convert", "describe", "build", "rule", "recipe", "formats", "detect", "report", "records"}
    for page in [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]:
        for line in page.read_text("utf-8").split("\n"):
            words = line.removeprefix("$ ").split()
            if len(words) > 1 and words[0] == "corpusfmt" and line.startswith(("$ corpusfmt", "corpusfmt ")):
                assert words[1] in commands or words[1].startswith("-"), f"{page.name}: {line}"


def test_the_page_of_rules_is_up_to_date() -> None:
    maker = runpy.run_path(str(REPOSITORY / "docs" / "make_rules.py"))
    assert (REPOSITORY / "docs" / "rules.md").read_text("utf-8") == maker["page"](), "run python docs/make_rules.py"
