"""Internal: What commands have in common: -q, -v and -o, and help pages with grouped options, without boxes."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, cast, get_args

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from corpusfmt.cli.console import Colour, Loudness, detail, set_colour, set_loudness
from corpusfmt.model import UsageError
from corpusfmt.options import BOUNDS

#: The commands by what they are for.
GROUPS = {
    "Check": ("validate", "fix", "compare", "rule"),
    "Convert": ("convert", "formats", "detect"),
    "Describe": ("describe", "records", "stats", "datasheet", "show"),
    "Build": ("build", "recipe"),
    "Release": ("seal", "verify", "report"),
    "Tools": ("lsp", "mcp", "doctor"),
}
EXAMPLES = {
    "validate": "oscar --profile strict",
    "fix": "croissant.json --diff",
    "compare": "v1 v2 --report html=changes.html",
    "rule": "CRO119",
    "convert": "oscar dolma --to dolma",
    "detect": "corpus",
    "describe": "corpus -o corpus/croissant.json",
    "records": "croissant.json --record-set documents -n 3",
    "stats": "corpus --report json=stats.json",
    "datasheet": "corpus -o datasheet.html",
    "show": "corpus --random -n 3",
    "build": "wet -o corpus",
    "recipe": "oscar-1.1",
    "seal": "corpus --attest",
    "verify": "corpus",
    "report merge": "*.part",
    "report render": "run.json --output-format html",
}
_SITE = "https://corpusfmt.github.io/latest"
# Sections of the help that few need.
_RARE = (BOUNDS, "Shards")

# What stands for the value of an option without a name for it, by the first letter of its type.
_METAVARS = {"i": "N", "f": "N", "s": "TEXT"}

# Keys of what is kept in the context of a command.
_OUTPUT, _LOUDNESS = "corpusfmt.output", "corpusfmt.loudness"


def louder(context: Any, parameter: Any, wanted: bool) -> None:
    if wanted:
        if context.meta.setdefault(_LOUDNESS, parameter.name) != parameter.name:
            raise typer.BadParameter("-q and -v contradict each other: remove one")
        set_loudness(Loudness.QUIET if parameter.name == "quiet" else Loudness.VERBOSE)


def _coloured(_context: Any, _parameter: Any, wanted: str | None) -> None:
    if wanted is not None:
        if wanted not in get_args(Colour):
            raise typer.BadParameter(f"{wanted!r} is not one of {', '.join(map(repr, get_args(Colour)))}.")
        set_colour(cast("Colour", wanted))


class Command(TyperCommand):
    """A command with -q and -v; like --color, they may also be written before its name."""

    def get_params(self, ctx: Any) -> list[Any]:
        *own, last = super().get_params(ctx)
        return [*own, *self.shared_options(), last]

    def shared_options(self) -> list[TyperOption]:
        """Return the options that are the same for all commands of this kind."""
        return _options_everywhere()

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Print options by section; those that few need only for `--help --all`."""
        sections = sections_of(self, ctx)
        hidden = [] if "--all" in sys.argv else [name for name in sections if name in _RARE]
        for name, records in sections.items():
            if name not in hidden:
                with formatter.section(name):
                    formatter.write_dl(records)
        if hidden:
            formatter.write_paragraph()
            formatter.write_text(f"With --help --all also: {', '.join(hidden).lower()}.")

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Print an example and where to read more."""
        words = ctx.command_path.removeprefix(ctx.find_root().command_path).split()
        formatter.write_paragraph()
        if words and (example := EXAMPLES.get(" ".join(words))):
            formatter.write_text(f"Example: corpusfmt {' '.join(words)} {example}")
        formatter.write_text(f"{_SITE}/commands/{'-'.join(words)}/")

    def invoke(self, ctx: Any) -> Any:
        began = time.monotonic()
        if outputs := _outputs(ctx):
            from corpusfmt.cli.outcome import guarded

            guarded(_refuse_second_use)(outputs)
        try:
            return super().invoke(ctx)
        finally:
            detail(f"{ctx.info_name}: {_spent(time.monotonic() - began)}")


class Group(TyperGroup):
    """Commands under a name, between which and theirs -q, -v and --color may be written, too."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Print the commands by what they are for, with whole summaries."""
        for title, group in (GROUPS if ctx.parent is None else {"Commands": self.list_commands(ctx)}).items():
            known = [(name, self.get_command(ctx, name)) for name in group]
            records = [(name, command.get_short_help_str(limit=1_000)) for name, command in known if command]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def get_params(self, ctx: Any) -> list[Any]:
        *own, last = super().get_params(ctx)
        return [*own, *_options_everywhere(hidden=True), last]


