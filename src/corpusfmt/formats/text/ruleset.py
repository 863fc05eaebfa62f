"""Internal: The rules on the bytes of text; those on names are in `layout`."""

from __future__ import annotations

from corpusfmt.formats.general import GENERAL
from corpusfmt.formats.rows.files import compression_rule, path_rule
from corpusfmt.formats.rows.format import file_findings
from corpusfmt.model import Severity
from corpusfmt.rules import RuleSet

VERSION = "1.0"
RULES = RuleSet(GENERAL, versions=(VERSION,))
compression_rule(RULES, "TXT102")
path_rule(RULES, "TXT105")

FILES = file_findings(RULES, "TXT101", "TXT103", "TXT104", files="text file", rows="documents")

CARRIAGE_RETURN = RULES.finding(
    "TXT201",
    "carriage-return",
    r"""Lines end in CR LF.

    Why: only LF ends a line; the CR becomes part of the text.
    Example: a file written on Windows in text mode.
    Fix: run `tr -d '\r'`.
    """,
    severity=Severity.WARNING,
)

ELEMENT_MALFORMED = RULES.finding(
    "TXT203",
    "element-malformed",
    """Text is not between a line `<doc …>` and a line `</doc>`, as all documents of WikiExtractor are.

    Why: one document has no end, or text belongs to none, so it would be lost or put into the wrong one.
    Example: a file that was cut before its last `</doc>`.
    Fix: extract the file again.
    """,
)

BYTE_ORDER_MARK = RULES.finding(
    "TXT202",
    "byte-order-mark",
    """A file begins with the byte order mark U+FEFF.

    Why: UTF-8 needs none, and it becomes the first character of the first document.
    Example: a file saved by an editor as UTF-8 with BOM.
    Fix: remove the first three bytes of the file.
    """,
    severity=Severity.WARNING,
)
