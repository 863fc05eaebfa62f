"""Only LF ends a line, and every line knows its place, however the bytes were cut into chunks."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import lines_of, texts
from support import zstd

from corpusfmt.io.lines import Block, Line, LongLine, blocks, lines, runs
from corpusfmt.io.streams import Chunks, Codec, StreamFault
from corpusfmt.io.text import DepthFault, JsonFault, json_line, parsed_json, strict_json, utf8_fault


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


@given(
    st.lists(st.sampled_from([b"a", b"bb", b"\n", b"\r", b"\xc2\x85", b"\xe2\x80\xa8", b"\x0b", b"\x0c"])),
    st.integers(1, 9),
)
def test_lines_are_what_lf_separates(pieces: list[bytes], size: int) -> None:
    data = b"".join(pieces)
    found = list(lines(cut(data, size)))
    assert all(isinstance(line, Line) for line in found)
    assert b"".join(line.data + b"\n" * line.terminated for line in found if isinstance(line, Line)) == data
    assert [line.line for line in found] == list(range(1, len(found) + 1))
    for line in found:
        assert isinstance(line, Line)
        assert data[line.byte : line.byte + len(line.data)] == line.data


def test_a_line_may_have_32_mib() -> None:
    piece = bytes(1 << 20)
    longest = [piece] * 32
    assert [type(each) for each in blocks([*longest, b"\n"])] == [Block]
    assert list(blocks([*longest, b"x\n"])) == [LongLine(1, 0, (32 << 20) + 1)]


LIMITS = st.sampled_from((1, 2, 5, 12))


@given(LIMITS.flatmap(lambda limit: st.tuples(lines_of(limit), st.just(limit))), st.integers(1, 9))
def test_long_lines_are_measured_and_the_rest_goes_on(case: tuple[bytes, int], size: int) -> None:
    data, limit = case
    split = data.split(b"\n")
    expected = split[:-1] + ([split[-1]] if split[-1] else [])
    found = list(lines(cut(data, size), limit))
    assert [line.length if isinstance(line, LongLine) else len(line.data) for line in found] == list(map(len, expected))
    assert [isinstance(line, LongLine) for line in found] == [len(line) > limit for line in expected]
    assert [line.line for line in found] == list(range(1, len(found) + 1))


@given(LIMITS.flatmap(lambda limit: st.tuples(texts() | lines_of(limit), st.just(limit))), st.integers(1, 50))
def test_blocks_hold_whole_lines(case: tuple[bytes, int], size: int) -> None:
    data, limit = case
    line = byte = 0
    found = list(blocks(cut(data, size), limit))
    for number, block in enumerate(found):
        assert (block.line, block.byte) == (line + 1, byte)
        here = data[byte:]
        if isinstance(block, Block):
            assert here.startswith(block.data)
            assert block.data.endswith(b"\n") or number == len(found) - 1
            assert all(len(each) <= limit for each in block.data.split(b"\n"))
            line, byte = line + block.data.count(b"\n"), byte + len(block.data)
        else:
            assert block.length == len(here.partition(b"\n")[0]) > limit
            line, byte = line + 1, byte + block.length + 1
    assert byte in {len(data), len(data) + 1}


@given(st.lists(st.sampled_from([b"\n", b"x\n", b"xy\n", b"\r\n"]), max_size=12), st.sampled_from([b"", b"x", b"xy"]))
def test_runs_are_equal_lines(pieces: list[bytes], rest: bytes) -> None:
    block = Block(b"".join(pieces) + rest, 7, 100)
    found = list(runs(block))
    assert [run.data for run in found for _ in range(run.count)] == [piece[:-1] for piece in pieces] + [rest] * bool(
        rest
    )
    assert all(one.data != other.data for one, other in pairwise(found))
    line, byte = 7, 100
    for run in found:
        assert (run.line, run.byte) == (line, byte)
        line, byte = line + run.count, byte + run.count * (len(run.data) + 1)


@pytest.mark.parametrize("line", [b"caf\xe9", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"ab\xe2\x82"])
def test_utf8_faults(line: bytes) -> None:
    fault = utf8_fault(line)
    assert fault is not None
    assert line[: fault.column - 1].decode() == line[: fault.column - 1].decode("utf-8", "ignore")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"  ",
        b"\xef\xbb\xbf{}",
        b"{} {}",
        b'{"a": NaN}',
        b"[Infinity]",
        b'["\\ud800"]',
        b'["\x01"]',
        b'{"a": 1',
        b"[" * 100_000,
        b"{'a': 1}",
        b"[01]",
    ],
)
def test_what_is_no_json_line(line: bytes) -> None:
    with pytest.raises(JsonFault):
        strict_json(line)


def test_duplicate_names_are_told() -> None:
    assert strict_json(b'{"a": 1, "b": {"c": 1, "c": 2}, "a": 2}').duplicate_keys == ("c", "a")
    assert strict_json(b'["\\ud83d\\ude00", 1e2, -0]').value == ["\U0001f600", 100.0, 0]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_json_lines_come_back(value: object) -> None:
    line = json_line(value)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert strict_json(line[:-1]).value == value


def test_integers_beyond_64_bits_are_written_out() -> None:
    assert json_line({"n": 2**70, "é": -(2**70)}) == f'{{"n":{2**70},"é":{-(2**70)}}}\n'.encode()


def test_a_million_values_are_the_most() -> None:
    assert len(parsed_json("[" + "0," * 999_998 + "0]").value) == 999_999
    with pytest.raises(DepthFault, match="more than 1,000,000 values"):
        parsed_json("[" + "0," * 1_000_000 + "0]")


UNTERMINATED = b"a\nb"
COMPRESSED: dict[Codec, bytes] = {
    "gzip": gzip.compress(UNTERMINATED, mtime=0),
    "zstd": zstd.compress(UNTERMINATED),
    "bzip2": bz2.compress(UNTERMINATED),
    "xz": lzma.compress(UNTERMINATED),
}


@pytest.mark.parametrize("behind", ["padding", "trailing"])
@pytest.mark.parametrize("codec", COMPRESSED)
def test_the_last_line_is_whole_whatever_follows_the_stream(codec: Codec, behind: str) -> None:
    stream = COMPRESSED[codec] + (bytes(3) if behind == "padding" else b"rest")
    found: list[Line | LongLine] = []
    with pytest.raises(StreamFault) as fault:
        found.extend(lines(Chunks(io.BytesIO(stream), codec)))
    assert fault.value.kind == behind
    assert found == [Line(b"a", 1, 0), Line(b"b", 2, 2, terminated=False)]


def test_a_stream_that_breaks_off_has_no_last_line() -> None:
    found: list[Line | LongLine] = []
    with pytest.raises(StreamFault):
        found.extend(lines(Chunks(io.BytesIO(COMPRESSED["gzip"][:-4]), "gzip")))
    assert found in ([], [Line(b"a", 1, 0)])


@pytest.mark.parametrize("whole", [b"", b"a\n"])
def test_a_line_in_which_a_stream_breaks_off_may_be_too_long(whole: bytes) -> None:
    data = whole + random.Random(1).randbytes(20_000).replace(b"\n", b"")
    found: list[Line | LongLine] = []
    with pytest.raises(StreamFault):
        found.extend(lines(Chunks(io.BytesIO(gzip.compress(data)[:-100]), "gzip"), 5_000))
    assert [type(each) for each in found] == [Line] * bool(whole) + [LongLine]
