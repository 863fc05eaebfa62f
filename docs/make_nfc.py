"""Write what the native kernel of `corpusfmt.io.scan` knows about code points in Normalisation Form C.

    python docs/make_nfc.py

It is taken from the Unicode Character Database of the running Python. Normalisation of a code point that was assigned
once never changes (Unicode, stability policies), so the ranges hold for every later version, too.
"""

from __future__ import annotations

import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src" / "corpusfmt" / "io" / "_nfc.hpp"
HANGUL_PARTS = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}
BASIC, LAST = 0xFFFF, 0x1FFFF
#: Combining classes of the marks that follow other marks most often, in Indic and in South-East Asian scripts.
NUKTA, VIRAMA = 7, 9
CLASSES = {NUKTA, VIRAMA, 103, 107, 118, 122}
LETTER, FIRST, SECOND, SECOND_MARK, MARK, UNKNOWN = 0, 1, 2, 8, 254, 255

Range = tuple[int, int, int]


def pairs() -> Iterator[tuple[int, int]]:
    """Yield each two code points that compose."""
    for character in map(chr, range(sys.maxunicode + 1)):
        pieces = unicodedata.decomposition(character).split()
        if len(pieces) == 2 and pieces[0][0] != "<" and unicodedata.is_normalized("NFC", character):
            yield int(pieces[0], 16), int(pieces[1], 16)


def shortest(point: int) -> int:
    """Return the length below which ranges are left to Python: they would double the table for scripts that are hardly written."""
    return 1 if point < 0x1000 else 4 if point <= BASIC else 64


def kinds() -> Iterator[int]:
    """Yield the kind of each code point."""
    seconds = {second for _, second in pairs()}
    # Marks of Latin, Greek and Kana compose with so many letters that each is left to Python.
    left = {each for each in seconds if unicodedata.combining(chr(each)) not in {0, NUKTA, VIRAMA}} | HANGUL_PARTS
    firsts = {first for first, second in pairs() if second not in left}
    for point, character in enumerate(map(chr, range(LAST + 1))):
        combining = unicodedata.combining(character)
        if (
            point in left
            or unicodedata.category(character) in {"Cn", "Cs"}
            or not unicodedata.is_normalized("NFC", character)
        ):
            yield UNKNOWN
        elif point in seconds:
            yield SECOND_MARK if combining else SECOND
        else:
            yield combining if combining in CLASSES else MARK if combining else FIRST if point in firsts else LETTER


def ranges(kinds: Iterable[int]) -> Iterator[Range]:
    """Yield the first and the last code point of consecutive ones of a kind, and the kind."""
    first = 0
    for kind, points in groupby(kinds):
        end = first + sum(1 for _ in points)
        yield first, end - 1, kind
        first = end


def table(ranges: Iterable[Range], *, with_kinds: bool) -> str:
    cells, end = [], 0
    for first, last, kind in ranges:
        numbers = [first - end, last + 1 - first, *([kind] if with_kinds else [])]
        cells.append("{" + ",\xa0".join(map(str, numbers)) + "},")
        end = last + 1
    filled = textwrap.fill(" ".join(cells), 172, initial_indent=" " * 4, subsequent_indent=" " * 4)
    return filled.replace("\xa0", " ")


def header() -> str:
    known = list(kinds())
    basic, behind = known[: BASIC + 1], known[BASIC + 1 :]  # of the latter, like emoji, only letters
    others = [each for each in ranges(basic) if each[2] not in {LETTER, UNKNOWN}]
    letters = [
        each
        for each in ranges([*(kind and kind // UNKNOWN for kind in basic), *behind])
        if each[2] == LETTER and each[1] - each[0] + 1 >= shortest(each[0])
    ]
    return f"""// What code points may follow in Normalisation Form C. Written by docs/make_nfc.py from the Unicode Character Database
// {unicodedata.unidata_version}; what is not here is left to Python.

#pragma once

#include <cstdint>

namespace corpusfmt {{

// Letters and whatever else no mark is; those that compose with certain others; these, and of them nuktas and viramas. Other marks
// compose with nothing: the kinds between are the classes of some, in their order.
enum Kind : uint8_t {{ kLetter = {LETTER}, kFirst = {FIRST}, kSecond = {SECOND}, kSecondMark = {SECOND_MARK}, kMark = {MARK}, kUnknown = {UNKNOWN} }};

// How many code points are before it, after the range before it, and how many in it.
struct Range {{
    uint16_t skipped, length;
    uint8_t kind = kLetter;
}};

constexpr Range kLetters[] = {{
{table(letters, with_kinds=False)}
}};

// These are among the letters.
constexpr Range kOthers[] = {{
{table(others, with_kinds=True)}
}};

}}  // namespace corpusfmt
"""


if __name__ == "__main__":
    TARGET.write_text(header(), "utf-8")
