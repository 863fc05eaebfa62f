"""Records behind a description: sources, extraction, transformation, types, joins, nesting."""

from __future__ import annotations

import gc
import io
import json
import signal
import sys
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from croissant.documents import check, document, errors
from hypothesis import given
from hypothesis import strategies as st
from support import run_cli

import corpusfmt
from corpusfmt.formats import CheckOptions, ReadOptions
from corpusfmt.formats.croissant.data import csvrows, judging, reader, tables
from corpusfmt.formats.croissant.data.documents import plan_reading
from corpusfmt.formats.croissant.model.casts import date_in, date_pattern
from corpusfmt.io.limits import LimitReached, Limits
from corpusfmt.io.paths import entry_of
from corpusfmt.io.text import NumberFault
from corpusfmt.model import BadInput, Finding, Location, UsageError

Json = dict[str, Any]


def file(name: str, kind: str, **more: Any) -> Json:
    return {"@type": "cr:FileObject", "@id": name, "contentUrl": name, "encodingFormat": kind, **more}


def files(name: str, includes: str, kind: str = "text/plain", **more: Any) -> Json:
    return {"@type": "cr:FileSet", "@id": name, "includes": includes, "encodingFormat": kind, **more}


def field(name: str, origin: str, extract: Json | None, kind: str = "sc:Text", **more: Any) -> Json:
    """Return a field of record set `r`; `origin` is a file, or a file set where it ends in `-set`."""
    where = "fileSet" if origin.endswith("-set") else "fileObject"
    source = {where: {"@id": origin}, **({"extract": extract} if extract else {}), **more.pop("source", {})}
    return {"@type": "cr:Field", "@id": f"r/{name}", "dataType": kind, "source": source, **more}


def record_set(*fields: Json, name: str = "r", **more: Any) -> Json:
    return {"@type": "cr:RecordSet", "@id": name, "field": list(fields), **more}


def write(folder: Path, distribution: Sequence[Json], *record_sets: Json, **contents: bytes) -> Path:
    for name, content in contents.items():
        (folder / name.replace("__", ".")).write_bytes(content)
    path = folder / "metadata.json"
    path.write_text(json.dumps(document(isLiveDataset=True, distribution=distribution, recordSet=record_sets)), "utf-8")
    return path


def one(folder: Path, name: str, kind: str, content: bytes, *fields: Json, **more: Any) -> Path:
    """Write one file, and a description of it with one record set."""
    (folder / name).write_bytes(content)
    return write(folder, [file(name, kind)], record_set(*fields, **more))


def read(path: Path, name: str | None = None) -> tuple[list[Json], list[Finding]]:
    """Return the records and the findings; `--data` must find the same, but for what only a whole pass can tell."""
    findings: list[Finding] = []
    records = corpusfmt.records(path, name, on_finding=findings.append)
    return [dict(each) for each in records], findings


def in_order(path: Path, column: str) -> list[Any]:
    """Return the values of a column, and the codes of findings where they come up."""
    found: list[Any] = []
    records = corpusfmt.records(path, "r", on_finding=lambda finding: found.append(finding.code))
    found.extend(each[column] for each in records)
    return found


def codes(findings: Sequence[Finding]) -> list[str]:
    return [finding.code for finding in findings]


def one_column(folder: Path, cells: str, kind: str, **more: Any) -> tuple[list[Any], list[Finding]]:
    path = one(folder, "t.csv", "text/csv", f"a\n{cells}".encode(), field("a", "t.csv", {"column": "a"}, kind, **more))
    records, findings = read(path)
    return [record["r/a"] for record in records], findings


@pytest.mark.parametrize(
    ("kind", "cell", "value"),
    [
        ("sc:Integer", "3", 3),
        ("sc:Integer", "-03", -3),
        ("sc:Integer", "3.0", 3),
        ("sc:Integer", " 3 ", 3),
        ("sc:Integer", str(10**30), 10**30),
        ("cr:UInt8", "255", 255),
        ("sc:Float", "3", 3.0),
        ("sc:Float", "1.5e3", 1500.0),
        ("sc:Number", "3", 3),
        ("sc:Number", "3.5", 3.5),
        ("sc:Boolean", "TRUE", True),
        ("sc:Boolean", "0", False),
        ("sc:Boolean", "false", False),
        ("sc:Date", "2024-02-29", "2024-02-29"),
        ("sc:DateTime", "2024-02-29T10:00:00Z", "2024-02-29T10:00:00Z"),
        ("sc:Time", "10:30", "10:30"),
        ("sc:URL", "https://example.org/a", "https://example.org/a"),
        ("sc:Text", " 3 ", " 3 "),
        ("cr:BoundingBox", '"[1, 2.5, 3, 4]"', [1.0, 2.5, 3.0, 4.0]),
        ("cr:BoundingBox", '"1 2 3 4"', [1.0, 2.0, 3.0, 4.0]),
    ],
)
def test_values_by_type(kind: str, cell: str, value: Any, tmp_path: Path) -> None:
    values, findings = one_column(tmp_path, f"{cell}\n", kind)
    assert (values, findings) == ([value], [])
    assert type(values[0]) is type(value)


@pytest.mark.parametrize(
    ("kind", "cell", "wanted"),
    [
        ("sc:Integer", "3.5", "an integer"),
        ("sc:Integer", "3e0", "an integer"),
        ("sc:Integer", "1_000", "an integer"),
        ("sc:Integer", "٣", "an integer"),
        ("cr:UInt8", "256", "an integer from 0 to 255"),
        ("cr:UInt8", "-1", "an integer from 0 to 255"),
        ("cr:Int8", "-129", "an integer from -128 to 127"),
        ("cr:Int64", str(2**63), f"an integer from {-(2**63)} to {2**63 - 1}"),
        ("sc:Float", "1_0", "a number"),
        ("sc:Float", "0x10", "a number"),
        ("sc:Boolean", "yes", "a boolean"),
        ("sc:Date", "2023-02-29", "an ISO 8601 date"),
        ("sc:Date", "01/02/2023", "an ISO 8601 date"),
        ("sc:Date", "2023/02/01", "an ISO 8601 date"),
        ("sc:Time", "25:00", "an ISO 8601 time"),
        ("sc:URL", "an address", "a URL"),
        ("cr:BoundingBox", "1 2 3", "a bounding box of 4 numbers"),
    ],
)
def test_values_of_no_type(kind: str, cell: str, wanted: str, tmp_path: Path) -> None:
    values, findings = one_column(tmp_path, f"{cell}\n", kind)
    assert values == []
    assert [(each.code, each.location.path, each.location.line) for each in findings] == [("CRO609", "t.csv", 2)]
    assert findings[0].message.startswith('recordSet "r" › field "r/a": `')
    assert findings[0].message.endswith(f"`, expected {wanted}")
    report = corpusfmt.validate(tmp_path / "metadata.json", format="croissant", data=True)
    assert report.by_rule["CRO609"] == 1


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        ("sc:Boolean", 1, "a boolean"),
        ("sc:Integer", True, "an integer"),
        ("sc:Integer", [], "a list of 0 values, but the field is not an array"),
        ("sc:Float", True, "a number"),
        ("sc:Number", {"a": 1}, "a number"),
        ("sc:Date", 2024, "an ISO 8601 date"),
        ("sc:Time", 10, "an ISO 8601 time"),
        ("sc:URL", 5, "a URL"),
        ("sc:Text", {}, "text"),
        ("cr:BoundingBox", 4, "a bounding box of 4 numbers"),
        ("cr:BoundingBox", [1, 2, 3], "a bounding box of 4 numbers"),
    ],
)
def test_json_values_of_no_type(kind: str, value: Any, wanted: str, tmp_path: Path) -> None:
    lines = record_set(field("a", "t.jsonl", {"column": "a"}, kind))
    content = json.dumps({"a": value}).encode() + b"\n"
    path = write(tmp_path, [file("t.jsonl", "application/jsonlines")], lines, t__jsonl=content)
    records, findings = read(path)
    assert (records, codes(findings)) == ([], ["CRO609"])
    assert findings[0].message.endswith(wanted)


