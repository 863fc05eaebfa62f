"""Words by the rules of UAX 29, read one boundary at a time."""

from __future__ import annotations

import unicodedata
from functools import cache

from support import REPOSITORY


@cache
def word_break(character: str) -> str:
    table = (REPOSITORY / "schemas/unicode/letters.tsv").read_text("utf-8").split("\n")[1:-1]
    for row in table:
        first, last, name, _, _ = row.split("\t")
        if int(first, 16) <= ord(character) <= int(last, 16):
            return name
    return "Newline" if character in "\r\n\x0b\x0c\x85\u2028\u2029" else "-"


def segments(text: str) -> list[str]:
    """Split a text by the rules WB3a to WB13b, one boundary at a time."""
    units: list[tuple[str, str]] = []
    for character in text:
        kind = word_break(character)
        if kind in {"Extend", "Format", "ZWJ"} and units and units[-1][0] != "Newline":
            units[-1] = units[-1][0], units[-1][1] + character  # WB4
        else:
            units.append((kind, character))
    letters, middle = {"ALetter", "Hebrew_Letter"}, {"MidLetter", "MidNumLet", "Single_Quote"}
    numbers = {"MidNum", "MidNumLet", "Single_Quote"}

    def joined(place: int) -> bool:
        far, before, after, next_one = (
            units[each][0] if 0 <= each < len(units) else "" for each in (place - 2, place - 1, place, place + 1)
        )
        return (
            (before in letters | {"Numeric"} and after in letters | {"Numeric"})
            or (before in letters and after in middle and next_one in letters)
            or (far in letters and before in middle and after in letters)
            or (before == "Hebrew_Letter" and after == "Single_Quote")
            or (before == "Hebrew_Letter" and after == "Double_Quote" and next_one == "Hebrew_Letter")
            or (far == "Hebrew_Letter" and before == "Double_Quote" and after == "Hebrew_Letter")
            or (far == "Numeric" and before in numbers and after == "Numeric")
            or (before == "Numeric" and after in numbers and next_one == "Numeric")
            or (before == after == "Katakana")
            or (before in letters | {"Numeric", "Katakana", "ExtendNumLet"} and after == "ExtendNumLet")
            or (before == "ExtendNumLet" and after in letters | {"Numeric", "Katakana"})
        )

    found: list[str] = []
    for place, (_, unit) in enumerate(units):
        if place and joined(place):
            found[-1] += unit
        else:
            found.append(unit)
    return found


def is_word(segment: str) -> bool:
    return any(unicodedata.category(each)[0] in "LN" and word_break(each) != "Extend" for each in segment)
