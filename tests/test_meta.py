"""Invariants of the code that a machine can check: layers, exports, banned calls."""

from __future__ import annotations

import ast
import builtins
import inspect
import json
import os
import pydoc
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from support import REPOSITORY

import corpusfmt
from corpusfmt import formats, langid, model
from corpusfmt._version import VERSION
from corpusfmt.report import RENDERERS
from publishing import smoke

PACKAGE = Path(corpusfmt.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# A layer may import those to its right, and itself.
LAYERS = (
    ("cli",),
    ("datasheets",),
    ("comparison", "lsp", "reading"),
    ("release",),
    ("pipeline",),
    ("statistics",),
    ("conversion",),
    ("description", "recordsets"),
    ("engine", "langid"),
    ("report",),
    ("manifest", "hub"),
    ("formats",),
    ("profiles",),
    ("io", "_resources"),
    ("rules",),
    ("extensions", "options", "page"),
    ("model", "safe_path", "wording"),
    ("_version",),
)
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def layer_of(module: Path) -> str:
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def parsed(module: Path) -> ast.Module:
    return ast.parse(module.read_text("utf-8"))


@cache
def nodes(module: Path) -> list[ast.AST]:
    return list(ast.walk(parsed(module)))


def imported(module: Path) -> Iterator[str]:
    for node in nodes(module):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("corpusfmt"):
            yield from (
                [f"corpusfmt.{alias.name}" for alias in node.names] if node.module == "corpusfmt" else [node.module]
            )
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("corpusfmt"))


def test_layers_import_to_the_right_only() -> None:
    wrong = []
    for module in MODULES:
        layer = layer_of(module)
        if layer not in {"__init__", "__main__"}:
            targets = {name: name.split(".")[1] for name in imported(module)}
            wrong += [
                f"{module.relative_to(PACKAGE).as_posix()} imports {name}"
                for name, target in targets.items()
                if layer != target and RANKS[layer] >= RANKS[target]
            ]
    assert not wrong


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
    assert set(stages) == {"dedup", "seal", *(each.parent.name for each in pipeline.glob("*/__init__.py"))}
    for rank, stage in enumerate(stages):
        for module in list((pipeline / stage).glob("*.py")) or [pipeline / f"{stage}.py"]:
            for each in imported(module):
                assert not f"{each}.".startswith(tuple(f"corpusfmt.pipeline.{other}." for other in stages[:rank])), (
                    f"{stage}/{module.name} imports {each}"
                )


def test_rules_and_data_of_croissant_do_not_import_each_other() -> None:
    for one, other in (("rules", "data"), ("data", "rules")):
        for module in (PACKAGE / "formats" / "croissant" / one).glob("*.py"):
            for each in imported(module):
                assert f"corpusfmt.formats.croissant.{other}" not in (each, each.rpartition(".")[0]), (
                    f"{module.name} imports {each}"
                )


@pytest.mark.parametrize(
    "layer",
    [
        "cli",
        "comparison",
        "conversion",
        "description",
        "engine",
        "manifest",
        "pipeline",
        "recordsets",
        "release",
        "report",
        "__init__",
    ],
)
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


def test_calls_that_lose_data_or_time() -> None:
    for module in MODULES:
        for node in nodes(module):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                place = f"{module.relative_to(PACKAGE).as_posix()}:{node.lineno}"
                assert node.func.attr not in BANNED, f"{place}: {BANNED[node.func.attr]}"
                assert ast.unparse(node.func) != "gzip.decompress", f"{place}: quadratic in members"


def test_public_names_are_sorted_and_there() -> None:
    assert corpusfmt.__all__ == sorted(corpusfmt.__all__)
    assert set(corpusfmt.__all__) <= set(dir(corpusfmt))
    for name in set(corpusfmt.__all__) - {"__version__"}:
        assert getattr(corpusfmt, name).__module__.startswith("corpusfmt.")
        assert getattr(corpusfmt, name).__doc__


def test_help_shows_public_names_only() -> None:
    whole = pydoc.plain(pydoc.render_doc(corpusfmt))
    shown = set(re.findall(r"^    (?:class )?([A-Za-z]\w*)\(", whole, re.MULTILINE))
    assert shown == set(corpusfmt.__all__) - {"__version__"}
    for name in set(corpusfmt.__all__) - {"__version__"}:
        page = pydoc.plain(pydoc.render_doc(getattr(corpusfmt, name)))
        assert not re.findall(r" at 0x|\bpart\b: |\b(?:worded|names_options)\b", page), name
    assert "part" not in inspect.signature(corpusfmt.stats).parameters


