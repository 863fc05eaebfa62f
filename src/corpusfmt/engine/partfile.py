"""Internal: The files in which several processes write their parts of a run, of `validate` or of `stats`: written and read alike.

A part is lines of JSON, so that a large one takes little memory: a header, the records of a command, an end, and a checksum of them.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import xxhash
from msgspec import Struct, convert, to_builtins

from corpusfmt._version import VERSION
from corpusfmt.engine.run import now
from corpusfmt.engine.shares import Share
from corpusfmt.io.paths import printable
from corpusfmt.io.replaced import refuse_replaced
from corpusfmt.model import Incomplete, Json, UsageError
from corpusfmt.report.machine import dumped
from corpusfmt.wording import clipped, plural

_START = b'{"kind":"part",'
_INPUT = b'{"kind":"input",'
_PIECE_BYTES = 1 << 19
_MOST_NAMED = 10


class PartFile:
    """Writes a part; `schema` names the command, `asked` are the options that all parts of a run have in common."""

    def __init__(self, file: BinaryIO, schema: str, share: Share, asked: Struct) -> None:
        self._file = file
        self._checksum = xxhash.xxh3_128()
        tool = {"name": "corpusfmt", "version": VERSION}
        numbers = {"number": share.number, "of": share.of, "started": now()}
        self.write({"kind": "part", "schema": schema, "tool": tool, **numbers, "asked": asked})

    def write(self, record: Json) -> None:
        """Write a line. Records of kind `input` are found again without reading what is before them."""
        line = dumped(to_builtins(record)).encode() + b"\n"
        self._checksum.update(line)
        self._file.write(line)

    def write_scratch(self, scratch: Path) -> None:
        """Write all files in the scratch folder, in pieces that follow each other."""
        for path in sorted(each for each in scratch.rglob("*") if each.is_file()):
            name = path.relative_to(scratch).as_posix()
            with path.open("rb") as file:
                while piece := file.read(_PIECE_BYTES):
                    self.write({"kind": "scratch", "path": name, "data": base64.b64encode(piece).decode()})

    def end(self, **said: object) -> None:
        """Write the end, with what the whole part has to say, and the checksum."""
        self.write({"kind": "end", **said})
        self._file.write(dumped({"kind": "checksum", "xxh3": self._checksum.hexdigest()}).encode() + b"\n")


class Part(Struct, frozen=True):
    """A whole part; `inputs` are the offsets of its inputs, in order."""

    path: Path
    header: Json
    inputs: list[int]
    end: Json

    def __str__(self) -> str:
        return printable(str(self.path))

    def records(self, offset: int) -> Iterator[tuple[int, Json]]:
        """Yield the records from a line on, each with its offset."""
        with _opened(self.path) as file:
            file.seek(offset)
            for line in file:
                yield offset, json.loads(line)
                offset += len(line)


def append_scratch(record: Json, scratch: Path) -> None:
    """Append a piece to its file in the scratch folder."""
    target = scratch / record["path"]
    if scratch.resolve() not in target.resolve().parents:
        raise UsageError(f"a part has the file {printable(record['path'])}, which leads elsewhere")
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("ab") as file:
        file.write(base64.b64decode(record["data"]))


def positions_of(share: Share, sizes: Sequence[int]) -> list[int]:
    """Return the positions of what a share has: shares take turns at the largest, so that all take as long."""
    largest_first = sorted(range(len(sizes)), key=lambda position: -sizes[position])
    return sorted(share.taken(largest_first))


def is_part(path: str) -> bool:
    """Return whether a file begins like a part."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return file.read(len(_START)) == _START


def parts_in(paths: Sequence[str], schema: str, command: str, kind: type[Any]) -> tuple[list[Part], Any]:
    """Return the parts of one run in files, in order, and what was asked, of a kind.

    Raises `UsageError` for parts that are damaged or do not belong together, `Incomplete` if some are missing.
    """
    parts: list[Part] = []
    asked: Any = None
    for path in paths:
        part = _part_at(Path(path), schema, command)
        own = {"shard": part.header["of"], **part.header.pop("asked")}
        if parts and (differing := [name for name in own if own[name] != asked[name]]):
            options = ", ".join(f"`{name.replace('_', '-')}`" for name in differing)
            raise UsageError(
                f"{part} and {parts[0]} are of different runs, with other {options}: join the parts of one run"
            )
        asked = own
        parts.append(part)
    parts.sort(key=lambda part: part.header["number"])
    _refuse_gaps(parts, asked.pop("shard"))
    return parts, convert(asked, kind)


def _opened(path: Path) -> BinaryIO:
    refuse_replaced(str(path), is_remote=False)
    return path.open("rb")


def _part_at(path: Path, schema: str, command: str) -> Part:
    if not path.is_file():
        raise UsageError(f"part {printable(str(path))} is not a file on this machine")
    checksum, offset = xxhash.xxh3_128(), 0
    inputs: list[int] = []
    before = last = b""
    with _opened(path) as file:
        first = file.readline()
        file.seek(0)
        for line in file:
            checksum.update(last)
            before, last = last, line
            if line.startswith(_INPUT):
                inputs.append(offset)
            offset += len(line)
    is_whole = last == dumped({"kind": "checksum", "xxh3": checksum.hexdigest()}).encode() + b"\n"
    if not is_whole or f'"schema":"{schema}"'.encode() not in first:
        raise UsageError(
            f"{printable(str(path))} is damaged, or not a part that `corpusfmt {command} --shard` wrote: run its shard again"
        )
    header = json.loads(first)
    if (version := header["tool"]["version"]) != VERSION:
        raise UsageError(
            f"{printable(str(path))} is of corpusfmt {clipped(version)}, this is {VERSION}: join the parts with that version, or run all shards again"
        )
    return Part(path, header, inputs, json.loads(before))


def _refuse_gaps(parts: Sequence[Part], of: int) -> None:
    """Raise `UsageError` if two parts have one number, `Incomplete` if one is missing; all numbers are 1 to `of`."""
    numbers = Counter(part.header["number"] for part in parts)
    number, times = numbers.most_common(1)[0]
    if times > 1:
        one, other, *_ = (part for part in parts if part.header["number"] == number)
        raise UsageError(f"{one} and {other} are both part {number} of {of}: name one of them")
    if len(numbers) < of:
        missing = [str(number) for number in range(1, of + 1) if number not in numbers]
        more = f" and {len(missing) - _MOST_NAMED:,} more" if len(missing) > _MOST_NAMED else ""
        raise Incomplete(
            f"{plural(len(missing), 'part')} of {of} missing: {', '.join(missing[:_MOST_NAMED])}{more}; "
            f"run the shard with `--shard {missing[0]}/{of}`"
        )
