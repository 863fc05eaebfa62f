"""Internal: `corpusfmt stats`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from corpusfmt.cli.console import say
from corpusfmt.cli.inputs import limits_of
from corpusfmt.cli.options import UNSET, Given, Reports
from corpusfmt.cli.outcome import FINDINGS, UNFINISHED, guarded
from corpusfmt.cli.progress import shown_progress
from corpusfmt.model import UsageError
from corpusfmt.options import made
from corpusfmt.statistics.options import Counting
from corpusfmt.wording import plural

if TYPE_CHECKING:
    from corpusfmt.engine.shares import Share
    from corpusfmt.engine.sharing import Whole
    from corpusfmt.statistics.result import Statistics

Corpora = Annotated[
    list[str],
    typer.Argument(metavar="CORPUS", help="A corpus in any format that has documents; with --merge, parts."),
]
Merge = Annotated[bool, typer.Option("--merge", help="Join the parts that --shard wrote.")]
ShardOf = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Count a share of the corpus, like 1/8, and write it with --report part=FILE, for --merge.",
    ),
]
# The output format of a share.
_PART = "part"
OutputFormat = Annotated[str, typer.Option(help="text, json or markdown.")]


@guarded
def command(
    corpus: Corpora,
    merge: Merge = False,
    given: Annotated[Given, Counting] = UNSET,
    output_format: OutputFormat = "text",
    report: Reports = [],  # noqa: B006 - typer needs a value, and nothing mutates it
    shard: ShardOf = None,
) -> None:
    """Count what a corpus contains: documents, words, lengths, languages, sources, scripts, dates, domains, repeats."""
    from corpusfmt.cli.outcome import check_outputs, write_outputs
    from corpusfmt.statistics.render import renderer
    from corpusfmt.statistics.run import statistics_of

    share = _share_of(shard, given.get("engine"), merge=merge)
    if share is None:
        check_outputs(output_format, report, renderer)
    if merge:
        from corpusfmt.engine.parts import parts_at
        from corpusfmt.statistics.run import joined, kind_of_parts

        for name in ("tokenizer", "record_set", "columns", "field"):
            if name in given:
                raise UsageError(f"--merge joins what was counted: pass --{name.replace('_', '-')} with --shard")
        found = joined(parts_at(corpus, kind_of_parts()), given.get("domains"))
    else:
        with shown_progress("counting") as show, _part(share, report, given.get("domains")) as part:
            asked = made(Counting, given, jobs=given.get("jobs"), limits=limits_of(given), progress=show)
            found = statistics_of(_only(corpus), asked, part)
    if share is not None:
        _end_share(share, found)
    write_outputs(lambda name: renderer(name)(found), output_format, report, for_terminals={"text"})
    raise SystemExit(UNFINISHED if not found.is_complete else FINDINGS if found.rejected else 0)


def _share_of(shard: str | None, engine: str | None, *, merge: bool) -> Share | None:
    from corpusfmt.engine.shares import share_of

    if shard is not None and merge:
        raise UsageError("a share is one step, the whole another: run all shards, then --merge with their parts")
    return None if shard is None else share_of(shard, engine=engine)


def _end_share(share: Share, found: Statistics) -> NoReturn:
    say(f"part {share}: {plural(found.total.documents, 'document')}; join all parts with `corpusfmt stats --merge`")
    raise SystemExit(0 if found.is_complete else UNFINISHED)


@contextmanager
def _part(share: Share | None, reports: Sequence[str], domains: str | None) -> Iterator[Whole]:
    """Yield what this process does of the run; a part is written to the file of the report."""
    from corpusfmt.engine.parts import PartWriter
    from corpusfmt.engine.sharing import WHOLE
    from corpusfmt.io.publish import output_at, publish
    from corpusfmt.statistics.run import kind_of_parts

    if share is None:
        yield WHOLE
        return
    kind, _, path = reports[0].partition("=") if len(reports) == 1 else ("", "", "")
    if kind != _PART or path in {"", "-"}:
        raise UsageError("--shard writes a part of the statistics, and nothing else: add --report part=FILE alone")
    if domains is not None:
        raise UsageError("a part has no list of domains: pass --count domains here, and --domains with --merge")
    with publish(output_at(path, "--report")) as file:
        part = PartWriter(file, share, kind_of_parts())
        yield part
        part.end()


def _only(corpora: Sequence[str]) -> str:
    if "-" in corpora:
        raise UsageError("stats does not read standard input: write it to a file and pass that file")
    if len(corpora) > 1:
        raise UsageError("stats counts one corpus: run it once for each, or name a folder that contains all")
    return corpora[0]
