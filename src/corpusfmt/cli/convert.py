"""Internal: `corpusfmt convert`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from corpusfmt.cli import completion
from corpusfmt.cli.console import mention, say, summarise
from corpusfmt.cli.inputs import limits_of
from corpusfmt.cli.options import (
    UNSET,
    Bounds,
    Engine,
    Finish,
    FollowLinks,
    FormatName,
    Jobs,
    Profiled,
    RecordSetName,
    ShardOf,
)
from corpusfmt.cli.outcome import exit_status, resumable, say_done
from corpusfmt.cli.progress import shown_stages
from corpusfmt.model import Report, UsageError
from corpusfmt.options import FailOn
from corpusfmt.wording import plural


class Loss(StrEnum):
    """What to do if the target cannot represent something."""

    ERROR = "error"
    WARN = "warn"
    ALLOW = "allow"


class BadRecord(StrEnum):
    """What to do with a bad record."""

    STOP = "stop"
    QUARANTINE = "quarantine"


Source = Annotated[str, typer.Argument(metavar="SRC", help="A corpus, or a Croissant description with records.")]
Destination = Annotated[
    str | None, typer.Argument(metavar="[DST]", help="A new or empty folder or URL, or one to resume; or -o.")
]
Output = Annotated[
    str | None, typer.Option("--output", "-o", metavar="DIR|URL", help="The same as DST, as other commands name it.")
]
To = Annotated[
    str,
    typer.Option(
        "--to",
        help="oscar (means 1.1), oscar-1.0, oscar-1.1, dolma, parquet, jsonl or text.",
        autocompletion=completion.targets,
    ),
]
OnLoss = Annotated[Loss, typer.Option("--on-loss", help="Stop before anything is lost, or count losses in the report.")]
OnBadRecord = Annotated[
    BadRecord,
    typer.Option("--on-bad-record", help="Stop at the first bad record, or write them to DST-quarantine with reasons."),
]
LanguageEntry = Annotated[str | None, typer.Option("--language-entry", help="Field of `metadata` with the language.")]
LanguageAttribute = Annotated[
    str | None,
    typer.Option(
        "--language-attribute",
        metavar="SET/KEY",
        help="Read the language from attributes KEY__LANGUAGE of a set (KEY alone: embedded attributes).",
    ),
]
SourceName = Annotated[
    str | None,
    typer.Option(
        "--source",
        help="`source` of documents without one (default: the column profile, or oscar, croissant, parquet, "
        "jsonl or text for these formats, else none).",
    ),
]
Added = Annotated[
    str | None, typer.Option("--added", metavar="DATE", help="`added` of documents without one (default: none).")
]
MergeAttributes = Annotated[bool, typer.Option("--merge-attributes", help="Embed all attribute sets in the documents.")]
PreferAttributes = Annotated[
    list[str] | None,
    typer.Option(
        "--prefer-attributes",
        metavar="SET",
        help="Set that wins if merged sets share a name (`embedded`: the document's attributes); repeatable.",
    ),
]
SplitAttributes = Annotated[
    list[str] | None,
    typer.Option(
        "--split-attributes",
        metavar="SET[=PREFIX]",
        help="Move embedded attributes whose names begin with PREFIX to a set; repeatable.",
    ),
]
LanguageAttributes = Annotated[
    bool, typer.Option("--language-attributes", help="Add an attribute set with the language of each document.")
]
NoOrigin = Annotated[
    bool,
    typer.Option("--no-origin", help="JSON Lines, Parquet: leave out `metadata.corpusfmt_row`, which restores rows."),
]
PartSize = Annotated[
    int | None,
    typer.Option("--part-size", min=1, help="Bytes of text per OSCAR part (default: keep the parts)."),
]
ShardSize = Annotated[
    int | None,
    typer.Option("--shard-size", min=1, help="Bytes of rows per Dolma shard (default: keep the shards)."),
]
Compression = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="OSCAR, Dolma: isal-0 to isal-3 (default: isal-3) or zlib-1 to zlib-9."),
]

State = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="DIR|URL",
        help="With DST in a store: where the run's state is, a folder or a prefix of a store (default: in the working folder).",
    ),
]

DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Only show the source and language of the first 1,000 documents of each shard."),
]


@resumable
def command(
    source: Source,
    to: To,
    destination: Destination = None,
    output: Output = None,
    format_name: FormatName = "auto",
    on_loss: OnLoss = Loss.ERROR,
    on_bad_record: OnBadRecord = BadRecord.STOP,
    language_entry: LanguageEntry = None,
    language_attribute: LanguageAttribute = None,
    source_name: SourceName = None,
    added: Added = None,
    merge_attributes: MergeAttributes = False,
    prefer_attributes: PreferAttributes = None,
    split_attributes: SplitAttributes = None,
    language_attributes: LanguageAttributes = False,
    record_set: RecordSetName = None,
    rows: Profiled = UNSET,
    no_origin: NoOrigin = False,
    part_size: PartSize = None,
    shard_size: ShardSize = None,
    compression: Compression = None,
    bounds: Bounds = UNSET,
    jobs: Jobs = None,
    engine: Engine = None,
    state: State = None,
    shard: ShardOf = None,
    finish: Finish = False,
    dry_run: DryRun = False,
    follow_links: FollowLinks = False,
) -> None:
    """Convert a corpus to another format. The input is checked, and every loss is counted."""
    from corpusfmt.conversion.run import convert

    target = _target(source, destination, output)
    with shown_stages() as show:
        report = convert(
            source,
            target,
            to=to,
            format=format_name,
            on_loss=on_loss.value,
            on_bad_record=on_bad_record.value,
            language_entry=language_entry,
            language_attribute=language_attribute,
            source_name=source_name,
            added=added,
            merge_attributes=merge_attributes,
            prefer_attributes=prefer_attributes or (),
            split_attributes=split_attributes or (),
            language_attributes=language_attributes,
            record_set=record_set,
            **rows,
            no_origin=no_origin,
            part_bytes=part_size,
            shard_bytes=shard_size,
            compression=compression,
            jobs=jobs,
            engine=engine,
            state=state,
            shard=shard,
            finish=finish,
            dry_run=dry_run,
            follow_links=follow_links,
            limits=limits_of(bounds),
            progress=show,
        )
    raise SystemExit(_summarised(report, target, shard))


def _target(source: str, destination: str | None, output: str | None) -> str:
    """Return where to write. Raises `UsageError` for a source or destination that cannot be."""
    if source == "-":
        raise UsageError("convert does not read standard input: write it to a file and pass that file")
    if (destination is None) == (output is None):
        raise UsageError("convert writes to one place: name DST, or --output DIR")
    return destination or output or ""


def _summarised(report: Report, target: str, shard: str | None) -> int:
    """Print what was converted, or what a shard leaves; return the exit status."""
    from corpusfmt.conversion.tasks import quarantine_of
    from corpusfmt.io.outputs import place_of

    if "sources" in report.results:
        say("dry run, nothing is written; the first documents of each shard have:")
        for name, count in report.results["sources"].items():
            say(f"  source `{name}`: {plural(count, 'document')}")
        for name, language in report.results["languages"].items():
            folder = f"`{language['label']}`" if language["label"] else "none, such documents are rejected"
            say(f"  language `{name}`: {plural(language['documents'], 'document')}; label {folder}")
        return 0
    if "files" not in report.results:
        say_done(report, shard)
        return 0
    destination = place_of(target, "the destination")
    if report.results.get("finished"):
        mention(f"nothing to do: {destination} already contains the finished corpus of these inputs and options")
    shards, documents = plural(report.coverage.shards_seen, "shard"), plural(report.coverage.documents, "document")
    summarise(f"{shards} -> {destination}: {documents} in {plural(report.results['files'], 'file')}")
    for remark in report.findings:
        if not remark.code.startswith("CNV"):
            say(f"  {remark.code} {remark.location}: {remark.message}")
            if remark.hint:
                say(f"  help: {remark.hint}")
    for what, count in report.results["losses"].items():
        say(f"  lost: {what}, {plural(count, 'time')}")
    if report.results["rejected"]:
        say(f"  rejected: {plural(report.results['rejected'], 'record')}, in {quarantine_of(destination)}")
    for path in report.results["cut"]:
        say(f"  truncated: {path}; the number of missing documents is unknown")
    if unread := report.results["unread"]:
        say(f"  not read: {plural(len(unread), 'file')}, like {unread[0]}")
    return exit_status(report, FailOn.ERROR, require_complete=True)
