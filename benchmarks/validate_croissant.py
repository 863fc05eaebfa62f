"""How much a Croissant description costs to validate, next to mlcroissant, in one run.

    python benchmarks/validate_croissant.py                              corpusfmt alone
    python benchmarks/validate_croissant.py --peer VENV/bin/mlcroissant  and the peer, from an environment that has it
    python benchmarks/validate_croissant.py --data 200                   the data: a CSV file of so many MB

Every contender is a cold command: the CPU seconds and the peak memory of the whole process count, the best of the
rounds, taken in turns. The limits of the project are ratios: at least 5 times less CPU and half the memory on a
description of 30 kB, at least 16 times less CPU on one of 5,000 fields, of Croissant 1.0 and 1.1 alike.

With --data, the data behind a description is judged: a table whose types, key and foreign key are checked, as CSV and,
where there is pyarrow, as Parquet. At least 150 MB and 300 MB in a CPU second. Next to them, in the same run, two loops that
check nothing: `csv.reader` counts the rows, and pyarrow decodes the columns. The size of CSV is that of the file, the size of
Parquet that of the columns in memory, close to that of CSV; the file itself takes a fifth of it.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from measuring import MB, PEERS, ROOT, Command, alone, faster, least, race, rates, table

SCHEMAS = ROOT / "schemas" / "croissant"
SMALL, LARGE = 55, 5000


def description(fields: int, version: str = "1.0") -> dict[str, Any]:
    """Return a description with one CSV file and a record set of so many columns; with 1.1, every tenth is a list."""
    context = (SCHEMAS / version / "context.jsonld").read_text("utf-8")
    # mlcroissant knows one of the two names of schema.org, which is not that of 1.1.
    context = json.loads(context.replace("http://schema.org/", "https://schema.org/"))["@context"]
    columns = [
        {
            "@type": "cr:Field",
            "@id": f"records/column_{number}",
            "name": f"column_{number}",
            "description": f"What stands in column {number} of the table, in the words of whoever measured it; "
            "missing values are empty cells, units are those of the paper, and nothing was rounded or left out. "
            "The order of the columns is the order of the questions, and each was asked in every year.",
            "dataType": "sc:Float" if number % 3 else "sc:Text",
            "source": {"fileObject": {"@id": "table.csv"}, "extract": {"column": f"column_{number}"}},
            **({"isArray": True, "arrayShape": "3"} if version == "1.1" and number % 10 == 0 else {}),
        }
        for number in range(fields)
    ]
    table = {
        "@type": "cr:FileObject",
        "@id": "table.csv",
        "name": "table.csv",
        "contentUrl": "table.csv",
        "encodingFormat": "text/csv",
        "sha256": "0" * 64,
    }
    return {
        "@context": context,
        "@type": "sc:Dataset",
        "conformsTo": f"http://mlcommons.org/croissant/{version}",
        "name": "benchmark",
        "description": "One table of many columns.",
        "url": "https://example.org/benchmark",
        "license": "https://creativecommons.org/licenses/by/4.0/",
        "creator": {"@type": "sc:Person", "name": "Jane Doe"},
        "datePublished": "2024-03-01",
        "version": "1.0.0",
        "citeAs": "Nobody, 2024",
        "distribution": [table],
        "recordSet": [{"@type": "cr:RecordSet", "@id": "records", "name": "records", "field": columns}],
    }


DATA_FIELDS = {
    "id": "sc:Integer",
    "place": "sc:Integer",
    "measured": "sc:Float",
    "day": "sc:Date",
    "station": "sc:Text",
    "remark": "sc:Text",
}
PLACES = 5000
COUNT_ROWS = """
import csv, sys
with open(sys.argv[1], newline="", encoding="utf-8") as file:
    print(sum(1 for _ in csv.reader(file)))
