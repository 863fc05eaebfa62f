"""Damage to the data that a Croissant description describes: files, archives, rows and values."""

from __future__ import annotations

import hashlib
import io
import json
import random
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

from croissant.documents import document
from damage.kinds import KINDS, Kind, Tree
from support import gzipped, tarred, zipped

_CSV_ROWS = 12


def _file(name: str, kind: str, data: bytes, **more: Any) -> dict[str, Any]:
    facts = {"sha256": hashlib.sha256(data).hexdigest(), "contentSize": f"{len(data)} B"}
    return {"@type": "cr:FileObject", "@id": name, "contentUrl": name, "encodingFormat": kind, **facts, **more}


def _field(name: str, origin: Mapping[str, Any], kind: str, **more: Any) -> dict[str, Any]:
    return {"@type": "cr:Field", "@id": name, "dataType": kind, "source": origin, **more}


def _column(file: str, name: str) -> dict[str, Any]:
    return {"fileObject": {"@id": file}, "extract": {"column": name}}


def valid(rng: random.Random) -> Tree:
    """Return data of every kind, without what says of it how large it is and what its digest is."""
    films = [[str(number), f'"Film, {rng.randrange(99)}"', f"2001-02-{number:02}"] for number in range(1, _CSV_ROWS)]
    views = [[str(rng.randrange(1, _CSV_ROWS)), f"{rng.random():.3f}", rng.choice(["true", "false"])] for _ in range(9)]
    rows = [{"id": number, "name": f"n{rng.randrange(99)}", "n": rng.random()} for number in range(6)]
    items = [{"id": number, "name": f"i{rng.randrange(99)}"} for number in range(5)]
    return {
        "films.csv": _csv(["id", "title", "day"], films),
        "views.csv": _csv(["film", "share", "ok"], views),
        "rows.jsonl": b"".join(json.dumps(row).encode() + b"\n" for row in rows),
        "items.json": json.dumps({"items": items}).encode(),
        "texts.zip": zipped(
            {f"t/{number}_{rng.randrange(99)}.txt": b"text\n" for number in range(3)}, zipfile.ZIP_STORED
        ),
        "texts.tar.gz": gzipped(tarred({"u/a_1.txt": b"one\n", "u/b_2.txt": b"two\n"})),
    }


def _csv(names: list[str], rows: list[list[str]]) -> bytes:
    return "".join(",".join(row) + "\n" for row in [names, *rows]).encode()


_KINDS = {".csv": "text/csv", ".jsonl": "application/jsonlines", ".json": "application/json", ".zip": "application/zip"}


