"""Folders of all kinds, nested and dirty, with the types that their fields should have."""

from __future__ import annotations

import bz2
import io
import json
import lzma
import wave
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import lz4.frame
import pyarrow as pa
from msgspec import Struct
from pyarrow import parquet
from support import gzipped, tarred, zipped, zstd

Files = Mapping[str, bytes]
#: By name of a record set the types of its fields; of an object those of its members, of a list the type in brackets. Lists
#: of lists are not described in version 1.0.
Types = Mapping[str, Mapping[str, Any]]


class Folder(Struct, frozen=True):
    """Files, the record sets that are expected of them, and a word of each note; `keys` by record set."""

    files: Files
    types: Types
    notes: tuple[str, ...] = ()
    keys: Mapping[str, str] = {}
    #: Fields that only version 1.1 has a type for.
    later: tuple[str, ...] = ()


FOLDERS: dict[str, Folder] = {}


def folder(make: Callable[[], Folder]) -> Callable[[], Folder]:
    FOLDERS[make.__name__] = make()
    return make


def csv(*rows: str) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


def jsonl(*rows: Any) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def table(columns: Mapping[str, Any], **options: Any) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(pa.table(dict(columns)), sink, **options)
    return sink.getvalue()


def sound() -> bytes:
    sink = io.BytesIO()
    with wave.open(sink, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(8000)
        out.writeframes(b"\0\1" * 80)
    return sink.getvalue()


# Images of one pixel each.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
GIF = bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b")
FILE = {"file": "sc:Text"}
IMAGES = {"file": "sc:Text", "content": "sc:ImageObject"}
TEXTS = {"file": "sc:Text", "content": "sc:Text"}
SPLITS = {"name": "sc:Text", "url": "sc:URL"}
SPLIT = ["sc:Text", "cr:Split"]


@folder
def all_types_of_cells() -> Folder:
    rows = csv(
        "id,size,share,ok,day,at,clock,page,word",
        "1,10,0.5,true,2024-01-31,2024-01-31T10:00:00Z,10:00:00,https://example.org/1,one",
        "2,-3,1e3,false,2023-12-01,2024-02-01,23:59:59,http://example.org/2?x=1,two",
    )
    types = {
        "id": "sc:Integer", "size": "sc:Integer", "share": "sc:Float", "ok": "sc:Boolean", "day": "sc:Date",
        "at": "sc:DateTime", "clock": "sc:Time", "page": "sc:URL", "word": "sc:Text",
    }  # fmt: skip
    return Folder({"things.csv": rows}, {"things": types}, keys={"things": "id"})


@folder
def tab_separated() -> Folder:
    rows = csv("name\tage", 'x, "y"\t3', "z\t4")
    return Folder({"people.tsv": rows}, {"people": {"name": "sc:Text", "age": "sc:Integer"}})


@folder
def nulls_first() -> Folder:
    rows = [*(f",,x{n}" for n in range(5000)), "7,2.5,y"]
    types = {"number": "sc:Integer", "weight": "sc:Float", "word": "sc:Text"}
    return Folder({"late.csv": csv("number,weight,word", *rows)}, {"late": types})


@folder
def mixed_cells() -> Folder:
    rows = csv("a,b,c,d", "1,2024-01-01,true,1.5", "x,later,maybe,much", "2,2024-02-30,no,2")
    return Folder({"mixed.csv": rows}, {"mixed": dict.fromkeys("abcd", "sc:Text")})


@folder
def integers_and_floats() -> Folder:
    return Folder({"n.csv": csv("n,m", "1,1", "2.5,2")}, {"n": {"n": "sc:Float", "m": "sc:Integer"}})


@folder
def ragged_rows() -> Folder:
    rows = csv("a,b", "1,2", "3,4,5")
    types = {"whole": {"c": "sc:Integer", "d": "sc:Text"}, "ragged": TEXTS}
    return Folder(
        {"ragged.csv": rows, "whole.csv": csv("c,d", "1,x")}, types, ("as text, not as a table: the row has 3 cells",)
    )


@folder
def tables_that_are_not_text() -> Folder:
    files = {"latin.csv": "a\né\n".encode("latin-1"), "utf16.csv": "a\n1\n".encode("utf-16"), "open.csv": b'a\n"1\n2\n'}
    return Folder(files, {"open": TEXTS}, ("latin.csv: no records", "utf16.csv: no records", "a quote is not closed"))


@folder
def odd_headers() -> Folder:
    rows = csv("a b,a b,,x/y,a_b,été", "1,2,3,4,5,6")
    types = {"a b": "sc:Integer", "x/y": "sc:Integer", "a_b": "sc:Integer", "été": "sc:Integer"}
    return Folder({"odd.csv": rows}, {"odd": types}, ("has no name", "like an earlier one"))


@folder
def semicolons() -> Folder:
    return Folder(
        {"s.csv": csv("a;b", "1;2"), "t.csv": csv("a", "1")}, {"t": {"a": "sc:Integer"}, "s": TEXTS}, ("';'",)
    )


@folder
def quoted_cells_of_many_lines() -> Folder:
    rows = b'\xef\xbb\xbfid,text\r\n1,"two\nlines, ""quoted"""\r\n2,plain\r\n'
    return Folder({"quoted.csv": rows}, {"quoted": {"id": "sc:Integer", "text": "sc:Text"}}, keys={"quoted": "id"})


@folder
def compressed_tables() -> Folder:
    return Folder({"c.csv.gz": gzipped(csv("a", "1", "2"))}, {"c": {"a": "sc:Integer"}})


@folder
def tables_in_other_compression() -> Folder:
    rows = csv("a", "1", "2")
    packed = {"zst": zstd.compress(rows), "lz4": lz4.frame.compress(rows), "xz": lzma.compress(rows)}
    files = {f"c.csv.{suffix}": data for suffix, data in packed.items()} | {"a.csv.gz": gzipped(rows)}
    files["d.json.bz2"] = bz2.compress(jsonl({"b": "x"}))
    notes = [
        f"{name}: no records: mlcroissant 1.1.1 reads no tables in {codec}; compress it with gzip"
        for name, codec in (("c.csv.zst", "zstd"), ("c.csv.lz4", "lz4"), ("c.csv.xz", "xz"), ("d.json.bz2", "bzip2"))
    ]
    return Folder(files, {"a": {"a": "sc:Integer"}}, tuple(notes))


@folder
def splits_by_name() -> Folder:
    files = {f"{name}.csv": csv("text,label", f"{name} text,1") for name in ("train", "dev", "test")}
    types = {"text": "sc:Text", "label": "sc:Integer", "split": SPLIT}
    return Folder(files, {"records": types, "splits": SPLITS})


@folder
def splits_by_folder() -> Folder:
    files = {f"{name}/part-{n}.jsonl": jsonl({"text": f"{name} {n}"}) for name in ("train", "test") for n in (0, 1)}
    return Folder(files, {"part": {"text": "sc:Text", "split": SPLIT}, "splits": SPLITS})


@folder
def numbered_parts() -> Folder:
    files = {f"data/docs-{n:05}.jsonl": jsonl({"id": f"d{n}", "n": n}) for n in range(3)}
    return Folder(files, {"docs": {"id": "sc:Text", "n": "sc:Integer"}}, keys={"docs": "id"})


@folder
def different_tables() -> Folder:
    files = {
        "users.csv": csv("user_id,name", "1,x", "2,y"),
        "orders.csv": csv("order_id,user_id,total", "7,1,2.5", "8,1,1.5"),
    }
    types = {
        "users": {"user_id": "sc:Integer", "name": "sc:Text"},
        "orders": {"order_id": "sc:Integer", "user_id": "sc:Integer", "total": "sc:Float"},
    }
    return Folder(files, types, keys={"users": "user_id", "orders": "order_id"})


@folder
def few_values() -> Folder:
    rows = [f"{n},{('red', 'green', 'blue')[n % 3]}" for n in range(60)]
    return Folder({"cars.csv": csv("n,colour", *rows)}, {"cars": {"n": "sc:Integer", "colour": "sc:Text"}})


@folder
def few_values_and_splits() -> Folder:
    rows = [f"{n},{('red', 'green', 'blue')[n % 3]},{('S', 'M')[n % 2]}" for n in range(60)]
    files = {f"{name}.csv": csv("n,colour,size", *rows) for name in ("train", "test")}
    types = {"n": "sc:Integer", "colour": "sc:Text", "size": "sc:Text", "split": SPLIT}
    return Folder(files, {"records": types, "splits": SPLITS})


@folder
def repeated_keys() -> Folder:
    return Folder({"k.csv": csv("id,n", "1,1", "1,2")}, {"k": {"id": "sc:Integer", "n": "sc:Integer"}})


@folder
def rows_of_json() -> Folder:
    rows = jsonl(
        {"id": 1, "name": "x", "score": 1.5, "ok": True, "tags": ["a", "b"], "at": "2024-01-31"},
        {"id": 2, "name": None, "score": 2, "ok": False, "tags": []},
    )
    types = {"id": "sc:Integer", "name": "sc:Text", "score": "sc:Float", "ok": "sc:Boolean", "tags": ["sc:Text"],
             "at": "sc:Date"}  # fmt: skip
    return Folder({"rows.jsonl": rows}, {"rows": types}, keys={"rows": "id"})


@folder
def nested_rows() -> Folder:
    rows = jsonl(
        {"id": "a", "user": {"name": "x", "place": {"lat": 1.5, "lon": 2}, "langs": ["de"]}, "n": 1},
        {"id": "b", "user": {"name": "y", "place": None}, "n": 2},
        {"id": "c", "user": None, "n": 3},
    )
    user = {"name": "sc:Text", "place.lat": "sc:Float", "place.lon": "sc:Integer", "langs": ["sc:Text"]}
    return Folder({"nested.jsonl": rows}, {"nested": {"id": "sc:Text", "user": user, "n": "sc:Integer"}},
                  keys={"nested": "id"})  # fmt: skip


@folder
def mixed_rows() -> Folder:
    rows = jsonl({"a": 1, "b": [1], "c": {"x": 1}, "d": "t"}, {"a": "one", "b": "x", "c": 2, "d": None})
    return Folder({"mix.ndjson": rows}, {"mix": {"a": "sc:Text", "d": "sc:Text"}}, ("`b` is not", "`c` is not"))


@folder
def lists_of_objects() -> Folder:
    rows = jsonl(
        {
            "n": 1,
            "boxes": [{"x": 1, "at": {"lat": 1.5}, "tags": ["a"]}, {"x": None, "day": "2024-01-31", "tags": []}, None],
        },
        {"n": 2, "boxes": [], "who": {"name": "x", "jobs": [{"title": "a", "years": [1, 2]}, {"title": "b"}]}},
    )
    boxes = [{"x": "sc:Integer", "at.lat": "sc:Float", "tags": ["sc:Text"], "day": "sc:Date"}]
    types = {"n": "sc:Integer", "boxes": boxes, "who": {"name": "sc:Text"},
             "who.jobs.title": ["sc:Text"]}  # fmt: skip
    return Folder(
        {"deep.jsonl": rows}, {"deep": types}, ("`who.jobs.years` is not described: lists of lists and null",)
    )


@folder
def lists_of_objects_that_are_null() -> Folder:
    rows = [
        {"n": 1, "spans": [{"from": 0, "of": {"name": "x"}, "at": [1, 2]}, {"from": None, "at": []}]},
        {"n": 2, "spans": None},
        {"n": 3, "spans": []},
        {"n": 4},
    ]
    spans = pa.array([[{"x": 1, "y": "a"}, {"x": None, "y": "b"}], None, []])
    types = {
        "n": "sc:Integer",
        "spans.from": ["sc:Integer"],
        "spans.of.name": ["sc:Text"],
        "spans.at": [["sc:Integer"]],
    }
    in_parquet = {"n": "sc:Integer", "spans.x": ["sc:Integer"], "spans.y": ["sc:Text"]}
    files = {
        "a.json": json.dumps(rows).encode(),
        "b.jsonl": jsonl(*rows),
        "c.parquet": table({"n": [1, 2, 3], "spans": spans}),
    }
    return Folder(files, {"a": types, "b": types, "c": in_parquet})


@folder
def lists_of_objects_in_every_row() -> Folder:
    rows = jsonl(
        {"id": 1, "turns": [{"role": "user", "text": "a", "n": 1}, {"role": "bot", "text": "1", "n": None}]},
        {"id": 2, "turns": []},
        {
            "id": 3,
            "turns": [{"role": "user", "text": "b", "ok": True, "at": "2024-01-31T10:00:00Z", "refs": ["u", "v"]}],
        },
    )
    turns = {"role": "sc:Text", "text": "sc:Text", "n": "sc:Integer", "ok": "sc:Boolean", "at": "sc:DateTime",
             "refs": ["sc:Text"]}  # fmt: skip
    return Folder({"talks.jsonl": rows}, {"talks": {"id": "sc:Integer", "turns": [turns]}}, keys={"talks": "id"})


@folder
def lists_of_objects_in_json() -> Folder:
    rows = [{"n": 1, "spans": [{"from": 0, "to": 3, "of": {"name": "x"}}]}, {"n": 2, "spans": []}]
    spans = {"from": "sc:Integer", "to": "sc:Integer", "of.name": "sc:Text"}
    files = {"a.json": json.dumps(rows).encode(), "d/lone.json": json.dumps([{"spans": [{"x": 1}]}]).encode()}
    return Folder(files, {"a": {"n": "sc:Integer", "spans": [spans]}}, ("no field next to it", "no column can be"))


@folder
def lists_of_objects_in_parquet() -> Folder:
    columns = {
        "id": pa.array([1, 2, 3]),
        "boxes": pa.array([[{"x": 1, "label": "a"}, {"x": None, "label": "b"}], [], [{"x": 3, "label": None}]]),
        "grid": pa.array([[[1.5, 2], [3]], [], [[4]]], pa.list_(pa.list_(pa.float64()))),
        "deep": pa.array([{"rows": [{"t": "a"}], "n": 1}, {"rows": [], "n": 2}, {"rows": [{"t": "b"}], "n": 3}]),
    }
    types = {"id": "sc:Integer", "boxes": [{"x": "sc:Integer", "label": "sc:Text"}], "grid": [["sc:Float"]],
             "deep": {"n": "sc:Integer"}, "deep.rows": [{"t": "sc:Text"}]}  # fmt: skip
    return Folder({"t.parquet": table(columns)}, {"t": types}, keys={"t": "id"})


@folder
def lists_of_lists() -> Folder:
    rows = jsonl(
        {"n": 1, "grid": [[1, 2], [3]], "cube": [[[1.5]], [[2], []]], "words": [["a"], []], "odd": [[1], None]},
        {"n": 2, "grid": [], "cube": [], "words": [[]], "odd": [[{"x": 1}]]},
        {"n": 3, "grid": None, "mixed": [[1], 2]},
    )
    types = {"n": "sc:Integer", "grid": [["sc:Integer"]], "cube": [[["sc:Float"]]], "words": [["sc:Text"]]}
    return Folder({"grids.jsonl": rows}, {"grids": types}, ("`odd` is not described", "`mixed` is not described"))


@folder
def broken_rows() -> Folder:
    return Folder({"bad.jsonl": b'{"a": 1}\n{"a": \n', "list.jsonl": b"[1]\n", "good.jsonl": jsonl({"z": 1})},
                  {"good": {"z": "sc:Integer"}}, ("not one JSON value", "expected an object"))  # fmt: skip


@folder
def json_of_records() -> Folder:
    rows = [{"id": 1, "u": {"n": "x"}, "tags": ["a"]}, {"id": 2, "tags": None}]
    types = {"id": "sc:Integer", "u": {"n": "sc:Text"}, "tags": ["sc:Text"]}
    return Folder({"list.json": json.dumps(rows).encode()}, {"list": types}, keys={"list": "id"})


@folder
def json_next_to_the_description() -> Folder:
    files = {f"{n}.json": json.dumps([{"n": n}]).encode() for n in range(3)}
    return Folder(files, {"records": {"n": "sc:Integer"}})


@folder
def json_with_tables_inside() -> Folder:
    document = {
        "info": {"year": 2024},
        "images": [{"id": 1, "file": "a"}, {"id": 2, "file": "b"}],
        "labels": [{"name": "x"}],
    }
    types = {"coco": {"id": "sc:Integer", "file": "sc:Text"}, "coco_2": {"name": "sc:Text"}}
    return Folder({"coco.json": json.dumps(document).encode()}, types, keys={"coco": "id"})


@folder
def json_of_objects_alone() -> Folder:
    rows = [{"u": {"id": 1, "n": "x"}}, {"u": {"id": 2}}]
    return Folder({"o.json": json.dumps(rows).encode()}, {"o": {"u.id": "sc:Integer", "u.n": "sc:Text"}})


@folder
def json_documents() -> Folder:
    files = {f"d/{n}.json": json.dumps({"title": f"t{n}", "n": n}).encode() for n in range(3)}
    return Folder(files, {"d": {"title": "sc:Text", "n": "sc:Integer"}})


@folder
def tables_of_parquet() -> Folder:
    columns = {
        "id": pa.array([1, 2, None], pa.int64()),
        "f": pa.array([1.5, None, 3.0], pa.float32()),
        "ok": pa.array([True, None, False]),
        "word": pa.array(["x", "y", None]),
        "tags": pa.array([["a"], [], None], pa.list_(pa.string())),
        "day": pa.array([1, 2, 3], pa.date32()),
        "at": pa.array([10**6, 2 * 10**6, 3 * 10**6], pa.timestamp("us", "UTC")),
        "at_home": pa.array([{"x": 1, "y": "a"}, {"x": 2, "y": None}, None]),
        "kind": pa.array(["p", "q", "p"]).dictionary_encode(),
        "for_": pa.array([1, 2, 3], pa.duration("s")),
        "exactly": pa.array([1, 17 * 10**17 + 1, None], pa.timestamp("ns", "Europe/Berlin")),
    }
    types = {"id": "sc:Integer", "f": "sc:Float", "ok": "sc:Boolean", "word": "sc:Text", "tags": ["sc:Text"],
             "day": "sc:Date", "at": "sc:DateTime", "exactly": "sc:DateTime", "at_home": {"x": "sc:Integer", "y": "sc:Text"}, "kind": "sc:Text"}  # fmt: skip
    return Folder({"t.parquet": table(columns)}, {"t": types}, ("`for_` is duration",))


@folder
def parquet_with_nanoseconds() -> Folder:
    whole, finer = pa.array([1_000, None], pa.time64("ns")), pa.array([1, None], pa.time64("ns"))
    columns = {
        "a": {"n": [1, 2], "t": finer},
        "b": {"n": [1, 2], "t": whole},
        "c": {"at": pa.StructArray.from_arrays([finer], ["t"])},
        "d": {"at": pa.ListArray.from_arrays(pa.array([0, 1, 2]), finer), "n": [1, 2]},
        "e": {"t": finer.dictionary_encode()},
    }
    files = {f"{name}.parquet": table(each) for name, each in columns.items()}
    notes = [f"{name}.parquet: no records: `{column}` has times that mlcroissant 1.1.1 does not read"
             for name, column in (("a", "t"), ("c", "at"), ("d", "at"), ("e", "t"))]  # fmt: skip
    return Folder(files, {"b": {"n": "sc:Integer", "t": "sc:Time"}}, tuple(notes), later=("t",))


@folder
def times_in_parquet() -> Folder:
    columns = {
        "n": pa.array([1, 2]),
        "whole": pa.array([1, None], pa.time32("s")),
        "fine": pa.array([1, 2], pa.time64("us")),
        "several": pa.array([[1], []], pa.list_(pa.time32("ms"))),
        "text": pa.array(["10:00:00", "11:00:00"]),
    }
    types = {"n": "sc:Integer", "whole": "sc:Time", "fine": "sc:Time", "several": ["sc:Time"], "text": "sc:Time"}
    return Folder({"t.parquet": table(columns)}, {"t": types}, later=("whole", "fine", "several"))


@folder
def parts_of_parquet() -> Folder:
    files = {f"data/{name}-00000-of-00001.parquet": table({"text": [f"{name} 1", f"{name} 2"], "label": [0, 1]})
             for name in ("train", "test")}  # fmt: skip
    return Folder(files, {"data": {"text": "sc:Text", "label": "sc:Integer", "split": SPLIT}, "splits": SPLITS})


@folder
def images_in_parquet() -> Folder:
    return Folder({"i.parquet": table({"image": [{"bytes": PNG, "path": "a.png"}], "raw": [PNG], "other": [b"\1\2"]})},
                  {"i": {"image": {"bytes": "sc:ImageObject", "path": "sc:Text"}, "raw": "sc:ImageObject"}},
                  ("`other` is not",))  # fmt: skip


@folder
def texts() -> Folder:
    files = {"books/a.txt": "Ein Text,\n\nmit „Zeichen“.\n".encode(), "books/b.txt": b"More\n", "books/empty.txt": b"",
             "README.md": b"# Books\n", "LICENSE": b"MIT\n"}  # fmt: skip
    return Folder(files, {"books": TEXTS}, ("empty",))


@folder
def texts_that_are_none() -> Folder:
    return Folder({"a.txt": b"\xff\xfe\x00", "b.txt.gz": gzipped(b"x\n"), "c.txt": b"fine"}, {"c": TEXTS},
                  ("not UTF-8", "compressed text"))  # fmt: skip


@folder
def images() -> Folder:
    files = {f"{split}/{name}.png": PNG for split in ("train", "test") for name in "ab"}
    return Folder(files, {"records": IMAGES | {"split": SPLIT}})


@folder
def images_under_false_names() -> Folder:
    files = {"a.png": PNG, "b.jpg": PNG, "c.png": b"no image at all", "d.gif": GIF}
    return Folder(files, {"records": IMAGES},
                  ("begins like image/png", "does not begin like image/png",
                   "1 file of image/gif: no records: mlcroissant 1.1.1 reads such files in a zip or tar only"))  # fmt: skip


@folder
def sounds() -> Folder:
    types = {"audio": {"file": "sc:Text", "content": "sc:AudioObject"}, "image": IMAGES}
    files = {"clips.tar": tarred({f"clips/{n}.wav": sound() for n in range(3)}), "moving.zip": zipped({"a.gif": GIF})}
    return Folder(files | {"a.wav": sound()}, types, ("1 file of audio/wav: no records",))


@folder
def archives() -> Folder:
    members = {"in/a.csv": csv("x,y", "1,a", "2,b"), "in/b.jsonl": jsonl({"z": 1.5}), "in/n.txt": b"one, two\n",
               "in/m.txt": b"three", "in/p.png": PNG, "in/q.bin": b"\0\1", "../up.csv": csv("a", "1")}  # fmt: skip
    types = {"a": {"x": "sc:Integer", "y": "sc:Text"}, "b": {"z": "sc:Float"}, "text": TEXTS, "image": IMAGES}
    return Folder({"all.zip": zipped(members)}, types, ("leads out", "octet-stream"))


@folder
def packed_tables() -> Folder:
    packed = gzipped(tarred({"t/c.csv": csv("a,b", "1,x"), "t/d.tsv": csv("c\td", "1.5\t2024-01-01")}))
    types = {"c": {"a": "sc:Integer", "b": "sc:Text"}, "d": {"c": "sc:Float", "d": "sc:Date"}}
    return Folder({"tables.tar.gz": packed}, types)


@folder
def odd_names() -> Folder:
    files = {"a b/100% [1].csv": csv("x", "1"), "a b/ü{2}.csv": csv("y", "2"), "a b/t:x.csv": csv("z", "3"),
             ".hidden.csv": csv("x", "1"), ".git/config": b"x"}  # fmt: skip
    types = {"100_1": {"x": "sc:Integer"}, "ü_2": {"y": "sc:Integer"}, "t_x": {"z": "sc:Integer"}}
    return Folder(files, types, ("2 hidden files",))


@folder
def files_of_other_kinds() -> Folder:
    files = {
        "paper.pdf": b"%PDF-1.7",
        "model.bin": b"\0\1\2",
        "empty.csv": b"",
        "head.csv": csv("a,b"),
        "broken.zip": b"PK no",
        "rows.zip": gzipped(csv("a", "1")),
        "packed.tar": zipped({"a.csv": csv("a", "1")}),
    }
    return Folder(files, {"head": {"a": "sc:Text", "b": "sc:Text"}},
                  ("application/pdf", "octet-stream", "empty", "does not begin like an archive"))  # fmt: skip


@folder
def shards_of_samples() -> Folder:
    def sample(n: int) -> Files:
        about = json.dumps({"id": n, "width": 1}).encode()
        return {f"{n:05}.png": PNG, f"{n:05}.json": about, f"{n:05}.cls": b"3", f"{n:05}.txt": b'one, "two"\n'}

    shards = {f"train-{n:04}.tar": tarred({**sample(2 * n), **sample(2 * n + 1)}) for n in range(2)}
    types = {"image": IMAGES, "text": TEXTS, "cls": TEXTS, "json": TEXTS}
    return Folder(shards, types, ("reads the members of JSON only outside of archives",))


@folder
def tables_without_header() -> Folder:
    files = {
        "numbers.csv": csv("0,0,0.0", "1,1,0.5"), "pairs.tsv": csv("0\tgood morning\tguten Morgen", "1\tx\ty"),
        "days.csv": csv("2024-01-31,https://example.org/1,a", "2024-02-01,https://example.org/2,b"),
        "years.csv": csv("country,1990,1991", "x,1,2"), "names.csv": csv("id,name", "1,x"),
    }  # fmt: skip
    types = {"years": {"country": "sc:Text", "1990": "sc:Integer", "1991": "sc:Integer"},
             "names": {"id": "sc:Integer", "name": "sc:Text"}, "records": TEXTS}  # fmt: skip
    notes = [
        f"{name}: described as text, not as a table: no header" for name in ("numbers.csv", "pairs.tsv", "days.csv")
    ]
    return Folder(files, types, tuple(notes), keys={"names": "id"})


@folder
def arrays_of_zarr() -> Folder:
    files = {"x.zarr/.zgroup": b"{}", "x.zarr/a/.zarray": b'{"shape": [2]}', "x.zarr/a/0": b"\0\1",
             "y.zarr/zarr.json": b'{"zarr_format": 3}', "y.zarr/c/0": b"\0", "t.csv": csv("a", "1")}  # fmt: skip
    notes = ("x.zarr: no records: a Zarr store, listed by its 3 files", "y.zarr: no records")
    return Folder(files, {"t": {"a": "sc:Integer"}}, notes)


@folder
def images_that_a_table_names() -> Folder:
    images = {f"images/{n}.png": PNG for n in range(3)}
    tables = {
        "labels.csv": csv("image,label", "2.png,x", "0.png,y", "1.png,x", "0.png,z"),
        "paths.jsonl": jsonl({"path": "images/1.png", "n": 1}, {"path": "images/0.png", "n": 2}),
        "others.csv": csv("picture,n", "0.png,1", "3.png,2"),
    }
    types = {
        "labels": {"image": "sc:Text", "label": "sc:Text", "content": "sc:ImageObject"},
        "paths": {"path": "sc:Text", "n": "sc:Integer"},
        "others": {"picture": "sc:Text", "n": "sc:Integer"},
        "images": IMAGES,
    }
    return Folder(images | tables, types, ("paths: `path` is not joined to the images",))


def write(made: Folder, root: Path) -> Path:
    """Write the files of a folder."""
    for name, data in made.files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root
