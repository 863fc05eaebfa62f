"""Damage to rows: JSON Lines, Parquet, and releases of OSCAR 22.01 and 23.01; and what is no damage at all."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from damage.kinds import HARMLESS, KINDS, Kind, Tree
from support import gzipped, zstd

Json = dict[str, Any]
JSON_LINES, PARQUET, OSCAR = "JSON Lines", "Parquet", "OSCAR 22.01 and 23.01"
_WORDS = ["Wald", "Vogel", "été", "漢字", "naïve", "still", "the", "and", "of", "—", "document"]
_FREE = "any text is a text"
_NEITHER = b"<!DOCTYPE html>\n<html><body>404</body></html>\n"
_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0123456789abcdef" * 4 + b"\nsize 123456\n"


@dataclass
class Corpus:
    """Rows by path, and bytes in place of whole files, where damage put them."""

    group: str
    rng: random.Random
    rows: dict[str, list[Any]]
    raw: dict[str, bytes]

    @property
    def text(self) -> str:
        return "content" if self.group == OSCAR else "text"

    def file(self) -> str:
        return self.rng.choice(sorted(self.rows))

    def place(self) -> tuple[list[Any], int]:
        """Return the rows of a file, and the number of one of them."""
        rows = self.rows[self.file()]
        return rows, self.rng.randrange(len(rows))

    def row(self) -> Json:
        """Return a row, to be changed in place."""
        rows, index = self.place()
        row: Json = rows[index]
        return row

    def line(self, change: Callable[[bytes], bytes]) -> None:
        """Put other bytes in the place of a row."""
        rows, index = self.place()
        rows[index] = change(encoded(rows[index]))

    def files(self) -> Tree:
        pack = table if self.group == PARQUET else packed
        return {path: pack(path, rows) for path, rows in self.rows.items() if path not in self.raw} | self.raw


def encoded(row: Any) -> bytes:
    return row if isinstance(row, bytes) else json.dumps(row, ensure_ascii=False).encode()


def packed(path: str, rows: Iterable[Any], end: bytes = b"\n") -> bytes:
    data = b"\n".join(map(encoded, rows)) + end
    return gzipped(data) if path.endswith(".gz") else zstd.compress(data) if path.endswith(".zst") else data


def table(_path: str, rows: list[Json], **options: Any) -> bytes:
    sink = io.BytesIO()
    kinds = {"id": pa.string(), "text": pa.string(), "score": pa.float64(), "url": pa.string()}
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()}
    pq.write_table(pa.table(columns), sink, write_page_checksum=True, **options)
    return sink.getvalue()


def _row(group: str, rng: random.Random, number: int) -> Json:
    lines = [" ".join(rng.choices(_WORDS, k=rng.randint(2, 9))) for _ in range(rng.randint(1, 3))]
    name = f"<urn:uuid:00000000-0000-4000-8000-{number:012d}>"
    if group != OSCAR:
        return {"id": name, "text": "\n".join(lines), "score": rng.random(), "url": f"https://example.org/{number}"}
    label = {"label": "de", "prob": rng.random()}
    headers = {
        "warc-record-id": name,
        "warc-target-uri": f"https://example.org/{number}",
        "warc-date": "2021-09-16T11:07:14Z",
    }
    more: Json = rng.choice([{"annotation": None}, {"quality_warnings": ["tiny"], "categories": None}])
    metadata = {"identification": label, **more, "sentence_identifications": [rng.choice([label, None]) for _ in lines]}
    return {"content": "\n".join(lines), "warc_headers": headers | {"warc-type": "conversion"}, "metadata": metadata}


def valid(group: str, rng: random.Random) -> Corpus:
    """Return a valid corpus of two or three files."""
    count = rng.randint(2, 3)
    suffix = rng.choice(["", ".gz", ".zst"])
    found = Corpus(group, rng, {}, {})
    for number in range(count):
        if group == OSCAR:
            path = f"de_meta/de_meta_part_{number + 1}.jsonl{suffix}"
        else:
            path = f"data/train-{number:05d}-of-{count:05d}.{'parquet' if group == PARQUET else f'jsonl{suffix}'}"
        found.rows[path] = [_row(group, rng, 1000 * number + row) for row in range(rng.randint(2, 8))]
    return found


Change = Callable[[Corpus], object]


def _kind(group: str, name: str, change: Change, *rules: str, undetectable: str = "", harmless: bool = False) -> None:
    def make(rng: random.Random) -> Tree:
        corpus = valid(group, random.Random(rng.randrange(10_000)))
        corpus.rng = rng
        change(corpus)
        return corpus.files()

    (HARMLESS if harmless else KINDS).append(Kind(group, name, make, frozenset(rules), undetectable))


def _set(name: str, *values: Any) -> Change:
    return lambda corpus: corpus.row().update({name: corpus.rng.choice(values)})


def _text(*values: Any) -> Change:
    return lambda corpus: corpus.row().update({corpus.text: corpus.rng.choice(values)})


def _insert(line: Any) -> Change:
    def change(corpus: Corpus) -> None:
        rows, index = corpus.place()
        rows.insert(index, line)

    return change


def _repeat(corpus: Corpus) -> None:
    rows, index = corpus.place()
    rows.insert(corpus.rng.randrange(len(rows) + 1), deepcopy(rows[index]))


def _renamed_copy(corpus: Corpus) -> None:
    path = corpus.file()
    other = path.replace("_part_", "_part_9").replace("train-", "copy-").replace("of-0000", "of-1000")
    corpus.raw[other if corpus.group == OSCAR else path.replace("train-", "a").replace("-of-", "_")] = corpus.files()[
        path
    ]


def _copy_compressed_again(corpus: Corpus) -> None:
    path = corpus.file()
    stem = path.partition(".")[0] + ("99" if corpus.group == OSCAR else "-again")
    corpus.rows[f"{stem}.{'parquet' if corpus.group == PARQUET else 'jsonl'}"] = [*corpus.rows[path]][::-1]


def _id_of_another_file(corpus: Corpus) -> None:
    one, other = corpus.rng.sample(sorted(corpus.rows), 2)
    mine, its = corpus.rng.choice(corpus.rows[one]), corpus.rng.choice(corpus.rows[other])
    if corpus.group == OSCAR:
        mine["warc_headers"]["warc-record-id"] = its["warc_headers"]["warc-record-id"]
    else:
        mine["id"] = its["id"]


def _change_letter(corpus: Corpus) -> None:
    row = corpus.row()
    row[corpus.text] = row[corpus.text][:-1] + "z"


def _reordered(corpus: Corpus) -> None:
    for rows in corpus.rows.values():
        corpus.rng.shuffle(rows)


def _lose_first_file(corpus: Corpus) -> None:
    del corpus.rows[min(corpus.rows)]


def _lose_row(corpus: Corpus) -> None:
    rows, index = corpus.place()
    del rows[index]


def _flip(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) // 4, len(data) * 3 // 4)
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _in_files(change: Callable[[bytes, random.Random], bytes], suffix: str = "") -> Change:
    """Return a change to the bytes of a file, which is first packed as its new suffix says, if one is given."""

    def apply(corpus: Corpus) -> None:
        path = corpus.file()
        if suffix:
            new = path.removesuffix(".gz").removesuffix(".zst") + suffix
            corpus.rows[new] = corpus.rows.pop(path)
            path = new
        corpus.raw[path] = change(corpus.files()[path], corpus.rng)

    return apply


def _as(pack: Callable[[bytes], bytes], suffix: str) -> Change:
    """Return a change of the compression of a file, whose name says another one."""

    def apply(corpus: Corpus) -> None:
        path = corpus.file()
        new = path.removesuffix(".gz").removesuffix(".zst") + suffix
        rows = corpus.rows.pop(path)
        corpus.raw[new] = pack(packed("", rows))

    return apply


# What happens to any rows ------------------------------------------------------------------------------------------

for _group, _prefix in ((JSON_LINES, "JSL"), (OSCAR, "OSJ"), (PARQUET, "PQT")):
    for _name, _change, *_rules in (
        ("row twice", _repeat, "GEN401"),
        ("id of another file", _id_of_another_file, "GEN401"),
        ("file copied under another name", _renamed_copy, "GEN402"),
        ("file written again under another name", _copy_compressed_again, "GEN401"),
        ("first file lost", _lose_first_file, "OSJ104" if _group == OSCAR else "GEN403"),
        ("file empty", _in_files(lambda data, rng: b"", "" if _group == PARQUET else ".gz"), "GEN101", "PQT102"),
        ("pointer of Git LFS", _in_files(lambda data, rng: _POINTER), "GEN105"),
        (
            "page of HTML",
            _in_files(lambda data, rng: _NEITHER),
            "PQT102",
            "GEN301",
            "GEN101",
            f"{_prefix}102",
            "OSJ107",
        ),
        ("text encoded twice", _text("schÃ¶n und gÃ¼nstig", "itâ€™s"), "GEN202"),
    ):
        _kind(_group, str(_name), _change, *map(str, _rules))
    _kind(_group, "letter changed", _change_letter, undetectable=_FREE)
    _kind(_group, "row lost", _lose_row, undetectable="nothing counts the rows")
    _kind(_group, "rows in another order", _reordered, harmless=True)
    _kind(
        _group, "a card next to the data", lambda corpus: corpus.raw.update({"README.md": b"# Data\n"}), harmless=True
    )
    _kind(_group, "a hidden file", lambda corpus: corpus.raw.update({".cache": b"x"}), harmless=True)
    _kind(
        _group,
        "the same text twice",
        lambda corpus: [row.update(text="x") for rows in corpus.rows.values() for row in rows if "text" in row],
        harmless=True,
    )

# What happens to lines -----------------------------------------------------------------------------------------------


def _without_last_lf(corpus: Corpus) -> None:
    path = corpus.file()
    corpus.raw[path] = packed(path, corpus.rows[path], b"")


def _in_members(corpus: Corpus) -> None:
    for path, rows in corpus.rows.items():
        parts = [packed(path, [row]) for row in rows]
        corpus.raw[path] = b"".join(parts)


def _members_within_rows(corpus: Corpus) -> None:
    path = corpus.file()
    data = packed("", corpus.rows.pop(path))
    at = corpus.rng.randrange(1, len(data))
    corpus.raw[path.removesuffix(".gz").removesuffix(".zst") + ".gz"] = gzipped(data[:at]) + gzipped(data[at:])


def _keys_reordered(corpus: Corpus) -> None:
    for rows in corpus.rows.values():
        rows[:] = [dict(corpus.rng.sample(sorted(row.items()), len(row))) for row in rows]


def _escaped(corpus: Corpus) -> None:
    for rows in corpus.rows.values():
        rows[:] = [
            json.dumps(row, ensure_ascii=True, separators=corpus.rng.choice([(",", ":"), (" , ", " : ")])).encode()
            for row in rows
        ]


for _group, _prefix, _compression, _empty in (
    (JSON_LINES, "JSL", "JSL102", "JSL103"),
    (OSCAR, "OSJ", "OSJ107", "OSJ106"),
):
    for _name, _change, *_rules in (
        ("gzip cut short", _in_files(lambda data, rng: data[: rng.randrange(20, len(data) - 1)], ".gz"), "GEN101"),
        ("gzip cut after its end", _in_files(lambda data, rng: data[:-4], ".gz"), "GEN101"),
        ("gzip with garbage after it", _in_files(lambda data, rng: data + b"garbage", ".gz"), "GEN102"),
        ("gzip with zero bytes after it", _in_files(lambda data, rng: data + bytes(512), ".gz"), "GEN102"),
        ("gzip with a bit flipped", _in_files(_flip, ".gz"), "GEN101"),
        ("zstd cut short", _in_files(lambda data, rng: data[: rng.randrange(12, len(data) - 1)], ".zst"), "GEN101"),
        ("plain named gzip", _as(bytes, ".gz"), _compression),
        ("plain named zstd", _as(bytes, ".zst"), _compression),
        ("gzip named plain", _as(gzipped, ""), _compression),
        ("zstd named gzip", _as(zstd.compress, ".gz"), _compression),
        ("gzip named zstd", _as(gzipped, ".zst"), _compression),
        ("no rows", _in_files(lambda data, rng: gzipped(b""), ".gz"), _empty),
        (
            "line cut",
            lambda corpus: corpus.line(lambda line: line[: corpus.rng.randrange(1, len(line) - 1)]),
            "GEN301",
            "GEN201",
        ),
        ("two objects on a line", lambda corpus: corpus.line(lambda line: line + line), "GEN301"),
        ("blank line", _insert(b""), "GEN301"),
        ("byte order mark", lambda corpus: corpus.line(lambda line: b"\xef\xbb\xbf" + line), "GEN301"),
        ("Latin-1", lambda corpus: corpus.line(lambda line: line.replace(b': "', b': "\xe9', 1)), "GEN201"),
        ("UTF-16", lambda corpus: corpus.line(lambda line: line.decode().encode("utf-16-le")), "GEN301", "GEN201"),
        ("NaN", lambda corpus: corpus.line(lambda line: line[:-1] + b', "n": NaN}'), "GEN301"),
        ("lone surrogate", lambda corpus: corpus.line(lambda line: line[:-1] + b', "n": "\\ud800"}'), "GEN301"),
        ("number beyond floats", lambda corpus: corpus.line(lambda line: line[:-1] + b', "n": 1e999}'), "GEN303"),
        ("trailing comma", lambda corpus: corpus.line(lambda line: line[:-1] + b",}"), "GEN301"),
        ("name twice", lambda corpus: corpus.line(lambda line: line[:-1] + b', "n": 1, "n": 2}'), f"{_prefix}202"),
        ("array in place of a row", _insert([1]), f"{_prefix}201"),
        ("string in place of a row", _insert("x"), f"{_prefix}201"),
        ("null in place of a row", _insert(None), f"{_prefix}201"),
        ("text null", _text(None), f"{_prefix}301"),
        ("text a number", _text(1, 2.5), f"{_prefix}301"),
        ("text a list", _text(["a"], []), f"{_prefix}301"),
        ("text lost", lambda corpus: corpus.row().pop(corpus.text), f"{_prefix}301"),
        (
            "text under another name",
            lambda corpus: (row := corpus.row()).update(Text=row.pop(corpus.text)),
            f"{_prefix}301",
        ),
        (
            "nested too deeply",
            lambda corpus: corpus.line(lambda line: line[:-1] + b', "n": ' + b"[" * 200 + b"]" * 200 + b"}"),
            "GEN301",
        ),
    ):
        _kind(_group, str(_name), _change, *map(str, _rules))
    for _name, _change in (
        ("no LF at the end", _without_last_lf),
        ("a member for each row", _in_members),
        ("members within rows", _members_within_rows),
        ("names in another order", _keys_reordered),
        ("escapes and white space", _escaped),
        ("a field more", _set("more", 1, "x", None, [1], {"a": 1})),
    ):
        _kind(_group, _name, _change, harmless=True)

for _name, _change, *_rules in (
    ("last file lost", lambda corpus: corpus.rows.pop(max(corpus.rows)), "GEN403"),
    ("id null", _set("id", None), "JSL302"),
    ("id a fraction", _set("id", 1.5), "JSL302"),
    ("id empty", _set("id", ""), "JSL302"),
    ("id an object", _set("id", {"a": 1}, ["a"]), "JSL302"),
    ("id true", _set("id", True, False), "JSL302"),
):
    _kind(JSON_LINES, str(_name), _change, *map(str, _rules))
_kind(JSON_LINES, "id lost", lambda corpus: corpus.row().pop("id"), undetectable="a row needs no id")
_kind(
    JSON_LINES,
    "the same ids in another source",
    lambda corpus: [
        corpus.rows.update({f"data/{name}.jsonl": [row | {"source": name} for row in rows]})
        for name, rows in [("other", corpus.rows[min(corpus.rows)])]
    ],
    harmless=True,
)
_kind(
    JSON_LINES,
    "ids as numbers",
    lambda corpus: [
        row.update(id=number) for number, row in enumerate(row for rows in corpus.rows.values() for row in rows)
    ],
    harmless=True,
)

# What happens to records of OSCAR -------------------------------------------------------------------------------------


def _record(change: Callable[[Json], object]) -> Change:
    return lambda corpus: change(corpus.row())


def _moved(name: str) -> Change:
    def change(corpus: Corpus) -> None:
        path = corpus.file()
        corpus.rows[name + path[path.index(".jsonl") :]] = corpus.rows.pop(path)

    return change


for _name, _change, *_rules in (
    ("headers lost", _record(lambda row: row.pop("warc_headers")), "OSJ302"),
    ("headers a list", _record(lambda row: row.update(warc_headers=[])), "OSJ302"),
    ("header a number", _record(lambda row: row["warc_headers"].update({"content-length": 5})), "OSJ302"),
    ("metadata lost", _record(lambda row: row.pop("metadata")), "OSJ303"),
    ("metadata a list", _record(lambda row: row.update(metadata=[])), "OSJ303"),
    ("identification null", _record(lambda row: row["metadata"].update(identification=None)), "OSJ304"),
    (
        "identification without prob",
        _record(lambda row: row["metadata"].update(identification={"label": "de"})),
        "OSJ304",
    ),
    (
        "prob a string",
        _record(lambda row: row["metadata"].update(identification={"label": "de", "prob": "1"})),
        "OSJ304",
    ),
    ("identifications lost", _record(lambda row: row["metadata"].pop("sentence_identifications")), "OSJ304"),
    (
        "an identification a number",
        _record(lambda row: row["metadata"]["sentence_identifications"].append(1)),
        "OSJ304",
    ),
    ("annotation a string", _record(lambda row: row["metadata"].update(annotation="tiny")), "OSJ305"),
    ("categories of numbers", _record(lambda row: row["metadata"].update(categories=[1])), "OSJ305"),
    ("a line more", _record(lambda row: row.update(content=row["content"] + "\nmore")), "OSJ306"),
    ("an identification more", _record(lambda row: row["metadata"]["sentence_identifications"].append(None)), "OSJ306"),
    (
        "another language",
        _record(lambda row: row["metadata"].update(identification={"label": "af", "prob": 0.5})),
        "OSJ307",
    ),
    ("in the folder of another language", _moved("af_meta/de_meta_part_1"), "OSJ103"),
    ("named without a language", _moved("de_meta/sample"), "OSJ102"),
):
    _kind(OSCAR, str(_name), _change, *map(str, _rules))

# What happens to tables ----------------------------------------------------------------------------------------------


def _rewritten(change: Callable[[pa.Table], pa.Table], **options: Any) -> Change:
    def apply(corpus: Corpus) -> None:
        path = corpus.file()
        sink = io.BytesIO()
        pq.write_table(
            change(pq.read_table(io.BytesIO(corpus.files()[path]))), sink, write_page_checksum=True, **options
        )
        corpus.raw[path] = sink.getvalue()

    return apply


def _column(name: str, values: Callable[[int], pa.Array]) -> Change:
    return _rewritten(lambda found: found.set_column(found.schema.get_field_index(name), name, values(found.num_rows)))


def _cast(name: str, kind: pa.DataType) -> Change:
    return _rewritten(lambda found: found.set_column(found.schema.get_field_index(name), name, found[name].cast(kind)))


for _name, _change, *_rules in (
    ("cut short", _in_files(lambda data, rng: data[: rng.randrange(8, len(data) - 1)]), "PQT102"),
    ("footer lost", _in_files(lambda data, rng: data[:-8]), "PQT102"),
    ("compressed again", _in_files(lambda data, rng: gzipped(data)), "PQT102"),
    ("beginning lost", _in_files(lambda data, rng: data[16:]), "PQT102"),
    (
        "zeroed in the middle",
        _in_files(lambda data, rng: data[:8] + bytes(len(data) // 2) + data[8 + len(data) // 2 :]),
        "PQT102",
    ),
    ("column text lost", _rewritten(lambda found: found.drop_columns(["text"])), "PQT201"),
    (
        "column text under another name",
        _rewritten(lambda found: found.rename_columns(["id", "body", "score", "url"])),
        "PQT201",
    ),
    ("text as bytes", _cast("text", pa.binary()), "PQT202"),
    ("text as numbers", _column("text", lambda rows: pa.array(range(rows))), "PQT202"),
    ("ids as fractions", _column("id", lambda rows: pa.array([0.5] * rows)), "PQT202"),
    ("column of bytes", _cast("url", pa.binary()), "PQT203"),
    ("columns in another order", _rewritten(lambda found: found.select(["text", "id", "score", "url"])), "PQT204"),
    ("column lost", _rewritten(lambda found: found.drop_columns(["url"])), "PQT204"),
    ("column more", _rewritten(lambda found: found.append_column("more", found["url"])), "PQT204"),
    ("column of another type", _cast("score", pa.float32()), "PQT204"),
    ("column without values", _column("url", pa.nulls), "PQT204"),
    ("column twice", _rewritten(lambda found: found.append_column("text", found["text"])), "PQT102"),
    ("no rows", _rewritten(lambda found: found.slice(0, 0)), "PQT103"),
    ("text null", _text(None), "PQT301"),
    ("texts null", _column("text", lambda rows: pa.nulls(rows, pa.string())), "PQT301"),
    ("id null", _set("id", None), "PQT302"),
    ("id empty", _set("id", ""), "PQT302"),
    ("all ids equal", _column("id", lambda rows: pa.array(["x"] * rows)), "GEN401"),
    ("text that is not UTF-8", _column("text", lambda rows: pa.array([b"caf\xe9"] * rows).view(pa.string())), "GEN201"),
    (
        "path like a pattern",
        lambda corpus: corpus.rows.update({"data/[1].parquet": corpus.rows.pop(max(corpus.rows))}),
        "GEN403",
    ),
):
    _kind(PARQUET, str(_name), _change, *map(str, _rules))
for _name, _options in (
    ("a group for each row", {"row_group_size": 1}),
    ("another compression", {"compression": "gzip"}),
    ("pages of version 2", {"data_page_version": "2.0"}),
    ("no dictionaries", {"use_dictionary": False}),
    ("no statistics", {"write_statistics": False}),
):
    _kind(PARQUET, _name, _rewritten(lambda found: found, **_options), harmless=True)
