"""Compare `corpusfmt describe` with croissant-baker on the same folders, as a table in Markdown.

python benchmarks/describe.py --baker PATH/TO/croissant-baker --mlcroissant PATH/TO/python [--megabytes 64]

The folders are those of tests/description/folders.py, and three large ones. Asked of each description: is it valid
(`corpusfmt validate --profile strict --data`), does mlcroissant load every record set, and how many fields have the type
that all of their values have?
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from description.folders import FOLDERS, Folder, csv, jsonl, table, write
from measuring import cost

import corpusfmt

DETAILS = {
    "--creator": "Example",
    "--url": "https://example.org",
    "--license": "https://spdx.org/licenses/MIT.html",
    "--date-published": "2024-01-31",
    "--description": "Data",
}
# What one calls a type that another names by its width.
_ALIKE = {f"cr:{sign}Int{bits}": "sc:Integer" for sign in ("", "U") for bits in (8, 16, 32, 64)} | {
    f"cr:Float{bits}": "sc:Float" for bits in (16, 32, 64)
}
_LOADS = """
import json, sys, mlcroissant
dataset = mlcroissant.Dataset(jsonld=sys.argv[1])
failed = list(dataset.metadata.ctx.issues.errors)
for each in dataset.metadata.record_sets:
    try:
        for record in dataset.records(each.id):
            if sys.argv[2:]:
                break
    except Exception as error:
        failed.append(f"{each.id}: {error}")
print(json.dumps(failed))
"""


class Outcome(msgspec.Struct):
    """What one tool made of one folder."""

    valid: bool = False
    loads: bool = False
    right: int = 0
    fields: int = 0
    seconds: float = 0
    megabytes: float = 0


def types_of(fields: Any) -> Iterator[tuple[str, str]]:
    """Yield each field with its type, members of objects by their names alone."""
    for each in fields:
        inside = each.get("subField", [])
        if inside:
            yield from types_of(inside if isinstance(inside, list) else [inside])
        else:
            kinds = each.get("dataType")
            kind = kinds[0] if isinstance(kinds, list) and kinds else kinds
            shape = each.get("arrayShape", "-1") if each.get("isArray") or each.get("repeated") else ""
            yield (
                str(each.get("name", each.get("@id"))).rpartition(".")[2],
                f"{_ALIKE.get(str(kind), str(kind))}{'[]' * len(shape.strip('(),').split(',')) if shape else ''}",
            )


def expected_of(types: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what the fields of a folder should be, but for those that tell of files."""
    for name, wanted in types.items():
        kind, lists = wanted, ""
        while isinstance(kind, list) and len(kind) == 1:
            kind, lists = kind[0], f"{lists}[]"
        if isinstance(kind, Mapping):
            yield from expected_of(kind)
        elif name not in ("file", "split", "url") and kind != "sc:ImageObject":
            yield name.rpartition(".")[2], f"{kind}{lists}"


def outcome(command: list[str], description: Path, made: Folder, python: str, *, is_large: bool) -> Outcome:
    """Return what a tool that writes a description makes of a folder."""
    spent = cost(command, statuses=range(256))
    expected = Counter(each for fields in made.types.values() for each in expected_of(fields))
    found = Outcome(fields=expected.total(), seconds=spent.cpu, megabytes=spent.memory)
    if not description.exists():
        return found
    document = json.loads(description.read_bytes())
    described = Counter(each for records in document.get("recordSet", []) for each in types_of(records["field"]))
    found.right = (described & expected).total()
    report = corpusfmt.validate(description, profile="strict", data=True)
    found.valid = report.counts["error"] == 0
    cache = os.environ | {"CROISSANT_CACHE": str(description.parent.parent / f"{description.parent.name}-cache")}
    asked = [python, "-c", _LOADS, str(description), *(["first"] if is_large else [])]
    done = subprocess.run(asked, capture_output=True, check=False, env=cache)
    found.loads = done.returncode == 0 and done.stdout.strip().endswith(b"[]")
    return found


def large(megabytes: int) -> Iterator[tuple[str, Folder]]:
    """Yield folders of one file each, of about so many megabytes."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghij", k=8)) for _ in range(1000)]
    rows = megabytes * 1_000_000 // 64
    types = {"id": "sc:Integer", "price": "sc:Float", "day": "sc:Date", "word": "sc:Text", "note": "sc:Text"}
    values = [
        (n, round(chance.random() * 100, 2), f"20{n % 30:02}-0{n % 9 + 1}-1{n % 10}", words[n % 1000], words[n % 7] * 3)
        for n in range(rows)
    ]
    lines = csv(",".join(types), *(",".join(map(str, each)) for each in values))
    yield f"{megabytes} MB of CSV", Folder({"big.csv": lines}, {"big": types})
    objects = [dict(zip(types, each, strict=True)) for each in values]
    yield f"{megabytes} MB of JSON Lines", Folder({"big.jsonl": jsonl(*objects[: rows * 6 // 10])}, {"big": types})
    columns = {name: [each[name] for each in objects] for name in types}
    yield f"Parquet of {rows:,} rows", Folder({"big.parquet": table(columns)}, {"big": types})


def row(found: list[Outcome]) -> str:
    """Return the cells of a row."""
    return " | ".join(
        [
            f"{sum(each.valid for each in found)}/{len(found)}",
            f"{sum(each.loads for each in found)}/{len(found)}",
            f"{sum(each.right for each in found)}/{sum(each.fields for each in found)}",
            f"{sum(each.seconds for each in found):.1f}",
            f"{max(each.megabytes for each in found):.0f}",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--baker", required=True)
    parser.add_argument("--mlcroissant", required=True)
    parser.add_argument("--megabytes", type=int, default=64)
    options = parser.parse_args()
    details = [word for pair in DETAILS.items() for word in pair]
    tools: dict[str, Callable[[Path, Path], list[str]]] = {
        "corpusfmt": lambda data, out: [
            sys.executable,
            "-m",
            "corpusfmt",
            "describe",
            str(data),
            "-o",
            str(out),
            *details,
        ],
        "croissant-baker": lambda data, out: [options.baker, "-i", str(data), "-o", str(out), *details],
    }
    small = [(f"{len(FOLDERS)} small folders", list(FOLDERS.items()))]
    print("| folders | tool | valid | load | types right | CPU, s | memory, MB |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for title, folders in [*small, *((name, [(name, made)]) for name, made in large(options.megabytes))]:
        for tool, command in tools.items():
            found = []
            for name, made in folders:
                with tempfile.TemporaryDirectory() as scratch:
                    data = write(made, Path(scratch) / name.replace(" ", "-"))
                    description = data / "croissant.json"
                    asked = command(data, description)
                    found.append(outcome(asked, description, made, options.mlcroissant, is_large=len(folders) == 1))
                    if len(folders) > 1 and not (
                        found[-1].valid and found[-1].loads and found[-1].right == found[-1].fields
                    ):
                        print(f"{tool} {name}: {found[-1]}", file=sys.stderr)
            print(f"| {title} | {tool} | {row(found)} |", flush=True)


if __name__ == "__main__":
    main()
