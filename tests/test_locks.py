"""Locks contain the project's requirements, pinned by hash, and nothing about the machine that made them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support import REPOSITORY

LOCKS = sorted((REPOSITORY / "locks").glob("*.txt"))
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
_PINNED = re.compile(r"[a-z0-9-]+(\[[a-z0-9,-]+\])?==[^ ;]+( ; .+)?")
_HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}")


def pinned(name: str) -> dict[str, set[str]]:
    """Return the versions of each package in a lock: several, where they depend on the Python."""
    found: dict[str, set[str]] = {}
    for line in (REPOSITORY / "locks" / f"{name}.txt").read_text("utf-8").split("\n"):
        if _PINNED.fullmatch(line.removesuffix(" \\")):
            requirement = Requirement(line.removesuffix(" \\"))
            (specifier,) = requirement.specifier
            found.setdefault(requirement.name, set()).add(specifier.version)
    return found


def asked(extra: str | None) -> Iterator[Requirement]:
    project = PROJECT["project"]
    listed = project["optional-dependencies"][extra] if extra else []
    for requirement in map(Requirement, [*PROJECT["build-system"]["requires"], *project["dependencies"], *listed]):
        if requirement.name == "corpusfmt":
            for other in requirement.extras:
                yield from asked(other)
        else:
            yield requirement


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_a_lock_has_pins_with_hashes_and_nothing_else(path: Path) -> None:
    lines = [line for line in path.read_text("utf-8").split("\n") if line and not line.startswith("#")]
    assert lines
    for line in lines:
        text = line.removesuffix(" \\")
        assert _PINNED.fullmatch(text) or _HASH.fullmatch(text), line
    for before, after in zip(lines, [*lines[1:], ""], strict=True):
        assert before.endswith(" \\") == after.startswith("    --hash"), before


@pytest.mark.parametrize(("lock", "extra"), [("run", None), ("build", "build"), ("dev", "dev"), ("ray", "ray")])
def test_a_lock_serves_what_the_project_asks_for(lock: str, extra: str | None) -> None:
    locked = pinned(lock)
    for requirement in asked(extra):
        versions = locked.get(canonicalize_name(requirement.name), set())
        assert versions, f"{requirement} is not locked: run `make lock`"
        assert all(map(requirement.specifier.contains, versions)), f"{requirement}, locked: {versions}: run `make lock`"


@pytest.mark.parametrize("group", ["release", "mlcroissant", "hub", "peers", "compared", "browser", "docs"])
def test_the_tools_of_a_group_are_locked(group: str) -> None:
    locked = pinned(group)
    for requirement in map(Requirement, PROJECT["dependency-groups"][group]):
        assert locked[canonicalize_name(requirement.name)], f"{requirement}: run `make lock`"


def test_the_page_that_compares_names_the_locked_versions() -> None:
    page = (REPOSITORY / "docs" / "compared-with.md").read_text("utf-8")
    named = re.findall(r"^\| \[`?([\w-]+).*?\]\(\S+\) (\S+) \|", page, re.MULTILINE)
    locked = {name: found for lock in ("compared", "mlcroissant", "hub") for name, found in pinned(lock).items()}
    assert len(named) == 6
    for name, version in named:
        assert {version} == locked[{"hf": "huggingface-hub"}.get(name, name)], name
    # `make remote-test` runs `hf` from the environment of all tests.
    assert pinned("dev")["huggingface-hub"] == locked["huggingface-hub"]


def test_locks_agree() -> None:
    versions = pinned("dev")
    for lock in ("run", "build", "release"):
        for name, found in pinned(lock).items():
            assert found <= versions.get(name, found), f"{name} in {lock}: run `make lock`"


def test_data_of_others_is_named_with_its_licence() -> None:
    project, notice = PROJECT["project"], (REPOSITORY / "NOTICE").read_text("utf-8")
    assert set(project["license-files"]) == {"LICENSE", "NOTICE"}
    assert {f"SPDX: {each}" for each in project["license"].split(" AND ")[1:]} == set(
        re.findall(r"SPDX: [\w.-]+(?=[.,])", notice)
    )
    named = re.findall(r"\b(?:schemas|src)/[\w./]+\.\w+", notice)
    assert {"schemas/unicode/letters.tsv", "src/corpusfmt/io/_nfc.hpp", "schemas/croissant/schema.org.txt"} == set(
        named
    )
    assert all((REPOSITORY / each).is_file() for each in named)
