"""A report in the shapes that people and machines read: one small function per output, one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from corpusfmt.model import Report, UsageError
from corpusfmt.report.machine import github, gitlab, json_lines, json_object, junit, sarif
from corpusfmt.report.pages import html, markdown
from corpusfmt.report.text import concise, full, grouped
from corpusfmt.report.view import DEFAULT_VIEW, View
from corpusfmt.wording import clipped


class Renderer(Protocol):
    """Yields the lines of a report; `view` says how much of the findings is shown to people."""

    def __call__(self, report: Report, view: View = DEFAULT_VIEW, /) -> Iterable[str]: ...


#: Each renderer yields the lines of its output, without line ends.
RENDERERS: Mapping[str, Renderer] = {
    "full": full,
    "concise": concise,
    "grouped": grouped,
    "json": json_object,
    "jsonl": json_lines,
    "sarif": sarif,
    "junit": junit,
    "github": github,
    "gitlab": gitlab,
    "markdown": markdown,
    "html": html,
}


#: What is written for a terminal of any encoding; machines and browsers are given UTF-8.
FOR_TERMINALS = frozenset({"full", "concise", "grouped"})


def render(report: Report, output_format: str = "full", *, max_findings: int = 100, show_info: bool = False) -> str:
    """Return a report as text. Raises `UsageError` for an unknown output format.

    Text and annotations have at most `max_findings` findings, the worst of them, and with `show_info` also those that are
    merely worth knowing; other outputs have all that was kept.
    """
    if output_format not in RENDERERS:
        raise UsageError(f"unknown output format {clipped(output_format)!r}; known: {', '.join(RENDERERS)}")
    return "".join(f"{line}\n" for line in RENDERERS[output_format](report, View(max_findings, show_info)))
