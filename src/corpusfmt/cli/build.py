"""Internal: `corpusfmt build`."""

from __future__ import annotations

from typing import Annotated, Literal, cast

import typer

from corpusfmt.cli.console import mention, summarise, warn
from corpusfmt.cli.inputs import limits_of
from corpusfmt.cli.options import UNSET, Bounds, Finish, FollowLinks, ShardOf
from corpusfmt.cli.outcome import exit_status, explain, resumable, say_done
from corpusfmt.cli.progress import shown_stages
from corpusfmt.model import Report, Severity, UsageError
from corpusfmt.options import FailOn, names
from corpusfmt.report.text import human_size
from corpusfmt.wording import clipped, plural

_FILTERS, _OPERATION = "Filters", "Operation"

Inputs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[INPUT]...",
        help="WET files, folders of WET files, globs, lists of paths (*.paths, *.paths.gz); `-` reads standard input.",
        show_default=False,
    ),
]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="DIR|URL", help="A new or empty folder or prefix, or one to resume."),
]
Check = Annotated[
    bool, typer.Option("--check", help="Only read the inputs, compare the digests of their records, and write nothing.")
]
RecipeName = Annotated[str, typer.Option("--recipe", metavar="NAME|FILE", help="A bundled recipe or a .toml file.")]
Base = Annotated[
    str | None, typer.Option(metavar="URL|DIR", help="Base of the paths in a list (default: the list's folder).")
]
Langid = Annotated[str, typer.Option("--langid", help="Classifier: auto, native or fasttext.")]
Model = Annotated[str | None, typer.Option(metavar="FILE", help="A fastText model (default: lid.176.ftz).")]

KeepOriginal = Annotated[
    bool, typer.Option("--keep-original", help="Also write the corpus as it was before deduplication.")
]
Compression = Annotated[
    str | None, typer.Option(metavar="NAME", help="isal-0 to isal-3 (default: isal-3) or zlib-1 to zlib-9.")
]

MinLines = Annotated[
    int | None,
    typer.Option(min=1, help="Fewest lines that a document keeps in its language.", rich_help_panel=_FILTERS),
]
Languages = Annotated[
    list[str], typer.Option(help="Keep only these languages (labels, comma-separated).", rich_help_panel=_FILTERS)
]
ExcludeLanguages = Annotated[list[str], typer.Option(help="Keep all but these languages.", rich_help_panel=_FILTERS)]
AllowUrls = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Keep only pages of these hosts and URL prefixes.", rich_help_panel=_FILTERS),
]
DenyUrls = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Exclude pages of these hosts and URL prefixes.", rich_help_panel=_FILTERS),
]


Jobs = Annotated[
    int | None,
    typer.Option(
        min=1, help="Worker processes (default: one per CPU, one for small input).", rich_help_panel=_OPERATION
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(
        help="serial, processes, dask[:ADDRESS], ray[:ADDRESS] or py:MODULE:FACTORY.", rich_help_panel=_OPERATION
    ),
]
Log = Annotated[
    str | None, typer.Option(metavar="FILE|URL", help="Append events as JSON Lines.", rich_help_panel=_OPERATION)
]
State = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="DIR|URL",
        help="With an output in a store: where the run's state is, a folder or a prefix of a store (default: in the working folder).",
        rich_help_panel=_OPERATION,
    ),
]


