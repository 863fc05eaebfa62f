"""Internal: `corpusfmt records`."""

from __future__ import annotations

import base64
import json
import sys
from typing import Annotated, Any

import typer

from corpusfmt.cli.bounds import MaxExpansion, MaxTotalBytes, Timeout, limits_of
from corpusfmt.cli.console import warn
from corpusfmt.cli.inputs import FollowLinks
from corpusfmt.cli.outcome import FailOn, exit_status, guarded
from corpusfmt.wording import json_text

Path = Annotated[str, typer.Argument(metavar="FILE", help="A Croissant description, or a folder with one.")]
RecordSetName = Annotated[
    str | None, typer.Option("--record-set", metavar="NAME", help="Its `@id` or name; needed where there are several.")
]
Limit = Annotated[int | None, typer.Option("--limit", min=0, metavar="N", help="Stop after so many records.")]


@guarded
def command(
    path: Path,
    record_set: RecordSetName = None,
    limit: Limit = None,
    max_expansion: MaxExpansion = None,
    max_total_bytes: MaxTotalBytes = None,
    timeout: Timeout = None,
    follow_links: FollowLinks = False,
) -> None:
    """Print the records that a Croissant description describes, as JSON Lines; what is wrong goes to standard error."""
    from corpusfmt.formats.croissant.data.stream import records
    from corpusfmt.formats.general import LINK_OUTSIDE_ROOT
    from corpusfmt.io.limits import limited
    from corpusfmt.model import Coverage, Finding, Report, Tally
    from corpusfmt.report.text import concise

    tally, coverage = Tally(), Coverage(shards_total=1, shards_seen=1)
    limits = limits_of(max_expansion, max_total_bytes, timeout)
    with limited(limits.begun().of_read_files):
        for each in records(path, record_set, follow_links=follow_links, limits=limits):
            if isinstance(each, Finding):
                tally.add(each)
            elif coverage.documents == limit:
                break
            else:
                sys.stdout.buffer.write(_line(each.values))
                coverage.documents += 1
    sys.stdout.buffer.flush()
    report = Report("croissant", "", tally, coverage)
    if tally.counts:
        for line in concise(report):
            print(line, file=sys.stderr)
        if hint := next((each.hint for each in tally.findings if each.code == LINK_OUTSIDE_ROOT.code), ""):
            warn(f"  help: {hint}")
    raise typer.Exit(exit_status(report, FailOn.ERROR))


def _line(values: dict[str, Any]) -> bytes:
    text = json.dumps(_printable(values), ensure_ascii=False, separators=(",", ":"))
    return json_text(text).encode() + b"\n"


def _printable(value: Any) -> Any:
    """Return a value as JSON can have it: bytes as Base64, numbers that are none as null."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return None
    if isinstance(value, list):
        return [_printable(each) for each in value]
    if isinstance(value, dict):
        return {name: _printable(each) for name, each in value.items()}
    return value
