"""Help is instant: nothing slow is imported for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW = (
    "rdflib",
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


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["validate", "--help"], ["build", "--help"]])
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


def test_the_registry_needs_no_slow_module() -> None:
    code = (
        f"import sys, corpusfmt.formats; corpusfmt.formats.formats(); print(sorted(set({SLOW!r}) & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"
