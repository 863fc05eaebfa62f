"""How fast Dolma documents and attributes are validated, next to `gzip -dc`, a read-only floor, jsonschema and the toolkit.

    python benchmarks/validate_dolma.py                     everything, on 200 MB of documents
    python benchmarks/validate_dolma.py --megabytes 40      a quick look
    python benchmarks/validate_dolma.py --keys 50000000     uniqueness of so many ids
    python benchmarks/validate_dolma.py --dolma PATH        also `dolma mix`, from a virtual environment that has it

All rates are megabytes of document JSON Lines a second, whatever else was read with them, so they can be compared. They
count processor time, so that other work on the machine disturbs them less, but for the rows that say "by the clock".
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import corpusfmt
from corpusfmt._resources import resource as published
from corpusfmt.io.lines import Line, lines
from corpusfmt.io.streams import open_chunks

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MB = 1_000_000
_SHARDS = 8
_MEAN_TEXT = 2900
_TEXT = """
the of and to in is was for on that with as by at from his it an be are this which or had not but first their its one
also after has have new who been they two her she all more when time into year can other between only about some over
state world city many such no made most where would there out used war during national then up people known later
university south united being these part three north through under history years
"""
_WORDS = _TEXT.split()
_UNCOMMON = ("naïve", "élan", "—", "“quoted”", "Zürich", "Москва", "日本語", '"so"')
_GOPHER = (
    "fraction_of_characters_in_most_common_2grams",
    "character_count",
    "word_count",
    "median_word_length",
    "symbol_to_word_ratio",
    "fraction_of_words_with_alpha_character",
    "required_word_count",
    "fraction_of_lines_starting_with_bullet_point",
)


def text_of(rng: random.Random) -> str:
    """Return a few paragraphs, some kilobytes of mostly ASCII text."""
    length = rng.expovariate(1 / _MEAN_TEXT)
    paragraphs: list[str] = []
    size = 0
    while size < length:
        words = rng.choices(_WORDS, k=rng.randint(5, 80))
        if rng.random() < 0.3:
            words[rng.randrange(len(words))] = rng.choice(_UNCOMMON)
        paragraphs.append(" ".join(words))
        size += len(paragraphs[-1]) + 1
    return "\n".join(paragraphs)


def row_of(rng: random.Random, number: int) -> dict[str, Any]:
    """Return a document with the fields and metadata of a Common Crawl release."""
    text = text_of(rng)
    return {
        "id": hashlib.sha1(str(number).encode()).hexdigest(),
        "text": text,
        "source": "common-crawl",
        "added": f"2023-04-07T15:{number // 60 % 60:02}:{number % 60:02}.743534+00:00",
        "created": f"2020-03-29T09:{number // 60 % 60:02}:{number % 60:02}Z",
        "metadata": {
            "bucket": "head",
            "url": f"http://example.org/{number}/a-page",
            "digest": f"sha1:{number:032}",
            "language": "en",
            "language_score": 0.95,
            "length": len(text),
            "nlines": text.count("\n") + 1,
            "perplexity": 304.6,
            "cc_segment": "crawl-data/CC-MAIN-2020-16/segments/1585370494064.21/wet/CC-MAIN-20200329074745-00210.warc.wet.gz",
        },
    }


def attributes_of(rng: random.Random, text: str) -> dict[str, dict[str, Any]]:
    """Return what four taggers say of a text, in the shapes of the toolkit's own."""
    paragraphs, start = [], 0
    for paragraph in text.split("\n"):
        paragraphs.append([start, start + len(paragraph), round(rng.random(), 5)])
        start += len(paragraph) + 1
    whole = len(text)
    score = round(rng.random(), 5)
    return {
        "language": {"exp__ft_lang_id__en": [[0, whole, score]], "exp__ft_lang_id__not_en": [[0, whole, 1 - score]]},
        "gopher": {f"exp__gopher__{name}": [[0, whole, round(rng.random() * 10, 5)]] for name in _GOPHER},
        "pii": {f"exp__pii__{name}": [] for name in ("EMAIL_ADDRESS", "PHONE_NUMBER", "IP_ADDRESS")},
        "paragraphs": {"exp__ft_lang_id_paragraph__en": paragraphs},
    }


