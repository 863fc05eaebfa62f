"""Internal: What names a document occurs once in what is written, where the target asks for that.

Each task leaves the hashes of its documents' names on disk. Where hashes are equal the documents are read again: of those
whose names are equal indeed the first one stays, the others stop the run or are rejected when their tasks run once more.
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
from corpusfmt.io.keys import KeyWriter, digest_of
from corpusfmt.io.publish import publish
from corpusfmt.model import Document, Fault, Location, Problem
from corpusfmt.wording import clipped

T = TypeVar("T")
#: The source of a document, and where the first one is that has its source and id.
First = tuple[str, Location]
key_hash: Callable[[bytes], int] = xxhash.xxh3_64_intdigest


class Identity(Struct, frozen=True, array_like=True):
    """What names a document, as a digest and as it is shown, and where it was read."""

    row: int
    digest: str
    key: tuple[str, str]
    path: str
    line: int | None


class _Repeat(Struct, frozen=True, array_like=True):
    """A document of a task, by its number, and where the first one of its name is."""

    row: int
    source: str
    path: str
    line: int | None


class Identified(Struct):
    """What names some documents of a task: the first of each name, and the number of its name for each, as 32 bits.

    `again` is the first of them that has the name of another one.
    """

    firsts: list[Identity]
    again: Identity | None
    names: bytes


def noting_keys(
    documents: Iterable[tuple[T, Document]], key: Callable[[Document], tuple[str, str]], folder: Path, index: int
) -> Iterator[tuple[T, Document]]:
    """Pass documents on; the hashes of their names are in `folder`, and synced, when the last one is taken."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    keys = KeyWriter(folder, index)
    for row, each in enumerate(documents):
        keys.add(key_hash("\t".join(key(each[1])).encode()), row)
        yield each
    keys.close()
    for run in folder.iterdir():
        with run.open("rb+") as file:
            os.fsync(file.fileno())


def identified(documents: Iterable[tuple[int, tuple[str, str], Location]]) -> Identified:
    """Return what names documents, each given by its number in its task, its key and its place."""
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
    """Yield those rows of a task, which are in order, that have the name of an earlier document, and the first of that name."""
    firsts = [first_with.setdefault(each.digest, each) for each in found.firsts]
    # Where the file has changed in between there may be fewer; it is converted anew when the run is resumed.
    for row, name in zip(rows, array("I", found.names), strict=False):
        if firsts[name] is not found.firsts[name] or row != firsts[name].row:
            yield row, firsts[name]


def repetition(at: Location, source: str, first: Location) -> Fault:
    """Return what is to be said of a document whose source and id an earlier one has as well."""
    message = f"source `{source}`, id `{at.record}`: also at {first}"
    hint = "drop one of the two or give it an id of its own, and run the command again"
    hint += "; or convert into another folder with --on-bad-record quarantine"
    return Fault(REPEATED_DOCUMENT_ID, Problem(message, at, hint))


def repetition_in(found: Identified, row: int, first: Identity) -> Fault:
    """Return what is to be said of a document of a task, the first that has the name of an earlier one."""
    own = next(each for each in (*found.firsts, found.again) if each is not None and each.row == row)
    source, record = own.key
    at = Location(own.path, own.line, record=record)
    return repetition(at, source, Location(first.path, first.line, record=record))


def write_repeats(path: Path, repeats: Iterable[tuple[int, Identity]]) -> None:
    """Write down what is to be rejected of one task, in order, as one of several files in a folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    encode = msgspec.json.Encoder().encode
    with publish(path) as file:
        for row, first in repeats:
            file.write(encode(_Repeat(row, first.key[0], first.path, first.line)) + b"\n")


def repeated_in(folder: Path) -> Iterator[First | None]:
    """Say of one document after the other where the first one of its name is, without end; None where it is that itself."""
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
    decode = msgspec.json.Decoder(_Repeat).decode
    with path.open("rb") as file:
        yield from map(decode, file)