@pytest.mark.parametrize(("kinds", "value"), [(["sc:Integer", "sc:Text"], 3), (["sc:Text", "sc:Integer"], "3")])
def test_the_first_of_several_types_counts(kinds: Any, value: Any, tmp_path: Path) -> None:
    assert one_column(tmp_path, "3\n", kinds) == ([value], [])


def test_an_empty_cell_is_no_value(tmp_path: Path) -> None:
    path = one(
        tmp_path,
        "t.csv",
        "text/csv",
        b'a,b\n,\n"",x\n',
        *(field(name, "t.csv", {"column": name}, kind) for name, kind in (("a", "sc:Text"), ("b", "sc:Date"))),
    )
    records, findings = read(path)
    assert records == [{"r/a": None, "r/b": None}]
    assert codes(findings) == ["CRO609"]


@pytest.mark.parametrize(
    ("pattern", "text", "value"),
    [
        ("dd/MM/yyyy", "29/02/2024", "2024-02-29"),
        ("MMM d, yyyy", "Feb 9, 2024", "2024-02-09"),
        ("yyyy-MM-dd'T'HH:mm:ss", "2024-02-09T10:11:12", "2024-02-09T10:11:12"),
        ("%d.%m.%Y", "09.02.2024", "2024-02-09"),
        ("%Y-%m-%d %H:%M:%S.%f", "2004-05-17 00:44:29.0", "2004-05-17T00:44:29"),
        ("''yy", "'24", "2024-01-01"),
    ],
)
def test_dates_by_format(pattern: str, text: str, value: str, tmp_path: Path) -> None:
    read_as = date_pattern(pattern)
    assert read_as is not None
    assert date_in(read_as)(text) == value
    values, findings = one_column(tmp_path, f'"{text}"\nnever\n', "sc:Date", source={"format": pattern})
    assert values == [value]
    assert codes(findings) == ["CRO609"]


def test_a_format_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the date format `Q yyyy` is not supported"):
        one_column(tmp_path, "1 2024\n", "sc:Date", source={"format": "Q yyyy"})


@pytest.mark.parametrize(
    ("transform", "cell", "value"),
    [
        ({"regex": "^img(\\d+)"}, "img7.jpg", "7"),
        ({"regex": "a+"}, "aab", "aa"),
        ({"regex": "(x)|(y)"}, "y", "y"),
        ({"regex": "(?<year>\\d{4})-"}, "2024-01", "2024"),
        ({"separator": ";"}, "a;b", ["a", "b"]),
        ({"delimiter": ";"}, "a", ["a"]),
        ({"replace": "\\d+/#"}, "a12b3", "a#b#"),
        ({"replace": "(.)b/\\1c"}, "ab", "ac"),
        ({"jsonQuery": "$.a"}, '"{""a"": ""x""}"', "x"),
        ({"jsonPath": "$.a[*]"}, '"{""a"": [""x""]}"', "x"),
        ([{"replace": "-/"}, {"separator": " "}], "a-b c", ["ab", "c"]),
    ],
)
def test_transformations(transform: Any, cell: str, value: Any, tmp_path: Path) -> None:
    values, findings = one_column(tmp_path, f"{cell}\n", "sc:Text", source={"transform": transform})
    assert (values, findings) == ([value], [])


def test_a_replacement_without_a_slash_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="`replace` is `a`, expected a pattern, a slash and a replacement"):
        one_column(tmp_path, "a\n", "sc:Text", source={"transform": {"replace": "a"}})


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)*b", "(.*)*x"])
def test_patterns_without_end(pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corpusfmt.formats.croissant.data.reader.TIME_LIMIT", 0.5)
    values, findings = one_column(tmp_path, "a" * 60 + "!\n", "sc:Text", source={"transform": {"regex": pattern}})
    assert values == []
    assert codes(findings) == ["CRO610"]
    assert "backtracks without end" in findings[0].message
    report = corpusfmt.validate(tmp_path / "metadata.json", format="croissant", data=True)
    assert report.by_rule["CRO610"] == 1


JSON = {
    "application/json": b'[{"id": 1, "tags": ["a", "b"]}, {"id": 2, "tags": []}]',
    "application/jsonlines": b'{"id": 1, "tags": ["a", "b"]}\n{"id": 2, "tags": []}\n',
}


@pytest.mark.parametrize("kind", JSON)
@pytest.mark.parametrize("path", [False, True])
def test_json(kind: str, path: bool, tmp_path: Path) -> None:
    start = "$[*]" if kind == "application/json" else "$"
    extracts = [{"jsonPath": f"{start}.{name}"} if path else {"column": name} for name in ("id", "tags")]
    described = one(
        tmp_path,
        "t.data",
        kind,
        JSON[kind],
        field("id", "t.data", extracts[0], "sc:Integer"),
        field("tags", "t.data", extracts[1], repeated=True),
    )
    assert read(described) == ([{"r/id": 1, "r/tags": ["a", "b"]}, {"r/id": 2, "r/tags": []}], [])


def test_a_repeated_path_is_cut_at_the_records(tmp_path: Path) -> None:
    path = one(
        tmp_path,
        "t.json",
        "application/json",
        JSON["application/json"],
        field("id", "t.json", {"jsonPath": "$[*].id"}, "sc:Integer"),
        field("tags", "t.json", {"jsonPath": "$[*].tags[*]"}, repeated=True),
    )
    assert read(path)[0] == [{"r/id": 1, "r/tags": ["a", "b"]}, {"r/id": 2, "r/tags": []}]


ABSENT: list[Json] = [
    {"id": 1, "price": 2, "tags": ["a", "b"], "in": {"side": 1}},
    {"id": 2, "in": {}},
    {"id": 3, "price": None, "tags": None, "in": None},
    {"id": 4, "price": 5, "tags": [], "in": {"side": [7]}},
]


@pytest.mark.parametrize("every", ["$[*].tags", "$[*].tags[*]"])
@pytest.mark.parametrize("kind", ["application/json", "application/jsonlines"])
def test_a_member_that_is_absent_is_no_value(kind: str, every: str, tmp_path: Path) -> None:
    lines = kind.endswith("lines")
    content = b"".join(json.dumps(row).encode() + b"\n" for row in ABSENT) if lines else json.dumps(ABSENT).encode()
    root = "$" if lines else "$[*]"
    path = one(
        tmp_path,
        "t",
        kind,
        content,
        field("id", "t", {"jsonPath": f"{root}.id"}, "sc:Integer"),
        field("price", "t", {"jsonPath": f"{root}.price"}, "sc:Integer"),
        field("tags", "t", {"jsonPath": every.replace("$[*]", root)}, repeated=True),
        field("side", "t", {"jsonPath": f"{root}.in.side"}, "sc:Integer", repeated=True),
        key={"@id": "r/id"},
    )
    expected = [
        {"r/id": 1, "r/price": 2, "r/tags": ["a", "b"], "r/side": [1]},
        {"r/id": 2, "r/price": None, "r/tags": None, "r/side": None},
        {"r/id": 3, "r/price": None, "r/tags": None, "r/side": None},
        {"r/id": 4, "r/price": 5, "r/tags": [], "r/side": [7]},
    ]
    assert read(path) == (expected, [])
    report = corpusfmt.validate(path, format="croissant", data=True)
    assert (errors(report), report.coverage.documents) == ([], 4)
    (tmp_path / "t").write_bytes(content.replace(b'"id": 2, ', b""))
    assert codes(errors(corpusfmt.validate(path, format="croissant", data=True))) == ["CRO612"]


@pytest.mark.parametrize("kind", ["application/json", "application/jsonlines"])
def test_a_member_that_is_nowhere(kind: str, tmp_path: Path) -> None:
    lines = kind.endswith("lines")
    content = b'{"id": 1}\n{"id": 2}\n' if lines else b'[{"id": 1}, {"id": 2}]'
    root = "$" if lines else "$[*]"
    fields = [field(name, "t", {"jsonPath": f"{root}.{name}"}) for name in ("id", "price")]
    path = one(tmp_path, "t", kind, content, *fields)
    records, findings = read(path)
    assert records == [{"r/id": "1", "r/price": None}, {"r/id": "2", "r/price": None}]
    report = corpusfmt.validate(path, format="croissant", data=True)
    assert codes(findings) == codes(errors(report)) == ["CRO606"]
    assert report.coverage.documents == 2
    assert findings[0].message.endswith(f"extract: `{root}.price` selects nothing in `t`")
    assert findings[0].location.pointer == "/recordSet/0/field/1/source/extract/jsonPath"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$.a.b", [1, None, None, None]),
        ("$['a'][0]", [None, None, 2, None]),
        ("$.a[-1]", [None, None, 3, None]),
        ("$.a[-3]", [None, None, None, None]),
        ("$.a[2]", [None, None, None, None]),
        ("$.a[0:1]", [None, None, 2, None]),
        ("$[0]", [None, None, None, 7]),
    ],
)
def test_paths_in_lines(path: str, expected: list[Any], tmp_path: Path) -> None:
    content = b'{"a": {"b": 1}}\n{"a": null}\n{"a": [2, 3]}\n[7]\n'
    lines = field("a", "t.jsonl", {"jsonPath": path}, "sc:Integer")
    described = one(tmp_path, "t.jsonl", "application/jsonlines", content, lines)
    records, findings = read(described)
    assert [record["r/a"] for record in records] == expected
    assert codes(findings) == ([] if any(expected) else ["CRO606"])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"items": []}', []),
        (b'{"items": null}', []),
        (b'{"item": [{"id": 1}]}', ["CRO606"]),
        (b"{}", ["CRO606"]),
    ],
)
def test_a_path_to_no_record(content: bytes, expected: list[str], tmp_path: Path) -> None:
    path = one(tmp_path, "t.json", "application/json", content, field("id", "t.json", {"jsonPath": "$.items[*].id"}))
    assert (read(path)[0], codes(read(path)[1])) == ([], expected)
    assert codes(errors(corpusfmt.validate(path, format="croissant", data=True))) == expected


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        *((kind, b"b,a\n1,2\n") for kind in ("text/csv", "application/csv", "text/csv; charset=utf-8")),
        *((kind, b"b\ta\n1\t2\n") for kind in ("text/tsv", "text/tab-separated-values")),
        *((f"application/{kind}", b'[{"a": 2}]') for kind in ("json", "x-json", "geo+json")),
        ("text/json", b'[{"a": 2}]'),
        *(
            (f"application/{kind}", b'{"a": 2}\n')
            for kind in ("jsonl", "jsonlines", "x-jsonlines", "json-lines", "x-ndjson", "ndjson", "jsonl+json")
        ),
        ("text/jsonl", b'{"a": 2}\n'),
    ],
)
def test_formats_by_their_names(kind: str, content: bytes, tmp_path: Path) -> None:
    path = one(tmp_path, "t", kind, content, field("a", "t", {"column": "a"}, "sc:Integer"))
    assert read(path) == ([{"r/a": 2}], [])


