"""The native scans of text agree with Python wherever they say something."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple
from strategies import examples
from support import scan_without_kernel

from corpusfmt.io import scan

native = pytest.importorskip("corpusfmt.io._native", reason="the native kernel is not built")

# Letters that compose, marks that do and do not, in order and out of it, around code points of every length.
ODD = "aeé\u0301\u0327\u030d\u0315\u0928\u0921\u093c\u094d\u1100\u1161\uac00\u11a8\u0958\u2126\ufb1d\u064b\u0652\U0001d15e中я"


PYTHON = scan_without_kernel()


def lines_not_nfc(data: bytes) -> tuple[list[int], int, int]:
    """Return where lines that are not UTF-8 begin, how many others are not in NFC, and where the first of these begins."""
    bad, not_nfc, start = [], [], 0
    for line in data.split(b"\n"):
        try:
            if not unicodedata.is_normalized("NFC", line.decode()):
                not_nfc.append(start)
        except UnicodeDecodeError:
            bad.append(start)
        start += len(line) + 1
    return bad, len(not_nfc), not_nfc[0] if not_nfc else 0


def lines_found(data: bytes) -> tuple[list[int], int, int]:
    """Return the same as the survey says: twice, as it remembers, and without the kernel."""
    first, second, slow = (scans.survey(data, 0) for scans in (scan, scan, PYTHON))
    assert first == second
    assert astuple(first) == astuple(slow)
    return first.bad, *first.not_nfc


def test_a_code_point_stays_what_it_is_behind_any_letter() -> None:
    """Behind `a`, behind itself and behind every other letter that it could compose with."""
    pairs = {
        tuple(int(part, 16) for part in unicodedata.decomposition(chr(point)).split())
        for point in range(sys.maxunicode + 1)
        if unicodedata.decomposition(chr(point))[:1] not in {"", "<"}
    }
    texts = [chr(pair[0]) + chr(pair[1]) for pair in pairs if len(pair) == 2]
    for point in (*range(0x12000), *range(0x12000, sys.maxunicode, 97)):
        if not 0xD800 <= point < 0xE000:
            texts += [f"a{chr(point)}", chr(point) * 2, f"{chr(point)}\u0301"]
    data = "\n".join(text for text in texts if "\n" not in text).encode()
    assert lines_found(data) == lines_not_nfc(data)


@given(st.text(st.one_of(st.sampled_from(ODD + "\n"), st.characters()), max_size=24), st.integers(0, 140))
@examples(500)
def test_lines_that_are_not_nfc_are_found(text: str, ascii_before: int) -> None:
    data = b"x" * ascii_before + text.encode("utf-8", "surrogatepass")
    assert lines_found(data) == lines_not_nfc(data)


@given(
    st.lists(st.sampled_from(["e", "न", "\u094d", "\u093c", "\u0301", "\u0327", "\u0951", "\n"]), max_size=8).map(
        "".join
    ),
    st.integers(0, 70),
    st.integers(0, 30),
)
@examples(500)
def test_marks_behind_a_virama_belong_to_the_letter_before_it(text: str, before: int, behind: int) -> None:
    """A virama is usual in Hindi, so that it is passed by in blocks."""
    data = ("x" * (before % 3) + "क्ष" * (before // 3) + text + "क्ष" * behind).encode()
    assert lines_found(data) == lines_not_nfc(data)


@given(st.binary(max_size=12), st.sampled_from(["", "é", "中" * 30, "x" * 70]))
@examples(500)
def test_what_is_not_utf8_is_found(data: bytes, around: str) -> None:
    whole = around.encode() + data + around.encode()
    assert lines_found(whole) == lines_not_nfc(whole)


def test_no_cut_or_overlong_sequence_is_accepted() -> None:
    for sequence in ("é", "中", "я", "\U0001d15e"):
        for length in range(1, len(sequence.encode())):
            assert scan.survey(sequence.encode()[:length], 0).bad == [0]
    for overlong in (b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\x80", b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\x80", b"\xff"):
        assert scan.survey(overlong, 0).bad == [0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "Ünïcödé",
        "Съешь же ещё",
        "ذَهَبَ إلى المدرسة",
        "हिन्दी पढ़ना बड़ा",
        "生活，就像海洋。",
        "대한민국",
        "日本語のテスト",
        "สวัสดีครับ",
    ],
)
def test_ordinary_text_is_accepted_at_once(text: str) -> None:
    """Else the speed is lost in silence."""
    doubts: list[bytes] = []
    native.survey((text + "\n").encode() * 9, 0, (0, 0, 0, 0, 1, 1), False, doubts.append)
    assert doubts == []


@given(st.binary(max_size=100), st.sampled_from([1, 7, 300, 2040, 2048, 5000]))
@examples(100)
def test_lines_are_counted(piece: bytes, times: int) -> None:
    data = piece.replace(b"x", b"\n") * times + piece
    assert native.count_lines(data) == data.count(b"\n")


@given(st.lists(st.sampled_from([*rb"\"\x"])), st.integers(0, 3))
@examples(500)
def test_quotation_marks_are_counted_unless_escaped(codes: list[int], times: int) -> None:
    data = bytes(codes) * times
    escaped = unescaped = 0
    backslashes = 0
    for code in data:
        if code == ord('"'):
            escaped, unescaped = (escaped + 1, unescaped) if backslashes % 2 else (escaped, unescaped + 1)
        backslashes = backslashes + 1 if code == ord("\\") else 0
    assert native.count_quotes(data) == PYTHON.count_quotes(data) == unescaped


@given(st.lists(st.sampled_from(["\n", "\n\n", " ", "\t", "\r", "a", "bc", "\0"])).map("".join))
@examples(1000)
def test_texts_are_split_where_empty_lines_stand_alone(text: str) -> None:
    data = text.encode()
    odd = "\n\n\n" in text or any(line and not line.strip(" \t\r") for line in text.split("\n")[1:])
    expected = None if odd else [(piece, piece.count(b"\n") + 1) for piece in data.split(b"\n\n")]
    assert native.split_at_empty_lines(data) == PYTHON.split_at_empty_lines(data) == expected


DOUBLE_ENCODED = st.lists(
    st.one_of(
        st.sampled_from([*"aZ0\n\\u éÃ©Ââ€™ðŸ˜ï»¿É®×ßÅ‚Ø\x81", "\\u00c3", "\\u00C2", "\\u00a9", "\\u20ac", "\\u00e2"]),
        st.integers(0x80, 0xFF).flatmap(lambda code: st.sampled_from([chr(code), f"\\u{code:04x}", f"\\u{code:04X}"])),
        st.just("x" * 80),
    ),
    max_size=16,
).map("".join)


@given(DOUBLE_ENCODED, st.binary(max_size=3), st.integers(0, 20), st.booleans())
@examples(1000)
def test_both_find_the_same_double_encodings(text: str, rest: bytes, start: int, escaped: bool) -> None:
    data = text.encode() + rest
    assert native.double_encoding_at(data, start, escaped) == PYTHON.double_encoding_at(data, start, escaped)


@pytest.mark.parametrize("escaped", [False, True])
def test_every_letter_of_latin_1_that_was_encoded_twice_is_found(escaped: bool) -> None:
    for code in range(0xA0, 0x100):
        twice = "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in chr(code).encode())
        data = json.dumps(f"a {twice}", ensure_ascii=escaped).encode()
        assert [scans.double_encoding_at(data, 0, escaped) for scans in (native, PYTHON)] == [3, 3], twice


def test_only_bytes_are_taken() -> None:
    for take in (native.count_lines, native.count_quotes, native.split_at_empty_lines):
        with pytest.raises(TypeError):
            take("text")


LINES = st.text(
    st.one_of(
        st.sampled_from("ab é中я \t\r\0\x85\xa0\ufeff\u0301\u0928\u093c"), st.characters(exclude_characters="\n")
    ),
    max_size=14,
)
WHOLE_LINES = st.one_of(
    LINES, st.sampled_from(["", "", " ", "\t\r", "plain text " * 9, "Съешь же ещё " * 9, "हिन्दी " * 9, "生活" * 40])
)


@given(
    st.lists(st.tuples(WHOLE_LINES, st.sampled_from([b""] * 9 + [b"\xff", b"\xc3", b"\xe4\xb8", b"\xed\xa0\x80"]))),
    st.integers(0, 120),
    st.booleans(),
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 3), st.integers(0, 2)),
)
@examples(1000)
def test_the_same_survey_with_and_without_the_kernel(
    pieces: list[tuple[str, bytes]], least: int, cut: bool, before: tuple[int, int, int, int]
) -> None:
    data = b"".join(line.encode("utf-8", "surrogatepass") + odd + b"\n" for line, odd in pieces)
    data = data[:-1] if cut else data
    line, byte = before[0] + len(pieces) % 2, before[1] + 2
    found = [scans.survey(data, least, line, byte, before) for scans in (scan, PYTHON)]
    assert astuple(found[0]) == astuple(found[1])
    found = [scans.survey(data, least, line, byte, before, keeps_documents=False) for scans in (scan, PYTHON)]
    assert astuple(found[0]) == astuple(found[1])


@pytest.mark.parametrize("cut", [b"\xc3", b"\xe4", b"\xe4\xb8"])
@pytest.mark.parametrize("letters", ["a", "é", "中"])
def test_a_character_that_a_line_cuts_off_is_found_wherever_it_is(cut: bytes, letters: str) -> None:
    after = b"\n" + b"plain text " * 20
    for length in range(200):
        before = b"a" * (length % 2) + letters.encode() * length
        assert scan.survey(b"\n\n" + before + cut + after, 0, 0, 2, (0, 0, 0, 0)).bad == [2]
