"""What a machine can hold: layers, exports, banned calls."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import REPOSITORY

import corpusfmt
from corpusfmt import formats, model
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


def test_stages_of_the_pipeline_do_not_import_each_other_in_a_circle() -> None:
    # Each may import those behind it.
    stages = ("seal", "intake", "package", "process", "dedup")
    pipeline = PACKAGE / "pipeline"
    assert set(stages) == {each.parent.name for each in pipeline.glob("*/__init__.py")}
    for rank, stage in enumerate(stages):
        for module in (pipeline / stage).glob("*.py"):
            for each in imported(module):
                assert not each.startswith(tuple(f"corpusfmt.pipeline.{other}." for other in stages[:rank])), (
                    f"{stage}/{module.name} imports {each}"
                )


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


def test_no_function_is_longer_than_forty_lines() -> None:
    """Signature and docstring aside."""
    long = []
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[1 if ast.get_docstring(node) is not None and len(node.body) > 1 else 0]
                assert node.end_lineno is not None
                if node.end_lineno - first.lineno >= 40:
                    long.append(f"{module.relative_to(PACKAGE).as_posix()}:{node.lineno}: {node.name}")
    assert not long


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
