"""Internal: The registry that the modules of this format add their rules to."""

from __future__ import annotations

from corpusfmt.formats.general import GENERAL
from corpusfmt.formats.rows.files import compression_rule
from corpusfmt.model import Severity
from corpusfmt.rules import RuleSet

#: Releases by schema 2, which differ in the names of a few fields of `metadata`.
VERSIONS = ("22.01", "23.01")
RULES = RuleSet(GENERAL, versions=VERSIONS)

LAYOUT = "oscar-schema-v2#layout"
RECORD = "oscar-schema-v2#jsonl-files"

EMPTY_FILE = RULES.finding(
    "OSJ106",
    "empty-file",
    """A file has no records.

    Why: it may be intended, but usually a filter dropped everything or a writer failed.
    Example: a gzip file of 20 bytes.
    Fix: delete the file, or write it again.
    """,
    severity=Severity.WARNING,
    spec=RECORD,
)

compression_rule(RULES, "OSJ107", LAYOUT)
