"""Internal: Counts of the documents that a task writes."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from itertools import accumulate

import msgspec
from msgspec import Struct

from corpusfmt.model import Json
from corpusfmt.statistics.measuring import Measuring
from corpusfmt.statistics.saved import size_of
from corpusfmt.statistics.sizes import Size, count_months
from corpusfmt.statistics.sketch import FINE

# Texts are measured together until they have this size.
_MOST_BYTES = 1 << 20
_LF = ord("\n")
# Headers are a JSON object of texts, in which a quotation mark begins or ends one.
_DATE_NAME = b'"warc-date":'
_DATE = re.compile(_DATE_NAME + rb' ?("[^"\\]*(?:\\.[^"\\]*)*")')


class Counts(Struct):
    """Documents as they are written: their lengths by unit, as in the JSON of statistics, and the months of their dates."""

    lengths: dict[str, Json]
    created: dict[str, int]

    @property
    def size(self) -> Size:
        return size_of(self.lengths, FINE)


class Counting:
    """Counts documents."""

    def __init__(self) -> None:
        self._size = Size()
        self._created = Counter[str]()
        self._measuring = Measuring(words=False)
        self._start()

    def _start(self) -> None:
        self._texts: list[bytes] = []
        self._waiting = 0
        self._dates: list[bytes] = []

    def add(self, text: bytes) -> None:
        """Count a document, each of whose lines ends with LF."""
        self._texts.append(text)
        self._waiting += len(text)
        if self._waiting >= _MOST_BYTES:
            self._flush()

    def date(self, headers: bytes) -> None:
        """Count the date of a document in its headers, if there is one."""
        start = headers.find(_DATE_NAME)  # faster than the expression finds it
        if start >= 0 and (found := _DATE.search(headers, start)):
            self._dates.append(found[1])

    def merge(self, other: Counts) -> None:
        """Add the counts of other documents."""
        self._size.merge(other.size)
        self._created.update(other.created)

    def counts(self) -> Counts:
        """Return what was counted."""
        self._flush()
        lengths = {name: sketch.as_json(quantiles=False) for name, sketch in self._size.lengths.items()}
        return Counts(lengths, dict(sorted(self._created.items())))

    def _flush(self) -> None:
        data = b"".join(self._texts)
        ends = array("q", (end - 1 for end in accumulate(map(len, self._texts))))
        columns = self._measuring.lengths(data, ends.tobytes())
        # Here an empty line at the end of a text is a line, too.
        for document, end in enumerate(ends):
            columns["lines"][document] += data[end - 1] == _LF
        self._size.add(columns, FINE)
        count_months(self._created, msgspec.json.decode(b"[%b]" % b",".join(self._dates), type=list[str]))
        self._start()
