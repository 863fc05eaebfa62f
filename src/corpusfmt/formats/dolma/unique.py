"""Internal: (source, id) occurs once in the whole dataset: hashes on disk give the candidates, the files themselves
decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from corpusfmt.formats import CheckOptions, Shard
from corpusfmt.formats.dolma.blocklist import key_of
from corpusfmt.formats.dolma.glance import Values, keys_of
from corpusfmt.formats.dolma.layout import DOCUMENTS
from corpusfmt.formats.dolma.rowfiles import Columns, DolmaFile
from corpusfmt.formats.dolma.ruleset import RULES, VERSION
from corpusfmt.formats.whole import Key, UniqueKeys, hash_of_bytes, judge_repeated, lines_at
from corpusfmt.io.keys import FewKeys
from corpusfmt.io.text import json_object
from corpusfmt.model import FindingType, Location, Problem
from corpusfmt.rules import Grading, Judge

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


class DocumentKeys(UniqueKeys):
    """Writes the hashes of (source, id) of the documents of one shard."""

    def add(self, columns: Columns) -> None:
        """Take the keys of consecutive rows; a row without an id has none."""
        if self._writer is None:
            return
        if not isinstance(columns.kept, Values):  # all have an id
            self._writer.extend(keys_of(columns.kept), columns.first_row)
            return
        keys = zip(columns.values.sources, columns.values.ids, strict=True)
        if None not in columns.values.ids:
            hashes = [hash_of_bytes(f"{source or ''}\t{document_id}".encode()) for source, document_id in keys]
            self._writer.extend(hashes, columns.first_row)
            return
        for row, (source, document_id) in enumerate(keys, columns.first_row):
            if document_id is not None:
                self._writer.add(hash_of_bytes(key_of(source, document_id).encode()), row)


def judge_documents(
    shards: Sequence[Shard], few: Iterable[FewKeys], scratch: Path, judge: Judge, options: CheckOptions
) -> None:
    """Judge whether each (source, id) occurs once."""
    judge_repeated(shards, few, scratch, partial(_keys_at, options), judge, _repetition)


def _repetition(at: Location, key: Key, first: Location) -> tuple[FindingType, Problem]:
    hint = "drop one of the two, here and in every attribute set, or give it a unique id"
    return DUPLICATE_DOCUMENT_ID, Problem(f"source `{key[0]}`, id `{at.record}`: also at {first}", at, hint)


class _Identity(Struct):
    id: str
    source: str | None = None


_decode_identity = msgspec.json.Decoder(_Identity).decode


def _keys_at(options: CheckOptions, shard: Shard, rows: Iterable[int]) -> Iterator[tuple[int, Key]]:
    """Yield the keys of the documents in some rows. The check has already reported the faults of the file."""
    unheard = Judge(RULES, Grading(), version=VERSION, path=shard.name)
    for row, line in lines_at(DolmaFile(shard.files[DOCUMENTS], unheard, options).blocks(), rows):
        identity = _identity_on(line)
        if identity is not None:
            yield row, (identity.source if isinstance(identity.source, str) else "", identity.id)


def _identity_on(line: bytes) -> _Identity | None:
    try:
        return _decode_identity(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        row = json_object(line)
        return _Identity(row["id"], row.get("source")) if row is not None else None
