"""Internal: Spans: half-open ranges of code points of the text on the same row, with a score."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats.dolma.rows import ATTRIBUTES_SPEC, as_json, clipped
from corpusfmt.formats.dolma.ruleset import RULES
from corpusfmt.io.text import json_type, pointer
from corpusfmt.model import Json, Location, Problem, Severity

_Span = tuple[int, int]


class Spans(Struct, frozen=True):
    """The spans of one attribute of one row; `document` is the row that they measure, None if unknown.

    `has_source` is whether the row of attributes has a source: rows of taggers do, rows of the deduper do not.
    """

    at: Location
    key: str
    items: list[Any]
    document: Json | None
    has_source: bool = False

    @property
    def text(self) -> str | None:
        return self.document["text"] if self.document is not None else None

    def place(self, *indexes: int) -> Location:
        """Return the place of a span, or of one of its numbers."""
        return replace(self.at, pointer=pointer("attributes", self.key, *indexes))

    def whole(self) -> Iterator[tuple[int, _Span]]:
        """Yield number, start and end of the spans that have both."""
        for index, item in enumerate(self.items):
            if isinstance(item, list) and len(item) == 3 and _is_integer(item[0]) and _is_integer(item[1]):
                yield index, (item[0], item[1])


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@RULES.rule("DOL601", "span-arity", on=Spans, accepted_by="glance", spec=ATTRIBUTES_SPEC)
def span_arity(spans: Spans) -> Iterator[Problem]:
    """A span is not a list of three: start, end, score.

    Why: the mixer's worker panics, and no output is written for the whole file, with exit status 0.
    Example: `[[0, 10]]`, `[0, 10, 0.5]` (a span that is not in a list), `[{"start": 0}]`.
    Fix: write `[[start, end, score], …]`.
    """
    if spans.items and not any(isinstance(item, list) for item in spans.items):
        message = f"`{clipped(spans.key)}` is a list of {len(spans.items)} values, none of them a span"
        yield Problem(message, spans.place(), "write `[[start, end, score], …]`")
        return
    for index, item in enumerate(spans.items):
        if not isinstance(item, list):
            yield Problem(
                f"the span is {json_type(item)}, expected a list", spans.place(index), "write `[start, end, score]`"
            )
        elif len(item) != 3:
            message = f"the span `{as_json(item)}` has {len(item)} elements, expected 3"
            yield Problem(message, spans.place(index), "write `[start, end, score]`")


@RULES.rule("DOL602", "span-type", on=Spans, accepted_by="glance", spec=ATTRIBUTES_SPEC)
def span_type(spans: Spans) -> Iterator[Problem]:
    """The start or end of a span is not an integer. Booleans and 1.0 are not integers.

    Why: the mixer's worker panics, and no output is written for the whole file, with exit status 0.
    Example: `[0.0, 10.0, 0.5]`, `["0", "10", 0.5]`.
    Fix: write integers, in code points.
    """
    for index, item in enumerate(spans.items):
        if isinstance(item, list) and len(item) == 3 and not (_is_integer(item[0]) and _is_integer(item[1])):
            message = f"the start or end of the span `{as_json(item)}` is not an integer"
            yield Problem(message, spans.place(index), "write integers, in code points")


@RULES.rule("DOL603", "span-score", on=Spans, accepted_by="glance", spec=ATTRIBUTES_SPEC)
def span_score(spans: Spans) -> Iterator[Problem]:
    """The score of a span is not a finite number.

    Why: a tagger's NaN is written as null; filters do not match it, so the document is kept.
    Example: `[0, 10, null]`, `[0, 10, "high"]`, `[0, 10, true]`.
    Fix: write a number; remove spans without a score.
    """
    for index, item in enumerate(spans.items):
        if isinstance(item, list) and len(item) == 3 and not _is_finite(item[2]):
            message = f"the score is `{as_json(item[2])}`, expected a finite number"
            yield Problem(message, spans.place(index, 2), "write a number, or remove the span")


def _is_finite(value: object) -> bool:
    if isinstance(value, float):
        return float("-inf") < value < float("inf")
    return _is_integer(value)


@RULES.rule("DOL605", "span-order", on=Spans, accepted_by="glance", spec=ATTRIBUTES_SPEC)
def span_order(spans: Spans) -> Iterator[Problem]:
    """A span starts after its end.

    Why: when replacing it, the mixer drops a character, inserts the replacement twice, and applies no later span: the text
    to mask remains readable.
    Example: `[10, 0, 1.0]`.
    Fix: write the start first.
    """
    for index, (start, end) in spans.whole():
        if start > end:
            yield Problem(f"the start {start} is after the end {end}", spans.place(index), "write the start first")


@RULES.rule("DOL604", "span-range", on=Spans, accepted_by="glance", spec=ATTRIBUTES_SPEC)
def span_range(spans: Spans) -> Iterator[Problem]:
    """A span reaches beyond the text of its row. Offsets count Unicode code points, never bytes or UTF-16 units.

    Why: when replacing it, the mixer duplicates the text or appends the replacement: the text to mask remains readable.
    Example: `[0, 12, 1.0]` on the text `naïve text` (10 code points, 11 bytes).
    Fix: compute offsets in code points of exactly the text in the documents file.
    """
    if spans.text is None:
        return
    length = len(spans.text)
    for index, (start, end) in spans.whole():
        if start <= end and (start < 0 or end > length) and _quirk(spans, index) is None:
            message = f"the span [{start}, {end}] reaches beyond the text of {length} code points"
            yield Problem(message, spans.place(index), _range_hint(spans.text, end))


def _range_hint(text: str, end: int) -> str:
    if end <= len(text.lower()):
        return "count code points of the text as it is, not in lower case, where `İ` becomes two code points"
    units = {"UTF-8 bytes": len(text.encode()), "UTF-16 units": len(text.encode("utf-16-le")) // 2}
    for unit, size in units.items():
        if end == size:
            return f"count code points, not {unit}"
    return "count code points of the text on the same row"


@RULES.rule(
    "DOL606", "span-off-by-one", on=Spans, accepted_by="glance", severity=Severity.WARNING, spec=ATTRIBUTES_SPEC
)
def span_off_by_one(spans: Spans) -> Iterator[Problem]:
    r"""The last span ends one past the text, which has non-ASCII characters: a quirk of the toolkit's deduper.

    Why: the deduper compares an offset in code points with a length in bytes. The mixer handles it correctly. The deduper's
    rows have no source, and a score of the integer 1, or the overlap of n-grams, from 0 to `1.0`: any other such span is DOL604.
    Example: `[[0, 5, 1], [6, 11, 1]]` on the text `naïve\ntext` (10 code points).
    Fix: no action is needed; your own writers should end at the length of the text.
    """
    for index, (start, end) in spans.whole():
        if _quirk(spans, index) == "DOL606":
            message = f"the span [{start}, {end}] ends one past the text of {end - 1} code points"
            yield Problem(
                message, spans.place(index), "ignore this quirk of the toolkit's deduper: its mixer handles it"
            )


@RULES.rule(
    "DOL607", "span-measures-key", on=Spans, accepted_by="glance", severity=Severity.WARNING, spec=ATTRIBUTES_SPEC
)
def span_measures_key(spans: Spans) -> Iterator[Problem]:
    """The only span measures the deduplication key in bytes instead of the text.

    A quirk of the toolkit's deduper, visible only if the key is longer than the text.

    Why: a filter on the attribute works, but replacing the span changes the wrong characters.
    Example: `[[0, 34, 1]]` on a text of 10 code points, whose URL has 34 bytes.
    Fix: use the attribute to drop documents only.
    """
    for index, (start, end) in spans.whole():
        if _quirk(spans, index) == "DOL607":
            message = f"the span [{start}, {end}] measures a deduplication key, not the text"
            yield Problem(message, spans.place(index), "use the attribute to drop documents, not to replace spans")


def _quirk(spans: Spans, index: int) -> str | None:
    """Return the rule on a known quirk of a published tool if it explains the span."""
    text = spans.text
    if text is None or spans.has_source:
        return None
    start, end, score = spans.items[index]
    if not _is_of_the_deduper(score):
        return None
    if index == len(spans.items) - 1 and 0 <= start < end == len(text) + 1 and not text.isascii():
        return "DOL606"
    single = len(spans.items) == 1 and start == 0 and type(score) is int
    if single and end > len(text) and end in {len(value.encode()) for value in _strings(spans.document)}:
        return "DOL607"
    return None


def _is_of_the_deduper(score: object) -> bool:
    return score == 1 if type(score) is int else isinstance(score, float) and 0 <= score <= 1


def _strings(value: Any) -> Iterator[str]:
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, dict):
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)


@RULES.rule("DOL608", "span-overlap", on=Spans, accepted_by="glance", severity=Severity.WARNING, spec=ATTRIBUTES_SPEC)
def span_overlap(spans: Spans) -> Iterator[Problem]:
    """Two spans of one attribute overlap.

    Why: when replacing spans, the mixer skips the second one, and its tail remains readable.
    Example: `[[0, 10, 1.0], [5, 15, 1.0]]`.
    Fix: merge spans that overlap, or write them as two attributes.
    """
    ordered = sorted((span, index) for index, span in spans.whole() if span[0] < span[1])
    furthest: _Span | None = None
    for (start, end), index in ordered:
        if furthest is not None and start < furthest[1]:
            message = f"the span [{start}, {end}] overlaps [{furthest[0]}, {furthest[1]}]"
            yield Problem(message, spans.place(index), "merge the spans, or write two attributes")
        if furthest is None or end > furthest[1]:
            furthest = (start, end)


@RULES.rule("DOL609", "span-empty", on=Spans, accepted_by="glance", severity=Severity.WARNING, spec=ATTRIBUTES_SPEC)
def span_empty(spans: Spans) -> Iterator[Problem]:
    """A span is empty. An empty span at the very end of the text is accepted, because taggers write it.

    Why: when replacing it, the mixer drops a character and applies no later span: the text to mask remains readable.
    Example: `[5, 5, 1.0]` on a text of 10 code points.
    Fix: remove empty spans.
    """
    if spans.text is None:
        return
    for index, (start, end) in spans.whole():
        if start == end and 0 <= start < len(spans.text):
            yield Problem(f"the span [{start}, {end}] is empty", spans.place(index), "remove the span")
