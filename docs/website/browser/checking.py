"""What the page does with a file, in Python: runs in the browser, in the worker of the page."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from difflib import unified_diff
from pathlib import Path
from types import ModuleType
from typing import Any

import corpusfmt
from corpusfmt.engine.progress import Progress
from corpusfmt.formats import named_format
from corpusfmt.model import CorpusfmtError, Report
from corpusfmt.report.text import verdict_line

# pyld imports it for documents in HTML, which are never fetched, and there is no wheel of it for WebAssembly.
sys.modules |= {name: ModuleType(name) for name in ("lxml", "lxml.html")}


# What is said to those who have the command line.
_COMMANDS = r" Explain one with (?:`|<code>)corpusfmt rule \w+(?:`|</code>)\.|: (?:`|<code>)corpusfmt fix .*?(?:`|</code>)(?=\.)"


def warm_up(*descriptions: str) -> None:
    """Check and repair descriptions, and with that import what checks need."""
    for description in descriptions:
        path = Path("croissant.json")
        path.write_text(description, "utf-8")
        for profile in ("standard", "neurips-2026"):
            checked(path.name, profile, "croissant", print)
            fixed(path.name, profile, "croissant")
        path.unlink()


def checked(name: str, profile: str, format_: str, tell: Callable[[float], None]) -> dict[str, Any]:
    """Check a file of the working folder; return the report as HTML and as the JSON of the command line."""
    try:
        report = corpusfmt.validate(
            name, format=format_, profile=profile, jobs=1, progress=lambda progress: tell(_share(progress))
        )
    except CorpusfmtError as error:
        return {"summary": _without_options(str(error)), "html": "", "json": "", "offersFixes": False}
    report.arguments["base"] = "."
    return {
        "summary": re.sub(_COMMANDS, "", verdict_line(report)),
        "html": re.sub(_COMMANDS, "", corpusfmt.render(report, "html")),
        "json": corpusfmt.render(report, "json"),
        "offersFixes": _offers_fixes(report),
    }


def fixed(name: str, profile: str, format_: str) -> dict[str, Any]:
    """Repair a file of the working folder; return its new content, or None if nothing was repaired."""
    try:
        made = corpusfmt.fix(name, format=format_, profile=profile, write=False)
    except CorpusfmtError as error:
        return {"summary": str(error), "content": None}
    change = next((each for each in made.changes if each.path == Path(name).name), None)
    content = change.after if change else None
    before, after = (_lines(each) for each in ((change.before, change.after) if change else (None, None)))
    diff = "\n".join(unified_diff(before, after, n=2, lineterm=""))
    repaired = ", ".join(f"{code} ({count})" for code, count in sorted(made.repaired.items()))
    return {
        "summary": f"Fixes: {repaired}" if content else "Nothing can be repaired safely.",
        "content": content,
        "diff": diff,
    }


def _without_options(message: str) -> str:
    """Return a message for those who choose a format on the page."""
    return message.replace("`format`", "Format")


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "replace").splitlines()


def _share(progress: Progress) -> float:
    return progress.bytes / progress.bytes_total if progress.bytes_total else 0.0


def _offers_fixes(report: Report) -> bool:
    return report.format != "unknown" and named_format(report.format)[0].offers_edits
