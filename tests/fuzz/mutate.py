"""Damage and distortion: of bytes, inside compressed streams and archives, of JSON trees, of lines, and of folders.

Every choice is drawn from the generator that is passed in; the order of a set or the state of the machine has no part in it.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from fuzz.jsontext import Literally, Members, copied, encode, parse, places
from fuzz.seeds import Seed
from fuzz.trees import Special, Tree
from support import zstd

#: Occurs in everything outside the input, and so in no output.
CANARY = "canary-3f9a1c"

_GZIP, _ZSTD, _ZIP, _PARQUET = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"PAR1"
# A case is about structure, not about size.
_MOST_BYTES = 400_000
_MOST_PLACES = 3000

ODD_TEXTS = (
    "",
    " ",
    "\0",
    "\ud800",
    "\udfff\ud800",
    "\u202e",
    "\u2028",
    "\x85",
    "\x1b[31m",
    "\x7f",
    "\ufeff",
    "\ufffe\uffff",
    "a\nb",
    "a\r\nb",
    "a\tb",
    "\n::error::x",
    "\nVALID: 0 errors, 0 warnings",
    "x" * 201,
    "x" * 5000,
    "é",
    "e\u0301",
    "İ",
    "\U0001f600",
    "../outside/secret.csv",
    "..",
    ".",
    "/",
    "//",
    "/etc/hostname",
    "file:///etc/hostname",
    "http://127.0.0.1:9/x",
    "s3://bucket/x",
    "-",
    "--config=c",
    "%00",
    "%2e%2e%2f",
    "a#b?c%d",
    "a|b",
    "`",
    "<script>",
    "]]>",
    "&amp;",
    "{",
    "[",
    "(",
    "(a+)+$",
    "(?P<a>",
    "\\",
    "\\1",
    "**/*",
    "**/**/**/*",
    "*",
    "[!",
    "{a,b}",
    "$",
    "$..*",
    "$.a[*]",
    "$[?(@.a)]",
    "$['a",
    "@",
    "@id",
    "null",
    "true",
    "NaN",
    "0",
    "-1",
    "1e999",
    "9" * 400,
    "1_000",
    "٣",
    "2024-02-30",
    "2016-12-31T23:59:60Z",
    "0000-00-00",
    "99999-01-01",
    "2024-01-01T00:00:00+99:99",
    "20240101",
    "https://schema.org/",
    "http://mlcommons.org/croissant/1.1",
    "http://mlcommons.org/croissant/0.8",
    "sc:Integer",
    "cr:Split",
    "application/zip",
    "text/csv",
    "application/x-parquet",
    "zh-Hant-TW-x-private",
)

NUMBERS = (
    "0",
    "-0",
    "-0.0",
    "1",
    "-1",
    "0.5",
    "1.0",
    "1e0",
    "127",
    "128",
    "255",
    "256",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "1e308",
    "1e309",
    "-1e999",
    "1e-999",
    "0.1234567890123456789",
    "9" * 309,
    "-" + "9" * 400,
    "9" * 4301,
    "1" + "0" * 20000,
    "NaN",
    "-Infinity",
    "01",
    "+1",
    "1.",
    "0x10",
)

_KEYWORDS = (
    "@context",
    "@id",
    "@type",
    "@value",
    "@list",
    "@set",
    "@graph",
    "@reverse",
    "@included",
    "@language",
    "@direction",
    "@index",
    "@nest",
    "@none",
    "@base",
    "@vocab",
    "@container",
    "@import",
    "@propagate",
    "@protected",
    "@version",
    "@json",
)

_ODD_NAMES = (
    "x\ny",
    "x\n::error::y",
    "VALID: 0 errors",
    "\x1b[2J",
    "\x85",
    "\u202egz.txt",
    "\u2028",
    "\udcff\udcfe",
    "é",
    "e\u0301",
    " ",
    " a",
    "-",
    "--config=c",
    "a|b",
    "a`b",
    "<b>",
    "a#b?c%20 d",
    "%2e%2e",
    "...",
    ".hidden",
    ".corpusfmt",
    ".corpusfmt-x.partial",
    "~",
    "CON",
    "x" * 255,
    "_sha256.txt",
    "README.md",
    "LICENSE",
    "MANIFEST.json",
    "croissant.json",
    "stats.json",
    "metadata.json",
    "documents",
    "attributes",
    "a.jsonl.gz.tmp",
    "a.json",
    "a.jsonl.zst",
    "a.parquet",
    "a.csv",
    "a.zip",
    "de.txt",
    "de_part_1.txt.gz",
    "de_part_01.txt.gz",
    "de_part_99999999999999999999.txt.gz",
    "de_meta.jsonl.gz",
    "a.warc.wet.gz",
    "a.paths",
)

_BYTES = (
    b"\0",
    b"\xff",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\n\n\n",
    b"\r\n\r\n",
    b"\x80",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"\x1b[0m",
    b"\x7f",
    b'"',
    b"\\",
    b"\\u",
    b"\\ud800",
    b"\\u0000",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"{}",
    b"[]",
    b"null",
    b"\x1f\x8b\x08\x00",
    b"\x28\xb5\x2f\xfd",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"PAR1",
    b"\x00" * 512,
    b"\xff" * 8,
    b"\x7f\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"WARC/1.0\r\n",
    b"WARC/1.1\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    b"Content-Length: -1\r\n",
    b"WARC-Type: conversion\r\n",
    b"../",
    b"@id",
    b"<!doctype html>",
    b'<script type="application/ld+json">',
)


@dataclass(frozen=True)
class Pool:
    """What other seeds give to splices: their trees, and the names and values of their JSON."""

    seeds: Sequence[Seed]
    documents: Sequence[bytes]
    names: Sequence[str]


def pool_of(seeds: Sequence[Seed]) -> Pool:
    """Gather what mutations may take from other seeds."""
    documents = [
        data for seed in seeds for data in seed.tree.values() if isinstance(data, bytes) and data[:1] in {b"{", b"["}
    ]
    names: dict[str, None] = {}
    for document in documents:
        for line in (document, *document.split(b"\n")[:3]):
            try:
                value = parse(line)
            except (ValueError, RecursionError):
                continue
            for holder in [value, *(place.value for place in places(value))]:
                if isinstance(holder, Members):
                    names.update(dict.fromkeys(name for name, _ in holder))
    return Pool(seeds, documents, sorted(names, key=repr))


def mutate(rng: random.Random, tree: Tree, pool: Pool) -> Tree:
    """Return the tree with one thing changed."""
    files = [path for path, content in tree.items() if isinstance(content, bytes)]
    if not files or rng.random() < 0.15:
        return _files(rng, tree, pool)
    path = rng.choice(files)
    content = tree[path]
    assert isinstance(content, bytes)
    return tree | {path: _content(rng, content, pool)[:_MOST_BYTES]}


# Content -------------------------------------------------------------------------------------------------------------


def _content(rng: random.Random, data: bytes, pool: Pool, depth: int = 0) -> bytes:
    """Change a file by what it is: below its compression, by its structure, or its bytes."""
    if depth < 4 and rng.random() < 0.85:
        try:
            changed = _structured(rng, data, pool, depth)
        except (ValueError, OSError, EOFError, KeyError, IndexError, NotImplementedError, RecursionError, _NotRead):
            changed = None
        if changed is not None:
            return changed
    return _bytes(rng, data, pool)


class _NotRead(Exception):
    """A container that is damaged already: its bytes are all there is to change."""


def _structured(rng: random.Random, data: bytes, pool: Pool, depth: int) -> bytes | None:
    head = data.lstrip()[:1]
    if data.startswith(_GZIP):
        return _compressed(rng, _gunzipped(data), pool, depth, gzip_members)
    if data.startswith(_ZSTD):
        return _compressed(rng, _unzstd(data), pool, depth, zstd_frames)
    if data.startswith(_ZIP):
        return _archive(rng, _members_of_zip(data), pool, depth, _as_zip)
    if data[257:262] == b"ustar":
        return _archive(rng, _members_of_tar(data), pool, depth, _as_tar)
    if data.startswith(_PARQUET):
        return _footer(rng, data) if rng.random() < 0.4 else _table(rng, data, pool)
    if head in {b"{", b"["} and b"\n{" not in data.rstrip():
        return _json(rng, data, pool)
    if b"\n" in data:
        return _lines(rng, data, pool)
    return None


def _gunzipped(data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except zlib.error:
        raise _NotRead from None


def _unzstd(data: bytes) -> bytes:
    try:
        return bytes(zstd.decompress(data))
    except zstd.ZstdError:
        raise _NotRead from None


def _compressed(
    rng: random.Random, inner: bytes, pool: Pool, depth: int, pack: Callable[[random.Random, bytes], bytes]
) -> bytes:
    return pack(rng, _content(rng, inner, pool, depth + 1)[:_MOST_BYTES])


def gzip_members(rng: random.Random, data: bytes) -> bytes:
    """Compress in one member, or in several, some of them empty, stored or named."""
    if rng.random() < 0.7:
        return gzip.compress(data, mtime=0)
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(1, 5)))
    pieces = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    return b"".join(_gzip_member(rng, piece) for piece in pieces)


def _gzip_member(rng: random.Random, data: bytes) -> bytes:
    member = gzip.compress(data, compresslevel=rng.choice([0, 1, 9]), mtime=rng.choice([0, 2**32 - 1]))
    fields = rng.choice([(0, b""), (8, b"name\0"), (4, b"\3\0abc"), (16, b"note\0"), (2, b"\0\0"), (0xE0, b"")])
    return member[:3] + bytes([fields[0]]) + member[4:10] + fields[1] + member[10:]


def zstd_frames(rng: random.Random, data: bytes) -> bytes:
    """Compress in one frame, or in two with one between them that readers must skip."""
    if rng.random() < 0.7:
        return bytes(zstd.compress(data))
    cut = rng.randrange(len(data) + 1)
    skipped = bytes([rng.choice([0x50, 0x5F])]) + b"\x2a\x4d\x18\x03\x00\x00\x00abc"
    return bytes(zstd.compress(data[:cut])) + skipped + bytes(zstd.compress(data[cut:]))


_Archived = list[tuple[str, bytes]]


def _members_of_zip(data: bytes) -> _Archived:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return [(info.filename, archive.read(info)) for info in archive.infolist()]
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError):
        raise _NotRead from None


def _members_of_tar(data: bytes) -> _Archived:
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            files = [(info.name, archive.extractfile(info)) for info in archive if info.isreg()]
            return [(name, file.read() if file else b"") for name, file in files]
    except tarfile.TarError:
        raise _NotRead from None


def _archive(
    rng: random.Random,
    members: _Archived,
    pool: Pool,
    depth: int,
    pack: Callable[[random.Random, _Archived], bytes],
) -> bytes:
    if not members:
        raise _NotRead
    index = rng.randrange(len(members))
    name, content = members[index]
    change = rng.randrange(6)
    if change <= 2:
        members[index] = (name, _content(rng, content, pool, depth + 1)[:_MOST_BYTES])
    elif change == 3:
        members[index] = (_text(rng, name), content)
    elif change == 4:
        members.insert(index, (rng.choice([name, "../out.txt", "/abs.txt", "a/../b.txt", "d/"]), content))
    else:
        del members[index]
    return pack(rng, members)


def _as_zip(rng: random.Random, members: _Archived) -> bytes:
    methods = [zipfile.ZIP_DEFLATED] * 5 + [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2]
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name.encode("utf-8", "replace").decode() or "a")
            if rng.random() < 0.05:
                info.external_attr = 0o120777 << 16
            archive.NameToInfo.clear()  # of a name that comes twice zipfile would warn
            archive.writestr(info, data, rng.choice(methods))
    return sink.getvalue()


def _as_tar(rng: random.Random, members: _Archived) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=rng.choice([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            if rng.random() < 0.08:
                info.type = rng.choice([tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE])
                info.linkname = rng.choice(["../outside/secret.csv", name, "/etc/hostname"])
                archive.addfile(info)
            else:
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    data = sink.getvalue()
    return rng.choice([data, data, data, bz2.compress(data), lzma.compress(data), gzip.compress(data, mtime=0)])


def _table(rng: random.Random, data: bytes, pool: Pool) -> bytes:
    """Write the rows of a Parquet file anew, some of them changed, in another of the ways there are to write them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(io.BytesIO(data), use_threads=False).to_pylist()
        for _ in range(rng.randrange(3)):
            row = rng.choice(rows)
            row[rng.choice(list(row))] = rng.choice(
                [None, "", "x\ny", "x" * 300, 0, 2**63 - 1, 1.5, float("nan"), b"\xff", [], [None], {"a": None}, True]
            )
        if rows and rng.random() < 0.2:
            rows = rng.choice([[], rows * 3, [{**row, rng.choice(pool.names): 1} for row in rows]])
        table = pa.Table.from_pylist(rows)
        sink = io.BytesIO()
        pq.write_table(
            table,
            sink,
            row_group_size=rng.choice([1, 2, 1000]),
            compression=rng.choice(["snappy", "zstd", "gzip", "none"]),
            use_dictionary=rng.random() < 0.5,
            version=rng.choice(["1.0", "2.4", "2.6"]),
            write_statistics=rng.random() < 0.5,
        )
    except (pa.ArrowException, TypeError):
        raise _NotRead from None
    return sink.getvalue()


