"""For formats: Rules on a corpus as a whole, of any format: ids and files that occur twice, numbered files that are missing."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import accumulate, count, islice
from pathlib import Path
from typing import cast

import xxhash
from msgspec.structs import replace

from corpusfmt.formats import Plan, Shard
from corpusfmt.formats.general import EQUAL_FILES, FILES_MISSING
from corpusfmt.io.keys import HASHES_AT_A_TIME, FewKeys, KeyWriter, digest_of, repeated_in_batches
from corpusfmt.io.limits import LimitReached
from corpusfmt.io.lines import Block, LongLine
from corpusfmt.io.paths import Entry
from corpusfmt.model import FindingType, Location, Problem
from corpusfmt.rules import Judge
from corpusfmt.wording import plural

_FOLDER = "ids"
#: Different keys in memory. A batch has few more than HASHES_AT_A_TIME, unless somebody chose keys of one hash.
MOST_KEYS = 2 * HASHES_AT_A_TIME
_BLOCK = 64 * 1024
# `train-00000-of-00003.parquet`, `c4-train.00000-of-01024.json.gz`
_NUMBERED = re.compile(
    r"(?P<before>(?:.*\D)?)(?P<number>\d{1,12})(?P<of>-of-(?P<all>\d{1,12}))(?P<after>(?!\d).*)", re.DOTALL
)
_MOST_SHOWN = 3

#: The source of a document, "" if it has none, and its id in it.
Key = tuple[str, str]
#: Yields some rows of a shard, given in order from 0, each with its key, if it has one.
KeysAt = Callable[[Shard, Iterable[int]], Iterator[tuple[int, Key]]]

hash_of_bytes: Callable[[bytes], int] = xxhash.xxh64_intdigest


def encoded(key: Key | None) -> bytes | None:
    """Return a key as the bytes that are hashed."""
    return None if key is None else "\t".join(key).encode("utf-8", "surrogatepass")


class UniqueKeys:
    """Writes the hashes of the keys of one shard; without a folder it does nothing."""

    def __init__(self, scratch: Path | None, shard: int) -> None:
        self._writer = KeyWriter(scratch / _FOLDER, shard) if scratch is not None else None
        #: The keys of a small shard, which are not written, once this is closed.
        self.few: FewKeys | None = None

    def note(self, keys: Sequence[bytes | None], first_row: int) -> None:
        """Take the keys of consecutive rows, as `encoded` returns them, None for a row without an id."""
        if self._writer is None:
            return
        if None not in keys:
            self._writer.extend(map(hash_of_bytes, cast("Sequence[bytes]", keys)), first_row)
            return
        for row, key in enumerate(keys, first_row):
            if key is not None:
                self._writer.add(hash_of_bytes(key), row)

    def extend(self, hashes: array[int], first_row: int) -> None:
        """Take the hashes of keys that all consecutive rows have."""
        if self._writer is not None:
            self._writer.extend(hashes, first_row)

    def close(self) -> None:
        """Write the remaining keys."""
        if self._writer is not None:
            self.few = self._writer.finish()


def judge_repeated(
    shards: Sequence[Shard],
    few: Iterable[FewKeys],
    scratch: Path,
    keys_at: KeysAt,
    judge: Judge,
    report: Callable[[Location, Key, Location], tuple[FindingType, Problem]],
) -> None:
    """Read every row again whose hash occurs twice, and report those whose keys really are equal, each with the first one.

    The first file of a shard has its documents.
    """
    with closing(KeyWriter(scratch / _FOLDER, 0)) as together:
        for each in few:
            if 0 <= each.shard < len(shards):  # a forged part of a report may name others
                together.add_few(each)
    first_with: dict[bytes, Location] = {}
    for batch in repeated_in_batches(scratch / _FOLDER):
        if not batch.continues:
            first_with.clear()
        for index, rows in batch.rows_by_shard():
            path = next(iter(shards[index].files.values())).path
            for row, key in keys_at(shards[index], rows):
                at = Location(path, row + 1, record=key[1])
                first = first_with.setdefault(digest_of(*key), replace(at, record=None))
                if len(first_with) > MOST_KEYS:
                    raise LimitReached("ids were chosen to have equal hashes", "rename the ids of this file", at.path)
                if first.line != at.line or first.path != at.path:
                    judge.report(*report(at, key, first))


def lines_at(blocks: Iterable[Block | LongLine], rows: Iterable[int]) -> Iterator[tuple[int, bytes, int]]:
    """Yield the lines of some rows of a file, given in order from 0, each with its row and first byte."""
    waiting = iter(rows)
    row = next(waiting, None)
    for block in blocks:
        if isinstance(block, LongLine):
            continue
        first = block.line - 1
        if row is not None and row <= first + block.data.count(b"\n"):
            lines = block.data.removesuffix(b"\n").split(b"\n")
            starts = list(accumulate((len(line) + 1 for line in lines), initial=block.byte))
            while row is not None and row < first + len(lines):
                yield row, lines[row - first], starts[row - first]
                row = next(waiting, None)
        if row is None:
            return


def judge_equal_files(plan: Plan, role: str, empty: Container[str], judge: Judge) -> None:
    """Report files, with a `role` only those, that are equal to an earlier one of their corpus and not `empty`, by path.

    Of files of one size, only those whose ends are equal are read as a whole.
    """
    alike: defaultdict[tuple[str, int], list[Entry]] = defaultdict(list)
    for shard in plan.shards:
        for entry in _of_documents(shard, role):
            if entry.size and entry.path not in empty:
                alike[shard.corpus, entry.size].append(entry)
    for (_, size), files in alike.items():
        known: defaultdict[bytes, list[Entry]] = defaultdict(list)
        for file in files if len(files) > 1 else ():
            try:
                same_ends = known[_ends(file, size)]
                other = next((other for other in same_ends if size <= 2 * _BLOCK or _are_equal(file, other)), None)
            except OSError:  # the check reports it
                continue
            if other is None:
                same_ends.append(file)
            else:
                message = f"the file is equal to `{other.path}`"
                judge.report(EQUAL_FILES, Problem(message, Location(file.path), "remove one of the two files"))


def _of_documents(shard: Shard, role: str) -> Iterable[Entry]:
    return [shard.files[role]] if role in shard.files else () if role else shard.files.values()


def _ends(entry: Entry, size: int) -> bytes:
    with entry.open() as file:
        start = file.read(_BLOCK)
        file.seek(max(size - _BLOCK, 0))
        return xxhash.xxh3_128_digest(start + file.read(_BLOCK))


def _are_equal(one: Entry, other: Entry) -> bool:
    with one.open() as left, other.open() as right:
        while data := left.read(_BLOCK):
            if data != right.read(len(data)):
                return False
    return True


def judge_numbers(plan: Plan, role: str, judge: Judge) -> None:
    """Report files that are missing of those whose names say how many there are, such as `train-00000-of-00003.parquet`."""
    groups: defaultdict[tuple[str, str, str], array[int]] = defaultdict(lambda: array("Q"))
    first_of: dict[tuple[str, str, str], re.Match[str]] = {}
    for shard in plan.shards:
        for entry in _of_documents(shard, role):
            if match := _NUMBERED.fullmatch(entry.path):
                # Files of one group may be compressed in different ways.
                group = (match["before"], match["of"], match["after"].partition(".")[2].partition(".")[0])
                first_of.setdefault(group, match)
                groups[group].append(int(match["number"]))
    for group, numbers in groups.items():
        first, present = first_of[group], set(numbers)
        expected = int(first["all"])
        start = 0 if 0 in present or expected not in present else 1
        missing = expected - sum(start <= number < start + expected for number in present)
        if missing > 0:
            before = first["before"].rpartition("/")[2]
            absent = islice((number for number in count(start) if number not in present), min(missing, _MOST_SHOWN))
            names = (f"`{before}{number:0{len(first['number'])}}{first['of']}{first['after']}`" for number in absent)
            more = ", …" if missing > _MOST_SHOWN else ""
            message = f"{missing:,} of {plural(expected, 'file')} missing: {', '.join(names)}{more}"
            judge.report(FILES_MISSING, Problem(message, Location(first.string), "download the missing files"))
