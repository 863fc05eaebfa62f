"""Lines of web pages that collide with those of other pages, by which a build would drop or relabel these."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import xxhash
from security.attacks import Attack, Outcome
from support import wet_file, wet_record

from corpusfmt.pipeline.recipe import recipe_names

_MASK = (1 << 64) - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_I1, _I2 = (pow(prime, -1, 1 << 64) for prime in (_P1, _P2))

#: Lines of other pages, and how a page of the attacker begins: as text in their language, or in none.
_LINES = (
    "The council will meet on Monday evening to talk about the new bridge over the river and what it will cost the town.",
    "All human beings are born free and equal in dignity and rights, and they should all act in a spirit of brotherhood.",
    "Readers of this newspaper have known for many years that the museum in the old harbour is open only during the summer.",
)
_ENGLISH = (
    "It is said that nothing could ever be written about the weather of the last few weeks without a smile, you know, "
)
_NOISE = (
    "qxj zzv 0x7f kqw @@ vbn ### xx-q 9931 wq zkx pqr jjj 11:22 vvx kjq hgf zxq wkj 7719 qqz xvk jwq pzx kkv qj 00x1 "
)


def _rotated(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (64 - bits))) & _MASK


def _round(lane: int, word: int) -> int:
    return _rotated((lane + word * _P2) & _MASK, 31) * _P1 & _MASK


def _state(text: bytes, length: int) -> int:
    """Return the state of XXH64 after the first words of a text of this length, which are all of its stripes at least."""
    stripes = length - length % 32
    lanes = [(_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK]
    words = [int.from_bytes(text[at : at + 8], "little") for at in range(0, len(text), 8)]
    for at, word in enumerate(words[: stripes // 8]):
        lanes[at % 4] = _round(lanes[at % 4], word)
    state = sum(map(_rotated, lanes, (1, 7, 12, 18))) & _MASK
    for lane in lanes:
        state = ((state ^ _round(0, lane)) * _P1 + _P4) & _MASK
    state = (state + length) & _MASK
    for word in words[stripes // 8 :]:
        state = (_rotated(state ^ _round(0, word), 27) * _P1 + _P4) & _MASK
    return state


@cache
def colliding(line: bytes, start: bytes) -> bytes:
    """Return a line of printable ASCII with the XXH64 of another one: the last of its whole words follows from the others."""
    assert len(line) % 32 >= 16
    end = len(line) - len(line) % 8
    head = (start * 9)[: end - 16]
    want = _state(line[: end - 8], len(line)) ^ _round(0, int.from_bytes(line[end - 8 : end], "little"))
    before = _state(head, len(line))
    for number in range(10_000_000):
        word = b"%08d" % number
        state = (_rotated(before ^ _round(0, int.from_bytes(word, "little")), 27) * _P1 + _P4) & _MASK
        last = (_rotated((state ^ want) * _I1 & _MASK, 33) * _I2 & _MASK).to_bytes(8, "little")
        if last.isascii() and last.decode().isprintable():
            found = head + word + last + line[end:]
            assert found != line
            assert xxhash.xxh64_intdigest(found) == xxhash.xxh64_intdigest(line)
            return found
    raise AssertionError("no such line")


def _pages(folder: Path, start: str = _ENGLISH, files: int = 1) -> None:
    """Write the attacker's page, and others after it, in some files."""
    lines = [line.encode() for line in _LINES]
    texts = [b"\n".join(colliding(line, start.encode()) for line in lines), *lines]
    records = [wet_record(number, text + b"\n") for number, text in enumerate(texts)]
    for number in range(files):
        wet_file(
            folder / "data" / f"{number:02}.warc.wet.gz", records[number : number + 1 if number + 1 < files else None]
        )


def _published(outcome: Outcome) -> bytes:
    assert outcome.status == 0, outcome.text
    files = sorted(path for path in (outcome.folder / "out").rglob("*") if "en" in path.parts or path.stem == "en")
    return b"".join(
        gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        for data in map(Path.read_bytes, filter(Path.is_file, files))
    )


def _has(*lines: str, times: int = 1) -> Callable[[Outcome], None]:
    def promise(outcome: Outcome) -> None:
        published = _published(outcome).decode()
        assert [published.count(line) for line in lines] == [times] * len(lines)

    return promise


def _attacks() -> Iterator[Attack]:
    command = ("build", "{data}", "--output", "{out}", "--recipe")
    theirs = [colliding(line.encode(), _ENGLISH.encode()).decode() for line in _LINES]
    for recipe in recipe_names():
        kept = [json.dumps(line)[1:-1] if recipe == "dolma" else line for line in (*_LINES, *theirs)]
        yield Attack(f"lines-{recipe}", _pages, (*command, recipe, "--jobs", "1"), _has(*kept))
        noise = partial(_pages, start=_NOISE)
        yield Attack(f"lines-relabelled-{recipe}", noise, (*command, recipe, "--jobs", "1"), _has(*_LINES))
    for files, jobs in ((2, "1"), (4, "2")):
        make = partial(_pages, files=files)
        yield Attack(f"lines-of-{files}-files", make, (*command, "oscar-1.1", "--jobs", jobs), _has(*_LINES, *theirs))
    both = ("oscar-1.0", "--keep-original", "--jobs", "1")
    yield Attack("lines-of-both-variants", _pages, (*command, *both), _has(*_LINES, *theirs, times=2))


ATTACKS: list[Attack] = list(_attacks())
