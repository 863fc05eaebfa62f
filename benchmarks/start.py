"""What commands cost when there is little to do: the version, the help, a description, a small release, no inputs but one.

    python benchmarks/start.py [--rounds 9]

Cold commands, whole processes, next to Python that starts and does nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from measuring import PEERS, ROOT, Command, least, race, spread, table
from validate_croissant import SMALL, description


def contenders(folder: Path) -> dict[str, Command]:
    ours = (sys.executable, "-m", "corpusfmt")
    described = folder / "description.json"
    described.write_text(json.dumps(description(SMALL), indent=1), "utf-8")
    release, one = folder / "release", folder / "one.jsonl"
    samples = sorted((ROOT / "pipeline" / "sample").glob("*.gz"))
    race("the demo's release", {"build": (*ours, "build", *samples, "-o", release, "--jobs", "1")}, 1)
    one.write_bytes(b'{"id": "1", "text": "one line", "source": "s", "added": "2024-01-01"}\n')
    found: dict[str, Command] = {
        "Python that does nothing": (sys.executable, "-c", ""),
        "`corpusfmt --version`": (*ours, "--version"),
        "`corpusfmt --help`": (*ours, "--help"),
        f"`corpusfmt validate`, a description of {described.stat().st_size / 1000:.0f} kB": (
            *ours,
            "validate",
            described,
        ),
        "`corpusfmt validate`, the demo's release": (*ours, "validate", release),
        "`corpusfmt validate`, JSON Lines of one row": (*ours, "validate", one),
        "`corpusfmt build`, one WET file of one record": (*ours, "build", samples[-1], "-o", "built"),
    }
    if PEERS.exists():
        found["`import duckdb`"] = (PEERS, "-c", "import duckdb")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="start-") as scratch:
        runs = race("start", contenders(Path(scratch)), options.rounds)
    rows = []
    for name, costs in runs.items():
        best = least(costs)
        rows.append(
            [name, f"{1000 * best.cpu:.0f}", f"{1000 * best.wall:.0f}", f"{spread(costs):.0%}", f"{best.memory:.0f}"]
        )
    table(f"best of {options.rounds}", ["command", "CPU, ms", "by the clock, ms", "spread of CPU", "peak, MB"], rows)


if __name__ == "__main__":
    main()