def generate(root: Path, megabytes: float, seed: int = 20181112) -> int:
    """Write a dataset as .jsonl.gz and, beside it, as .jsonl.zst; return the bytes of its documents uncompressed."""
    rng = random.Random(seed)
    total = number = 0
    for shard in range(_SHARDS):
        rows: dict[str, list[bytes]] = {}
        size = 0
        while size < megabytes * MB / _SHARDS:
            row = row_of(rng, number)
            number += 1
            line = _line(row)
            size += len(line)
            rows.setdefault("documents", []).append(line)
            for name, attributes in attributes_of(rng, row["text"]).items():
                record = {"id": row["id"], "attributes": attributes, "source": row["source"]}
                rows.setdefault(f"attributes/{name}", []).append(_line(record))
        total += size
        for folder, encoded in rows.items():
            data = b"".join(encoded)
            for kind, packed in (("gz", gzip.compress(data, 6, mtime=0)), ("zst", zstd.compress(data, 3))):
                path = root / kind / folder / f"part-{shard:04}.jsonl.{kind}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(packed)
    return total


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


@dataclass(frozen=True)
class Timing:
    """Seconds on the clock and of processor time, children included."""

    wall: float
    cpu: float


def timed(action: Callable[[], object], repeats: int) -> Timing:
    """Return the best of some runs."""
    best = Timing(float("inf"), float("inf"))
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), _cpu()
        action()
        best = Timing(min(best.wall, time.perf_counter() - wall), min(best.cpu, _cpu() - cpu))
    return best


def _cpu() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def validate(root: Path, jobs: int = 1) -> None:
    """Validate a dataset, which must be valid."""
    report = corpusfmt.validate(root, format="dolma", jobs=jobs)
    assert report.verdict == "valid", [str(finding) for finding in report.findings]


def read_only(root: Path) -> None:
    """Decompress every file and do nothing else with it."""
    for path in _files(root):
        with path.open("rb", buffering=0) as file:
            for _ in open_chunks(file, path.name):
                pass


def gunzip(root: Path) -> None:
    """Run `gzip -dc FILES | wc -c`."""
    with subprocess.Popen(["gzip", "-dc", *map(str, _files(root))], stdout=subprocess.PIPE) as process:
        subprocess.run(["wc", "-c"], stdin=process.stdout, stdout=subprocess.DEVNULL, check=True)


def _files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file())


def jsonschema_seconds(root: Path, rows: int) -> tuple[float, int]:
    """Check the first rows of one shard by the published schemas alone; return seconds, and bytes of documents."""
    from jsonschema import Draft202012Validator

    documents = root / "documents" / "part-0000.jsonl.gz"
    seconds, size = 0.0, 0
    for path in (documents, *sorted(root.glob("attributes/*/part-0000.jsonl.gz"))):
        name = "document" if path == documents else "attributes"
        schema = json.loads(published("schemas", f"dolma/{name}.schema.json").read_bytes())
        validator = Draft202012Validator(schema)
        sample = list(_first_lines(path, rows))
        start = time.process_time()
        assert all(validator.is_valid(json.loads(line)) for line in sample)
        seconds += time.process_time() - start
        size += sum(map(len, sample)) if path == documents else 0
    return seconds, size


