"""Internal: Sizes of texts, and the counts of some documents, which add up; tokens.

Numbers are counted in buckets of bounded relative width, so that quantiles of merged counts are exact up to that width. A
bucket has the numbers with the same sign, binary exponent and first bits of the mantissa; small integers have their own
bucket each. It is the layout of HdrHistogram.
"""

from __future__ import annotations

import math
import re
import sys
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from itertools import accumulate
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct, field, to_builtins

from corpusfmt.io.paths import read_named
from corpusfmt.model import Finding, Json, UsageError
from corpusfmt.wording import clipped

if TYPE_CHECKING:
    from tokenizers import Tokenizer


_EXPONENT_BIAS = 1_100
#: Bits of the mantissa that tell buckets apart: of all documents, and of each of many groups.
FINE, COARSE = 8, 6
#: The maximum relative error of a quantile with `FINE` buckets.
ERROR = 2.0**-FINE
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


class Sketch(Struct):
    """Counts of numbers by bucket, with their exact number, minimum, maximum and sum.

    The sum is an `int` if all numbers are.
    """

    bits: Annotated[int, Meta(ge=COARSE, le=FINE)] = FINE
    number: Count = 0
    least: int | float = math.inf
    most: int | float = -math.inf
    total: int | float = 0
    counts: dict[int, Count] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.number != sum(self.counts.values()) or not math.isfinite(self.total):
            raise ValueError("other counts than numbers")  # a part of a run may be forged

    @property
    def error(self) -> float:
        """The maximum relative error of a quantile."""
        return 2.0**-self.bits

    def add(self, values: array[int] | Sequence[float]) -> None:
        """Count finite numbers."""
        if not values:
            return
        if isinstance(values, array) or float not in set(map(type, values)):
            counts = Counter(values)
            self.total += sum(values)
        else:
            counts = Counter(map(float, values))
            self.total += math.fsum(values)
        self.number += len(values)
        self.least, self.most = min(self.least, *counts), max(self.most, *counts)
        self._count(zip(_keys_of(counts, self.bits), counts.values(), strict=True))

    def coarse(self) -> Sketch:
        """Return the same numbers in `COARSE` buckets."""
        shift, counts = self.bits - COARSE, Counter[int]()
        for key, count in self.counts.items():
            counts[key >> shift if key >= 0 else -(-key >> shift)] += count
        return Sketch(COARSE, self.number, self.least, self.most, self.total, counts)

    def merge(self, other: Sketch) -> None:
        """Add the numbers of another sketch with the same buckets."""
        self.number += other.number
        self.least = min(self.least, other.least)
        self.most = max(self.most, other.most)
        self.total += other.total
        self._merge(other.counts)

    def _merge(self, counts: Mapping[int, int]) -> None:
        if self.counts:
            self._count(counts.items())
        else:
            self.counts = dict(counts)

    def _count(self, counts: Iterable[tuple[int, int]]) -> None:
        mine = self.counts
        for key, count in counts:
            mine[key] = mine.get(key, 0) + count

    def quantiles(self) -> dict[str, float]:
        """Return the numbers at `QUANTILES` by nearest rank, each with a relative error of at most `error`."""
        keys = sorted(self.counts)
        seen = list(accumulate(self.counts[key] for key in keys))
        found: dict[str, float] = {}
        for share in QUANTILES if self.number else ():
            key = keys[bisect_left(seen, math.ceil(share * self.number))]
            middle = _middle(key, self.bits, whole=isinstance(self.total, int))
            found[str(share)] = min(max(middle, self.least), self.most)
        return found

    def as_json(self, *, quantiles: bool = True) -> Json:
        """Return the numbers that are known of the counted ones; mean and quantiles follow from the others."""
        if not self.number:
            return {"number": 0}
        known: Json = {"number": self.number, "min": self.least, "max": self.most, "total": self.total}
        if quantiles:
            known |= {"mean": self.total / self.number, "quantiles": self.quantiles()}
        keys = sorted(self.counts)
        histogram = {"from": [_bound(key, self.bits) for key in keys], "count": [self.counts[key] for key in keys]}
        return known | {"relative_error": self.error, "histogram": histogram}

    @classmethod
    def of_json(cls, known: Json, bits: int) -> Sketch:
        """Return the sketch with `bits` for which `as_json` has returned this."""
        found = cls(bits)
        if known["number"]:
            found.number, found.least, found.most = known["number"], known["min"], known["max"]
            found.total, histogram = known["total"], known["histogram"]
            found._count(zip(_keys_of(histogram["from"], bits), histogram["count"], strict=True))
        return found


