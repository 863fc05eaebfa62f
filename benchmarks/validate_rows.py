"""How fast JSON Lines, Parquet and plain text are validated, next to programs that only read them.

    python benchmarks/validate_rows.py [--megabytes 200] [--rounds 3]

The texts are those of `corpora.py`, clean and dirty, as rows in the shape of FineWeb, and as Parquet that the converter writes.
Rates are megabytes of uncompressed rows a second; those of Parquet are of the same rows.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from corpora import KINDS, compressed, fineweb, inflated, oscar
from measuring import MB, PEERS, Command, race, rates
from validate_croissant import DECODE_COLUMNS
from validate_oscar import INFLATE, VALIDATE

PARSE = """
import gzip, sys, msgspec
decode = msgspec.json.Decoder().decode
for path in sys.argv[1:]:
    with gzip.open(path) as lines:
        for line in lines:
            decode(line)
"""
DECODE_EACH = DECODE_COLUMNS.replace("print(", "for path in sys.argv[1:]:\n    print(").replace("sys.argv[1])", "path)")
DUCKDB = """
import duckdb, sys
connection = duckdb.connect(config={"threads": 1})
print(connection.execute(f"SELECT count(*), sum(length(text)), count(DISTINCT id) FROM '{sys.argv[1]}'").fetchone())
"""
CONVERT = 'import corpusfmt, sys; corpusfmt.convert(sys.argv[1], sys.argv[2], to="parquet", on_loss="allow")'


def make(root: Path, megabytes: float, kind: str) -> float:
    oscar(root / "oscar", megabytes, kind)
    fineweb(root / "rows", root / "oscar")
    race("rows to Parquet", {"convert": [sys.executable, "-c", CONVERT, root / "rows", root / "parquet"]}, 1)
    return inflated((root / "rows").glob("*.gz")) / MB


def contenders(root: Path) -> dict[str, Command]:
    validate = (sys.executable, "-c", VALIDATE)
    columns = sorted((root / "parquet").rglob("*.parquet"))
    found: dict[str, Command] = {
        "isal, read only": [sys.executable, "-c", INFLATE, *compressed(root / "rows")],
        "gzip and msgspec, each row": [sys.executable, "-c", PARSE, *compressed(root / "rows")],
        "validate, JSON Lines": [*validate, root / "rows", "1", "jsonl"],
        "pyarrow, columns of Parquet": [sys.executable, "-c", DECODE_EACH, *columns],
        "validate, Parquet": [*validate, root / "parquet", "1", "parquet"],
    }
    if PEERS.exists():
        found["DuckDB, lengths and unique ids of JSON Lines"] = [PEERS, "-c", DUCKDB, root / "rows" / "*.jsonl.gz"]
        found["DuckDB, the same of Parquet"] = [PEERS, "-c", DUCKDB, root / "parquet" / "**" / "*.parquet"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="validate-rows-") as scratch:
        for kind in KINDS:
            whole, tiny = Path(scratch, kind), Path(scratch, f"{kind}-tiny")
            size = make(whole, options.megabytes, kind)
            make(tiny, 0.000_01, kind)
            rates(
                f"{size:.0f} MB of {kind} rows, best of {options.rounds}",
                race(f"rows, {kind}", contenders(whole), options.rounds, megabytes=size),
                size,
                tiny=race(f"rows, {kind}, start", contenders(tiny), options.rounds),
                references={"x isal": "isal, read only", "x pyarrow": "pyarrow, columns of Parquet"},
            )


if __name__ == "__main__":
    main()
