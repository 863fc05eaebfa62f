"""Corpora that are made for benchmarks, clean and as dirty as text that was crawled.

Clean text has the letters of the bundled sample, in seven languages of five scripts, and compresses about as real releases
do. Dirty text has the sample's words of all languages, long and short documents, a few headers that say something else,
and carriage returns, control characters and words that are not NFC as often as crawled text does.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import random
import re
import shutil
import sys
import unicodedata
import uuid
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from itertools import accumulate, count
from pathlib import Path
from typing import Any

from isal import isal_zlib
from measuring import MB, paragraphs

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CLEAN, DIRTY = "clean", "dirty"
KINDS = (CLEAN, DIRTY)
UNSPACED = frozenset({"zh"})
SHORTEST_LINE = 101
# English has two parts of eight, as it has most of the real release.
PARTS: list[tuple[str, int | None]] = [
    ("en", 1),
    ("en", 2),
    *((each, None) for each in ("de", "fr", "ru", "ar", "hi", "zh")),
]
# For two workers, of which one waits at the end for the other's last part.
SIXTEEN = [
    (each, number)
    for each in ("en", "de", "fr", "ru", "ar", "hi", "zh")
    for number in range(1, 5 if each == "en" else 3)
]
# What a million characters of crawled text contain: carriage returns, control characters, and words that are not NFC.
DIRT = {"\r": 9, "\x02": 12, "\x0b": 6, "cafe\u0301": 46, "\u212bngstr\u00f6m": 23, "\u0915\u093c\u0915": 23}
ALL = "every language"
RECORD_ID = re.compile(rb"<urn:uuid:[0-9a-f]{4}")

Compress = Callable[[], Any]


def as_published() -> Any:
    return zlib.compressobj(6, wbits=31)


def quickly() -> Any:
    return isal_zlib.compressobj(1, wbits=31)


def words_by_language(text: Path | None = None) -> dict[str, list[str]]:
    """Return the words of each language of `PARTS`, and those of all languages."""
    words: dict[str, list[str]] = {language: [] for language, _ in PARTS}
    every: list[str] = []
    for language, paragraph in paragraphs(text):
        every += unicodedata.normalize("NFC", paragraph).split()
        if language in words:
            words[language] += list(paragraph) if language in UNSPACED else paragraph.split()
    if empty := [language for language, found in words.items() if not found]:
        raise SystemExit(f"no text in {', '.join(sorted(empty))}")
    return {**words, ALL: every}


def enriched(rng: random.Random, words: Sequence[str]) -> tuple[list[str], list[float]]:
    """Return a vocabulary as large as a real one, of the sample's letters, and how often each word comes (cumulated).

    The few words of the sample alone compress to a tenth, real releases to between 0.19 and 0.43 of their size.
    """
    letters = "".join(words)
    made = ["".join(rng.choices(letters, k=rng.randrange(2, 11))) for _ in range(20_000)]
    return made, list(accumulate(1 / (rank + 5) for rank in range(len(made))))


def clean_lines(rng: random.Random, words: Sequence[str], glue: str) -> Iterator[str]:
    """Yield lines of 101 to about 700 code points, without end."""
    vocabulary, weights = enriched(rng, words) if glue else (words, None)
    while True:
        drawn = rng.choices(vocabulary, cum_weights=weights, k=200_000)
        start = 0
        while start < len(drawn) - 500:
            take = rng.randrange(20, 110) * (1 if glue else 5)
            line = glue.join(drawn[start : start + take])
            start += take
            if len(line) >= SHORTEST_LINE:
                yield line


def dirty_lines(rng: random.Random, words: Sequence[str]) -> Iterator[str]:
    """Yield lines of words of every script, a few of them as crawled text has them, without end."""
    while True:
        drawn = rng.choices(words, k=200_000)
        for kind, share in DIRT.items():
            for place in rng.choices(range(len(drawn)), k=round(share * sum(map(len, drawn)) / 1e6)):
                drawn[place] = kind if len(kind) > 1 else f"{drawn[place]}{kind}"
        start = 0
        while start < len(drawn) - 120:
            take = rng.choice((20, 40, 60, 80, 110))
            line = " ".join(drawn[start : start + take])
            start += take
            if len(line) >= SHORTEST_LINE:
                yield line


def documents(rng: random.Random, language: str, words: dict[str, list[str]], kind: str) -> Iterator[list[str]]:
    """Yield the lines of documents, without end: 1 to 14 each, and of dirty ones every hundredth a thousand."""
    glue = "" if language in UNSPACED else " "
    lines = dirty_lines(rng, words[ALL]) if kind == DIRTY else clean_lines(rng, words[language], glue)
    while True:
        long = kind == DIRTY and not rng.randrange(100)
        yield [next(lines) for _ in range(rng.randrange(500, 1500) if long else rng.randrange(1, 15))]


def headers(rng: random.Random, language: str, size: int, kind: str) -> dict[str, str]:
    """Return the headers of a WARC record, of dirty documents also as converted and built corpora have them."""
    digest = "".join(rng.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", k=32))
    made = {
        "content-length": str(size + 4000),
        "warc-target-uri": f"https://www.example.org/{language}/{rng.getrandbits(80):x}.html",
        "warc-type": "conversion",
        "content-type": "text/plain",
        "warc-date": f"2021-02-{rng.randrange(1, 29):02d}T17:55:{rng.randrange(60):02d}Z",
        "warc-identified-content-language": "eng,deu,fra,rus,ara,hin,zho",
        "warc-refers-to": f"<urn:uuid:{uuid.UUID(int=rng.getrandbits(128))}>",
        "warc-block-digest": f"sha1:{digest}",
        "warc-record-id": f"<urn:uuid:{uuid.UUID(int=rng.getrandbits(128))}>",
    }
    if kind == DIRTY:
        shape = rng.randrange(4)
        if shape == 1:
            made["warc-target-uri"] = f'http://пример.example/стр?q="{rng.getrandbits(40):x}"&b=c:\\d\té'
        elif shape == 2:
            del made["warc-identified-content-language"], made["warc-refers-to"]
        elif shape == 3:
            made = dict(sorted(made.items()))
    return made


class Packed:
    """A file that is compressed while it is written."""

    def __init__(self, path: Path, compress: Compress) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file, self._stream, self.size = path.open("wb"), compress(), 0

    def write(self, data: bytes) -> None:
        self.size += len(data)
        self._file.write(self._stream.compress(data))

    def close(self) -> None:
        self._file.write(self._stream.flush())
        self._file.close()


def oscar_part(
    folder: Path,
    part: tuple[str, int | None],
    words: dict[str, list[str]],
    size: int,
    compress: Compress = as_published,
    kind: str = CLEAN,
) -> int:
    """Write one part of about `size` bytes of text; return the bytes of text and metadata."""
    language, number = part
    rng = random.Random(f"{language} {number}")
    suffix = "" if number is None else f"_part_{number}"
    names = (f"{language}{suffix}.txt.gz", f"{language}_meta{suffix}.jsonl.gz")
    text, metadata = (Packed(folder / language / name, compress) for name in names)
    made = documents(rng, language, words, kind)
    offset = 0
    while text.size < size:
        lines = next(made)
        data = "\n".join(lines).encode()
        row = {"headers": headers(rng, language, len(data), kind), "offset": offset, "nb_sentences": len(lines)}
        text.write(data + b"\n\n")
        metadata.write(compact(row, ascii=kind == CLEAN or rng.random() < 0.5))
        offset += len(lines) + 1
    text.close()
    metadata.close()
    with (folder / language / f"{language}_sha256.txt").open("a") as checksums:
        for name in names:
            checksums.write(f"{sha256((folder / language / name).read_bytes()).hexdigest()}  {name}\n")
    return text.size + metadata.size


def compact(row: Any, *, ascii: bool = False) -> bytes:  # noqa: A002
    return json.dumps(row, ensure_ascii=ascii, separators=(",", ":")).encode() + b"\n"


def oscar(
    root: Path,
    megabytes: float,
    kind: str = CLEAN,
    *,
    parts: Sequence[tuple[str, int | None]] = PARTS,
    text: Path | None = None,
) -> int:
    """Write a release of so much text; return the bytes of text and metadata."""
    words = words_by_language(text)
    return sum(oscar_part(root, part, words, int(megabytes * MB) // len(parts), kind=kind) for part in parts)


def compressed(root: Path) -> list[str]:
    return sorted(str(path) for path in root.rglob("*.gz"))


def inflated(paths: Iterable[Path]) -> int:
    """Return the bytes in compressed files."""
    size = 0
    for path in paths:
        with gzip.open(path) as file:
            size += sum(map(len, iter(lambda: file.read(MB), b"")))
    return size


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
    found: list[str] = []
    size = 0
    while size < length:
        words = rng.choices(_WORDS, k=rng.randint(5, 80))
        if rng.random() < 0.3:
            words[rng.randrange(len(words))] = rng.choice(_UNCOMMON)
        found.append(" ".join(words))
        size += len(found[-1]) + 1
    return "\n".join(found)


def row_of(rng: random.Random, number: int, text: str | None = None) -> dict[str, Any]:
    """Return a Dolma document with the fields and metadata of a Common Crawl release."""
    text = text_of(rng) if text is None else text
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
    spans, start = [], 0
    for paragraph in text.split("\n"):
        spans.append([start, start + len(paragraph), round(rng.random(), 5)])
        start += len(paragraph) + 1
    whole = len(text)
    score = round(rng.random(), 5)
    return {
        "language": {"exp__ft_lang_id__en": [[0, whole, score]], "exp__ft_lang_id__not_en": [[0, whole, 1 - score]]},
        "gopher": {f"exp__gopher__{name}": [[0, whole, round(rng.random() * 10, 5)]] for name in _GOPHER},
        "pii": {f"exp__pii__{name}": [] for name in ("EMAIL_ADDRESS", "PHONE_NUMBER", "IP_ADDRESS")},
        "paragraphs": {"exp__ft_lang_id_paragraph__en": spans},
    }


def dolma(root: Path, megabytes: float, kind: str = CLEAN, *, attributes: bool = True, shards: int = 8) -> int:
    """Write a dataset as .jsonl.gz and, beside it, as .jsonl.zst; return the bytes of its documents uncompressed."""
    rng = random.Random(20181112)
    texts = ("\n".join(lines) for lines in documents(rng, "en", words_by_language(), kind)) if kind == DIRTY else None
    total = number = 0
    for shard in range(shards):
        rows: dict[str, list[bytes]] = defaultdict(list)
        size = 0
        while size < megabytes * MB / shards:
            row = row_of(rng, number, next(texts) if texts else None)
            number += 1
            line = compact(row, ascii=kind == DIRTY and rng.random() < 0.2)
            size += len(line)
            rows["documents"].append(line)
            for name, found in attributes_of(rng, row["text"]).items() if attributes else ():
                rows[f"attributes/{name}"].append(
                    compact({"id": row["id"], "attributes": found, "source": row["source"]})
                )
        total += size
        for folder, encoded in rows.items():
            data = b"".join(encoded)
            for suffix, packed in (("gz", gzip.compress(data, 6, mtime=0)), ("zst", zstd.compress(data, 3))):
                path = root / suffix / folder / f"part-{shard:04}.jsonl.{suffix}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(packed)
    return total


def fineweb(root: Path, release: Path) -> None:
    """Write the texts of an OSCAR release as rows in the shape of FineWeb, compressed as published."""
    ids = (f"<urn:uuid:0da49ea7-8fb9-41f6-bc30-{number:012x}>" for number in count())
    for path in sorted(release.rglob("*.txt.gz")):
        file = Packed(root / f"{path.name.partition('.')[0]}.jsonl.gz", as_published)
        with gzip.open(path) as texts:
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
                file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        file.close()


# The made pages: size, share of the bytes in lines of that length (so that 30 % are kept, as 6.3 of the 20 TB of which OSCAR
# was made), of paragraphs that recur, and of words that are new: of 4 million words of real text 5 to 13 % differ, of the
# sample's 0.6 %, of the pages' 4 %.
PAGE_BYTES, LONG_SHARE, RECURRING, COINED = 7_500, 0.36, 0.2, 0.15
# Ortiz Suarez, Sagot and Romary (2019), Table 2: sizes of the ten largest languages, and of all others together.
GIGABYTES = {
    "en": 2300,
    "ru": 1200,
    "zh": 508,
    "de": 308,
    "fr": 282,
    "es": 278,
    "ja": 216,
    "it": 137,
    "pt": 124,
    "pl": 109,
}
OTHER_GIGABYTES = 840


def wet(path: Path, megabytes: float, kind: str = CLEAN, seed: int = 1) -> None:
    """Write a WET file of so much text, uncompressed: pages of the sample's paragraphs, languages as in the paper."""
    rng = random.Random(seed)
    known: defaultdict[str, list[str]] = defaultdict(list)
    for language, paragraph in paragraphs():
        known[language].append(paragraph)
    languages = list(known)
    weights = [GIGABYTES.get(language, OTHER_GIGABYTES / len(languages)) for language in languages]
    written = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for number in count(1):
            text = page_of(known[rng.choices(languages, weights)[0]], rng, kind)
            record = (
                "WARC/1.0\r\nWARC-Type: conversion\r\n"
                f"WARC-Target-URI: https://www.example.org/{rng.getrandbits(80):x}/page.html\r\n"
                "WARC-Date: 2018-11-12T17:28:45Z\r\n"
                f"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8{seed:03x}-{number:012x}>\r\n"
                f"WARC-Refers-To: <urn:uuid:00000000-0000-4000-9{seed:03x}-{number:012x}>\r\n"
                f"WARC-Block-Digest: sha1:{base64.b32encode(hashlib.sha1(text).digest()).decode()}\r\n"
                f"Content-Type: text/plain\r\nContent-Length: {len(text)}\r\n\r\n"
            )
            member = record.encode() + text + b"\r\n\r\n"
            file.write(gzip.compress(member, 6))
            written += len(member)
            if written >= megabytes * MB:
                return


