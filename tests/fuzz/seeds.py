"""Seeds of mutations: small inputs of every kind, made by corpusfmt or its tests."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from fuzz import trees
from fuzz.trees import Tree
from support import FIXTURES, REPOSITORY, SAMPLE, gzipped, tarred, wet_file, wet_record, zipped

import corpusfmt

Json = dict[str, Any]
Kind = Literal["corpus", "description", "wet", "report", "settings", "recipe", "list"]

# Larger ones would only slow the rest down.
_MOST_BYTES = 24_000


@dataclass(frozen=True)
class Seed:
    """A tree, the name of its root, and the arguments with which `validate` is meant to read it."""

    name: str
    kind: Kind
    tree: Tree
    root: str = "input"
    arguments: Json = field(default_factory=dict)


def seeds() -> list[Seed]:
    """Return every seed, in the same order and with the same bytes on any machine with the same libraries."""
    with tempfile.TemporaryDirectory(prefix="corpusfmt-fuzz-") as folder:
        made = [
            *_of_fixtures(),
            *_of_samples(),
            *_of_documents(),
            *_of_pipeline(Path(folder)),
            *_of_texts(),
            *_of_reports(),
        ]
    return sorted(made, key=lambda seed: seed.name)


def _of_fixtures() -> list[Seed]:
    found = []
    for expected in sorted(FIXTURES.glob("*/*/*/*/expected.json")):
        case = expected.parent
        arguments = json.loads(expected.read_text("utf-8"))["arguments"]
        arguments.pop("blocklist", None)
        kind: Kind = "description" if "croissant" in case.parts else "corpus"
        for source in sorted(case.glob("input*")):
            tree: Tree = dict(trees.contents(source)) if source.is_dir() else {"": source.read_bytes()}
            if _size(tree) <= _MOST_BYTES:
                found.append(Seed(f"fixture {case.relative_to(FIXTURES)}", kind, tree, source.name, arguments))
    return found


def _of_samples() -> list[Seed]:
    found = []
    for folder in sorted((FIXTURES / "croissant" / "samples" / "valid").iterdir()):
        tree: Tree = {
            path: data for path, data in trees.contents(folder).items() if not path.startswith(("output/", "recipes/"))
        }
        if tree and _size(tree) <= 4 * _MOST_BYTES:
            found.append(Seed(f"sample {folder.name}", "description", tree, arguments={"data": True}))
    return found


def _size(tree: Tree) -> int:
    return sum(len(each) for each in tree.values() if isinstance(each, bytes))


def _of_pipeline(folder: Path) -> list[Seed]:
    """The bundled sample in little: WET files, what is built of them, and what that is converted to."""
    wet = _wet(folder / "wet")
    found = [Seed(f"wet {path.name}", "wet", {path.name: path.read_bytes()}) for path in wet]
    found.append(Seed("wet two", "wet", {path.name: path.read_bytes() for path in wet}))
    for recipe in sorted(REPOSITORY.glob("pipeline/*.toml")):
        target = folder / recipe.stem
        corpusfmt.build(wet, target, recipe=recipe.stem)
        # The oldest recipe leaves an empty file for each language that there is.
        tree: Tree = {path: data for path, data in trees.contents(target).items() if data}
        found.append(Seed(f"built {recipe.stem}", "corpus", tree))
    turns: Sequence[tuple[str, str, str, Json]] = (
        ("dolma of 1.1", "oscar-1.1", "dolma", {}),
        ("dolma with sets", "dolma", "dolma", {"language_attributes": True, "part_bytes": 2000}),
        ("dolma merged", "dolma", "dolma", {"merge_attributes": True}),
        ("parquet", "dolma of 1.1", "parquet", {}),
        ("1.0", "oscar-1.1", "oscar-1.0", {"on_loss": "allow"}),
        ("1.1 in parts", "dolma of 1.1", "oscar-1.1", {"part_bytes": 1500}),
    )
    for name, source, to, options in turns:
        corpusfmt.convert(folder / source, folder / name, to=to, **options)
        found.append(Seed(f"converted {name}", "corpus", dict(trees.contents(folder / name))))
    described = dict(trees.contents(folder / "dolma of 1.1"))
    described["croissant.json"] = json.dumps(corpusfmt.describe(folder / "dolma of 1.1")).encode()
    found.append(
        Seed("described dolma", "description", dict(described), arguments={"format": "croissant", "data": True})
    )
    return found


def _wet(folder: Path) -> list[Path]:
    """Return two WET files of a few short records each, in several languages."""
    whole = gzip.decompress(next(iter(sorted(SAMPLE.glob("UDHR*")))).read_bytes())
    bodies = [record.partition(b"\r\n\r\n")[2] for record in whole.split(b"WARC-Type: conversion")[1::55]]
    texts = [_long_lines(body.decode()) for body in bodies]
    records = [wet_record(number, text) for number, text in enumerate(texts)]
    return [wet_file(folder / f"{number}.warc.wet.gz", records[number::2]) for number in range(2)]


def _long_lines(text: str) -> str:
    lines = sorted(text.split("\n"), key=len)
    return "\n".join([lines[0], *lines[-3:], lines[-1]]) + "\n"


_CONTEXT: Json = json.loads((REPOSITORY / "schemas" / "croissant" / "1.0" / "context.jsonld").read_text("utf-8"))


def _file(name: str, kind: str, data: bytes) -> Json:
    digest = hashlib.sha256(data).hexdigest()
    return {"@type": "cr:FileObject", "@id": name, "contentUrl": name, "encodingFormat": kind, "sha256": digest}


def _files(name: str, includes: str, kind: str, **more: Any) -> Json:
    return {"@type": "cr:FileSet", "@id": name, "includes": includes, "encodingFormat": kind, **more}


def _field(name: str, origin: str, extract: Json, kind: str = "sc:Text", **more: Any) -> Json:
    where = "fileSet" if origin.endswith("-set") else "fileObject"
    source = {where: {"@id": origin}, "extract": extract, **more.pop("source", {})}
    return {"@type": "cr:Field", "@id": name, "dataType": kind, "source": source, **more}


def _record_set(name: str, *fields: Json, **more: Any) -> Json:
    return {"@type": "cr:RecordSet", "@id": name, "field": list(fields), **more}


def _document(name: str, distribution: Sequence[Json], *record_sets: Json, **contents: bytes) -> Seed:
    head = {"@type": "sc:Dataset", "conformsTo": "http://mlcommons.org/croissant/1.0", "name": name}
    document = {**_CONTEXT, **head, "distribution": list(distribution), "recordSet": list(record_sets)}
    tree: Tree = {each.replace("__", "/").replace("_", "."): data for each, data in contents.items()}
    tree["metadata.json"] = json.dumps(document, indent=1).encode()
    return Seed(f"document {name}", "description", tree, arguments={"format": "croissant", "data": True})


def _of_documents() -> list[Seed]:
    """Descriptions with data of every kind that is read."""
    films = b'id,title,year,tags,box\n1,"A, b",2001-02-03,x;y,"[1, 2, 3, 4]"\n2,Zoo,1999-12-31,,1 2 3 4\n'
    views = b"film,day,share,ok\n1,03/02/2024,0.5,true\n2,04/02/2024,1e3,0\n2,05/02/2024,,false\n"
    rows = b'{"id": 1, "a": {"b": ["x", "y"]}, "n": 1.5}\n{"id": 2, "a": {"b": []}, "n": null}\n'
    whole = json.dumps({"items": [{"id": 1, "name": "x"}, {"id": 2, "name": "y"}], "other": {"a": [1, 2]}}).encode()
    members = {
        "pictures/a_1.txt": b"one\ntwo\n",
        "pictures/b_2.txt": b"three",
        "t/films.csv": films,
        "rows.jsonl": rows,
    }
    key = {"field": {"@id": "films/id"}}
    film_fields = (
        _field("films/id", "films.csv", {"column": "id"}, "sc:Integer"),
        _field("films/title", "films.csv", {"column": "title"}),
        _field("films/year", "films.csv", {"column": "year"}, "sc:Date"),
        _field("films/tags", "films.csv", {"column": "tags"}, source={"transform": {"delimiter": ";"}}, repeated=True),
        _field("films/box", "films.csv", {"column": "box"}, "cr:BoundingBox"),
    )
    view_fields = (
        _field("views/film", "views.tsv", {"column": "film"}, "sc:Integer", references=key),
        _field("views/day", "views.tsv", {"column": "day"}, "sc:Date", source={"format": "dd/MM/yyyy"}),
        _field("views/share", "views.tsv", {"column": "share"}, "sc:Float"),
        _field("views/title", "films.csv", {"column": "title"}),
    )
    row_fields = (
        _field("rows/id", "rows.jsonl", {"column": "id"}, "sc:Integer"),
        _field("rows/b", "rows.jsonl", {"column": "a"}, source={"transform": {"jsonPath": "$.b[*]"}}, repeated=True),
        _field("rows/n", "rows.jsonl", {"jsonPath": "$.n"}, "sc:Float"),
    )
    item_fields = (
        _field("items/id", "whole.json", {"jsonPath": "$.items[*].id"}, "cr:Int8"),
        _field("items/name", "whole.json", {"jsonPath": "$.items[*].name"}),
    )
    text_fields = (
        _field("texts/name", "texts-set", {"fileProperty": "filename"}, source={"transform": {"regex": "^(.*)_\\d"}}),
        _field("texts/line", "texts-set", {"fileProperty": "lines"}),
    )
    member_fields = (
        _field("texts/path", "texts-set", {"fileProperty": "fullpath"}),
        _field("texts/content", "texts-set", {"fileProperty": "content"}),
    )
    member_film = (_field("film/id", "inner.csv", {"column": "id"}, "sc:Integer"),)
    nested = {
        "@type": "cr:Field",
        "@id": "n/pair",
        "subField": [
            _field("n/pair/id", "films.csv", {"column": "id"}),
            _field("n/pair/t", "films.csv", {"column": "title"}),
        ],
    }
    split = {"@id": "split", "key": {"@id": "split/name"}, "dataType": "cr:Split"}
    found = [
        _document(
            "tables",
            [_file("films.csv", "text/csv", films), _file("views.tsv", "text/csv", views)],
            _record_set("films", *film_fields, key={"@id": "films/id"}),
            _record_set("views", *view_fields),
            films_csv=films,
            views_tsv=views,
        ),
        _document(
            "json",
            [_file("rows.jsonl", "application/jsonlines", rows), _file("whole.json", "application/json", whole)],
            _record_set("rows", *row_fields),
            _record_set("items", *item_fields),
            rows_jsonl=rows,
            whole_json=whole,
        ),
        _document(
            "inline",
            [_file("films.csv", "text/csv", films)],
            _record_set("n", nested),
            _record_set(
                "split",
                {"@type": "cr:Field", "@id": "split/name", "dataType": "sc:Text"},
                {"@type": "cr:Field", "@id": "split/url", "dataType": "sc:URL"},
                **split,
                data=[{"split/name": "train", "split/url": "cr:TrainingSplit"}, {"split/name": "x", "split/url": None}],
                examples=[{"split/name": "train"}],
            ),
            films_csv=films,
        ),
    ]
    for name, kind, packed in (
        ("all.zip", "application/zip", zipped(members)),
        ("all.tar", "application/x-tar", tarred(members)),
        ("all.tar.gz", "application/gzip", gzipped(tarred(members))),
    ):
        inside = {"containedIn": {"@id": name}}
        distribution = [
            _file(name, kind, packed),
            _files("texts-set", "pictures/*.txt", "text/plain", **inside),
            {**_file("inner.csv", "text/csv", films), **inside, "contentUrl": "t/films.csv"},
        ]
        for number, fields in enumerate((text_fields, member_fields)):
            document = _document(
                f"{name} {number}", distribution, _record_set("texts", *fields), _record_set("film", *member_film)
            )
            found.append(replace(document, tree={**document.tree, name: packed}))
    return [*found, *_with_parquet()]


def _with_parquet() -> list[Seed]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return []
    sink = io.BytesIO()
    table = pa.table({"id": [1, 2], "text": ["a", "b"], "l": [[1], []], "s": [{"x": 1}, {"x": 2}]})
    pq.write_table(table, sink)
    fields = (
        _field("p/id", "a.parquet", {"column": "id"}, "sc:Integer"),
        _field("p/text", "a.parquet", {"column": "text"}),
        _field("p/x", "a.parquet", {"column": "s"}, "sc:Integer", source={"transform": {"jsonPath": "$.x"}}),
    )
    data = sink.getvalue()
    seed = _document("parquet", [_file("a.parquet", "application/x-parquet", data)], _record_set("p", *fields))
    return [replace(seed, tree={**seed.tree, "a.parquet": data})]


_SETTINGS = """profile = "strict"
fail-on = "warning"
select = ["DOL", "GEN101"]
ignore = ["OSC308"]

