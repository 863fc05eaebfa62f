"""A report in the shapes that people and machines read: one small function per output, one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from corpusfmt.model import Report, UsageError
from corpusfmt.report.machine import github, gitlab, json_lines, json_object, junit, sarif
from corpusfmt.report.pages import html, markdown
from corpusfmt.report.text import concise, full, grouped

Renderer = Callable[[Report], Iterable[str]]

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


def render(report: Report, output_format: str = "full") -> str:
    """Return a report as text. Raises `UsageError` for an unknown output format."""
    if output_format not in RENDERERS:
        raise UsageError(f"unknown output format {output_format!r}; known: {', '.join(RENDERERS)}")
    return "".join(f"{line}\n" for line in RENDERERS[output_format](report))
