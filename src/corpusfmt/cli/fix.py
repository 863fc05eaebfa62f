"""Internal: `corpusfmt fix`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import unified_diff
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated

import typer

from corpusfmt.cli.console import mention, summarise, warn, write
from corpusfmt.cli.options import ConfigFile, Data, FollowLinks, FormatName, Ignore, Profile, Select
from corpusfmt.cli.outcome import FINDINGS, FailOn, exit_status, guarded, write_reports
from corpusfmt.wording import plain

if TYPE_CHECKING:
    from corpusfmt.engine.fix import Change, Fixed

Paths = Annotated[list[str], typer.Argument(metavar="PATH...", help="Descriptions or corpora, local.")]
Diff = Annotated[bool, typer.Option("--diff", help="Show what would be changed, and change nothing.")]
Unsafe = Annotated[bool, typer.Option("--unsafe", help="Also make repairs that may change what is said: review them.")]
To = Annotated[str, typer.Option(metavar="VERSION", help="Bring a Croissant description to this version, like 1.1.")]


@guarded
def command(
    paths: Paths,
    diff: Diff = False,
    unsafe: Unsafe = False,
    to: To = "",
    format_name: FormatName = "auto",
    profile: Profile = [],  # noqa: B006 - typer needs a value, and nothing here changes it
    data: Data = False,
    select: Select = [],  # noqa: B006
    ignore: Ignore = [],  # noqa: B006
    config: ConfigFile = None,
    follow_links: FollowLinks = False,
) -> None:
    """Repair findings that need no decision by the author; the rest of each file stays as it is."""
    from corpusfmt.cli.inputs import expanded, judged_by, one_report, settings_of
    from corpusfmt.engine.fix import fix
    from corpusfmt.engine.validate import validate
    from corpusfmt.report.saved import Baseline

    settings = settings_of(config, paths)
    follow = follow_links or settings.follow_links
    judged = {**judged_by(settings, profile, select, ignore), "data": data}
    changed, reports = False, []
    for shown, entry in list(expanded([(path, path) for path in paths], follow_links=follow)):
        fixed = fix(entry, format=format_name, to=to, unsafe=unsafe, write=not diff, follow_links=follow, **judged)
        changed |= bool(fixed.changes)
        _tell(fixed, shown, diff=diff)
        if not diff:
            reports.append((shown, validate(entry, format=format_name, **judged)))
    if diff:
        raise SystemExit(FINDINGS if changed else 0)
    whole = one_report(reports, Baseline())
    write_reports(whole, "full", ())
    raise SystemExit(exit_status(whole, FailOn.ERROR))


def _tell(fixed: Fixed, shown: str, *, diff: bool) -> None:
    for change in fixed.changes:
        above = shown if shown.endswith("/") else ""
        path, to = above + change.path if above else shown, above + change.to
        if diff:
            write(
                _renaming(path, to) if change.to else _note(change, path) if change.note else _difference(change, path)
            )
        elif change.to:
            summarise(f"renamed {path} to {to}")
        else:
            is_removed = change.after is None and not change.note
            summarise(f"{'removed' if is_removed else 'changed'} {path}{f': {change.note}' if change.note else ''}")
    if fixed.repaired:
        mention(f"{'would repair' if diff else 'repaired'} {_counted(fixed.repaired)}")
    if fixed.unsafe:
        warn(f"to be reviewed, with --unsafe: {_counted(fixed.unsafe)}")
    if fixed.sealed:
        folder = shown.rstrip("/")
        again = {
            "croissant.json": f"`corpusfmt fix {folder}/croissant.json --data --unsafe`",
            "MANIFEST.json": f"`corpusfmt seal {folder}`",
        }
        verb = "list" if len(fixed.sealed) > 1 else "lists"
        run = ", then ".join(again[name] for name in fixed.sealed)
        warn(f"{' and '.join(fixed.sealed)} {verb} the files as they were: afterwards run {run}")


def _counted(codes: Counter[str]) -> str:
    return ", ".join(f"{count:,} {code}" for code, count in sorted(codes.items()))


# A hunk for each change is worth its time where there are few lines to compare.
_MOST_LINES = 20_000


def _note(change: Change, path: str) -> Iterator[str]:
    yield f"diff --git a/{plain(path)} b/{plain(path)}"
    yield f"Binary files a/{plain(path)} and b/{plain(path)} differ: {change.note}"


def _renaming(path: str, to: str) -> Iterator[str]:
    yield f"diff --git a/{plain(path)} b/{plain(to)}"
    yield "similarity index 100%"
    yield f"rename from {plain(path)}"
    yield f"rename to {plain(to)}"


def _difference(change: Change, path: str) -> Iterator[str]:
    """Yield a unified diff, as `git apply` takes it but for what cannot be seen."""
    if change.after is None and not change.before:
        yield f"diff --git a/{plain(path)} b/{plain(path)}"
        yield "deleted file mode 100644"
        return
    before, after = _lines(change.before), _lines(change.after)
    old, new = (
        "/dev/null" if each is None else f"{side}/{path}" for side, each in (("a", change.before), ("b", change.after))
    )
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    if max(len(before), len(after)) - same > _MOST_LINES:
        yield f"--- {plain(old)}"
        yield f"+++ {plain(new)}"
        yield f"@@ {len(before):,} lines become {len(after):,}, from line {same + 1} on @@"
        return
    for line in unified_diff(before, after, old, new, lineterm=""):
        yield "\t".join(map(plain, line.removesuffix("\n").split("\t")))
        if line[:1] in "+- " and not line.startswith(("+++", "---")) and not line.endswith("\n"):
            yield "\\ No newline at end of file"


def _lines(data: bytes | None) -> list[str]:
    text = (data or b"").decode("utf-8", "backslashreplace")
    return [f"{line}\n" for line in text.split("\n")[:-1]] + ([last] if (last := text.rpartition("\n")[2]) else [])