[[rule]]
rules = ["DOL306", "duplicate-id"]
severity = "warning"
reason = "the source is the folder"
paths = ["documents/*", "**/x.jsonl"]

[describe]
name = "Sample"
license = "https://creativecommons.org/licenses/by/4.0/"
creator = ["Example"]
date-published = 2024-03-01
keyword = ["text", "sample"]
"""


def _of_texts() -> list[Seed]:
    """Settings, recipes and lists: what users write by hand."""
    rows = b'{"id":"1","text":"a"}\n{"id":"2","text":"b","source":"s","added":"soon"}\n'
    corpus: Tree = {"documents/a.jsonl": rows, "attributes/x/a.jsonl": b'{"id":"1","attributes":{"a":[[0,1,1]]}}\n'}
    found = [Seed("settings", "settings", {**corpus, "corpusfmt.toml": _SETTINGS.encode()})]
    found.append(Seed("blocklist", "list", {**corpus, "block.txt": b"1\ns\t2\n# note\n"}))
    for recipe in sorted(REPOSITORY.glob("pipeline/*.toml")):
        wet = wet_record(1, "All human beings are born free and equal in dignity and rights. " * 3)
        tree: Tree = {"a.warc.wet": wet, "recipe.toml": recipe.read_bytes()}
        found.append(Seed(f"recipe {recipe.stem}", "recipe", tree))
    return found


def _of_reports() -> list[Seed]:
    """Saved reports, with findings of many rules."""
    found = []
    for case in ("dolma/1.0/invalid", "croissant/1.0/invalid", "oscar/1.1/invalid"):
        for number, source in enumerate(sorted((FIXTURES / case).glob("*/input*"))[::20]):
            report = corpusfmt.validate(source, format=case.partition("/")[0])
            for name in ("json", "jsonl"):
                data = corpusfmt.render(report, name).encode("utf-8", "backslashreplace")
                tree: Tree = {"documents/a.jsonl": b'{"id":"1","text":"a"}\n', "report": _timeless(data)}
                found.append(Seed(f"report {case} {number} {name}", "report", tree))
    return found


def _timeless(data: bytes) -> bytes:
    return re.sub(rb'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"', b'"2024-01-01T00:00:00Z"', data)
