"""Small inputs that are made to take long: processor time stays in proportion to the bytes that are given."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from security.attacks import Attack, Outcome
from security.cases_numbers import describe_numbers

#: The documented bound on processor time for each megabyte of input, and what starting takes on a busy machine.
_SECONDS_PER_MEGABYTE = 5
_SECONDS_TO_START = 5

Json = dict[str, Any]


def _in_time(code: str, outcome: Outcome) -> None:
    """The command came to its end in time, and said what is wrong."""
    size = sum(path.stat().st_size for path in (outcome.folder / "data").rglob("*") if path.is_file())
    assert outcome.cpu <= _SECONDS_TO_START + _SECONDS_PER_MEGABYTE * size / 1_000_000
    assert outcome.status in {0, 1}, outcome.text
    assert code in outcome.text or not code, outcome.text[:1000]


def _rows(data: bytes, folder: Path, path: str = "documents/a.jsonl.gz") -> None:
    file = folder / "data" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(data) if path.endswith(".gz") else data)


def _attributes(folder: Path) -> None:
    _rows(b"\n" * 5_000_000, folder)
    _rows(b"\n" * 5_000_000, folder, "attributes/pii/a.jsonl.gz")


def _oscar_metadata(line: bytes, folder: Path) -> None:
    _rows(b"a" * 100 + b"\n", folder, "af/af.txt.gz")
    _rows(line * 1_000_000, folder, "af/af_meta.jsonl.gz")


def _described(change: Callable[[Json], None], folder: Path) -> None:
    describe_numbers(folder)
    (folder / "data/rows.jsonl").write_text('{"n":1}\n', "utf-8")
    path = folder / "data/croissant.json"
    description = json.loads(path.read_bytes())
    change(description)
    path.write_text(json.dumps(description, ensure_ascii=False), "utf-8")


def _unknown_names(description: Json) -> None:
    description |= {f"descripton{number}": "a" for number in range(100_000)}


def _unknown_types(description: Json) -> None:
    description["recordSet"][0]["field"][0]["dataType"] = [f"sc:Tixt{number}" for number in range(50_000)]


def _dangling(description: Json) -> None:
    source = {"extract": {"column": "n"}}
    description["recordSet"][0]["field"] = [
        {
            "@type": "cr:Field",
            "@id": f"r/{number}",
            "dataType": "sc:Float",
            "source": {"fileObject": {"@id": f"rowz{number}"}, **source},
        }
        for number in range(5_000)
    ]


def _contained(ring: int, description: Json) -> None:
    count = 10_000
    description["distribution"] += [
        {
            "@type": "cr:FileObject",
            "@id": f"f{number}",
            "contentUrl": f"f{number}",
            "encodingFormat": "text/csv",
            "containedIn": {"@id": f"f{(number + 1) % (count + 1 - ring)}"},
        }
        for number in range(count)
    ]


def _wide_key(description: Json) -> None:
    names = [f"r/{number}" for number in range(5_000)]
    record_set = description["recordSet"][0]
    record_set["field"] = [{"@type": "cr:Field", "@id": name, "dataType": "sc:Float"} for name in names]
    record_set["key"] = [{"@id": name} for name in names]
    record_set["data"] = [{}] * 50_000


def _data_sets(description: Json) -> None:
    description["hasPart"] = [{"@type": "sc:Dataset", "@id": f"d{number}"} for number in range(5_000)]


def _contexts(description: Json) -> None:
    own = description["@context"]
    description["@context"] = [
        own,
        *({f"t{number}": "http://example.org/t"} for number in range(8_000)),
        *[{}] * 90_000,
    ]


def _graph(description: Json) -> None:
    own = dict(description)
    description.clear()
    datasets = [{"@type": "sc:Dataset", "@id": f"d{number}"} for number in range(2_000)]
    description |= {"@context": own.pop("@context"), "@graph": [own, *datasets]}


def _contexts_of_types(description: Json) -> None:
    """Make PyLD take a large context anew for each node."""
    own = description["@context"] | {f"t{number}": "http://example.org/t" for number in range(20_000)}
    own["T"] = {"@id": "http://example.org/T", "@context": {"a": "http://example.org/a"}}
    description |= {"@context": [own], "hasPart": [{"@type": "T", "a": "x"} for _ in range(20_000)]}


def _field(name: str, **properties: Any) -> Json:
    return {"@type": "cr:Field", "@id": name, "dataType": "sc:Text"} | properties


def _references(description: Json) -> None:
    """Let each field refer to the next one."""
    own = description["recordSet"][0]["field"][0]["source"]
    description["recordSet"][0]["field"] = [
        _field(f"r/{number}", source=own, references={"field": {"@id": f"r/{number + 1}"}}) for number in range(2_000)
    ]


def _foreign(folder: Path) -> None:
    """Let each column of a table refer to one of another table, and find nothing there."""
    names = [f"c{number}" for number in range(2_000)]

    def change(description: Json) -> None:
        file = description["distribution"][0] | {"encodingFormat": "text/csv"}
        description["distribution"] = [
            file | {"@id": each, "name": each, "contentUrl": f"{each}.csv"} for each in ("left", "right")
        ]
        description["recordSet"] = [
            {
                "@type": "cr:RecordSet",
                "@id": table,
                "field": [
                    _field(f"{table}/{name}", source={"fileObject": {"@id": table}, "extract": {"column": name}})
                    | ({"references": {"field": {"@id": f"right/{name}"}}} if table == "left" else {})
                    for name in names
                ],
            }
            for table in ("left", "right")
        ]

    _described(change, folder)
    header = ",".join(names)
    for table in ("left", "right"):
        row = ",".join(table for _ in names)
        (folder / "data" / f"{table}.csv").write_text(f"{header}\n{row}\n{row}\n", "utf-8")


def _drawn(description: Json) -> None:
    """Draw each record set from the next one."""
    description["recordSet"] = [
        {
            "@type": "cr:RecordSet",
            "@id": f"r{number}",
            "field": [_field(f"r{number}/a", source={"field": {"@id": f"r{number + 1}/a"}})],
        }
        for number in range(1_000)
    ]
    description["recordSet"][-1]["field"][0]["source"] = {"fileObject": {"@id": "rows"}, "extract": {"column": "n"}}


def _lost_terms(description: Json) -> None:
    """Leave the data types of many fields to schema.org."""
    del description["@context"]["dataType"]
    source = description["recordSet"][0]["field"][0]["source"]
    description["recordSet"][0]["field"] = [_field(f"r/{number}", source=source) for number in range(20_000)]


def _places(description: Json) -> None:
    """Have findings far into a line that is not ASCII."""
    _graph(description)
    description["@graph"][1]["name"] = "ä" + "a" * 4_000_000


def _escapes(description: Json) -> None:
    description["description"] = "a\n" * 5_000_000
    description["descripton"] = ""


def _file_sets(pattern: str, folder: Path) -> None:
    def change(description: Json) -> None:
        description["distribution"] += [
            {"@type": "cr:FileSet", "@id": f"s{number}", "includes": pattern % number, "encodingFormat": "text/csv"}
            for number in range(1_500)
        ]

    _described(change, folder)
    for number in range(1_500):
        (folder / "data" / f"{number}.txt").touch()


def _pattern(pattern: str, folder: Path) -> None:
    def change(description: Json) -> None:
        description["distribution"].append(
            {"@type": "cr:FileSet", "@id": "s", "includes": pattern, "encodingFormat": "text/csv"}
        )

    _described(change, folder)
    (folder / "data" / ("a" * 200)).touch()


def _same_file(description: Json) -> None:
    kept = description["distribution"][0]
    description["distribution"] += [
        kept | {"@id": f"f{number}", "contentUrl": f"{'./' * (number % 50)}rows.jsonl", "sha256": "0" * 64}
        for number in range(1_000)
    ]


def _large_same_file(folder: Path) -> None:
    _described(_same_file, folder)
    (folder / "data/rows.jsonl").write_bytes(b'{"n":1}\n' * 500_000)


def _transformed(cell: str, transforms: Sequence[object], folder: Path) -> None:
    def change(description: Json) -> None:
        description["distribution"][0] |= {"encodingFormat": "text/csv"}
        source = {"fileObject": {"@id": "rows"}, "extract": {"column": "n"}}
        description["recordSet"][0]["field"] = [
            {"@type": "cr:Field", "@id": f"r/{number}", "dataType": "sc:Text", "source": source | {"transform": each}}
            for number, each in enumerate(transforms)
        ]

    _described(change, folder)
    (folder / "data/rows.jsonl").write_text(f"n\n{cell}\n", "utf-8")


def _ends_within(seconds: float, code: str, status: int, outcome: Outcome) -> None:
    assert outcome.status == status, outcome.text
    assert code in outcome.text
    assert outcome.cpu <= seconds


_LARGE = "x" * 1_000_000
_SLOW = {"regex": "(a+)+$"}
_BAD = b"".join(b'{"%d\n' % number for number in range(200_000))
_OTHER = b"".join(b"%d\n" % number for number in range(150_000))
_VALIDATE = ("validate", "{data}", "--output-format", "json")
_DATA = ("validate", "{data}/croissant.json", "--data", "--output-format", "json")

ATTACKS = [
    Attack(f"time-{name}", make, command, partial(_in_time, code))
    for name, make, command, code in (
        ("empty-lines", partial(_rows, b"\n" * 5_000_000), _VALIDATE, "GEN301"),
        ("empty-lines-in-attributes", _attributes, _VALIDATE, "GEN301"),
        ("equal-lines", partial(_rows, b"x\n" * 3_000_000), _VALIDATE, "GEN301"),
        ("equal-objects", partial(_rows, b"{}\n" * 2_000_000), _VALIDATE, "DOL301"),
        ("lines-that-end-in-cr", partial(_rows, b"\r\n" * 3_000_000), _VALIDATE, "GEN301"),
        ("bad-lines", partial(_rows, _BAD, path="documents/a.jsonl"), _VALIDATE, "GEN301"),
        ("lines-of-numbers", partial(_rows, _OTHER, path="documents/a.jsonl"), _VALIDATE, "DOL201"),
        ("empty-lines-of-metadata", partial(_oscar_metadata, b"\n"), _VALIDATE, "GEN301"),
        (
            "empty-lines-converted",
            partial(_rows, b"\n" * 5_000_000),
            ("convert", "{data}", "{out}", "--to", "dolma"),
            "GEN301",
        ),
        ("unknown-names", partial(_described, _unknown_names), _DATA, "CRO117"),
        ("string-of-escapes", partial(_described, _escapes), _DATA, "CRO117"),
        ("unknown-types", partial(_described, _unknown_types), _DATA, "CRO421"),
        ("dangling-references", partial(_described, _dangling), _DATA, "CRO131"),
        ("chain-of-containers", partial(_described, partial(_contained, 0)), _DATA, "CRO131"),
        ("ring-of-containers", partial(_described, partial(_contained, 1)), _DATA, "CRO314"),
        ("key-of-5000-fields", partial(_described, _wide_key), _DATA, "CRO504"),
        ("data-sets-in-a-data-set", partial(_described, _data_sets), _DATA, ""),
        ("contexts-in-a-list", partial(_described, _contexts), _DATA, "CRO112"),
        ("data-sets-in-a-graph", partial(_described, _graph), _DATA, "CRO203"),
        ("references-in-a-row", partial(_described, _references), _DATA, "CRO131"),
        ("references-that-dangle", _foreign, _DATA, "CRO613"),
        ("record-sets-drawn-from-each-other", partial(_described, _drawn), _DATA, "more than 20 record sets"),
        ("types-that-the-context-lost", partial(_described, _lost_terms), _DATA, "CRO4"),
        ("places-in-a-long-line", partial(_described, _places), _DATA, "CRO203"),
        ("file-sets", partial(_file_sets, "*q%d*.csv"), _DATA, "CRO605"),
        ("file-sets-of-a-folder", partial(_file_sets, "%d/**/*"), _DATA, "CRO605"),
        ("pattern-of-stars", partial(_pattern, "*a" * 3_000 + "b"), _DATA, "CRO605"),
        ("pattern-of-folders", partial(_pattern, "**/a/" * 3_000 + "b"), _DATA, "CRO605"),
        ("pattern-of-classes", partial(_pattern, "[[" * 3_000), _DATA, "CRO605"),
    )
]

ATTACKS += [
    Attack(
        "time-of-a-library",
        partial(_described, _contexts_of_types),
        (*_DATA, "--jobs", "1", "--limit", "timeout=2"),
        partial(_ends_within, 6, "--limit timeout (2 seconds)", 3),
    ),
    Attack("time-same-file", _large_same_file, _DATA, partial(_ends_within, 6, "CRO603", 1)),
    *(
        Attack(
            f"pattern-{name}", partial(_transformed, cell, transforms), command, partial(_ends_within, 6, code, status)
        )
        for name, cell, transforms, command, code, status in (
            ("longer", _LARGE, [{"replace": "x/" + "y" * 3_000}], _DATA, "CRO610", 1),
            ("longer-and-longer", _LARGE, [[{"replace": "x/xxxx"}] * 12], _DATA, "CRO610", 1),
            ("longer-by-groups", "x" * 20_000, [{"replace": r"(?=(x*))x/\1"}], _DATA, "CRO610", 1),
            ("of-many-fields", _LARGE, [{"replace": f"x/x{number}"} for number in range(100)], _DATA, "CRO610", 1),
            ("compiled", "a", [{"regex": "(?:(?:(?:a{1,60000}){1,60000}){1,60000}){1,60000}b"}], _DATA, "CRO610", 1),
            ("slow", "a" * 60 + "!", [_SLOW], (*_DATA, "--limit", "timeout=2"), "--limit timeout (2 seconds)", 3),
        )
    ),
]
