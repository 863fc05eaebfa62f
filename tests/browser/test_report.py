"""The HTML report in Chromium: `make browser`. Nothing is requested, everything is accessible, and many findings are no obstacle."""

from __future__ import annotations

from typing import Any

import pytest
from browser.opened import BROWSER, looked

import corpusfmt
from corpusfmt.model import Coverage, Finding, Location, Problem, Report, Severity, Tally

pytestmark = BROWSER

RULES = ("DOL304", "DOL302", "GEN301", "GEN201", "OSC305", "OSC303", "DOL306", "CRO104", "MAN101", "DOL313")
FINDINGS = 100_000


def a_large_report() -> Report:
    """Return a report with more findings than a run keeps, which is some 40,000 of these."""
    tally = Tally()
    for number in range(FINDINGS):
        severity = tuple(Severity)[number % 10 % 3]
        at = Location(f"{number % 37:02}/{number % 1000}.gz", number + 1)
        problem = Problem(f"number {number}", at, "write it otherwise")
        tally.findings.append(Finding(RULES[number % 10], "a-rule", severity, problem))
        tally.counts[RULES[number % 10], severity, at.path] += 1
    return Report("dolma", "1.0", tally, Coverage(1000, 1000))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("browser")
    page = folder / "report.html"
    page.write_text(corpusfmt.render(a_large_report(), "html"), "utf-8")
    return looked("report", page)


def test_all_kept_findings_are_there_and_are_filtered(found: dict[str, Any]) -> None:
    assert found["all"] == "100,000 of 100,000 findings"
    assert found["filtered"] == "111 of 100,000 findings"
    assert found["of one rule"] == ["DOL304"]
    warnings = {RULES[number] for number in range(10) if number % 3}
    assert set(found["without errors"]) == warnings


def test_rows_appear_as_they_come_into_view(found: dict[str, Any]) -> None:
    assert (found["opened"], found["scrolled"]) == (200, 400)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(scheme: str, found: dict[str, Any]) -> None:
    assert found[f"violations, {scheme}"] == []
