"""Internal: REP1xx, the inputs that a release is rebuilt from; REP2xx, its lines."""

from __future__ import annotations

from corpusfmt.formats.general import GENERAL
from corpusfmt.rules import RuleSet

RULES = RuleSet(GENERAL)

INPUT_MISSING = RULES.finding(
    "REP101",
    "input-missing",
    """An input that was chosen for rebuilding is missing from `--inputs`.

    Why: its lines in the release cannot be compared.
    Example: `CC-MAIN-20240101-00001.warc.wet.gz` is in the manifest and not in the folder.
    Fix: fetch the input, or name the folder that contains it.
    """,
)

INPUT_DIFFERS = RULES.finding(
    "REP102",
    "input-mismatch",
    """An input differs from the manifest in size or digest, or is unreadable.

    Why: the lines of another file say nothing about the release.
    Example: a WET file of the same name from another crawl, or a download that ended early.
    Fix: fetch the input again.
    """,
)

LINE_DIFFERS = RULES.finding(
    "REP201",
    "rebuilt-line-differs",
    """A line of the release differs from the line that the build writes for the same record.

    Why: the release was changed after it was built, or was not built as its manifest states.
    Example: one character of a text, a header in the metadata, the score of a line.
    Fix: fetch the file again; if it has the digest that its publisher states, build the release again.
    """,
)

LINE_MISSING = RULES.finding(
    "REP202",
    "rebuilt-line-missing",
    """A line that the build writes for an input is not in the release.

    Why: text was removed after the release was built, and its manifest does not mention it.
    Example: a document and its metadata were deleted, and the release was sealed again.
    Fix: fetch the file again; if it has the digest that its publisher states, build the release again.
    """,
)

LINE_ADDED = RULES.finding(
    "REP203",
    "rebuilt-line-added",
    """The lines of an input include a line that the build does not write for it.

    Why: text was added after the release was built, which can poison models trained on it.
    Example: a document that no input contains, or a repetition that the build removes.
    Fix: fetch the file again; if it has the digest that its publisher states, build the release again.
    """,
)

ORDER_DIFFERS = RULES.finding(
    "REP204",
    "rebuilt-order-differs",
    """The lines of an input are in the release in another order than the build writes.

    Why: order affects training, and a build gives the same order every time.
    Example: two documents of an input were exchanged.
    Fix: fetch the file again; if it has the digest that its publisher states, build the release again.
    """,
)
