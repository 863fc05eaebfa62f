"""Internal: Output formats of a report, with one function per format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Protocol

from corpusfmt.extensions import Extensions, extensions
from corpusfmt.model import Report, UsageError
from corpusfmt.report.view import DEFAULT_VIEW, View
from corpusfmt.wording import unknown


class Renderer(Protocol):
    """Yields the lines of a report, without line ends; `view` limits the findings shown to people."""

    def __call__(self, report: Report, view: View = DEFAULT_VIEW, /) -> Iterable[str]: ...


def _of(module: str, name: str) -> Renderer:
    """Return a renderer whose module is imported by its first call: a run needs few of them."""

    def render(report: Report, view: View = DEFAULT_VIEW) -> Iterable[str]:
        found: Renderer = getattr(import_module(f"corpusfmt.report.{module}"), name)
        return found(report, view)

    return render


RENDERERS: Mapping[str, Renderer] = {
    "full": _of("text", "full"),
    "concise": _of("text", "concise"),
    "grouped": _of("text", "grouped"),
    "json": _of("machine", "json_object"),
    "jsonl": _of("machine", "json_lines"),
    "sarif": _of("machine", "sarif"),
    "junit": _of("machine", "junit"),
    "github": _of("machine", "github"),
    "gitlab": _of("machine", "gitlab"),
    "markdown": _of("text", "markdown"),
    "html": _of("web", "html"),
}


@cache
def _further_renderers() -> Extensions[Renderer]:
    def fault_of(name: str, found: Any) -> str | None:
        if name in RENDERERS:
            return "the name is taken"
        return None if callable(found) else f"found {type(found).__name__}, expected a function of a report"

    return extensions("corpusfmt.reports", fault_of)


def renderer(name: str) -> Renderer:
    """Return a renderer of this package or of an entry point in the group `corpusfmt.reports`.

    Raises `UsageError` for an unknown name.
    """
    if name in RENDERERS:
        return RENDERERS[name]
    further = _further_renderers()
    if name in further.loaded:
        return further.loaded[name]
    raise UsageError(unknown("output format", name, [*RENDERERS, *further.loaded]) + further.explained())


#: Written in the terminal's encoding; all others are UTF-8.
FOR_TERMINALS = frozenset({"full", "concise", "grouped"})


def render(report: Report, output_format: str = "full", *, max_findings: int = 100, show_info: bool = False) -> str:
    """Return a report as text. Raises `UsageError` for an unknown output format.

    Text and annotations show at most `max_findings` findings, worst first, and include severity info only with
    `show_info`; other outputs contain all kept findings.
    """
    return "".join(f"{line}\n" for line in renderer(output_format)(report, View(max_findings, show_info)))
