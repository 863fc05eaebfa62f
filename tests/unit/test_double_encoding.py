"""Double-encoded text is found and decoded, in any language; real text is never reported."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import FIXTURES

from corpusfmt.io.double_encoding import is_garbled, repair, suspect_lines, suspect_lines_of_json

UDHR = [
    line.partition("\t")[2]
    for line in gzip.decompress((FIXTURES / "langid" / "udhr.tsv.gz").read_bytes()).decode().split("\n")
]


def garbled(text: str, encoding: str = "cp1252") -> str:
    """Return a text whose UTF-8 was read as another encoding, as browsers do: bytes without a character are C1 controls."""
    return "".join(bytes([byte]).decode(encoding, "ignore") or chr(byte) for byte in text.encode())


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
@pytest.mark.parametrize(
    "text",
    [
        "café",
        "El índice",
        "à côté",
        "Été",
        "AÇÃO",
        "“quoted”",
        "it’s",
        "25°C",
        "© 2010",
        "end.\u00a0Next",
        "Zażółć gęślą jaźń",
        "Příliš žluťoučký kůň",
        "İstanbul’da yağmur",
        "Việt Nam là một nước đẹp",
        "Привет",
        "שלום",
        "مرحبا",
        "你好",
        "สวัสดี",
        "😀",
        "\ufeffid",
        "lost \ufffd",
    ],
)
def test_what_was_encoded_twice_or_more_is_found_with_what_it_was(text: str, encoding: str) -> None:
    twice = garbled(text, encoding)
    for line in (twice, garbled(twice, encoding)):
        found = repair(line)
        assert found is not None
        assert (found.found, found.repaired) == (line, text)


@pytest.mark.parametrize(
    "line",
    [
        "NESCAFÉ® ET CAFÉ™",
        "TÉŽ, VÝŠKA, NÍŽE, BLÍŽÍ",
        "„Spaß“, „Gruß“",
        "MANHÃ… “AMANHÔ NÃO",
        "«\u00a0liberté\u00a0», égalité\u00a0», voilà\u00a0!",
        "hâlâ…”",
        "Ø½″, Ø±0.1, 3×½, 2×¾",
        "1.5Å–2.0Å",
        "XÃ¹, MÃ²",
        "XÃ HỘI CHỦ NGHĨA, ĐÃ, NGÃ…",
        "Ã, Â, ã, â",
        "ROMÂ… în vârstă",
        "ÄÖÜäöüß",
        "ViÖt Nam, ng­êi, tØnh",
        "Ïðèâåò",
    ],
)
def test_accented_letters_before_punctuation_are_left_alone(line: str) -> None:
    assert repair(line) is None


@pytest.mark.parametrize(("times", "undone"), [(1, 1), (3, 3), (4, 4), (5, 4)])
def test_at_most_four_encodings_are_undone(times: int, undone: int) -> None:
    lines = ["café"]
    for _ in range(times):
        lines.append(garbled(lines[-1]))
    found = repair(lines[-1])
    assert found is not None
    assert found.repaired == lines[times - undone]


def test_one_odd_place_among_others_that_are_right_is_no_evidence_but_two_are() -> None:
    assert repair("naïve cafÃ©") is None
    found = repair("naïve cafÃ©, Spaß“ thÃ©")
    assert found is not None
    assert found.repaired == "naïve café, Spaß“ thé"


def test_no_paragraph_of_any_language_is_taken_for_double_encoded() -> None:
    assert [line for line in UDHR if repair(line)] == []


def test_nearly_every_paragraph_is_restored_from_its_double_encoding() -> None:
    """All but those in which a letter stands alone at the beginning of a word, which evidence is not made of."""
    beyond_ascii = [line for line in UDHR if not line.isascii()]
    found = [(line, repair(garbled(line))) for line in beyond_ascii]
    restored = [line for line, each in found if each and each.repaired.strip("…") in line]
    assert len(restored) >= 0.98 * len(beyond_ascii)


def test_a_long_line_is_shown_around_its_first_odd_place() -> None:
    found = repair("x" * 500 + " cafÃ© " + "y" * 500)
    assert found is not None
    assert found.start == 504
    assert found.found.startswith("…x")
    assert " cafÃ© y" in found.found
    assert " café y" in found.repaired
    assert len(found.found) <= 152


PIECES = st.sampled_from(
    [*"aZ0. éÃ©Â°â€™ðŸ˜€ï»¿½É®×ßÅ‚Ø\x81\\u", "\u00a0", "\u00ad", "Ã©", "â€™", "ÐŸÑ€", "中", "\U0001f600"]
)
LINES = st.lists(st.lists(PIECES, max_size=12).map("".join), max_size=6)


@given(LINES)
@example(["cafÃ©", "", "Ã©tÃ©"])
def test_every_line_that_can_be_repaired_is_suspect_in_text_and_in_json(lines: list[str]) -> None:
    wanted = [number for number, line in enumerate(lines) if repair(line)]
    text = "\n".join(lines).encode()
    suspects = list(suspect_lines(text))
    assert set(wanted) <= {number for number, _, _ in suspects}
    for number, byte, line in suspects:
        assert line == lines[number].encode()
        assert text[:byte].count(b"\n") == number
    for ascii_only in (False, True):
        data = "\n".join(json.dumps(line, ensure_ascii=ascii_only) for line in lines).encode()
        assert set(wanted) <= {number for number, _, _ in suspect_lines(data, escaped=True)}


@given(LINES, st.booleans(), st.sampled_from([rb"\n", rb"\u000a", rb"\u000A"]))
@example(["\\", "a cafÃ©\\", "b"], False, rb"\n")
def test_suspects_in_a_json_string_are_those_in_its_text(lines: list[str], ascii_only: bool, line_feed: bytes) -> None:
    text = "\n".join(lines)
    encoded = b'"%s"' % line_feed.join(json.dumps(line, ensure_ascii=ascii_only).encode()[1:-1] for line in lines)
    assert list(suspect_lines_of_json(encoded)) == [line for _, _, line in suspect_lines(text.encode())]


@given(st.lists(PIECES, max_size=12).map("".join))
def test_what_is_garbled_is_what_is_repaired(line: str) -> None:
    if not line.isascii():
        assert is_garbled(line.encode()) == (repair(line) is not None)