def test_errors_that_are_documented_are_public() -> None:
    errors = {name for name, each in vars(model).items() if isinstance(each, type) and issubclass(each, Exception)}
    assert errors <= set(corpusfmt.__all__)


def test_a_type_checker_is_told_where_each_public_name_is() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module != "importlib"]
    homes = {alias.name: node.module for node in imports for alias in node.names}
    assert homes.keys() == set(corpusfmt.__all__) - {"__version__"}
    assert homes == {name: corpusfmt._HOMES.get(name, "corpusfmt.model") for name in homes}


def test_a_misspelt_name_is_an_error_to_a_type_checker_too() -> None:
    with pytest.raises(AttributeError, match="module 'corpusfmt' has no attribute 'convrt'"):
        # Where mypy lets it pass, it says that this needs no exception: `make types` fails then.
        corpusfmt.convrt  # type: ignore[attr-defined]  # noqa: B018


def test_submodules_do_not_shadow_public_functions() -> None:
    names = {path.name.removesuffix(".py") for path in PACKAGE.iterdir()}
    assert not names & set(corpusfmt.__all__)


def test_the_table_of_outputs_is_in_the_help() -> None:
    help_text = (PACKAGE / "cli" / "options.py").read_text("utf-8")
    for name in RENDERERS:
        assert name in help_text


def test_every_command_printed_in_the_documentation_exists() -> None:
    commands = {
        "validate",
        "convert",
        "compare",
        "describe",
        "fix",
        "build",
        "rule",
        "recipe",
        "formats",
        "detect",
        "report",
        "records",
        "seal",
        "show",
        "stats",
        "datasheet",
        "doctor",
        "verify",
    }
    for page in [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]:
        for line in page.read_text("utf-8").split("\n"):
            words = line.removeprefix("$ ").split()
            if len(words) > 1 and words[0] == "corpusfmt" and line.startswith(("$ corpusfmt", "corpusfmt ")):
                assert words[1] in commands or words[1].startswith("-"), f"{page.name}: {line}"