def _footer(rng: random.Random, data: bytes) -> bytes:
    """Change bytes of the Thrift footer of a Parquet file, or repeat or leave out some of it; its length is made to fit."""
    size = int.from_bytes(data[-8:-4], "little")
    if not 0 < size <= len(data) - 12:
        raise _NotRead
    footer = bytearray(data[-8 - size : -8])
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(footer))
        end = min(at + rng.choice([1, 2, 8, 64]), len(footer))
        kind = rng.randrange(4)
        if kind == 0:
            footer[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, footer[at] ^ 1 << rng.randrange(8)])
        elif kind == 1:  # a number or length of many bytes
            footer[at : at + 1] = b"\xff" * rng.choice([1, 3, 4, 8]) + b"\x07"
        elif kind == 2:
            footer[at:at] = footer[at:end] * rng.choice([1, 2, 500])
        elif end - at < len(footer):
            del footer[at:end]
    return data[: -8 - size] + bytes(footer) + len(footer).to_bytes(4, "little") + data[-4:]


# JSON ----------------------------------------------------------------------------------------------------------------


def _json(rng: random.Random, data: bytes, pool: Pool) -> bytes:
    whole = [parse(data)]
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        _change(rng, whole, pool)
    return encode(whole[0], ascii_only=rng.random() < 0.3, blank=rng.choice(["", " ", "\n", "\r\n\t"]))


