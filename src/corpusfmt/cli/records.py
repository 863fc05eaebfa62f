"""Internal: `corpusfmt records`."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from corpusfmt.cli.console import warn
from corpusfmt.cli.inputs import limits_of
from corpusfmt.cli.options import UNSET, Bounds
from corpusfmt.cli.outcome import exit_status, guarded
from corpusfmt.engine.sharing import FollowLinks, Maps
from corpusfmt.model import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from corpusfmt.formats.recordsets import Record
    from corpusfmt.model import Coverage
    from corpusfmt.recordsets import Records


Table = Literal["jsonl", "csv", "csv-safe", "parquet", "arrow"]
Path = Annotated[str, typer.Argument(metavar="FILE", help="A Croissant description, or a folder with one.")]
RecordSetName = Annotated[
    str | None, typer.Option("--record-set", metavar="NAME", help="`@id` or name; required if there are several.")
]
Number = Annotated[int | None, typer.Option("-n", "--number", min=0, metavar="N", help="Stop after N records.")]
Where = Annotated[
    list[str],
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Only records with field==value or field!=value; repeatable, all must match.",
    ),
]
Split = Annotated[str | None, typer.Option("--split", metavar="NAME", help="Only records of this split.")]
Fields = Annotated[str | None, typer.Option("--fields", metavar="A,B", help="Only these fields, in this order.")]
As = Annotated[
    Table,
    typer.Option(
        "--output-format", help="jsonl, csv, csv-safe (no cell is a formula), parquet or arrow (an IPC stream)."
    ),
]
Output = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file instead of standard output.")
]


@guarded
def command(
    path: Path,
    record_set: RecordSetName = None,
    where: Where = [],  # noqa: B006 - typer needs a value, and nothing mutates it
    split: Split = None,
    fields: Fields = None,
    number: Number = None,
    table: As = "jsonl",
    output: Output = None,
    maps: Maps = {},  # noqa: B006
    bounds: Bounds = UNSET,
    follow_links: FollowLinks = False,
) -> None:
    """Print the records of a Croissant description. Findings go to standard error."""
    from corpusfmt.formats.general import LINK_OUTSIDE_ROOT
    from corpusfmt.io.limits import limited
    from corpusfmt.model import Coverage, Report, Tally
    from corpusfmt.options import maps_of, names
    from corpusfmt.recordsets import records
    from corpusfmt.report.text import concise

    tally, coverage = Tally(), Coverage(shards_total=1, shards_seen=1)
    limits = limits_of(bounds)
    with limited(limits.begun().of_read_files):
        found = records(
            path,
            record_set,
            fields=names([fields] if fields else []),
            where=where,
            split=split,
            maps=maps_of(maps),
            on_finding=tally.add,
            follow_links=follow_links,
            limits=limits,
        )
        _write(found, _counted(found, number, coverage), table, output)
    report = Report("croissant", "", tally, coverage)
    if tally.counts:
        for line in concise(report):
            print(line, file=sys.stderr)
        if hint := next((each.hint for each in tally.findings if each.code == LINK_OUTSIDE_ROOT.code), ""):
            warn(f"  help: {hint}")
    raise SystemExit(exit_status(report))


def _counted(found: Records, number: int | None, coverage: Coverage) -> Iterator[Record]:
    for each in found:  # stop only at the next record, so that findings before it are reported
        if coverage.documents == number:
            return
        yield each
        coverage.documents += 1


def _write(found: Records, chosen: Iterator[Record], table: Table, output: str | None) -> None:
    from corpusfmt.io.publish import output_at, publish
    from corpusfmt.recordsets.tables import BINARY, WRITERS

    if output is None and table in BINARY and sys.stdout.isatty():
        raise UsageError(f"{table} is binary and standard output is a terminal: write to a file with --output")
    with publish(output_at(output, "--output")) if output is not None else nullcontext(sys.stdout.buffer) as out:
        WRITERS[table](found.columns, chosen, out)
    sys.stdout.buffer.flush()