def described(tree: Tree, facts_of: Tree) -> Tree:
    """Return data with its description, whose digests and sizes are those of `facts_of`."""
    distribution = [
        _file(name, _KINDS.get(name[name.index(".") :], "application/gzip"), data) for name, data in facts_of.items()
    ]
    for name, folder in (("texts.zip", "t"), ("texts.tar.gz", "u")):
        inside = {"containedIn": {"@id": name}, "includes": f"{folder}/*.txt", "encodingFormat": "text/plain"}
        distribution.append({"@type": "cr:FileSet", "@id": f"in {name}".replace(" ", "-"), **inside})
    path = {"extract": {"fileProperty": "filename"}, "transform": {"regex": r"^.*_(\d+)\.txt$"}}
    sets = {
        "films": [
            _field("films/id", _column("films.csv", "id"), "sc:Integer"),
            _field("films/title", _column("films.csv", "title"), "sc:Text"),
            _field("films/day", _column("films.csv", "day"), "sc:Date"),
        ],
        "views": [
            _field("views/film", _column("views.csv", "film"), "sc:Integer", references={"@id": "films/id"}),
            _field("views/share", _column("views.csv", "share"), "sc:Float"),
            _field("views/ok", _column("views.csv", "ok"), "sc:Boolean"),
        ],
        "rows": [
            _field("rows/id", _column("rows.jsonl", "id"), "cr:UInt8"),
            _field("rows/name", _column("rows.jsonl", "name"), "sc:Text"),
            _field("rows/n", _column("rows.jsonl", "n"), "sc:Float"),
        ],
        "items": [
            _field(
                "items/id",
                {"fileObject": {"@id": "items.json"}, "extract": {"jsonPath": "$.items[*].id"}},
                "sc:Integer",
            ),
            _field(
                "items/name",
                {"fileObject": {"@id": "items.json"}, "extract": {"jsonPath": "$.items[*].name"}},
                "sc:Text",
            ),
        ],
        "zip": [_field("zip/number", {"fileSet": {"@id": "in-texts.zip"}, **path}, "sc:Integer")],
        "tar": [_field("tar/number", {"fileSet": {"@id": "in-texts.tar.gz"}, **path}, "sc:Integer")],
    }
    keys = {"films": "films/id", "rows": "rows/id", "items": "items/id"}
    record_sets = [
        {"@type": "cr:RecordSet", "@id": name, "field": fields} | ({"key": {"@id": keys[name]}} if name in keys else {})
        for name, fields in sets.items()
    ]
    head = {
        "description": "d",
        "url": "https://example.org/a",
        "license": "https://creativecommons.org/licenses/by/4.0/",
        "creator": {"@type": "sc:Person", "name": "Jane Doe"},
        "datePublished": "2024-03-01",
        "keywords": ["a"],
        "publisher": {"@type": "sc:Organization", "name": "Example"},
        "version": "1.0.0",
        "dateCreated": "2024-02-01",
        "dateModified": "2024-02-29",
        "sameAs": "https://example.com/a",
        "sdLicense": "https://creativecommons.org/publicdomain/zero/1.0/",
        "inLanguage": "en",
    }
    whole = document(**head, distribution=distribution, recordSet=record_sets)
    return {**tree, "metadata.json": json.dumps(whole, indent=1).encode()}


Change = Callable[[random.Random, bytes], bytes | None]


def _damage(name: str, files: str, change: Change, *rules: str, undetectable: str = "", listed: bool = True) -> None:
    """Register a change to one of some files, None to lose it; `listed` writes its new digest into the description."""

    def make(rng: random.Random) -> Tree:
        tree = valid(rng)
        file = rng.choice(files.split())
        changed = change(rng, tree[file])
        after = {path: data for path, data in tree.items() if path != file} | (
            {} if changed is None else {file: changed}
        )
        return described(after, tree if changed is None or not listed else after | {file: changed})

    KINDS.append(Kind("Croissant data", name, make, frozenset(rules), undetectable))


def _row(data: bytes, rng: random.Random) -> tuple[list[bytes], int]:
    lines = data.split(b"\n")[:-1]
    return lines, rng.randrange(1, len(lines))


def _cell(column: int, *values: str) -> Change:
    def change(rng: random.Random, data: bytes) -> bytes:
        lines, at = _row(data, rng)
        first, rest = lines[at].split(b",", 1)
        middle, last = rest.rsplit(b",", 1)
        cells = [first, middle, last]
        cells[column] = rng.choice(values).encode()
        lines[at] = b",".join(cells)
        return b"\n".join(lines) + b"\n"

    return change


def _line(edit: Callable[[random.Random, bytes], bytes]) -> Change:
    def change(rng: random.Random, data: bytes) -> bytes:
        lines, at = _row(data, rng)
        lines[at] = edit(rng, lines[at])
        return b"\n".join(lines) + b"\n"

    return change


def _json(edit: Callable[[random.Random, dict[str, Any]], object]) -> Change:
    def change(rng: random.Random, data: bytes) -> bytes:
        lines, at = _row(data, rng)
        row = json.loads(lines[at])
        edit(rng, row)
        lines[at] = json.dumps(row).encode()
        return b"\n".join(lines) + b"\n"

    return change