def _change(rng: random.Random, whole: list[Any], pool: Pool) -> None:
    """Change one value inside `whole[0]`."""
    found = list(islice(places(whole), _MOST_PLACES))
    place = rng.choice(found)
    kind = rng.randrange(14)
    value = place.value
    holder = place.holder
    if kind <= 1:
        place.value = _value(rng, pool)
    elif kind == 2 and holder is not whole:
        del holder[place.index]
    elif kind == 3 and isinstance(holder, Members):
        holder.insert(
            rng.randrange(len(holder) + 1), (holder[place.index][0], rng.choice([copied(value), _value(rng, pool)]))
        )
    elif kind == 4 and isinstance(holder, Members):
        holder[place.index] = (_name(rng, pool), value)
    elif kind == 5:
        inside = [each for each in found if isinstance(each.value, list)]
        target = rng.choice(inside).value if inside else []
        new = rng.choice([value, _value(rng, pool)])
        target.append((_name(rng, pool), copied(new)) if isinstance(target, Members) else copied(new))
    elif kind == 6:
        other = rng.choice(found)
        place.value, other.value = copied(other.value), copied(value)
    elif kind in {7, 8}:
        donor = list(islice(places([parse(rng.choice(pool.documents))]), _MOST_PLACES))
        place.value = copied(rng.choice(donor).value)
    elif kind == 9:
        place.value = rng.choice(
            [
                [value],
                [value, copied(value)],
                Members([(rng.choice(["@list", "@set", "@value", "@id", "@graph", "@reverse"]), value)]),
                Members([(_name(rng, pool), value)]),
            ]
        )
    elif kind == 10 and isinstance(value, list) and value:
        inner = rng.choice(value)
        place.value = inner[1] if isinstance(value, Members) else inner
    elif kind == 11:
        # Deeper than any limit, or about as deep as most of them.
        text = rng.choice(["[", '{"a":', '{"@graph":[', '{"recordSet":{"field":'])
        depth = rng.choice([3, 60, 130, 300, 1100, 20_000])
        close = {"[": "]", '{"a":': "}", '{"@graph":[': "]}", '{"recordSet":{"field":': "}}"}[text]
        place.value = Literally(text * depth + "1" + close * depth)
    elif isinstance(value, str):
        names = [name for each in found if isinstance(each.value, Members) for name, _ in each.value]
        texts = [each.value for each in found if isinstance(each.value, str)]
        place.value = rng.choice([_text(rng, value), rng.choice(texts), rng.choice(names or [value])])
    else:
        _identify(rng, found)


