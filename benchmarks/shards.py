"""What checking very many tiny shards costs each: Dolma documents of 1 kB, and parts of OSCAR with checksums.

    python benchmarks/shards.py                   100,000 shards of each, once
    python benchmarks/shards.py --shards 5000     a quick look

CPU time is that of whole processes, one job, less that of the same command on a release of one shard. Files are made on the
disk of the temporary folder, and are in the page cache when they are checked.
"""

from __future__ import annotations

import argparse
import gzip
import random
import shutil
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

from corpora import compact, headers, row_of
from measuring import Command, least, race, table

TEXT = "\n".join(["All human beings are born free and equal in dignity and rights."] * 14)


def dolma(root: Path, number: int) -> None:
    rng = random.Random(number)
    path = root / "documents" / f"part-{number:06}.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(compact(row_of(rng, number, TEXT)), 1, mtime=0))


def oscar(root: Path, number: int) -> None:
    """Write a part of one document: its text, its metadata, and their checksums in the list of the language."""
    folder = root / "en"
    folder.mkdir(parents=True, exist_ok=True)
    text = TEXT.encode()
    row = {
        "headers": headers(random.Random(number), "en", len(text), "clean"),
        "offset": 0,
        "nb_sentences": len(text.split(b"\n")),
    }
    part = f"part_{number + 1}"
    for name, data in ((f"en_{part}.txt.gz", text + b"\n\n"), (f"en_meta_{part}.jsonl.gz", compact(row))):
        packed = gzip.compress(data, 1, mtime=0)
        (folder / name).write_bytes(packed)
        with (folder / "en_sha256.txt").open("a") as checksums:
            checksums.write(f"{sha256(packed).hexdigest()}  {name}\n")


MAKERS = {"Dolma, 1 kB of documents": dolma, "OSCAR, 1 kB of text": oscar}


def check(root: Path) -> Command:
    return [sys.executable, "-m", "corpusfmt", "validate", str(root), "--no-cache", "--jobs", "1", "--quiet"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="shards-") as scratch:
        for kind, make in MAKERS.items():
            root, one = Path(scratch, "many"), Path(scratch, "one")
            make(one, 0)
            for number in range(options.shards):
                make(root, number)
            many = least(race(f"shards, {kind}", {"validate": check(root)}, options.rounds)["validate"])
            alone = least(race(f"shards, {kind}, one", {"validate": check(one)}, 3)["validate"])
            each = (many.cpu - alone.cpu) / options.shards
            rows.append([kind, f"{each * 1000:.2f}", f"{many.cpu:.1f}", f"{many.memory:.0f}", f"{alone.memory:.0f}"])
            shutil.rmtree(root)
            shutil.rmtree(one)
    heads = ["", "CPU-ms each, net", "CPU-s in all", "peak, MB", "peak of one shard, MB"]
    table(f"{options.shards:,} shards", heads, rows)


if __name__ == "__main__":
    main()
