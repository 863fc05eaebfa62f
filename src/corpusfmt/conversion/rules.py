"""Internal: What can be wrong with a conversion, rather than with what is converted."""

from __future__ import annotations

from corpusfmt.model import Fault, Finding, FindingType, Problem
from corpusfmt.rules import RuleSet, finding_of

RULES = RuleSet()

LOSSY_CONVERSION = RULES.finding(
    "CNV101",
    "lossy-conversion",
    """The target cannot hold something of the source.

    Why: the way back would not give it again. With --on-loss warn it is a warning that is counted, with allow a remark.
    Example: metadata on the way to OSCAR 1.0, which has text alone.
    Fix: choose another target, or accept the loss with --on-loss warn or allow.
    """,
)

LANGUAGE_UNKNOWN = RULES.finding(
    "CNV102",
    "language-unknown",
    """Nothing tells the language of a document, or it is not that of its folder, and the target is laid out by language.

    Why: the document would be filed under a language that nobody chose.
    Example: Dolma without `metadata.language`, to OSCAR.
    Fix: name what holds the language with --lang-field or --lang-attribute.
    """,
)

ATTRIBUTE_COLLISION = RULES.finding(
    "CNV103",
    "attribute-collision",
    """Two attribute sets that are to be merged have an attribute of the same name with different values.

    Why: only one of them can be embedded.
    Example: `lid__model__en` of both `lid` and `new`.
    Fix: say which set wins with --prefer-attributes.
    """,
)

LANGUAGE_LABEL_UNFIT = RULES.finding(
    "CNV104",
    "language-label-unfit",
    """The language of a document is no label that a directory of OSCAR 1.0 or 1.1 can be named by.

    Why: these are two or three lower-case letters; no reader finds a language in another directory.
    Example: `EN`; `zh-Hant`; `multi` and `x-eml` of the releases 22.01 and 23.01.
    Fix: bring the labels into this form, or name another field or attribute with --lang-field or --lang-attribute.
    """,
)

SOURCE_MISSING = RULES.finding(
    "CNV105",
    "source-missing",
    """A document does not say where it comes from, and neither does --source.

    Why: Dolma requires a `source`: an id is unique only within it.
    Example: `{"id": "1", "text": "…"}` without --source.
    Fix: name the source of such documents with --source.
    """,
)

REPEATED_DOCUMENT_ID = RULES.finding(
    "CNV106",
    "repeated-document-id",
    """A document has the source and the id of an earlier one, and the target wants no two of these.

    Why: Dolma asks for ids that are unique within their source; else nothing can be traced or blocked by its id.
    Example: a file that was copied under another name; two variants of a release under one --source.
    Fix: drop one of the two or give it an id of its own, or reject the later ones with --on-bad-record quarantine.
    """,
)


def finding(found: FindingType, problem: Problem) -> Finding:
    """Return what a conversion came across as a finding."""
    return finding_of(Fault(found, problem), RULES, "")
