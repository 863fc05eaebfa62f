"""Internal: `corpusfmt convert`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from corpusfmt.cli.bounds import MaxExpansion, MaxTotalBytes, Timeout, limits_of
from corpusfmt.cli.console import say
from corpusfmt.cli.inputs import FollowLinks
from corpusfmt.cli.outcome import FailOn, exit_status, resumable
from corpusfmt.cli.progress import shown_stages
from corpusfmt.model import Report, UsageError
from corpusfmt.wording import plural


class Loss(StrEnum):
    """What to do where the target cannot hold something."""

    ERROR = "error"
    WARN = "warn"
    ALLOW = "allow"


class BadRecord(StrEnum):
    """What to do with a record that is wrong."""

    STOP = "stop"
    QUARANTINE = "quarantine"


Source = Annotated[str, typer.Argument(metavar="SRC", help="A corpus, or a Croissant description of records.")]
Destination = Annotated[Path, typer.Argument(metavar="DST", help="A new or empty folder, or one to resume.")]
To = Annotated[str, typer.Option("--to", help="oscar (means 1.1), oscar-1.0, oscar-1.1, dolma or parquet.")]
From = Annotated[
    str,
    typer.Option(
        "--from", help="auto, oscar, oscar-1.0, oscar-1.1, oscar-22.01, oscar-23.01, dolma, parquet or croissant."
    ),
]
OnLoss = Annotated[Loss, typer.Option("--on-loss", help="Stop before anything is lost, or count it in the report.")]
OnBadRecord = Annotated[
    BadRecord,
    typer.Option("--on-bad-record", help="Stop at the first, or write them to DST-quarantine with the reason."),
]
LangField = Annotated[str | None, typer.Option("--lang-field", help="The field of `metadata` that holds the language.")]
LangAttribute = Annotated[
    str | None,
    typer.Option(
        "--lang-attribute",
        metavar="SET/KEY",
        help="The attributes KEY__LANGUAGE of a set (KEY alone: embedded ones) that tell the language.",
    ),
]
SourceName = Annotated[
    str | None,
    typer.Option(
        "--source",
        help="The `source` of documents without one (default: oscar, croissant or parquet for those, else none).",
    ),
]
Added = Annotated[
    str | None, typer.Option("--added", metavar="DATE", help="The `added` of documents without one (default: none).")
]
MergeAttributes = Annotated[bool, typer.Option("--merge-attributes", help="Embed all attribute sets in the documents.")]
PreferAttributes = Annotated[
    list[str] | None,
    typer.Option(
        "--prefer-attributes",
        metavar="SET",
        help="Which set wins where merging finds a name twice (`embedded`: the document's own); may be given again.",
    ),
]
SplitAttributes = Annotated[
    list[str] | None,
    typer.Option(
        "--split-attributes",
        metavar="SET[=PREFIX]",
        help="Move embedded attributes whose names begin with PREFIX to a set; may be given again.",
    ),
]
LanguageAttributes = Annotated[
    bool, typer.Option("--language-attributes", help="Add an attribute set that tells the language of each document.")
]
RecordSetName = Annotated[
    str | None,
    typer.Option(
        "--record-set", metavar="NAME", help="Croissant: the record set (default: the only one with a field of texts)."
    ),
]
TextField = Annotated[
    str | None,
    typer.Option(
        "--text-field", help="Parquet, Croissant: what holds the text (default: text; Croissant: or content)."
    ),
]
IdField = Annotated[
    str | None,
    typer.Option(
        "--id-field",
        help="Parquet, Croissant: what holds the id (default: id; Croissant: or the key; or else ids are made).",
    ),
]
PartSize = Annotated[
    int | None,
    typer.Option("--part-size", min=1, help="Bytes of text of an OSCAR part (default: parts as they are)."),
]
ShardSize = Annotated[
    int | None,
    typer.Option("--shard-size", min=1, help="Bytes of rows of a Dolma shard (default: shards as they are)."),
]
Compression = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="OSCAR, Dolma: isal-0 to isal-3 (default: isal-3) or zlib-1 to zlib-9."),
]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="Worker processes (default: the processors, one for small input).")
]
Engine = Annotated[
    str | None, typer.Option(help="serial, processes, dask[:ADDRESS], ray[:ADDRESS] or py:MODULE:FACTORY.")
]


@resumable
def command(
    source: Source,
    destination: Destination,
    to: To,
    source_format: From = "auto",
    on_loss: OnLoss = Loss.ERROR,
    on_bad_record: OnBadRecord = BadRecord.STOP,
    lang_field: LangField = None,
    lang_attribute: LangAttribute = None,
    source_name: SourceName = None,
    added: Added = None,
    merge_attributes: MergeAttributes = False,
    prefer_attributes: PreferAttributes = None,
    split_attributes: SplitAttributes = None,
    language_attributes: LanguageAttributes = False,
    record_set: RecordSetName = None,
    text_field: TextField = None,
    id_field: IdField = None,
    part_size: PartSize = None,
    shard_size: ShardSize = None,
    compression: Compression = None,
    max_expansion: MaxExpansion = None,
    max_total_bytes: MaxTotalBytes = None,
    timeout: Timeout = None,
    jobs: Jobs = None,
    engine: Engine = None,
    follow_links: FollowLinks = False,
) -> None:
    """Write a corpus in another format, checking what is read; nothing is lost in silence."""
    from corpusfmt.conversion import convert

    if source == "-":
        raise UsageError("convert reads files and folders, not standard input: write it to a file and name that")
    limits = limits_of(max_expansion, max_total_bytes, timeout)
    with shown_stages() as show:
        report = convert(
            source,
            destination,
            to=to,
            source_format=source_format,
            on_loss=on_loss.value,
            on_bad_record=on_bad_record.value,
            language_field=lang_field,
            language_attribute=lang_attribute,
            source_name=source_name,
            added=added,
            merge_attributes=merge_attributes,
            prefer_attributes=prefer_attributes or (),
            split_attributes=split_attributes or (),
            language_attributes=language_attributes,
            record_set=record_set,
            text_field=text_field,
            id_field=id_field,
            part_bytes=part_size,
            shard_bytes=shard_size,
            compression=compression,
            jobs=jobs,
            engine=engine,
            follow_links=follow_links,
            limits=limits,
            progress=show,
        )
    _summarise(report, destination)
    raise typer.Exit(exit_status(report, FailOn.ERROR, require_complete=True))


def _summarise(report: Report, destination: Path) -> None:
    shards, documents = plural(report.coverage.shards_seen, "shard"), plural(report.coverage.documents, "document")
    say(f"{shards} -> {destination}: {documents} in {plural(report.results['files'], 'file')}")
    for remark in report.findings:
        if not remark.code.startswith("CNV"):
            say(f"  {remark.code} {remark.location}: {remark.message}")
            if remark.hint:
                say(f"  help: {remark.hint}")
    for what, count in report.results["losses"].items():
        say(f"  not kept: {what}, {plural(count, 'time')}")
    if report.results["rejected"]:
        say(f"  rejected: {plural(report.results['rejected'], 'record')}, in {destination}-quarantine")
    for path in report.results["cut"]:
        say(f"  not read to its end: {path}; how much of it is missing is unknown")
    if unread := report.results["unread"]:
        say(f"  not read: {plural(len(unread), 'file')}, like {unread[0]}")
