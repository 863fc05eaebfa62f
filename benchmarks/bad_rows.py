"""How much longer files take in which every row is bad, or valid but unusual, than clean files of the same kind and size.

    python benchmarks/bad_rows.py [--megabytes 20] [--rounds 2] [--only oscar]

Each file is checked by a process of its own, in turns with the clean one; the factor is that of processor time, first whole,
then without what it takes to check a file of one row. The goal is 8.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from corpora import enriched, headers, row_of
from measuring import MB, Command, least, race, table

VALIDATE = "import corpusfmt, sys; corpusfmt.validate(sys.argv[1], jobs=1, format=sys.argv[2])"
ENGLISH = "a line of text that is long enough to be kept in a corpus of many languages " * 2
RUSSIAN = "строка текста, достаточно длинная для того, чтобы её сохранить в корпусе " * 2
KOREAN = "한국어 문장은 충분히 길어야 보존된다 " * 6
SCRIPTS = {ENGLISH: "ASCII", RUSSIAN: "Cyrillic", KOREAN: "Korean"}
Document = Callable[[str], bytes]


def texts() -> dict[str, dict[str, Document]]:
    """Return how a line of text becomes a document of OSCAR, by script: a clean one, and others."""

    def encoded(change: Callable[[str], str] = str) -> Document:
        return lambda line: f"{change(line)}\n\n".encode()

    def in_nfd(line: str) -> str:
        return unicodedata.normalize("NFD", line)

    rng = random.Random(1)
    marks = ["".join(map(chr, rng.choices(range(0x300, 0x370), k=2))) for _ in range(1000)]
    return {
        ENGLISH: {
            "clean": encoded(),
            "ends in CR": encoded(lambda line: f"{line}\r"),
            "control character": encoded(lambda line: f"{line}\x01"),
            "NUL": encoded(lambda line: f"{line}\0"),
            "begins with a space": encoded(lambda line: f" {line}"),
            "words": encoded(lambda line: line.replace(" ", "\n")),
            "letters": encoded("\n".join),
            "only LFs": encoded(lambda _: ""),
            "spaces": encoded(lambda _: " \t"),
            "double-encoded": encoded(lambda line: f"{line} Ã©tÃ© dâ€™hiver"),
            "emoji": encoded(lambda line: f"{line}\U0001f950"),
            "random marks": encoded(lambda line: "".join(letter + rng.choice(marks) for letter in line)),
            "not UTF-8": lambda line: line.encode() + b"\xff\n\n",
        },
        RUSSIAN: {"clean": encoded(), "NFD": encoded(in_nfd), "not UTF-8": lambda line: line.encode() + b"\xff\n\n"},
        KOREAN: {"clean": encoded(), "NFD": encoded(in_nfd)},
    }


def oscar_text(root: Path, megabytes: float, document: Document, letters: str) -> str:
    """Write a file of 1.0, in which documents recur after two megabytes."""
    rng = random.Random(1)
    words, weights = enriched(rng, letters.split())
    found, size = [], 0
    while size < min(megabytes, 2) * MB:
        found.append(document(" ".join(rng.choices(words, cum_weights=weights, k=20))))
        size += len(found[-1])
    return write(root / "en.txt.gz", b"".join(found) * round(max(megabytes * MB / size, 1)))


def metadata_rows() -> dict[str, Callable[[random.Random, int], bytes]]:
    def row(rng: random.Random, number: int, **other: Any) -> dict[str, Any]:
        return {"headers": headers(rng, "en", 500, "clean") | other, "offset": 2 * number, "nb_sentences": 1}

    def compact(row: Any) -> bytes:
        return json.dumps(row, separators=(",", ":")).encode()

    return {
        "clean": lambda rng, number: compact(row(rng, number)),
        "bad JSON": lambda rng, number: compact(row(rng, number))[:-1],
        "escaped names": lambda rng, number: compact(row(rng, number)).replace(b'"warc-type"', b'"\\u0077arc-type"'),
        "huge numbers": lambda rng, number: compact(row(rng, number)).replace(b'"offset":', b'"offset":1' + b"0" * 40),
        "names in another order": lambda rng, number: compact(dict(reversed(row(rng, number).items()))),
        "ends in CR": lambda rng, number: compact(row(rng, number)) + b"\r",
        "a wrong header": lambda rng, number: compact(row(rng, number, **{"warc-date": "yesterday"})),
        "one more header": lambda rng, number: compact(row(rng, number, other="x")),
    }


def oscar_metadata(root: Path, megabytes: float, row: Callable[[random.Random, int], bytes]) -> str:
    """Write a part of 1.1 whose documents have a line each."""
    rows = list(made(megabytes, row))
    text = f"{ENGLISH}\n\n".encode() * len(rows)
    write(root / "en" / "en_meta.jsonl.gz", b"".join(rows))
    write(root / "en" / "en.txt.gz", text)
    return "oscar"


def row_kinds() -> dict[str, Callable[[random.Random, int], bytes]]:
    """Return the rows of JSON Lines and Dolma."""

    def compact(row: Any, **options: Any) -> bytes:
        return json.dumps(row, separators=(",", ":"), **options).encode()

    def plain(rng: random.Random, number: int, **more: Any) -> dict[str, Any]:
        return row_of(rng, number) | more

    def text_of(rng: random.Random, number: int, text: str) -> bytes:
        return compact(row_of(rng, number, text * 12), ensure_ascii=False)

    return {
        "clean": lambda rng, number: compact(plain(rng, number)),
        "bad JSON": lambda rng, number: compact(plain(rng, number))[:-1],
        "escaped names": lambda rng, number: compact(plain(rng, number)).replace(b'"text"', b'"t\\u0065xt"'),
        "huge numbers": lambda rng, number: compact(plain(rng, number, size=10**40)),
        "inexact numbers": lambda rng, number: compact(plain(rng, number)).replace(
            b"0.95", b"0.12345678901234567890123"
        ),
        "names in another order": lambda rng, number: compact(dict(reversed(plain(rng, number).items()))),
        "ends in CR": lambda rng, number: compact(plain(rng, number)) + b"\r",
        "a name twice": lambda rng, number: compact(plain(rng, number))[:-1] + b',"id":"x"}',
        "no text": lambda rng, number: compact(
            {k: v for k, v in plain(rng, number).items() if k != "text"} | {"x": "y" * 2000}
        ),
        "no id": lambda rng, number: compact({k: v for k, v in plain(rng, number).items() if k != "id"}),
        "double-encoded": lambda rng, number: text_of(rng, number, f"{ENGLISH} Ã©tÃ© dâ€™hiver"),
        "not UTF-8": lambda rng, number: compact(plain(rng, number)).replace(b"the", b"th\xff"),
        "not NFC": lambda rng, number: text_of(rng, number, unicodedata.normalize("NFD", RUSSIAN)),
        "blank": lambda _rng, _number: b"",
    }


def made(megabytes: float, row: Callable[[random.Random, int], bytes]) -> Iterator[bytes]:
    rng = random.Random(1)
    size = number = 0
    while size < megabytes * MB:
        found = row(rng, number) + b"\n"
        size += len(found)
        number += 1
        yield found
        if len(found) == 1:
            yield found * int(megabytes * MB)
            return


def rows(root: Path, megabytes: float, row: Callable[[random.Random, int], bytes]) -> str:
    return write(root / "documents" / "rows.jsonl.gz", b"".join(made(megabytes, row)))


def write(path: Path, data: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, 1, mtime=0))
    return ""


def compare(title: str, format: str, kinds: dict[str, Any], make: Callable[..., Any], options: Any) -> None:  # noqa: A002
    """Print what each kind costs next to the clean one."""
    found = []
    with tempfile.TemporaryDirectory(prefix="bad-rows-") as scratch:
        for name, kind in kinds.items():
            sizes = {"whole": options.megabytes, "tiny": 0.000_01}
            commands: dict[str, Command] = {}
            for size, megabytes in sizes.items():
                for which, one in {"bad": kind, "clean": kinds["clean"]}.items():
                    root = Path(scratch, f"{name}-{size}-{which}")
                    make(root, megabytes, one)
                    commands[f"{size}, {which}"] = [sys.executable, "-c", VALIDATE, root, format]
            runs = {key: least(costs) for key, costs in race("", commands, options.rounds).items()}
            bad, clean = (runs[f"whole, {which}"] for which in ("bad", "clean"))
            net = (bad.cpu - runs["tiny, bad"].cpu) / max(clean.cpu - runs["tiny, clean"].cpu, 0.001)
            found.append([name, f"{bad.cpu:.2f}", f"{bad.cpu / clean.cpu:.1f}", f"{net:.1f}", f"{bad.memory:.0f}"])
    table(title, ["every row", "CPU-s", "x clean", "x clean, net", "peak, MB"], found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", default="", help="a part of the titles")
    options = parser.parse_args()
    pieces: list[tuple[str, str, dict[str, Any], Callable[..., Any]]] = [
        *(
            (f"OSCAR 1.0, {SCRIPTS[letters]}", "oscar", kinds, partial(oscar_text, letters=letters))
            for letters, kinds in texts().items()
        ),
        ("OSCAR 1.1, metadata", "oscar", metadata_rows(), oscar_metadata),
        ("Dolma", "dolma", row_kinds(), rows),
        ("JSON Lines", "jsonl", row_kinds(), rows),
    ]
    for title, format_, kinds, make in pieces:
        if options.only.lower() in title.lower():
            compare(f"{title}, {options.megabytes:g} MB", format_, kinds, make, options)


if __name__ == "__main__":
    main()