def page_of(known: Sequence[str], rng: random.Random, kind: str = CLEAN) -> bytes:
    """Return a page: paragraphs with their words in another order, and cut like a menu where too much would be long.

    Some words are new ones, begun like one and ended like another. Some lines of dirty pages have dirt.
    """
    lines: list[str] = []
    in_long = in_all = 0
    while in_all < PAGE_BYTES:
        line = rng.choice(known)
        glue, step = (" ", 4) if " " in line else ("", 12)
        units = line.split(" ") if glue else list(line)
        if rng.random() >= RECURRING:
            rng.shuffle(units)
            if glue:
                units = [coined(unit, rng.choice(units), rng) if rng.random() < COINED else unit for unit in units]
        if kind == DIRTY and rng.random() < sum(DIRT.values()) * len(line) / 1e6:
            units[rng.randrange(len(units))] = rng.choices(list(DIRT), list(DIRT.values()))[0]
        length = len(line.encode())
        in_all += length
        if len(line) < SHORTEST_LINE or in_long <= LONG_SHARE * in_all:
            lines.append(glue.join(units))
            in_long += length if len(line) >= SHORTEST_LINE else 0
        else:
            lines += [glue.join(units[start : start + step]) for start in range(0, len(units), step)]
    return "\n".join(lines).encode() + b"\n"


