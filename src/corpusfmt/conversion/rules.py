"""Internal: Rules for conversions, in addition to those for the data."""

from __future__ import annotations

from corpusfmt.model import Fault, Finding, FindingType, Problem
from corpusfmt.rules import RuleSet, finding_of

RULES = RuleSet()

LOSSY_CONVERSION = RULES.finding(
    "CNV101",
    "lossy-conversion",
    """The target cannot represent some data of the source.

    Why: converting back would not restore it. With --on-loss warn each loss is a counted warning, with allow an info.
    Example: metadata converted to OSCAR 1.0, which contains only text.
    Fix: choose another target, or accept the loss with --on-loss warn or allow.
    """,
)

LANGUAGE_UNKNOWN = RULES.finding(
    "CNV102",
    "language-unknown",
    """A document's language is unknown or differs from its folder's, and the target is laid out by language.

    Why: the document would be filed under a wrong language.
    Example: Dolma without `metadata.language`, converted to OSCAR.
    Fix: name the field or attribute of the language: --language-entry or --language-attribute.
    """,
)

ATTRIBUTE_COLLISION = RULES.finding(
    "CNV103",
    "attribute-collision",
    """Attribute sets to merge have an attribute of the same name with different values.

    Why: only one of them can be embedded.
    Example: `lid__model__en` of both `lid` and `new`.
    Fix: name the set that wins with --prefer-attributes.
    """,
)

LANGUAGE_LABEL_UNFIT = RULES.finding(
    "CNV104",
    "language-label-unfit",
    """The language label of a document is not one language, and OSCAR has a folder for each.

    Why: the document would be filed under a wrong language. Codes of ISO 639, BCP 47 (`zh-Hant`, `deu_Latn`) and English names are known.
    Example: `not_en`; `und`; `multi` of the releases 22.01 and 23.01.
    Fix: change the labels, or name another field or attribute with --language-entry or --language-attribute.
    """,
)

SOURCE_MISSING = RULES.finding(
    "CNV105",
    "source-missing",
    """A document has no `source`, and --source is not given.

    Why: Dolma requires a `source`: an id is unique only within it.
    Example: `{"id": "1", "text": "…"}` without --source.
    Fix: name the source of such documents with --source.
    """,
)

REPEATED_DOCUMENT_ID = RULES.finding(
    "CNV106",
    "repeated-document-id",
    """A document repeats the source and id of an earlier one, and the target requires unique ids.

    Why: Dolma requires ids to be unique within their source; otherwise documents cannot be traced or blocked by id.
    Example: a file that was copied under another name; two variants of a release under one --source.
    Fix: drop one of the two or change its id, or reject the later ones with --on-bad-record quarantine.
    """,
)


def finding(found: FindingType, problem: Problem) -> Finding:
    """Return a conversion's problem as a finding."""
    return finding_of(Fault(found, problem), RULES, "")
