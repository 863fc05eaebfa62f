"""Internal: The end of a text: its last line if that does not end with LF, and the same file with one."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO

from corpusfmt.io.compress import GzipWriter
from corpusfmt.io.lines import MAX_LINE_BYTES
from corpusfmt.io.paths import Entry
from corpusfmt.io.streams import READ_SIZE, Chunks, Codec, StreamFault, codec_of_name

# LF alone: a gzip member without time or name (RFC 1952), and a zstd frame (RFC 8878).
_LF: dict[Codec, bytes] = {
    "plain": b"\n",
    "gzip": bytes.fromhex("1f8b0800000000000003 e30200 9306d732 01000000"),
    "zstd": bytes.fromhex("28b52ffd 2001 090000 0a"),
}


def open_line(entry: Entry) -> bytes:
    """Return the last line of a text, plain or in gzip or zstd, if it does not end with LF and the text is whole.

    Of a line that is too long to be read, only the end is returned.
    """
    if codec_of_name(entry.name) not in _LF:
        return b""
    parts: list[bytes] = []
    held = 0
    try:
        with entry.open() as file:
            for chunk in Chunks(file, codec_of_name(entry.name), entry.path):
                _, ended, rest = chunk.rpartition(b"\n")
                if ended or held > MAX_LINE_BYTES:
                    parts.clear()
                    held = 0
                parts.append(rest)
                held += len(rest)
    except (OSError, StreamFault):
        return b""
    return b"".join(parts)


def with_newline(entry: Entry) -> Iterator[bytes]:
    """Yield the bytes of a file as they are, and then LF, in a member or frame of its own if it is compressed."""
    with entry.open() as file:
        yield from iter(lambda: file.read(READ_SIZE), b"")
    yield _LF[codec_of_name(entry.name)]


def compressed_with_newline(entry: Entry) -> Iterator[bytes]:
    """Yield the content of a gzip file and LF, compressed again as one member."""
    out = BytesIO()
    writer = GzipWriter(out)
    with entry.open() as file:
        for chunk in Chunks(file, "gzip", entry.path):
            writer.write(chunk)
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    writer.write(b"\n")
    writer.finish()
    yield out.getvalue()
