"""Small inputs that expand: each maker writes some kilobytes that would need gigabytes."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import struct
import tarfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from croissant.documents import CONTEXT, document
from security.attacks import Attack, Outcome
from support import warc_record, wet_record, zstd

MIB = 1024 * 1024
#: More than a file of any size may expand to, and more than any process may take.
_MUCH = 272 * MIB
_PART = 16 * MIB
_LINE = 32 * MIB

_COMPRESSORS: Mapping[str, Callable[[], Any]] = {
    "gz": lambda: zlib.compressobj(1, wbits=31),
    "deflate": lambda: zlib.compressobj(1, wbits=-15),
    "bz2": lambda: bz2.BZ2Compressor(9),
    "xz": lambda: lzma.LZMACompressor(preset=0),
    "zst": lambda: zstd.ZstdCompressor(1),
}


def _compressed(kind: str, pieces: Iterable[bytes]) -> bytes:
    compressor = _COMPRESSORS[kind]()
    return b"".join([*map(compressor.compress, pieces), compressor.flush()])


def _times(piece: bytes, size: int) -> Iterable[bytes]:
    """Yield a piece over and over, so many bytes of it."""
    block = piece * max(MIB // len(piece), 1)
    return (block for _ in range(size // len(block)))


@cache
def _filled(kind: str, piece: bytes = b"\0", size: int = _MUCH) -> bytes:
    """Return much of a piece, compressed once in part and then repeated, as members of one stream."""
    return _compressed(kind, _times(piece, _PART)) * (size // _PART)


@cache
def _deflated() -> bytes:
    """Return `_MUCH` of zeros as one stream of blocks that are all alike."""
    compressor = zlib.compressobj(1, wbits=-15)
    block = compressor.compress(bytes(_PART)) + compressor.flush(zlib.Z_FULL_FLUSH)
    return block * (_MUCH // _PART) + compressor.flush()


# --- what must come of it ---


def _ends_with(rule: str, status: int, *, at: str | None = None) -> Callable[[Outcome], None]:
    def promise(outcome: Outcome) -> None:
        assert outcome.status == status, outcome.rules
        found = [each for each in outcome.report["findings"] if each["rule"] == rule]
        assert found, outcome.rules
        assert found[0]["hint"]
        assert at is None or at in {each["location"]["path"] for each in found}, found

    return promise


def _says(text: str, status: int) -> Callable[[Outcome], None]:
    def promise(outcome: Outcome) -> None:
        assert outcome.status == status, outcome.text
        assert text in outcome.text

    return promise


def _publishes_nothing(text: str) -> Callable[[Outcome], None]:
    def promise(outcome: Outcome) -> None:
        _says(text, 3)(outcome)
        out = outcome.folder / "out"
        left = [path.relative_to(out) for path in out.rglob("*") if path.is_file()] if out.is_dir() else []
        assert [path for path in left if path.parts[0] != ".corpusfmt"] == []

    return promise


_LIMIT = _ends_with("GEN003", 3)
_VALIDATE = ("validate", "{data}", "--output-format", "json")
_DATA = ("validate", "{data}/croissant.json", "--data", "--output-format", "json")
_PAGE = ("validate", "{data}/page.html", "--format", "croissant", "--output-format", "json")
_DOLMA = (*_VALIDATE, "--format", "dolma")
_RECORDS = ("records", "{data}/croissant.json")
_CONVERT = ("convert", "{data}", "{out}", "--to", "parquet")
_BUILD = ("build", "{data}", "-o", "{out}")


# --- Croissant ---


def _file(name: str, kind: str = "text/csv", **more: Any) -> dict[str, Any]:
    return {"@type": "cr:FileObject", "@id": name, "name": name, "contentUrl": name, "encodingFormat": kind, **more}


def _field(name: str, source: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"@type": "cr:Field", "@id": name, "name": name, "dataType": "sc:Text", "source": source, **more}


def _records(*fields: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"@type": "cr:RecordSet", "@id": "r", "name": "r", "field": list(fields)}]


def _column(file: str, column: str = "a") -> dict[str, Any]:
    return {"fileObject": {"@id": file}, "extract": {"column": column}}


def _described(folder: Path, distribution: list[dict[str, Any]], records: list[dict[str, Any]], **files: bytes) -> None:
    live = document(isLiveDataset=True, distribution=distribution, recordSet=records)
    (folder / "data" / "croissant.json").write_text(json.dumps(live), "utf-8")
    for name, content in files.items():
        (folder / "data" / name.replace("__", ".")).write_bytes(content)


def _in_archive(folder: Path, name: str, content: bytes) -> None:
    member = _file("m.csv", containedIn={"@id": name})
    _described(folder, [_file(name, "application/x-archive"), member], _records(_field("r/a", _column("m.csv"))))
    (folder / "data" / name).write_bytes(content)


def _table(folder: Path, content: bytes, name: str = "t.csv", kind: str = "text/csv") -> None:
    source = _column(name) if kind == "text/csv" else {"fileObject": {"@id": name}, "extract": {"jsonPath": "$[*].a"}}
    _described(folder, [_file(name, kind)], _records(_field("r/a", source)))
    (folder / "data" / name).write_bytes(content)


def _table_of_zeros(suffix: str, kind: str) -> Callable[[Path], None]:
    return lambda folder: _table(folder, _filled("gz"), f"t.{suffix}.gz", kind)


# --- zip ---


def _zip(data: bytes, size: int, method: int, checksum: int) -> bytes:
    """Return an archive of one member, compressed before: the standard library writes not all methods."""
    name = b"m.csv"
    head = struct.pack("<HHHHHIIIHH", 20, 0, method, 0, 0x21, checksum, len(data), size, len(name), 0)
    local = b"PK\x03\x04" + head + name + data
    entry = b"PK\x01\x02" + struct.pack("<H", 20) + head + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry), len(local), 0)
    return local + entry + end


def _zip_bomb(folder: Path) -> None:
    _in_archive(folder, "a.zip", _zip(_deflated(), _MUCH, 8, 0))


def _zip_bomb_of_another_method(folder: Path) -> None:
    _in_archive(folder, "a.zip", _zip(_filled("bz2"), _MUCH, 12, 0))


def _zip_of_many_names(folder: Path) -> None:
    entry = b"PK\x01\x02" + bytes(24) + struct.pack("<HHH", 4, 65000, 65000) + bytes(12) + b"name" + bytes(130000)
    directory, local = entry * 300, b"PK\x03\x04"
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 300, 300, len(directory), len(local), 0)
    _in_archive(folder, "a.zip", local + directory + end)


def _zip_of_one_member_many_times(folder: Path) -> None:
    """Write a directory whose entries all name the same data, as overlapping bombs do."""
    data, size = _compressed("deflate", _times(b"\0", 8 * MIB)), 8 * MIB
    checksum = zlib.crc32(bytes(size))
    whole = _zip(data, size, 8, checksum)
    local_end = whole.index(b"PK\x01\x02")
    entry = whole[local_end : whole.index(b"PK\x05\x06")]
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 2000, 2000, 2000 * len(entry), local_end, 0)
    _in_archive(folder, "a.zip", whole[:local_end] + entry * 2000 + end)


# --- tar ---


def _member(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


def _tar_bomb(folder: Path, suffix: str) -> None:
    _in_archive(folder, f"a.tar.{suffix}", _compressed(suffix, [_member("m.csv", _MUCH)]) + _filled(suffix))


def _tar_header(folder: Path, kind: bytes) -> None:
    _in_archive(folder, "a.tar.gz", _compressed("gz", [_member("x", _MUCH, kind)]) + _filled("gz", b"a"))


def _tar_global_headers(folder: Path) -> None:
    def header(number: int) -> bytes:
        record = b"921600 key%08d=" % number
        record += b"a" * (921600 - 1 - len(record)) + b"\n"
        return gzip.compress(_member("x", len(record), tarfile.XGLTYPE) + record, 1)

    _in_archive(folder, "a.tar.gz", b"".join(map(header, range(600))))


def _tar_pax_size(folder: Path) -> None:
    record = b"%d size=99999999999999999\n" % 26
    head = _member("x", len(record), tarfile.XHDTYPE) + record + bytes(-len(record) % 512)
    _in_archive(folder, "a.tar.gz", _compressed("gz", [head, _member("m.csv", 10)]) + _filled("gz"))


def _tar_sparse(folder: Path) -> None:
    _in_archive(folder, "a.tar", _member("m.csv", 1 << 40, tarfile.GNUTYPE_SPARSE) + bytes(2048))


def _tar_of_many_members(folder: Path) -> None:
    block = b"".join(_member(f"{number}.txt", 0) for number in range(1000))
    _in_archive(folder, "a.tar.gz", _compressed("gz", (block for _ in range(20))))


# --- streams ---


def _dolma(folder: Path, content: bytes, name: str = "a.jsonl.gz") -> None:
    documents = folder / "data" / "documents"
    documents.mkdir()
    (documents / name).write_bytes(content)


def _gzip_name(folder: Path, flag: int) -> None:
    """Write a member whose header has a name or comment without end."""
    _dolma(folder, b"\x1f\x8b\x08" + bytes((flag,)) + bytes(6) + b"a" * (3 * MIB))


def _dolma_window(folder: Path, log: int) -> None:
    window = bytes(((log - 10) << 3,))
    block = (((1 << 17) << 3) | 0b010).to_bytes(3, "little") + b"x"
    last = ((1 << 3) | 0b011).to_bytes(3, "little") + b"\n"
    _dolma(folder, b"\x28\xb5\x2f\xfd" + b"\0" + window + block * 2000 + last, "a.jsonl.zst")


def _many_sets(folder: Path, count: int) -> None:
    row = b'{"id":"1","text":"a","source":"s"}\n'
    _dolma(folder, gzip.compress(row))
    line = _compressed("gz", [b'{"id":"1","attributes":{"a__b__c":"', *_times(b"x", 30 * MIB), b'"}}\n'])
    for number in range(count):
        path = folder / "data" / "attributes" / f"set{number}" / "a.jsonl.gz"
        path.parent.mkdir(parents=True)
        path.write_bytes(line)


def _oscar(folder: Path, text: bytes, metadata: bytes) -> None:
    language = folder / "data" / "de"
    language.mkdir()
    (language / "de.txt.gz").write_bytes(text)
    (language / "de_meta.jsonl.gz").write_bytes(metadata)


def _wet(folder: Path, *records: bytes, compressed: bytes = b"") -> None:
    info = warc_record("warcinfo", b"software: test\r\n", [("Content-Type", "application/warc-fields")])
    (folder / "data" / "a.warc.wet.gz").write_bytes(gzip.compress(b"".join([info, *records])) + compressed)


def _wet_record_of(size: int) -> bytes:
    whole = wet_record(2, b"")
    head = whole[: whole.index(b"Content-Length")] + b"Content-Length: %d\r\n\r\n" % size
    return gzip.compress(head) + _filled("gz", b"x", size) + gzip.compress(b"\r\n\r\n")


# --- JSON of as many values as possible ---


def _values(before: bytes, piece: bytes, after: bytes, size: int = _LINE - 1024) -> bytes:
    return before + (piece * (size // len(piece)))[:-1] + after


_ROW = b'{"id":"1","text":"a","source":"s","metadata":{"a":'


def _dolma_values(folder: Path, piece: bytes) -> None:
    """Write a row that the rules have to look at: names stand twice."""
    _dolma(folder, gzip.compress(_values(_ROW + b"[", piece, b']},"id":7}\n'), 1))


def _dolma_text(folder: Path, *, broken: bool) -> None:
    text = '"😀\\n'.encode() + b"x" * (_LINE - 1024) + b'"'
    rest = b',"id":7}\n' if broken else b"}\n"
    _dolma(folder, gzip.compress(b'{"id":"1","source":"s","text":' + text + rest, 1))


def _oscar_values(folder: Path) -> None:
    line = _values(b'{"headers":[', b"[],", b'],"offset":0,"nb_sentences":1}\n')
    _oscar(folder, gzip.compress(b"a" * 200 + b"\n\n"), gzip.compress(line, 1))


def _description_of_values(folder: Path, piece: bytes) -> None:
    head = json.dumps(document())[:-1].encode() + b',"keywords":['
    (folder / "data" / "croissant.json").write_bytes(_values(head, piece, b"]}", 8 * MIB))


def _description_of_nodes(folder: Path, count: int, context: Any) -> None:
    head = json.dumps(document() | {"@context": context})[:-1].encode() + b',"distribution":['
    nodes = b",".join(b'{"x%d":1}' % number for number in range(count))
    (folder / "data" / "croissant.json").write_bytes(head + nodes + b"]}")


def _document_of_values(folder: Path) -> None:
    _table(folder, gzip.compress(_values(b"[", b'{"a":[]},', b"]", 30 * MIB), 1), "t.json.gz", "application/json")


# --- Parquet and joins ---


def _parquet(folder: Path, table: Any, **options: Any) -> None:
    pq.write_table(table, folder / "data" / "a.parquet", compression="zstd", **options)


def _one_value_often() -> Any:
    """Return 3 GB of text as a column: its dictionary has one value."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * 3000, pa.int32()), pa.array(["x" * 1_000_000]))


