"""Internal: Keep the names of documents (source and id) unique, if the target requires it.

Each task writes the hashes of its documents' names to disk. Documents with equal hashes are read again. Of those with
equal names the first stays; the others stop the run, or are rejected when their tasks run again.
"""

from __future__ import annotations

import heapq
import os
import shutil
from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
import xxhash
from msgspec import Struct

from corpusfmt.conversion.rules import REPEATED_DOCUMENT_ID
from corpusfmt.formats.parts import Batch, EncodedRows
from corpusfmt.io.containers import removed_as_damaged
from corpusfmt.io.keys import KeyWriter, digest_of
from corpusfmt.io.publish import publish
from corpusfmt.model import Document, Fault, Location, Problem
from corpusfmt.wording import clipped

T = TypeVar("T")
#: A file next to the folders of the tasks: all repeats are written.
WHOLE = "whole"
#: The source of a document, and the location of the first document with its source and id.
First = tuple[str, Location]
key_hash: Callable[[bytes], int] = xxhash.xxh3_64_intdigest


class Identity(Struct, frozen=True, array_like=True):
    """The name of a document, as a digest and as shown in messages, and its location."""

    row: int
    digest: str
    key: tuple[str, str]
    path: str
    line: int | None


class _Repeat(Struct, frozen=True, array_like=True):
    """A document of a task by number, and the first document of its name."""

    row: int
    source: str
    path: str
    line: int | None


class Identified(Struct):
    """The names of some documents of a task: the first document of each name, and a name number (32 bits) for each.

    `again` is the first document that repeats a name.
    """

    firsts: list[Identity]
    again: Identity | None
    names: bytes


def noting_keys(
    documents: Iterable[tuple[T, Document | Batch]],
    key: Callable[[Document], tuple[str, str]],
    folder: Path,
    index: int,
    aside: Path,
) -> Iterator[tuple[T, Document | Batch]]:
    """Pass documents on; write the hashes of their names below `aside`, and after the last one move them to `folder`."""
    # A task runs again if its worker died, and one that is taken for dead may still write.
    unfinished = aside / f"keys-{os.urandom(8).hex()}"
    unfinished.mkdir(parents=True)
    keys = KeyWriter(unfinished, index)
    row = 0
    for each in documents:
        found = each[1]
        if isinstance(found, EncodedRows):
            keys.extend(map(key_hash, found.names), row)
            row += len(found.names)
        elif isinstance(found, Document):
            keys.add(key_hash("\t".join(key(found)).encode()), row)
            row += 1
        yield each
    keys.close()
    for run in unfinished.iterdir():
        with run.open("rb+") as file:
            os.fsync(file.fileno())
    folder.parent.mkdir(exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.rename(folder)


def identified(documents: Iterable[tuple[int, tuple[str, str], Location]]) -> Identified:
    """Return the names of documents, each given by its number in the task, its key and its location."""
    names: dict[bytes, int] = {}
    found = Identified([], None, b"")
    numbers = array("I")
    for row, key, at in documents:
        digest = digest_of(*key)
        number = names.setdefault(digest, len(names))
        numbers.append(number)
        is_first = number == len(found.firsts)
        if is_first or found.again is None:
            identity = Identity(row, digest.hex(), (clipped(key[0]), clipped(key[1])), at.path, at.line)
            if is_first:
                found.firsts.append(identity)
            else:
                found.again = identity
    found.names = numbers.tobytes()
    return found


def repeats_among(
    rows: Iterable[int], found: Identified, first_with: dict[str, Identity]
) -> Iterator[tuple[int, Identity]]:
    """Yield the rows of a task, in order, that repeat the name of an earlier document, each with the first of that name."""
    firsts = [first_with.setdefault(each.digest, each) for each in found.firsts]
    # There may be fewer if the file has changed; it is converted again when the run is resumed.
    for row, name in zip(rows, array("I", found.names), strict=False):
        if firsts[name] is not found.firsts[name] or row != firsts[name].row:
            yield row, firsts[name]


def repetition(at: Location, source: str, first: Location) -> Fault:
    """Return the fault of a document whose source and id an earlier one has."""
    message = f"the id `{at.record}` of source `{source}` also occurs at {first}"
    hint = "drop one of the two or change its id, then run the command again"
    hint += ", or convert to another folder with --on-bad-record quarantine"
    return Fault(REPEATED_DOCUMENT_ID, Problem(message, at, hint))


def repetition_in(found: Identified, row: int, first: Identity) -> Fault:
    """Return the fault of the first document of a task that repeats a name."""
    own = next(each for each in (*found.firsts, found.again) if each is not None and each.row == row)
    source, record = own.key
    at = Location(own.path, own.line, record=record)
    return repetition(at, source, Location(first.path, first.line, record=record))


def write_repeats(path: Path, repeats: Iterable[tuple[int, Identity]]) -> None:
    """Write the documents of one task to reject, in order, as one of several files in a folder.

    The last line is the XXH3 of the others.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    encode = msgspec.json.Encoder().encode
    checksum = xxhash.xxh3_64()
    with publish(path) as file:
        for row, first in repeats:
            line = encode(_Repeat(row, first.key[0], first.path, first.line)) + b"\n"
            checksum.update(line)
            file.write(line)
        file.write(checksum.hexdigest().encode())


def repeated_in(folder: Path) -> Iterator[First | None]:
    """Yield, for each document in turn and without end, the first document of its name, or None if it is the first."""
    row = 0
    for repeat in heapq.merge(*map(_read_repeats, sorted(folder.iterdir())), key=lambda each: each.row):
        while row < repeat.row:
            yield None
            row += 1
        yield repeat.source, Location(repeat.path, repeat.line)
        row += 1
    while True:
        yield None


def _read_repeats(path: Path) -> Iterator[_Repeat]:
    _refuse_damaged(path)
    decode = msgspec.json.Decoder(_Repeat).decode
    with path.open("rb") as file:
        yield from (decode(line) for line in file if line.endswith(b"\n"))


def _refuse_damaged(path: Path) -> None:
    checksum, last = xxhash.xxh3_64(), b""
    with path.open("rb") as file:
        for line in file:
            checksum.update(last)
            last = line
    if last != checksum.hexdigest().encode():
        (path.parents[1] / WHOLE).unlink(missing_ok=True)
        raise removed_as_damaged(path, "it has another checksum")