def _first_lines(path: Path, count: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        for line in lines(open_chunks(file, path.name)):
            if line.line > count:
                return
            assert isinstance(line, Line)
            yield line.data


def mix(root: Path, dolma: Path) -> None:
    """Let the toolkit's mixer read the documents and one attribute set, and keep nothing."""
    with tempfile.TemporaryDirectory() as folder:
        config = {
            "streams": [
                {
                    "name": "benchmark",
                    "documents": [f"{root}/documents/*"],
                    "attributes": ["gopher"],
                    "output": {"path": f"{folder}/out", "max_size_in_bytes": 10**10},
                    "filter": {"include": [], "exclude": ["$.attributes[?(@.exp__gopher__word_count[0][2] >= 0)]"]},
                }
            ],
            "processes": 1,
            "work_dir": {"input": f"{folder}/in", "output": f"{folder}/tmp"},
        }
        path = Path(folder) / "mix.json"
        path.write_text(json.dumps(config))
        subprocess.run([str(dolma), "-c", str(path), "mix"], check=True, capture_output=True)


def peak_memory(*arguments: str) -> float:
    """Run a part of this file in a process of its own; return the most memory it had, in megabytes."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-c", code, sys.executable, __file__, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout.split()[-1]) * 1024 / MB


def unique_keys(count: int) -> None:
    """Write so many keys as 100 shards would, with every ten thousandth one repeated, and find these again."""
    import xxhash

    from corpusfmt.io.keys import KeyWriter, repeated

    shards = 100
    with tempfile.TemporaryDirectory() as folder:
        for shard in range(shards):
            writer = KeyWriter(Path(folder), shard)
            first = shard * count // shards
            for start in range(first, (shard + 1) * count // shards, 1000):
                end = min(start + 1000, (shard + 1) * count // shards)
                numbers = (number - number % 10_000 if number % 10_000 == 1 else number for number in range(start, end))
                writer.extend((xxhash.xxh3_64_intdigest(b"%d" % number) for number in numbers), start - first)
            writer.close()
        found = sum(1 for _ in repeated(Path(folder)))
    expected = -(-(count - 1) // 10_000)
    assert found == expected, (found, expected)


def compare(root: Path, megabytes: float, repeats: int, dolma: Path | None) -> None:
    """Generate, run everything on the same files, print one table."""
    size = generate(root, megabytes) / MB
    gz, zst = root / "gz", root / "zst"
    reference = size / timed(lambda: gunzip(gz), repeats).cpu
    rows: list[tuple[str, float]] = [
        ("gzip -dc documents and attributes | wc -c", reference),
        ("read only, gzip (floor)", size / timed(lambda: read_only(gz), repeats).cpu),
        ("read only, zstd (floor)", size / timed(lambda: read_only(zst), repeats).cpu),
        ("corpusfmt validate, gzip, one core", size / timed(lambda: validate(gz), repeats).cpu),
        ("corpusfmt validate, zstd, one core", size / timed(lambda: validate(zst), repeats).cpu),
        ("corpusfmt validate, gzip, one process, by the clock", size / timed(lambda: validate(gz), repeats).wall),
        (
            "corpusfmt validate, gzip, two processes, by the clock",
            size / timed(lambda: validate(gz, jobs=2), repeats).wall,
        ),
        (
            "corpusfmt validate, zstd, two processes, by the clock",
            size / timed(lambda: validate(zst, jobs=2), repeats).wall,
        ),
    ]
    seconds, checked = jsonschema_seconds(gz, 300)
    rows.append(("jsonschema for each line (300 rows, without reading)", checked / MB / seconds))
    if dolma is not None:
        rows.append(("dolma mix, one attribute set, keeping nothing", size / timed(lambda: mix(gz, dolma), 1).cpu))
    print(f"{size:.0f} MB of documents, {os.cpu_count()} processors, best of {repeats}\n")
    print(f"{'':54}{'MB/s':>8}{'of gzip -dc':>14}")
    for name, rate in rows:
        print(f"{name:54}{rate:8.1f}{rate / reference:14.2f}")
    small = root / "small"
    generate(small, megabytes / 10)
    for name, folder in (("a tenth of it", small / "gz"), ("all of it", gz)):
        print(f"peak memory, {name}: {peak_memory('--only-validate', str(folder)):.0f} MB")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dolma", type=Path, help="the `dolma` command of a virtual environment")
    parser.add_argument("--keys", type=int, help="only measure the uniqueness of so many ids")
    parser.add_argument("--only-validate", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--only-keys", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only_validate:
        validate(arguments.only_validate)
    elif arguments.only_keys:
        unique_keys(arguments.only_keys)
    elif arguments.keys:
        start = time.perf_counter()
        memory = peak_memory("--only-keys", str(arguments.keys))
        print(f"uniqueness of {arguments.keys} ids: {memory:.0f} MB, {time.perf_counter() - start:.0f} s")
    else:
        folder = Path(tempfile.mkdtemp(prefix="corpusfmt-benchmark-"))
        try:
            compare(folder, arguments.megabytes, arguments.repeats, arguments.dolma)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
