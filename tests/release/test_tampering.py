"""Kinds of tampering, in each format: all are noticed, in the right file, and each is reported once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from release.tampering import FORMATS, KINDS, data_of, make

import corpusfmt


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return make(tmp_path_factory.mktemp("releases"))


def test_there_are_a_hundred_cases() -> None:
    assert len(FORMATS) * len(KINDS) >= 100


@pytest.mark.parametrize("name", FORMATS)
def test_releases_are_intact_before(name: str, releases: dict[str, Path]) -> None:
    assert corpusfmt.verify(releases[name]).findings == []
    assert corpusfmt.validate(releases[name]).counts["error"] == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FORMATS)
def test_tampering_is_noticed(name: str, kind: str, releases: dict[str, Path], tmp_path: Path) -> None:
    root = tmp_path / "release"
    shutil.copytree(releases[name], root)
    path = KINDS[kind](root, data_of(root))
    found = corpusfmt.verify(root)
    paths = [each.location.path for each in found.findings]
    # A manifest that was edited contradicts itself in several ways.
    assert set(paths) == {path}
    assert len(paths) == 1 or path == "MANIFEST.json"
    if (FORMATS.index(name) + list(KINDS).index(kind)) % 2:
        return
    # The other half would show no more, and takes time.
    report = corpusfmt.validate(root, format=name)
    assert path in {each.location.path for each in report.findings if each.severity == "error"}
    assert report.verdict is corpusfmt.Verdict.INVALID
    assert [each.code for each in report.findings if each.code.startswith("GEN00")] == []
