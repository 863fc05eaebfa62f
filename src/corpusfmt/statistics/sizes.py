"""Internal: Sizes of texts, and the counts of some documents, which add up."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from operator import itemgetter

from msgspec import Struct, field, to_builtins

from corpusfmt.model import Finding, Json
from corpusfmt.statistics.sketch import Sketch

#: Replaces further names if there are too many to list.
FURTHER = "…"
_MOST_NAMES = 1_000
#: How many rejected records are listed.
MOST_FINDINGS = 100
#: What documents are counted in, and their lengths, whose quantiles are known.
LENGTHS = ("lines", "words", "characters", "bytes", "tokens")
UNITS_ASKED_FOR = frozenset({"words", "tokens"})
#: What documents are grouped by.
GROUPINGS = ("language", "source", "variant")

# A month, and what must not follow it.
_start_of_month = itemgetter(slice(len("2026-11-")))
_MONTH = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])(?![^-T ])")


class Size(Struct):
    """Documents, with their lines, words, characters, tokens, and bytes of text in UTF-8, without line ends between documents.

    `lengths` has those of single documents, as far as they were counted.
    """

    lengths: dict[str, Sketch] = field(default_factory=dict)

    @property
    def documents(self) -> int:
        return self.lengths["bytes"].number if self.lengths else 0

    @property
    def lines(self) -> int:
        return self._sum("lines")

    @property
    def words(self) -> int:
        return self._sum("words")

    @property
    def characters(self) -> int:
        return self._sum("characters")

    @property
    def bytes(self) -> int:
        return self._sum("bytes")

    @property
    def tokens(self) -> int:
        return self._sum("tokens")

    def _sum(self, name: str) -> int:
        return int(self.lengths[name].total) if name in self.lengths else 0

    def add(self, columns: Mapping[str, array[int]], bits: int) -> None:
        """Add documents with these lengths, in buckets of `bits` bits."""
        for name, column in columns.items():
            self.lengths.setdefault(name, Sketch(bits)).add(column)

    def coarse(self) -> Size:
        """Return the same size, as one of many groups has it."""
        return Size({name: sketch.coarse() for name, sketch in self.lengths.items()})

    def merge(self, other: Size) -> None:
        """Add the documents of another size with the same buckets."""
        for name, sketch in other.lengths.items():
            self.lengths.setdefault(name, Sketch(sketch.bits)).merge(sketch)


class Attribute(Struct):
    """An attribute: the documents that have it, its spans, and the numbers that are their values."""

    documents: int = 0
    spans: int = 0
    values: Sketch = field(default_factory=Sketch)

    def merge(self, other: Attribute) -> None:
        self.documents += other.documents
        self.spans += other.spans
        self.values.merge(other.values)


class Repeats(Struct):
    """Compared texts, and how many of them repeat an earlier one; `most` has the most repeated ones with their numbers."""

    compared: int
    repeated: int = 0
    most: list[tuple[str, int]] = []

    @property
    def share(self) -> float:
        return self.repeated / self.compared if self.compared else 0.0


class Counted(Struct):
    """The counts of some shards. `broken` has the findings about files that could not be counted to their ends."""

    total: Size = field(default_factory=Size)
    groups: dict[str, dict[str, Size]] = field(default_factory=lambda: {name: {} for name in GROUPINGS})
    scores: Sketch = field(default_factory=Sketch)
    scripts: Counter[str] = field(default_factory=Counter)
    created: Counter[str] = field(default_factory=Counter)
    added: Counter[str] = field(default_factory=Counter)
    snapshots: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    attributes: dict[str, Attribute] = field(default_factory=dict)
    shards: int = 0
    rejected: int = 0
    compared_lines: int = 0
    findings: list[Finding] = field(default_factory=list)
    broken: list[Finding] = field(default_factory=list)

    def merge(self, other: Counted) -> None:
        """Add the counts of other shards."""
        self.total.merge(other.total)
        for grouping, groups in other.groups.items():
            for name, size in groups.items():
                self.group(grouping, name).merge(size)
        self.scores.merge(other.scores)
        for name, attribute in other.attributes.items():
            self.attribute(name).merge(attribute)
        self.scripts.update(other.scripts)
        self.left_out.update(other.left_out)
        for mine, theirs in (
            (self.created, other.created),
            (self.added, other.added),
            (self.snapshots, other.snapshots),
        ):
            for name, count in theirs.items():
                count_name(mine, name, count)
        self.shards += other.shards
        self.rejected += other.rejected
        self.compared_lines += other.compared_lines
        self.findings = (self.findings + other.findings)[:MOST_FINDINGS]
        self.broken += other.broken

    @property
    def sizes(self) -> list[Size]:
        """The sizes of all documents and of each group."""
        return [self.total, *(size for groups in self.groups.values() for size in groups.values())]

    def attribute(self, name: str) -> Attribute:
        """Return an attribute; beyond a thousand, they are counted together."""
        if name not in self.attributes and len(self.attributes) >= _MOST_NAMES:
            name = FURTHER
        return self.attributes.setdefault(name, Attribute())

    def group(self, grouping: str, name: str) -> Size:
        """Return the size of a group; beyond a thousand, groups are counted together."""
        groups = self.groups[grouping]
        if name not in groups and len(groups) >= _MOST_NAMES:
            name = FURTHER
        return groups.setdefault(name, Size())


class Extent(Struct):
    """Documents, lines, and bytes of text, as in `Size`."""

    documents: int = 0
    lines: int = 0
    bytes: int = 0

    def add(self, other: Extent) -> None:
        self.documents += other.documents
        self.lines += other.lines
        self.bytes += other.bytes


class Extents(Struct):
    """What a build has made of a language: its size before and after deduplication."""

    original: Extent = field(default_factory=Extent)
    final: Extent = field(default_factory=Extent)

    def add(self, other: Extents) -> None:
        self.original.add(other.original)
        self.final.add(other.final)


class Built(Struct):
    """What a build has made of its lines: sizes by language, and lines that it changed, by kind of change."""

    languages: dict[str, Extents]
    cleaned: Mapping[str, int]

    @property
    def total(self) -> Extents:
        total = Extents()
        for each in self.languages.values():
            total.add(each)
        return total

    def as_json(self) -> Json:
        found: Json = {"total": to_builtins(self.total), "languages": to_builtins(self.languages)}
        return found | ({"cleaned": dict(self.cleaned)} if self.cleaned else {})


def count_months(counter: Counter[str], dates: Iterable[str | None]) -> None:
    """Count the months of dates."""
    for start, count in Counter(map(_start_of_month, filter(None, dates))).items():
        count_name(counter, _month(start), count)


@lru_cache(1 << 12)
def _month(start: str) -> str:
    """Return the month of a date, given its first characters."""
    found = _MONTH.match(start)
    return found.group() if found else FURTHER


def count_name(counter: Counter[str], name: str, count: int = 1) -> None:
    """Count a name; beyond a thousand names, further ones are counted together."""
    counter[name if name in counter or len(counter) < _MOST_NAMES else FURTHER] += count
