"""Internal: The commands of `corpusfmt`, gathered."""

from __future__ import annotations

import atexit
import gc
import sys
from typing import Annotated, Any

import typer

from corpusfmt._version import VERSION
from corpusfmt.cli import build, catalogue, convert, describe, records, render, validate
from corpusfmt.cli.console import read_or_not
from corpusfmt.cli.grouped import GroupedCommand
from corpusfmt.wording import clipped_message, plain

app = typer.Typer(
    name="corpusfmt",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Validate, convert, describe and build text corpora: OSCAR 1.0/1.1, Dolma, Croissant 1.0.",
    epilog="Exit status: 0 nothing at or above --fail-on; 1 findings; 2 wrong usage; 3 could not finish; 130 interrupted; 143 terminated.",
)
#: What typer raises for wrong arguments, wherever it keeps that class.
_WRONG_ARGUMENTS: Any = typer.BadParameter.__bases__[0]

app.command("validate")(validate.command)
app.command("convert")(convert.command)
app.command("describe")(describe.command)
app.command("records")(records.command)
app.command("build", cls=GroupedCommand)(build.command)
app.command("rule")(catalogue.rule)
app.command("recipe")(catalogue.recipe)
app.command("formats")(catalogue.formats)
app.command("detect")(catalogue.detect)
app.add_typer(render.app, name="report")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"corpusfmt {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    del show_version


def main() -> None:
    """Run the command that the arguments name."""
    for stream in (sys.stdout, sys.stderr):
        # Paths and text of any bytes must print anywhere, on a terminal of any encoding.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    # The interpreter would look through all that it still holds, to find what is dead, before the process gives it back:
    # a quarter of the time of a short command.
    atexit.register(gc.freeze)
    try:
        status = app(standalone_mode=False)
    except _WRONG_ARGUMENTS as error:
        _explain(error)
        status = error.exit_code
    with read_or_not():
        sys.stdout.flush()
    raise SystemExit(status)


def _explain(error: Any) -> None:
    """Print what the parser says of the arguments: they may be names of files that strangers chose."""
    if error.ctx is None or error.message != error.ctx.get_help():
        error.message = plain(clipped_message(error.message))
    error.show()
