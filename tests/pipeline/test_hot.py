"""The native kernel of a build gives the same results as Python without it."""

from __future__ import annotations

import importlib
import random
import struct
import sys
from array import array
from collections.abc import Iterator
from io import BytesIO
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from corpusfmt.pipeline import hot
from corpusfmt.pipeline.dedup import HASHES, sorted_keys
from corpusfmt.pipeline.hot import KeyedLineSet
from corpusfmt.pipeline.process import wet
from corpusfmt.pipeline.rules import WetDefect

native = pytest.importorskip("corpusfmt.pipeline._native", reason="the native kernel is not built")

HASH_OF_WORDS = {each.words: name for name, each in HASHES.items()}
SPACES = b" \t\n\v\f\r"


@pytest.fixture(scope="module")
def plain() -> Iterator[ModuleType]:
    """The module as it is where the kernel is not built."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "corpusfmt.pipeline._native", None)
        patch.setitem(sys.modules, "corpusfmt.io._native", None)
        for name in ("corpusfmt.io.scan", "corpusfmt.pipeline.hot"):
            patch.delitem(sys.modules, name)
        yield importlib.import_module("corpusfmt.pipeline.hot")


lines = st.tuples(
    st.sampled_from(
        [b"", b" ", b"a b", "é\u00a0ü".encode(), b"\x00\xff \x85", b"x" * 200, b"w " * 150, SPACES.replace(b"\n", b"")]
    ),
    st.integers(0, 2),
    st.sampled_from([0.0, 0.79999, 0.8, 0.80001, 1.0]),
)


@given(st.lists(st.lists(lines, max_size=8), max_size=5), st.booleans(), st.sampled_from([0.0, 0.8, 2.0]))
@examples(400)
def test_documents_are_the_same(plain: ModuleType, records: list[list[Any]], adjacent: bool, least: float) -> None:
    text, ends = b"", array("q")
    columns: tuple[array[Any], ...] = (array("q"), array("q"), array("i"), array("f"))
    for record in records:
        for line, label, score in record:
            for column, value in zip(columns, (len(text), len(text) + len(line), label, score), strict=True):
                column.append(value)
            text += line + b"\n"
        ends.append(len(text))
    arguments = (text, ends, *columns, least, adjacent)
    found = native.documents(*arguments)
    assert found == plain.documents(*arguments)
    for _, _, own, count, scores in found:
        assert count == own.count(b"\n")
        assert all(score >= least for score in array("f", scores))


def test_columns_that_do_not_fit_are_refused() -> None:
    good: dict[str, Any] = {
        "text": b"ab\ncd\n",
        "record_ends": array("q", [6]),
        "starts": array("q", [0, 3]),
        "ends": array("q", [2, 5]),
        "labels": array("i", [0, 0]),
        "scores": array("f", [1.0, 1.0]),
    }
    assert native.documents(*good.values(), 0.5, False) == [(0, 0, b"ab\ncd\n", 2, array("f", [1.0, 1.0]).tobytes())]
    odd: dict[str, list[Any]] = {
        "text": [b"ab\n"],
        "record_ends": [array("q"), array("q", [4])],
        "starts": [array("q", [0]), array("q", [-1, 3]), array("q", [3, 0]), array("q", [0, 6])],
        "ends": [array("q", [2]), array("q", [2, 2**40]), array("q", [-5, 5])],
        "labels": [array("i", [0])],
        "scores": [array("f", [1.0])],
    }
    for name, values in odd.items():
        for value in values:
            with pytest.raises(ValueError, match="do not fit"):
                native.documents(*(good | {name: value}).values(), 0.5, False)


@given(
    st.lists(st.lists(st.binary(max_size=90).map(lambda line: line.replace(b"\n", b"")), max_size=6), max_size=9),
    st.integers(0, 6),
    st.binary(min_size=16, max_size=16),
)
@examples(400)
def test_sets_of_lines_are_the_same(plain: ModuleType, texts: list[list[bytes]], most: int, key: bytes) -> None:
    ours, known = KeyedLineSet(key, most), plain.KeyedLineSet(key, most)
    for lines in texts * 2:
        text = b"".join(line + b"\n" for line in lines)
        kept, digests, new = ours.add(text)
        assert (kept, digests, new) == known.add(text)
        assert kept.count(b"\n") == new.count(1) == len(digests) // 16
        assert most or new == b"\1" * len(lines)


# `openssl mac -macopt hexkey:000102030405060708090A0B0C0D0E0F -macopt size:16 -macopt c-rounds:1 -macopt d-rounds:3 SIPHASH`
SIPHASHES = (
    (0, "E77EBCB22788A5BEFD62DB6ADD303001"),
    (1, "FC6F370460D3EDA85E0573CC2B2FF063"),
    (7, "1084B923F2AAE0C3A62F2EC80848AB77"),
    (8, "AA12FEE1D5E3DAB4724F16AB35F9C799"),
    (9, "81DDB8042CF33994F4720E0094137C42"),
)


@pytest.mark.parametrize(("length", "expected"), SIPHASHES)
def test_lines_are_hashed_as_by_openssl(plain: ModuleType, length: int, expected: str) -> None:
    line = bytes(range(length)) + b"\n"
    words = struct.unpack("<QQ", bytes.fromhex(expected))
    for module in (hot, plain):
        assert module.KeyedLineSet(bytes(range(16)), 0).add(line)[1] == struct.pack(">QQ", *words)


def test_a_key_has_16_bytes() -> None:
    for size in (0, 15, 17):
        with pytest.raises(ValueError, match="16 bytes"):
            KeyedLineSet(bytes(size), 1)


def test_a_set_of_lines_grows_and_forgets() -> None:
    lines = KeyedLineSet(bytes(16), 10_000)
    text = b"".join(b"%d\n" % number for number in range(10_000))
    assert lines.add(text)[2] == b"\1" * 10_000
    assert lines.add(text)[::2] == (b"", bytes(10_000))
    assert lines.add(b"one more\n")[2] == b"\1"
    assert lines.add(b"0\n")[2] == b"\1"


words_of_hashes = st.sampled_from([0, 1, 255, 2**63, 2**64 - 1])


@given(
    st.integers(1, 2),
    st.lists(
        st.tuples(st.integers(0, 2), st.lists(st.tuples(words_of_hashes, words_of_hashes), max_size=9)), max_size=6
    ),
)
@examples(400)
def test_repetitions_are_the_same(
    plain: ModuleType, words: int, inputs: list[tuple[int, list[tuple[int, int]]]]
) -> None:
    sections = []
    for number, hashes in sorted(inputs, key=lambda each: each[0]):
        digests = b"".join(word.to_bytes(8, "big") for each in hashes for word in each[:words])
        section = sorted_keys(digests, HASH_OF_WORDS[words])
        order = sorted(range(len(hashes)), key=lambda line: hashes[line][0])
        columns = [*([hashes[line][word] for line in order] for word in range(words)), order]
        assert section == b"".join(array("Q", column) for column in columns)
        sections.append((number, section))
    assert native.repetitions(sections, words) == plain.repetitions(sections, words)


@pytest.mark.parametrize("words", [1, 2])
def test_repetitions_among_more_hashes_than_one_table_holds(plain: ModuleType, words: int) -> None:
    rng = random.Random(5)
    hashes = [rng.randbytes(8 * words) for _ in range(3_000)]
    chosen = [rng.choices(hashes[: 2 ** (number + 6)], k=1_000) for number in range(6)]
    chosen.append([hashes[0]] * 2_000)
    name = HASH_OF_WORDS[words]
    sections = [(number // 2, sorted_keys(b"".join(each), name)) for number, each in enumerate(chosen)]
    found = native.repetitions(sections, words)
    assert found == plain.repetitions(sections, words)
    assert sum(len(lines) // 8 for _, lines in found) == 8_000 - len({each for some in chosen for each in some})


def test_odd_arguments_about_hashes_are_refused() -> None:
    for words in (-1, 0, 3):
        with pytest.raises(ValueError, match="one word or two"):
            native.repetitions([], words)
    with pytest.raises(TypeError):
        native.repetitions([(1, "text")], 1)


def record_of(headers: bytes, text: bytes, end: bytes = b"\r\n\r\n", kind: bytes = b"conversion") -> bytes:
    head = b"WARC/1.0\r\nWARC-Type: %b\r\n%bContent-Length: %d\r\n\r\n" % (kind, headers, len(text))
    return head + text + end


ODD_HEADERS: list[bytes] = [
    b"", b"X-A: 1\r\nx-a: 2\r\n", b"A:\r\n", b": b\r\n", b"A : b \t\r\n", b" A: b\r\n", b"\tA: b\r\n", b"no colon\r\n", b"A: \xff\r\n",
    "Ä: b\r\n".encode(), b"A: b\nC: d\r\n", b"A: b\rC: d\r\n", b"a\x00B: c\x00d\r\n", "URI: \u00a0h\u00fc \r\n".encode(), b"WARC-TYPE: info\r\n",
    b"Content-Length: 3\r\n", b"Content-Length: \r\n", b"Content-Length: +1\r\n", "Content-Length: \u0663\r\n".encode(),
    b'"A\\": "b\\"\r\n', b"A\t: b\r\n", b"A: b\r\r\n", "A: b\u2003\r\n".encode(), b"C: " + bytes({*range(0x21), 0x7F} - {10, 13}) + b"\r\n",
    b"content-length: 00000000000000000000000000001\r\n", b"Content-Length: 999999999999999999999999\r\n", b"L: " + b"x" * 70_000 + b"\r\n",
]  # fmt: skip


@given(
    st.lists(
        st.tuples(
            st.sampled_from(ODD_HEADERS),
            st.sampled_from([b"", b"text\n", b"\r\n\r\n", b"x" * 5000]),
            st.sampled_from([*[b"conversion"] * 6, b"warcinfo", b"response", b"Conversion"]),
        ),
        max_size=4,
    ),
    st.sampled_from([b"\r\n\r\n", b"\r\n\r\n", b"\n\n", b"\r\n", b""]),
    st.integers(1, 9000),
    st.integers(0, 2**32),
)
@examples(400)
def test_records_are_the_same(
    plain: ModuleType, records: list[tuple[bytes, bytes, bytes]], end: bytes, size: int, seed: int
) -> None:
    data = bytearray().join(record_of(headers, text, end, kind) for headers, text, kind in records)
    rng = random.Random(seed)
    for _ in range(rng.choice([0, 0, 1, 2]) if data else 0):
        data[rng.randrange(len(data))] = rng.choice(b"\r\n: \t\xffA0")
    chunks = [bytes(data[start : start + size]) for start in range(0, len(data), size)]

    def read() -> list[Any]:
        try:
            return [record for batch in wet.wet_batches(BytesIO(), "a.wet") for record in batch.records()]
        except WetDefect as defect:
            return [defect.reason]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wet, "wet_chunks", lambda *_: iter(chunks))
        expected = read()
        patch.setattr(wet, "wet_records", plain.wet_records)
        assert read() == expected


def test_whole_canonical_records_are_taken() -> None:
    one = record_of(b"WARC-Target-URI: \t https://example.org/\xc3\xa9/ \r\n", b"text\n")
    other = record_of(b"", b"more", kind=b"metadata")
    headers = '{"warc-type":"conversion","warc-target-uri":"https://example.org/é/","content-length":"5"}'.encode()
    end = (5).to_bytes(8, sys.byteorder)
    assert native.wet_records(one + one[:20], 0) == ([headers], b"text\n", end, 1, len(one))
    assert native.wet_records(b"??" + one, 2) == ([headers], b"text\n", end, 1, len(one) + 2)
    assert native.wet_records(other + one + other, 0)[3:] == (3, 2 * len(other) + len(one))
    assert native.wet_records(one + record_of(b"", b"", kind=b"request") + one, 0)[3:] == (1, len(one))
    nothing: tuple[list[bytes], bytes, bytes, int] = ([], b"", b"", 0)
    assert all(native.wet_records(one[:length], 0) == (*nothing, 0) for length in range(len(one)))
    assert all(native.wet_records(one, start) == (*nothing, start) for start in (1, len(one)))
    for start in (-1, len(one) + 1):
        with pytest.raises(ValueError, match="no such place"):
            native.wet_records(one, start)
