"""Internal: Add up saved statistics, of shards or of corpora, as one run over all of them counts them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, ValidationError, convert, field
from msgspec.json import encode
from msgspec.structs import replace

from corpusfmt.io.paths import read_named
from corpusfmt.model import Finding, Json, Location, Problem, Severity, UsageError
from corpusfmt.statistics.domains import Domains, merged_domains
from corpusfmt.statistics.result import Statistics
from corpusfmt.statistics.sizes import (
    COARSE,
    FINE,
    LENGTHS,
    UNITS_ASKED_FOR,
    Attribute,
    Counted,
    Size,
    Sketch,
    TokenizerFile,
)

_MOST_BYTES = 64 * 1024 * 1024
# Of a digest of statistics.
_DIGITS = 32
# Nothing that is counted has more; sums of many files stay within the range of their types.
_MOST_COUNT, _MOST_VALUE = 1 << 48, 1 << 63

_Count = Annotated[int, Meta(ge=0)]
_Counts = dict[str, _Count]


class _Histogram(Struct):
    count: list[Annotated[int, Meta(ge=1, le=_MOST_COUNT)]]
    bounds: list[int | float] = field(name="from")


class _Numbers(Struct):
    number: _Count
    min: int | float = 0
    max: int | float = 0
    total: int | float = 0
    relative_error: float = 0
    histogram: _Histogram = field(default_factory=lambda: _Histogram([], []))

    def sketch(self, bits: int) -> Sketch:
        if not self.number:
            return Sketch(bits)
        counts, bounds = self.histogram.count, self.histogram.bounds
        if sum(counts) != self.number or len(counts) != len(bounds) or self.relative_error != 2.0**-bits:
            raise ValueError("a histogram does not have the numbers that were counted")
        in_range = all(abs(each) <= _MOST_VALUE for each in (self.min, self.max, *bounds))
        if not in_range or not abs(self.total) <= _MOST_VALUE * self.number:
            raise ValueError("a number is too large")
        return Sketch.of(bits, (self.min, self.max), self.total, (bounds, counts))


class _Group(Struct):
    lengths: dict[str, _Numbers]

    def size(self, bits: int) -> Size:
        """Return the size. Raises `ValueError` if units do not agree."""
        if not set(LENGTHS) - UNITS_ASKED_FOR <= self.lengths.keys() <= set(LENGTHS):
            raise ValueError(f"lengths are in {', '.join(self.lengths)}")
        if len({each.number for each in self.lengths.values()}) > 1:
            raise ValueError("numbers of documents differ between lengths")
        return Size({name: each.sketch(bits) for name, each in self.lengths.items()})


class _Attribute(Struct):
    documents: _Count
    spans: _Count
    values: _Numbers


class _Domain(Struct):
    domain: str
    documents: _Count
    bytes: _Count


class _Domains(Struct):
    public_suffix_list: str
    documents: _Count
    without: _Count
    distinct: _Count
    most: list[_Domain]

    @property
    def kind(self) -> tuple[str, int]:
        """What agrees between files whose domains can be added up: the list, and that no domain is left out."""
        return self.public_suffix_list, id(self) if self.distinct > len(self.most) else 0

    def domains(self) -> Domains:
        rows = [(each.domain, each.documents, each.bytes) for each in self.most]
        return Domains(self.public_suffix_list, self.documents, self.without, self.distinct, rows)


class _Finding(Struct):
    rule: str
    message: str
    path: str
    line: int | None = None

    def finding(self) -> Finding:
        return Finding(self.rule, "", Severity.ERROR, Problem(self.message, Location(self.path, self.line)))


class _Coverage(Struct):
    shards: _Count
    whole_shards: _Count
    rejected: _Count
    findings: list[_Finding]
    broken: list[_Finding]
    left_out: _Counts
    unread: list[str]
    not_merged: list[str] = []


class Saved(Struct):
    """The JSON of statistics."""

    schema: Literal["corpusfmt-stats/1"]
    path: str
    format: str
    version: str
    coverage: _Coverage
    languages: dict[str, _Group]
    sources: dict[str, _Group]
    variants: dict[str, _Group]
    lengths: dict[str, _Numbers]
    language_scores: _Numbers
    created: _Counts
    added: _Counts
    snapshots: _Counts
    merged: list[str] = []
    merged_contents: list[str] = []
    tokenizer: TokenizerFile | None = None
    scripts: _Counts | None = None
    attributes: dict[str, _Attribute] | None = None
    domains: _Domains | None = None
    repeats: object = None

    @property
    def contents(self) -> list[str]:
        """What tells corpora apart, wherever they were: a digest of the numbers of each that has documents."""
        if self.merged_contents or not self.lengths["bytes"].number:
            return self.merged_contents
        covered = replace(self.coverage, findings=[], broken=[], unread=[])
        return [sha256(encode(replace(self, path="", coverage=covered), order="sorted")).hexdigest()[:_DIGITS]]

    def counted(self) -> Counted:
        """Return what was counted. Raises `ValueError` if its numbers do not agree."""
        covered = self.coverage
        by = {"language": self.languages, "source": self.sources, "variant": self.variants}
        return Counted(
            _Group(self.lengths).size(FINE),
            {grouping: {name: each.size(COARSE) for name, each in groups.items()} for grouping, groups in by.items()},
            self.language_scores.sketch(FINE),
            Counter(self.scripts),
            Counter(self.created),
            Counter(self.added),
            Counter(self.snapshots),
            Counter(covered.left_out),
            {
                name: Attribute(each.documents, each.spans, each.values.sketch(FINE))
                for name, each in (self.attributes or {}).items()
            },
            covered.whole_shards,
            covered.rejected,
            findings=[each.finding() for each in covered.findings],
            broken=[each.finding() for each in covered.broken],
        )


def size_of(lengths: Json, bits: int) -> Size:
    """Return the size that has these lengths in the JSON of statistics, in buckets of `bits` bits."""
    return convert({"lengths": lengths}, _Group).size(bits)


def merged(paths: Sequence[str | Path]) -> Statistics:
    """Return the statistics of several corpora or shards from their saved statistics.

    They are those of one run over all of these, except for repeats, which are left out: equal lines of two corpora cannot be
    known. What only some of the files have is left out, too; so are domains if a file does not list all of its own.
    Raises `UsageError` for a file that is not the JSON of `corpusfmt stats`.
    """
    if len(paths) < 2:
        raise UsageError("name at least two files of statistics to merge")
    counted, saved = Counted(), list[Saved]()
    known: dict[str, str | Path] = {}
    for path in paths:
        each, found = _load(path)
        for content in each.contents:
            if content in known:
                raise UsageError(f"{path} and {known[content]} have the same statistics: name one of them")
            known[content] = path
        saved.append(each)
        counted.merge(found)
    left_out = sorted(_left_out(saved))
    for size in counted.sizes:
        size.lengths = {name: each for name, each in size.lengths.items() if name not in left_out}
    names = [name for each in saved for name in each.merged or [each.path]]
    domains = [each.domains.domains() for each in saved if each.domains is not None and "domains" not in left_out]
    result = Statistics.of(
        counted,
        ", ".join(names),
        (_either(each.format for each in saved), _either(each.version for each in saved)),
        sum(each.coverage.shards for each in saved),
        attributes=saved[0].attributes is not None and "attributes" not in left_out,
    )
    result.unread = [path for each in saved for path in each.coverage.unread]
    result.domains = merged_domains(domains) if domains else None
    result.tokenizer = saved[0].tokenizer if "tokens" in result.units else None
    result.merged, result.contents, result.not_merged = names, list(known), left_out
    return result


def saved_bytes(path: str | Path) -> bytes:
    """Return the content of a file of statistics. Raises `UsageError` for one that cannot be read or is too large."""
    try:
        return read_named(path, _MOST_BYTES, "statistics")
    except OSError as error:
        raise UsageError(f"cannot read the statistics {path}: {error.strerror}") from error


def _load(path: str | Path) -> tuple[Saved, Counted]:
    data = saved_bytes(path)
    try:
        saved = convert(json.loads(data.decode()), Saved)
        return saved, saved.counted()
    except (ValueError, RecursionError, OverflowError, ValidationError) as error:
        raise UsageError(f"{path} is not the JSON of `corpusfmt stats`: {error}") from error


def _left_out(saved: Sequence[Saved]) -> set[str]:
    """Return what some of the files have, and all together cannot have."""
    kinds: Mapping[str, Callable[[Saved], object]] = {
        "words": lambda each: "words" in each.lengths or None,
        "tokens": lambda each: each.tokenizer,
        "attributes": lambda each: each.attributes is not None or None,
        "domains": lambda each: each.domains and each.domains.kind,
        # Those of each file are of another kind.
        "repeats": lambda each: each.repeats and id(each),
    }
    found = {name: {kind(each) for each in saved} for name, kind in kinds.items()}
    known = {name for each in saved for name in each.coverage.not_merged}
    return known | {name for name, each in found.items() if len(each) > 1}


def _either(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))
