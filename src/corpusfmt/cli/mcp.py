"""Internal: `corpusfmt mcp`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from corpusfmt.cli.outcome import guarded
from corpusfmt.model import CorpusfmtError, Json, UsageError, names_options

Root = Annotated[
    Path,
    typer.Argument(
        metavar="[DIR]", exists=True, file_okay=False, help="The folder that may be read, with all below it."
    ),
]


@guarded
def command(root: Root = Path()) -> None:
    """Serve agents by the Model Context Protocol: validate, explain, fix as a diff, describe; nothing is written or fetched."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        raise UsageError("the server needs a package: run `pip install 'corpusfmt[mcp]'`") from error
    os.chdir(root)
    folder = os.path.realpath(".")
    server: Any = MCPServer("corpusfmt", instructions=f"Paths are relative to {folder}.")

    def answering(tool: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(tool)
        def answer(*arguments: Any, **options: Any) -> Any:
            try:
                return tool(*arguments, **options)
            except (CorpusfmtError, OSError) as error:  # of others, the library says no more than that there was one
                raise ToolError(str(error)) from error

        return answer

    for tool in _tools(folder):
        server.tool()(answering(tool))
    names_options.set(False)  # agents give arguments
    server.run("stdio")


def _tools(root: str) -> list[Any]:
    from corpusfmt.cli.catalogue import explained
    from corpusfmt.cli.excerpt import excerpts
    from corpusfmt.cli.fix import differences
    from corpusfmt.description import describe as described
    from corpusfmt.engine.fix import fix as fixed
    from corpusfmt.engine.validate import validate as validated
    from corpusfmt.report.text import full
    from corpusfmt.report.view import View

    def inside(path: str) -> str:
        """Return a path. Raises `UsageError` unless it leads into the folder."""
        if "://" in path or os.path.commonpath([root, os.path.realpath(path)]) != root:
            raise UsageError(f"{path} is not below {root}: name a path in that folder")
        return path

    def validate(
        path: str,
        format: str = "auto",  # noqa: A002 - the name that messages give
        profile: str = "standard",
        data: bool = False,
    ) -> str:
        """Check a corpus (OSCAR, Dolma, JSON Lines, Parquet, text) or a Croissant description.

        Returns findings with path, line, rule and repair, and a verdict: VALID, INVALID, or INCOMPLETE where something could
        not be read. `data` also checks the files that a description describes. Profiles: standard, strict, hub, neurips-2026.
        """
        report = validated(inside(path), format=format, profile=profile, data=data)
        view = View(excerpt=excerpts([path], follow_links=False))
        return "".join(f"{line}\n" for line in full(report, view))

    def explain(rule: str) -> list[Json]:
        """Explain rules by code (like CRO206), the beginning of codes, or slug: reason, example and fix."""
        return explained([rule])

    def fix(path: str, unsafe: bool = False) -> str:
        """Return the repairs of findings that need no decision by the author, as a unified diff; nothing is written.

        `unsafe` adds repairs that may change what is said, which the author must review.
        """
        changes = fixed(inside(path), unsafe=unsafe, write=False).changes
        return "\n".join(line for change in changes for line in differences(change, change.path, change.to))

    def describe(path: str) -> str:
        """Describe a folder of data as Croissant: JSON-LD with files, digests, fields and types; nothing is written."""
        return json.dumps(described(inside(path)), indent=1, ensure_ascii=False)

    return [validate, explain, fix, describe]