def _identify(rng: random.Random, found: Sequence[Any]) -> None:
    """Give a node the name of another one, or point from one to another: rings, doubles, dangling references."""
    nodes = [each.value for each in found if isinstance(each.value, Members)]
    names = [inner for node in nodes for name, inner in node if name == "@id"] or ["a"]
    if nodes:
        node = rng.choice(nodes)
        name = copied(rng.choice(names))
        new = rng.choice(
            [("@id", name), ("source", Members([("@id", name)])), ("containedIn", Members([("@id", name)]))]
        )
        node[:] = [*(each for each in node if each[0] != new[0]), new]


def _value(rng: random.Random, pool: Pool) -> Any:
    kind = rng.randrange(6)
    if kind == 0:
        return Literally(rng.choice(NUMBERS))
    if kind <= 2:
        return rng.choice(ODD_TEXTS)
    if kind == 3:
        return rng.choice([None, True, False])
    if kind == 4:
        return rng.choice([[], Members(), [[]], [None], [Members()], Members([("", "")])])
    return Members([(rng.choice(_KEYWORDS), rng.choice([*ODD_TEXTS, None, True, [], Literally("1")]))])


def _name(rng: random.Random, pool: Pool) -> str:
    return rng.choice([rng.choice(pool.names), rng.choice(_KEYWORDS), rng.choice(ODD_TEXTS)])


