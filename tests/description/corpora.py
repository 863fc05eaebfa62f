"""Corpora and tables with unusual texts, numbers and dates, in every format and compression that can be described."""

from __future__ import annotations

import bz2
import lzma
from collections.abc import Callable, Mapping
from typing import Any

from description.folders import csv, jsonl, table
from support import LONG_LINE, gzipped, zstd

Files = Mapping[str, bytes]

#: What CSV parsers, line readers and type inference read otherwise than it is written.
TEXTS = (
    f"{LONG_LINE}, \"quoted\", 'and' more",
    "a,b\r\n\r\nc\rd\n",
    "NA",
    "null",
    "007",
    "2024-01-31",
    "",
    " x \t",
    "\v\f\x1c\x85\u2028\ufeff\x00\U0001f600",
)
_DATES = ("2024-01-31", "2021-04-13T12:52:46.123Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59+05:30")
_ODD_DATES = ("soon", "2016-12-31T23:59:60Z", "2020-W01-1", "1700000000")
_HUGE = 2**64
_PAGE = "https://example.org/a,b?c=%22"


def document(number: int, text: str, **more: Any) -> dict[str, Any]:
    return {"id": f"doc-{number}", "text": text, "source": "test", **more}


def full(number: int, text: str, date: str) -> dict[str, Any]:
    metadata = {"language": "de", "url": _PAGE, "share": 0.5, "list": [1, None], "large": 2**63}
    return document(number, text, added=date, created=date, metadata=metadata)


DOCUMENTS = [full(number, text, _DATES[number % 4]) for number, text in enumerate(TEXTS)]
ODD_DOCUMENTS = [full(number, "x", date) for number, date in enumerate(_ODD_DATES)]


def headers(number: int, date: str = "2021-02-24T17:55:29Z", uri: str = _PAGE) -> dict[str, str]:
    return {
        "warc-record-id": f"<urn:uuid:{number}>",
        "warc-target-uri": uri,
        "warc-date": date,
        "content-length": "007",
    }


def text_of_oscar() -> bytes:
    return "".join(f"{text}\n\n" for text in (f'{LONG_LINE}, "and" \'', "NA\n007\r\n\v", "2024-01-31")).encode()


def metadata_of_oscar(*dates: str, uri: str = _PAGE) -> bytes:
    offsets = (0, 2, 6)
    return jsonl(*({"headers": headers(number, date, uri), "offset": offsets[number], "nb_sentences": 1}
                   for number, date in enumerate(dates)))  # fmt: skip


def oscar2(*dates: str, **more: Any) -> bytes:
    identified = {"label": "de", "prob": 0.75}
    rows = []
    for number, text in enumerate(TEXTS[:6]):
        own = {"identification": identified, "annotation": None, "sentence_identifications": [identified, None]}
        own |= more
        rows.append({"content": text, "warc_headers": headers(number, dates[number % len(dates)]), "metadata": own})
    return jsonl(*rows)


def mc4(*dates: str, url: str = _PAGE, **more: Any) -> bytes:
    return jsonl(*({"text": TEXTS[number], "timestamp": date, "url": url, **more} for number, date in enumerate(dates)))


def _plain(data: bytes) -> bytes:
    return data


_PACKED: Mapping[str, Callable[[bytes], bytes]] = {
    "": _plain, ".gz": gzipped, ".zst": zstd.compress, ".bz2": bz2.compress, ".xz": lzma.compress
}  # fmt: skip
_ALL = ("", ".gz", ".zst")

CORPORA: dict[str, Files] = {
    "oscar-1.0": {"de/de.txt.gz": gzipped(text_of_oscar()), "als/als_part_1.txt.gz": gzipped(b"")},
    "oscar-1.1": {
        "de/de.txt.gz": gzipped(text_of_oscar()),
        "de/de_meta.jsonl.gz": gzipped(metadata_of_oscar(*["2021-02-24T17:55:29Z"] * 3)),
    },
    "oscar-1.1 with odd dates": {
        "de/de_part_1.txt.gz": gzipped(text_of_oscar()),
        "de/de_meta_part_1.jsonl.gz": gzipped(metadata_of_oscar(*_ODD_DATES[:3], uri="dns:example.org")),
    },
    "dolma in two compressions": {
        "documents/a.jsonl.gz": gzipped(jsonl(*DOCUMENTS)),
        "documents/b.jsonl.zst": zstd.compress(jsonl(document(99, "x"))),
    },
    "dolma with other columns in each file": {
        "documents/a.jsonl.gz": gzipped(jsonl(*DOCUMENTS)),
        "documents/deep/b.json.gz": gzipped(jsonl(document(99, "x"))),
        "documents/c.jsonl.gz": gzipped(b""),
    },
    "dolma with odd dates": {"documents/a.jsonl.gz": gzipped(jsonl(*ODD_DOCUMENTS))},
    "dolma with a large number": {
        "documents/a.jsonl.gz": gzipped(jsonl(*DOCUMENTS, document(99, "x", metadata={"n": [{"m": _HUGE}]})))
    },
    "dolma with a small number": {"documents/a.jsonl": jsonl(document(99, "x", extra=-(2**63) - 1))},
    "dolma of wild names": {
        "documents/a b,é'%20.jsonl.gz": gzipped(jsonl(document(1, "x"))),
        "documents/[x]/{c}.jsonl.gz": gzipped(jsonl(document(2, "y"))),
    },
    "mc4": {"c4-de.tfrecord-00000-of-00001.json.gz": gzipped(mc4(*_DATES))},
    "mc4 with odd dates": {"c4-de.tfrecord-00000-of-00001.json.gz": gzipped(mc4(*_DATES[:1], *_ODD_DATES, url="x"))},
    "mc4 with a large number": {"c4-de.tfrecord-00000-of-00001.json.gz": gzipped(mc4(*_DATES, n=_HUGE))},
    "tables of parquet": {"a.parquet": table({"text": list(TEXTS), "n": [2**63 - 1, *range(8)]})},
}
for _suffix in _ALL:
    CORPORA[f"dolma{_suffix}"] = {f"documents/a.jsonl{_suffix}": _PACKED[_suffix](jsonl(*DOCUMENTS))}
    CORPORA[f"oscar-22.01{_suffix}"] = {f"de_meta/de_meta.jsonl{_suffix}": _PACKED[_suffix](oscar2(*_DATES))}
    CORPORA[f"oscar-23.01{_suffix}"] = {
        f"de_meta/de_meta_part_1.jsonl{_suffix}": _PACKED[_suffix](oscar2(*_ODD_DATES, harmful_pp=2.5, categories=None))
    }
