"""How fast OSCAR 1.1 becomes Dolma and comes back, clean and dirty, and JSON Lines in the shape of FineWeb become Dolma.

    python benchmarks/convert.py                     200 MB of text, one and two workers
    python benchmarks/convert.py --megabytes 40      a quick look
    python benchmarks/convert.py --text FILE         your own text: UTF-8, `language<TAB>paragraph` on each line

Next to them, in the same run: `gzip -dc | gzip -6`, igzip and pigz in its place, reading with the standard library, and the
compressor alone, the one that the converter uses at the same level on the bytes that it writes, as its share of the whole.
The text is that of `corpora.py` in sixteen parts, each with metadata: a release has hundreds, and of two workers one waits
at the end for the other's last part. Rates are megabytes of text (metadata not counted) a second, of CPU and of the clock.
"Net" leaves out what a contender takes for a corpus of sixteen documents, that is to start. The JSON Lines have the same
texts, and 300 bytes of other fields each. The script fails where what comes back is not what was there.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path

from corpora import KINDS, SIXTEEN, compressed, fineweb, inflated, oscar
from measuring import MB, Command, least, race, rates, table

CONVERT = """
import corpusfmt, shutil, sys
source, target, to, jobs = sys.argv[1:]
shutil.rmtree(target, ignore_errors=True)
assert corpusfmt.convert(source, target, to=to, jobs=int(jobs)).verdict == "valid"
"""
READ = """
import gzip, json, sys
for path in sys.argv[1:]:
    with gzip.open(path) as file:
        for line in file:
            if path.endswith(".jsonl.gz"):
                json.loads(line)
            else:
                line.decode()
"""
COMPRESS = """
import gzip, resource, sys
from corpusfmt.io.compress import COMPRESSION, compressor_of
from corpusfmt.io.streams import Chunks, codec_of_name
spent = 0
for path in sys.argv[1:]:
    with open(path, "rb", buffering=0) as file:
        chunks = list(Chunks(file, codec_of_name(path), path))
    before = resource.getrusage(resource.RUSAGE_SELF)
    stream = compressor_of(COMPRESSION)
    for chunk in chunks:
        stream.compress(chunk)
    stream.flush()
    after = resource.getrusage(resource.RUSAGE_SELF)
    spent += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
print(spent)
"""
AGAIN = {
    "gzip": 'for file do gzip -dc "$file" | gzip -6 > /dev/null; done',
    "igzip": 'for file do igzip -dc "$file" | igzip -3 > /dev/null; done',
    "pigz": 'for file do pigz -dc -p 1 "$file" | pigz -6 -p 1 > /dev/null; done',
}
#: What is converted, and into what.
WAYS = {
    "OSCAR to Dolma": ("oscar", "dolma"),
    "Dolma to OSCAR": ("dolma", "oscar"),
    "JSON Lines to Dolma": ("rows", "dolma"),
    "JSON Lines to OSCAR": ("rows", "oscar"),
}


def target(title: str, jobs: int) -> str:
    return f"{title} {jobs}".replace(" ", "-")


def converting(root: Path, title: str, jobs: int) -> Command:
    source, to = WAYS[title]
    return [sys.executable, "-c", CONVERT, root / source, root / target(title, jobs), to, str(jobs)]


def contenders(root: Path, title: str) -> dict[str, Command]:
    files = compressed(root / WAYS[title][0])
    found: dict[str, Command] = {
        f"{program} -dc \\| {program} -{3 if program == 'igzip' else 6}": ["sh", "-c", command, "sh", *files]
        for program, command in AGAIN.items()
        if shutil.which(program)
    }
    found["gzip and json, reading"] = [sys.executable, "-c", READ, *files]
    for jobs, name in ((1, "one worker"), (2, "two workers")):
        found[f"{title}, {name}"] = converting(root, title, jobs)
    return found


def same_texts(one: Path, other: Path) -> bool:
    """Tell whether files of rows have the same texts."""
    for path in one.rglob("*.gz"):
        with gzip.open(path) as left, gzip.open(other / path.relative_to(one)) as right:
            if any(json.loads(a)["text"] != json.loads(b)["text"] for a, b in zip(left, right, strict=True)):
                return False
    return True


def same_data(one: Path, other: Path) -> bool:
    """Tell whether two releases have the same lines of text, and the same metadata, whatever they escape."""
    for path in one.rglob("*.gz"):
        with gzip.open(path) as left, gzip.open(other / path.relative_to(one)) as right:
            for a, b in zip_longest(left, right):
                if a != b and (".txt" in path.name or None in (a, b) or json.loads(a) != json.loads(b)):
                    return False
    return True


def make(root: Path, megabytes: float, kind: str, text: Path | None) -> None:
    oscar(root / "oscar", megabytes, kind, parts=SIXTEEN, text=text)
    fineweb(root / "rows", root / "oscar")
    race("dolma to convert", {"corpusfmt": converting(root, "OSCAR to Dolma", 1)}, 1)
    shutil.move(root / target("OSCAR to Dolma", 1), root / "dolma")


def check(root: Path) -> None:
    for jobs in (1, 2):
        if not same_data(root / "oscar", root / target("Dolma to OSCAR", jobs)):
            raise SystemExit("what comes back as OSCAR is not what was converted")
        if not same_texts(root / "rows", root / target("JSON Lines to Dolma", jobs) / "documents"):
            raise SystemExit("the texts of JSON Lines are not those of the rows")


def compare(root: Path, tiny: Path, kind: str, rounds: int) -> None:
    megabytes = inflated((root / "oscar").rglob("*.txt.gz")) / MB
    shares = []
    for title in WAYS:
        runs = race(f"convert, {kind}, {title}", contenders(root, title), rounds, megabytes=megabytes)
        written = compressed(root / target(title, 1))
        alone = race(f"convert, {kind}, {title}, compressor", {"": [sys.executable, "-c", COMPRESS, *written]}, rounds)[
            ""
        ]
        rates(
            f"{title}, {megabytes:.0f} MB of {kind} text, best of {rounds}",
            runs,
            megabytes,
            tiny=race(f"convert, {kind}, {title}, start", contenders(tiny, title), rounds),
            references={"x gzip": "gzip -dc \\| gzip -6"},
            pairs={f"{title}, two workers": f"{title}, one worker"},
        )
        seconds = min(float(run.output) for run in alone)
        whole = least(runs[f"{title}, one worker"]).cpu
        size = sum(Path(path).stat().st_size for path in written) / MB
        shares.append([title, f"{size:.1f}", f"{whole:.2f}", f"{seconds:.2f}", f"{seconds / whole:.0%}"])
    heads = ["one worker", "compressed output, MB", "CPU-s", "of which the compressor", "share"]
    table(f"the compressor's share, {kind} text", heads, shares)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200, help="text to make, uncompressed")
    parser.add_argument("--text", type=Path, help="your own text, `language<TAB>paragraph` on each line")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="convert-") as scratch:
        for kind in KINDS:
            root, tiny = Path(scratch, kind), Path(scratch, f"{kind}-tiny")
            make(root, options.megabytes, kind, options.text)
            make(tiny, 0.000_02, kind, options.text)
            compare(root, tiny, kind, options.rounds)
            check(root)
            shutil.rmtree(root)


if __name__ == "__main__":
    main()
