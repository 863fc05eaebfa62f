"""Tables without a text: the shapes in which they are published, CSV as pandas reads it, and their way through other formats."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import run_cli

import corpusfmt
from corpusfmt.formats import detect
from corpusfmt.io.paths import entry_of
from corpusfmt.model import BadInput, UsageError

Json = dict[str, Any]
TALK = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
SHAPES: dict[str, tuple[list[Json], str]] = {
    "chat": ([{"messages": TALK}, {"messages": TALK[:1] * 2}], "chat"),
    "sharegpt": ([{"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}], "sharegpt"),
    "preference": ([{"prompt": "p", "chosen": "a", "rejected": "b"}], "preference"),
    "preference of talks": ([{"chosen": TALK, "rejected": TALK[:1]}], "preference"),
    "instruction": ([{"instruction": "do", "input": "", "output": "done"}], "instruction"),
    "translation": ([{"id": "1", "translation": {"en": "hi", "fr": "salut"}}], "translation"),
    "question": ([{"question": "a?", "answer": "b"}, {"question": "c?", "answer": None}], ""),
    "label": ([{"sentence": "good", "label": 1}, {"sentence": "bad", "label": 0}], ""),
    "no strings": ([{"tokens": [1, 2], "score": 0.5}], ""),
}


def write(path: Path, rows: list[Json]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path.parent


@pytest.mark.parametrize("name", SHAPES)
def test_a_table_comes_back_from_other_formats(name: str, tmp_path: Path) -> None:
    rows, profile = SHAPES[name]
    source = write(tmp_path / "in/train.jsonl", rows)
    for place in (source, tmp_path / "parquet/data"):
        fmt, found = detect(entry_of(str(place)))
        assert found.evidence.endswith(f"(column profile {profile})" if profile else "`") or fmt.name == "parquet"
        report = corpusfmt.validate(place, format=fmt.name)
        assert (report.verdict.value, report.coverage.documents) == ("valid", len(rows))
        assert len(list(corpusfmt.read(place, format=fmt.name))) == len(rows)
        with pytest.raises(
            UsageError, match="the rows have no text, which dolma needs: name its field with `field` text="
        ):
            corpusfmt.convert(place, tmp_path / "dolma", to="dolma", format=fmt.name)
        counts = run_cli("stats", place).stdout.decode()
        assert f"{len(rows)} document{'s' * (len(rows) > 1)} without text, 1 shard" in counts
        assert "bytes" not in counts
        if place == source:
            corpusfmt.convert(source, tmp_path / "parquet", to="parquet")
    (table,) = (tmp_path / "parquet/data").iterdir()
    assert pq.read_table(table).to_pylist() == rows
    corpusfmt.convert(tmp_path / "parquet/data", tmp_path / "back", to="jsonl")
    with gzip.open(tmp_path / "back/data/train.jsonl.gz") as file:
        assert [json.loads(line) for line in file] == rows


def test_a_table_that_has_no_columns_of_one_type_is_refused(tmp_path: Path) -> None:
    tables: list[list[Json]] = [[{"a": 1}, {"a": "x"}], [{"a": {}}], [{"a": 2**70}]]
    for number, rows in enumerate(tables):
        source = write(tmp_path / f"{number}/train.jsonl", rows)
        with pytest.raises(UsageError, match="the rows do not fit a table, write them as jsonl"):
            corpusfmt.convert(source, tmp_path / f"out{number}", to="parquet")


def test_what_needs_a_text_names_the_field_that_is_likely_to_have_it(tmp_path: Path) -> None:
    write(tmp_path / "in/a.jsonl", [{"doc_id": "a long id", "prompt text": "one", "url": "https://example.org/"}])
    for command in (("convert", "in", "out", "--to", "oscar"), ("compare", "in", "in")):
        found = run_cli(*command, cwd=tmp_path)
        assert (found.returncode, found.stderr.decode().rpartition(": ")[2]) == (
            2,
            "name its field with --field text='prompt text'\n",
        )


@pytest.mark.parametrize(
    "command", [("validate",), ("stats",), ("show",), ("describe",), ("convert", "out", "--to", "dolma")]
)
def test_objects_in_objects_are_no_error_of_ours(command: tuple[str, ...], tmp_path: Path) -> None:
    for depth in (400, 900, 20_000):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in/a.jsonl").write_text('{"a":' * depth + '"long"' + "}" * depth + "\n")
        done = run_cli(command[0], "in", *command[1:], cwd=tmp_path)
        assert done.returncode in (0, 1, 2), done.stderr
        assert b"internal error" not in done.stdout + done.stderr


CSV = {
    "quoted": b'id,text\n1,"a, ""b""\nc"\n2,d\n',
    "blank lines and CR LF": b"id,text\r\n\r\n1,a\r\n",
    "byte order mark": b"\xef\xbb\xbfid,text\n1,a",
    "names twice": b"id,text,text,text.1,text\n1,a,b,c,d\n",
    "quote within": b'id,text\n1,a"b"c\n2,"a"b\n',
    "no rows": b"id,text\n",
}


@pytest.mark.parametrize("name", CSV)
def test_csv_is_read_as_by_pandas(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(CSV[name])
    frame = pd.read_csv(io.BytesIO(CSV[name]), dtype=str, keep_default_na=False, na_values=[])
    expected = json.loads(frame.to_json(orient="records"))
    read = list(corpusfmt.read(tmp_path / "a.csv", format="jsonl"))
    rows = [
        {"id": document.id, "text": document.text}
        | {name: value for name, value in (document.metadata or {}).items() if not name.startswith("corpusfmt")}
        for document in read
    ]
    assert rows == expected


def test_a_row_of_csv_has_a_bound(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"q,label\n" + b'"\n",' * 300_000)
    report = corpusfmt.validate(tmp_path, format="jsonl", max_line_bytes=1024 * 1024)
    assert [(each.code, each.location.line) for each in report.findings] == [("GEN304", 2)]
    assert "more than 1,048,576" in report.findings[0].message


HOSTILE = [
    "a,b",
    'a "quote"',
    "\ufefffirst",
    "two\nlines",
    "CR \r alone",
    "CR LF\r\n",
    "\ttab",
    "\0",
    " ",
    "",
    "=1+1",
    "\u2028",
]


def test_texts_come_back_from_csv(tmp_path: Path) -> None:
    rows = [dict.fromkeys(filter(None, HOSTILE), text) for text in HOSTILE]
    write(tmp_path / "in/train.jsonl", rows)
    report = corpusfmt.convert(tmp_path / "in", tmp_path / "csv", to="csv")
    table = tmp_path / "csv/data/train.csv.gz"
    frame = pd.read_csv(table, dtype=str, keep_default_na=False, na_values=[])
    assert (frame.to_dict("records"), report.results["losses"]) == (rows, {})
    corpusfmt.convert(table, tmp_path / "back", to="jsonl")
    with gzip.open(tmp_path / "back/data/train.jsonl.gz") as file:
        assert [json.loads(line) for line in file] == rows


def test_rows_of_csv_are_counted_with_their_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'id,q\n1,"a\nb"\n1,c\n')
    (found,) = corpusfmt.validate(tmp_path).findings
    assert f"{found.location}: {found.message}" == "a.csv:3: the id `1` also occurs at a.csv:2"
    for line, shown in enumerate([[], ["1"], ["1"], []], 1):
        lines = run_cli("show", tmp_path, f"a.csv:{line}").stdout.splitlines()
        assert [json.loads(each)["id"] for each in lines if b'"id"' in each] == shown
    with pytest.raises(BadInput, match=r"a\.csv:3: CNV106"):
        corpusfmt.convert(tmp_path, tmp_path.parent / "out", to="dolma", field={"text": "q"})


LOST: dict[str, tuple[list[Json], str, bytes]] = {
    "csv": (
        [
            {"a": None, "b": ["x"], "c": {"d": 1.5}, "e": -1, "f": True},
            {"f": "=1", "e": 0, "c": None, "b": {}, "a": ""},
        ],
        "null, written as an empty cell, 2 times\n  lost: lists and objects, written as JSON texts, 3 times",
        b'a,b,c,e,f\n,"[""x""]","{""d"":1.5}",-1,true\n,{},,0,=1\n',
    ),
    "csv-safe": (
        [{"@a": "=1", "b": "-1"}, {"@a": -1, "b": "x"}],
        "formulas, written after an apostrophe, 4 times",
        b"'@a,b\n'=1,'-1\n-1,x\n",
    ),
}


@pytest.mark.parametrize("to", LOST)
def test_what_csv_cannot_have_is_a_loss(to: str, tmp_path: Path) -> None:
    rows, lost, expected = LOST[to]
    write(tmp_path / "in/train.jsonl", rows)
    assert b"CNV101 would be lost" in run_cli("convert", "in", "out", "--to", to, cwd=tmp_path).stderr
    done = run_cli("convert", "in", "out", "--to", to, "--on-loss", "allow", cwd=tmp_path)
    assert done.stdout.decode().partition("lost: ")[2] == f"{lost}\n"
    assert gzip.decompress((tmp_path / "out/data/train.csv.gz").read_bytes()) == expected


@pytest.mark.parametrize("rows", [[{"a": 1}, {"b": 1}], [{"a": 1}, {"a": 1, "b": 1}], [{"a": 1}, {}]])
def test_rows_with_other_columns_do_not_fit_csv(rows: list[Json], tmp_path: Path) -> None:
    write(tmp_path / "in/train.jsonl", rows)
    with pytest.raises(UsageError, match="the rows do not fit CSV, write them as jsonl or parquet: not all have "):
        corpusfmt.convert(tmp_path / "in", tmp_path / "out", to="csv", format="jsonl")


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_text_in_an_object_comes_back(kind: str, tmp_path: Path) -> None:
    rows = [{"doc": {"n": n, "text": text}, "meta": {"id": f"{n}"}} for n, text in enumerate(["one", "two\n", ""])]
    source = write(tmp_path / "in/train.jsonl", rows)
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), source / "train.parquet")
        (source / "train.jsonl").unlink()
    named: Any = {"field": {"text": "/doc/text", "id": "/meta/id"}}
    report = corpusfmt.validate(source, **named)
    assert (report.verdict.value, report.coverage.documents, report.by_rule) == ("valid", 3, {"GEN203": 1})
    assert [(each.id, each.text) for each in corpusfmt.read(source, **named)] == [
        ("0", "one"),
        ("1", "two\n"),
        ("2", ""),
    ]
    corpusfmt.convert(source, tmp_path / "dolma", to="dolma", **named)
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "back", to="jsonl")
    with gzip.open(tmp_path / "back/data/train.jsonl.gz") as file:
        assert [json.loads(line) for line in file] == rows


WITHOUT = {"/doc/n": "PQT202", "/doc/x": "PQT202", "/x/text": "PQT201"}


@pytest.mark.parametrize("name", WITHOUT)
def test_a_text_in_an_object_that_a_table_lacks_is_a_finding(name: str, tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist([{"doc": {"n": 1, "text": None}}]), tmp_path / "a.parquet")
    assert corpusfmt.validate(tmp_path, field={"text": name}).by_rule == {WITHOUT[name]: 1}
    assert corpusfmt.validate(tmp_path, field={"text": "/doc/text"}).by_rule == {"PQT202": 1}


NAME = "2023-06/0000/en_head.json.gz"
MINED: Json = {"url": "https://page.example/", "date_download": "2023-02-04", "digest": "d", "language": "en"}
MINED_ROWS: list[Json] = [{"raw_content": f"text {number}", **MINED} for number in range(3)]


def redpajama_2(folder: Path, *, duplicates: tuple[int, ...] = (1,), minhash: bool = False) -> Path:
    """Write three documents with quality signals and lists of duplicates, as they are published."""
    write(folder / "x", MINED_ROWS)
    for path, data in {
        f"documents/{NAME}": MINED_ROWS,
        "quality_signals/2023-06/0000/en_head.signals.json.gz": [
            {"id": f"{NAME}/{number}", "quality_signals": {"n": [[0, 6, number], [6, 6, None]]}} for number in range(3)
        ],
    }.items():
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in data).encode()))
    (folder / "x").unlink()
    tables: dict[str, Json] = {"duplicates": {"doc_id": [f"{NAME}/{number}" for number in duplicates]}}
    if minhash:
        tables["minhash"] = {"id": [f"{NAME}/{number}" for number in range(3)], "signature_sim0.7": [[b"x"]] * 3}
    for name, columns in tables.items():
        (folder / name / "2023-06/0000").mkdir(parents=True)
        pq.write_table(pa.table(columns), folder / name / f"2023-06/0000/en_head.{name}.parquet")
    return folder


def test_files_beside_documents_become_their_metadata(tmp_path: Path) -> None:
    source = redpajama_2(tmp_path / "in")
    assert (corpusfmt.validate(source).verdict.value, corpusfmt.validate(source).findings) == ("valid", [])
    found = list(corpusfmt.read(source))
    assert [each.id for each in found] == [f"{NAME}/{number}" for number in range(3)]
    assert [(each.metadata or {}).get("duplicate") for each in found] == [None, True, None]
    assert [(each.metadata or {})["quality_signals"]["n"][0][2] for each in found] == [0, 1, 2]
    corpusfmt.convert(source, tmp_path / "dolma", to="dolma")
    assert corpusfmt.validate(tmp_path / "dolma").verdict.value == "valid"
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "back", to="jsonl")
    with gzip.open(tmp_path / "back/data" / NAME.replace(".json.gz", ".jsonl.gz")) as file:
        rows = [json.loads(line) for line in file]
    assert [row.pop("quality_signals")["n"][1] for row in rows] == [[6, 6, None]] * 3
    assert [row for row in rows if row.pop("duplicate", None) in (None, True)] == MINED_ROWS


def test_files_beside_documents_that_do_not_match(tmp_path: Path) -> None:
    source = redpajama_2(tmp_path / "in", duplicates=(1, 3), minhash=True)
    (found,) = corpusfmt.validate(source).findings
    assert (found.code, found.location.line) == ("JSL107", 2)
    assert found.message == f"the row belongs to `{NAME}/3`, expected `{NAME}/NUMBER`"
    with pytest.raises(BadInput, match="would be lost: files `minhash`"):
        corpusfmt.convert(source, tmp_path / "out", to="dolma")
    signals = source / "quality_signals/2023-06/0000/en_head.signals.json.gz"
    signals.write_bytes(gzip.compress(gzip.decompress(signals.read_bytes()).partition(b"\n")[2]))
    with pytest.raises(BadInput, match=f"the row belongs to `{NAME}/1`, expected `{NAME}/0`"):
        corpusfmt.convert(source, tmp_path / "out", to="dolma", on_loss="allow")
    table = source / "duplicates/2023-06/0000/en_head.duplicates.parquet"
    table.write_bytes(table.read_bytes()[:-9])
    assert {each.code for each in corpusfmt.validate(source).findings} == {"JSL107"}
    assert "no ids are readable: " in corpusfmt.validate(source).findings[0].message
    signals.write_bytes(
        gzip.compress(f'{{"id": "{NAME}/0"}}\n{{"id": "{NAME}/1"}}\n{{"id": "{NAME}/2"}}\n{{}}\n'.encode())
    )
    pq.write_table(pa.table({"id": ["x"]}), table)
    said = {each.location.path: each.message for each in corpusfmt.validate(source).findings}
    assert said[str(signals.relative_to(source))] == f"the row belongs to `None`, expected `{NAME}/3`"
    assert said[str(table.relative_to(source))].startswith("no ids are readable")
    table.unlink()
    with pytest.raises(BadInput, match="the row belongs to `None`, expected no further row"):
        corpusfmt.convert(source, tmp_path / "out", to="dolma", on_loss="allow")


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 123456\n" % (b"0123456789abcdef" * 4)


def test_pointers_beside_a_table_are_told(tmp_path: Path) -> None:
    pq.write_table(pa.table({"q": ["x"]}), tmp_path / "a.parquet")
    for name in ("b.csv", "c.jsonl.gz", "d.parquet", "notes.md"):
        (tmp_path / name).write_bytes(POINTER)
    found = [(each.code, each.location.path) for each in corpusfmt.validate(tmp_path).findings]
    assert sorted(found) == [("GEN105", "b.csv"), ("GEN105", "c.jsonl.gz"), ("GEN105", "d.parquet")]
