"""Internal: Count words by the default rules of UAX 29, and letters by script, in whole batches of text, without a kernel."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from corpusfmt.statistics.letters import (
    COUNTS,
    DIGIT,
    FORMS_WORDS,
    HEBREW,
    IGNORED,
    IN_LETTERS,
    IN_NUMBERS,
    KATAKANA,
    LETTER,
    QUOTES_HEBREW,
    UNICODE,
    characters,
    flags_of,
    joins,
    numbers_of_scripts,
)

Flags = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]

# Characters for each byte above which it takes less time to look at bytes than at characters.
_MOSTLY_ASCII = 0.8


@cache
def _flags() -> Flags:
    table = np.zeros(UNICODE, np.uint8)
    for first, end, word_break, category, _ in characters():
        table[first:end] = flags_of(word_break, category)
    return table


@cache
def _ascii() -> bytes:
    """Return the flags of each byte; those of a character outside ASCII are added later."""
    return _flags()[:128].tobytes() + bytes(128)


@cache
def _scripts() -> tuple[Flags, Sequence[str]]:
    """Return the number of the script of each letter (0: not a letter), and the names."""
    numbers = numbers_of_scripts()
    table = np.zeros(UNICODE, np.uint8)
    for first, end, *_, script in characters():
        table[first:end] = numbers[script]
    return table, list(numbers)


def words_in(data: bytes, ends: Sequence[int], sizes: Sequence[int]) -> tuple[list[int], Counter[str]]:
    """Return the number of words in each of the texts that LFs join to valid UTF-8, and the letters by script.

    `ends` are the places after each text in bytes, `sizes` are in code points. Words do not cross an LF.
    """
    places = np.array(ends, np.int64)
    in_characters = np.cumsum(np.array(sizes, np.int64) + 1) - 1
    if in_characters[-1] < _MOSTLY_ASCII * places[-1]:
        codes = np.frombuffer(data.decode().encode("utf-32-le"), np.uint32)
        flags, scripts, places = _flags()[codes], _letters_in(codes), in_characters
    else:
        flags = np.frombuffer(data.translate(_ascii()), np.uint8)
        scripts = Counter({"Latn": int(np.count_nonzero((flags & LETTER).view(np.bool_)))})
        if not data.isascii():
            flags, others = _with_others(data, flags)
            scripts += others
    ignored = flags == IGNORED
    if ignored.any():
        places -= np.searchsorted(np.flatnonzero(ignored), places)
        flags = flags[~ignored]
    begins = _begins(flags)
    texts = itertools.pairwise([0, *places.tolist()])
    return [int(np.count_nonzero(begins[start:end])) for start, end in texts], +scripts


def _letters_in(codes: npt.NDArray[Any]) -> Counter[str]:
    table, names = _scripts()
    counts = np.bincount(table[codes], minlength=len(names))
    return Counter({names[number]: int(counts[number]) for number in np.flatnonzero(counts).tolist() if number})


def _with_others(data: bytes, flags: Flags) -> tuple[Flags, Counter[str]]:
    """Return flags for each byte of characters outside ASCII, too, and the letters among them by script.

    All bytes have those of their character, except that only the first one of a character that is a word counts. Of a character
    between letters or digits only the last byte has its flags, and the others continue what is before.
    """
    values = np.frombuffer(data, np.uint8)
    flags = flags.copy()
    scripts: Counter[str] = Counter()
    leads = np.flatnonzero(values >= 0xC0)
    lead = values[leads]
    between: list[tuple[Places, int]] = []
    for least, most, length in ((0xC0, 0xDF, 2), (0xE0, 0xEF, 3), (0xF0, 0xFF, 4)):
        at = leads[(lead >= least) & (lead <= most)]
        if not len(at):
            continue
        codes = (values[at] & (0x7F >> length)).astype(np.int32)
        for place in range(1, length):
            codes = codes << 6 | (values[at + place] & 0x3F)
        flags[at] = found = _flags()[codes]
        for place in range(1, length):
            flags[at + place] = _further(found)
        between.append((at[_is_between(found)], length))
        scripts += _letters_in(codes)
    for at, length in between:
        before = np.where(at > 0, _further(flags[at - 1]), np.uint8(0))
        for place in range(length - 1):
            flags[at + place] = before
    return flags, scripts


def _further(flags: Flags) -> Flags:
    """Return the flags of further bytes of characters: one that is a word is counted once."""
    return np.where(flags & FORMS_WORDS, flags, flags & np.uint8(255 - COUNTS))


def _is_between(flags: Flags) -> npt.NDArray[np.bool_]:
    """Return which flags are those of characters that join letters or digits on both sides of them."""
    found: npt.NDArray[np.bool_] = ((flags & IGNORED) != 0) & (flags & LETTER == 0) & (flags != IGNORED)
    return found


def _begins(flags: Flags) -> npt.NDArray[np.bool_]:
    """Return where a word begins that contains a letter or digit."""
    forms = (flags & FORMS_WORDS) != 0
    begins: npt.NDArray[np.bool_] = forms.copy()
    begins[1:] &= ~forms[:-1]
    if (flags & KATAKANA).any():
        # Katakana do not continue other letters.
        follow = np.frombuffer(flags.tobytes().translate(joins()), np.uint8)
        begins[1:] |= forms[1:] & ((follow[:-1] & flags[1:]) == 0)
    _join_across(flags, begins)
    counts = flags >= COUNTS
    _leave_out_uncounted(forms, counts, begins)
    begins |= counts & ~forms
    return begins


def _join_across(flags: Flags, begins: npt.NDArray[np.bool_]) -> None:
    """Join letters across an apostrophe or the like, and digits across a separator (WB6, 7, 7b, 7c, 11, 12)."""
    between = np.flatnonzero((flags & IGNORED) != 0)
    between = between[(between > 0) & (between < len(flags) - 1)]
    here, both = flags[between], flags[between - 1] & flags[between + 1]
    letters = ((here & IN_LETTERS) != 0) & ((both & LETTER) != 0)
    digits = ((here & IN_NUMBERS) != 0) & ((both & DIGIT) != 0)
    hebrew = (here == QUOTES_HEBREW) & ((both & (LETTER | HEBREW)) == LETTER | HEBREW)
    begins[between[letters | digits | hebrew] + 1] = False


def _leave_out_uncounted(
    forms: npt.NDArray[np.bool_], counts: npt.NDArray[np.bool_], begins: npt.NDArray[np.bool_]
) -> None:
    """Leave out words without a letter or digit, such as a `_` alone."""
    at = np.flatnonzero(forms & ~counts)
    if not len(at):
        return
    inside = np.append(forms & ~begins, [False, False])
    # A word goes on with the next character, or across one between letters.
    further = np.where(inside[at + 1] | np.append(forms, False)[at + 1], at + 1, at + 2)
    follows = inside[further]
    # Where the next character of the word does not count either, the last such one decides.
    last = ~follows | (further != np.append(at[1:], -1))
    decided = follows[last][np.cumsum(last) - last]
    begins[at[begins[at] & ~decided]] = False