def _text(rng: random.Random, text: str) -> str:
    kind = rng.randrange(6)
    at = rng.randrange(len(text) + 1)
    if kind == 0:
        return rng.choice(ODD_TEXTS)
    if kind == 1:
        return text[:at] + rng.choice(ODD_TEXTS) + text[at:]
    if kind == 2:
        return text[:at] + text[at + 1 :]
    if kind == 3:
        return text[:at]
    if kind == 4:
        return text.swapcase()
    return text[:at] + chr(rng.choice([rng.randrange(0x20), rng.randrange(0x80, 0x3000), 0x10FFFF])) + text[at:]


# Lines and bytes -----------------------------------------------------------------------------------------------------


def _lines(rng: random.Random, data: bytes, pool: Pool) -> bytes:
    lines = data.split(b"\n")
    index, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(12)
    if kind <= 5 and lines[index].lstrip()[:1] in {b"{", b"["}:
        lines[index] = _json(rng, lines[index], pool).replace(b"\n", b" ")
    elif kind == 6:
        lines.insert(other, lines[index])
    elif kind == 7:
        del lines[index]
    elif kind == 8:
        lines[index], lines[other] = lines[other], lines[index]
    elif kind == 9:
        lines[index] += rng.choice([b"\r", b" ", b"\n", b"\0", b"\n\n", b",", b"\t", b'"'])
    elif kind == 10:
        lines[index] = rng.choice(
            [b"", b" ", b"x" * rng.choice([100, 70_000]), rng.choice(ODD_TEXTS).encode("utf-8", "replace")]
        )
    else:
        separator = rng.choice([b",", b":", b" ", b"\t", b'"'])
        cells = lines[index].split(separator)
        at = rng.randrange(len(cells))
        odd = rng.choice([rng.choice(ODD_TEXTS), rng.choice(NUMBERS)]).encode("utf-8", "surrogatepass")
        cells[at] = rng.choice([odd, b"", cells[at] + odd, b'"' + cells[at], cells[rng.randrange(len(cells))]])
        lines[index] = separator.join(cells)
    return b"\n".join(lines)


