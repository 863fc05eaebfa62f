"""Compressed streams are read to their end, in bounded pieces, for any content."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import pickle
import random
import signal
import struct
import threading
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import damaged, examples
from support import zstd

from corpusfmt.io import streams
from corpusfmt.io.compress import (
    COMPRESSION,
    CompressionName,
    GzipWriter,
    compression_named,
    compressor_of,
    scratch_member,
)
from corpusfmt.io.containers import Container, ContainerWriter
from corpusfmt.io.limits import UNLIMITED, LimitReached, Limits, limited
from corpusfmt.io.streams import (
    MAX_OUTPUT,
    Chunks,
    Codec,
    DigestReader,
    StreamFault,
    codec_of_content,
    codec_of_name,
)

TEXT = b"hello, world\n" * 5000
GZIP = gzip.compress(TEXT, mtime=0)
ZSTD = zstd.compress(TEXT, options={zstd.CompressionParameter.checksum_flag: 1})


def read(data: bytes, codec: Codec) -> bytes:
    return b"".join(Chunks(io.BytesIO(data), codec))


def fault_of(data: bytes, codec: Codec) -> StreamFault:
    with pytest.raises(StreamFault) as caught:
        read(data, codec)
    return caught.value


@pytest.mark.parametrize(("data", "codec"), [(TEXT, "plain"), (GZIP, "gzip"), (ZSTD, "zstd")])
def test_whole_streams(data: bytes, codec: Codec) -> None:
    assert read(data, codec) == TEXT


@pytest.mark.parametrize(("data", "codec"), [(GZIP, "gzip"), (ZSTD, "zstd")])
def test_members_are_joined_and_counted(data: bytes, codec: Codec) -> None:
    chunks = Chunks(io.BytesIO(data * 3), codec)
    assert b"".join(chunks) == TEXT * 3
    assert (chunks.members, chunks.bytes) == (3, len(TEXT) * 3)


@pytest.mark.parametrize(("data", "codec"), [(GZIP, "gzip"), (ZSTD, "zstd")])
def test_every_cut_is_noticed(data: bytes, codec: Codec) -> None:
    for length in range(len(data)):
        fault = fault_of(data[:length], codec)
        assert fault.kind == "corrupt"
        assert fault.offset <= length


@pytest.mark.parametrize(("data", "codec"), [(GZIP, "gzip"), (ZSTD, "zstd")])
def test_bytes_after_the_end(data: bytes, codec: Codec) -> None:
    padding, rest = fault_of(data + bytes(600), codec), fault_of(data + b"more", codec)
    assert (padding.kind, padding.offset, padding.readable) == ("padding", len(data), len(TEXT))
    assert (rest.kind, rest.offset, rest.readable) == ("trailing", len(data), len(TEXT))
    for byte in range(1, 256):
        if byte != data[0]:  # which another member would begin with
            assert fault_of(data + bytes([byte, 0, 0]), codec).kind == "trailing"


def test_wrong_checksum_and_size_are_noticed() -> None:
    assert fault_of(GZIP[:-8] + b"\1\2\3\4" + GZIP[-4:], "gzip").kind == "corrupt"
    assert fault_of(GZIP[:-4] + b"\1\2\3\4", "gzip").kind == "corrupt"
    assert fault_of(ZSTD[:-4] + b"\1\2\3\4", "zstd").kind == "corrupt"


def test_another_format_under_the_name_is_named() -> None:
    assert "zstd" in fault_of(ZSTD, "gzip").reason
    assert "gzip" in fault_of(GZIP, "zstd").reason
    assert fault_of(b"", "gzip").reason == "a 0-byte file is not a gzip stream"


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_bomb_comes_in_bounded_pieces(codec: Codec) -> None:
    size = 40 * MAX_OUTPUT
    data = gzip.compress(bytes(size), 9) if codec == "gzip" else zstd.compress(bytes(size))
    assert len(data) < size / 100
    pieces = [len(chunk) for chunk in Chunks(io.BytesIO(data), codec)]
    assert sum(pieces) == size
    assert max(pieces) <= MAX_OUTPUT


def test_a_bomb_that_is_cut_at_the_end_of_a_piece_is_read_as_far_as_it_goes() -> None:
    data = gzip.compress(bytes(2 * MAX_OUTPUT), 9)
    middle = len(data) // 2
    for end in range(middle - 20, middle + 20):
        held = len(zlib.decompressobj(31).decompress(data[:end]))
        fault = fault_of(data[:end], "gzip")
        assert (fault.truncated, fault.readable) == (True, held)


@given(damaged(GZIP, ZSTD, GZIP * 2, ZSTD * 2) | st.binary(max_size=2000), st.sampled_from(["gzip", "zstd"]))
def test_no_bytes_crash_us(data: bytes, codec: Codec) -> None:
    with contextlib.suppress(StreamFault):
        read(data, codec)


@dataclass
class Trickle:
    """Gives at most so many bytes at a time, as a pipe may."""

    data: io.BytesIO
    most: int

    def read(self, size: int = -1, /) -> bytes:
        return self.data.read(min(self.most, size))


INCOMPRESSIBLE = random.Random(1).randbytes(140_000)
# About where the pieces end that a decoder is given: members may end there, before or after.
EDGES = [0, 8192, 8192 + 16384, 8192 + 16384 + 32768, 65536, 131072]


def member_of(data: bytes, codec: Codec) -> bytes:
    return gzip.compress(data, 0) if codec == "gzip" else zstd.compress(data)


@examples(60)
@given(
    st.sampled_from(["gzip", "zstd"]),
    st.lists(st.tuples(st.sampled_from(EDGES), st.integers(-40, 20)), min_size=1, max_size=5),
    st.sampled_from([3, 1021, 8192, 65536]),
    st.sampled_from(["end", "cut", "zeros", "other"]),
    st.integers(1, 12),
)
def test_members_of_any_size_in_reads_of_any_size(
    codec: Codec, sizes: list[tuple[int, int]], most: int, ending: str, count: int
) -> None:
    texts = [INCOMPRESSIBLE[: max(0, edge + more)] for edge, more in sizes]
    members = [member_of(text, codec) for text in texts]
    if codec == "zstd":  # a frame to be passed over
        members.insert(count % len(members), b"\x53\x2a\x4d\x18" + struct.pack("<I", count) + bytes(count))
    whole = b"".join(members)
    data = {
        "end": whole,
        "cut": whole[: -min(count, len(members[-1]) - 4)],
        "zeros": whole + bytes(count),
        "other": whole + b"other"[:count],
    }[ending]
    chunks = Chunks(Trickle(io.BytesIO(data), most), codec)
    found: list[bytes] = []
    fault = None
    try:
        found.extend(chunks)
    except StreamFault as caught:
        fault = caught
    expected = {
        "end": None,
        "cut": ("corrupt", len(data), True),
        "zeros": ("padding", len(whole), False),
        "other": ("trailing", len(whole), False),
    }[ending]
    assert (fault and (fault.kind, fault.offset, fault.truncated)) == expected
    assert fault is None or fault.readable == sum(map(len, found))
    text = b"".join(texts)
    assert text.startswith(b"".join(found))
    assert ending == "cut" or b"".join(found) == text
    assert chunks.members == len(members)


def test_the_standard_library_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    data = gzip.compress(INCOMPRESSIBLE * 20) + gzip.compress(TEXT)
    fast = read(data, "gzip")
    monkeypatch.setitem(streams._FRAMINGS, "gzip", streams._GZIP)
    assert read(data, "gzip") == fast == INCOMPRESSIBLE * 20 + TEXT
    assert fault_of(data[:-1], "gzip").truncated
    assert "Error -3 while decompressing data" in fault_of(b"\x1f\x8b" + bytes(20), "gzip").reason


def test_digest_of_what_passes() -> None:
    reader = DigestReader(io.BytesIO(GZIP))
    assert b"".join(Chunks(reader, "gzip")) == TEXT
    again = DigestReader(io.BytesIO(GZIP))
    again.drain()
    assert (reader.size, reader.sha256) == (again.size, again.sha256) == (len(GZIP), again.sha256)


@pytest.mark.parametrize(
    ("name", "codec"), [("a.txt", "plain"), ("a.jsonl.gz", "gzip"), ("a.zst", "zstd"), ("gz", "plain")]
)
def test_codec_of_name(name: str, codec: Codec) -> None:
    assert codec_of_name(name) == codec


def test_codec_of_content() -> None:
    assert [codec_of_content(data) for data in (TEXT, GZIP, ZSTD, b"")] == ["plain", "gzip", "zstd", "plain"]


MIB = 1 << 20


@pytest.mark.parametrize(
    ("header", "window"),
    [
        ([0x00, 18 << 3], 256 * MIB),
        ([0x00, 17 << 3 | 1], 144 * MIB),
        ([0x00, 17 << 3 | 7], 240 * MIB),
        ([0x00, 31 << 3], 1 << 41),
        ([0xE0, *(1 << 40).to_bytes(8, "little")], 1 << 40),
        ([0xA0, *(256 * MIB).to_bytes(4, "little")], 256 * MIB),
        ([0xA2, 7, 7, *(256 * MIB).to_bytes(4, "little")], 256 * MIB),
    ],
)
def test_a_window_that_there_is_no_memory_for_is_refused_with_its_size(header: list[int], window: int) -> None:
    fault = fault_of(ZSTD[:4] + bytes(header) + bytes(20), "zstd")
    assert fault.reason == f"zstd frame 1 needs a window of {window:,} bytes, which does not fit into memory"


@pytest.mark.parametrize("header", [[0x00, 17 << 3], [0x80, 0, *(64 * MIB).to_bytes(4, "little")]])
def test_a_window_that_there_is_memory_for_is_not_refused(header: list[int]) -> None:
    assert "needs a window" not in fault_of(ZSTD[:4] + bytes(header) + b"\xff" * 20, "zstd").reason


@pytest.mark.parametrize(("length", "fits"), [(1 << 20, True), ((1 << 20) + (1 << 17), False)])
def test_a_header_of_a_megabyte_is_read(length: int, fits: bool) -> None:
    plain = gzip.compress(b"text", mtime=0)
    data = plain[:3] + b"\x08" + plain[4:10] + b"n" * (length - 11) + b"\0" + plain[10:]  # RFC 1952: FNAME
    if fits:
        assert read(data, "gzip") == b"text"
    else:
        assert fault_of(data, "gzip").reason == "gzip member 1 has a header of more than 1,048,576 bytes"


@pytest.mark.parametrize("name", get_args(CompressionName))
def test_compressors_are_what_they_are_called(name: CompressionName) -> None:
    library, _, level = name.partition("-")
    module = pytest.importorskip("isal.isal_zlib") if library == "isal" else zlib
    compressor = module.compressobj(int(level), module.DEFLATED, 31)
    file = io.BytesIO()
    writer = GzipWriter(file, compression_named(name))
    writer.write(TEXT)
    writer.finish()
    assert file.getvalue() == compressor.compress(TEXT) + compressor.flush()


def test_written_gzip_depends_on_its_content_alone() -> None:
    def written(pieces: list[bytes]) -> tuple[bytes, Any]:
        file = io.BytesIO()
        writer = GzipWriter(file)
        for piece in pieces:
            writer.write(piece)
        return file.getvalue(), writer.finish()

    whole = io.BytesIO()
    writer = GzipWriter(whole)
    writer.write(TEXT)
    facts = writer.finish()
    assert gzip.decompress(whole.getvalue()) == TEXT == gzip.decompress(scratch_member(TEXT))
    assert whole.getvalue()[4:8] == bytes(4)
    assert facts.size == len(whole.getvalue())
    assert written([TEXT[:7], TEXT[7:]])[1] == facts


def test_sections_of_a_container_begin_where_integers_do(tmp_path: Path) -> None:
    path = tmp_path / "container"
    sections = [bytes([64 + size]) * size for size in range(1, 20)]
    with path.open("wb") as file:
        writer = ContainerWriter(file)
        for number, section in enumerate(sections):
            writer.add("ab"[number % 2], section)
        writer.finish()
    data = path.read_bytes()
    assert {data.index(section) % 8 for section in sections} == {0}
    assert len(data) < 19 * (24 + 8 + 16) + 2 * 33 + 32
    with Container(path) as container:
        assert [bytes(each) for each in container.sections("a")] == sections[::2]
        assert [bytes(each) for each in container.sections("b")] == sections[1::2]
        assert list(container.sections("c")) == []


def test_output_is_compressed_in_blocks_of_a_quarter_of_a_megabyte() -> None:
    compressor = compressor_of(COMPRESSION)
    file, expected = io.BytesIO(), b""
    writer = GzipWriter(file)
    for number in range(3):
        block = (b"%d " % number + INCOMPRESSIBLE * 2)[: 256 * 1024]
        writer.write(block[:-1])
        assert file.getvalue() == expected
        writer.write(block[-1:])
        expected += compressor.compress(block)
        assert file.getvalue() == expected
    writer.finish()
    assert file.getvalue() == expected + compressor.flush()


def test_a_fault_crosses_processes_as_it_is() -> None:
    fault = StreamFault("corrupt", "cut", offset=5, readable=7, truncated=True)
    again = pickle.loads(pickle.dumps(fault))
    assert isinstance(again, StreamFault)
    assert (str(again), vars(again)) == (str(fault), vars(fault))


def taken(data: bytes, codec: Codec, limits: Limits, *, ahead: bool) -> tuple[object, ...]:
    """Return what is read of a stream, by a thread or not, what ended it, and what was accounted for."""
    chunks: list[bytes] = []
    end, others = "", set(threading.enumerate())
    with limited(limits) as meter:
        meter.may_read_ahead = True
        stream = Chunks(io.BytesIO(data), codec, "a", size=1 << 30 if ahead else 0)
        try:
            for chunk in stream:
                assert meter.may_read_ahead is not ahead
                chunks.append(chunk)
        except (StreamFault, LimitReached) as error:
            end = f"{error} {getattr(error, 'offset', None)} {getattr(error, 'readable', None)}"
        assert (meter.may_read_ahead, meter.waited > 0) == (True, ahead)
        assert set(threading.enumerate()) <= others
    return chunks, end, stream.members if "GEN003" not in end else 0, meter.stored, meter.read


LONG = INCOMPRESSIBLE * 50
MEMBERS = {
    "gzip": gzip.compress(LONG, 0) + GZIP * 40 + gzip.compress(bytes(3 * MAX_OUTPUT)),
    "zstd": zstd.compress(LONG, 1) + ZSTD * 40 + b"\x53\x2a\x4d\x18\0\0\0\0" * 20_000 + zstd.compress(LONG),
}


@examples(40)
@given(st.sampled_from(["gzip", "zstd"]).flatmap(lambda codec: st.tuples(st.just(codec), damaged(MEMBERS[codec]))))
def test_a_thread_that_reads_ahead_changes_nothing(given_: tuple[Codec, bytes]) -> None:
    codec, data = given_
    assert taken(data, codec, UNLIMITED, ahead=True) == taken(data, codec, UNLIMITED, ahead=False)


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
@pytest.mark.parametrize("total_bytes", [0, 1, len(LONG) // 2, len(LONG) + 1])
def test_a_limit_is_reached_at_the_same_byte_ahead_of_which_a_thread_reads(codec: Codec, total_bytes: int) -> None:
    limits = Limits(total_bytes=total_bytes)
    found = taken(MEMBERS[codec], codec, limits, ahead=True)
    assert found == taken(MEMBERS[codec], codec, limits, ahead=False)
    assert "more than" in str(found[1])


def test_a_thread_that_reads_ahead_ends_with_who_reads() -> None:
    others = set(threading.enumerate())
    with limited(UNLIMITED) as meter:
        meter.may_read_ahead = True
        chunks = iter(Chunks(io.BytesIO(MEMBERS["gzip"]), "gzip", size=1 << 30))
        next(chunks)
        assert len(set(threading.enumerate()) - others) == 1
        del chunks
        assert set(threading.enumerate()) <= others
        assert meter.may_read_ahead


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_signal_ends_a_run_whose_thread_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hanging(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell():
                hangs.set()
                goes_on.wait()
            return super().read(size)

    def told(*_: object) -> None:
        raise InterruptedError

    def tell() -> None:
        hangs.wait()
        os.kill(os.getpid(), signal.SIGUSR1)

    hangs, goes_on = threading.Event(), threading.Event()
    monkeypatch.setattr("corpusfmt.io.streams._MOST_SECONDS_TO_END", 0.1)
    before = signal.signal(signal.SIGUSR1, told)
    others = set(threading.enumerate())
    teller = threading.Thread(target=tell)
    teller.start()
    with limited(UNLIMITED) as meter:
        meter.may_read_ahead = True
        with pytest.raises(InterruptedError):
            list(Chunks(Hanging(MEMBERS["gzip"]), "gzip", size=1 << 30))
    signal.signal(signal.SIGUSR1, before)
    teller.join()
    (hanging,) = set(threading.enumerate()) - others
    goes_on.set()
    hanging.join()
