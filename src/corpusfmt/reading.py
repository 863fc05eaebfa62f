"""Internal: Read the documents of a corpus in any format, filtered or sampled."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from html import escape
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Literal

from msgspec import Struct

from corpusfmt.conversion.layout import Corpus, corpus_at
from corpusfmt.engine.progress import Progress, ShardProgress
from corpusfmt.formats import LeftOut, ReadOptions, Rejected, Shard
from corpusfmt.formats import detect as detected_format
from corpusfmt.formats.columns import refuse_fields
from corpusfmt.formats.general import GENERAL, broken_stream
from corpusfmt.io.jsonlines import rows_before
from corpusfmt.io.limits import DEFAULT_LIMITS, Limits, in_own_context, limited
from corpusfmt.io.lines import LongLine, lines
from corpusfmt.io.paths import Entry, entry_of
from corpusfmt.io.streams import Chunks, StreamFault, codec_of_name
from corpusfmt.model import (
    INCOMPLETE_CODES,
    BadInput,
    Document,
    Finding,
    Location,
    UsageError,
    html_table,
    pandas_module,
)
from corpusfmt.rules import finding_of
from corpusfmt.wording import clipped, leading, plural, unknown

OnError = Literal["raise", "skip"] | Callable[[Finding], object]
#: The fields that `read` can leave out; a document always has an id and a text.
FIELDS = ("source", "lang", "added", "created", "metadata", "attributes")


class Choice(Struct, frozen=True):
    """Which documents are wanted. A sample contains each document with the probability `share`, chosen by `seed`."""

    languages: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()
    share: float | None = None
    seed: int = 0
    limit: int | None = None

    def admits(self, document: Document) -> bool:
        """Return whether a document has a wanted language and source."""
        return (not self.languages or document.lang in self.languages) and (
            not self.sources or document.source in self.sources
        )


# Documents that are displayed in a notebook, and those of a shard among which they are.
_MOST_DISPLAYED, _MOST_LOOKED_AT = 5, 100


class Documents:
    """The documents of a corpus; every iteration reads them again.

    A record that is not a document raises `BadInput`, or is skipped: `skipped` counts such records, and `left_out` what
    documents cannot represent, in the latest iteration.
    """

    def __init__(
        self,
        corpus: Corpus,
        choice: Choice,
        fields: frozenset[str] | None,
        on_error: OnError,
        limits: Limits,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._corpus = corpus
        self._choice = choice
        self._fields = fields
        self._on_error = on_error
        self._limits = limits
        self._progress = progress
        self.skipped = 0
        self.left_out = 0

    def __iter__(self) -> Iterator[Document]:
        self.skipped = self.left_out = 0
        for each in in_own_context(self._chosen()):
            if isinstance(each, Document):
                yield each
            else:
                self._reject(each)

    def to_pandas(self) -> Any:
        """Return the documents as a pandas data frame in memory, a row for each. Raises `UsageError` without pandas."""
        return pandas_module().DataFrame(list(self))

    def __repr__(self) -> str:
        return f"<Documents of {self._corpus.entry.shown}: {self._corpus.format.name}, {plural(len(self._corpus.shards), 'shard')}>"

    def _repr_html_(self) -> str:
        """Return the first documents that are chosen, of those at the start of each shard, for a notebook."""
        near = (each for each in islice(self.heads(_MOST_LOOKED_AT), 10 * _MOST_LOOKED_AT) if self._choice.admits(each))
        rows = [(each.id, each.source or "", each.lang or "", each.text) for each in islice(near, _MOST_DISPLAYED)]
        return f"<p>{escape(repr(self))}</p>{html_table(['id', 'source', 'language', 'text'], rows)}"

    def heads(self, number: int) -> Iterator[Document]:
        """Yield the first `number` documents of each shard, as far as shards can be read; records that are none are left out."""
        return in_own_context(self._heads(number))

    def _heads(self, number: int) -> Generator[Document]:
        with limited(self._limits, interrupting=False):
            for shard in self._corpus.shards:
                with suppress(BadInput):
                    yield from islice((each for each in self._read(shard) if isinstance(each, Document)), number)

    def file_named(self, shown: str, root: str) -> tuple[Shard, Entry] | None:
        """Return a file with its shard from its path, also as findings print it: quoted if needed, or below the `root`."""
        for shard in self._corpus.shards:
            for file in shard.files.values():
                if shown in {file.path, leading(file.path), leading(f"{root.rstrip('/')}/{file.path}")}:
                    return shard, file
        return None

    def at(self, shard: Shard, file: Entry, line: int) -> Document | Excerpt | None:
        """Return the document at a line, from 1, or the lines around it if there is none; None beyond the end.

        Raises `BadInput` for a file that cannot be read so far.
        """
        with limited(self._limits, interrupting=False):
            reader, options = self._corpus.reader, self._corpus.options
            found: Document | Rejected | Finding | None
            if reader.at is not None:
                found = reader.at(shard, options, file.path, line)
            else:
                row = line - rows_before(file.name) - 1
                found = next(islice(self._read(shard), row, None), None) if reader.by_row and row >= 0 else None
            if isinstance(found, Document):
                return found
            if reader.by_row and reader.at is not None:  # a row of a table, which has no lines
                raw = found.raw if isinstance(found, Rejected) else b""
                return Excerpt(file.path, line, raw.decode()) if raw else None
            return excerpt_at(file, line, alone=reader.by_row)

    def _chosen(self) -> Generator[Document | Finding]:
        choice, random, left = self._choice, Random(self._choice.seed), self._choice.limit
        if left == 0:
            return
        sizes = [shard.size for shard in self._corpus.shards]
        # The caller's code runs in the block.
        with limited(self._limits, interrupting=False), ShardProgress(self._progress, sizes) as shown:
            for number, shard in enumerate(self._corpus.shards):
                if number:
                    shown.finished(number - 1, None)
                language = self._corpus.language_of(shard)
                if language is not None and choice.languages and language not in choice.languages:
                    continue
                for each in self._read(shard):
                    if isinstance(each, Document):
                        if not choice.admits(each) or (choice.share is not None and random.random() >= choice.share):
                            continue
                        left = None if left is None else left - 1
                    yield each
                    if left == 0:
                        return
            shown.finished(len(sizes) - 1, None)

    def _read(self, shard: Shard) -> Iterator[Document | Finding]:
        for each in self._corpus.reader.read(shard, self._corpus.options):
            if isinstance(each, LeftOut):
                self.left_out += 1
            else:
                yield each.finding if isinstance(each, Rejected) else self._narrowed(each)

    def _narrowed(self, document: Document) -> Document:
        if self._fields is not None:
            for name in FIELDS:
                if name not in self._fields:
                    setattr(document, name, None)
            if "attributes" not in self._fields:
                document.attribute_rows = {}
        return document

    def _reject(self, found: Finding) -> None:
        if self._on_error == "raise" or found.code in INCOMPLETE_CODES:
            raise BadInput(found)
        self.skipped += 1
        if callable(self._on_error):
            self._on_error(found)


class Detected(Struct, frozen=True):
    """The format of a path, its version, which may be empty, and what tells them."""

    format: str
    version: str
    evidence: str


def detect(path: str | Path, *, follow_links: bool = False) -> Detected:
    """Return the format of a file or folder. Links that lead out of it are followed only with `follow_links`.

    Raises `UsageError` if no format knows it, and `BadInput` if it cannot be read.
    """
    found, detection = detected_format(entry_of(str(path), follow_links=follow_links))
    return Detected(found.name, detection.version, detection.evidence)


class Excerpt(Struct, frozen=True):
    """Lines of a file, from line `line` on."""

    path: str
    line: int
    text: str


_MOST_LINES = 1_000


def excerpt_at(file: Entry, line: int, *, alone: bool) -> Excerpt | None:
    """Return a line, with those around it up to the next empty ones unless it is `alone`; None beyond the end.

    Raises `BadInput` for a file that cannot be read so far.
    """
    most = 0 if alone else _MOST_LINES
    found: deque[tuple[int, str]] = deque(maxlen=2 * most + 1)
    try:
        with file.open() as stream:
            for each in lines(Chunks(stream, codec_of_name(file.name), file.path)):
                if each.line > line + most:
                    break
                if isinstance(each, LongLine):
                    text = f"[{each.length:,} bytes]"
                else:
                    text = each.data.decode("utf-8", "backslashreplace")
                if text.strip() or each.line == line:
                    found.append((each.line, text))
                elif each.line > line:
                    break
                else:
                    found.clear()
    except StreamFault as fault:
        raise BadInput(finding_of(broken_stream(Location(file.path), fault), GENERAL, "")) from fault
    if not found or found[-1][0] < line:
        return None
    return Excerpt(file.path, found[0][0], "\n".join(text for _, text in found))


def read(
    path: str | Path,
    *,
    format: str = "auto",  # noqa: A002 - the name that users type
    languages: Sequence[str] | str = (),
    sources: Sequence[str] | str = (),
    fields: Sequence[str] | None = None,
    limit: int | None = None,
    sample: float | None = None,
    seed: int = 0,
    on_error: OnError = "raise",
    record_set: str | None = None,
    columns: str | Path | None = None,
    field: Mapping[str, str] | None = None,
    follow_links: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[Progress], None] | None = None,
) -> Documents:
    """Return the documents of a corpus, to iterate over: one at a time, shard by shard in order.

    `languages` and `sources` choose documents; `fields` names what else is wanted besides `id` and `text` (default: all).
    `sample` is the share of documents to choose at random, like 0.01; the same `seed` chooses the same. `limit` is the
    maximum number of documents. `on_error` is `raise`, `skip`, or a function that receives the finding about each skipped
    record. `record_set`, `columns` and `field` are as for `convert`. `progress` is called after each
    shard.

    Raises `UsageError` for a path without documents and wrong arguments; `BadInput` for bad data and files that cannot be
    read; `LimitReached` if one of `limits` is reached.
    """
    if sample is not None and not 0 < sample <= 1:
        raise UsageError(f"sample is {sample:g}, expected a share above 0 and at most 1, like 0.01")
    if limit is not None and limit < 0:
        raise UsageError(f"limit is {limit}, expected 0 or more")
    if on_error not in ("raise", "skip") and not callable(on_error):
        raise UsageError(f"on_error is {clipped(repr(on_error))}, expected 'raise', 'skip' or a function")
    for name in fields or ():
        if name not in {"id", "text", *FIELDS}:
            raise UsageError(unknown("field", name, ("id", "text", *FIELDS)))
    limits = limits.begun()
    reading = ReadOptions(record_set=record_set, columns=columns, field=field or {})
    with limited(limits, interrupting=False):
        corpus = corpus_at(
            str(path),
            format,
            reading,
            to="read",
            stops=on_error == "raise",
            or_else=", or skip what is missing with on_error",
            follow_links=follow_links,
        )
    refuse_fields(corpus.format, reading)
    choice = Choice(_names(languages), _names(sources), sample, seed, limit)
    return Documents(corpus, choice, None if fields is None else frozenset(fields), on_error, limits, progress)


def chosen(found: Iterable[Document], most: int, seed: int | None) -> list[Document]:
    """Return the first `most` documents, or as many at random (reservoir sampling, Vitter 1985), in their order."""
    if seed is None:
        return list(islice(found, most))
    random, kept = Random(seed), dict[int, tuple[int, Document]]()
    for number, document in enumerate(found):
        place = number if number < most else random.randint(0, number)
        if place < most:
            kept[place] = number, document
    return [document for _, document in sorted(kept.values(), key=lambda each: each[0])]


def _names(given: Sequence[str] | str) -> frozenset[str]:
    return frozenset([given] if isinstance(given, str) else given)
