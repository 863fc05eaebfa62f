"""Pages opened in Chromium by `look.py`.

CORPUSFMT_BROWSER names the Python of an environment that has playwright, next to the package axe-core; CORPUSFMT_CHROMIUM the browser.
With CORPUSFMT_SCREENSHOTS, the screenshots are kept in that folder.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

PYTHON, CHROMIUM = os.environ.get("CORPUSFMT_BROWSER", ""), os.environ.get("CORPUSFMT_CHROMIUM", "")
AXE = Path(PYTHON).parents[1] / "package/axe.min.js" if PYTHON else Path()
BROWSER = pytest.mark.skipif(not PYTHON, reason="CORPUSFMT_BROWSER is not set")


def driven(script: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Run a script of this folder with playwright."""
    tests = Path(__file__).parents[1]
    return subprocess.Popen(
        [PYTHON, "-m", f"browser.{script}", *arguments], cwd=tests, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def seen(running: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Return what a script found."""
    said, wrong = running.communicate(timeout=600)
    assert running.returncode == 0, wrong.decode()
    found: dict[str, Any] = json.loads(said)
    return found


def looked(kind: str, page: Path) -> dict[str, Any]:
    """Return what happened when a page was used as its kind is."""
    shots = os.environ.get("CORPUSFMT_SCREENSHOTS", str(page.parent))
    found = seen(driven("look", kind, CHROMIUM, page.as_uri(), str(AXE), shots))
    assert (found["requests"], found["heard"]) == ([page.as_uri()], []), "nothing is requested, nothing is said"
    return found
