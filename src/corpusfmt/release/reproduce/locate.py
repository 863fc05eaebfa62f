"""Internal: Where the lines of rebuilt inputs are in a release, and where the contribution of each begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from corpusfmt.io.lines import Block, Line, LongLine, blocks, lines
from corpusfmt.io.paths import Entry
from corpusfmt.pipeline.hot import Xxh64LineSet
from corpusfmt.release.reproduce.parts import Stream, chunks_of
from corpusfmt.release.reproduce.rebuild import Hashes, Layout, hashes_of

Places = npt.NDArray[np.int64]
#: The place of a line that is not in the release.
NOWHERE = -1
_EMPTY = int(hashes_of(Xxh64LineSet(0).add(b"\n")[1])[0])
# Texts of rows that are hashed in one call.
_BATCH_BYTES = 1024 * 1024
# Places by which lines may be off because others were added or removed before them.
_SLACK = 64
_MOST_PLACES = 16


class Seen(Struct):
    """What a pass over a language saw: the place of the first occurrence of each wanted line, and how often it occurs.

    `ids` has the places of the wanted ids, `sizes` the number of units of each part.
    """

    wanted: Hashes
    first: Places
    occurrences: Places
    ids: dict[str, list[int]]
    sizes: list[int] = field(default_factory=list)
    metadata_sizes: list[int] = field(default_factory=list)

    @property
    def units(self) -> int:
        """The number of units of the language."""
        return sum(self.sizes)

    def places(self, hashes: Hashes) -> Places:
        """Return the place of the first occurrence of each of some wanted lines."""
        found: Places = self.first[np.searchsorted(self.wanted, hashes)]
        return found

    def counts(self, hashes: Hashes) -> Places:
        """Return how often each of some wanted lines occurs."""
        found: Places = self.occurrences[np.searchsorted(self.wanted, hashes)]
        return found

    def wants(self, digest: int) -> bool:
        """Return whether a line is a wanted one."""
        at = int(np.searchsorted(self.wanted, np.uint64(digest)))
        return at < len(self.wanted) and int(self.wanted[at]) == digest

    def note_id(self, name: str, place: int) -> None:
        """Record the place of an id, if it is wanted; of one that is repeated many times, only some."""
        if name in self.ids and len(self.ids[name]) < _MOST_PLACES:
            self.ids[name].append(place)

    def note(self, hashes: Hashes, places: Places) -> None:
        """Record lines at their places."""
        at = np.searchsorted(self.wanted, hashes)
        at[at == len(self.wanted)] = 0
        hit = self.wanted[at] == hashes
        at, places = at[hit], places[hit]
        np.add.at(self.occurrences, at, 1)
        new = self.first[at] == NOWHERE
        # Of equal lines, the first one is assigned last.
        self.first[at[new][::-1]] = places[new][::-1]


def scan(layout: Layout, streams: Sequence[Stream], hashes: Sequence[Hashes], ids: Sequence[str]) -> Seen:
    """Look for lines and ids in all parts of a language."""
    ordered = np.sort(np.concatenate([np.zeros(1, np.uint64), *hashes]))
    wanted = ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])]
    nothing = np.full(len(wanted), NOWHERE, dtype=np.int64)
    seen = Seen(wanted, nothing, np.zeros_like(nothing), {each: [] for each in ids if each})
    for entry in streams[0].parts:
        before = seen.units
        found = _rows(entry, seen) if layout.has_rows else _texts(entry, streams[0].kind == "documents")
        seen.sizes.append(0)
        for these, places, units in found:
            seen.note(these, places + before)
            seen.sizes[-1] = units
    for entry in streams[1].parts if layout.kinds[-1] == "metadata" else ():
        seen.metadata_sizes.append(_metadata_ids(entry, seen, sum(seen.metadata_sizes)))
    return seen


def _texts(entry: Entry, is_documents: bool) -> Iterator[tuple[Hashes, Places, int]]:
    """Yield lines and their places, and the number of units so far."""
    lineset = Xxh64LineSet(0)
    units = 0
    in_document = False
    with entry.open() as file:
        for block in blocks(chunks_of(entry, file)):
            if isinstance(block, LongLine):
                in_document = True
                units += not is_documents
                continue
            hashes = hashes_of(lineset.add(_ended(block))[1])
            if not is_documents:
                yield hashes, units + np.arange(len(hashes), dtype=np.int64), units + len(hashes)
                units += len(hashes)
                continue
            ends = hashes == _EMPTY
            places = units + np.cumsum(ends) - ends
            units += int(ends.sum())
            in_document = not ends[-1]
            yield hashes[~ends], places[~ends], units + in_document
    yield np.zeros(0, np.uint64), np.zeros(0, np.int64), units + (in_document and is_documents)


def _ended(block: Block) -> bytes:
    return block.data if block.data.endswith(b"\n") else block.data + b"\n"


class _Row(Struct):
    id: str = ""
    text: str = ""


_decode_row = msgspec.json.Decoder(_Row).decode


def _rows(entry: Entry, seen: Seen) -> Iterator[tuple[Hashes, Places, int]]:
    """Yield the lines of the texts in rows, and note the ids of rows."""
    before, number = seen.units, 0
    texts, owners, size = [], [], 0
    with entry.open() as file:
        for line in lines(chunks_of(entry, file)):
            row = _decoded(line) if not isinstance(line, LongLine) else _Row()
            seen.note_id(row.id, before + number)
            if row.text:
                texts.append(row.text.encode() + b"\n")
                owners.append((number, texts[-1].count(b"\n")))
                size += len(texts[-1])
            number += 1
            if size >= _BATCH_BYTES:
                yield *_hashed(texts, owners), number
                texts, owners, size = [], [], 0
    yield *_hashed(texts, owners), number


def _decoded(line: Line) -> _Row:
    try:
        return _decode_row(line.data)
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return _Row()


def _hashed(texts: Sequence[bytes], owners: Sequence[tuple[int, int]]) -> tuple[Hashes, Places]:
    numbers, counts = np.array(owners, dtype=np.int64).reshape(-1, 2).T
    return hashes_of(Xxh64LineSet(0).add(b"".join(texts))[1]), np.repeat(numbers, counts)


class _Headers(Struct):
    headers: Mapping[str, str] = {}


def _metadata_ids(entry: Entry, seen: Seen, before: int) -> int:
    """Note the ids of rows of metadata; return the number of rows."""
    decode = msgspec.json.Decoder(_Headers).decode
    number = 0
    with entry.open() as file:
        for number, line in enumerate(lines(chunks_of(entry, file)), 1):
            if isinstance(line, LongLine):
                continue
            try:
                record = decode(line.data).headers.get("warc-record-id", "").strip("<>")
            except msgspec.MsgspecError:
                continue
            seen.note_id(record, before + number - 1)
    return number


def densest(places: Places, *, up_to_the_last: bool = False) -> int | None:
    """Return where the stretch begins that has more of some places, in ascending order, than others."""
    if not len(places):
        return None
    numbers = np.arange(len(places), dtype=np.int64)
    # Of the places from the i-th to the j-th, 2 (j - i) - (places[j] - places[i]) + 1 more are in it than not.
    gain = 2 * numbers - places
    least = np.minimum.accumulate(gain)
    end = len(places) - 1 if up_to_the_last else int(np.argmax(gain - least))
    # The last of equal beginnings: what is before it adds nothing.
    return int(places[: end + 1][np.flatnonzero(gain[: end + 1] == least[end])[-1]])


def by_common_shift(own: Places, places: Places, occurrences: Places) -> int | None:
    """Return where lines begin that are all in the release, in their order: at the shift that most of them have.

    `own` are the units of the lines in their input.
    """
    there = places != NOWHERE
    once = there & (occurrences == 1)
    use = once if once.any() else there
    if not use.any():
        return None
    shifts = places[use] - own[use]
    ordered = np.sort(shifts)
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    most = ordered[starts[np.argmax(np.diff(np.append(starts, len(ordered))))]]
    near = np.abs(shifts - most) <= _SLACK
    return max(0, int(shifts[near][0]))
