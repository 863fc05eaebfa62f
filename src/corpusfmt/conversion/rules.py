"""What can be wrong with a conversion, rather than with what is converted."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from corpusfmt.formats.oscar.languages import V2_LABELS
from corpusfmt.model import Finding, Location, Problem
from corpusfmt.rules import Grading, Judge, RuleSet

RULES = RuleSet()


class NotKept(Struct, frozen=True):
    """Something that does not come along, `count` times; `hint` where it stops the run."""

    at: Location
    what: str
    count: int = 1
    hint: str = ""


class Unfiled(Struct, frozen=True):
    """A document that has no place in a target laid out by language."""

    at: Location
    reason: str
    hint: str


class Mislabelled(Struct, frozen=True):
    """A document whose language cannot be the name of a folder in a target laid out by language."""

    at: Location
    label: str


class Sourceless(Struct, frozen=True):
    """A document without a source, which nobody has given it."""

    at: Location


class Repeated(Struct, frozen=True):
    """A document whose source and id an earlier one has as well."""

    at: Location
    source: str
    first: Location


class Collision(Struct, frozen=True):
    """An attribute that two sets have with different values; `newer` is the one that came second."""

    at: Location
    key: str
    older: str
    newer: str


@RULES.rule("CNV101", "lossy-conversion", on=NotKept)
def lossy_conversion(loss: NotKept) -> Iterator[Problem]:
    """The target cannot hold something of the source.

    Why: the way back would not give it again. With --on-loss warn it is a warning that is counted, with allow a remark.
    Example: metadata on the way to OSCAR 1.0, which has text alone.
    Fix: choose another target, or accept the loss with --on-loss warn or allow.
    """
    if loss.hint:
        yield Problem(f"cannot be kept: {loss.what}", loss.at, loss.hint, loss.count)
    else:
        yield Problem(f"not kept: {loss.what}", loss.at, count=loss.count)


@RULES.rule("CNV102", "language-unknown", on=Unfiled)
def language_unknown(document: Unfiled) -> Iterator[Problem]:
    """Nothing tells the language of a document, or it is not that of its folder, and the target is laid out by language.

    Why: the document would be filed under a language that nobody chose.
    Example: Dolma without `metadata.language`, to OSCAR.
    Fix: name what holds the language with --lang-field or --lang-attribute.
    """
    yield Problem(f"{document.reason}{_which(document.at)}", document.at, document.hint)


@RULES.rule("CNV103", "attribute-collision", on=Collision)
def attribute_collision(attribute: Collision) -> Iterator[Problem]:
    """Two attribute sets that are to be merged have an attribute of the same name with different values.

    Why: only one of them can be embedded.
    Example: `lid__model__en` of both `lid` and `new`.
    Fix: say which set wins with --prefer-attributes.
    """
    message = f"attribute `{attribute.key}` of both `{attribute.older}` and `{attribute.newer}`, with different values"
    message += _which(attribute.at)
    yield Problem(message, attribute.at, f"say which one wins with --prefer-attributes {attribute.newer}")


@RULES.rule("CNV104", "language-label-unfit", on=Mislabelled)
def language_label_unfit(document: Mislabelled) -> Iterator[Problem]:
    """The language of a document is no label that a directory of OSCAR 1.0 or 1.1 can be named by.

    Why: these are two or three lower-case letters; no reader finds a language in another directory.
    Example: `EN`; `zh-Hant`; `multi` and `x-eml` of the releases 22.01 and 23.01.
    Fix: bring the labels into this form, or name another field or attribute with --lang-field or --lang-attribute.
    """
    known_as = V2_LABELS.get(document.label)
    hint = f"OSCAR 1.x calls this language `{known_as}`" if known_as else "labels are like `en` or `ckb`"
    message = f"`{document.label}` is no language label that a directory of OSCAR 1.x can have{_which(document.at)}"
    yield Problem(message, document.at, f"{hint}; name another field or attribute, or convert the others alone")


@RULES.rule("CNV105", "source-missing", on=Sourceless)
def source_missing(document: Sourceless) -> Iterator[Problem]:
    """A document does not say where it comes from, and neither does --source.

    Why: Dolma requires a `source`: an id is unique only within it.
    Example: `{"id": "1", "text": "…"}` without --source.
    Fix: name the source of such documents with --source.
    """
    yield Problem(f"no `source`{_which(document.at)}", document.at, "name it with --source")


@RULES.rule("CNV106", "repeated-document-id", on=Repeated)
def repeated_document_id(document: Repeated) -> Iterator[Problem]:
    """A document has the source and the id of an earlier one, and the target wants no two of these.

    Why: Dolma asks for ids that are unique within their source; else nothing can be traced or blocked by its id.
    Example: a file that was copied under another name; two variants of a release under one --source.
    Fix: drop one of the two or give it an id of its own, or reject the later ones with --on-bad-record quarantine.
    """
    message = f"source `{document.source}`, id `{document.at.record}`: also at {document.first}"
    hint = "drop one of the two or give it an id of its own, and run the command again"
    yield Problem(message, document.at, f"{hint}; or convert into another folder with --on-bad-record quarantine")


def _which(at: Location) -> str:
    return f" (document `{at.record}`)" if at.record is not None else ""


def finding(subject: NotKept | Unfiled | Mislabelled | Sourceless | Repeated | Collision) -> Finding:
    """Return what the rules say of something."""
    judge = Judge(RULES, Grading(), version="", path=subject.at.path)
    judge.check(subject)
    return judge.tally.findings[0]
