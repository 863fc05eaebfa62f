"""`corpusfmt convert`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from corpusfmt.cli.outcome import FailOn, exit_status, resumable
from corpusfmt.cli.progress import shown_stages


class Loss(StrEnum):
    """What to do where the target cannot hold something."""

    ERROR = "error"
    WARN = "warn"
    ALLOW = "allow"


class BadRecord(StrEnum):
    """What to do with a record that is wrong."""

    STOP = "stop"
    QUARANTINE = "quarantine"


Source = Annotated[str, typer.Argument(metavar="SRC", help="A corpus.")]
Destination = Annotated[Path, typer.Argument(metavar="DST", help="A new or empty folder, or one to resume.")]
To = Annotated[str, typer.Option("--to", help="oscar (means 1.1), oscar-1.0, oscar-1.1, dolma or parquet.")]
From = Annotated[
    str, typer.Option("--from", help="auto, oscar, oscar-1.0, oscar-1.1, oscar-22.01, oscar-23.01, dolma or parquet.")
]
OnLoss = Annotated[Loss, typer.Option("--on-loss", help="Stop before anything is lost, or count it in the report.")]
OnBadRecord = Annotated[
    BadRecord,
    typer.Option("--on-bad-record", help="Stop at the first, or write them to DST-quarantine with the reason."),
]
LangField = Annotated[str | None, typer.Option("--lang-field", help="The field of `metadata` that holds the language.")]
TextField = Annotated[str | None, typer.Option("--text-field", help="Parquet: the column of texts (default: text).")]
IdField = Annotated[
    str | None, typer.Option("--id-field", help="Parquet: the column of ids (default: id, or ids are made).")
]
PartSize = Annotated[
    int, typer.Option("--part-size", min=1, help="Bytes of text of a part, where parts are ours to cut.")
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
    text_field: TextField = None,
    id_field: IdField = None,
    part_size: PartSize = 500_000_000,
    jobs: Jobs = None,
    engine: Engine = None,
) -> None:
    """Write a corpus in another format, checking what is read; nothing is lost in silence."""
    from corpusfmt.conversion import convert

    with shown_stages() as show:
        report = convert(
            source,
            destination,
            to=to,
            source_format=source_format,
            on_loss=on_loss.value,
            on_bad_record=on_bad_record.value,
            language_field=lang_field,
            text_field=text_field,
            id_field=id_field,
            part_bytes=part_size,
            jobs=jobs,
            engine=engine,
            progress=show,
        )
    print(f"{report.coverage.shards_seen:,} shards -> {destination}: {report.coverage.documents:,} documents", end="")
    print(f" in {report.results['files']:,} files")
    for what, count in report.results["losses"].items():
        print(f"  not kept: {what}, {count:,} times")
    if report.results["rejected"]:
        print(f"  rejected: {report.results['rejected']:,} records, in {destination}-quarantine")
    raise typer.Exit(exit_status(report, FailOn.ERROR))
