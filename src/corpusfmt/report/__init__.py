"""Internal: A report in the shapes that people and machines read: one small function per output, one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Protocol

from corpusfmt.extensions import Extensions, extensions
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


@cache
def _further_renderers() -> Extensions[Renderer]:
    def fault_of(name: str, found: Any) -> str | None:
        if name in RENDERERS:
            return "the name is taken"
        return None if callable(found) else f"it is {type(found).__name__}, expected a function of a report"

    return extensions("corpusfmt.reports", fault_of)


def renderer(name: str) -> Renderer:
    """Return a renderer, of this package or of another distribution's entry point in the group `corpusfmt.reports`.

    Raises `UsageError` for an unknown name.
    """
    if name in RENDERERS:
        return RENDERERS[name]
    further = _further_renderers()
    if name in further.loaded:
        return further.loaded[name]
    known = ", ".join([*RENDERERS, *further.loaded])
    raise UsageError(f"unknown output format {clipped(name)!r}; known: {known}{further.explained()}")


#: What is written for a terminal of any encoding; machines and browsers are given UTF-8.
FOR_TERMINALS = frozenset({"full", "concise", "grouped"})


def render(report: Report, output_format: str = "full", *, max_findings: int = 100, show_info: bool = False) -> str:
    """Return a report as text. Raises `UsageError` for an unknown output format.

    Text and annotations have at most `max_findings` findings, the worst of them, and with `show_info` also those that are
    merely worth knowing; other outputs have all that was kept.
    """
    return "".join(f"{line}\n" for line in renderer(output_format)(report, View(max_findings, show_info)))