def _bytes(rng: random.Random, data: bytes, pool: Pool) -> bytes:
    start = rng.randrange(len(data) + 1)
    end = min(len(data), start + rng.choice([1, 1, 2, 4, 16, 200]))
    kind = rng.randrange(9)
    if kind == 0 and data:
        at = min(start, len(data) - 1)
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    if kind == 1:
        return data[:start] + rng.randbytes(end - start) + data[end:]
    if kind == 2:
        return data[:start] + rng.choice(_BYTES) + data[start:]
    if kind == 3:
        return data[:start] + data[end:]
    if kind == 4:
        return data[:start]
    if kind == 5:
        return data[:start] + data[start:end] * rng.choice([2, 3, 50]) + data[end:]
    if kind == 6:
        other = [each for each in rng.choice(pool.seeds).tree.values() if isinstance(each, bytes)]
        donor = rng.choice(other) if other else b""
        at = rng.randrange(len(donor) + 1)
        return data[:start] + donor[at : at + rng.choice([10, 1000])] + data[rng.choice([start, end]) :]
    if kind == 7:
        return data + rng.choice([*_BYTES, data])
    new = rng.choice(_BYTES)
    return data[:start] + new + data[start + len(new) :]


# Folders -------------------------------------------------------------------------------------------------------------


def _files(rng: random.Random, tree: Tree, pool: Pool) -> Tree:
    paths = list(tree)
    path = rng.choice(paths) if paths else "a"
    if path == "":
        return tree | {"": _bytes(rng, b"", pool)}  # a single file: there is nothing to rearrange
    folder, _, name = path.rpartition("/")
    kind = rng.randrange(13)
    if kind == 0:
        return {
            (_beside(folder, _other_name(rng, name)) if each == path else each): data for each, data in tree.items()
        }
    if kind == 1:
        return {each: data for each, data in tree.items() if each != path}
    if kind == 2:
        return {each: data for each, data in tree.items() if not folder or not each.startswith(f"{folder}/")}
    if kind == 3:
        return tree | {_beside(folder, _other_name(rng, name)): tree.get(path, b"")}
    if kind == 4:
        return tree | {path: b""}
    if kind == 5:
        return tree | {_beside(folder, rng.choice(_ODD_NAMES)): Special("folder")}
    if kind == 6:
        donor = rng.choice(pool.seeds).tree
        below = rng.choice(["", folder, "documents", "de"])
        return tree | {_beside(below, each or "input.json"): data for each, data in donor.items() if len(donor) < 20}
    if kind == 7:
        return {
            each.replace(folder, rng.choice(_ODD_NAMES), 1) if folder else each: data for each, data in tree.items()
        }
    if kind == 8:
        link = Special("link", rng.choice(_link_targets(rng, tree, path)))
        at = rng.choice([path, _beside(folder, _other_name(rng, name)), folder or path])
        return {each: data for each, data in tree.items() if not each.startswith(f"{at}/")} | {at: link}
    if kind == 9:
        return tree | {rng.choice([path, _beside(folder, name + "2")]): Special("locked")}
    if kind == 10 and rng.random() < 0.2:
        return tree | {rng.choice([path, _beside(folder, name + "2")]): Special("pipe")}
    if kind == 11:
        depth = rng.choice([1, 2, 30, 30, 400])
        return tree | {_beside("/".join(["d"] * depth), name): tree.get(path, b"")}
    return tree | {_beside(folder, rng.choice(_ODD_NAMES)): rng.choice([b"", b"x\n", tree.get(path, b"")])}


def _beside(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _other_name(rng: random.Random, name: str) -> str:
    stem, dot, suffix = name.partition(".")
    return rng.choice(
        [
            rng.choice(_ODD_NAMES),
            _text(rng, name).replace("/", "-").replace("\0", "") or "a",
            f"{stem}_part_2{dot}{suffix}",
            f"{stem}{rng.choice(['.jsonl', '.json.gz', '.jsonl.zst', '.txt', '.txt.gz', '.parquet', '.csv', ''])}",
            f"{rng.choice(_ODD_NAMES)[:200]}{dot}{suffix}",
        ]
    )


def _link_targets(rng: random.Random, tree: Tree, path: str) -> list[str]:
    up = "../" * path.count("/")
    paths = list(tree) or ["a"]
    return [
        up + rng.choice(paths),
        up + rng.choice(paths),
        f"{up}../../outside/secret.csv",
        f"{up}../../outside",
        "nowhere",
        ".",
        "..",
        path.rpartition("/")[2],
        "/proc/self/environ",
        "/dev/null",
    ]
