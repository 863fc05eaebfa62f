"""Internal: `corpusfmt build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from corpusfmt.cli.bounds import MaxExpansion, MaxTotalBytes, Timeout, limits_of
from corpusfmt.cli.console import say, warn
from corpusfmt.cli.inputs import FollowLinks, names, size
from corpusfmt.cli.outcome import FailOn, exit_status, explain, resumable
from corpusfmt.cli.progress import shown_stages
from corpusfmt.model import Report, Severity, UsageError
from corpusfmt.report.text import human_size
from corpusfmt.wording import clipped, plural

_FILTERS, _LOW_RESOURCES, _OPERATION = "Filters", "Low resources", "Operation"

Inputs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[INPUT]...",
        help="WET files, folders of them, patterns, lists of paths (*.paths, *.paths.gz); `-` is one file on standard input.",
        show_default=False,
    ),
]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="A new or empty folder, or one to resume.")]
RecipeName = Annotated[str, typer.Option("--recipe", metavar="NAME|FILE", help="A bundled recipe or a .toml file.")]
Base = Annotated[
    str | None, typer.Option(metavar="URL|DIR", help="Where the paths in a list lie (default: the list's folder).")
]
Langid = Annotated[str, typer.Option("--langid", help="auto, native or fasttext.")]
Model = Annotated[str | None, typer.Option(metavar="FILE", help="A fastText model (default: lid.176.ftz).")]

KeepOriginal = Annotated[
    bool, typer.Option("--keep-original", help="Write the corpus before deduplication as well, beside the other.")
]
Compression = Annotated[
    str | None, typer.Option(metavar="NAME", help="isal-0 to isal-3 (default: isal-3) or zlib-1 to zlib-9.")
]

MinLines = Annotated[
    int | None,
    typer.Option(min=1, help="Kept lines that a document must have in its language.", rich_help_panel=_FILTERS),
]
Languages = Annotated[
    list[str], typer.Option(help="Keep these languages only: labels, comma-separated.", rich_help_panel=_FILTERS)
]
ExcludeLanguages = Annotated[list[str], typer.Option(help="Keep all but these languages.", rich_help_panel=_FILTERS)]
AllowUrls = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Keep pages of these hosts and URL prefixes only.", rich_help_panel=_FILTERS),
]
DenyUrls = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Leave out pages of these hosts and URL prefixes.", rich_help_panel=_FILTERS),
]

ScratchLimit = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE", help="What the run may keep beside its output, like 20GB.", rich_help_panel=_LOW_RESOURCES
    ),
]
DeleteInput = Annotated[
    bool,
    typer.Option("--delete-input", help="Delete each local input once it is stored.", rich_help_panel=_LOW_RESOURCES),
]
Watch = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Take files as they come into a folder, until it holds _DONE.",
        rich_help_panel=_LOW_RESOURCES,
    ),
]
WatchUntil = Annotated[
    int,
    typer.Option(
        min=0, metavar="N", help="Or until so many were taken.", show_default=False, rich_help_panel=_LOW_RESOURCES
    ),
]
FetchCommand = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND", help="Downloads {path}, a line of the list, to {output}.", rich_help_panel=_LOW_RESOURCES
    ),
]
FetchAhead = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="N",
        help="Downloads on disk at most (default: two a worker).",
        show_default=False,
        rich_help_panel=_LOW_RESOURCES,
    ),
]

Jobs = Annotated[
    int | None,
    typer.Option(
        min=1, help="Worker processes (default: the processors, one for small input).", rich_help_panel=_OPERATION
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(
        help="serial, processes, dask[:ADDRESS], ray[:ADDRESS] or py:MODULE:FACTORY.", rich_help_panel=_OPERATION
    ),
]
Log = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Append events as JSON lines.", rich_help_panel=_OPERATION)
]


@resumable
def command(
    output: Output,
    inputs: Inputs = None,
    recipe: RecipeName = "oscar-1.1",
    keep_original: KeepOriginal = False,
    compression: Compression = None,
    base: Base = None,
    langid: Langid = "auto",
    model: Model = None,
    min_lines: MinLines = None,
    languages: Languages = [],  # noqa: B006 - typer needs a value, and nothing here changes it
    exclude_languages: ExcludeLanguages = [],  # noqa: B006
    allow_urls: AllowUrls = None,
    deny_urls: DenyUrls = None,
    scratch_limit: ScratchLimit = None,
    delete_input: DeleteInput = False,
    watch: Watch = None,
    watch_until: WatchUntil = 0,
    fetch_command: FetchCommand = None,
    fetch_ahead: FetchAhead = 0,
    max_expansion: MaxExpansion = None,
    max_total_bytes: MaxTotalBytes = None,
    timeout: Timeout = None,
    jobs: Jobs = None,
    engine: Engine = None,
    log: Log = None,
    follow_links: FollowLinks = False,
) -> None:
    """Make a corpus of WET files: lines classified by language, deduplicated, packed with metadata and checksums."""
    from corpusfmt.pipeline.options import Selection, Sourcing
    from corpusfmt.pipeline.run import build

    if langid not in {"auto", "native", "fasttext"}:
        raise UsageError(f"unknown --langid {clipped(langid)!r}; known: auto, native, fasttext")
    backend = cast("Literal['auto', 'native', 'fasttext']", langid)
    selection = Selection(min_lines, names(languages) or None, names(exclude_languages) or None, allow_urls, deny_urls)
    limit = size(scratch_limit) if scratch_limit else 0
    sourcing = Sourcing(base, watch, watch_until, fetch_command, fetch_ahead, delete_input, limit, follow_links)
    limits = limits_of(max_expansion, max_total_bytes, timeout)
    with shown_stages() as show:
        report = build(
            inputs or [],
            output,
            recipe=recipe,
            jobs=jobs,
            engine=engine,
            langid=backend,
            model=model,
            keep_original=keep_original,
            compression=compression,
            selection=selection,
            sourcing=sourcing,
            log=log,
            limits=limits,
            progress=show,
        )
    _summarise(report, output)
    raise typer.Exit(exit_status(report, FailOn.ERROR, require_complete=True))


def _summarise(report: Report, output: Path) -> None:
    from corpusfmt.engine.workplace import STATE

    if report.results.get("finished"):
        warn(f"nothing to do: {output} holds the finished corpus of these inputs and choices")
    for finding in report.findings:
        fate = "left out" if finding.severity is Severity.ERROR else finding.severity
        explain(finding, f"{fate}: ")
    if resumed := report.results.get("resumed"):
        told = f"inputs taken over: {resumed['taken_over']:,}, read: {resumed['read']:,}"
        warn(f"went on with an unfinished run ({told})")
    if (left_out := report.coverage.shards_total - report.coverage.shards_seen) > 0:
        warn(
            f"{left_out:,} left out: repair them and run the same command again, which reads no others; "
            f"or remove {output / STATE} to settle for what is there"
        )
    total = report.results["stats"]["total"]["final"]
    dropped = ", ".join(f"{count:,} {reason}" for reason, count in report.results["dropped"].items()) or "none"
    say(f"{report.coverage.shards_seen:,} of {plural(report.coverage.shards_total, 'WET file')} -> {output}")
    made = f"{plural(total['documents'], 'document')}, {plural(total['lines'], 'line')}"
    say(f"  {made}, {human_size(total['text_bytes'])} of text")
    say(f"  {plural(len(report.results['stats']['languages']), 'language')}")
    say(f"  lines dropped: {dropped}")
    if cleaned := report.results["stats"].get("cleaned"):
        say(f"  lines {', '.join(f'{what}: {count:,}' for what, count in cleaned.items())}")
