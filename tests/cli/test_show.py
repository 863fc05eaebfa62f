"""`corpusfmt show`: documents as rows in a pipe, as text on a terminal."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import FIXTURES, gzipped, run_cli

import corpusfmt


def rows(*arguments: str | Path) -> list[dict[str, object]]:
    done = run_cli("show", *arguments)
    assert (done.returncode, done.stderr) == (0, b"")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_first_documents_are_shown_as_rows(oscar_corpus: Path) -> None:
    found = rows(oscar_corpus, "-n", "2")
    assert [(each["id"], each["text"]) for each in found] == [
        (each.id, each.text) for each in corpusfmt.read(oscar_corpus, limit=2)
    ]


def test_documents_are_found_by_id_language_text_and_at_random(oscar_corpus: Path) -> None:
    every = list(corpusfmt.read(oscar_corpus))
    assert [each["id"] for each in rows(oscar_corpus, every[-1].id)] == [every[-1].id]
    matching = [each.id for each in every if each.lang == "de" and "Bildung" in each.text]
    assert [each["id"] for each in rows(oscar_corpus, "--language", "de", "--grep", "B.ldung")] == matching != []
    one, other = ([each["id"] for each in rows(oscar_corpus, "--random", "--seed", seed, "-n", "4")] for seed in "12")
    assert len(set(one)) == 4
    assert one != other
    assert [each.id for each in every if each.id in one] == one


def dolma(folder: Path, *lines: bytes) -> Path:
    (folder / "documents").mkdir()
    (folder / "documents/a.jsonl.gz").write_bytes(gzipped(b"\n".join(lines) + b"\n"))
    return folder


GOOD = b'{"id":"1","text":"a <x@y.example> b","source":"s","attributes":{"pii":[[2,15,1.0]],"all":[[0,17,0.5]]}}'
BAD = b'{"id":"2","text":'


def test_a_location_is_opened(oscar_corpus: Path, tmp_path: Path) -> None:
    folder = dolma(tmp_path, GOOD, BAD)
    assert [each["id"] for each in rows(folder, "documents/a.jsonl.gz:1:7")] == ["1"]
    assert rows(folder, "documents/a.jsonl.gz:2:18:") == [
        {"path": "documents/a.jsonl.gz", "line": 2, "text": BAD.decode()}
    ]


def test_the_document_at_a_line_of_oscar_text_is_shown_with_its_metadata(oscar_corpus: Path) -> None:
    finnish = list(corpusfmt.read(oscar_corpus, languages="fi"))
    assert len(finnish) == 7
    line = 1
    for number, document in enumerate(finnish, 1):
        last = line + document.text.count("\n")
        for place in (f"fi/fi.txt.gz:{line}", f"fi/fi.txt.gz:{last}:5", f"fi/fi_meta.jsonl.gz:{number}"):
            (found,) = rows(oscar_corpus, place)
            assert (found["id"], found["metadata"]) == (document.id, document.metadata), place
        line = last + 2


def test_what_a_report_prints_is_a_location(tmp_path: Path) -> None:
    folder = tmp_path / "release"
    (folder / "documents").mkdir(parents=True)
    (folder / "documents/::error::\n.jsonl.gz").write_bytes(gzipped(GOOD + b"\n" + BAD + b"\n"))
    for inputs in ([folder], [folder, folder]):
        done = run_cli("validate", *inputs, "--format", "dolma", "--output-format", "concise")
        line = next(line for line in done.stdout.decode().split("\n") if "GEN301" in line)
        assert rows(folder, line)[0]["line"] == 2, line


def test_the_document_at_a_line_of_text_is_shown(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\n\n\nb\xffd\n\nlast")
    first, second = (rows(tmp_path, f"a.txt:{line}")[0] for line in (2, 7))
    assert (first["text"], second["text"]) == ("one\ntwo", "last")
    assert str(second["id"]).startswith("a.txt:3:")
    assert rows(tmp_path, "a.txt:5") == [{"path": "a.txt", "line": 5, "text": "b\\xffd"}]


@pytest.mark.parametrize("version", ["22.01", "23.01"])
def test_the_document_at_a_line_of_a_release_is_shown(version: str) -> None:
    folder = FIXTURES / "oscar2" / version / "valid/release/input"
    path = min(folder.rglob("*.jsonl*"))
    for number, document in enumerate(corpusfmt.read(path), 1):
        (found,) = rows(folder, f"{path.relative_to(folder)}:{number}")
        assert (found["id"], found["text"]) == (document.id, document.text)


def test_the_row_of_a_table_is_shown(tmp_path: Path) -> None:
    ids: list[str | None] = [*(str(number) for number in range(1, 26)), None]
    table = pa.table({"id": ids, "text": [f"text {number}" for number in range(1, 26)] + [None]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=10)
    every = list(corpusfmt.read(tmp_path, on_error="skip"))
    for line in (1, 10, 11, 25):
        (found,) = rows(tmp_path, f"a.parquet:{line}")
        assert (found["id"], found["text"]) == (every[line - 1].id, f"text {line}")
    (rejected,) = rows(tmp_path, "a.parquet:26")
    assert (rejected["path"], rejected["line"]) == ("a.parquet", 26)
    assert json.loads(str(rejected["text"]))["text"] is None
    done = run_cli("show", tmp_path, "a.parquet:27")
    assert (done.returncode, done.stderr) == (1, b"no document found\n")


@pytest.mark.parametrize("version", ["1.0", "1.0-shuffled"])
def test_the_document_at_a_line_of_oscar_1_0_is_shown(version: str, tmp_path: Path) -> None:
    shuffled = version.endswith("shuffled")
    (tmp_path / "de").mkdir()
    text = b"one\ntwo\nthree\n" if shuffled else b"one\ntwo\n\nthree\n"
    (tmp_path / "de/de.txt.gz").write_bytes(gzipped(text))
    every = list(corpusfmt.read(tmp_path, format="oscar-1.0"))
    (found,) = rows(tmp_path, "--format", "oscar-1.0", "de/de.txt.gz:2")
    assert found["id"] == every[1 if shuffled else 0].id


def test_skipped_records_are_counted(tmp_path: Path) -> None:
    done = run_cli("show", dolma(tmp_path, BAD, GOOD))
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)
    assert done.stderr == b"1 record skipped because of GEN301: run `corpusfmt validate`\n"
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.jsonl").write_bytes(b'{"text": "a"}\n["b"]\n{"text": 1}\n')
    (tmp_path / "in/b.jsonl").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    done = run_cli("show", tmp_path / "in")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)
    assert done.stderr == b"3 records skipped because of GEN105, JSL201, JSL301: run `corpusfmt validate`\n"


def test_text_is_printed_with_its_attributes_and_without_control_characters(tmp_path: Path) -> None:
    hostile = b'{"id":"\\u001b[2J","text":"one\\u001b[31m\\ntwo","source":"s"}'
    done = run_cli("show", dolma(tmp_path, GOOD, hostile), "--output-format", "text")
    assert done.stdout.decode() == (
        "1\n"
        "source: s\n"
        "pii: [[2, 15, 1.0]]\n"
        "all: [[0, 17, 0.5]]\n"
        "\n"
        "a <x@y.example> b\n"
        "\n"
        "\\x1b[2J\n"
        "source: s\n"
        "\n"
        "one\\x1b[31m\n"
        "two\n"
        "\n"
    )


def test_spans_are_coloured_on_a_terminal(tmp_path: Path) -> None:
    terminal = os.environ | {"FORCE_COLOR": "1", "TERM": "xterm-256color", "PAGER": "cat"}
    terminal.pop("NO_COLOR", None)
    done = run_cli("show", dolma(tmp_path, GOOD), "--output-format", "text", env=terminal)
    assert b"a \x1b[30;43m<x@y.example>\x1b[0m b" in done.stdout
    assert b"\x1b[33mpii: \x1b[0m" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--grep", "("], 2, "error: --grep is '(', not a regular expression: missing ), unterminated subpattern at position 0\n"),
        (["1", "--random"], 2, "error: ID and PATH:LINE name one document: remove them, or --random and --grep\n"),
        (["unknown"], 1, "no document found\n"),
        (["documents/a.jsonl.gz:2"], 1, "no document found\n"),
        (["documents/b.jsonl.gz:1"], 1, "no document found\n"),
    ],
)  # fmt: skip
def test_what_cannot_be_shown(arguments: list[str], status: int, message: str, tmp_path: Path) -> None:
    done = run_cli("show", dolma(tmp_path, GOOD), *arguments)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (status, b"", message)
