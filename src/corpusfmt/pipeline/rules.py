"""Internal: Rules for WET files. A file that breaks one is quarantined as a whole and reported."""

from __future__ import annotations

from typing import Literal

from corpusfmt.formats.general import GENERAL, link_outside_root, unreadable
from corpusfmt.model import Fault, Location, Problem, Severity
from corpusfmt.rules import RuleSet

RULES = RuleSet(GENERAL)

Defect = Literal["not-warc", "framing", "not-wet", "unreadable", "outside", "died"]


class WetDefect(Exception):
    """The file cannot be read as WET."""

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

    Why: the start of every later record is unknown; a reader that guesses mixes pages.
    Example: LF line ends in the header, or a Content-Length that counts characters.
    Fix: write the file again with CRLF header lines and Content-Length in bytes.
    """,
    spec="WARC 1.1, section 4",
)


NOT_A_WET_FILE = RULES.finding(
    "WET103",
    "not-a-wet-file",
    """The file is WARC, but not WET: it contains fetched pages instead of their text.

    Why: markup would be classified as language.
    Example: a `.warc.gz` of a crawl with `response` records.
    Fix: use the `.warc.wet.gz` of the same crawl; its records are of type `conversion`, text/plain.
    """,
    spec="Common Crawl, WET",
)


WORKER_KILLED = RULES.finding(
    "WET104",
    "worker-killed",
    """The worker that processed this file died at every attempt, including one with nothing else running.

    Why: it ran out of memory, was killed by a signal, or crashed in native code; the other files are processed anyway.
    Example: a file with a record that needs more memory than is available.
    Fix: process the file alone, with more memory or --langid fasttext.
    """,
)


STEP_FAILED = RULES.finding(
    "WET105",
    "step-failed",
    """A step of the recipe raised an exception on a document, or did not return what it declares.

    Why: nobody knows whether the document belongs to the corpus, so it is left out.
    Example: a function that divides by the number of words of a text without spaces.
    Fix: correct the function, then run the same command again.
    """,
)


REST_NOT_READ = RULES.finding(
    "WET201",
    "rest-not-read",
    """Only the records before the first unreadable one were used, as the recipe's reader does.

    Why: goclassy silently stops reading there; the rest of the file is missing from the corpus.
    Example: a file with LF line ends in its headers, of which goclassy reads nothing.
    Fix: write the file again, or use a recipe that excludes broken files.
    """,
    severity=Severity.WARNING,
)


FALSE_DIGEST = RULES.finding(
    "WET202",
    "false-digest",
    """A digest in a record's header differs from its text; the record is dropped.

    Why: the text was changed or damaged after it was written, and the corpus would pass on a false digest.
    Example: `WARC-Block-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA`.
    Fix: fetch the file again; if its author wrote false digests, ask for a new one.
    """,
    severity=Severity.WARNING,
    spec="WARC 1.1, sections 5.8 and 5.9",
)


def wet_fault(defect: Defect, at: Location, reason: str) -> Fault:
    """Return the fault of an excluded file."""
    match defect:
        case "unreadable":
            return unreadable(at, reason)
        case "outside":
            return link_outside_root(at, reason)
        case "not-warc":
            return Fault(NOT_A_WARC_FILE, Problem(f"not a WARC file: {reason}", at, "fetch the file again"))
        case "framing":
            hint = "write records with CRLF header lines and Content-Length in bytes"
            return Fault(WARC_FRAMING, Problem(reason, at, hint))
        case "not-wet":
            hint = "use the WET file of the same crawl: plain text in `conversion` records"
            return Fault(NOT_A_WET_FILE, Problem(reason, at, hint))
        case "died":
            message = f"the worker died at every attempt: {reason}"
            return Fault(WORKER_KILLED, Problem(message, at, "process the file alone, with more memory"))