def _parquet_dictionary(folder: Path) -> None:
    _parquet(folder, pa.table({"text": _one_value_often()}))


def _parquet_in_croissant(folder: Path) -> None:
    _described(folder, [_file("a.parquet", "application/x-parquet")], _records(_field("r/a", _column("a.parquet"))))
    _parquet(folder, pa.table({"a": _one_value_often()}), store_schema=False)


def _parquet_list(folder: Path) -> None:
    count = 100_000_000
    rows = pa.ListArray.from_arrays(pa.array([0, count], pa.int32()), pa.nulls(count, pa.int8()))
    _parquet(folder, pa.table({"text": pa.array(["a"]), "n": rows}))


def _parquet_value(folder: Path) -> None:
    _parquet(folder, pa.table({"text": pa.array(["a" * _MUCH])}), use_dictionary=False, write_statistics=False)


def _join(folder: Path) -> None:
    names = ("x", "y", "z")
    fields = [_field(f"r/{names[0]}", _column("x.csv"))]
    fields += [
        _field(f"r/{name}", _column(f"{name}.csv"), references=_column(f"{before}.csv"))
        for before, name in (("x", "y"), ("x", "z"))
    ]
    fields.append(_field("r/text", _column("x.csv", "text")))
    records = _records(*fields)
    records[0]["key"] = [{"@id": "r/y"}, {"@id": "r/z"}]
    content = b"a,text\n" + b"1,b\n" * 2500
    _described(
        folder, [_file(f"{name}.csv") for name in names], records, x__csv=content, y__csv=content, z__csv=content
    )