@resumable
def command(
    output: Output = None,
    inputs: Inputs = None,
    check: Check = False,
    recipe: RecipeName = "oscar-1.1",
    keep_original: KeepOriginal = False,
    compression: Compression = None,
    base: Base = None,
    langid: Langid = "auto",
    model: Model = None,
    min_lines: MinLines = None,
    languages: Languages = [],  # noqa: B006 - typer needs a value, and nothing mutates it
    exclude_languages: ExcludeLanguages = [],  # noqa: B006
    allow_urls: AllowUrls = None,
    deny_urls: DenyUrls = None,
    bounds: Bounds = UNSET,
    jobs: Jobs = None,
    engine: Engine = None,
    log: Log = None,
    state: State = None,
    shard: ShardOf = None,
    finish: Finish = False,
    follow_links: FollowLinks = False,
) -> None:
    """Build a corpus from WET files. Lines are classified by language, deduplicated and packaged with checksums."""
    from corpusfmt.pipeline import run
    from corpusfmt.pipeline.choices import Selection

    if langid not in {"auto", "native", "fasttext"}:
        raise UsageError(f"unknown --langid {clipped(langid)!r}; known: auto, native, fasttext")
    backend = cast("Literal['auto', 'native', 'fasttext']", langid)
    selection = Selection(min_lines, names(languages) or None, names(exclude_languages) or None, allow_urls, deny_urls)
    limits = limits_of(bounds)
    if check:
        report = run.check(inputs or [], base=base, jobs=jobs, engine=engine, limits=limits, follow_links=follow_links)
        for finding in report.findings:
            explain(finding)
        seen, total = report.coverage.shards_seen, report.coverage.shards_total
        documents = plural(report.coverage.documents, "document")
        summarise(f"{seen:,} of {plural(total, 'WET file')} {'is' if total == 1 else 'are'} readable: {documents}")
        raise SystemExit(exit_status(report, FailOn.WARNING, require_complete=True))
    if output is None:
        raise UsageError("--output is missing: name a new or empty folder, or only read the inputs with --check")
    with shown_stages() as show:
        report = run.build(
            inputs or [],
            output,
            recipe=recipe,
            base=base,
            jobs=jobs,
            engine=engine,
            langid=backend,
            model=model,
            keep_original=keep_original,
            compression=compression,
            selection=selection,
            log=log,
            state=state,
            shard=shard,
            finish=finish,
            limits=limits,
            follow_links=follow_links,
            progress=show,
        )
    if shard is not None:
        for finding in report.findings:
            explain(finding, "to be excluded: " if finding.severity is Severity.ERROR else f"{finding.severity}: ")
        say_done(report, shard)
        return
    _summarise(report, output, state)
    raise SystemExit(exit_status(report, FailOn.ERROR, require_complete=True))


def _summarise(report: Report, output: str, state: str | None) -> None:
    from corpusfmt.engine.workplace import traces_of
    from corpusfmt.io.outputs import place_of

    place = place_of(output, "the output")

    if report.results.get("finished"):
        mention(f"nothing to do: {place} already contains the finished corpus of these inputs and options")
    for finding in report.findings:
        fate = "excluded" if finding.severity is Severity.ERROR else finding.severity
        explain(finding, f"{fate}: ")
    if resumed := report.results.get("resumed"):
        counts = f"inputs kept: {resumed['taken_over']:,}, read: {resumed['read']:,}"
        mention(f"resumed an unfinished run ({counts})")
    traces = " and ".join(traces_of(place, state))
    if failed := report.by_rule.get("WET105"):
        warn(
            f"{plural(failed, 'document')} excluded: after corrections, run the same command again, or remove {traces} to "
            "accept the corpus without them"
        )
    if (excluded := report.coverage.shards_total - report.coverage.shards_seen) > 0:
        warn(
            f"{plural(excluded, 'input')} excluded: after repairs, run the same command again to read only those, "
            f"or remove {traces} to accept the corpus without them"
        )
    total = report.results["stats"]["total"]["final"]
    dropped = ", ".join(f"{count:,} {reason}" for reason, count in report.results["dropped"].items()) or "none"
    summarise(f"{report.coverage.shards_seen:,} of {plural(report.coverage.shards_total, 'WET file')} -> {place}")
    texts = f"{plural(total['documents'], 'document')}, {plural(total['lines'], 'line')}"
    summarise(f"  {texts}, {human_size(total['bytes'])} of text")
    summarise(f"  {plural(len(report.results['stats']['languages']), 'language')}")
    summarise(f"  lines dropped: {dropped}")
    for name, counts in report.results.get("steps", {}).items():
        summarise(f"  step {name}: {', '.join(f'{count:,} {fate}' for fate, count in counts.items())}")
    if cleaned := report.results["stats"].get("cleaned"):
        summarise(f"  lines {', '.join(f'{what}: {count:,}' for what, count in cleaned.items())}")
