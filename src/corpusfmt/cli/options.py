"""Internal: Options that commands share, and those of `validate`, which runs without typer if it is given none."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from msgspec import Struct

from corpusfmt.cli import completion
from corpusfmt.io.limits import Bounded
from corpusfmt.io.paths import FOLLOWS_NAMED
from corpusfmt.options import Named, Rows, option_in, options_of

#: Options that are given, by name: those of a class in `corpusfmt.options.options_of`.
Given = Mapping[str, Any]
UNSET: Given = {}
Profiled = Annotated[Given, Rows]
Bounds = Annotated[Given, Bounded]

ConfigFile = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Settings in TOML, or none (default: corpusfmt.toml or [tool.corpusfmt] of pyproject.toml in this folder or above).",
    ),
]


FollowRedirects = Annotated[
    bool,
    typer.Option("--follow-links", help="Follow redirections of a web server to others."),
]
FormatName = Annotated[
    str,
    typer.Option(
        "--format", help="Format of the corpus, like dolma or oscar-1.1.", autocompletion=completion.format_names
    ),
]
Reports = Annotated[
    list[str],
    typer.Option("--report", metavar="FORMAT=PATH", help="Write another report; repeatable. `-` is standard output."),
]
Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="[PATH]...",
        help="Corpora or descriptions; `-` reads standard input (default: `paths` of the settings, or `.`).",
        show_default=False,
    ),
]
CacheOption = Annotated[
    bool | None,
    typer.Option(
        "--cache/--no-cache",
        help="Keep results in the user's cache, and check only what has changed (default: for 64 MiB or more, and not in CI).",
        show_default=False,
    ),
]
OutputFormat = Annotated[
    str,
    typer.Option(
        help="full, concise, grouped, json, jsonl, sarif, junit, github, gitlab, markdown or html.",
        show_default=False,
    ),
]
ShardOfReport = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Check a share of the shards, like 1/8, and write it with --report part=FILE, for `corpusfmt report merge`.",
    ),
]


TextOrJson = Annotated[Literal["text", "json"], typer.Option(help="text or json.")]


def declared(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command as typer reads it: an argument that is `Given` options becomes one argument for each of them."""
    home = sys.modules[function.__module__]
    hints = get_type_hints(function, vars(home), {"options": sys.modules[__name__]}, include_extras=True)
    groups = {
        name: options_of(kind)
        for name, hint in hints.items()
        for kind in get_args(hint)[1:]
        if isinstance(kind, type) and issubclass(kind, Struct)
    }
    parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for name, parameter in inspect.signature(function).parameters.items():
        if name in groups:
            parameters += [_parameter(option, named) for option, named in groups[name].items()]
        elif option := option_in(hints[name]):
            parameters.append(_parameter(name, Named(get_args(hints[name])[0], parameter.default, option)))
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY))

    @wraps(function)
    def run(context: Any, **values: Any) -> None:
        # Files that are options may be redirected, too.
        FOLLOWS_NAMED.set(any(values.get(name) for name in ("follow_links", "follow_redirects")))
        for name, options in groups.items():
            typed = {option: values.pop(option) for option in options}
            source = context.get_parameter_source
            values[name] = {option: value for option, value in typed.items() if source(option).name != "DEFAULT"}
        function(**values)

    vars(run)["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _parameter(name: str, named: Named) -> inspect.Parameter:
    """Return an option as an argument of a function."""
    option, kind, default = named.option, named.kind, named.default
    if option.parse is not None:  # which says what is typed
        kind = next(iter(get_type_hints(option.parse).values()))
    kinds = get_args(kind) or (kind,)
    if get_origin(kind) in _SEVERAL or any(get_origin(each) in _SEVERAL for each in kinds):
        kind, default = list[str], []
    elif type(None) in get_args(named.kind):
        kind, default = next(each for each in kinds if each is not type(None)) | None, None
    shown = typer.Option(
        *(option.flag.split() or [f"--{name.replace('_', '-')}"]),
        help=option.help,
        metavar=option.metavar,
        min=option.least,
        max=option.most,
        autocompletion=getattr(completion, option.completion) if option.completion else None,
        rich_help_panel=option.panel,
    )
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, shown])


_SEVERAL = (list, Sequence, Mapping)
