"""Internal: Measure texts in whole batches: lines, words by the default rules of UAX 29, characters, and letters by script.

A word is a segment, between two word boundaries, that contains a letter or a digit (general category L or N). So each
character of a script that is written without spaces, such as Han, is a word.
"""

from __future__ import annotations

from array import array
from collections import Counter
from functools import cache
from itertools import pairwise

from corpusfmt.formats import Tables
from corpusfmt.statistics.letters import (
    COUNTS,
    DIGIT,
    FORMS_WORDS,
    HEBREW,
    IGNORED,
    IN_LETTERS,
    IN_NUMBERS,
    LETTER,
    QUOTES_HEBREW,
    UNICODE,
    characters,
    flags_of,
    joins,
    numbers_of_scripts,
)

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


@cache
def _automaton() -> tuple[bytes, bytes]:
    """Return the tables by which the kernel measures: script and class of each character, and the states after each state.

    A state is what the last two characters are, as far as they decide whether a word goes on, and whether it was counted. Its
    number is odd where a word counts; what follows is the same.
    """
    kinds = sorted({0} | {flags_of(word_break, category) for _, _, word_break, category, _ in characters()})
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
    classes, numbers = array("H", bytes(2 * UNICODE)), numbers_of_scripts()
    for first, end, word_break, category, script in characters():
        found = 2 * kinds.index(flags_of(word_break, category)) | numbers[script] << 8
        classes[first:end] = array("H", [found]) * (end - first)
    return classes.tobytes(), after.tobytes()


def _after(state: _State, flags: int) -> tuple[_State, bool]:
    """Return the state after one more character, and whether its word is counted there."""
    far, before, counted = state
    if flags == IGNORED:
        return state, False
    if not flags & FORMS_WORDS:
        is_between = flags & IGNORED and before & FORMS_WORDS
        return (before, flags, counted) if is_between else (0, 0, False), flags >= COUNTS
    both = far & flags
    goes_on = (
        joins()[before] & flags
        or (before & IN_LETTERS and both & LETTER)
        or (before & IN_NUMBERS and both & DIGIT)
        or (before == QUOTES_HEBREW and both & LETTER and both & HEBREW)
    )
    counted = counted and bool(goes_on)
    return (0, flags, counted or flags >= COUNTS), flags >= COUNTS and not counted


class Measuring:
    """Measures texts in lines, characters, bytes and, if asked for, `words`; then it also counts the letters of all by script."""

    def __init__(self, *, words: bool, keeps_texts: bool = False) -> None:
        self._words = words
        #: For a kernel that measures texts while it reads them.
        self.tables = Tables(
            *_automaton() if words else (b"", b""), bytearray(_MOST_SCRIPTS * _NUMBER_BYTES), keeps_texts
        )
        self._scripts = Counter[str]()

    def lengths(self, data: bytes, ends: bytes) -> dict[str, array[int]]:
        """Return the lengths of texts that LFs join to valid UTF-8, by unit; `ends` are the places after each."""
        if _BUILT:
            measures = _native.measures(data, ends, self.tables.classes, self.tables.states, self.tables.letters)
            if measures is None:
                raise ValueError("the texts are not UTF-8")
            return self.columns(measures)
        found = array("q")
        self._measure(data, array("q", ends), found)
        return self.columns(found.tobytes())

    def columns(self, measures: bytes) -> dict[str, array[int]]:
        """Return the lengths of texts that a kernel has measured by `tables`, by unit."""
        found = array("q", measures)
        number = len(found) // len(_COLUMNS)
        columns = {name: found[place * number : (place + 1) * number] for place, name in enumerate(_COLUMNS)}
        if not self._words:
            del columns["words"]
        return columns

    def _measure(self, data: bytes, ends: array[int], found: array[int]) -> None:
        """Add what the kernel returns."""
        texts = [data[before + 1 : end] for before, end in pairwise([-1, *ends])]
        sizes = [len(text.decode()) for text in texts]
        found.extend(text.count(b"\n") + (text[-1:] not in {b"", b"\n"}) for text in texts)
        if self._words:
            from corpusfmt.statistics.words import words_in  # noqa: PLC0415 - with the kernel, nothing here needs NumPy

            words, scripts = words_in(data, ends, sizes)
            self._scripts += scripts
            found.extend(words)
        else:
            found.extend(sizes)
        found.extend(sizes)
        found.extend(map(len, texts))

    @property
    def scripts(self) -> Counter[str]:
        """Letters by script."""
        names, numbers = numbers_of_scripts(), array("Q", bytes(self.tables.letters))
        return self._scripts + Counter({name: numbers[place] for name, place in names.items() if place})