def coined(one: str, other: str, rng: random.Random) -> str:
    return one[: rng.randint(1, len(one))] + other[rng.randrange(len(other)) :]


def multiplied(root: Path, target: Path, times: int) -> None:
    """Write a release of which each part is there so many times: its text as links, with ids or sources of their own."""
    for path in sorted(each for each in root.rglob("*") if each.is_file()):
        folder = target / path.parent.relative_to(root)
        folder.mkdir(parents=True, exist_ok=True)
        stem, _, suffix = path.name.partition(".")
        for number in range(times):
            again = folder / path.name.replace("_part_1.", f"_part_{number + 1}.")
            if path.name.endswith("_sha256.txt"):
                names = [
                    line.split()[1].replace("_part_1.", f"_part_{number + 1}.")
                    for line in path.read_text().splitlines()
                ]
                with again.open("a") as file:
                    file.writelines(f"{sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
            elif "_meta_part_" in stem:
                _copy(path, again, partial(RECORD_ID.sub, b"<urn:uuid:%04x" % number))
            elif "_part_" in stem:
                os.link(path, again)
            elif suffix == "jsonl.gz":
                source = partial(re.compile(b'"common-crawl"').sub, b'"common-crawl-%d"' % number)
                _copy(path, folder / f"{stem}-{number}.{suffix}", source)
            else:
                shutil.copyfile(path, folder / f"{stem}-{number}.{suffix}")


def _copy(path: Path, target: Path, change: Callable[[bytes], bytes]) -> None:
    packed = Packed(target, quickly)
    with gzip.open(path) as file:
        packed.write(change(file.read()))
    packed.close()