"""


DUCKDB = """
import duckdb, sys
connection = duckdb.connect(config={"threads": 1})
kinds = "TRY_CAST(place AS BIGINT), TRY_CAST(measured AS DOUBLE), TRY_CAST(day AS DATE)"
counted = ", ".join(f"count({each})" for each in kinds.split(", "))
print(connection.execute(f"SELECT count(*), count(DISTINCT id), {counted}, max(station), max(remark) FROM '{sys.argv[1]}'").fetchone())
"""


DECODE_COLUMNS = """
import sys
from pyarrow.parquet import ParquetFile
print(sum(len(part) for part in ParquetFile(sys.argv[1]).iter_batches(use_threads=False)))
"""


def write_table(folder: Path, megabytes: int) -> None:
    """Write `table.csv` with a key and a reference into `places.csv`; some cells are quoted, empty, or not ASCII."""
    (folder / "places.csv").write_text("number\n" + "".join(f"{number}\n" for number in range(PLACES)), "utf-8")
    draw = random.Random(1)
    with (folder / "table.csv").open("w", encoding="utf-8") as file:
        file.write(",".join(DATA_FIELDS) + "\n")
        number = 0
        while file.tell() < megabytes * MB:
            rows = []
            for _ in range(10_000):
                number += 1
                day = f"20{draw.randrange(10, 25)}-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}"
                remark = draw.choice(("", "calm", '"wind, rain"', "grêle", "no reading before noon"))
                rows.append(
                    f"{number},{draw.randrange(PLACES)},{draw.random() * 40 - 10:.3f},{day},station-{number % 97},{remark}\n"
                )
            file.write("".join(rows))


def data_description() -> dict[str, Any]:
    """Return a description of the table and what it refers to."""
    whole = description(0)
    whole["isLiveDataset"] = True
    file = {"@type": "cr:FileObject", "encodingFormat": "text/csv"}
    whole["distribution"] = [
        {**file, "@id": name, "name": name, "contentUrl": name} for name in ("table.csv", "places.csv")
    ]

    def column(record_set: str, table: str, name: str, kind: str) -> dict[str, Any]:
        source = {"fileObject": {"@id": table}, "extract": {"column": name}}
        return {"@type": "cr:Field", "@id": f"{record_set}/{name}", "name": name, "dataType": kind, "source": source}

    rows = [column("rows", "table.csv", name, kind) for name, kind in DATA_FIELDS.items()]
    rows[1]["references"] = {"@id": "places/number"}
    record_set = {"@type": "cr:RecordSet"}
    whole["recordSet"] = [
        {**record_set, "@id": "rows", "name": "rows", "key": {"@id": "rows/id"}, "field": rows},
        {
            **record_set,
            "@id": "places",
            "name": "places",
            "key": {"@id": "places/number"},
            "field": [column("places", "places.csv", "number", "sc:Integer")],
        },
    ]
    return whole


def as_parquet(folder: Path) -> float:
    """Write the tables again as Parquet, with a description of them, and return the megabytes of their columns in memory."""
    from pyarrow import csv
    from pyarrow.parquet import write_table as write

    size = 0
    for name in ("table", "places"):
        empty = csv.ConvertOptions(strings_can_be_null=True, null_values=[""])
        table = csv.read_csv(folder / f"{name}.csv", convert_options=empty)
        write(table, folder / f"{name}.parquet")
        size += table.nbytes
    text = json.dumps(data_description(), indent=1)
    text = text.replace("text/csv", "application/x-parquet").replace(".csv", ".parquet")
    (folder / "parquet.json").write_text(text, "utf-8")
    return size / MB


def measure_data(megabytes: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder, megabytes)
        (folder / "csv.json").write_text(json.dumps(data_description(), indent=1), "utf-8")
        text = (folder / "table.csv").stat().st_size / MB
        ours = (sys.executable, "-m", "corpusfmt", "validate", "--format", "croissant", "--data")
        commands: dict[str, Command] = {
            "validate, CSV": (*ours, folder / "csv.json"),
            "rows counted with `csv.reader`": (sys.executable, "-c", COUNT_ROWS, folder / "table.csv"),
        }
        sizes = dict.fromkeys(commands, text)
        if find_spec("pyarrow"):
            size = alone(as_parquet, folder)
            columnar: dict[str, Command] = {
                "validate, Parquet": (*ours, folder / "parquet.json"),
                "columns decoded with pyarrow": (sys.executable, "-c", DECODE_COLUMNS, folder / "table.parquet"),
            }
            if PEERS.exists():
                columnar["DuckDB, types and unique keys of Parquet"] = (PEERS, "-c", DUCKDB, folder / "table.parquet")
                commands["DuckDB, types and unique keys of CSV"] = (PEERS, "-c", DUCKDB, folder / "table.csv")
                sizes["DuckDB, types and unique keys of CSV"] = text
            sizes |= dict.fromkeys(columnar, size)
            commands |= columnar
        rates(
            f"a table of {text:.0f} MB as CSV: types, a key and a foreign key; the rates of Parquet are those of its columns in memory",
            race("tables", commands, rounds, megabytes=text),
            sizes,
            references={"x csv.reader": "rows counted with `csv.reader`", "x pyarrow": "columns decoded with pyarrow"},
        )


def measure_descriptions(peer: Path | None, rounds: int) -> None:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for version, fields in product(("1.0", "1.1"), (SMALL, LARGE)):
            path = Path(folder) / f"{version}-{fields}.json"
            path.write_text(json.dumps(description(fields, version), indent=1), "utf-8")
            commands: dict[str, Command] = {
                "corpusfmt": (sys.executable, "-m", "corpusfmt", "validate", path, "--format", "croissant"),
            }
            if peer:
                commands["mlcroissant"] = (peer, "validate", "--jsonld", path)
            size = path.stat().st_size / MB
            runs = race(f"croissant {version}, {fields} fields", commands, rounds, megabytes=size)
            costs = map(least, runs.values())
            cells = [f"{version}, {fields} fields, {1000 * size:.0f} kB"]
            cells += [f"{each.cpu:.2f} s, {each.memory:.0f} MB" for each in costs]
            if peer:
                ours, theirs = runs.values()
                cells.append(faster([run.cpu for run in ours], [run.cpu for run in theirs]))
                cells.append(f"{least(theirs).memory / least(ours).memory:.1f}")
            rows.append(cells)
    ratios = ["CPU, ratio", "memory, ratio"] if peer else []
    table(f"cold commands, best of {rounds}", ["description", *commands, *ratios], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", type=Path, help="the mlcroissant command")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=int, metavar="MB", help="judge a table of this size instead")
    options = parser.parse_args()
    if options.data:
        measure_data(options.data, options.rounds)
    else:
        measure_descriptions(options.peer, options.rounds)


if __name__ == "__main__":
    main()
