"""Internal: Measure texts in whole batches: lines, words by the default rules of UAX 29, characters, and letters by script.

A word is a segment, between two word boundaries, that contains a letter or a digit (general category L or N). So each
character of a script that is written without spaces, such as Han, is a word.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from corpusfmt._resources import resource

try:
    from corpusfmt.io import _native
except ImportError:  # no wheel for this platform and no compiler: same results, more slowly
    _BUILT = False
else:
    _BUILT = True

# What the kernel returns, one column after another.
_COLUMNS = ("lines", "words", "characters", "bytes")
_NUMBER_BYTES = 8
_MOST_SCRIPTS = 256
_State = tuple[int, int, bool]

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
def _characters() -> Sequence[tuple[int, int, str, str, str]]:
    """Return ranges of characters, each from its first to before its end, with word break, category and script."""
    rows = []
    for line in resource("schemas", "unicode/letters.tsv").read_text("utf-8").split("\n")[1:-1]:
        first, last, word_break, category, script = line.split("\t")
        rows.append((int(first, 16), int(last, 16) + 1, word_break, category, script))
    return rows


def _flags_of(word_break: str, category: str) -> int:
    """Return what a character is for the rules."""
    kind = _CLASSES[word_break]
    return kind | (_COUNTS if category != "-" and kind != _IGNORED else 0)


@cache
def _joins() -> bytes:
    """Return for the flags of a character those of a next one that continues its word (WB5, 8 to 10, 13 to 13b)."""
    return bytes(
        (_LETTER | _DIGIT | _EXTENDS if flags & (_LETTER | _DIGIT) else 0)
        | (_KATAKANA | _EXTENDS if flags & _KATAKANA else 0)
        | (_FORMS_WORDS if flags & _EXTENDS else 0)
        for flags in range(256)
    )


@cache
def _numbers_of_scripts() -> dict[str, int]:
    """Return a number for each script; 0 is for what is not a letter."""
    return {name: number for number, name in enumerate(["-", *sorted({row[4] for row in _characters()} - {"-"})])}


@cache
def _automaton() -> tuple[bytes, bytes]:
    """Return the tables by which the kernel measures: script and class of each character, and the states after each state.

    A state is what the last two characters are, as far as they decide whether a word goes on, and whether it was counted. Its
    number is odd where a word counts; what follows is the same.
    """
    kinds = sorted({0} | {_flags_of(word_break, category) for _, _, word_break, category, _ in _characters()})
    start = (0, 0, False)
    states = {start: 0}
    after = array("H")
    for state in (waiting := [start]):
        for kind in kinds:
            next_state, counts = _after(state, kind)
            if next_state not in states:
                states[next_state] = len(states) * 2 * len(kinds)
                waiting.append(next_state)
            after.extend([states[next_state] | counts] * 2)
    classes, numbers = array("H", bytes(2 * _UNICODE)), _numbers_of_scripts()
    for first, end, word_break, category, script in _characters():
        found = 2 * kinds.index(_flags_of(word_break, category)) | numbers[script] << 8
        classes[first:end] = array("H", [found]) * (end - first)
    return classes.tobytes(), after.tobytes()


def _after(state: _State, flags: int) -> tuple[_State, bool]:
    """Return the state after one more character, and whether its word is counted there."""
    far, before, counted = state
    if flags == _IGNORED:
        return state, False
    if not flags & _FORMS_WORDS:
        is_between = flags & _IGNORED and before & _FORMS_WORDS
        return (before, flags, counted) if is_between else (0, 0, False), flags >= _COUNTS
    both = far & flags
    goes_on = (
        _joins()[before] & flags
        or (before & _IN_LETTERS and both & _LETTER)
        or (before & _IN_NUMBERS and both & _DIGIT)
        or (before == _QUOTES_HEBREW and both & _LETTER and both & _HEBREW)
    )
    counted = counted and bool(goes_on)
    return (0, flags, counted or flags >= _COUNTS), flags >= _COUNTS and not counted


class Measuring:
    """Measures texts in lines, characters, bytes and, if asked for, `words`; then it also counts the letters of all by script."""

    def __init__(self, *, words: bool) -> None:
        self._words = words
        self._classes, self._states = _automaton() if words else (b"", b"")
        self._letters = bytearray(_MOST_SCRIPTS * _NUMBER_BYTES)

    def lengths(self, data: bytes, ends: bytes) -> dict[str, array[int]]:
        """Return the lengths of texts that LFs join to valid UTF-8, by unit; `ends` are the places after each."""
        if not _BUILT:
            texts = [data[before + 1 : end] for before, end in pairwise([-1, *array("q", ends)])]
            lines = [text.count(b"\n") + (text[-1:] not in {b"", b"\n"}) for text in texts]
            decoded = [text.decode() for text in texts]
            characters = list(map(len, decoded))
            words = list(map(self._words_in, decoded)) if self._words else characters
            found = array("q", [*lines, *words, *characters, *map(len, texts)])
        else:
            measures = _native.measures(data, ends, self._classes, self._states, self._letters)
            if measures is None:
                raise ValueError("the texts are not UTF-8")
            found = array("q", measures)
        number = len(found) // len(_COLUMNS)
        columns = {name: found[place * number : (place + 1) * number] for place, name in enumerate(_COLUMNS)}
        if not self._words:
            del columns["words"]
        return columns

    def _words_in(self, text: str) -> int:
        """Return the number of words, and count the letters, as the kernel does."""
        classes, after = memoryview(self._classes).cast("H"), memoryview(self._states).cast("H")
        letters = memoryview(self._letters).cast("Q")
        for character, number in Counter(text).items():
            letters[classes[ord(character)] >> 8] += number
        state = words = 0
        for code in map(ord, text):
            state = after[state + (classes[code] & 0xFF)]
            words += state & 1
        return words

    @property
    def scripts(self) -> Counter[str]:
        """Letters by script."""
        numbers = array("Q", bytes(self._letters))
        return +Counter({name: numbers[place] for name, place in _numbers_of_scripts().items() if place})
