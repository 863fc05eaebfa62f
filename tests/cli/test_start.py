"""Help is instant: nothing slow is imported for it. What commands import is pinned in tests/counts."""

from __future__ import annotations

import compileall
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import FIXTURES, REPOSITORY

import corpusfmt
from corpusfmt._version import VERSION

SLOW = (
    "pyld",
    "jsonschema",
    "warcio",
    "fasttext",
    "numpy",
    "fsspec",
    "rich.progress",
    "hypothesis",
    "pyarrow",
)


@pytest.mark.parametrize("arguments", [["validate", "--help"], ["build", "--help"]])
def test_no_slow_module_is_loaded(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from corpusfmt.cli import main\n"
        f"sys.argv = ['corpusfmt', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print('LOADED', sorted(set({SLOW!r}) & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.endswith("LOADED []\n")


@pytest.mark.parametrize(
    "checked",
    ["croissant/1.1/valid/array/input.json", "dolma/1.0/valid/json-and-jsonl-side-by-side/input/documents/b.jsonl.gz"],
)
def test_a_small_check_loads_nothing_that_it_does_not_use(checked: str) -> None:
    slow = {"inspect", "tomllib", "numpy", "jsonschema", "pyld", "fsspec", "rich", "typer", "multiprocessing"}
    path = FIXTURES / checked
    slow |= {"concurrent.futures", "logging", "traceback", "hashlib", "calendar", "backports.zstd", "compression.zstd"}
    code = (
        "import sys\n"
        "from corpusfmt.cli import main\n"
        f"sys.argv = ['corpusfmt', 'validate', {str(path)!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print('LOADED', sorted({slow!r} & sys.modules.keys()))"
    )
    folder = path.anchor  # where no settings are
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, cwd=folder)
    assert done.stdout.endswith("LOADED []\n")


# What commands share; all else in the package is one command, or used by some.
SHARED = {
    "app",
    "shards",
    "bounds",
    "commands",
    "completion",
    "console",
    "inputs",
    "options",
    "outcome",
    "progress",
    "running",
}


@pytest.mark.parametrize(
    ("command", "others"),
    [
        ("validate", set()),
        ("fix", {"validate"}),
        ("convert", set()),
        ("describe", set()),
        ("build", set()),
        ("stats", {"show"}),
        ("doctor", set()),
        ("report", {"merge", "render", "validate"}),
        ("rule", {"catalogue"}),
    ],
)
def test_a_command_imports_no_other(command: str, others: set[str]) -> None:
    code = (
        "import sys\n"
        "from corpusfmt.cli import main\n"
        f"sys.argv = ['corpusfmt', {command!r}, '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(*[name[14:] for name in sys.modules if name.startswith('corpusfmt.cli.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert set(done.stdout.splitlines()[-1].split()) - SHARED - others <= {command}


def test_the_version_is_printed_without_typer() -> None:
    code = (
        "import sys\n"
        "from corpusfmt.cli import main\n"
        "sys.argv = ['corpusfmt', '--version']\n"
        "main()\n"
        "print({'typer', 'msgspec', 'corpusfmt.cli.app'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.splitlines() == [f"corpusfmt {VERSION}", "set()"]


def test_the_first_collection_of_garbage_keeps_the_modules_and_later_ones_collect() -> None:
    code = (
        "import gc, sys\n"
        "from corpusfmt.cli import main\n"
        "sys.argv = ['corpusfmt', 'formats', '-q']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "before = gc.get_freeze_count()\n"
        "gc.collect(0)\n"
        "kept = gc.get_freeze_count()\n"
        "circle = []\ncircle.append(circle)\ndel circle\n"
        "print(before, kept > 1000, gc.collect(), gc.get_freeze_count() == kept)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.splitlines()[-1] == "0 True 1 True"


@pytest.mark.skipif(os.name == "nt", reason="on Windows, typer expands patterns")
def test_paths_alone_are_validated_without_typer_with_the_same_output_and_status(tmp_path: Path) -> None:
    for case in "valid/array", "invalid/value-and-source":
        copied = (FIXTURES / "croissant/1.1" / case / "input.json").read_bytes()
        (tmp_path / case.replace("/", "-")).with_suffix(".json").write_bytes(copied)
    code = (
        "import sys\n"
        "from corpusfmt.cli import main\n"
        "sys.argv[0] = 'corpusfmt'\n"
        "try:\n    main()\n"
        "except SystemExit as ended:\n    print(ended.code, 'typer' in sys.modules)"
    )

    def run(*words: str) -> tuple[list[str], str, bytes]:
        command = [sys.executable, "-c", code, "validate", *words]
        done = subprocess.run(command, capture_output=True, check=True, cwd=tmp_path)
        *printed, last = done.stdout.decode().splitlines()
        status, imported = last.split()
        assert imported == str(words[0].startswith("-"))
        return printed, status, done.stderr

    statuses = []
    valid, invalid = "valid-array.json", "invalid-value-and-source.json"
    for paths in [valid], [invalid], [invalid, valid], ["*.json"], ["missing"], [""]:
        found = run(*paths)
        assert found == run("--format=auto", *paths)
        statuses.append(found[1])
    assert statuses == ["0", "1", "1", "1", "2", "2"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is a device of Linux")
@pytest.mark.parametrize("argument", ["--help", "--version", "formats"])
def test_standard_output_on_a_full_device(argument: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "corpusfmt", argument], stdout=full, stderr=subprocess.PIPE, check=False, text=True
        )
    assert done.returncode == 3
    assert re.fullmatch(r"error: .*No space left on device\n", done.stderr)


@pytest.mark.skipif(os.name == "nt", reason="a POSIX shell closes streams")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("case", "status"), [("valid/array", 0), ("invalid/value-and-source", 1)])
def test_closed_streams_leave_the_exit_status(closed: str, case: str, status: int) -> None:
    command = f'"$1" -m corpusfmt validate "$2" {closed}'
    path = FIXTURES / "croissant/1.1" / case / "input.json"
    done = subprocess.run(
        ["sh", "-c", command, "sh", sys.executable, path], capture_output=True, check=False, text=True
    )
    assert (done.returncode, "Traceback" in done.stderr) == (status, False)


def test_the_registry_needs_no_slow_module() -> None:
    code = (
        f"import sys, corpusfmt.formats; corpusfmt.formats.formats(); print(sorted(set({SLOW!r}) & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"


def test_formats_are_found_where_modules_have_no_sources(tmp_path: Path) -> None:
    """As they are in a browser."""
    installed = Path(corpusfmt.__file__).parent
    package = shutil.copytree(installed, tmp_path / "corpusfmt", ignore=shutil.ignore_patterns("__pycache__"))
    for data in ("schemas", "pipeline"):
        if not (package / "_data" / data).exists():  # as in a wheel
            shutil.copytree(REPOSITORY / data, package / "_data" / data)
    assert compileall.compile_dir(package, quiet=2, legacy=True)
    for source in package.rglob("*.py"):
        source.unlink()
    row = tmp_path / "a.jsonl"
    row.write_bytes(b'{"id": "1", "text": "x", "source": "s"}\n')
    code = "import corpusfmt, sys; print(corpusfmt.__file__, corpusfmt.validate(sys.argv[1]).verdict.value)"
    done = subprocess.run([sys.executable, "-c", code, row], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"{package / '__init__.pyc'} valid\n", "")
