"""Run the benchmarks, or some, against the peers that are there, and keep what they found in benchmarks/results.json.

    python benchmarks/suite.py                          everything: about an hour on a quiet machine
    python benchmarks/suite.py --only start,convert     some pieces; what others found stays
    python benchmarks/suite.py --scale 0.1 --rounds 2   a quick look, with a tenth of the data, each contender twice
    python benchmarks/suite.py --list                   the pieces, their commands and how long they took

Peers are programs on the search path (gzip, igzip, pigz), packages in environments of their own, which `make bench` makes
(build/peers and build/mlcroissant), and what variables name: the programs dolma and goclassy, and the Python of an environment
with datatrove and spacy. What is missing is named, and left out. `benchmarks/page.py` writes the tables into
docs/performance.md and draws the plots.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measuring import PEERS, ROOT, RUNS, machine, tables

RESULTS = ROOT / "benchmarks" / "results.json"
MLCROISSANT = ROOT / "build" / "mlcroissant" / "bin" / "mlcroissant"
#: Peers: what they are needed for, and where they are looked for.
NEEDED: dict[str, Path | None] = {
    **{program: Path(found) if (found := shutil.which(program)) else None for program in ("gzip", "igzip", "pigz")},
    "DuckDB, jsonschema-rs, fastText built from source": PEERS,
    "mlcroissant": MLCROISSANT,
    **{
        name: Path(os.environ[variable]) if variable in os.environ else None
        for name, variable in (
            ("dolma", "CORPUSFMT_DOLMA"),
            ("goclassy", "CORPUSFMT_GOCLASSY"),
            ("datatrove", "CORPUSFMT_DATATROVE"),
        )
    },
}


def there(name: str) -> str | None:
    """Return the path of a peer, if it is there."""
    path = NEEDED[name]
    return str(path) if path and path.exists() else None


def pieces(scale: float, largest: int, rounds: int | None) -> dict[str, list[str]]:
    """Return the commands of the benchmarks: a script and its arguments."""
    turns = [] if rounds is None else ["--rounds", str(rounds)]
    mb = str(int(200 * scale) or 1)
    found = {
        "start": ["start.py"],
        "oscar": ["validate_oscar.py", "--megabytes", mb, *turns],
        "dolma": ["validate_dolma.py", "--megabytes", mb, *turns],
        "rows": ["validate_rows.py", "--megabytes", mb, *turns],
        "shards": ["shards.py", "--shards", str(int(100_000 * scale) or 1)],
        "bad": ["bad_rows.py", "--megabytes", str(40 * scale), *turns],
        "croissant": ["validate_croissant.py", "--rounds", str(rounds or 3)],
        "tables": ["validate_croissant.py", "--rounds", str(rounds or 3), "--data", mb],
        "convert": ["convert.py", "--megabytes", mb, *turns],
        "build": ["build.py", "--mb", str(300 * scale), *turns],
        "langid": ["langid.py", "--megabytes", str(2 * scale), *turns],
        "verify": ["verify.py", str(int(800 * scale))],
        "dedup": ["dedup.py", "--lines", str(int(50_000_000 * scale))],
        "compare": ["compare.py", "--documents", str(int(20_000_000 * scale))],
        "scale": ["scale.py", "--inputs", str(int(10_000 * scale)), "--containers", "0", "--hosts", "0", "--lines", ""],
        "sizes": ["sizes.py", "--largest", str(largest), *turns],
    }
    for piece, option, name in (("croissant", "--peer", "mlcroissant"), ("dolma", "--dolma", "dolma")):
        if path := there(name):
            found[piece] += [option, path]
    if path := there("datatrove"):
        found["stats"] = ["stats.py", "--datatrove", path]
    if path := there("goclassy"):
        found["goclassy"] = ["goclassy.py", "--goclassy", path]
    return found


def run(command: list[str]) -> dict[str, Any] | None:
    """Run a benchmark; return its tables, all costs, and what measured when. It returns None if the benchmark failed."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder, "runs")
        script, *arguments = command
        environment = os.environ | {RUNS: str(runs), "PYTHONUNBUFFERED": "1"}
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "benchmarks" / script), *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        printed = []
        with process:
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
                printed.append(line)
        if process.returncode:
            return None
        found = [json.loads(line) for line in runs.read_text().splitlines()] if runs.exists() else []
    shown = [" ".join("VENV/bin/" + Path(each).name if each.startswith("/") else each for each in command)]
    text = "".join(printed)
    return {
        "command": f"python benchmarks/{shown[0]}".strip(),
        "measured": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "took": round(time.perf_counter() - began),
        "load": round(os.getloadavg()[0], 1),
        "machine": machine(),
        "tables": list(tables(text)),
        "text": "" if "|---" in text else text,
        "runs": found,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="PIECES", help="like start,convert")
    parser.add_argument("--scale", type=float, default=1.0, help="of the data that is generated")
    parser.add_argument("--rounds", type=int, help="of each race (default: what each benchmark finds enough)")
    parser.add_argument("--largest", type=int, default=1000, metavar="MB", help="where the plots end (10000: 10 GB)")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    commands = pieces(options.scale, options.largest, options.rounds)
    results: dict[str, Any] = json.loads(options.results.read_bytes()) if options.results.exists() else {}
    if options.list:
        known = defaultdict(dict, results)
        for piece, command in commands.items():
            print(f"{piece:10} {known[piece].get('took', '?'):>5} s  {' '.join(command)}")
        return
    wanted = options.only.split(",") if options.only else list(commands)
    if missing := [piece for piece in wanted if piece not in commands]:
        parser.error(f"no such piece, or its peer is missing: {', '.join(missing)}; there are {', '.join(commands)}")
    for name in NEEDED:
        if not there(name):
            print(f"not compared with {name}: not found")
    failed = []
    for piece in wanted:
        print(f"\n== {piece}", flush=True)
        found = run(commands[piece])
        if found is None:
            failed.append(piece)
            continue
        results[piece] = found
        ordered = {name: results[name] for name in [*commands, *results] if name in results}
        options.results.write_text(f"{json.dumps(ordered, indent=1)}\n", "utf-8")
    if failed:
        sys.exit(f"failed, and left as measured before: {', '.join(failed)}")


if __name__ == "__main__":
    main()
