"""Internal: What a character is for the rules on words (UAX 29), and the script of each letter."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from corpusfmt._resources import resource

# What a character is for the rules: bits of the classes that form words, of those between letters and digits, and
# whether it is a letter or digit.
LETTER, DIGIT, KATAKANA, EXTENDS = 1, 2, 4, 8
IN_LETTERS, IN_NUMBERS, HEBREW, COUNTS = 16, 32, 64, 128
FORMS_WORDS = LETTER | DIGIT | KATAKANA | EXTENDS
QUOTES_HEBREW = HEBREW
# Extend, Format and ZWJ, which no rule sees (WB4).
IGNORED = IN_LETTERS | IN_NUMBERS | HEBREW
_CLASSES = {
    "ALetter": LETTER,
    "Hebrew_Letter": LETTER | HEBREW,
    "Katakana": KATAKANA,
    "Numeric": DIGIT,
    "ExtendNumLet": EXTENDS,
    "MidLetter": IN_LETTERS,
    "MidNum": IN_NUMBERS,
    "MidNumLet": IN_LETTERS | IN_NUMBERS,
    "Single_Quote": IN_LETTERS | IN_NUMBERS,
    "Double_Quote": QUOTES_HEBREW,
    "Extend": IGNORED,
    "Format": IGNORED,
    "ZWJ": IGNORED,
    "-": 0,
}
UNICODE = 0x110000


@cache
def characters() -> Sequence[tuple[int, int, str, str, str]]:
    """Return ranges of characters, each from its first to before its end, with word break, category and script."""
    rows = []
    for line in resource("schemas", "unicode/letters.tsv").read_text("utf-8").split("\n")[1:-1]:
        first, last, word_break, category, script = line.split("\t")
        rows.append((int(first, 16), int(last, 16) + 1, word_break, category, script))
    return rows


def flags_of(word_break: str, category: str) -> int:
    """Return what a character is for the rules."""
    kind = _CLASSES[word_break]
    return kind | (COUNTS if category != "-" and kind != IGNORED else 0)


@cache
def joins() -> bytes:
    """Return for the flags of a character those of a next one that continues its word (WB5, 8 to 10, 13 to 13b)."""
    return bytes(
        (LETTER | DIGIT | EXTENDS if flags & (LETTER | DIGIT) else 0)
        | (KATAKANA | EXTENDS if flags & KATAKANA else 0)
        | (FORMS_WORDS if flags & EXTENDS else 0)
        for flags in range(256)
    )


@cache
def numbers_of_scripts() -> dict[str, int]:
    """Return a number for each script; 0 is for what is not a letter."""
    return {name: number for number, name in enumerate(["-", *sorted({row[4] for row in characters()} - {"-"})])}
