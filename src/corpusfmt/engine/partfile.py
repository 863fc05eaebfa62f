"""Internal: The file in which one of several processes writes its part of a run: lines of JSON, then a checksum of them.

Nothing in such a file is trusted: it may be truncated, damaged, of another run, or made up.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

import xxhash
from msgspec import Meta, MsgspecError, Struct, convert, to_builtins

from corpusfmt._version import VERSION
from corpusfmt.engine.shares import MOST_SHARDS, Share
from corpusfmt.io.paths import printable
from corpusfmt.io.text import has_too_many_values
from corpusfmt.model import Incomplete, Json, UsageError
from corpusfmt.report.machine import dumped
from corpusfmt.wording import clipped, plural

_PIECE_BYTES = 1 << 19
_MOST_BYTES_A_LINE = 64 * 1024 * 1024
_MOST_VALUES_A_LINE = 4_000_000
_MOST_NAMED = 10
# What tasks leave in the scratch folder: a folder, perhaps one with a number in it, and a file named for its shard or task.
_SCRATCH_NAME = r"^[a-z-]+(/[0-9]{1,9})?/[0-9]{9}[0-9a-f-]{0,64}\.[a-z]+\Z"
#: As `--shard` takes them.
ShardNumber = Annotated[int, Meta(ge=1, le=MOST_SHARDS)]


class Scratch(Struct, frozen=True, forbid_unknown_fields=True):
    """A piece of a file in the scratch folder, in base64; the pieces of a file follow each other."""

    kind: Literal["scratch"]
    path: Annotated[str, Meta(pattern=_SCRATCH_NAME)]
    data: str

    def append_to(self, scratch: Path) -> Path:
        """Append the piece to its file, and return that. Raises `ValueError` if it is not base64."""
        target = scratch / self.path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("ab") as file:
            file.write(base64.b64decode(self.data, validate=True))
        return target


class PartFile:
    """Writes the file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._checksum = xxhash.xxh3_128()

    def write(self, record: Struct | Json) -> None:
        """Write a line."""
        line = dumped(to_builtins(record)).encode() + b"\n"
        self._checksum.update(line)
        self._file.write(line)

    def write_scratch(self, scratch: Path) -> None:
        """Write all files in the scratch folder. Raises `UsageError` for a name that is not read back."""
        for path in sorted(each for each in scratch.rglob("*") if each.is_file()):
            name = path.relative_to(scratch).as_posix()
            if not re.match(_SCRATCH_NAME, name):
                raise UsageError(f"a check left `{printable(name)}`, which a part cannot contain: remove --shard")
            with path.open("rb") as file:
                while piece := file.read(_PIECE_BYTES):
                    self.write(Scratch("scratch", name, base64.b64encode(piece).decode()))

    def end(self) -> None:
        """Write the checksum."""
        self.write({"kind": "checksum", "xxh3": self._checksum.hexdigest()})


def positions_of(share: Share, sizes: Sequence[int]) -> list[int]:
    """Return the positions of what a share has: shares take turns at the largest, so that all take as long."""
    largest_first = sorted(range(len(sizes)), key=lambda position: -sizes[position])
    return sorted(largest_first[share.number - 1 :: share.of])


def lines_of(path: Path, offset: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield the lines from one on, each with its offset. Raises `ValueError` for one that is too long."""
    with path.open("rb") as file:
        file.seek(offset)
        while line := file.readline(_MOST_BYTES_A_LINE + 1):
            if len(line) > _MOST_BYTES_A_LINE:
                raise ValueError("a line is too long")
            yield offset, line
            offset += len(line)


def checked_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield all lines but the checksum, each with its offset. Raises `ValueError` at the end if the checksum differs."""
    checksum = xxhash.xxh3_128()
    lines = lines_of(path)
    held = next(lines, (0, b""))
    for following in lines:
        checksum.update(held[1])
        yield held
        held = following
    if not held[1].endswith(b"\n") or record_of(held[1]) != {"kind": "checksum", "xxh3": checksum.hexdigest()}:
        raise ValueError("the checksum differs, or its end is missing")


def record_of(line: bytes) -> Json:
    """Return the record in a line. Raises `ValueError` for one with too many values, or that is no JSON object."""
    if has_too_many_values(line, _MOST_VALUES_A_LINE):
        raise ValueError("a line has too many values")
    return convert(json.loads(line.decode("utf-8")), Json)


@contextmanager
def reading(path: Path, command: str) -> Iterator[None]:
    """Raise `UsageError` for a part that is not what the command writes."""
    try:
        yield
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError, StopIteration, MsgspecError) as error:
        raise UsageError(
            f"{printable(str(path))} is damaged, or not a part that `corpusfmt {command} --shard` wrote: run its shard again"
        ) from error


def refuse_other_version(path: Path, version: str) -> None:
    """Raise `UsageError` for a part that another version wrote."""
    if version != VERSION:
        found = clipped(version)
        raise UsageError(
            f"{printable(str(path))} is of corpusfmt {found}, this is {VERSION}: join the parts with that version, or run all shards again"
        )


def refuse_gaps(parts: Sequence[tuple[int, Path]], of: int) -> None:
    """Raise `UsageError` if two parts have one number, `Incomplete` if one is missing; all numbers are 1 to `of`."""
    for (number, one), (other_number, other) in pairwise(sorted(parts)):
        if number == other_number:
            names = f"{printable(str(one))} and {printable(str(other))}"
            raise UsageError(f"{names} are both part {number} of {of}: name one of them")
    found = {number for number, _ in parts}
    if len(found) < of:
        missing = [str(number) for number in range(1, of + 1) if number not in found]
        more = f" and {len(missing) - _MOST_NAMED:,} more" if len(missing) > _MOST_NAMED else ""
        raise Incomplete(
            f"{plural(len(missing), 'part')} of {of} missing: {', '.join(missing[:_MOST_NAMED])}{more}; "
            f"run the shard with `--shard {missing[0]}/{of}`"
        )