for _suffix, _pack in _PACKED.items():
    CORPORA[f"jsonl{_suffix}"] = {f"a.jsonl{_suffix}": _pack(jsonl(*({"t": text, "n": 1} for text in TEXTS)))}
    CORPORA[f"csv{_suffix}"] = {f"a.csv{_suffix}": _pack(csv("a,b", 'x,"y, ""z"""', '" w\r\n\nv",#'))}
    CORPORA[f"text{_suffix}"] = {f"a.txt{_suffix}": _pack(text_of_oscar())}

#: Tables of which mlcroissant fails on some column, or on the whole file: what the notes say.
TABLES: dict[str, tuple[Files, tuple[str, ...]]] = {
    "a column that a file lacks": (
        {"a.jsonl": jsonl({"n": "x", "k": 1, "m": "z", "o": {"p": 1}}), "b.jsonl": jsonl({"n": "x", "k": 2})},
        ("`m` is not described: b.jsonl does not have it", "`o` is not described"),
    ),
    "numbers of more than 64 bits": (
        {
            "a.jsonl": jsonl({"n": "x", "m": {"k": [_HUGE]}}),
            "b.jsonl": jsonl({"n": -(2**63) - 1}),
            "c.jsonl": b'{"n": 123456789012345678901234567890.0}\n',
            "d.jsonl": jsonl({"n": [2**64 - 1, -(2**63)], "t": ": 123456789012345678901234567890"}),
        },
        ("a.jsonl: no records: mlcroissant 1.1.1 reads no number of more than 64 bits", "b.jsonl: ", "c.jsonl: "),
    ),
    "names that are read as dates": (
        {
            "a.jsonl": jsonl(
                *({"n": "x", "timestamp": 1577836800 + n, "Created_At": 1577836800.5, "date": "Jan 5, 2020", "modified": "n/a",
                   "open_time": "10:00:00", "response_time": 35, "on_time": True, "seen_at": ["2020-01-01"],
                   "datetime": "2020-01-01T10:00:00Z", "timestamps": {"date": "Jan 5, 2020"}} for n in range(2))
            )
        },
        tuple(f"`{name}` is not described" for name in ("timestamp", "Created_At", "date", "modified", "open_time")),
    ),
    "a column without a name": ({"a.jsonl": jsonl({"": "x", "n": "y"})}, ("`` is not described: it has no name",)),
}  # fmt: skip

#: Tables of which pandas changes values, whatever the description says: what mlcroissant has instead, by record set.
CHANGED: dict[str, tuple[Files, dict[str, list[dict[str, Any]]]]] = {
    "columns of JSON Lines whose texts all look like numbers": (
        {"a.jsonl": jsonl({"a": "007", "b": "12345678901234567890", "c": "0.50"}, {"a": "1", "b": "1", "c": "1e2"})},
        {"a": [{"a": "7", "b": "1.2345678901234567e+19", "c": "0.5"}, {"a": "1", "b": "1.0", "c": "100.0"}]},
    ),
    "columns of CSV whose cells all look like numbers": (
        {"a.csv": csv("a,b,c,d", "007, 1,1,x", "1,2,,y")},
        {"a": [{"a": "7", "b": "1", "c": 1, "d": "x"}, {"a": "1", "b": "2", "c": None, "d": "y"}]},
    ),
    "cells that CSV readers take for missing": (
        {"a.csv": csv("a", *["NA", "null", "nan", "N/A", "NaN", "NULL", "None", "#N/A", "n/a", "x"])},
        {"a": [*[{"a": None}] * 9, {"a": "x"}]},
    ),
    "booleans among texts": (
        {"a.jsonl": jsonl({"a": True, "b": "x"}, {"a": "y", "b": "z"})},
        {"a": [{"a": "True", "b": "x"}, {"a": "y", "b": "z"}]},
    ),
    "large integers next to null": (
        {
            "a.jsonl": jsonl({"a": 2**53 + 1}, {"a": None}),
            "b.csv": csv("a,b", f"{2**53 + 1},x", ",y"),
            "c.parquet": table({"a": [2**53 + 1, None]}),
        },
        {
            "a": [{"a": 2**53}, {"a": None}],
            "b": [{"a": 2**53, "b": "x"}, {"a": None, "b": "y"}],
            "c": [{"a": 2**53}, {"a": None}],
        },
    ),
    "numbers of more than 15 digits in JSON Lines": (
        {"a.jsonl": jsonl({"a": 0.1234567890123456})},
        {"a": [{"a": 0.12345678901234501}]},
    ),
}

#: Dolma as a source of conversions.
SOURCE: Files = {
    "documents/a.jsonl.gz": gzipped(jsonl(*DOCUMENTS[:6])),
    "documents/b.jsonl.gz": gzipped(jsonl(*ODD_DOCUMENTS, document(99, TEXTS[0]))),
}
