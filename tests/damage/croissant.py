"""Damage to a Croissant description: a property lost, misspelt or of another value, a reference that leads nowhere."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from damage.kinds import KINDS, Kind, Tree
from support import FIXTURES

import corpusfmt

Json = dict[str, Any]
_FILE = FIXTURES / "croissant" / "1.0" / "valid" / "loaded" / "input.json"
_BASE = _FILE.read_bytes()
#: The same description in each version.
_VERSIONS = (_BASE, corpusfmt.fix(_FILE, to="1.1", write=False).changes[0].after or b"")
_ROOT = "sc:Dataset"
_CONTENT = {"fileProperty": "content"}


def _nodes(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _nodes(inner)


def _kind(name: str, change: Callable[[random.Random, Json], object], *rules: str, undetectable: str = "") -> None:
    def make(rng: random.Random) -> Tree:
        document = json.loads(rng.choice(_VERSIONS))
        # Each mutant is of a description of its own.
        document["description"] = f"Ratings of films, number {rng.randrange(10**6)}."
        change(rng, document)
        return {"metadata.json": json.dumps(document, indent=1, ensure_ascii=False).encode()}

    KINDS.append(Kind("Croissant", name, make, frozenset(rules), undetectable))


def _raw(name: str, change: Callable[[random.Random, bytes], bytes], *rules: str) -> None:
    def make(rng: random.Random) -> Tree:
        return {"metadata.json": change(rng, rng.choice(_VERSIONS))}

    KINDS.append(Kind("Croissant", name, make, frozenset(rules)))


def _of(document: Json, kind: str, having: str = "") -> list[Json]:
    return [node for node in _nodes(document) if node.get("@type") == kind and (not having or having in node)]


def _lose(kind: str, name: str, *rules: str, undetectable: str = "") -> None:
    def change(rng: random.Random, document: Json) -> None:
        del rng.choice(_of(document, kind, name))[name]

    _kind(f"{kind} without {name}", change, *rules, undetectable=undetectable)


def _give(kind: str, name: str, values: list[Any], *rules: str, undetectable: str = "", having: str = "") -> None:
    def change(rng: random.Random, document: Json) -> None:
        node = rng.choice(_of(document, kind, having or name))
        node[name] = rng.choice([value for value in values if value != node.get(name)])

    _kind(f"{kind}: {name} {str(values[0])[:30] or 'empty'}", change, *rules, undetectable=undetectable)


def _in(
    name: str,
    inner: str,
    values: list[Any],
    *rules: str,
    having: Callable[[Json], bool] = lambda _: True,
) -> None:
    """Change a property of the values of another one: `source`, `extract`."""

    def change(rng: random.Random, document: Json) -> None:
        holders = [node[name] for node in _nodes(document) if isinstance(node.get(name), dict)]
        chosen = rng.choice([holder for holder in holders if inner in holder and having(holder)] or holders)
        value = rng.choice(values)
        if value is ...:
            del chosen[inner]
        else:
            chosen[inner] = value

    _kind(f"{name}: {inner} {'lost' if values[0] is ... else str(values[0])[:30]}", change, *rules)


def _misspell(kind: str, name: str, *rules: str) -> None:
    def change(rng: random.Random, document: Json) -> None:
        node = rng.choice(_of(document, kind, name))
        at = rng.randrange(1, len(name))
        node[name[:at] + name[at - 1] + name[at:]] = node.pop(name)

    _kind(f"{kind}: {name} misspelt", change, *rules)


for _name, _rule in (
    ("name", "CRO205"),
    ("url", "CRO207"),
    ("license", "CRO208"),
    ("creator", "CRO209"),
    ("datePublished", "CRO210"),
    ("distribution", "CRO131"),
    ("conformsTo", "CRO203"),
    ("version", "CRO212"),
    ("keywords", "CRO212"),
    ("@context", "CRO111"),
):
    _lose(_ROOT, _name, _rule)
_lose(_ROOT, "sameAs", "CRO212")
_lose("cr:FileObject", "contentUrl", "CRO302")
_lose("cr:FileObject", "encodingFormat", "CRO305")
_lose("cr:FileObject", "sha256", "CRO307")
_lose("cr:FileObject", "contentSize", undetectable="it is optional")
_lose("cr:FileObject", "@id", "CRO123", "CRO131")
_lose("cr:FileSet", "includes", "CRO310")
_lose("cr:FileSet", "encodingFormat", "CRO305")
_lose("cr:RecordSet", "field", "CRO403", "CRO131")
_lose("cr:RecordSet", "key", "CRO522", "CRO524", undetectable="only splits and enumerations need a key")
_lose("cr:Field", "dataType", "CRO419", undetectable="a field may take its type from what it is taken from")
_lose("cr:Field", "source", "CRO405")
_lose("cr:Field", "@id", "CRO123", "CRO131")
_lose("cr:Field", "references", undetectable="a field need not refer to another")
_give(_ROOT, "@type", ["sc:DataSet", "Dataset2", "sc:Thing"], "CRO201")
_give(_ROOT, "conformsTo", ["http://mlcommons.org/croissant/9.9", "croissant"], "CRO204")
_give(_ROOT, "datePublished", ["2024-13-01", "01.03.2024", "soon", "2024-02-30"], "CRO217")
_give(_ROOT, "version", ["1", "one", "1.0", "v1.0.0"], "CRO218")
_give(_ROOT, "url", ["not an address", "example", "http//x"], "CRO216")
_give(_ROOT, "license", ["cc by", "Creative Commons"], "CRO219")
_give(_ROOT, "name", [7, True, {"a": 1}], "CRO214")
_give(_ROOT, "creator", ["Jane Doe", {"@type": "sc:Event", "name": "x"}], "CRO215")
_give(_ROOT, "name", [["a", "b"]], "CRO213")
_give("cr:FileObject", "sha256", ["abc", "g" * 64, "A1" * 31], "CRO308")
_give("cr:FileObject", "contentSize", ["big", "12 apples", "-1 B"], "CRO309")
_give("cr:FileObject", "encodingFormat", ["csv", "text", "text / csv"], "CRO306")
_give("cr:FileObject", "contentUrl", ["../../etc/passwd", "../x.csv"], "CRO304", "CRO303", having="containedIn")
_give("cr:FileObject", "containedIn", [{"@id": "nothing"}, {"@id": "all.zi"}], "CRO131")
_give("cr:FileObject", "containedIn", ["all.zip"], "CRO133")
_give("cr:FileObject", "@type", ["cr:File", "sc:DataDownload"], "CRO301", "CRO131", "CRO132")
_give("cr:FileSet", "includes", ["pictures/[", "a/**b", "*.[jpg"], "CRO311")
_give("cr:FileSet", "includes", ["/pictures/*.jpg"], "CRO312")
_give("cr:RecordSet", "key", [{"@id": "nothing"}, {"@id": "films/none"}], "CRO404")
_give("cr:RecordSet", "@type", ["cr:Records", "sc:Table"], "CRO401", "CRO131", "CRO132")
_give("cr:Field", "dataType", ["sc:Integr", "integer", "xsd:int"], "CRO421", "CRO420", "CRO115")
_give("cr:Field", "@type", ["cr:Column", "sc:Field"], "CRO402", "CRO131", "CRO132")
_give("cr:Field", "references", [{"@id": "nothing/id"}], "CRO131")
_give("cr:Field", "@id", ["films/title", "films/id"], "CRO124", "CRO131", "CRO125")
_give("cr:Field", "references", ["films/id"], "CRO133")
_in("source", "fileObject", [{"@id": "none.csv"}], "CRO131")
_in("source", "extract", [...], "CRO427", having=lambda source: source["extract"] != _CONTENT)
_kind(
    "source: extract of the content lost",
    lambda _, document: [node.pop("extract") for node in _nodes(document) if node.get("extract") == _CONTENT],
    undetectable="without `extract`, a value is the content of a file",
)
_in("source", "extract", [{}], "CRO408")
_in("extract", "fileProperty", ["size", "owner"], "CRO411", "CRO409")
_in("transform", "regex", ["(", "[a", "*"], "CRO413")
_in("transform", "regex", ["", "abc"], "CRO414", "CRO415")
_misspell(_ROOT, "license", "CRO117", "CRO208")
_misspell("cr:FileObject", "encodingFormat", "CRO117", "CRO305")
_misspell("cr:Field", "dataType", "CRO117", "CRO419")
_misspell("cr:RecordSet", "field", "CRO117", "CRO403")


def _a_record(change: Callable[[random.Random, Json], object]) -> Callable[[random.Random, Json], object]:
    def found(rng: random.Random, document: Json) -> None:
        change(rng, rng.choice([record for node in _of(document, "cr:RecordSet", "data") for record in node["data"]]))

    return found


def _a_key(record: Json) -> str:
    return next(name for name in record if name.endswith(("name", "number")))


def _same_key(rng: random.Random, document: Json) -> None:
    data = rng.choice([node["data"] for node in _of(document, "cr:RecordSet", "data") if len(node["data"]) > 1])
    name = _a_key(data[0])
    data[0][name] = data[1][name]


_kind("a record without a key", _a_record(lambda _, record: record.update({_a_key(record): None})), "CRO508")
_kind(
    "a record with another property",
    _a_record(lambda rng, record: record.update({f"x{rng.randrange(9)}": 1})),
    "CRO505",
)
_kind(
    "a record without a field", _a_record(lambda rng, record: record.pop(rng.choice(list(record)))), "CRO504", "CRO508"
)
_kind("two records of one key", _same_key, "CRO507", "CRO509")
_raw("cut short", lambda rng, data: data[: rng.randrange(1, len(data) - 2)], "CRO101")
_raw(
    "a byte that is not UTF-8",
    lambda rng, data: data[: (at := rng.randrange(len(data)))] + b"\xe9" + data[at:],
    "CRO102",
    "CRO101",
)
_raw(
    "a name twice",
    lambda rng, data: data.replace(b'"name":', rng.choice([b'"name":"a",', b'"name":1,']) + b'"name":', 1),
    "CRO105",
)
