"""Records chosen by value, split and field, as JSON Lines, CSV, Parquet and Arrow."""

from __future__ import annotations

import csv
import io
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from croissant.documents import document
from support import run_cli

import corpusfmt
from corpusfmt.model import UsageError

Json = dict[str, Any]
ROWS = [
    (1, "Alien", 8.5, "true", "train", "a;b"),
    (2, 'Brazil, "director\'s cut"', None, "false", "test", ""),
    (3, "Größe\n2", 7.0, None, "train", "c"),
]


def field(name: str, kind: str, **more: Any) -> Json:
    source = {"fileObject": {"@id": "films.csv"}, "extract": {"column": name}, **more.pop("source", {})}
    return {"@type": "cr:Field", "@id": f"films/{name}", "name": name, "dataType": kind, "source": source, **more}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Films in two splits."""
    with (tmp_path / "films.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "title", "stars", "seen", "part", "tags"])
        writer.writerows([["" if cell is None else cell for cell in row] for row in ROWS])
    names = {"@type": "cr:Field", "@id": "splits/name", "dataType": "sc:Text"}
    splits: Json = {"@type": "cr:RecordSet", "@id": "splits", "dataType": "cr:Split", "key": {"@id": "splits/name"}}
    splits |= {"field": [names], "data": [{"splits/name": "train"}, {"splits/name": "test"}]}
    films: Json = {
        "@type": "cr:RecordSet",
        "@id": "films",
        "field": [
            field("id", "sc:Integer"),
            field("title", "sc:Text"),
            field("stars", "sc:Float"),
            field("seen", "sc:Boolean"),
            field("part", "sc:Text", references={"@id": "splits/name"}),
            field("tags", "sc:Text", repeated=True, source={"transform": {"separator": ";"}}),
        ],
    }
    distribution = [
        {"@type": "cr:FileObject", "@id": "films.csv", "contentUrl": "films.csv", "encodingFormat": "text/csv"}
    ]
    described = tmp_path / "croissant.json"
    whole = document(isLiveDataset=True, distribution=distribution, recordSet=[splits, films])
    described.write_text(json.dumps(whole), "utf-8")
    return described


def ids(path: Path, **chosen: Any) -> list[int]:
    return [each["films/id"] for each in corpusfmt.records(path, "films", **chosen)]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("films/id==2", [2]),
        ("id==2.0", [2]),
        ("id!=2", [1, 3]),
        ("stars==8.5", [1]),
        ("stars==", [2]),
        ("stars!=", [1, 3]),
        ("seen==true", [1]),
        ("seen==1", []),
        ("title=='Alien'", [1]),
        ("title==alien", []),
        ("tags==b", [1]),
        ("tags==", [2]),
        (["part==train", "id!=1"], [3]),
    ],
)
def test_records_are_chosen_by_value(where: str | list[str], expected: list[int], path: Path) -> None:
    assert ids(path, where=where) == expected
    assert ids(path, where=where, fields=["id"]) == expected


def test_records_are_chosen_by_split(path: Path) -> None:
    assert ids(path, split="train") == [1, 3]
    with pytest.raises(UsageError, match="unknown split 'dev'; films has train, test"):
        ids(path, split="dev")
    with pytest.raises(UsageError, match="splits has no field for the split"):
        corpusfmt.records(path, "splits", split="train")


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"fields": ["name"]}, "unknown column 'name'; films has films/id, films/title"),
        ({"where": "id=2"}, "condition is 'id=2', expected 'column==value' or 'column!=value'"),
        ({"where": "name==2"}, "unknown column 'name'"),
    ],
)
def test_what_is_not_there_is_wrong_usage(chosen: Json, message: str, path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        corpusfmt.records(path, "films", **chosen)


def test_columns_are_in_the_order_asked_for_and_records_are_mappings(path: Path) -> None:
    records = corpusfmt.records(path, "films", fields=["title", "films/id"])
    first = next(iter(records))
    assert first == {"films/title": "Alien", "films/id": 1}
    assert list(first) == ["films/title", "films/id"]
    assert str(first.at) == "films.csv:2"
    assert len(list(records)) == len(list(records)) == 3


def test_columns_that_are_not_asked_for_are_not_judged(path: Path) -> None:
    table = path.with_name("films.csv")
    table.write_bytes(table.read_bytes() + b"4,Dune,many,,test,\n")
    assert ids(path, fields=["id"]) == [1, 2, 3, 4]
    with pytest.raises(corpusfmt.BadInput, match=r"CRO609.*`many`"):
        ids(path)


def test_columns_of_what_is_joined_are_read_from_where_records_begin(path: Path) -> None:
    whole = json.loads(path.read_bytes())
    titles = {"@type": "cr:Field", "@id": "views/title", "dataType": "sc:Text", "source": {"@id": "films/title"}}
    views: Json = {
        "@type": "cr:RecordSet",
        "@id": "views",
        "field": [field("film", "sc:Integer", references={"@id": "films/id"}) | {"@id": "views/film"}, titles],
    }
    views["field"][0]["source"]["fileObject"] = {"@id": "views.csv"}
    whole["recordSet"].append(views)
    whole["distribution"].append(
        {"@type": "cr:FileObject", "@id": "views.csv", "contentUrl": "views.csv", "encodingFormat": "text/csv"}
    )
    path.write_text(json.dumps(whole), "utf-8")
    path.with_name("views.csv").write_bytes(b"film\n1\n1\n")
    titles_seen = corpusfmt.records(path, "views", fields=["title"])
    assert [each["views/title"] for each in titles_seen] == ["Alien", "Alien"]


def test_tables_on_standard_output(path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    asked = ("records", path, "--record-set", "films", "--split", "train", "--fields", "id,stars,tags")
    expected = [
        {"films/id": 1, "films/stars": 8.5, "films/tags": ["a", "b"]},
        {"films/id": 3, "films/stars": 7.0, "films/tags": ["c"]},
    ]
    done = {kind: run_cli(*asked, "--output-format", kind) for kind in ("jsonl", "csv", "parquet", "arrow")}
    assert {kind: (each.returncode, each.stderr) for kind, each in done.items()} == dict.fromkeys(done, (0, b""))
    assert [json.loads(line) for line in done["jsonl"].stdout.split(b"\n")[:-1]] == expected
    assert done["csv"].stdout == b'films/id,films/stars,films/tags\n1,8.5,"[""a"",""b""]"\n3,7.0,"[""c""]"\n'
    schema = pa.schema([("films/id", pa.int64()), ("films/stars", pa.float64()), ("films/tags", pa.list_(pa.string()))])
    for table in (
        pq.read_table(io.BytesIO(done["parquet"].stdout)),
        pa.ipc.open_stream(done["arrow"].stdout).read_all(),
        corpusfmt.records(path, "films", split="train", fields=["id", "stars", "tags"]).to_arrow(),
    ):
        assert table.to_pylist() == expected
        assert table.schema.equals(schema)


def test_a_table_without_records_has_its_columns(path: Path) -> None:
    pytest.importorskip("pyarrow")
    table = corpusfmt.records(path, "films", where="id==9").to_arrow()
    assert (table.num_rows, len(table.column_names)) == (0, 6)


def test_csv_of_anything_is_read_back(path: Path) -> None:
    done = run_cli(
        "records", path, "--record-set", "films", "--output-format", "csv", "--fields", "id,title,stars,seen"
    )
    rows = list(csv.reader(io.StringIO(done.stdout.decode(), newline="")))
    assert rows[1:] == [
        [str(id_), title, "" if stars is None else str(stars), seen or ""] for id_, title, stars, seen, *_ in ROWS
    ]


def test_a_file_is_written_whole(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    done = run_cli("records", path, "--record-set", "films", "--output-format", "csv", "-o", out, "--fields", "id")
    assert (done.returncode, done.stdout, out.read_bytes()) == (0, b"", b"films/id\n1\n2\n3\n")
    path.with_name("films.csv").unlink()
    done = run_cli("records", path, "--record-set", "films", "--output-format", "csv", "-o", tmp_path / "b" / "out.csv")
    assert (done.returncode, b"does not exist" in done.stderr) == (2, True)


def test_whole_numbers_that_arrow_does_not_have(path: Path) -> None:
    pytest.importorskip("pyarrow")
    path.with_name("films.csv").write_bytes(b"id,title,stars,seen,part,tags\n" + b"9" * 30 + b",,,,train,\n")
    done = run_cli("records", path, "--record-set", "films", "--output-format", "arrow")
    assert (done.returncode, b"column 'films/id'" in done.stderr, b"write jsonl" in done.stderr) == (2, True, True)
    assert run_cli("records", path, "--record-set", "films").stdout.startswith(b'{"films/id":' + b"9" * 30)


def test_a_data_frame(path: Path) -> None:
    pytest.importorskip("pyarrow")
    if find_spec("pandas") is None:
        with pytest.raises(UsageError, match="pip install pandas"):
            corpusfmt.records(path, "films").to_pandas()
        return
    frame = corpusfmt.records(path, "films", fields=["id", "title"]).to_pandas()
    assert list(frame["films/id"]) == [1, 2, 3]
