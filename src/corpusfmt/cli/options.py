"""Internal: Options that commands share, and those of `validate`, which runs without typer if it is given none."""

from __future__ import annotations

from typing import Annotated

import typer

from corpusfmt.cli import completion
from corpusfmt.cli.outcome import FailOn, Show

BOUNDS = "Bounds"

ConfigFile = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Settings in TOML, or none (default: corpusfmt.toml or [tool.corpusfmt] of pyproject.toml in this folder or above).",
    ),
]
FollowLinks = Annotated[
    bool,
    typer.Option(
        "--follow-links",
        "--follow-redirects",
        help="Follow links that lead out of the input, and redirections of a web server to others.",
    ),
]
FollowRedirects = Annotated[
    bool, typer.Option("--follow-redirects", help="Follow redirections of a web server to others.")
]
ColumnProfile = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="NAME|FILE",
        help="JSON Lines, Parquet, text: the column profile of a corpus, such as fineweb or cc-100, or a TOML file.",
    ),
]
RecordSetName = Annotated[
    str | None,
    typer.Option(
        "--record-set", metavar="NAME", help="Croissant: the record set (default: the only one with a text field)."
    ),
]
TextField = Annotated[
    str | None,
    typer.Option(
        "--text-field",
        help="JSON Lines, Parquet, Croissant: the field with the text (default: text; Croissant: or content).",
    ),
]
IdField = Annotated[
    str | None,
    typer.Option(
        "--id-field",
        help="JSON Lines, Parquet, Croissant: the field with the id (default: id; Croissant: or the key; "
        "else ids are generated).",
    ),
]
UrlField = Annotated[
    str | None, typer.Option("--url-field", help="JSON Lines, Parquet: the field with the address, for `metadata.url`.")
]
DateField = Annotated[
    str | None,
    typer.Option("--date-field", help="JSON Lines, Parquet: the field with the date of creation, for `created`."),
]
LanguageField = Annotated[
    str | None,
    typer.Option("--language-field", help="JSON Lines, Parquet: the field with the language, for `metadata.language`."),
]
SourceField = Annotated[
    str | None, typer.Option("--source-field", help="JSON Lines, Parquet: the field with the source, for `source`.")
]
Maps = Annotated[
    list[str],
    typer.Option(
        "--map",
        metavar="ID=PATH",
        help="Read a FileObject or FileSet of a Croissant description from a local copy; repeatable.",
    ),
]
MaxExpansion = Annotated[
    float | None,
    typer.Option(
        metavar="RATIO",
        help="Largest ratio of uncompressed to compressed bytes of a file (default: 200; 256 MiB are always allowed).",
        rich_help_panel=BOUNDS,
    ),
]
MaxTotalBytes = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Most uncompressed bytes to read in the run, like 20GB.", rich_help_panel=BOUNDS),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Longest run time (default: none, but each task has 20 CPU seconds and 5 more per MB read).",
        rich_help_panel=BOUNDS,
    ),
]
Jobs = Annotated[int | None, typer.Option(min=1, help="Worker processes (default: one per CPU, one for small input).")]
Engine = Annotated[
    str | None, typer.Option(help="serial, processes, dask[:ADDRESS], ray[:ADDRESS] or py:MODULE:FACTORY.")
]
Reports = Annotated[
    list[str],
    typer.Option("--report", metavar="FORMAT=PATH", help="Write another report; repeatable. `-` is standard output."),
]
Paths = Annotated[
    list[str], typer.Argument(metavar="PATH...", help="Corpora or descriptions; `-` reads standard input.")
]
FormatName = Annotated[
    str,
    typer.Option(
        "--format",
        help="auto, oscar, oscar-1.0, oscar-1.1, oscar-22.01, oscar-23.01, dolma, parquet, jsonl, mc4, text or croissant.",
        autocompletion=completion.format_names,
    ),
]
Profile = Annotated[
    list[str],
    typer.Option(
        metavar="NAME|FILE",
        help="standard (default), strict, common-crawl, hub, letter, neurips-2026, or a TOML file; repeatable.",
        autocompletion=completion.profiles,
    ),
]
Data = Annotated[bool, typer.Option("--data/--no-data", help="Also check the data that a Croissant description names.")]
Dedup = Annotated[bool, typer.Option("--dedup", help="Report repeated lines: the corpus is declared deduplicated.")]
Select = Annotated[
    list[str],
    typer.Option(
        help="Report only these rules: codes, prefixes or slugs, comma-separated.", autocompletion=completion.rules
    ),
]
Ignore = Annotated[list[str], typer.Option(help="Do not report these rules.", autocompletion=completion.rules)]
Baseline = Annotated[
    str | None, typer.Option(metavar="FILE", help="A saved JSON report: report only problems that it does not count.")
]
Fail = Annotated[FailOn | None, typer.Option("--fail-on", help="Least severity for exit status 1 (default: error).")]
Sample = Annotated[
    str | None,
    typer.Option(
        metavar="N|SHARE", help="Check only so many documents, or a share of the shards, like 1%, and say which."
    ),
]
Seed = Annotated[
    int | None, typer.Option(metavar="S", min=0, help="Choose the --sample by S (default: the same each time).")
]
RequireComplete = Annotated[bool, typer.Option("--require-complete", help="Exit 3 if anything was not checked.")]
FailFast = Annotated[
    bool, typer.Option("--fail-fast", help="Stop at the first error, and report what was not checked.")
]
MaxPerRule = Annotated[int, typer.Option(min=1, help="Most findings to keep per rule and file; counts stay exact.")]
MaxLineBytes = Annotated[
    int | None, typer.Option(min=1, help="Longest line; longer lines are reported and skipped (default: 32 MiB).")
]
Blocklist = Annotated[
    str | None, typer.Option(metavar="FILE", help="Dolma: ids, or source<TAB>id, that a release must not contain.")
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
    ),
]
MaxFindings = Annotated[
    int, typer.Option(min=0, help="Most findings to show as text and annotations, worst first; the rest are counted.")
]
ShowOption = Annotated[Show, typer.Option("--show", help="Least severity to show as text and annotations.")]
ShardOf = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Check a share of the shards, like 1/8, and write it with --report part=FILE, for `corpusfmt report merge`.",
    ),
]
