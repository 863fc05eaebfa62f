"""Write the code points that the native kernel of `corpusfmt.io.scan` knows to be in Normalisation Form C.

    python docs/make_nfc.py

They are taken from the Unicode Character Database of the running Python. Normalisation of a code point that was assigned
once never changes (Unicode, stability policies), so the ranges hold for every later version, too.
"""

from __future__ import annotations

import sys
import textwrap
import unicodedata
from collections.abc import Iterator
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src" / "corpusfmt" / "io" / "_nfc.hpp"
HANGUL_PARTS = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}
#: Shorter ranges of letters are left to Python: they would double the table for scripts that are hardly written.
SHORTEST = 4
#: Composes with three letters only, and follows many others in Hindi: the kernel looks at the letter.
NUKTA = 0x093C


def composing() -> set[int]:
    """Return the code points that may become one with what precedes them."""
    found = set(HANGUL_PARTS)
    for character in map(chr, range(sys.maxunicode + 1)):
        pieces = unicodedata.decomposition(character).split()
        if len(pieces) == 2 and pieces[0][0] != "<" and unicodedata.is_normalized("NFC", character):
            found.add(int(pieces[1], 16))
    return found - {NUKTA}


def kind_of(point: int, unsafe: set[int]) -> str | None:
    """Return `letter` for what is NFC anywhere, `mark` for what is NFC only after a letter."""
    character = chr(point)
    if 0xD800 <= point < 0xE000 or point in unsafe or unicodedata.category(character) == "Cn":
        return None
    if not unicodedata.is_normalized("NFC", character):
        return None
    return "mark" if unicodedata.combining(character) else "letter"


def ranges(kind: str) -> Iterator[tuple[int, int]]:
    """Yield the first and last code point of each range of a kind in the Basic Multilingual Plane."""
    unsafe = composing()
    first = None
    for point in range(0x10001):
        if point < 0x10000 and kind_of(point, unsafe) == kind:
            first = point if first is None else first
        elif first is not None:
            if kind == "mark" or point - first >= SHORTEST:
                yield first, point - 1
            first = None


def table(kind: str) -> str:
    cells, end = [], 0
    for first, last in ranges(kind):
        cells.append(f"{{{first - end},\xa0{last + 1 - first}}},")
        end = last + 1
    filled = textwrap.fill(" ".join(cells), 172, initial_indent=" " * 4, subsequent_indent=" " * 4)
    return filled.replace("\xa0", " ")


def header() -> str:
    return f"""// Code points that are in Normalisation Form C where they stand. Written by docs/make_nfc.py from the Unicode Character
// Database {unicodedata.unidata_version}; what is not here is left to Python.

#pragma once

#include <cstdint>

namespace corpusfmt {{

// How many code points are before it, after the range before it, and how many in it.
struct Range {{
    uint16_t skipped, length;
}};

// NFC whatever stands before and behind.
constexpr Range kLetters[] = {{
{table("letter")}
}};

// Combining marks that compose with nothing: NFC behind anything but another mark.
constexpr Range kMarks[] = {{
{table("mark")}
}};

}}  // namespace corpusfmt
"""


if __name__ == "__main__":
    TARGET.write_text(header(), "utf-8")