PAGES = sorted([*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")])
WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
# Names of files, of a group of entry points, and of a site.
NOT_PYTHON = {"cdx", "github", "reports", "toml"}


def test_every_name_in_the_documentation_is_public() -> None:
    for page in PAGES:
        named = re.findall(r"\bcorpusfmt\.([A-Za-z]\w*)|\bfrom corpusfmt import (\w+)", page.read_text("utf-8"))
        names = {one or other for one, other in named} - {*corpusfmt.__all__, *NOT_PYTHON}
        assert [name for name in names if find_spec(f"corpusfmt.{name}") is None] == [], page.name


def test_every_name_in_a_docstring_of_a_public_one_is_public() -> None:
    for name in set(corpusfmt.__all__) - {"__version__"}:
        named = set(re.findall(r"`([A-Z][a-z]\w+)", getattr(corpusfmt, name).__doc__))
        assert named <= {*corpusfmt.__all__, *dir(builtins)}, name


def test_every_public_name_is_documented() -> None:
    text = (REPOSITORY / "docs" / "stability.md").read_text("utf-8")
    rows = dict(
        re.findall(r"^\| (.+?) \| (`.+`) \|$", text.partition("## Python")[2].partition("\n## ")[0], re.MULTILINE)
    )
    named = {what: set(re.findall(r"`(\w+)`", names)) for what, names in rows.items()}
    assert named.pop("`corpusfmt.langid`") == set(langid.__all__)
    assert sorted(name for names in named.values() for name in names) == corpusfmt.__all__


def test_what_is_installed_is_all_that_is_there(tmp_path: Path) -> None:
    command = [sys.executable, "setup.py", "--quiet", "build_py", "--build-lib", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True, cwd=REPOSITORY)
    built = {path.relative_to(tmp_path / "corpusfmt") for path in tmp_path.rglob("*") if path.is_file()}
    sources = {path.relative_to(PACKAGE) for path in [*MODULES, *PACKAGE.rglob("*.pyi"), PACKAGE / "py.typed"]}
    assert {path for path in built if path.parts[0] != "_data"} == sources
    assert Path("_data/schemas/recipe/recipe.schema.json") in built


def targets() -> set[str]:
    text = (REPOSITORY / "Makefile").read_text("utf-8")
    kernels = {path.parent.name for path in (REPOSITORY / "tests").glob("*/fuzz_native.cpp")}
    return {*re.findall(r"^([a-z-]+):", text, re.MULTILINE), *(f"fuzz-native-{kernel}" for kernel in kernels)}


def made(path: Path) -> set[str]:
    """Return the targets of the commands of `make` in a file: in code, where it is Markdown."""
    code = [path.read_text("utf-8")]
    if path.suffix == ".md":
        code = [
            *re.findall(r"^```\w*\n(.*?)^```$", code[0], re.DOTALL | re.MULTILINE),
            *re.findall(r"`([^`\n]+)`", code[0]),
        ]
    commands = re.findall(r"^(?: *- run:|part)? *(?:\$ )?make ([^#\n]+)", "\n".join(code), re.MULTILINE)
    return {word for command in commands for word in command.split() if re.fullmatch(r"[a-z][a-z-]*", word)}


def test_there_is_a_target_for_everything_that_is_made() -> None:
    asked = {path.name: made(path) for path in [*PAGES, *WORKFLOWS, REPOSITORY / ".ci" / "run"]}
    assert asked["README.md"] == {"demo", "test"}
    assert asked["ci.yml"] == {"lint", "test", "types", "wheel"}
    assert asked["run"] == {
        "action-test",
        "attacks",
        "benchmarks-test",
        "browser",
        "check-dist",
        "cluster-test",
        "conformance",
        "deep",
        "demo",
        "docs",
        "engines-test",
        "fuzz",
        "fuzz-native",
        "hub",
        "lint",
        "mlcroissant",
        "parts-test",
        "properties",
        "sbom",
        "remote-test",
        "terminal-test",
        "test",
        "types",
        "wheel",
    }
    for name, found in asked.items():
        assert found <= targets(), name


def test_every_action_of_a_workflow_is_pinned_to_a_commit() -> None:
    assert WORKFLOWS
    for path in WORKFLOWS:
        for used in re.findall(r"uses: (.+)", path.read_text("utf-8")):
            assert re.fullmatch(r"\./\S+|\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used), f"{path.name}: {used}"


def test_workflows_run_what_decides_and_may_do_little() -> None:
    read = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in WORKFLOWS}
    for path in WORKFLOWS:
        assert read[path.stem]["permissions"] == {"contents": "read"}
        assert "secrets." not in path.read_text("utf-8")
    ci = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in read["ci"]["jobs"].items()}
    assert (ci["linux"], ci["macos"]) == ([".ci/run"], [".ci/run"])
    jobs = read["wheels"]["jobs"]
    assert jobs["ci"] == {"uses": "./.github/workflows/ci.yml"}
    assert {name: job["permissions"] for name, job in jobs.items() if "permissions" in job} == {
        "publish": {"id-token": "write"}
    }
    assert set(jobs["publish"]["needs"]) == jobs.keys() - {"publish"}
    assert not any("run" in step for step in jobs["publish"]["steps"])


def test_each_step_of_a_workflow_can_run() -> None:
    """`.ci/run` is run for each change, and the steps of a release by the next test; here all are planned, also those of Windows."""
    jobs = [job for path in WORKFLOWS for job in yaml.safe_load(path.read_text("utf-8"))["jobs"].values()]
    steps = [step["run"] for job in jobs for step in job.get("steps", []) if "run" in step]
    assert {".ci/run", "make release"} < set(steps)
    for script in steps:
        planned = re.sub(r"^make ", "make --dry-run ", script) if script.startswith("make") else f"bash -n {script}"
        environment = {**os.environ, "GITHUB_REF_NAME": f"v{VERSION}"}
        done = subprocess.run(
            ["bash", "-ec", planned], cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{script}: {done.stderr}"


@pytest.mark.skipif("CORPUSFMT_RELEASE" not in os.environ, reason="`make release-test` runs this")
def test_the_steps_of_a_release_run(tmp_path: Path) -> None:
    """Those of the workflow, for a tag, in a clone whose change log has a date."""
    clone, tag = tmp_path / "clone", f"v{VERSION}"
    subprocess.run(["git", "clone", "--quiet", str(REPOSITORY), str(clone)], check=True)
    log = clone / "CHANGELOG.md"
    log.write_text(log.read_text("utf-8").replace("(unreleased)", "(2026-12-01)"), "utf-8")
    git = ["git", "-C", str(clone), "-c", "user.name=Example", "-c", "user.email=example@example.org"]
    subprocess.run([*git, "commit", "--quiet", "--all", "--message", f"Release {VERSION}"], check=True)
    subprocess.run([*git, "tag", "--force", tag], check=True)
    job = yaml.safe_load((clone / ".github/workflows/wheels.yml").read_text("utf-8"))["jobs"]["release"]
    for step in job["steps"]:
        if "run" in step:
            environment = {**os.environ, "GITHUB_REF_NAME": tag}
            subprocess.run(["bash", "-ec", step["run"]], cwd=clone, env=environment, check=True)
    listed = (clone / "dist/SHA256SUMS").read_text("utf-8").splitlines()
    assert {line.partition("  ")[2] for line in listed} < {path.name for path in (clone / "dist").iterdir()}


@pytest.mark.skipif(sys.platform == "win32", reason="a signal of POSIX")
def test_the_trial_of_wheels_names_the_signal_that_ended_a_process(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nkill -SEGV $$\n", "utf-8")
    python.chmod(0o755)
    with pytest.raises(subprocess.CalledProcessError, match="SIGSEGV"):
        smoke.reports(str(python))


def test_the_version_is_the_same_everywhere() -> None:
    pages = "".join(path.read_text("utf-8") for path in (REPOSITORY / "docs").rglob("*.md"))
    assert set(re.findall(r"corpusfmt@v(\d\S+)|rev: v(\S+)", pages)) == {(VERSION, ""), ("", VERSION)}
    newest = re.search(
        r"^## (\S+) \((?:unreleased|\d{4}-\d\d-\d\d)\)$", (REPOSITORY / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    assert newest
    assert newest[1] == VERSION
    recipe = yaml.safe_load((REPOSITORY / "publishing" / "conda" / "recipe.yaml").read_text("utf-8"))
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text("utf-8"))
    codemeta = json.loads((REPOSITORY / "codemeta.json").read_bytes())
    assert {recipe["context"]["version"], citation["version"], codemeta["version"]} == {VERSION}


def test_conda_asks_for_what_pip_asks_for() -> None:
    recipe = yaml.safe_load((REPOSITORY / "publishing" / "conda" / "recipe.yaml").read_text("utf-8"))
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    asked = {Requirement(each) for each in project["dependencies"]}
    python, *listed = recipe["requirements"]["run"]
    assert {Requirement(each) for each in listed} == {Requirement(f"{each.name}{each.specifier}") for each in asked}
    assert python == f"python {project['requires-python']}"


def test_editors_find_published_schemas() -> None:
    entries = json.loads((REPOSITORY / "publishing" / "schemastore.json").read_bytes())
    published = {json.loads(path.read_bytes()).get("$id") for path in (REPOSITORY / "schemas").rglob("*.schema.json")}
    assert {entry["url"] for entry in entries} <= published


def test_the_table_of_modules_is_in_the_order_of_the_layers() -> None:
    table = (REPOSITORY / "docs" / "design.md").read_text("utf-8").partition("## ")[0]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", table, re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"\w+", row)]
    assert sorted(listed) == sorted(name for name in RANKS if not name.startswith("_"))
    assert listed == sorted(listed, key=lambda name: -RANKS[name])


def test_language_identification_needs_nothing_else() -> None:
    for module in (PACKAGE / "langid").rglob("*.py"):
        assert all(name.startswith("corpusfmt.langid") for name in imported(module)), module.name


def test_each_dependency_says_what_it_is_for() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["build"]]
    page = (REPOSITORY / "docs" / "design.md").read_text("utf-8").partition("## What is installed")[2]
    rows = re.findall(r"^\| ([a-z][\w.-]+)(?: \(.*\))? \| \w", page.partition("\n## ")[0], re.MULTILINE)
    assert sorted(rows[1:]) == sorted(Requirement(each).name for each in asked)


def test_each_module_says_whom_it_is_for() -> None:
    """What CONTRIBUTING imports for formats is theirs, and provisional; of the rest, only what is documented is public."""
    text = (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8")
    shown = set(re.findall(r"^from (corpusfmt\S*) import", text, re.MULTILINE))
    audiences: dict[str, str] = {}
    for path in PACKAGE.rglob("*.py"):
        name = ".".join(["corpusfmt", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")
        audience, colon, _ = (ast.get_docstring(parsed(path)) or "").partition(": ")
        audiences[name] = audience if colon and name != "corpusfmt" else "Public"
    assert set(audiences.values()) == {"Public", "For formats", "Internal"}
    assert {name for name, audience in audiences.items() if audience == "Public"} == {"corpusfmt", "corpusfmt.langid"}
    assert {name for name in shown if audiences[name] != "For formats"} == set()
