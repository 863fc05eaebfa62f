"""Internal: The `corpusfmt` application and its commands."""

from __future__ import annotations

from collections.abc import Container
from importlib import import_module
from typing import Annotated, Any

import typer

from corpusfmt.cli.commands import Command, Group, PrintingCommand
from corpusfmt.cli.console import Colour, print_version, set_colour, warn
from corpusfmt.cli.options import declared
from corpusfmt.wording import clipped_message, meant, plain

#: The class typer raises for wrong arguments, found through its subclass because it has moved between versions.
_WRONG_ARGUMENTS: Any = typer.BadParameter.__bases__[0]

#: The module of each command, its function unless that is `command`, and its class.
_COMMANDS: dict[str, tuple[str, type[Command]]] = {
    "validate": ("validate", PrintingCommand),
    "fix": ("fix", Command),
    "convert": ("convert", Command),
    "compare": ("compare", PrintingCommand),
    "describe": ("describe", Command),
    "records": ("records", Command),
    "show": ("show", PrintingCommand),
    "stats": ("stats", PrintingCommand),
    "datasheet": ("datasheet", Command),
    "build": ("build", Command),
    "seal": ("seal", Command),
    "verify": ("verify", PrintingCommand),
    "rule": ("catalogue:rule", PrintingCommand),
    "recipe": ("catalogue:recipe", PrintingCommand),
    "formats": ("catalogue:formats", PrintingCommand),
    "detect": ("catalogue:detect", PrintingCommand),
    "lsp": ("lsp", Command),
    "mcp": ("mcp", Command),
    "doctor": ("doctor", PrintingCommand),
}
_GROUP = "report"
_NO_COMMAND = "No such command "
#: What people type who know other tools.
_ELSEWHERE = {
    "check": "validate",
    "lint": "validate",
    "explain": "rule",
    "rules": "rule",
    "head": "show",
    "--json": "--output-format json",
    "--strict": "--profile strict",
}


def _print_version(wanted: bool) -> None:
    if wanted:
        print_version()
        raise typer.Exit


def _options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    color: Annotated[
        Colour, typer.Option(help="auto (a terminal; NO_COLOR and FORCE_COLOR are respected), always or never.")
    ] = "auto",
) -> None:
    del show_version
    set_colour(color)


def application(named: str | None = None) -> typer.Typer:
    """Return the application with all commands, or with the named one only, if it exists: that is much faster."""
    app = typer.Typer(
        name="corpusfmt",
        cls=Group,
        callback=_options,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        suggest_commands=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Validate, convert, describe and build text corpora: OSCAR 1.0/1.1, Dolma, Croissant 1.0/1.1.",
        epilog="Exit status: 0 nothing at or above --fail-on; 1 findings; 2 wrong usage; 3 did not finish; 130 interrupted; 143 terminated.",
    )
    names = (*_COMMANDS, _GROUP)
    for name in (named,) if named in names else names:
        if name == _GROUP:
            app.add_typer(import_module("corpusfmt.cli.render").app, name=name)
            continue
        place, kind = _COMMANDS[name]
        module, _, function = place.partition(":")
        home = import_module(f"corpusfmt.cli.{module}")
        app.command(name, cls=kind)(declared(getattr(home, function or "command")))
    return app


def parse_and_run(arguments: list[str]) -> Any:
    """Run the command that the arguments name; return the exit status of one that does not exit itself."""
    app = application(next((each for each in arguments if not each.startswith("-")), None))
    try:
        return app(standalone_mode=False)
    except _WRONG_ARGUMENTS as error:
        _explain(error)
        return error.exit_code


def _ours(name: str, known: Container[str]) -> str | None:
    """Return what other tools call by a name, if it is known here."""
    ours = _ELSEWHERE.get(name, "")
    return ours if ours.partition(" ")[0] in known else None


def _explain(error: Any) -> None:
    """Print the parser's error, escaped: arguments may be file names chosen by strangers."""
    if error.ctx is not None and error.message == error.ctx.get_help():
        error.show()
        return
    message = error.format_message().rstrip(".")
    if hasattr(error, "option_name") and hasattr(error, "possibilities"):
        known = [each for option in error.ctx.command.params for each in option.opts]
        # `--prefer` begins `--prefer-attributes`, however unlike it is.
        alike = [*(each for each in known if each.startswith(error.option_name)), *(error.possibilities or ())]
        is_elsewhere = error.option_name in _ELSEWHERE
        likely = _ours(error.option_name, known) if is_elsewhere else next(iter(alike), None)
        message = error.message + (f" (did you mean `{likely}`?)" if likely else "")
    elif message.startswith(_NO_COMMAND):
        name = message.removeprefix(_NO_COMMAND).strip("'")
        commands = error.ctx.command.commands
        likely = _ours(name, commands)
        message += f" (did you mean `{likely}`?)" if likely else meant(name, commands)
    warn(f"error: {plain(clipped_message(message[:1].lower() + message[1:]))}")
    if error.ctx is not None:
        warn(f"  help: `{error.ctx.command_path} --help` lists the commands and options")