@pytest.mark.parametrize(
    ("content", "kind", "line", "message"),
    [
        (b"\n", "application/json", 1, "the JSON is corrupt: the document is empty"),
        (
            b'[\n{"a": 1},\n{"a" 2}]',
            "application/json",
            3,
            "the JSON is corrupt: expecting ':' delimiter",
        ),
        (b"a\n1\nx\ry\n", "text/csv", 3, "the table cannot be read further: new-line character seen in unquoted field"),
    ],
)
def test_where_a_file_does_not_read_on(content: bytes, kind: str, line: int, message: str, tmp_path: Path) -> None:
    path = one(tmp_path, "t", kind, content, field("a", "t", {"column": "a"}))
    (finding,) = read(path)[1]
    assert (finding.code, finding.location.path, finding.location.line) == ("CRO604", "t", line)
    assert finding.message.startswith(message)


def test_one_object_is_one_record(tmp_path: Path) -> None:
    fields = [field(name, "t.json", {"jsonPath": f"$.{name}"}) for name in ("id", "a.b")]
    path = one(tmp_path, "t.json", "application/json", b'{"id": 1, "a": {"b": 2}}', *fields)
    assert read(path) == ([{"r/id": "1", "r/a.b": "2"}], [])


def test_paths_that_lead_to_other_records(tmp_path: Path) -> None:
    fields = [field(name, "t.json", {"jsonPath": path}) for name, path in (("id", "$[*].id"), ("b", "$[*].b[*].c"))]
    content = b'[{"id": 1, "b": [{"c": 1}, {"c": 2}]}, {"id": 2, "b": []}, {"id": 3, "b": [{}]}]'
    path = one(tmp_path, "t.json", "application/json", content, *fields)
    assert len(read(path)[0]) == 3
    (tmp_path / "t.json").write_bytes(content.replace(b', {"c": 2}', b""))
    assert codes(read(path)[1]) == ["CRO608"]


def test_lines_that_are_no_json(tmp_path: Path) -> None:
    path = one(
        tmp_path,
        "t.jsonl",
        "application/jsonlines",
        b'{"a": 1}\n{"a": \n' + b"[" * 100_000 + b'\n{"a": "\xff"}\n{"a": 2}',
        field("a", "t.jsonl", {"column": "a"}, "sc:Integer"),
    )
    records, findings = read(path)
    assert records == [{"r/a": 1}, {"r/a": 2}]
    assert sorted((each.code, each.location.line) for each in findings) == [("GEN201", 4), ("GEN301", 2), ("GEN301", 3)]


def test_json_nested_deeply(tmp_path: Path) -> None:
    path = one(
        tmp_path,
        "t.json",
        "application/json",
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        field("a", "t.json", {"jsonPath": "$..a"}),
    )
    assert codes(read(path)[1]) == ["CRO604"]


LINES: dict[str, list[Any]] = {
    "lines": ["one", "two"],
    "lineNumbers": [0, 1],
    "filename": ["t.txt"] * 2,
    "fullpath": ["t.txt"] * 2,
}


def test_lines_of_a_text(tmp_path: Path) -> None:
    path = one(
        tmp_path,
        "t.txt",
        "text/plain",
        b"one\ntwo\n",
        *(field(n, "t.txt", {"fileProperty": n}, "sc:Integer" if n == "lineNumbers" else "sc:Text") for n in LINES),
    )
    expected = [{f"r/{name}": values[row] for name, values in LINES.items()} for row in range(2)]
    assert read(path) == (expected, [])


def test_text_that_is_none(tmp_path: Path) -> None:
    path = one(tmp_path, "t.txt", "text/plain", b"caf\xe9\nfine\r\n", field("line", "t.txt", {"fileProperty": "lines"}))
    records, findings = read(path)
    assert records == [{"r/line": "fine\r"}]
    assert [(each.code, each.location.line) for each in findings] == [("CRO609", 1)]


