"""A plugin of pytest: how long each test takes, which one failed first, and the name of the test for processes it starts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

_durations: dict[str, float] = {}


def pytest_runtest_setup(item: pytest.Item) -> None:
    os.environ["CORPUSFMT_TEST"] = item.nodeid


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and report.passed:  # what fails without a mutant says nothing of one
        _durations[report.nodeid] = report.duration
    if report.failed and (target := os.environ.get("CORPUSFMT_FAILED")):
        Path(target).write_text(report.nodeid, "utf-8")


def pytest_sessionfinish() -> None:
    # Workers report to the process that started them.
    if (target := os.environ.get("CORPUSFMT_DURATIONS")) and "PYTEST_XDIST_WORKER" not in os.environ:
        known = json.loads(Path(target).read_text("utf-8"))
        Path(target).write_text(json.dumps(known | _durations), "utf-8")
