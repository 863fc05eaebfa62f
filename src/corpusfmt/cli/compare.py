"""Internal: `corpusfmt compare`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from corpusfmt.cli.inputs import limits_of
from corpusfmt.cli.options import UNSET, Bounds, Profiled, Reports
from corpusfmt.cli.outcome import FINDINGS, UNFINISHED, guarded
from corpusfmt.cli.progress import shown_stages
from corpusfmt.engine.sharing import Engine, FollowLinks, Jobs, RecordSet
from corpusfmt.model import UsageError

Old = Annotated[str, typer.Argument(metavar="OLD", help="The earlier release: a corpus in any format.")]
New = Annotated[str, typer.Argument(metavar="NEW", help="The later release: a corpus in any format.")]
OldFormat = Annotated[str, typer.Option("--old-format", help="Format of OLD, like oscar-1.1, dolma or parquet.")]
NewFormat = Annotated[str, typer.Option("--new-format", help="Format of NEW.")]
Fail = Annotated[
    list[str],
    typer.Option(
        "--fail-on-change",
        metavar="KINDS",
        help="Exit 1 on these differences, comma-separated: added, removed, changed-text, reassigned, changed-metadata, "
        "changed-attributes, moved, renamed, removed-language, removed-source or schema.",
    ),
]
OnBadRecord = Annotated[
    Literal["stop", "skip"],
    typer.Option("--on-bad-record", help="Stop at the first bad record, or skip and count bad records."),
]
MaxExamples = Annotated[int, typer.Option(min=0, max=1_000, help="Most documents to name per kind of difference.")]
OutputFormat = Annotated[str, typer.Option(help="text, json, markdown or html.")]


@guarded
def command(
    old: Old,
    new: New,
    old_format: OldFormat = "auto",
    new_format: NewFormat = "auto",
    fail_on: Fail = [],  # noqa: B006 - typer needs a value, and nothing mutates it
    record_set: RecordSet = None,
    fields: Profiled = UNSET,
    on_bad_record: OnBadRecord = "stop",
    max_examples: MaxExamples = 10,
    output_format: OutputFormat = "text",
    report: Reports = [],  # noqa: B006
    bounds: Bounds = UNSET,
    jobs: Jobs = None,
    engine: Engine = None,
    follow_links: FollowLinks = False,
) -> None:
    """Compare two releases of a corpus, document by document, in any formats."""
    from corpusfmt.cli.outcome import check_outputs, write_outputs
    from corpusfmt.comparison import compare
    from corpusfmt.comparison.render import renderer
    from corpusfmt.comparison.result import refused_unknown
    from corpusfmt.options import names

    if "-" in (old, new):
        raise UsageError("compare does not read standard input: write it to a file and pass that file")
    check_outputs(output_format, report, renderer)
    failing = refused_unknown(names(fail_on))
    limits = limits_of(bounds)
    with shown_stages() as show:
        found = compare(
            old,
            new,
            old_format=old_format,
            new_format=new_format,
            record_set=record_set,
            on_bad_record=on_bad_record,
            examples=max_examples,
            jobs=jobs,
            engine=engine,
            follow_links=follow_links,
            limits=limits,
            progress=show,
            **fields,
        )
    write_outputs(lambda name: renderer(name)(found), output_format, report, for_terminals={"text"})
    raise SystemExit(UNFINISHED if not found.is_complete else FINDINGS if found.failures(failing) else 0)