def _three_records(outcome: Outcome) -> None:
    assert outcome.status == 0, outcome.text
    assert len(outcome.stdout.split(b"\n")) == 4
    assert outcome.cpu < 20


def _is_valid(outcome: Outcome) -> None:
    assert outcome.status == 0, outcome.text


def _many_findings(folder: Path) -> None:
    row = '{"id":"%s%d","text":1,"source":2,"%d":3}\n'
    rows = "".join(row % ("x" * 1500, number, number) for number in range(4000))
    for part in range(2):
        path = folder / "data" / "documents" / f"{part}.jsonl.gz"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(rows.encode(), 1))


# --- options, lists and names ---


def _option(folder: Path, name: str, content: bytes | Callable[[], bytes]) -> None:
    _dolma(folder, b'{"id":"1","text":"a","source":"s"}\n', "a.jsonl")
    _wet(folder)
    (folder / "data" / name).write_bytes(content if isinstance(content, bytes) else content())


def _lines(size: int) -> bytes:
    """Return lines of a kilobyte that are all different."""
    return b"".join(b"%01000x\n" % number for number in range(size))


def _checksums_of_one_file(folder: Path) -> None:
    _oscar(folder, gzip.compress(b"a" * 200 + b"\n\n"), gzip.compress(b"{}\n"))
    lines = b"".join(b"%064x  de.txt.gz\n" % number for number in range(20_000))
    (folder / "data" / "de" / "de_sha256.txt").write_bytes(lines)


