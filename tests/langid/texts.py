"""Texts to compare on: a committed sample of 468 languages, and lines made to hit what is special in fastText."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

SAMPLE = Path(__file__).parents[1] / "fixtures" / "langid" / "udhr.tsv.gz"

PIECES = (
    *("</s>", "</s", "/s>", "__label__x", "__label__en", "__label__", "_label__", "__", "_", "<", ">", "<s>"),
    *("\0", "\t", "\r", "\v", "\f", " ", "  ", "\u00a0", "\u3000", "\u2028", "\u0085", "\ufeff", "\x1c", "\x7f"),
    *("the", "and", "of", "de", "la", "и", "в", "的", "日本", "é", "naïve", "straße", "english", "french", "a", "x"),
    *("🙂", "👩‍👩‍👧", "\U0010ffff", "\u0301", "\ud7ff", "\ue000", "\x80", "ÿ", "߿", "ࠀ", "\uffff", "𐀀"),
    *("Всеобщая", "декларация", "прав", "human", "rights", "droits", "l'homme", "人權", "宣言", "حقوق", "मानव"),
)
RARE_PIECES = (
    "a" * 3000,
    "é" * 1500,
    "漢" * 1100,
    "ab " * 700,
    "🙂" * 600,
    "x" * 1023 + " ",
    " " * 2000,
    "</s> " * 300,
)
BROKEN = (
    *(
        b"\x80",
        b"\xbf",
        b"\xc0\xaf",
        b"\xc1\xbf",
        b"\xc2",
        b"\xe0\x9f\xbf",
        b"\xe0\xa0",
        b"\xed\xa0\x80",
        b"\xed\xbf\xbf",
    ),
    *(b"\xf0\x8f\xbf\xbf", b"\xf0\x90\x80", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xff"),
)


def sample_rows() -> list[tuple[str, str]]:
    """Language code and paragraph."""
    rows = gzip.decompress(SAMPLE.read_bytes()).decode().split("\n")
    return [(label, line) for label, line in (row.split("\t") for row in rows if row)]


def sample_lines() -> list[str]:
    return [line for _, line in sample_rows()]


def fuzzed_line(source: random.Random) -> str:
    pieces = source.choices(PIECES, k=source.randrange(12))
    if source.random() < 0.003:
        pieces.insert(source.randrange(len(pieces) + 1), source.choice(RARE_PIECES))
    return source.choice(("", " ", " ")).join(pieces)


def fuzzed_lines(seed: int, count: int) -> list[str]:
    source = random.Random(seed)
    return [fuzzed_line(source) for _ in range(count)]


def fuzzed_buffer(seed: int, lines: int) -> bytes:
    """Lines ended by LF or not at all, some broken."""
    source = random.Random(seed)
    parts = []
    for _ in range(lines):
        line = fuzzed_line(source).encode()
        if source.random() < 0.2:
            at = source.randrange(len(line) + 1)
            line = line[:at] + source.choice(BROKEN) + line[at:]
        parts.append(line)
    return b"\n".join(parts) + source.choice((b"", b"\n"))
