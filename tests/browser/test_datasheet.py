"""The datasheet in Chromium: `make browser`. It is sorted with the keyboard, printed whole, and accessible."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser.opened import BROWSER, looked
from support import run_cli

import corpusfmt

pytestmark = BROWSER


@pytest.fixture(scope="module")
def found(oscar_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    page = tmp_path_factory.mktemp("browser") / "datasheet.html"
    report = page.with_name("report.json")
    assert run_cli("validate", oscar_corpus, "--report", f"json={report}").returncode == 0
    assert run_cli("datasheet", oscar_corpus, "-o", page, "--verdict", report).returncode == 0
    return looked("datasheet", page)


def test_languages_are_sorted_with_the_keyboard(found: dict[str, Any], oscar_corpus: Path) -> None:
    sizes = corpusfmt.stats(oscar_corpus, count=[]).by_language
    assert found["at first"] == list(sizes)[:3]
    assert found["by name"] == ["ascending", sorted(sizes)[:3]]
    numbers = [sizes[name].documents for name in sizes]
    for key, order, reverse in (("by documents", "descending", True), ("by fewest", "ascending", False)):
        sort, first = found[key]
        assert sort == order
        assert [sizes[name].documents for name in first] == sorted(numbers, reverse=reverse)[:3]


def test_samples_open_and_everything_is_printed(found: dict[str, Any]) -> None:
    assert found["samples"] > 0
    assert found["pages"] > 3
    assert (found["closed when printed"], found["closed"]) == (0, found["closed at first"] - 1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(scheme: str, found: dict[str, Any]) -> None:
    assert found[f"violations, {scheme}"] == []
