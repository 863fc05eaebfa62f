"""What a folder is, by most of its bytes, and what is said of one that no format recognises."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import run_cli, tarred

import corpusfmt
from corpusfmt.formats import detect
from corpusfmt.io.paths import entry_of
from corpusfmt.model import UsageError


def lines(*rows: Any) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def parquet(*rows: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows)), sink)
    return sink.getvalue()


def zipped() -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("a.jsonl", "{}")
    return sink.getvalue()


def write(root: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


FOREIGN = lines({"q": "x"})
CHAT = {"messages": [{"role": "user", "content": "x"}], "source": "tulu"}
TEXTS = lines(*({"text": f"a long text {number}", "url": "u"} for number in range(5)))
DOLMA = lines(*({"id": str(number), "text": "x", "source": "web"} for number in range(5)))
RECORD = {
    "content": "eins",
    "warc_headers": {"warc-record-id": "<urn:uuid:00000000-0000-4000-8000-000000000001>"},
    "metadata": {"identification": {"label": "de", "prob": 1.0}, "sentence_identifications": [None]},
}


@pytest.mark.parametrize(
    ("files", "expected", "codes"),
    [
        ({"eval.jsonl": FOREIGN, "train.jsonl": TEXTS}, "jsonl", {"JSL301"}),
        ({"train.jsonl": TEXTS, "zeval.jsonl": FOREIGN}, "jsonl", {"JSL301"}),
        ({"logs/00000.jsonl": FOREIGN, "train/0.jsonl.gz": gzip.compress(TEXTS)}, "jsonl", {"JSL301"}),
        ({"manifest.jsonl": lines({"file": "train.jsonl", "bytes": 1}), "train.jsonl": DOLMA}, "dolma", None),
        ({"a.jsonl": lines(CHAT), "de_meta.jsonl": lines(*[RECORD] * 3)}, "oscar2", None),
        ({"c4-eval.json.gz": gzip.compress(FOREIGN), "c4.json.gz": gzip.compress(lines({"text": "x", "timestamp": "2019-04-25T12:57:54Z", "url": "u"}) * 9)}, "mc4", None),
        ({"eval.jsonl": FOREIGN, "train.parquet": parquet({"text": "x"})}, "parquet", set()),
    ],
)  # fmt: skip
def test_most_bytes_decide(files: dict[str, bytes], expected: str, codes: set[str] | None, tmp_path: Path) -> None:
    assert detect(entry_of(str(write(tmp_path, files))))[0].name == expected
    if codes is not None:
        assert corpusfmt.validate(tmp_path).by_rule.keys() == codes


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "the folder is empty"),
        ({".a.jsonl": TEXTS}, "all files in it are hidden"),
        ({"data.zip": zipped()}, "`data.zip` is an archive: unpack it"),
        ({"data.tar": tarred({"a.jsonl": b"{}"})}, "`data.tar` is an archive: unpack it"),
        ({"data.tar.gz": gzip.compress(b"x")}, "`data.tar.gz` is an archive: unpack it"),
        ({"a.jsonl": TEXTS.decode().encode("utf-16")}, "`a.jsonl` is UTF-16: write it as UTF-8, as with"),
        ({"a.jsonl": TEXTS.decode().encode("utf-16-le")}, "`a.jsonl` is UTF-16"),
        ({"a.jsonl": b"<!DOCTYPE html><html>404</html>"}, "`a.jsonl` is a page of HTML in place of data: download"),
        ({"a.jsonl": b'<?xml version="1.0"?><Error/>'}, "`a.jsonl` is XML in place of data"),
        ({"a.jsonl.gz": TEXTS}, "`a.jsonl.gz` is not compressed, and its name says gzip: rename it"),
        ({"a.json": json.dumps([{"text": "x"}]).encode()}, "`a.json` is one array: write one object per line"),
        ({"a.json": json.dumps({"text": "x"}, indent=1).encode()}, "`a.json` has an object over several lines"),
        ({"a.zst": TEXTS}, "`a.zst` is not compressed"),
        ({"a.unknown": TEXTS}, "`a.unknown` has rows, and no name of JSON Lines"),
    ],
)
def test_what_is_in_a_folder_that_is_not_recognised(files: dict[str, bytes], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no known format recognises") as error:
        corpusfmt.validate(write(tmp_path, files))
    assert said in str(error.value)


@pytest.mark.parametrize(
    "command",
    [
        ("validate", "in"),
        ("validate", "in", "--field", "id=doc_id"),
        ("stats", "in"),
        ("show", "in"),
        ("convert", "in", "out", "--to", "dolma"),
    ],
)
def test_a_named_text_is_enough(command: tuple[str, ...], tmp_path: Path) -> None:
    rows = lines({"doc_id": "a", "body": "one"}, {"doc_id": "b", "body": "two"})
    write(tmp_path, {"in/a.jsonl": rows})
    found = run_cli(*command, "--field", "text=body", cwd=tmp_path)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize(
    ("name", "data", "fields", "hint"),
    [
        ("in/a.jsonl", lines({"doc_id": "a", "body": "one"}) * 3, "`doc_id`, `body`", "body"),
        ("in/a.jsonl", lines({"id": "a", "text": "one"}), "`id`, `text`", "text"),
        ("in/a.jsonl", lines({"doc": {"id": "a", "body": "one"}}), "`doc`", "/doc/body"),
        ("in/a.csv", b"body,label\none,1\n", "`body`, `label`", "body"),
    ],
)
def test_a_named_text_that_no_row_has_is_refused(
    name: str, data: bytes, fields: str, hint: str, tmp_path: Path
) -> None:
    write(tmp_path, {name: data})
    for command in ("validate in", "validate in --format jsonl", "stats in", "convert in out --to jsonl"):
        done = run_cli(*command.split(), "--field", "text=bdy", cwd=tmp_path)
        said = f"error: `{name[3:]}` has rows with {fields}, and no `bdy`: name its field with --field text={hint}\n"
        assert (done.returncode, done.stderr.decode()) == (2, said)


def test_a_layout_of_dolma_stays_dolma(tmp_path: Path) -> None:
    write(tmp_path, {"documents/a.jsonl": DOLMA})
    with pytest.raises(UsageError, match="dolma has fixed field names"):
        corpusfmt.validate(tmp_path, field={"text": "text"})


def test_rows_that_dolma_would_need_a_source_of(tmp_path: Path) -> None:
    _, detection = detect(entry_of(str(write(tmp_path, {"a.jsonl": lines({"id": "1", "text": "x"})}))))
    assert detection.evidence == "rows with text, as in `a.jsonl`; Dolma needs `source`, too"