def _item(edit: Callable[[random.Random, list[Any]], object]) -> Change:
    def change(rng: random.Random, data: bytes) -> bytes:
        whole = json.loads(data)
        edit(rng, whole["items"])
        return json.dumps(whole).encode()

    return change


def _member(edit: Callable[[random.Random, dict[str, bytes]], object]) -> Change:
    def change(rng: random.Random, data: bytes) -> bytes:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        edit(rng, members)
        return zipped(members, zipfile.ZIP_STORED)

    return change


def _flip(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) // 3, len(data) - 1)]


_ALL = "films.csv views.csv rows.jsonl items.json texts.zip texts.tar.gz"
_FREE = "any text is a text"
_damage("file lost", _ALL, lambda rng, data: None, "CRO601")
_damage("file empty", _ALL, lambda rng, data: b"", "CRO602", "CRO603", listed=False)
_damage("a byte more", _ALL, lambda rng, data: data + b"\n", "CRO602", "CRO603", listed=False)
_damage("a bit flipped", _ALL, _flip, "CRO603", listed=False)
_damage("cut", _ALL, _cut, "CRO602", "CRO603", listed=False)
_damage("replaced by an error page", _ALL, lambda rng, data: b"<html>404</html>", "CRO602", "CRO603", listed=False)
_damage("zip cut, listed", "texts.zip", _cut, "CRO604")
_damage("zip that is none, listed", "texts.zip", lambda rng, data: b"<html>404</html>", "CRO604")
_damage("tar that is none, listed", "texts.tar.gz", lambda rng, data: gzipped(b"no tar"), "CRO604", "GEN101")
_damage("tar.gz cut, listed", "texts.tar.gz", _cut, "CRO604", "GEN101")
_damage("tar.gz that is not compressed, listed", "texts.tar.gz", lambda rng, data: b"x" * 600, "CRO604", "GEN101")
_damage(
    "zip member lost",
    "texts.zip",
    _member(lambda rng, members: members.pop(next(iter(members)))),
    undetectable="a file set has as many files as there are",
)
_damage("zip members all lost", "texts.zip", _member(lambda rng, members: members.clear()), "CRO605")
_damage("zip folder renamed", "texts.zip", lambda rng, data: data.replace(b"t/", b"v/"), "CRO605")
_damage("zip member renamed", "texts.zip", _member(lambda rng, m: m.update({"t/cover.txt": m.popitem()[1]})), "CRO610")
_damage(
    "zip member of another number",
    "texts.zip",
    _member(lambda rng, m: m.update({"t/9_7.txt": m.popitem()[1]})),
    undetectable="any number is a number",
)
_damage("zip of a wrong checksum", "texts.zip", lambda rng, data: data.replace(b"text\n", b"TEXT\n", 1), "CRO604")
_damage(
    "zip folder and its numbers lost",
    "texts.zip",
    _member(lambda rng, m: [m.update({name.replace("_", "-"): m.pop(name)}) for name in list(m)]),
    "CRO610",
)
_damage("column renamed", "films.csv", lambda rng, data: data.replace(b"title", b"name", 1), "CRO606")
_damage("column of another case", "films.csv", lambda rng, data: data.replace(b"day", b"Day", 1), "CRO606")
_damage("header lost", "films.csv views.csv", lambda rng, data: data.partition(b"\n")[2], "CRO606")
_damage("semicolons for commas", "views.csv", lambda rng, data: data.replace(b",", b";"), "CRO606")
_damage(
    "key twice",
    "films.csv",
    _line(lambda rng, line: (b"2" if line[:2] == b"1," else b"1") + line[line.index(b",") :]),
    "CRO611",
)
_damage("key empty", "films.csv", _cell(0, ""), "CRO612")
_damage("key a word", "films.csv", _cell(0, "x", "one", "1a"), "CRO609")
_damage("key with a fraction", "films.csv", _cell(0, "1.5", "0.1"), "CRO609")
_damage("key changed to one of no row", "films.csv", _cell(0, "999"), "CRO613", undetectable="no view is of that film")
_damage("title changed", "films.csv", _cell(1, "Another", "X"), undetectable=_FREE)
_damage("title lost", "films.csv", _cell(1, ""), undetectable="a value that is no key may be absent")
_damage("title with an open quote", "films.csv", _cell(1, '"open'), "CRO607", "CRO609")
_damage("title with a bare comma", "films.csv", _cell(1, "a,b,c"), "CRO607")
_damage("date that does not exist", "films.csv", _cell(2, "2001-02-30", "2001-13-01"), "CRO609")
_damage("date of another order", "films.csv", _cell(2, "03/02/2001", "3 Feb 2001"), "CRO609")
_damage("foreign key of no film", "views.csv", _cell(0, "77", "-1"), "CRO613")
_damage("foreign key of another film", "views.csv", _cell(0, "1", "2"), undetectable="any key of a film is a key")
_damage("share a word", "views.csv", _cell(1, "half", "1,5", "0x10"), "CRO609", "CRO607")
_damage("share with a comma", "views.csv", _cell(1, '"0,5"'), "CRO609")
_damage("boolean a word", "views.csv", _cell(2, "yes", "maybe", "2"), "CRO609")
_damage("row with a cell more", "views.csv", _line(lambda rng, line: line + b",x"), "CRO607")
_damage("row with a cell less", "views.csv", _line(lambda rng, line: line.rpartition(b",")[0]), "CRO607")
_damage(
    "row lost",
    "views.csv",
    lambda rng, data: data[: data.rstrip(b"\n").rindex(b"\n") + 1],
    undetectable="nothing counts the rows",
)
_damage("row twice", "films.csv", _line(lambda rng, line: line + b"\n" + line), "CRO611")
_damage(
    "a byte that is not UTF-8",
    "films.csv views.csv",
    _line(lambda rng, line: line[:2] + b"\xe9" + line[2:]),
    "GEN201",
    "CRO609",
    "CRO607",
)
_damage("file in UTF-16", "films.csv", lambda rng, data: data.decode().encode("utf-16"), "GEN201", "CRO606")
_damage("JSON line cut", "rows.jsonl", _line(lambda rng, line: line[:-3]), "GEN301")
_damage(
    "JSON line of another kind",
    "rows.jsonl",
    _line(lambda rng, line: b"[1]"),
    "GEN301",
    "CRO608",
    "CRO609",
    "CRO606",
    "CRO612",
)
_damage("JSON key twice", "rows.jsonl", _json(lambda rng, row: row.update(id=0)), "CRO611")
_damage("JSON key lost", "rows.jsonl", _json(lambda rng, row: row.pop("id")), "CRO612", "CRO606")
_damage("JSON key null", "rows.jsonl", _json(lambda rng, row: row.update(id=None)), "CRO612")
_damage(
    "JSON key beyond its type",
    "rows.jsonl",
    _json(lambda rng, row: row.update(id=rng.choice([256, -1, 10**30]))),
    "CRO609",
)
_damage("JSON number a word", "rows.jsonl", _json(lambda rng, row: row.update(n="many")), "CRO609")
_damage("JSON text an object", "rows.jsonl", _json(lambda rng, row: row.update(name={"a": 1})), "CRO609")
_damage(
    "JSON member of a list lost",
    "items.json",
    _item(lambda rng, items: rng.choice(items).pop("name")),
    undetectable="a value that is no key may be absent",
)
_damage(
    "JSON key of a list lost", "items.json", _item(lambda rng, items: rng.choice(items).pop("id")), "CRO608", "CRO612"
)
_damage(
    "JSON key of a list twice", "items.json", _item(lambda rng, items: items[0].update(id=items[1]["id"])), "CRO611"
)
_damage("JSON list lost", "items.json", lambda rng, data: b'{"things": []}', "CRO606", "CRO608")
_damage("JSON document cut, listed", "items.json", _cut, "CRO604")
