"""Internal: What can be wrong with a WET file: such a file is quarantined whole, and named."""

from __future__ import annotations

from typing import Literal

from corpusfmt.formats.general import GENERAL, link_outside_root, unreadable
from corpusfmt.model import Fault, Location, Problem, Severity
from corpusfmt.rules import RuleSet

RULES = RuleSet(GENERAL)

Defect = Literal["not-warc", "framing", "not-wet", "unreadable", "outside", "died"]


class WetDefect(Exception):
    """A file cannot be read as WET."""

    def __init__(self, defect: Defect, reason: str) -> None:
        super().__init__(reason)
        self.defect = defect
        self.reason = reason


NOT_A_WARC_FILE = RULES.finding(
    "WET101",
    "not-a-warc-file",
    """The content does not start with a WARC record.

    Why: an error page, an index or another format was saved under the name of a WET file.
    Example: an HTML page named `.warc.wet.gz`.
    Fix: fetch the file again.
    """,
    spec="WARC 1.1, section 4",
)


WARC_FRAMING = RULES.finding(
    "WET102",
    "warc-framing",
    """A record's header or length does not lead to the next record.

    Why: from there on nothing tells where records begin; a reader that guesses mixes pages.
    Example: LF line ends in the header, a Content-Length that counts characters.
    Fix: write the file again with CRLF header lines and Content-Length in bytes.
    """,
    spec="WARC 1.1, section 4",
)


NOT_A_WET_FILE = RULES.finding(
    "WET103",
    "not-a-wet-file",
    """The file is WARC, but not WET: it holds pages as they were fetched, not their text.

    Why: markup would be taken for language.
    Example: a `.warc.gz` of a crawl with `response` records.
    Fix: use the `.warc.wet.gz` of the same crawl; its records are of type `conversion`, text/plain.
    """,
    spec="Common Crawl, WET",
)


WORKER_KILLED = RULES.finding(
    "WET104",
    "worker-killed",
    """The process that worked on this file died each time, in the end with nothing else running.

    Why: memory, a signal, or a crash in native code; the other files are not held up by it.
    Example: a file with a record that takes more memory than there is.
    Fix: look at the file alone, with more memory or --langid fasttext.
    """,
)


REST_NOT_READ = RULES.finding(
    "WET201",
    "rest-not-read",
    """Only the records before the first unreadable one were used: so the recipe's reader has it.

    Why: goclassy ends a file there without a word; what follows is missing from the corpus.
    Example: a file with LF line ends in its headers, of which goclassy reads nothing at all.
    Fix: write the file again, or use a recipe that leaves broken files out whole.
    """,
    severity=Severity.WARNING,
)


def wet_fault(defect: Defect, at: Location, reason: str) -> Fault:
    """Return what is to be said of a file that was left out."""
    match defect:
        case "unreadable":
            return unreadable(at, reason)
        case "outside":
            return link_outside_root(at, reason)
        case "not-warc":
            return Fault(NOT_A_WARC_FILE, Problem(f"no WARC file: {reason}", at, "fetch the file again"))
        case "framing":
            hint = "write records with CRLF header lines and Content-Length in bytes"
            return Fault(WARC_FRAMING, Problem(reason, at, hint))
        case "not-wet":
            hint = "use the WET file of the same crawl: plain text in `conversion` records"
            return Fault(NOT_A_WET_FILE, Problem(reason, at, hint))
        case "died":
            message = f"its worker died every time: {reason}"
            return Fault(WORKER_KILLED, Problem(message, at, "try the file alone, with more memory"))
