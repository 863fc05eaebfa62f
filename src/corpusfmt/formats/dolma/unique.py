"""Internal: (source, id) occurs once in the whole dataset: hashes on disk give the candidates, the files themselves
decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import xxhash
from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats import CheckOptions, Shard
from corpusfmt.formats.dolma.blocklist import key_of
from corpusfmt.formats.dolma.clean import Values
from corpusfmt.formats.dolma.glance import keys_of
from corpusfmt.formats.dolma.layout import DOCUMENTS
from corpusfmt.formats.dolma.rowfiles import Columns, DolmaFile, lines_of
from corpusfmt.formats.dolma.ruleset import RULES, VERSION
from corpusfmt.io.keys import HASHES_AT_A_TIME, FewKeys, KeyWriter, digest_of, repeated_in_batches
from corpusfmt.io.limits import LimitReached
from corpusfmt.io.lines import LongLine
from corpusfmt.io.text import json_object
from corpusfmt.model import Location, Problem
from corpusfmt.rules import Grading, Judge

_FOLDER = "dolma-keys"
# Different keys in memory. A batch has few more than HASHES_AT_A_TIME, unless somebody chose keys of one hash.
_MOST_KEYS = 2 * HASHES_AT_A_TIME

key_hash: Callable[[bytes], int] = xxhash.xxh64_intdigest


DUPLICATE_DOCUMENT_ID = RULES.finding(
    "DOL313",
    "duplicate-document-id",
    """Two documents of the dataset have the same source and the same id.

    Why: neither can be traced, blocked or paired with attributes by its id; loaders that require unique keys fail.
    Example: a shard that was copied under another name; an id that is the digest of the text.
    Fix: drop one of the documents here and in every attribute set, or give it a unique id.
    """,
    spec="dolma-data-format#id-field",
)


class UniqueKeys:
    """Writes the hashes of the keys of one shard; without a folder it does nothing."""

    def __init__(self, scratch: Path | None, shard: int) -> None:
        self._writer = KeyWriter(scratch / _FOLDER, shard) if scratch is not None else None
        self._hash = key_hash
        #: The keys of a small shard, which are not written, once this is closed.
        self.few: FewKeys | None = None

    def add(self, columns: Columns) -> None:
        """Take the keys of consecutive rows; a row without an id has none."""
        if self._writer is None:
            return
        if not isinstance(columns.kept, Values):  # all have an id
            self._writer.extend(keys_of(columns.kept), columns.first_row)
            return
        keys = zip(columns.values.sources, columns.values.ids, strict=True)
        if None not in columns.values.ids:
            hashes = [self._hash(f"{source or ''}\t{document_id}".encode()) for source, document_id in keys]
            self._writer.extend(hashes, columns.first_row)
            return
        for row, (source, document_id) in enumerate(keys, columns.first_row):
            if document_id is not None:
                self._writer.add(self._hash(key_of(source, document_id).encode()), row)

    def close(self) -> None:
        """Write the remaining keys."""
        if self._writer is not None:
            self.few = self._writer.take_few()
            self._writer.close()


def judge_repeated(
    shards: Sequence[Shard], few: Iterable[FewKeys], scratch: Path, judge: Judge, options: CheckOptions
) -> None:
    """Read every row again whose hash occurs twice, and judge those whose keys really are equal."""
    with closing(KeyWriter(scratch / _FOLDER, 0)) as together:
        for each in few:
            if 0 <= each.shard < len(shards):  # a forged part of a report may name others
                together.add_few(each)
    first_with: dict[bytes, Location] = {}
    for batch in repeated_in_batches(scratch / _FOLDER):
        if not batch.continues:
            first_with.clear()
        for index, rows in batch.rows_by_shard():
            shard = shards[index]
            for row, identity in _identities_at(shard, rows, options):
                at = Location(shard.files[DOCUMENTS].path, row + 1, record=identity.id)
                source = identity.source if isinstance(identity.source, str) else ""
                first = first_with.setdefault(digest_of(source, identity.id), replace(at, record=None))
                if len(first_with) > _MOST_KEYS:
                    raise LimitReached("ids were chosen to have equal hashes", "rename the ids of this file", at.path)
                if first.line != at.line or first.path != at.path:
                    message = f"source `{source}`, id `{at.record}`: also at {first}"
                    hint = "drop one of the two, here and in every attribute set, or give it a unique id"
                    judge.report(DUPLICATE_DOCUMENT_ID, Problem(message, at, hint))


class _Identity(Struct):
    id: str
    source: str | None = None


_decode_identity = msgspec.json.Decoder(_Identity).decode


def _identities_at(shard: Shard, rows: Iterable[int], options: CheckOptions) -> Iterator[tuple[int, _Identity]]:
    """Yield the identities of the documents in some rows, in order."""
    for row, line in _lines_at(shard, rows, options):
        identity = _identity_on(line)
        if identity is not None:
            yield row, identity


def _lines_at(shard: Shard, rows: Iterable[int], options: CheckOptions) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of some rows, given in order. The check has already reported the faults of the file."""
    unheard = Judge(RULES, Grading(), version=VERSION, path=shard.name)
    waiting = iter(rows)
    row = next(waiting, None)
    for block in DolmaFile(shard.files[DOCUMENTS], unheard, options).blocks():
        if isinstance(block, LongLine):
            continue
        first = block.line - 1
        if row is not None and row <= first + block.data.count(b"\n"):
            lines = lines_of(block)
            while row is not None and row < first + len(lines):
                yield row, lines[row - first]
                row = next(waiting, None)
        if row is None:
            return


def _identity_on(line: bytes) -> _Identity | None:
    try:
        return _decode_identity(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        row = json_object(line)
        return _Identity(row["id"], row.get("source")) if row is not None else None
