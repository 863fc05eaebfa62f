"""How fast OSCAR 1.1 becomes Dolma and comes back, and JSON Lines in the shape of FineWeb become Dolma, next to
`gzip -dc | gzip -6` and to reading with the standard library.

    python benchmarks/convert.py                     200 MB of text, one and two workers
    python benchmarks/convert.py --megabytes 40      a quick look
    python benchmarks/convert.py --text FILE         your own text: UTF-8, `language<TAB>paragraph` on each line

The text is that of `validate_oscar.py`, seven languages, in sixteen parts, each with metadata: a release has hundreds, and
of two workers one waits at the end for the other's last part. Rates are megabytes of text (metadata not counted) a second,
of CPU and of the clock. Every contender runs in a process of its own; they take turns, and the best round counts. "Net"
leaves out what a contender takes for a corpus of sixteen documents, that is to start. "x one" is two workers by the clock
against one, start included. The JSON Lines have the same texts, and 300 bytes of other fields each. The script fails where what comes back is not what was there. Machines are noisy: trust ratios.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path

from validate_oscar import Run, as_published, compressed, make_part, timed, words_by_language

# English has four parts, as it has most of the real release.
PARTS_OF = {"en": 4, "de": 2, "fr": 2, "ru": 2, "ar": 2, "hi": 2, "zh": 2}
PARTS = [(language, number) for language, parts in PARTS_OF.items() for number in range(1, parts + 1)]

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
AGAIN = 'for file do gzip -dc "$file" | gzip -6 > /dev/null; done'

Command = Callable[[Path], list[str]]


def text_bytes(root: Path) -> int:
    size = 0
    for path in root.rglob("*.txt.gz"):
        with gzip.open(path) as file:
            while chunk := file.read(1 << 20):
                size += len(chunk)
    return size


def converting(source: str, target: str, to: str, jobs: int) -> Command:
    return lambda root: [sys.executable, "-c", CONVERT, str(root / source), str(root / target), to, str(jobs)]


def make_rows(root: Path) -> None:
    """Write the texts of OSCAR as rows in the shape of FineWeb, compressed as published."""
    (root / "rows").mkdir()
    ids = (f"<urn:uuid:0da49ea7-8fb9-41f6-bc30-{number:012x}>" for number in count())
    for path in sorted((root / "oscar").rglob("*.txt.gz")):
        with gzip.open(path) as texts, (root / "rows" / f"{path.name.partition('.')[0]}.jsonl.gz").open("wb") as file:
            stream = as_published()
            for number, text in enumerate(texts.read().decode().split("\n\n")[:-1]):
                row = {
                    "text": text,
                    "id": next(ids),
                    "dump": "CC-MAIN-2023-50",
                    "url": f"https://example.org/{path.name}/{number}",
                    "date": "2023-11-30T07:12:01Z",
                    "file_path": "s3://commoncrawl/crawl-data/CC-MAIN-2023-50/segments/1700679100172.28/warc/x.warc.gz",
                    "language": path.parent.name,
                    "language_score": 1 / (1 + number),
                    "token_count": len(text) // 4,
                }
                file.write(stream.compress(json.dumps(row, ensure_ascii=False).encode() + b"\n"))
            file.write(stream.flush())


def same_texts(one: Path, other: Path) -> bool:
    """Tell whether files of rows have the same texts."""
    for path in one.rglob("*.gz"):
        with gzip.open(path) as left, gzip.open(other / path.relative_to(one)) as right:
            if any(json.loads(a)["text"] != json.loads(b)["text"] for a, b in zip(left, right, strict=True)):
                return False
    return True


def same_data(one: Path, other: Path) -> bool:
    """Tell whether two releases have the same lines of text and metadata."""
    for path in one.rglob("*.gz"):
        with gzip.open(path) as left, gzip.open(other / path.relative_to(one)) as right:
            while chunk := left.read(1 << 20):
                if chunk != right.read(1 << 20):
                    return False
            if right.read(1):
                return False
    return True


def measured(root: Path, tiny: Path, rounds: int) -> dict[str, tuple[list[Run], list[Run]]]:
    contenders: dict[str, Command] = {
        "gzip -dc | gzip -6, OSCAR": lambda base: ["sh", "-c", AGAIN, "sh", *compressed(base / "oscar")],
        "gzip and json, read OSCAR": lambda base: [sys.executable, "-c", READ, *compressed(base / "oscar")],
        "OSCAR to Dolma, one worker": converting("oscar", "dolma", "dolma", 1),
        "OSCAR to Dolma, two workers": converting("oscar", "dolma-2", "dolma", 2),
        "gzip -dc | gzip -6, Dolma": lambda base: ["sh", "-c", AGAIN, "sh", *compressed(base / "dolma")],
        "gzip and json, read Dolma": lambda base: [sys.executable, "-c", READ, *compressed(base / "dolma")],
        "Dolma to OSCAR, one worker": converting("dolma", "back", "oscar", 1),
        "Dolma to OSCAR, two workers": converting("dolma", "back-2", "oscar", 2),
        "gzip -dc | gzip -6, JSON Lines": lambda base: ["sh", "-c", AGAIN, "sh", *compressed(base / "rows")],
        "gzip and json, read JSON Lines": lambda base: [sys.executable, "-c", READ, *compressed(base / "rows")],
        "JSON Lines to Dolma, one worker": converting("rows", "of-rows", "dolma", 1),
        "JSON Lines to Dolma, two workers": converting("rows", "of-rows-2", "dolma", 2),
    }
    runs: dict[str, tuple[list[Run], list[Run]]] = {name: ([], []) for name in contenders}
    for _ in range(rounds):
        for name, command in contenders.items():
            runs[name][0].append(timed(command(root)))
            runs[name][1].append(timed(command(tiny)))
    return runs


def ratio_to_one(runs: dict[str, tuple[list[Run], list[Run]]], name: str) -> str:
    """Return how many times faster by the clock two workers are than one, start included."""
    one, two = (min(run.wall for run in runs[which][0]) for which in (name.replace("two workers", "one worker"), name))
    return f"{one / two:8.2f}" if one != two else ""


def show(runs: dict[str, tuple[list[Run], list[Run]]], size: int, rounds: int) -> None:
    print(f"\n{size / 1e6:.0f} MB of text, best of {rounds}")
    print(f"{'':32}{'CPU-s':>8}{'MB/CPU-s':>10}{'net':>7}{'x gzip':>8}{'seconds':>9}{'MB/s':>7}{'net':>7}{'x one':>8}")
    compressor = 1.0
    for name, (whole, tiny) in runs.items():
        cpu, wall = min(run.cpu for run in whole), min(run.wall for run in whole)
        net_cpu = cpu - min(run.cpu for run in tiny)
        net_wall = wall - min(run.wall for run in tiny)
        if name.startswith("gzip -dc"):
            compressor = cpu
        of_cpu = f"{cpu:8.2f}{size / 1e6 / cpu:10.1f}{size / 1e6 / net_cpu:7.1f}{compressor / cpu:8.1f}"
        of_clock = f"{wall:9.2f}{size / 1e6 / wall:7.1f}{size / 1e6 / net_wall:7.1f}"
        print(f"{name:32}{of_cpu}{of_clock}{ratio_to_one(runs, name)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200, help="text to make, uncompressed")
    parser.add_argument("--text", type=Path, help="your own text, `language<TAB>paragraph` on each line")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    words = words_by_language(options.text)
    with tempfile.TemporaryDirectory(prefix="convert-") as scratch:
        root, tiny = Path(scratch) / "whole", Path(scratch) / "tiny"
        for part in PARTS:
            make_part(root / "oscar", part, words[part[0]], options.megabytes * 1_000_000 // len(PARTS), as_published)
            make_part(tiny / "oscar", part, words[part[0]], 1, as_published)
        make_rows(root)
        make_rows(tiny)
        show(measured(root, tiny, options.rounds), text_bytes(root / "oscar"), options.rounds)
        for back in ("back", "back-2"):
            if not same_data(root / "oscar", root / back):
                raise SystemExit(f"{back} is not what was converted")
        for back in ("of-rows", "of-rows-2"):
            if not same_texts(root / "rows", root / back / "documents"):
                raise SystemExit(f"{back} is not what was converted")


if __name__ == "__main__":
    main()
