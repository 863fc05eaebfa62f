"""What names a document occurs once in what is written, where the target asks for that.

Each task leaves the hashes of its documents' names on disk. Where hashes are equal the documents are read again: of those
whose names are equal indeed the first one stays, the others stop the run or are rejected when their tasks run once more.
"""

from __future__ import annotations

import heapq
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec
import xxhash

from corpusfmt.conversion.rules import Repeated
from corpusfmt.io.keys import KeyWriter, Place
from corpusfmt.io.publish import publish_bytes
from corpusfmt.model import Document, Location

T = TypeVar("T")
#: The source of a document, and where the first one is that has its source and id.
First = tuple[str, Location]
key_hash: Callable[[bytes], int] = xxhash.xxh3_64_intdigest


class Identity(msgspec.Struct, frozen=True, array_like=True):
    """What names a document, as a digest and as it is shown, and where it was read."""

    row: int
    digest: str
    key: tuple[str, str]
    path: str
    line: int | None


class _Repeat(msgspec.Struct, frozen=True, array_like=True):
    """A document of a task, by its number, and where the first one of its name is."""

    row: int
    source: str
    path: str
    line: int | None


@dataclass(frozen=True, slots=True)
class Found:
    """A document of one task that has the name of an earlier one; `row` is its number among those that the task could take."""

    index: int
    row: int
    subject: Repeated


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


def repeats_among(
    places: Iterable[Place], identities: Mapping[Place, Identity], first_with: dict[str, Identity]
) -> Iterator[Found]:
    """Yield the documents at these places, which are in order, that have the name of an earlier one."""
    for place in places:
        own = identities.get(place)
        if own is None:  # the file has changed in between, and is converted anew when the run is resumed
            continue
        first = first_with.setdefault(own.digest, own)
        if first is not own:
            source, record = own.key
            at = Location(own.path, own.line, record=record)
            yield Found(*place, Repeated(at, source, Location(first.path, first.line, record=record)))


def write_repeats(path: Path, found: Iterable[Found]) -> None:
    """Write down what is to be rejected of one task, in order, as one of several files in a folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    repeats = (
        _Repeat(each.row, each.subject.source, each.subject.first.path, each.subject.first.line) for each in found
    )
    publish_bytes(path, b"".join(msgspec.json.encode(each) + b"\n" for each in repeats))


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
