"""Internal: Check a text that an editor holds as if it were saved, and repair it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache

from msgspec import Struct, field

from corpusfmt.engine.fix import Fixing, fixed_at
from corpusfmt.engine.sharing import Judging, Validation
from corpusfmt.engine.validate import validated
from corpusfmt.formats import Format, detect, named_format
from corpusfmt.io.limits import Limits
from corpusfmt.io.paths import Changed, Root, printable
from corpusfmt.lsp.assist import Schema
from corpusfmt.model import CorpusfmtError, Finding, Rule
from corpusfmt.options import like
from corpusfmt.report.view import rules_of

#: A longer text is not checked while it is edited.
MOST_BYTES = 20_000_000
_SECONDS = 10.0
_MOST_PER_RULE = 1_000


class Checked(Struct):
    """What a check of one state of a text found: findings at its places, and the rules that they break.

    For findings, lines end with LF alone.
    """

    text: str
    format: Format | None = None
    version: str = ""
    findings: Sequence[Finding] = ()
    rules: Mapping[str, Rule] = field(default_factory=dict)
    line_starts: Sequence[int] = (0,)

    @property
    def schema(self) -> Schema | None:
        """What is known of the names in a description; None for other texts."""
        return _schema(self.format.name, self.version) if self.format is not None else None


@cache
def _schema(format_name: str, version: str) -> Schema | None:
    own = named_format(format_name)[0].schema
    return Schema(own(version)) if own is not None else None


def check(text: str, path: str, format_name: str, judged: Judging) -> Checked:
    """Check a text that is or will be the file at `path`, as `validate` would by these rules.

    `format_name` is the format of an earlier state, "" if there is none. A text in no known format has no findings. Raises
    `UsageError` for wrong arguments.
    """
    entry = _entry(text, path)
    fmt = None if entry is None else _format_of(entry, format_name)
    if entry is None or fmt is None:
        return Checked(text)
    report = validated(
        entry,
        like(Validation, judged, format=fmt.name, max_per_rule=_MOST_PER_RULE, limits=Limits(timeout=_SECONDS)),
    )
    findings = [each for each in report.findings if each.location.path in (entry.path, ".")]
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    codes = {each.code for each in findings}
    # Formats of other distributions have rules of their own.
    rules = rules_of(codes) | {rule.code: rule for rule in fmt.rules if rule.code in codes}
    return Checked(text, fmt, report.version, findings, rules, starts)


def repaired(text: str, path: str, format_name: str, judged: Judging) -> str | None:
    """Return a text with all repairs made that need no review; None if there are none."""
    entry = _entry(text, path)
    if entry is None:
        return None
    try:
        asked = like(Fixing, judged, format=format_name, write=False, limits=Limits(timeout=_SECONDS))
        changes = fixed_at(entry, asked).changes
    except CorpusfmtError:
        return None
    after = next((each.after for each in changes if each.path == entry.path and each.after is not None), None)
    return None if after is None else after.decode("utf-8", "surrogatepass")


def _entry(text: str, path: str) -> Changed | None:
    content = text.encode("utf-8", "surrogatepass")
    if len(content) > MOST_BYTES:
        return None
    folder, name = os.path.split(path)
    return Changed(printable(name), path, "file", len(content), root=Root(os.path.realpath(folder)), content=content)


def _format_of(entry: Changed, known: str) -> Format | None:
    """Return the format of a text, or of an earlier state of it: one that is being edited may be in no format."""
    try:
        found = detect(entry)[0]
    except CorpusfmtError:
        found = None
    if found is not None and not found.is_general:
        return found
    return named_format(known)[0] if known else None