class PrintingCommand(Command):
    """A command that prints a result, which -o writes to a file."""

    def shared_options(self) -> list[TyperOption]:
        output = "Write the output to a file, whole or not at all."
        return [
            _option("output", "-o", "--output", help=output, metavar="FILE|URL", callback=_keep),
            *super().shared_options(),
        ]

    def invoke(self, ctx: Any) -> Any:
        path = ctx.meta.get(_OUTPUT)
        if path in (None, "-"):
            return super().invoke(ctx)
        from corpusfmt.cli.outcome import guarded

        return guarded(self._printing_to)(path, ctx)

    def _printing_to(self, path: str, ctx: Any) -> Any:
        from corpusfmt.cli.outcome import Stopped
        from corpusfmt.io.publish import output_at, publish
        from corpusfmt.report import RENDERERS

        if "output_format" in ctx.params and path in RENDERERS:
            raise UsageError(f"--output names a file: write --output-format {path}")
        target = output_at(path, "--output")
        ended = result = None
        # Not beside the target, which may be in the folder that the command reads.
        with tempfile.TemporaryFile() as printed:
            with _printed_to(printed):
                try:
                    result = super().invoke(ctx)
                except Stopped:  # what is printed so far is not the result
                    raise
                except SystemExit as status:  # the verdict
                    ended = status
            printed.seek(0)
            with publish(target) as file:
                shutil.copyfileobj(printed, file)
        if ended is not None:
            raise ended
        return result


# Options that name a file to write.
_OUTPUT_OPTIONS = ("card", "domains", "evidence", "log", "save_rates")


def _outputs(context: Any) -> list[tuple[str, str]]:
    """Return the files that a command is to write, each with its option."""
    given = context.params
    named = [("--report", each.partition("=")[2]) for each in given.get("report") or ()]
    named += [(f"--{name.replace('_', '-')}", given.get(name)) for name in _OUTPUT_OPTIONS]
    named.append(("--output", context.meta.get(_OUTPUT) or given.get("output")))
    return [(option, str(path)) for option, path in named if path and path != "-"]


def _refuse_second_use(outputs: list[tuple[str, str]]) -> None:
    """Raise `UsageError` for two outputs with one path."""
    used: list[tuple[str, str]] = []
    for option, path in outputs:
        for use, other in used:
            if path == other or os.path.realpath(path) == os.path.realpath(other):
                again = f"for {use}" if use != option else "again"
                raise UsageError(f"{path} is named for {option} and {again}: name two files")
        used.append((option, path))


def _keep(context: Any, _: Any, path: str | None) -> None:
    context.meta[_OUTPUT] = path


def _options_everywhere(*, hidden: bool = False) -> list[TyperOption]:
    quiet = "Print only results and errors: of a report, only the findings."
    verbose = "Show all findings, of any severity, and say what was used and how long it took."
    return [
        _option("quiet", "-q", "--quiet", help=quiet, is_flag=True, callback=louder, hidden=hidden),
        _option("verbose", "-v", "--verbose", help=verbose, is_flag=True, callback=louder, hidden=hidden),
        _option("color", "--color", hidden=True, callback=_coloured),
        _option("all", "--all", hidden=True, is_flag=True, callback=_alone),
    ]


def _alone(_context: Any, _parameter: Any, wanted: bool) -> None:
    if wanted:
        raise typer.BadParameter("--all is for --help: add it, or remove --all")


def _option(name: str, *flags: str, **settings: Any) -> TyperOption:
    return TyperOption(param_decls=[name, *flags], expose_value=False, **settings)


@contextmanager
def _printed_to(file: Any) -> Iterator[None]:
    """Let the block print to a file, in UTF-8 and without colours."""
    set_colour("never")
    printed = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="\n")
    try:
        with redirect_stdout(printed):
            yield
            printed.flush()
    finally:
        printed.detach()


def _spent(seconds: float) -> str:
    """Return what a run took, with that of its workers, as far as the system counts it."""
    parts = [f"{seconds:.2f} s"]
    if sys.platform != "win32":
        import resource

        spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        unit = 1 if sys.platform == "darwin" else 1024
        parts.append(f"{sum(each.ru_utime + each.ru_stime for each in spent):.2f} s of processor time")
        parts.append(f"at most {max(each.ru_maxrss for each in spent) * unit / 1e6:,.0f} MB in a process")
    return ", ".join([*parts, f"process {os.getpid()}"])


def sections_of(command: Any, context: Any) -> dict[str, list[tuple[str, str]]]:
    """Return names and help of the arguments and options of a command, by the section of its help."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
        if record := parameter.get_help_record(context):
            named = re.sub("<(?:int|float|str)(?: range)?>", lambda kind: _METAVARS[kind[0][1]], record[0])
            sections.setdefault(getattr(parameter, "rich_help_panel", None) or usual, []).append((named, record[1]))
    first = [name for name in ("Arguments", "Options") if name in sections]
    return {name: sections[name] for name in dict.fromkeys([*first, *sections])}
