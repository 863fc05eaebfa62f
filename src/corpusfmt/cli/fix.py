"""Internal: `corpusfmt fix`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from difflib import unified_diff
from itertools import takewhile
from typing import Annotated

import typer

from corpusfmt.cli.console import mention, summarise, warn, write
from corpusfmt.cli.options import UNSET, ConfigFile, Given
from corpusfmt.cli.outcome import FINDINGS, exit_status, guarded, write_reports
from corpusfmt.engine.fix import Change, Fixed, Fixing, fixed_at
from corpusfmt.engine.sharing import Validation
from corpusfmt.options import like, made
from corpusfmt.wording import plain

Paths = Annotated[list[str], typer.Argument(metavar="PATH...", help="Descriptions or corpora, local.")]
Diff = Annotated[bool, typer.Option("--diff", help="Show what would be changed, and change nothing.")]


@guarded
def command(
    paths: Paths,
    diff: Diff = False,
    given: Annotated[Given, Fixing] = UNSET,
    config: ConfigFile = None,
) -> None:
    """Repair findings that need no decision by the author; the rest of each file stays as it is."""
    from corpusfmt.cli.inputs import expanded, limits_of, one_report, settings_of, with_settings
    from corpusfmt.engine.validate import validated
    from corpusfmt.report.saved import Baseline

    settings = settings_of(config, paths)
    asked = made(Fixing, with_settings(settings, given), limits=limits_of(given, settings), write=not diff)
    changed, reports = False, []
    for shown, entry in list(expanded([(path, path) for path in paths], follow_links=asked.follow_links)):
        fixed = fixed_at(entry, asked)
        changed |= bool(fixed.changes)
        _tell(fixed, shown, diff=diff)
        if not diff:
            reports.append((shown, validated(entry, like(Validation, asked, follow_links=False))))
    if diff:
        raise SystemExit(FINDINGS if changed else 0)
    whole = one_report(reports, Baseline())
    write_reports(whole, "full", ())
    raise SystemExit(exit_status(whole))


def _tell(fixed: Fixed, shown: str, *, diff: bool) -> None:
    for change in fixed.changes:
        above = shown[: shown.rfind("/") + 1]
        path, to = above + change.path, above + change.to
        if diff:
            write(differences(change, path, to))
        elif change.to:
            summarise(f"renamed {path} to {to}")
        else:
            verb = "wrote" if change.before is None and not change.note else "changed"
            verb = "removed" if change.after is None and not change.note else verb
            summarise(f"{verb} {path}{f': {change.note}' if change.note else ''}")
    if fixed.repaired:
        mention(f"{'would repair' if diff else 'repaired'} {_counted(fixed.repaired)}")
    if fixed.removed:
        mention(f"{'would remove' if diff else 'removed'} values: {_counted(fixed.removed)}")
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
# As in descriptions that a program wrote on one line.
_LONG_LINE = 1_000


def differences(change: Change, path: str, to: str) -> Iterator[str]:
    """Yield the lines of a change as `git diff` shows it; `to` is the new path of a file that is renamed.

    `git apply` takes it but for what cannot be seen. A line too long to read is one for each value.
    """
    was, is_now = plain(path), plain(to)
    if change.to:
        yield f"diff --git a/{was} b/{is_now}"
        yield "similarity index 100%"
        yield f"rename from {was}"
        yield f"rename to {is_now}"
        return
    if change.note:
        yield f"diff --git a/{was} b/{was}"
        yield f"Binary files a/{was} and b/{was} differ: {change.note}"
        return
    if change.after is None and not change.before:
        yield f"diff --git a/{was} b/{was}"
        yield "deleted file mode 100644"
        return
    before, after = _lines(change.before), _lines(change.after)
    if any(len(line) > _LONG_LINE for line in before):
        before, after = _values(before), _values(after)
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


def _values(lines: list[str]) -> list[str]:
    return [
        f"{value.rstrip()}\n" for line in lines for value in re.split(r"(?<=[,{[])(?=[^,{[])", line) if value.strip()
    ]
