"""Internal: Count words by the default rules of UAX 29, and letters by script, in whole batches of text.

A word is a segment, between two word boundaries, that contains a letter or a digit (general category L or N). So each
character of a script that is written without spaces, such as Han, is a word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from corpusfmt._resources import resource

Flags = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]

# What a character is for the rules: bits of the classes that form words, of those between letters and digits, and
# whether it is a letter or digit.
_LETTER, _DIGIT, _KATAKANA, _EXTENDS = 1, 2, 4, 8
_IN_LETTERS, _IN_NUMBERS, _HEBREW, _COUNTS = 16, 32, 64, 128
_FORMS_WORDS = _LETTER | _DIGIT | _KATAKANA | _EXTENDS
_QUOTES_HEBREW = _HEBREW
# Extend, Format and ZWJ, which no rule sees (WB4).
_IGNORED = _IN_LETTERS | _IN_NUMBERS | _HEBREW
_CLASSES = {
    "ALetter": _LETTER,
    "Hebrew_Letter": _LETTER | _HEBREW,
    "Katakana": _KATAKANA,
    "Numeric": _DIGIT,
    "ExtendNumLet": _EXTENDS,
    "MidLetter": _IN_LETTERS,
    "MidNum": _IN_NUMBERS,
    "MidNumLet": _IN_LETTERS | _IN_NUMBERS,
    "Single_Quote": _IN_LETTERS | _IN_NUMBERS,
    "Double_Quote": _QUOTES_HEBREW,
    "Extend": _IGNORED,
    "Format": _IGNORED,
    "ZWJ": _IGNORED,
    "-": 0,
}
_UNICODE = 0x110000


@cache
def _rows() -> Sequence[tuple[int, int, str, str, str]]:
    rows = []
    for line in resource("schemas", "unicode/letters.tsv").read_text("utf-8").split("\n")[1:-1]:
        first, last, word_break, category, script = line.split("\t")
        rows.append((int(first, 16), int(last, 16) + 1, word_break, category, script))
    return rows


@cache
def _flags() -> Flags:
    table = np.zeros(_UNICODE, np.uint8)
    for first, end, word_break, category, _ in _rows():
        kind = _CLASSES[word_break]
        table[first:end] = kind | (_COUNTS if category != "-" and kind != _IGNORED else 0)
    return table


@cache
def _ascii() -> bytes:
    """Return the flags of each byte; those of a character outside ASCII are added later."""
    return _flags()[:128].tobytes() + bytes(128)


@cache
def _joins() -> bytes:
    """Return for the flags of a character those of a next one that continues its word (WB5, 8 to 10, 13 to 13b)."""
    flags = np.arange(256, dtype=np.uint8)
    letters = np.where(flags & (_LETTER | _DIGIT), _LETTER | _DIGIT | _EXTENDS, 0)
    katakana = np.where(flags & _KATAKANA, _KATAKANA | _EXTENDS, 0)
    return (letters | katakana | np.where(flags & _EXTENDS, _FORMS_WORDS, 0)).astype(np.uint8).tobytes()


@cache
def _scripts() -> tuple[Flags, Sequence[str]]:
    """Return the number of the script of each letter (0: not a letter), and the names."""
    names = ["", *sorted({row[4] for row in _rows()} - {"-"})]
    table = np.zeros(_UNICODE, np.uint8)
    for first, end, *_, script in _rows():
        if script != "-":
            table[first:end] = names.index(script)
    return table, names


class Words(Struct):
    """The words and letters of texts: `places` has arrays of sorted places of words, as numbers of characters."""

    characters: int
    places: list[Places]
    scripts: Counter[str]

    def before(self, ends: Places) -> Places:
        """Return the number of words that begin before each of some numbers of characters."""
        found = np.zeros(len(ends), np.int64)
        for each in self.places:
            found += np.searchsorted(each, ends)
        return found


def words_in(data: bytes) -> Words:
    """Count in valid UTF-8. Words do not cross a line feed."""
    flags = np.frombuffer(data.translate(_ascii()), np.uint8)
    scripts = Counter({"Latn": int(np.count_nonzero(flags & _LETTER))})
    if not data.isascii():
        flags, others = _with_others(data, flags)
        scripts += others
    characters = len(flags)
    kept = None
    ignored = flags == _IGNORED
    if ignored.any():
        kept = np.flatnonzero(~ignored)
        flags = flags[kept]
    places = _places(flags) if len(flags) else []
    return Words(characters, places if kept is None else [kept[each] for each in places], +scripts)


def _with_others(data: bytes, flags: Flags) -> tuple[Flags, Counter[str]]:
    """Return flags by character instead of by byte, and the letters outside ASCII by script."""
    values = np.frombuffer(data, np.uint8)
    flags = flags.copy()
    scripts: Counter[str] = Counter()
    table, names = _scripts()
    leads = np.flatnonzero(values >= 0xC0)
    lead = values[leads]
    for least, most, length in ((0xC0, 0xDF, 2), (0xE0, 0xEF, 3), (0xF0, 0xFF, 4)):
        at = leads[(lead >= least) & (lead <= most)]
        if not len(at):
            continue
        codes = (values[at] & (0x7F >> length)).astype(np.int32)
        for place in range(1, length):
            codes = codes << 6 | (values[at + place] & 0x3F)
        flags[at] = _flags()[codes]
        counts = np.bincount(table[codes], minlength=len(names))
        scripts.update({names[number]: int(counts[number]) for number in np.flatnonzero(counts).tolist() if number})
    return flags[(values & 0xC0) != 0x80], scripts


def _places(flags: Flags) -> list[Places]:
    """Return where words begin, or another place inside each word."""
    forms = flags & _FORMS_WORDS
    begins = forms != 0
    follow = np.frombuffer(flags.tobytes().translate(_joins()), np.uint8)
    begins[1:] &= (follow[:-1] & forms[1:]) == 0
    _join_across(flags, begins)
    first = np.flatnonzero(begins)
    counts = flags >= _COUNTS
    if len(first) and (forms.astype(bool) & ~counts).any():  # `_` forms words with others, and alone it is none
        first = first[np.logical_or.reduceat(counts & (forms != 0), first)]
    alone = np.flatnonzero(counts & (forms == 0))
    return [each for each in (first, alone) if len(each)]


def _join_across(flags: Flags, begins: npt.NDArray[np.bool_]) -> None:
    """Join letters across an apostrophe or the like, and digits across a separator (WB6, 7, 7b, 7c, 11, 12)."""
    between = np.flatnonzero((flags & (_IN_LETTERS | _IN_NUMBERS | _HEBREW)) != 0)
    between = between[(between > 0) & (between < len(flags) - 1)]
    here, both = flags[between], flags[between - 1] & flags[between + 1]
    letters = ((here & _IN_LETTERS) != 0) & ((both & _LETTER) != 0)
    digits = ((here & _IN_NUMBERS) != 0) & ((both & _DIGIT) != 0)
    hebrew = (here == _QUOTES_HEBREW) & ((both & (_LETTER | _HEBREW)) == _LETTER | _HEBREW)
    begins[between[letters | digits | hebrew] + 1] = False