def packed(kind: str, members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
    else:
        with tarfile.open(fileobj=buffer, mode=f"w:{kind}") as tar:  # type: ignore[call-overload]
            for name, content in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


MEMBERS = {"d/a.jpg": b"\xff\xd8\xffa", "d/e/b.jpg": b"\xff\xd8\xffb", "c.txt": b"no", "../out.jpg": b"out"}


@pytest.mark.parametrize("kind", ["zip", "", "gz", "xz"])
def test_members_of_archives(kind: str, tmp_path: Path) -> None:
    path = write(
        tmp_path,
        [file("all", "application/zip"), files("pictures-set", "d/**/*.jpg", "image/jpeg", containedIn={"@id": "all"})],
        record_set(
            field("name", "pictures-set", {"fileProperty": "fullpath"}),
            field("picture", "pictures-set", {"fileProperty": "content"}, "sc:ImageObject"),
        ),
        all=packed(kind, MEMBERS),
    )
    expected = [{"r/name": name, "r/picture": MEMBERS[name]} for name in ("d/a.jpg", "d/e/b.jpg")]
    assert read(path) == (expected, [])
    assert not (tmp_path.parent / "out.jpg").exists()


def test_files_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for name in ("d/a.txt", "d/b.txt", "c.txt"):
        (tmp_path / name).write_bytes(name.encode())
    context = {"cr:excludes": "**/b.*"}
    path = write(
        tmp_path,
        [files("texts-set", "**/*.txt", **context)],
        record_set(field("text", "texts-set", {"fileProperty": "content"})),
    )
    assert read(path) == ([{"r/text": "c.txt"}, {"r/text": "d/a.txt"}], [])


# --- joins and nesting ---

FILMS = record_set(
    {**field("id", "films.csv", {"column": "id"}, "sc:Integer"), "@id": "films/id"},
    {**field("title", "films.csv", {"column": "title"}), "@id": "films/title"},
    name="films",
)
TABLES = [file("films.csv", "text/csv"), file("views.csv", "text/csv")]
CONTENTS = {
    "films__csv": b"id,title\n1,Alien\n2,Brazil\n3,Cube\n",
    "views__csv": b"film,user\n2,ann\n1,bob\n2,cem\n9,dan\n,eve\n",
}
VIEWS = [
    field("film", "views.csv", {"column": "film"}, "sc:Integer", references={"@id": "films/id"}),
    field("user", "views.csv", {"column": "user"}),
]


def drawn(name: str, source: str, **more: Any) -> Json:
    """Return a field of record set `r` with the values of another field."""
    return {"@type": "cr:Field", "@id": f"r/{name}", "dataType": "sc:Text", "source": {"@id": source}, **more}


@pytest.mark.parametrize(
    "title",
    [
        {"@id": "films/title"},
        {"field": {"@id": "films/title"}},
        {"fileObject": {"@id": "films.csv"}, "extract": {"column": "title"}},
    ],
)
def test_joins(title: Json, tmp_path: Path) -> None:
    joined = {"@type": "cr:Field", "@id": "r/title", "dataType": "sc:Text", "source": title}
    path = write(tmp_path, TABLES, FILMS, record_set(*VIEWS, joined), **CONTENTS)
    records, findings = read(path, "r")
    assert [(each["r/user"], each["r/title"]) for each in records] == [
        ("ann", "Brazil"), ("bob", "Alien"), ("cem", "Brazil"), ("dan", None), ("eve", None),
    ]  # fmt: skip
    assert [(each.code, each.location.line) for each in findings] == [("CRO613", 5)]


def test_what_is_wrong_with_joined_data_is_told(tmp_path: Path) -> None:
    joined = drawn("title", "films/title")
    contents = {"films__csv": b"id,title\n1,Alien\nx,Brazil\n", "views__csv": b"film,user\n1,ann\n"}
    path = write(tmp_path, TABLES, FILMS, record_set(*VIEWS, joined), **contents)
    records, findings = read(path, "r")
    assert [each["r/title"] for each in records] == ["Alien"]
    assert [(each.code, str(each.location)) for each in findings] == [("CRO609", "films.csv:3")]


ID = {"@type": "cr:Field", "@id": "r/id", "source": {"@id": "films/id"}}
USER = field("views/user", "views.csv", {"column": "user"})


def nested_views(source: Any = VIEWS[0]["source"], user: Json = USER) -> Json:
    """Return a field with the views of a film as nested records."""
    parent = {"source": source, "references": {"@id": "r/id"}}
    kind = {"@type": "cr:Field", "@id": "r/views", "dataType": "cr:RecordSet"}
    return {**kind, "parentField": parent, "subField": [user]}


def test_nested_records(tmp_path: Path) -> None:
    views = record_set(*({**each, "@id": each["@id"].replace("r/", "views/")} for each in VIEWS), name="views")
    user = {"@type": "cr:Field", "@id": "r/views/user", "source": {"@id": "views/user"}}
    nested = nested_views({"@id": "views/film"}, user)
    path = write(tmp_path, TABLES, FILMS, views, record_set(ID, nested), **CONTENTS)
    records, findings = read(path, "r")
    assert records == [
        {"r/id": 1, "r/views": [{"r/views/user": "bob"}]},
        {"r/id": 2, "r/views": [{"r/views/user": "ann"}, {"r/views/user": "cem"}]},
        {"r/id": 3, "r/views": []},
    ]
    assert findings == []


def test_the_first_source_of_a_parent_counts(tmp_path: Path) -> None:
    nested = nested_views([VIEWS[0]["source"], {"@id": "films/title"}])
    path = write(tmp_path, TABLES, FILMS, record_set(ID, nested), **CONTENTS)
    report = corpusfmt.validate(path, format="croissant", data=True)
    assert [each.message for each in errors(report)] == [
        'recordSet "r" › field "r/views" › parentField: `9` is not a value of `r/id`'
    ]


TAGS = record_set(
    field("film", "tags.csv", {"column": "film"}, "sc:Integer", references={"@id": "films/id"}) | {"@id": "tags/film"},
    field("tag", "tags.csv", {"column": "tag"}) | {"@id": "tags/tag"},
    name="tags",
)
TAGGED = [drawn("title", "films/title"), drawn("tag", "tags/tag")]


def test_a_join_by_a_reference_of_fields_that_are_not_drawn(tmp_path: Path) -> None:
    contents = {"films__csv": b"id,title\n1,Alien\n2,Brazil\n", "tags__csv": b"film,tag\n2,dream\n1,space\n"}
    path = write(tmp_path, [TABLES[0], file("tags.csv", "text/csv")], FILMS, TAGS, record_set(*TAGGED), **contents)
    assert read(path, "r") == (
        [{"r/title": "Brazil", "r/tag": "dream"}, {"r/title": "Alien", "r/tag": "space"}],
        [],
    )


def test_a_join_against_a_reference_may_find_nothing(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        [*TABLES, file("tags.csv", "text/csv")],
        FILMS,
        TAGS,
        record_set(VIEWS[0], *TAGGED, key=[{"@id": "r/film"}, {"@id": "r/tag"}]),
        films__csv=b"id,title\n1,Alien\n2,Brazil\n",
        tags__csv=b"film,tag\n2,dream\n2,office\n",
        views__csv=b"film\n2\n1\n2\n",
    )
    records, findings = read(path, "r")
    assert [tuple(each.values()) for each in records] == [
        (2, "Brazil", "dream"), (2, "Brazil", "office"), (1, "Alien", None), (2, "Brazil", "dream"), (2, "Brazil", "office"),
    ]  # fmt: skip
    assert findings == []
    report = corpusfmt.validate(path, format="croissant", data=True)
    found = [(each.code, each.location.line) for each in report.findings if each.severity == "error"]
    assert found == [("CRO612", 3), ("CRO611", 4), ("CRO611", 4)]


STUDIOS = record_set(
    field("id", "studios.csv", {"column": "id"}, "sc:Integer") | {"@id": "studios/id"},
    field("name", "studios.csv", {"column": "name"}) | {"@id": "studios/name"},
    name="studios",
)
NAMED = [drawn("title", "films/title"), drawn("name", "studios/name")]
BY_STUDIO = [*TABLES, file("studios.csv", "text/csv")]


@pytest.mark.parametrize("rows_in_a_table", [1, 2, 3, 4096])
def test_a_key_of_records_in_many_tables(rows_in_a_table: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that two films of one id make, and whose other reference leads nowhere, has that one fault."""
    monkeypatch.setattr(reader, "_EXPANDED", rows_in_a_table)
    views = [
        VIEWS[0],
        field("studio", "views.csv", {"column": "studio"}, "sc:Integer", references={"@id": "studios/id"}),
        *NAMED,
    ]
    path = write(
        tmp_path,
        BY_STUDIO,
        FILMS,
        STUDIOS,
        record_set(*views, key=[{"@id": "r/title"}, {"@id": "r/name"}]),
        films__csv=b"id,title\n1,Alien\n1,Aliens\n2,Brazil\n",
        studios__csv=b"id,name\n5,Fox\n",
        views__csv=b"film,studio\n2,5\n1,6\n1,5\n2,\n1,5\n",
    )
    report = corpusfmt.validate(path, format="croissant", data=True)
    found = sorted((each.code, each.location.line) for each in report.findings if each.severity == "error")
    assert found == [("CRO611", 6), ("CRO611", 6), ("CRO612", 5), ("CRO613", 3)]


@pytest.mark.parametrize("named", ["r/views/user", "r/views"])
def test_a_key_in_nested_records_is_not_judged(named: str, tmp_path: Path) -> None:
    key = [{"@id": "r/id"}, {"@id": named}]
    path = write(tmp_path, TABLES, FILMS, record_set(ID, nested_views(), key=key), **CONTENTS)
    report = corpusfmt.validate(path, format="croissant", data=True)
    assert report.coverage.rules_not_run == dict.fromkeys(
        ("CRO611", "CRO612"), 'recordSet "r": the key is in nested records, or has subfields'
    )
    assert [(each.code, each.location.line) for each in report.findings if each.severity == "error"] == [("CRO613", 5)]


def test_nested_records_are_held_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_NESTED_BYTES", 300)
    path = write(tmp_path, TABLES, FILMS, record_set(ID, nested_views()), **CONTENTS)
    assert len(read(path, "r")[0]) == 3
    (tmp_path / "views.csv").write_bytes(b"film,user\n2,ann\n2,bob\n2,cem\n")
    too_many = '^recordSet "r" › field "r/views": the nested records of one record need more than 300 bytes of memory'
    with pytest.raises(UsageError, match=too_many):
        read(path, "r")


def test_nested_fields(tmp_path: Path) -> None:
    place = {
        "@type": "cr:Field",
        "@id": "r/place",
        "dataType": "sc:GeoCoordinates",
        "subField": [
            field(f"place/{name}", "t.csv", {"column": name}, "sc:Float") for name in ("latitude", "longitude")
        ],
    }
    path = one(tmp_path, "t.csv", "text/csv", b"latitude,longitude\n1,2\n", place)
    assert read(path) == ([{"r/place": {"r/place/latitude": 1.0, "r/place/longitude": 2.0}}], [])


def test_inline_records(tmp_path: Path) -> None:
    fields = [{"@type": "cr:Field", "@id": f"r/{name}", "dataType": "sc:Text"} for name in ("a", "b")]
    path = write(tmp_path, [], record_set(*fields, data=[{"r/a": "x"}, {"r/b": "y", "r/a": None}]))
    assert read(path) == ([{"r/a": "x", "r/b": None}, {"r/a": None, "r/b": "y"}], [])


def test_many_rows_cross_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csvrows, "BATCH_ROWS", 7)
    values, findings = one_column(tmp_path, "".join(f'"{n}"\n' for n in range(100)), "sc:Integer")
    assert (values, findings) == (list(range(100)), [])


def test_a_row_alone_has_to_fit_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csvrows, "MAX_LINE_BYTES", 1000)
    rows = [f"line {n}\nand its end" for n in range(100)]
    assert one_column(tmp_path, "".join(f'"{row}"\n' for row in rows), "sc:Text") == (rows, [])
    values, findings = one_column(tmp_path, '1\n"' + "x\n" * 100 + '"\n', "sc:Text")
    assert (values, codes(findings)) == (["1"], ["CRO604"])


# --- what cannot be read, and the command ---


def test_parquet(tmp_path: Path) -> None:
    path = one(
        tmp_path,
        "t.parquet",
        "application/x-parquet",
        b"PAR1",
        field("a", "t.parquet", {"column": "a"}, "sc:Integer"),
        field("d", "t.parquet", {"column": "d"}, "sc:Date"),
    )
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    assert codes(read(path)[1]) == ["CRO604"]
    pq.write_table(pa.table({"a": [1, None], "d": pa.array([0, 1], pa.date32())}), tmp_path / "t.parquet")
    assert read(path) == ([{"r/a": 1, "r/d": "1970-01-01"}, {"r/a": None, "r/d": "1970-01-02"}], [])


@pytest.mark.parametrize(
    ("stored", "values", "kind", "name"),
    [
        ("int64()", [1, None], "sc:Text", "int64"),
        ("float64()", [1.0, None], "sc:Integer", "double"),
        ("bool_()", [True], "sc:Text", "bool"),
        ("string()", ["1"], "sc:Integer", "string"),
        ("large_string()", ["true"], "sc:Boolean", "large_string"),
        ("dictionary(pa.int8(), pa.string())", ["1"], "sc:Float", "string"),
        ("timestamp('us')", [0], "sc:Text", "timestamp[us]"),
        ("list_(pa.int32())", [[1], []], "sc:Text", "int32"),
        ("int32()", [1], "cr:Int64", None),
        ("int64()", [1], "cr:UInt8", None),
        ("int64()", [1], "sc:Number", None),
        ("string()", ["2024-01-01"], "sc:Date", None),
        ("string()", ["https://example.org/"], "sc:URL", None),
        ("timestamp('us')", [0], "sc:Date", None),
        ("date32()", [0], "sc:DateTime", None),
        ("binary()", [b"x"], "sc:Text", None),
        ("binary()", [b"x"], "sc:ImageObject", None),
        ("int64()", [1], "wd:Q42", None),
        ("int64()", [], "sc:Text", None),
        ("int64()", [1 << 40], "cr:Int8", None),
    ],
)
def test_a_type_that_differs_from_the_stored_one(
    stored: str, values: list[Any], kind: str, name: str | None, tmp_path: Path
) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = record_set(
        field("a", "t.parquet", {"column": "a"}, kind, repeated=stored.startswith("list")),
        field("n", "t.parquet", {"column": "a"}, kind, source={"transform": {"regex": "(.*)"}}),
    )
    for fields in (
        table["field"][:1],
        table["field"],
    ):  # a transformation makes other values, which are read in another way
        path = write(tmp_path, [file("t.parquet", "application/x-parquet")], {**table, "field": fields})
        pq.write_table(pa.table({"a": pa.array(values, eval(f"pa.{stored}", {"pa": pa}))}), tmp_path / "t.parquet")
        found = [each for each in corpusfmt.validate(path, data=True).findings if each.code == "CRO617"]
        expected = [f"stored as `{name}` in `t.parquet`, declared as `{kind}`"] * (name is not None)
        assert [each.message.partition(": ")[2] for each in found] == expected


def test_parquet_with_times_beyond_those_of_python(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    path = write(
        tmp_path,
        [file("t.parquet", "application/x-parquet")],
        record_set(
            field("ns", "t.parquet", {"column": "ns"}, "sc:DateTime"),
            field("zone", "t.parquet", {"column": "zone"}, "sc:DateTime"),
            field("far", "t.parquet", {"column": "far"}, "sc:Date"),
            field("within", "t.parquet", {"column": "within"}, "sc:ImageObject"),
        ),
    )
    columns = {
        "ns": pa.array([1, None], pa.timestamp("ns")),
        "zone": pa.array([1, None], pa.timestamp("us", "Nowhere")),
        "far": pa.array([1 << 30, None], pa.date32()),
        "within": pa.array([{"a": [1]}, None], pa.struct({"a": pa.list_(pa.timestamp("ns", "UTC"))})),
    }
    pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), tmp_path / "t.parquet")
    records, (finding,) = read(path)
    # The first record is left out, because one of its values is no date.
    assert records == [dict.fromkeys(("r/ns", "r/zone", "r/far", "r/within"))]
    assert (finding.code, finding.severity.name) == ("CRO609", "ERROR")
    assert "`<value out of range: 1073741824>`, expected an ISO 8601 date" in finding.message
    columns["far"] = pa.nulls(2, pa.date32())
    pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), tmp_path / "t.parquet")
    assert read(path)[0][0] == {
        "r/ns": "1970-01-01T00:00:00.000000001",
        "r/zone": "1970-01-01T00:00:00.000001Z",
        "r/far": None,
        "r/within": {"a": ["1970-01-01 00:00:00.000000001Z"]},
    }


def test_parquet_without_a_column(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    table = record_set(field("a", "t.parquet", {"column": "A"}))
    path = write(tmp_path, [file("t.parquet", "application/x-parquet")], table)
    pq.write_table(pytest.importorskip("pyarrow").table({"a": [1]}), tmp_path / "t.parquet")
    (finding,) = read(path)[1]
    assert finding.message.endswith("no column `A` in `t.parquet`")
    assert finding.hint == "did you mean `a`?"


def test_parquet_without_its_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    table = record_set(field("a", "t.parquet", {"column": "a"}))
    path = write(tmp_path, [file("t.parquet", "application/x-parquet")], table, t__parquet=b"PAR1")
    reason = "`t.parquet` is Parquet, which needs pyarrow: pip install 'corpusfmt[parquet]'"
    with pytest.raises(UsageError) as raised:
        read(path)
    assert str(raised.value) == reason
    report = corpusfmt.validate(path, format="croissant", data=True)
    assert report.coverage.gaps == {("t.parquet", "data", reason): 1}


@pytest.mark.parametrize(
    ("described", "reason"),
    [
        (file("t.csv", "text/csv", contentUrl="https://example.org/t.csv"), "on the web"),
        (file("t.csv", "text/csv", contentUrl=""), "`contentUrl` is missing"),
        (file("t.csv", "image/png", contentUrl="t.png"), "no columns"),
    ],
)
def test_data_that_cannot_be_read_here(described: Json, reason: str, tmp_path: Path) -> None:
    (tmp_path / "t.png").write_bytes(b"png")
    path = write(tmp_path, [described], record_set(field("a", "t.csv", {"column": "a"})))
    with pytest.raises(UsageError, match=rf'^distribution "t\.csv": .*{reason}'):
        read(path)
    report = corpusfmt.validate(path, format="croissant", data=True)
    left_out = {rule for _, rule, why in report.coverage.not_run if reason in why}
    assert left_out >= {f"CRO{number}" for number in range(606, 614)}


def test_record_sets_drawn_from_themselves(tmp_path: Path) -> None:
    ring = [
        record_set({"@type": "cr:Field", "@id": "r/a", "source": {"@id": "s/a"}}),
        record_set({"@type": "cr:Field", "@id": "s/a", "source": {"@id": "r/a"}}, name="s"),
    ]
    path = write(tmp_path, [], *ring)
    with pytest.raises(UsageError, match="is its own source"):
        read(path, "r")


def test_a_description_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "metadata.json").write_bytes(b'{"@context"')
    with pytest.raises(BadInput, match="CRO101"):
        read(tmp_path / "metadata.json")


def test_the_command(tmp_path: Path) -> None:
    path = write(tmp_path, TABLES, FILMS, record_set(*VIEWS), **CONTENTS)
    done = run_cli("records", path, "--record-set", "films", "--number", "2")
    assert done.returncode == 0
    assert done.stdout == b'{"films/id":1,"films/title":"Alien"}\n{"films/id":2,"films/title":"Brazil"}\n'
    assert done.stderr == b""
    unknown = run_cli("records", path, "--record-set", "actors")
    assert (unknown.returncode, unknown.stdout) == (2, b"")
    assert b"unknown record set 'actors'; known: films, r" in unknown.stderr
    assert b"name a record set: films, r" in run_cli("records", path).stderr
    (tmp_path / "films.csv").write_bytes(b"id,title\n1,Alien\nx,Brazil\n")
    bad = run_cli("records", tmp_path, "--record-set", "films")
    assert bad.returncode == 1
    assert bad.stdout == b'{"films/id":1,"films/title":"Alien"}\n'
    assert b"films.csv:3: CRO609 error data-value-cast" in bad.stderr


def test_record_sets_without_id_go_by_their_names(tmp_path: Path) -> None:
    path = write(tmp_path, TABLES, {**FILMS, "name": "all films"}, record_set(*VIEWS), **CONTENTS)
    content = json.loads(path.read_bytes())
    del content["recordSet"][0]["@id"]
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(UsageError, match=r"^name a record set: all films, r$"):
        read(path)
    assert [record["films/title"] for record in read(path, "all films")[0]] == ["Alien", "Brazil", "Cube"]


def test_bytes_and_numbers_that_json_has_not(tmp_path: Path) -> None:
    path = one(
        tmp_path,
        "t.csv",
        "text/csv",
        b"a\nnan\n",
        field("a", "t.csv", {"column": "a"}, "sc:Float"),
        field("b", "t.csv", {"fileProperty": "content"}, "sc:ImageObject"),
    )
    assert run_cli("records", path).stdout == b'{"r/a":null,"r/b":"YQpuYW4K"}\n'


# --- judging whole files ---


def test_keys_are_compared_by_value(tmp_path: Path) -> None:
    path = one(
        tmp_path,
        "t.csv",
        "text/csv",
        b"a\n1\n2\n01\n" + b"2\n" * 30,
        field("a", "t.csv", {"column": "a"}, "sc:Integer"),
        key={"@id": "r/a"},
    )
    report = corpusfmt.validate(path, format="croissant", data=True)
    assert report.by_rule["CRO611"] == 31
    first = next(each for each in report.findings if each.code == "CRO611")
    assert (first.location.line, first.message) == (
        4,
        'recordSet "r": the key `1` is repeated, first on line 2 of t.csv',
    )


def test_of_many_repeated_keys_ten_are_told_and_the_others_counted(tmp_path: Path) -> None:
    table = record_set(field("id", "t.json", {"jsonPath": "$[*].id"}, "sc:Integer"), key={"@id": "r/id"})
    path = write(tmp_path, [file("t.json", "application/json")], table, t__json=json.dumps([{"id": 1}] * 14).encode())
    report = corpusfmt.validate(path, format="croissant", data=True, max_per_rule=100)
    found = [each for each in report.findings if each.code == "CRO611"]
    assert [each.count for each in found] == [1] * 10 + [3]
    assert {each.message for each in found} == {'recordSet "r": the key `1` is repeated, first in record 1 of t.json'}


@pytest.mark.parametrize(
    ("cell", "more"), [(b"1e400", {}), (b'"{""x"": 1e400}"', {"source": {"transform": {"jsonQuery": "$.x"}}})]
)
def test_the_faults_of_numbers_are_not_kept_with_their_rows(cell: bytes, more: Json, tmp_path: Path) -> None:
    path = one(
        tmp_path, "t.csv", "text/csv", b"a\n%s\n" % cell, field("a", "t.csv", {"column": "a"}, "sc:Float", **more)
    )
    gc.collect()
    gc.disable()
    try:
        report = corpusfmt.validate(path, format="croissant", data=True)
        assert [each.code for each in errors(report)] == ["GEN303"]
        assert not [each for each in gc.get_objects() if isinstance(each, NumberFault)]
    finally:
        gc.enable()


def test_keys_of_one_hash_are_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = record_set(field("id", "t.json", {"jsonPath": "$[*].id"}, "sc:Integer"), key={"@id": "r/id"})
    rows = [{"id": number} for number in range(50)]
    path = write(tmp_path, [file("t.json", "application/json")], table, t__json=json.dumps(rows).encode())
    monkeypatch.setattr(judging, "hashes_of", lambda keys: np.zeros(len(keys), dtype=np.uint64))
    assert corpusfmt.validate(path, format="croissant", data=True).verdict == "valid"
    monkeypatch.setattr(judging, "MOST_KEYS", 20)
    report = corpusfmt.validate(path, format="croissant", data=True)
    (found,) = [each for each in report.findings if each.code == "GEN003"]
    assert (found.location.path, found.message) == ("t.json", "keys were chosen to have equal hashes")


@pytest.mark.parametrize("broken", ["", "x"])
def test_references_to_very_many_columns_of_a_file(broken: str, tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(150)]
    films = [field("", "films.csv", {"column": name}, "sc:Integer", **{"@id": f"films/{name}"}) for name in names]
    views = [field(name, "views.csv", {"column": name}, references={"@id": f"films/{name}"}) for name in names]
    header, row = ",".join(names), ",".join(map(str, range(150)))
    contents = {
        "films__csv": f"{header}\n{row.replace('77', broken or '77')}\n".encode(),
        "views__csv": f"{header}\n{row}\n{row.replace('149', '7')}\n".encode(),
    }
    path = write(tmp_path, TABLES, record_set(*films, name="films"), record_set(*views), **contents)
    report = corpusfmt.validate(path, format="croissant", data=True)
    found = [(each.location.line, each.message) for each in report.findings if each.code == "CRO613"]
    assert found == [(3, 'recordSet "r" › field "r/c149": `7` is not a value of `films/c149`')]
    left_out = [reason for _, what, reason in report.coverage.not_run if what == "CRO613"]
    assert left_out == (['recordSet "films" › field "films/c77": some values cannot be read'] if broken else [])


@pytest.mark.parametrize("broken", [range(60), range(0, 60, 3)])
def test_references_to_columns_that_cannot_be_read_leave_the_others_checked(broken: range, tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(61)]
    films = [field("", "films.csv", {"column": name}, "sc:Integer", **{"@id": f"films/{name}"}) for name in names]
    views = [field(name, "views.csv", {"column": name}, references={"@id": f"films/{name}"}) for name in names]
    header, row = ",".join(names), ",".join("x" if number in broken else "1" for number in range(61))
    contents = {"films__csv": f"{header}\n{row}\n".encode(), "views__csv": f"{header}\n{',2' * 60}\n".encode()}
    path = write(tmp_path, TABLES, record_set(*films, name="films"), record_set(*views), **contents)
    report = corpusfmt.validate(path, format="croissant", data=True)
    assert report.by_rule["CRO613"] == len(set(range(1, 61)) - set(broken))
    left_out = [reason for _, what, reason in report.coverage.not_run if what == "CRO613"]
    assert len(left_out) == len(broken)
    assert all("some values cannot be read" in each for each in left_out)


def test_transformed_columns_of_a_file_are_referenced_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_TRANSFORMED_BYTES", 3000)

    def words(number: int) -> Json:
        split: Json = {"source": {"transform": {"separator": " "}}, "isArray": True, "arrayShape": "-1"}
        return field("", "films.csv", {"column": f"c{number}"}, **split, **{"@id": f"w{number}/words"})

    sets = [record_set(words(number), name=f"w{number}") for number in (0, 1)]
    views = [
        field(f"v{number}", "views.csv", {"column": "v"}, references={"@id": f"w{number}/words"}) for number in (0, 1)
    ]
    contents = {"films__csv": f"c0,c1\n{'a ' * 30}b,{'a ' * 30}b\n".encode(), "views__csv": b"v\nb\nc\n"}
    report = corpusfmt.validate(write(tmp_path, TABLES, *sets, record_set(*views), **contents), data=True)
    assert [each.code for each in report.findings if each.code.startswith("CRO6")] == ["CRO613", "CRO613"]


@pytest.mark.parametrize("has_numpy", [True, False])
def test_keys_of_many_references_wait_in_bounded_memory(
    has_numpy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "HAS_NUMPY", has_numpy)
    leaf: Any = object()
    watched = judging._Watched(tables.KeyOf([leaf], required=False), tmp_path, None, 10)
    for _ in range(4):
        watched.take(reader.Table(8, {id(leaf): list("abcdefgh")}, lambda _: Location("t.csv")))
    watched.close()
    assert len(list(tmp_path.glob("*.keys"))) == 2


def test_many_references_that_lead_nowhere(tmp_path: Path) -> None:
    contents = {**CONTENTS, "views__csv": b"film,user\n" + b"7,x\n" * 25 + b"1,y\n"}
    path = write(tmp_path, TABLES, FILMS, record_set(*VIEWS), **contents)
    report = corpusfmt.validate(path, format="croissant", data=True)
    assert report.by_rule["CRO613"] == 25
    assert [each.location.line for each in report.findings if each.code == "CRO613"][:10] == list(range(2, 12))


@pytest.mark.parametrize("missing", [False, True])
def test_references_to_several_columns_of_a_file(missing: bool, tmp_path: Path) -> None:
    names = ["id", "title", *(["user"] if missing else [])]
    films = [field("", "films.csv", {"column": name}, **{"@id": f"films/{name}"}) for name in names]
    columns = {"id": "id", "title": "title", "user": "id"}
    views = [field(name, "views.csv", {"column": columns[name]}, references={"@id": f"films/{name}"}) for name in names]
    contents = {"films__csv": b"id,title\n1,2\n3,4\n", "views__csv": b"id,title\n1,1\n2,2\n3,4\n5,5\n"}
    path = write(tmp_path, TABLES, record_set(*films, name="films"), record_set(*views), **contents)
    report = corpusfmt.validate(path, format="croissant", data=True)
    found = [(each.location.line, each.message) for each in report.findings if each.code == "CRO613"]
    assert [(line, message.rpartition(": ")[2]) for line, message in found] == [
        (2, "`1` is not a value of `films/title`"),
        (3, "`2` is not a value of `films/id`"),
        (5, "`5` is not a value of `films/id`"),
        (5, "`5` is not a value of `films/title`"),
    ]
    left_out = [reason for _, what, reason in report.coverage.not_run if what == "CRO613"]
    assert left_out == (['recordSet "films" › field "films/user": some values cannot be read'] if missing else [])


def test_the_files_of_a_set_in_a_folder_and_in_an_archive(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.txt").write_text("one")
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
        archive.writestr("a.txt", "two")
    containers = [file("d.zip", "application/zip"), file("d", "inode/directory")]
    in_both = files("d-set", "*.txt", containedIn=[{"@id": "d.zip"}, {"@id": "d"}])
    text = field("text", "d-set", {"fileProperty": "content"})
    path = write(tmp_path, [*containers, in_both], record_set(text))
    assert [each["r/text"] for each in corpusfmt.records(path)] == ["two", "one"]
    (shard,) = plan_reading(entry_of(str(path)), CheckOptions(reading=ReadOptions(field={"text": "text"}))).shards
    assert [each.path for each in shard.files.values()] == ["metadata.json", "d.zip", "a.txt"]


def test_a_reference_to_a_whole_file_is_none_to_its_values(tmp_path: Path) -> None:
    film = field("film", "views.csv", {"column": "film"}, references={"fileObject": {"@id": "films.csv"}})
    report = corpusfmt.validate(write(tmp_path, TABLES, record_set(film), **CONTENTS), format="croissant", data=True)
    assert (errors(report), report.verdict) == ([], "valid")


def test_references_of_inline_records_into_files(tmp_path: Path) -> None:
    inline = {"@type": "cr:Field", "@id": "r/film", "dataType": "sc:Integer", "references": {"@id": "films/id"}}
    path = write(tmp_path, TABLES, FILMS, record_set(inline, data=[{"r/film": 1}, {"r/film": 8}]), **CONTENTS)
    report = corpusfmt.validate(path, format="croissant", data=True)
    found = [each for each in report.findings if each.code == "CRO613"]
    assert [(each.location.path, each.location.pointer) for each in found] == [("metadata.json", "/recordSet/1/data/1")]


def test_splits_are_references(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for name in ("train-1.txt", "dev-1.txt"):
        (tmp_path / "d" / name).write_bytes(b"x")
    splits = record_set(
        {"@type": "cr:Field", "@id": "splits/name", "dataType": "sc:Text"},
        name="splits", dataType="cr:Split", key={"@id": "splits/name"}, data=[{"splits/name": "train"}],
    )  # fmt: skip
    split = field(
        "split", "t-set", {"fileProperty": "filename"}, references={"@id": "splits/name"},
        source={"transform": {"regex": "^([a-z]+)-"}},
    )  # fmt: skip
    path = write(tmp_path, [files("t-set", "d/*.txt")], splits, record_set(split))
    report = corpusfmt.validate(path, format="croissant", data=True)
    found = [each for each in report.findings if each.code == "CRO613"]
    assert [(each.location.path, "`dev` is not a value of `splits/name`" in each.message) for each in found] == [
        ("d/dev-1.txt", True)
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a,b\n1,2\n3\n", {"CRO607": 1}),
        (b'a,b\n1,"2\n3,4\n', {"CRO604": 1}),
        (b"a,b\n\xff,2\n1,3\n", {"GEN201": 1}),
        (b"a,b\n\0,2\n", {"CRO609": 1}),
        (b"a,b\n1,\xc3\xa9\n", {}),
        (b"a,b\n1,x\ry\n", {"CRO604": 1}),
        (b"", {"CRO606": 1}),
        (b"\n", {"CRO606": 1}),
        (b"a,b\n1," + b"x" * 3_000_000 + b"\n2,y\n", {}),
        (b'a,b\n1,"' + b"x\n" * 2_000_000 + b'"\n2,y\n', {}),
    ],
)
def test_tables_of_all_kinds(content: bytes, expected: dict[str, int], tmp_path: Path) -> None:
    fields = record_set(field("a", "t.csv", {"column": "a"}, "sc:Integer"))
    described = document(isLiveDataset=True, distribution=[file("t.csv", "text/csv")], recordSet=[fields])
    (tmp_path / "t.csv").write_bytes(content)
    report = check(tmp_path / "metadata.json", described, data=True)
    wanted = ("CRO6", "GEN")
    assert {code: count for code, count in report.by_rule.items() if code.startswith(wanted)} == expected


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("t.csv", b"b,c\n", "write one of the columns: b, c"),
        ("t.csv", b"", "add the column, or correct its name"),
        ("t.json", b"[1]", "add the column, or correct its name"),
    ],
)
def test_the_hint_to_a_missing_column(name: str, content: bytes, hint: str, tmp_path: Path) -> None:
    kind = {"t.csv": "text/csv", "t.json": "application/json"}[name]
    (finding,) = read(one(tmp_path, name, kind, content, field("a", name, {"column": "a"})))[1]
    assert (finding.code, finding.hint) == ("CRO606", hint)


@pytest.mark.parametrize(("second", "expected"), [(b'{"b":1,"a":"x"}\n', []), (b'{"b":2}\n', ["a"]), (b"", ["a"])])
def test_a_member_that_only_some_files_have_is_no_value(second: bytes, expected: list[str], tmp_path: Path) -> None:
    both = record_set(field("a", "t-set", {"column": "a"}), field("b", "t-set", {"column": "b"}, "sc:Integer"))
    contents = {"1__jsonl": b'{"b":1}\n', "2__jsonl": second}
    path = write(tmp_path, [files("t-set", "*.jsonl", "application/jsonlines")], both, **contents)
    found = read(path)[1]
    assert [each.code for each in found] == ["CRO606"] * len(expected)
    assert all(f"no column `{name}`" in each.message for each, name in zip(found, expected, strict=True))
    assert corpusfmt.validate(path, format="croissant", data=True).by_rule.get("CRO606", 0) == len(expected)


def test_a_bomb_in_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corpusfmt.io.limits.FREE_BYTES", 1 << 12)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.csv", b"a\n" + b"1\n" * (1 << 18))
    path = write(
        tmp_path,
        [file("t.zip", "application/zip"), file("t.csv", "text/csv", containedIn={"@id": "t.zip"})],
        record_set(field("a", "t.csv", {"column": "a"}, "sc:Integer")),
        t__zip=buffer.getvalue(),
    )
    with pytest.raises(LimitReached, match=r"t\.zip: GEN003 .* `expansion` \(200\) allows"):
        read(path)
    assert corpusfmt.validate(path, format="croissant", data=True).by_rule["GEN003"] == 1


def test_a_member_that_is_a_link(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            link = tarfile.TarInfo("t.csv")
            link.type, link.linkname = kind, "/etc/passwd"
            tar.addfile(link)
    path = write(
        tmp_path,
        [file("t.tar", "application/x-tar"), file("t.csv", "text/csv", containedIn={"@id": "t.tar"})],
        record_set(field("a", "t.csv", {"column": "a"})),
        t__tar=buffer.getvalue(),
    )
    assert read(path)[0] == []
    assert codes(read(path)[1]) == ["CRO601"]


@pytest.mark.parametrize("kind", ["text/csv", "text/tsv", "application/json", "application/jsonlines", "text/plain"])
@given(content=st.binary(max_size=200) | st.text('ab,"\n\r\t[]{}:1é', max_size=60).map(str.encode))
def test_any_bytes(kind: str, content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("any")
    extract = {"fileProperty": "lines"} if kind == "text/plain" else {"column": "a"}
    path = one(folder, "t", kind, content, field("a", "t", extract, "sc:Integer"), key={"@id": "r/a"})
    report = corpusfmt.validate(path, format="croissant", data=True)
    assert "GEN000" not in report.by_rule
    of_a_pass = ("CRO611", "CRO612")  # only --data looks at keys
    counts = report.by_rule.items()
    wrong = sum(count for code, count in counts if code.startswith(("CRO6", "GEN")) and code not in of_a_pass)
    assert len(read(path)[1]) == wrong


@pytest.mark.parametrize("kind", ["text/csv", "application/json", "application/jsonlines"])
def test_findings_come_where_their_records_would(kind: str, tmp_path: Path) -> None:
    values = [1, "x", 3, 4, "y", 6]
    content = {
        "text/csv": "a\n" + "".join(f"{value}\n" for value in values),
        "application/json": json.dumps([{"a": value} for value in values]),
        "application/jsonlines": "".join(json.dumps({"a": value}) + "\n" for value in values),
    }[kind]
    extract = {"jsonPath": "$[*].a"} if kind == "application/json" else {"column": "a"}
    path = one(tmp_path, "t", kind, content.encode(), field("a", "t", extract, "sc:Integer"))
    assert in_order(path, "r/a") == [1, "CRO609", 3, 4, "CRO609", 6]
    for limit, status in (("1", 1), ("2", 1), ("9", 1)):
        done = run_cli("records", path, "--number", limit)
        assert done.returncode == status
        assert done.stdout.count(b"\n") == min(int(limit), 4)
        assert done.stderr.count(b": CRO609 error") == (2 if limit == "9" else 1)


def test_a_join_without_a_match_is_reported_behind_the_first_record_of_its_row(tmp_path: Path) -> None:
    studio = field("studio", "views.csv", {"column": "studio"}, "sc:Integer", references={"@id": "studios/id"})
    path = write(
        tmp_path,
        BY_STUDIO,
        FILMS,
        STUDIOS,
        record_set(VIEWS[0], studio, *NAMED),
        films__csv=b"id,title\n1,Alien\n1,Aliens\n2,Brazil\n",
        studios__csv=b"id,name\n5,Fox\n",
        views__csv=b"film,studio\n1,6\n2,7\n2,5\n",
    )
    assert in_order(path, "r/title") == ["Alien", "CRO613", "Aliens", "Brazil", "CRO613", "Brazil"]


@pytest.mark.parametrize("most", [2, 4096])
def test_what_joined_data_lack_is_told_up_to_a_bound(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_EXPANDED", most)
    studio = field("studio", "films.csv", {"column": "studio"}, "sc:Integer", references={"@id": "studios/id"})
    films = {**FILMS, "field": [*FILMS["field"], studio | {"@id": "films/studio"}]}
    path = write(
        tmp_path,
        BY_STUDIO,
        films,
        STUDIOS,
        record_set(VIEWS[0], *NAMED),
        films__csv=b"id,title,studio\n1,Alien,5\n2,Brazil,6\n3,Cube,7\n4,Dune,8\n",
        studios__csv=b"id,name\n5,Fox\n",
        views__csv=b"film\n1\n2\n",
    )
    records, findings = read(path, "r")
    assert [tuple(each.values()) for each in records] == [(1, "Alien", "Fox"), (2, "Brazil", None)]
    assert [str(each.location) for each in findings] == [f"films.csv:{line}" for line in (3, 4, 5)][:most]


def test_of_a_page_with_several_descriptions_the_first_is_read(tmp_path: Path) -> None:
    name = {"@type": "cr:Field", "@id": "r/a", "dataType": "sc:Text"}
    described = [document(recordSet=[record_set(name, data=[{"r/a": each}])]) for each in ("one", "two")]
    scripts = (f'<script type="application/ld+json">{json.dumps(each)}</script>' for each in described)
    (tmp_path / "page.html").write_text(f"<html>{''.join(scripts)}", "utf-8")
    assert read(tmp_path / "page.html") == ([{"r/a": "one"}], [])


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="POSIX alone has timers")
def test_no_timer_runs_between_two_records(tmp_path: Path) -> None:
    path = write(tmp_path, TABLES, FILMS, **CONTENTS)
    timers = signal.ITIMER_REAL, signal.ITIMER_VIRTUAL
    for limits in (Limits(timeout=100), Limits()):
        for _ in corpusfmt.records(path, limits=limits):
            assert [signal.getitimer(each) for each in timers] == [(0.0, 0.0)] * 2