def _keys_of(values: Iterable[float], bits: int) -> list[int]:
    """Return the bucket of each number."""
    scale, zero = 1 << bits, _EXPONENT_BIAS << bits
    keys = []
    for mantissa, exponent in map(math.frexp, values):
        key = int(abs(mantissa) * scale) + (exponent << bits) + zero
        keys.append(key if mantissa > 0 else -key if mantissa else 0)
    return keys


def _low(key: int, bits: int) -> tuple[float, float]:
    """Return the least magnitude in a bucket, and the width of the bucket."""
    exponent, first = min((abs(key) >> bits) - _EXPONENT_BIAS, sys.float_info.max_exp), abs(key) & ((1 << bits) - 1)
    return math.ldexp(first, exponent - bits), math.ldexp(1, exponent - bits)


def _bound(key: int, bits: int) -> float:
    bound = math.copysign(_low(key, bits)[0], key) if key else 0.0
    return int(bound) if bound.is_integer() else bound


def _middle(key: int, bits: int, *, whole: bool) -> float:
    """Return the middle of a bucket, of integers if they are `whole`."""
    if not key:
        return 0
    low, width = _low(key, bits)
    if not whole:
        return math.copysign(low + width / 2, key)
    return int(math.copysign(low + width / 2 if width > 1 else low, key))


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

    documents: Count = 0
    spans: Count = 0
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
    shards: Count = 0
    rejected: Count = 0
    compared_lines: Count = 0
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


def count_month(counter: Counter[str], date: str | None) -> None:
    """Count the month of a date, if there is one: a `Counter` for each document would take most of the time."""
    if date:
        count_name(counter, _month(_start_of_month(date)))


@lru_cache(1 << 12)
def _month(start: str) -> str:
    """Return the month of a date, given its first characters."""
    found = _MONTH.match(start)
    return found.group() if found else FURTHER


def count_name(counter: Counter[str], name: str, count: int = 1) -> None:
    """Count a name; beyond a thousand names, further ones are counted together."""
    counter[name if name in counter or len(counter) < _MOST_NAMES else FURTHER] += count


_MOST_BYTES = 256 * 1024 * 1024


class TokenizerFile(Struct, frozen=True):
    """What counted tokens: the name of a file, and its digest."""

    name: str
    sha256: str


def kept_tokenizer(path: str | Path, copy: Path) -> TokenizerFile:
    """Copy the file of a tokenizer for workers. Raises `UsageError` if it cannot be one, or the package is not installed."""
    try:
        data = read_named(path, _MOST_BYTES, "the tokenizer")
    except OSError as error:
        raise UsageError(f"cannot read the tokenizer {clipped(str(path))!r}: {error.strerror}") from None
    copy.write_bytes(data)
    try:
        _tokenizer(copy)
    except ImportError:
        raise UsageError("counting tokens needs a package: pip install 'corpusfmt[tokens]'") from None
    except Exception as error:
        reason = clipped(str(error))
        raise UsageError(f"{clipped(str(path))!r} is not the tokenizer.json of a tokenizer: {reason}") from None
    return TokenizerFile(Path(path).name, sha256(data).hexdigest())


def tokens_in(texts: Sequence[str], tokenizer: Path) -> Iterator[int]:
    """Yield the number of tokens of each text, without those that mark its beginning or end."""
    encode = _tokenizer(tokenizer).encode
    # One text at a time starts no threads: `--jobs` decides how many processors are used.
    return (len(encode(text, add_special_tokens=False)) for text in texts)


@cache
def _tokenizer(path: Path) -> Tokenizer:
    from tokenizers import Tokenizer  # noqa: PLC0415 - an extra

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
