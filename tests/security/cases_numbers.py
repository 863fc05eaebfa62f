"""Extreme numbers and nesting: one rule, the same answer from every command, no exception."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from collections.abc import Callable
from functools import partial
from itertools import cycle
from pathlib import Path

from security.attacks import Attack, Outcome

_FIXTURES = Path(__file__).parent.parent / "fixtures"
_TOO_GREAT = {
    "1e999": "1e999",
    "negative": "-1e999",
    "309-digits": "2" + "0" * 308,
    "400-digits": "9" * 400,
    "5000-digits": "-" + "9" * 5000,
    "100000-digits": "9" * 100_000,
}
_DEEP = "[" * 100_000 + "]" * 100_000


def _dolma(value: str, folder: Path) -> None:
    documents = folder / "data/documents"
    documents.mkdir()
    rows = ['{"id":"1","text":"a","source":"s"}', f'{{"id":"2","text":"b","source":"s","metadata":{{"n":{value}}}}}']
    (documents / "a.jsonl").write_text("\n".join(rows) + "\n", "utf-8")


def _attributes(value: str, folder: Path) -> None:
    _dolma("0", folder)
    rows = ['{"id":"1","attributes":{"a":[]}}', f'{{"id":"2","attributes":{{"a":[{value}]}}}}']
    attributes = folder / "data/attributes/pii"
    attributes.mkdir(parents=True)
    (attributes / "a.jsonl").write_text("\n".join(rows) + "\n", "utf-8")


def _oscar(name: str, value: str, folder: Path) -> None:
    shutil.copytree(_FIXTURES / "oscar/1.1/valid/bom-in-text/input", folder / "data", dirs_exist_ok=True)
    path = next((folder / "data").rglob("*_meta.jsonl.gz"))
    first, *others = gzip.decompress(path.read_bytes()).decode().split("\n")
    record = json.loads(first) | {name: "HERE"}
    first = json.dumps(record).replace('"HERE"', value)
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_bytes(gzip.compress("\n".join([first, *others]).encode()))
    sums = next((folder / "data").rglob("*_sha256.txt"))
    sums.write_text(sums.read_text("utf-8").replace(before, hashlib.sha256(path.read_bytes()).hexdigest()), "utf-8")


def _oscar2(value: str, folder: Path) -> None:
    shutil.copytree(_FIXTURES / "oscar2/22.01/valid/release/input", folder / "data", dirs_exist_ok=True)
    path = next((folder / "data").rglob("*_part_1.jsonl.gz"))
    first, *others = gzip.decompress(path.read_bytes()).decode().split("\n")
    first = first.replace('"prob": ', f'"prob": {value}, "was": ', 1).replace('"prob":', f'"prob":{value},"was":', 1)
    path.write_bytes(gzip.compress("\n".join([first, *others]).encode()))
    for checksums in (folder / "data").rglob("*.sha256"):
        checksums.unlink()


def _description(top: str, folder: Path, encoding: str = "application/jsonlines", source: str = "rows") -> None:
    data_source = {"fileObject": {"@id": "rows"}, "extract": {"column": "n"}}
    if encoding == "application/json":
        data_source["extract"] = {"jsonPath": "$[*].n"}
    context = json.loads((_FIXTURES.parents[1] / "schemas/croissant/1.0/context.jsonld").read_bytes())["@context"]
    field = {"@type": "cr:Field", "@id": "r/n", "name": "r/n", "dataType": "sc:Float", "source": data_source}
    description = {
        "@context": context,
        "@type": "sc:Dataset",
        "name": "numbers",
        "description": "Numbers.",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": "https://creativecommons.org/publicdomain/zero/1.0/",
        "url": "https://example.org/numbers",
        "version": "1.0.0",
        "datePublished": "2024-01-01",
        "creator": {"@type": "sc:Organization", "name": "Example"},
        "isLiveDataset": True,
        "distribution": [
            {"@type": "cr:FileObject", "@id": "rows", "name": "rows", "contentUrl": source, "encodingFormat": encoding}
        ],
        "recordSet": [{"@type": "cr:RecordSet", "@id": "r", "name": "r", "field": [field]}],
    }
    text = json.dumps(description, indent=1)
    (folder / "data/croissant.json").write_text(
        text.replace('"name": "numbers"', f'"name": "numbers", {top}', 1), "utf-8"
    )


def describe_numbers(folder: Path) -> None:
    """Write a description that is right, of a file `rows.jsonl` with one field."""
    _description(f"{_ISSUE}1", folder, source="rows.jsonl")


_ISSUE = '"sc:issueNumber": '


def _json_lines(value: str, folder: Path) -> None:
    _description(f"{_ISSUE}1", folder, source="rows.jsonl")
    (folder / "data/rows.jsonl").write_text(f'{{"n":1}}\n{{"n":{value}}}\n', "utf-8")


def _json_file(value: str, folder: Path) -> None:
    _description(f"{_ISSUE}1", folder, "application/json", source="rows.json")
    (folder / "data/rows.json").write_text(f'[{{"n":1}},\n{{"n":{value}}}]\n', "utf-8")


def _table(value: str, folder: Path) -> None:
    _description(f"{_ISSUE}1", folder, "text/csv", source="rows.csv")
    (folder / "data/rows.csv").write_text(f"m,n\n1,1\n2,{value}\n", "utf-8")


def _value(value: str, folder: Path) -> None:
    _description(f"{_ISSUE}{value}", folder, source="rows.jsonl")
    (folder / "data/rows.jsonl").write_text('{"n":1}\n', "utf-8")


def _context(value: str, folder: Path) -> None:
    _value("1", folder)
    path = folder / "data/croissant.json"
    path.write_text(path.read_text("utf-8").replace('"@context": {', f'"@context": {{"x": {value},', 1), "utf-8")


def _is_told(code: str, outcome: Outcome) -> None:
    """The one error is of this rule, or stops the command; nothing became infinite on the way."""
    assert outcome.status == 1, outcome.text
    text = outcome.text
    if '"findings"' in text:
        errors = {finding["rule"] for finding in outcome.report["findings"] if finding["severity"] == "error"}
        assert errors == {code}, outcome.text[:1000]
    else:
        assert code in text, text[:1000]
    assert b"Infinity" not in outcome.output()
    assert b"inf," not in outcome.output()


_VALIDATE = ("validate", "{data}", "--output-format", "json")
_DATA = ("validate", "{data}/croissant.json", "--data", "--output-format", "json")
_RECORDS = ("records", "{data}/croissant.json", "--record-set", "r")
_DOLMA = ("convert", "{data}", "{out}", "--to", "dolma")
_DESCRIBE = ("describe", "{data}", "-o", "{out}")

_MAKERS: dict[str, tuple[Callable[[str, Path], None], tuple[tuple[str, ...], ...]]] = {
    "documents": (_dolma, (_VALIDATE, _DOLMA, _DESCRIBE)),
    "attributes": (_attributes, (_VALIDATE, _DOLMA)),
    "oscar": (partial(_oscar, "x"), (_VALIDATE, _DOLMA)),
    "offset": (partial(_oscar, "offset"), (_VALIDATE, _DOLMA)),
    "oscar2": (_oscar2, (_VALIDATE, _DOLMA)),
    "value": (_value, (_DATA, _RECORDS)),
    "context": (_context, (_DATA, _RECORDS)),
    "jsonl": (_json_lines, (_DATA, _RECORDS)),
    "json": (_json_file, (_DATA, _RECORDS)),
    "csv": (_table, (_DATA, _RECORDS)),
}


def _attacks() -> list[Attack]:
    found = []
    numbers = cycle(_TOO_GREAT)
    for place, (make, commands) in _MAKERS.items():
        for command in commands:
            name = next(numbers)
            told = partial(_is_told, "GEN303")
            title = f"number-{name}-in-{place}-{command[0]}"
            found.append(Attack(title, partial(make, _TOO_GREAT[name]), command, told))
    for place, code in {
        "documents": "GEN301",
        "oscar": "GEN301",
        "oscar2": "GEN301",
        "jsonl": "GEN301",
        "value": "CRO104",
    }.items():
        make, commands = _MAKERS[place]
        for command in commands[:2]:
            title = f"nesting-in-{place}-{command[0]}"
            found.append(Attack(title, partial(make, _DEEP), command, partial(_is_told, code)))
    return found


ATTACKS = _attacks()
