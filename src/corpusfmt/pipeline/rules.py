"""What can be wrong with a WET file: such a file is quarantined whole, and named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from corpusfmt.formats.general import GENERAL
from corpusfmt.model import Location, Problem, Severity
from corpusfmt.rules import RuleSet

RULES = RuleSet(GENERAL)

Defect = Literal["not-warc", "framing", "not-wet", "unreadable", "outside", "died"]


class WetDefect(Exception):
    """A file cannot be read as WET."""

    def __init__(self, defect: Defect, reason: str) -> None:
        super().__init__(reason)
        self.defect = defect
        self.reason = reason


class BrokenWet(Struct, frozen=True):
    """A file that cannot be read as WET."""

    at: Location
    defect: Defect
    reason: str


class CutWet(Struct, frozen=True):
    """A file of which only the beginning was read, because the recipe reads as far as it goes."""

    at: Location
    reason: str


@RULES.rule("WET101", "not-a-warc-file", on=BrokenWet, spec="WARC 1.1, section 4")
def not_a_warc_file(wet: BrokenWet) -> Iterator[Problem]:
    """The content does not start with a WARC record.

    Why: an error page, an index or another format was saved under the name of a WET file.
    Example: an HTML page named `.warc.wet.gz`.
    Fix: fetch the file again.
    """
    if wet.defect == "not-warc":
        yield Problem(f"no WARC file: {wet.reason}", wet.at, "fetch the file again")


@RULES.rule("WET102", "warc-framing", on=BrokenWet, spec="WARC 1.1, section 4")
def warc_framing(wet: BrokenWet) -> Iterator[Problem]:
    """A record's header or length does not lead to the next record.

    Why: from there on nothing tells where records begin; a reader that guesses mixes pages.
    Example: LF line ends in the header, a Content-Length that counts characters.
    Fix: write the file again with CRLF header lines and Content-Length in bytes.
    """
    if wet.defect == "framing":
        yield Problem(wet.reason, wet.at, "write records with CRLF header lines and Content-Length in bytes")


@RULES.rule("WET103", "not-a-wet-file", on=BrokenWet, spec="Common Crawl, WET")
def not_a_wet_file(wet: BrokenWet) -> Iterator[Problem]:
    """The file is WARC, but not WET: it holds pages as they were fetched, not their text.

    Why: markup would be taken for language.
    Example: a `.warc.gz` of a crawl with `response` records.
    Fix: use the `.warc.wet.gz` of the same crawl; its records are of type `conversion`, text/plain.
    """
    if wet.defect == "not-wet":
        yield Problem(wet.reason, wet.at, "use the WET file of the same crawl: plain text in `conversion` records")


@RULES.rule("WET104", "worker-killed", on=BrokenWet)
def worker_killed(wet: BrokenWet) -> Iterator[Problem]:
    """The process that worked on this file died each time, in the end with nothing else running.

    Why: memory, a signal, or a crash in native code; the other files are not held up by it.
    Example: a file with a record that takes more memory than there is.
    Fix: look at the file alone, with more memory or --langid fasttext.
    """
    if wet.defect == "died":
        yield Problem(f"its worker died every time: {wet.reason}", wet.at, "try the file alone, with more memory")


@RULES.rule("WET201", "rest-not-read", on=CutWet, severity=Severity.WARNING)
def rest_not_read(wet: CutWet) -> Iterator[Problem]:
    """Only the records before the first unreadable one were used: so the recipe's reader has it.

    Why: goclassy ends a file there without a word; what follows is missing from the corpus.
    Example: a file with LF line ends in its headers, of which goclassy reads nothing at all.
    Fix: write the file again, or use a recipe that leaves broken files out whole.
    """
    yield Problem(f"the rest was not read: {wet.reason}", wet.at, "write the file again, or use another reader")
