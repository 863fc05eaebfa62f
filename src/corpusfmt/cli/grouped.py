"""Internal: Help pages with grouped options in plain text, without boxes."""

from __future__ import annotations

from typing import Any

from typer.core import TyperArgument, TyperCommand


class GroupedCommand(TyperCommand):
    """Prints options under the name of their `rich_help_panel`; options without a panel come first."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            default = "Arguments" if isinstance(param, TyperArgument) else "Options"
            record = param.get_help_record(ctx)
            if record is not None:
                groups.setdefault(getattr(param, "rich_help_panel", None) or default, []).append(record)
        first = [name for name in ("Arguments", "Options") if name in groups]
        for name in [*first, *(name for name in groups if name not in first)]:
            with formatter.section(name):
                formatter.write_dl(groups[name])
