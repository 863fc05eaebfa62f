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
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SCHEMAS = ROOT / "schemas" / "croissant"
SMALL, LARGE = 55, 5000
MB_A_SECOND = {"csv": 150, "parquet": 300}
MB = 1024
# An installed command has its bytecode.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Cost:
    cpu: float
    memory: float


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


def cost(command: Sequence[str | Path]) -> Cost:
    """Run a command; it must find the description valid."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(list(map(str, command)), stdout=output, stderr=output, env=ENVIRONMENT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            raise SystemExit(f"{command}: status {process.returncode}\n{output.read().decode()[-2000:]}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / MB)


def best(commands: dict[str, Sequence[str | Path]], rounds: int) -> dict[str, Cost]:
    """Return the least cost of each command, run in turns."""
    runs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            runs[name].append(cost(command))
    return {name: Cost(min(c.cpu for c in costs), min(c.memory for c in costs)) for name, costs in runs.items()}


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
        while file.tell() < megabytes * 1_000_000:
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
    return size / 1e6


def measure_data(megabytes: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder, megabytes)
        (folder / "csv.json").write_text(json.dumps(data_description(), indent=1), "utf-8")
        sizes = {"csv": (folder / "table.csv").stat().st_size / 1e6}
        if find_spec("pyarrow"):
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:  # what it takes is not to count as a contender's
                sizes["parquet"] = pool.submit(as_parquet, folder).result()
        ours = (sys.executable, "-m", "corpusfmt", "validate", "--format", "croissant", "--data")
        commands: dict[str, Sequence[str | Path]] = {kind: (*ours, folder / f"{kind}.json") for kind in sizes}
        commands["csv.reader"] = (sys.executable, "-c", COUNT_ROWS, folder / "table.csv")
        if "parquet" in sizes:
            commands["pyarrow"] = (sys.executable, "-c", DECODE_COLUMNS, folder / "table.parquet")
            sizes["pyarrow"] = sizes["parquet"]
            stored = (folder / "table.parquet").stat().st_size / 1e6
            print(f"as Parquet {stored:.0f} MB, {sizes['parquet']:.0f} MB in memory")
        costs = best(commands, rounds)
        print(f"a table of {sizes['csv']:.0f} MB: types, a key and a foreign key")
        for command, each in costs.items():
            rate = sizes.get(command, sizes["csv"]) / each.cpu
            line = f"  {command:<12} {each.cpu:6.2f} s CPU  {rate:5.0f} MB/s  {each.memory:5.0f} MiB"
            least = MB_A_SECOND.get(command)
            print(line + (f"  at least {least} MB/s: {verdict(rate >= least)}" if least else ""))
        print(f"  CSV takes {costs['csv'].cpu / costs['csv.reader'].cpu:.2f} times the CPU of counting the rows")
        if "pyarrow" in costs:
            print(
                f"  Parquet takes {costs['parquet'].cpu / costs['pyarrow'].cpu:.2f} times the CPU of decoding the columns"
            )


def verdict(good: bool) -> str:
    return "as required" if good else "NOT as required"


def measure_descriptions(peer: Path | None, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for version, (fields, least) in product(("1.0", "1.1"), ((SMALL, (5, 2)), (LARGE, (16, 1)))):
            path = Path(folder) / f"{version}-{fields}.json"
            path.write_text(json.dumps(description(fields, version), indent=1), "utf-8")
            commands: dict[str, Sequence[str | Path]] = {
                "corpusfmt": (sys.executable, "-m", "corpusfmt", "validate", path, "--format", "croissant"),
            }
            if peer:
                commands["mlcroissant"] = (peer, "validate", "--jsonld", path)
            print(f"Croissant {version}, {fields} fields, {path.stat().st_size / 1000:.0f} kB")
            costs = best(commands, rounds)
            for name, each in costs.items():
                print(f"  {name:<12} {each.cpu:6.2f} s CPU  {each.memory:5.0f} MiB")
            if peer:
                ours, theirs = costs["corpusfmt"], costs["mlcroissant"]
                cpu, memory = theirs.cpu / ours.cpu, theirs.memory / ours.memory
                good = cpu >= least[0] and memory >= least[1]
                print(
                    f"  {cpu:.1f} times less CPU (at least {least[0]}), {memory:.1f} times less memory: {verdict(good)}"
                )


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
