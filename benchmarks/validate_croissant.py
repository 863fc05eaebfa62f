"""How much a Croissant description costs to validate, next to mlcroissant, in one run.

    python benchmarks/validate_croissant.py                              corpusfmt alone
    python benchmarks/validate_croissant.py --peer VENV/bin/mlcroissant  and the peer, from an environment that has it

Every contender is a cold command: the CPU seconds and the peak memory of the whole process count, the best of the
rounds, taken in turns. The limits of the project are ratios: at least 3 times less CPU and half the memory on a
description of 30 kB, at least 10 times less CPU on one of 5,000 fields.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CONTEXT = ROOT / "schemas" / "croissant" / "1.0" / "context.jsonld"
SMALL, LARGE = 55, 5000
MB = 1024


@dataclass(frozen=True)
class Cost:
    cpu: float
    memory: float


def description(fields: int) -> dict[str, Any]:
    """Return a description with one CSV file and a record set of so many columns."""
    context = json.loads(CONTEXT.read_text("utf-8"))["@context"]
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
        "conformsTo": "http://mlcommons.org/croissant/1.0",
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
        process = subprocess.Popen(list(map(str, command)), stdout=output, stderr=output)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", type=Path, help="the mlcroissant command")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for fields, cpu_ratio, memory_ratio in ((SMALL, 3, 2), (LARGE, 10, 1)):
            path = Path(folder) / f"{fields}.json"
            path.write_text(json.dumps(description(fields), indent=1), "utf-8")
            commands: dict[str, Sequence[str | Path]] = {
                "corpusfmt": (sys.executable, "-m", "corpusfmt", "validate", path, "--format", "croissant"),
            }
            if options.peer:
                commands["mlcroissant"] = (options.peer, "validate", "--jsonld", path)
            print(f"{fields} fields, {path.stat().st_size / 1000:.0f} kB")
            costs = best(commands, options.rounds)
            for name, each in costs.items():
                print(f"  {name:<12} {each.cpu:6.2f} s CPU  {each.memory:5.0f} MiB")
            if options.peer:
                ours, theirs = costs["corpusfmt"], costs["mlcroissant"]
                cpu, memory = theirs.cpu / ours.cpu, theirs.memory / ours.memory
                good = cpu >= cpu_ratio and memory >= memory_ratio
                verdict = "as required" if good else "NOT as required"
                print(f"  {cpu:.1f} times less CPU (at least {cpu_ratio}), {memory:.1f} times less memory: {verdict}")


if __name__ == "__main__":
    main()
