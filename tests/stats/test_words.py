"""Words by the rules of UAX 29: hand-made cases of each rule, and a plain reading of the rules, character by character."""

from __future__ import annotations

import unicodedata
from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stats.uax29 import is_word, segments
from support import REPOSITORY

from corpusfmt.statistics import measuring
from corpusfmt.statistics.measuring import Measuring

CASES = [
    ("", []),
    (
        "The quick (“brown”) fox can’t jump 32.3 feet, right?",
        ["The", "quick", "brown", "fox", "can’t", "jump", "32.3", "feet", "right"],
    ),
    ("don't e.g. a:b x·y", ["don't", "e.g", "a:b", "x·y"]),
    ("3,141.59 1;2 a,b 1.a", ["3,141.59", "1;2", "a", "b", "1", "a"]),
    ("A1 1A a_b _ _x 1_000", ["A1", "1A", "a_b", "_x", "1_000"]),
    ("caf\u0065\u0301s so\u00adft \u0301x", ["caf\u0065\u0301s", "so\u00adft", "x"]),
    ("中文 ひら カタカナ ー", ["中", "文", "ひ", "ら", "カタカナ", "ー"]),
    ("צה\"ל ב'", ['צה"ל', "ב"]),
    ("a\nb\r\nc\u2028d e\u200df", ["a", "b", "c", "d", "e\u200df"]),
    ("'quoted' rock'n'roll ''", ["quoted", "rock'n'roll"]),
    ("½ ² Ⅷ 🙂 👍🏽 — ٣٫٥", ["½", "²", "Ⅷ", "٣٫٥"]),
    ("ไทย", ["ไ", "ท", "ย"]),
    ("ⓐ ⓐ’a ⓐ_ n’’t ’t", ["ⓐ’a", "n", "t", "t"]),
]


def number_in(text: str) -> int:
    return words_of([text])[0][0]


def words_of(texts: Sequence[str]) -> tuple[list[int], Counter[str]]:
    """Return what is counted, the same with and without the kernel."""
    data = "\n".join(texts).encode()
    sizes = list(map(len, texts))
    ends = array("q", accumulate((len(text.encode()) + 1 for text in texts), initial=-1))[1:]
    found = []
    for built in {False, measuring._BUILT}:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(measuring, "_BUILT", built)
            whole, without_words = Measuring(words=True), Measuring(words=False)
            lengths = whole.lengths(data, ends.tobytes())
            counts = lengths.pop("words")
            assert without_words.lengths(data, ends.tobytes()) == lengths
            assert not without_words.scripts
        found.append((counts.tolist(), whole.scripts))
        assert lengths["characters"].tolist() == sizes
        assert lengths["bytes"].tolist() == [len(text.encode()) for text in texts]
        assert lengths["lines"].tolist() == [text.count("\n") + (text[-1:] not in {"", "\n"}) for text in texts]
    assert found == found[:1] * len(found)
    return found[0]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_words_of_each_rule(text: str, expected: list[str]) -> None:
    assert number_in(text) == len(expected)
    assert [each for each in segments(text) if is_word(each)] == [each for each in expected if each != "ב"] + (
        ["ב'"] if "ב" in expected else []
    )


@given(
    st.text(
        alphabet="ⓐ𝐀aZ9_ .,:;'\"’·\n\r\u0301\u200d\u00adא\u05d1アー一ねก\u0e31٣٫🇦🙂ß²½\u3000\u2028\u0085é", max_size=24
    )
)
def test_any_text_has_the_words_that_the_rules_say(text: str) -> None:
    assert number_in(text) == sum(map(is_word, segments(text)))


@given(
    st.lists(
        st.sampled_from(["a word, 3.14 ", "don't ", "x_", "9,9;a:b'c.", "\n", "é", "中", "\u0301", "_ "]), max_size=80
    )
)
def test_long_texts_have_the_words_of_their_parts(parts: list[str]) -> None:
    text = "".join(parts)
    found = words_of([text, "", text])[0]
    assert found[::2] == [sum(map(is_word, segments(text)))] * 2


def test_characters_of_two_bytes_are_counted_alike_with_and_without_the_kernel() -> None:
    texts = [
        " ".join(3 * f"{chr(each)}. {2 * chr(each)}'o" for each in range(at, at + 16)) for at in range(0x80, 0x800, 16)
    ]
    words_of(texts)


def test_words_belong_to_their_documents_and_letters_to_their_scripts() -> None:
    texts = ["Ein Wort, zwei", "", "Три слова тут", "中文", "one"]
    counts, scripts = words_of(texts)
    assert counts == [3, 0, 3, 2, 1]
    assert scripts == Counter({"Latn": 14, "Cyrl": 11, "Hani": 2})


def test_the_table_agrees_with_python_where_both_know_a_character() -> None:
    table = (REPOSITORY / "schemas/unicode/letters.tsv").read_text("utf-8").split("\n")[1:-1]
    kinds: dict[int, str] = {}
    for row in table:
        first, last, _, category, script = row.split("\t")
        assert (script != "-") == (category == "L")
        kinds |= dict.fromkeys(range(int(first, 16), int(last, 16) + 1), category)
    for code in range(0x30000):
        known = unicodedata.category(chr(code))
        if known[0] in "LN":
            assert kinds[code] == known[0], hex(code)
        elif known != "Cn":
            assert kinds.get(code, "-") == "-", hex(code)