def _tar_of_long_names(folder: Path) -> None:
    name = b"d" * (900 * 1024)
    block = _member("x", len(name), tarfile.GNUTYPE_LONGNAME) + name + bytes(-len(name) % 512) + _member("x", 0)
    _in_archive(folder, "a.tar.gz", gzip.compress(block, 1) * 150)


def _wide_table(folder: Path) -> None:
    _table(folder, gzip.compress(b"a," * (8 * MIB) + b"\n" + b"b," * (8 * MIB) + b"\n", 1), "t.csv.gz")


def _large_cell(folder: Path) -> None:
    _table(folder, gzip.compress(b'a\n"', 1) + _filled("gz", b"x\n", 64 * MIB) + gzip.compress(b'"\n'), "t.csv.gz")


def _page(folder: Path, piece: bytes, size: int = 31 * MIB) -> None:
    start = b'<!doctype html><script type="application/ld+json">{"@type":"Dataset"}</script>'
    (folder / "data" / "page.html").write_bytes(start + piece * (size // len(piece)))


ATTACKS = [
    Attack("zip-deflate", _zip_bomb, _DATA, _LIMIT),
    Attack("zip-bz2", _zip_bomb_of_another_method, _DATA, _says("compression method 12: pack it with deflate", 0)),
    Attack("zip-directory", _zip_of_many_names, _DATA, _ends_with("CRO604", 1)),
    Attack("zip-overlapping", _zip_of_one_member_many_times, _DATA, _ends_with("CRO604", 1)),
    *(Attack(f"tar-{kind}", partial(_tar_bomb, suffix=kind), _DATA, _LIMIT) for kind in ("gz", "bz2", "xz", "zst")),
    Attack("tar-bz2-records", partial(_tar_bomb, suffix="bz2"), _RECORDS, _says("a.tar.bz2: GEN003", 3)),
    Attack("tar-long-name", partial(_tar_header, kind=tarfile.GNUTYPE_LONGNAME), _DATA, _ends_with("CRO604", 1)),
    Attack("tar-long-link", partial(_tar_header, kind=tarfile.GNUTYPE_LONGLINK), _DATA, _ends_with("CRO604", 1)),
    Attack("tar-pax-header", partial(_tar_header, kind=tarfile.XHDTYPE), _DATA, _ends_with("CRO604", 1)),
    Attack("tar-pax-global", _tar_global_headers, _DATA, _ends_with("CRO604", 1)),
    Attack("tar-pax-size", _tar_pax_size, _DATA, _LIMIT),
    Attack("tar-sparse", _tar_sparse, _DATA, _ends_with("CRO604", 1)),
    Attack("tar-many-members", _tar_of_many_members, _DATA, _ends_with("CRO601", 1)),
    Attack("gzip-name", partial(_gzip_name, flag=8), _DOLMA, _ends_with("GEN101", 1)),
    Attack("gzip-comment", partial(_gzip_name, flag=16), _DOLMA, _ends_with("GEN101", 1)),
    Attack("gzip-members", lambda folder: _dolma(folder, _filled("gz") * 2), _DOLMA, _LIMIT),
    Attack("zstd-window-of-2-gib", partial(_dolma_window, log=31), _DOLMA, _ends_with("GEN101", 1)),
    Attack("zstd-window-of-128-mib", partial(_dolma_window, log=27), _DOLMA, _ends_with("GEN302", 1)),
    Attack(
        "zstd-skippable-frames",
        lambda folder: _dolma(folder, (b"\x50\x2a\x4d\x18" + bytes(4)) * 100_000 + zstd.compress(b""), "a.jsonl.zst"),
        _DOLMA,
        _ends_with("DOL104", 1),
    ),
    *(
        Attack(f"dolma-zeros-{jobs}", lambda folder: _dolma(folder, _filled("gz")), (*_DOLMA, "--jobs", jobs), _LIMIT)
        for jobs in ("1", "2")
    ),
    Attack("dolma-zeros-zstd", lambda folder: _dolma(folder, _filled("zst"), "a.jsonl.zst"), _DOLMA, _LIMIT),
    Attack(
        "dolma-zeros-converted",
        lambda folder: _dolma(folder, gzip.compress(b'{"id":"1","text":"a","source":"s"}\n') + _filled("gz")),
        _CONVERT,
        _publishes_nothing("documents/a.jsonl.gz: GEN003"),
    ),
    Attack(
        "dolma-zeros-described",
        lambda folder: _dolma(folder, gzip.compress(b'{"id":"1","text":"a","source":"s"}\n') + _filled("gz")),
        ("describe", "{data}"),
        _says("documents/a.jsonl.gz: GEN003", 3),
    ),
    Attack("dolma-many-sets", partial(_many_sets, count=12), _DOLMA, _ends_with("GEN302", 1)),
    Attack("dolma-many-findings", _many_findings, (*_DOLMA, "--max-per-rule", "20000"), _ends_with("DOL305", 1)),
    *(
        Attack(f"dolma-values-{name}", partial(_dolma_values, piece=piece), _DOLMA, _ends_with("GEN301", 1))
        for name, piece in {"lists": b"[],", "objects": b'{"":1},', "numbers": b"1.5,", "texts": b'"ab",'}.items()
    ),
    Attack("dolma-emoji", partial(_dolma_text, broken=False), _DOLMA, _is_valid),
    Attack("dolma-emoji-broken", partial(_dolma_text, broken=True), _DOLMA, _ends_with("DOL202", 1)),
    Attack("dolma-emoji-converted", partial(_dolma_text, broken=False), _CONVERT, _is_valid),
    Attack("oscar-zeros", lambda folder: _oscar(folder, _filled("gz"), gzip.compress(b"{}\n")), _VALIDATE, _LIMIT),
    Attack("oscar-values", _oscar_values, _VALIDATE, _ends_with("GEN301", 1)),
    Attack(
        "wet-zeros",
        lambda folder: _wet(folder, compressed=_filled("gz")),
        _BUILD,
        _says("its Content-Length is wrong", 3),
    ),
    Attack(
        "wet-text-without-end",
        lambda folder: _wet(folder, wet_record(1, "x"), compressed=_wet_record_of(15 * _PART)),
        _BUILD,
        _says("bytes, expected at most 33,554,432", 3),
    ),
    Attack("csv-zeros", _table_of_zeros("csv", "text/csv"), _DATA, _LIMIT),
    Attack("csv-zeros-records", _table_of_zeros("csv", "text/csv"), _RECORDS, _says("t.csv.gz: GEN003", 3)),
    Attack("json-zeros", _table_of_zeros("json", "application/json"), _RECORDS, _says("exceeds 33,554,432 bytes", 2)),
    Attack("jsonl-zeros", _table_of_zeros("jsonl", "application/jsonlines"), _DATA, _LIMIT),
    Attack("json-values", _document_of_values, _DATA, _ends_with("CRO604", 1)),
    Attack("description-lists", partial(_description_of_values, piece=b"[],"), _VALIDATE, _ends_with("CRO104", 1)),
    *(
        Attack(
            f"description-{name}",
            partial(_description_of_nodes, count=count, context=context),
            _VALIDATE,
            _ends_with(rule, 1),
        )
        for name, count, context, rule in (
            ("nodes", 25_000, CONTEXT, "CRO301"),
            ("nodes-in-full", 12_000, [CONTEXT], "CRO301"),
            ("too-many-nodes-in-full", 60_000, [CONTEXT], "CRO103"),
        )
    ),
    Attack("parquet-dictionary", _parquet_dictionary, _VALIDATE, _LIMIT),
    Attack("parquet-croissant", _parquet_in_croissant, _DATA, _LIMIT),
    Attack("parquet-list", _parquet_list, _VALIDATE, _ends_with("PQT102", 1)),
    Attack("parquet-value", _parquet_value, _VALIDATE, _ends_with("PQT102", 1)),
    Attack("join-records", _join, ("records", "{data}/croissant.json", "--number", "3"), _three_records),
    Attack("join-data", _join, (*_DATA, "--limit", "timeout=4"), _LIMIT),
    Attack(
        "join-converted",
        _join,
        ("convert", "{data}/croissant.json", "{out}", "--to", "dolma", "--limit", "timeout=4"),
        _publishes_nothing("GEN003 not finished within --limit timeout (4 seconds)"),
    ),
    *(
        Attack(
            f"{name}-large",
            partial(_option, name=file, content=lambda: b"# " + b"a" * (64 * MIB)),
            command,
            _says(said, 2),
        )
        for name, file, command, said in (
            ("settings", "s.toml", (*_DOLMA, "--config", "{data}/s.toml"), "has more than 1,048,576 bytes"),
            ("baseline", "b.json", (*_DOLMA, "--baseline", "{data}/b.json"), "has more than 50,331,648 bytes"),
            ("saved-report", "r.json", ("report", "render", "{data}/r.json"), "has more than 50,331,648 bytes"),
            (
                "recipe",
                "r.toml",
                (*_BUILD, "--recipe", "{data}/r.toml"),
                "more than 1,048,576 bytes",
            ),
        )
    ),
    Attack(
        "settings-nested",
        partial(_option, name="s.toml", content=b"a = " + b"[" * 100_000),
        (*_DOLMA, "--config", "{data}/s.toml"),
        _says("configuration", 2),
    ),
    *(
        Attack(
            f"{name}-of-{what}", partial(_option, name=file, content=content), command, _says("more than 16 parts", 2)
        )
        for name, file, command in (
            ("settings", "s.toml", (*_DOLMA, "--config", "{data}/s.toml")),
            ("recipe", "r.toml", (*_BUILD, "--recipe", "{data}/r.toml")),
        )
        for what, content in (
            ("a-key-of-many-parts", b"a." * 50_000 + b"a = 1"),
            (
                "many-keys-of-a-long-table",
                b"[" + b"a . 'a' .\t" * 20_000 + b"a]\n" + b"".join(b"%d=1\n" % n for n in range(20_000)),
            ),
        )
    ),
    Attack(
        "baseline-values",
        partial(_option, name="b.json", content=lambda: b'{\n"findings":[' + b"[]," * (15 * MIB) + b"[]]}"),
        (*_DOLMA, "--baseline", "{data}/b.json"),
        _says("values, the most that can be read", 2),
    ),
    Attack(
        "baseline-emoji",
        partial(_option, name="b.json", content=lambda: '{\n"findings":"😀'.encode() + b"a" * (47 * MIB) + b'"}'),
        (*_DOLMA, "--baseline", "{data}/b.json"),
        _says("is not a complete corpusfmt report", 2),
    ),
    Attack(
        "list-of-paths",
        partial(_option, name="wet.paths.gz", content=lambda: gzip.compress(_lines(20_000), 1) * 20),
        ("build", "{data}/wet.paths.gz", "-o", "{out}"),
        _says("the list of paths needs more than 335,544,320 bytes of memory: split it", 2),
    ),
    Attack(
        "blocklist",
        partial(_option, name="b.gz", content=lambda: gzip.compress(_lines(280_000), 1)),
        (*_DOLMA, "--blocklist", "{data}/b.gz"),
        _says("which is all there is memory for", 2),
    ),
    Attack("checksums-of-one-file", _checksums_of_one_file, _VALIDATE, _ends_with("OSC204", 1)),
    Attack("tar-long-names", _tar_of_long_names, _DATA, _LIMIT),
    Attack("csv-wide", _wide_table, _DATA, _is_valid),
    Attack("csv-cell", _large_cell, _DATA, _ends_with("CRO604", 1)),
    Attack("page-of-scripts", partial(_page, piece=b"<script"), _PAGE, _ends_with("CRO201", 1)),
    Attack("page-of-comments", partial(_page, piece=b"<!-->"), _PAGE, _ends_with("CRO201", 1)),
    Attack(
        "page-of-descriptions",
        partial(_page, piece=b'<script type="application/ld+json">{"@type":"Dataset"}</script>', size=256 * 1024),
        _PAGE,
        _ends_with("CRO201", 1),
    ),
]
