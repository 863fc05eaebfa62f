"""A plugin of pytest: how long each test takes, which one failed first, and the name of the test for processes it starts."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest

#: Where coverage finds its settings in a process that a measured one starts.
_HANDED_DOWN = "COVERAGE_PROCESS_CONFIG"
_durations: dict[str, float] = {}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let what is measured in processes that the test starts be of the test."""
    if handed_down := os.environ.get(_HANDED_DOWN):
        settings = json.loads(base64.b64decode(handed_down))
        settings["context"] = item.nodeid
        os.environ[_HANDED_DOWN] = base64.b64encode(json.dumps(settings).encode()).decode()


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
