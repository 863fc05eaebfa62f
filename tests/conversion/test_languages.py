"""Which language a document is filed under on the way to OSCAR, and what is said of one that has none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conversion.rows import beside, document, lines_of, read_rows, write_rows
from support import run_cli

import corpusfmt
from corpusfmt.formats.languages import label_of
from corpusfmt.model import BadInput, UsageError


def dataset(root: Path) -> Path:
    """Write three documents, the last of them in no language, with the attribute sets `lid` and `more/pii`."""
    rows = [document(1, "en"), document(2, "de"), document(3) | {"metadata": {}}]
    write_rows(root / "documents/a.jsonl.gz", rows)
    for name in ("lid", "more/pii"):
        write_rows(root / "attributes" / name / "a.jsonl.gz", [beside(row, m__en=[[0, 5, 1.0]]) for row in rows])
    return root


@pytest.mark.parametrize(
    ("metadata", "code", "message"),
    [
        ({}, "CNV102", "the language is unknown (document `d3`)"),
        ({"language": 7}, "CNV102", "the language is unknown (document `d3`)"),
        ({"language": "und"}, "CNV104", "language is `und`, expected the code of a language"),
        ({"language": "../up"}, "CNV104", "language is `../up`, expected the code"),
    ],
)
def test_a_document_of_no_language_is_told_by_its_place(
    metadata: dict[str, Any], code: str, message: str, tmp_path: Path
) -> None:
    rows = [document(1, "en"), document(2, "de"), document(3) | {"metadata": metadata}, document(4, "en")]
    write_rows(tmp_path / "dolma/documents/a.jsonl.gz", rows)
    done = run_cli("convert", tmp_path / "dolma", tmp_path / "out", "--to", "oscar")
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"documents/a.jsonl.gz:3: {code} ")
    assert message in done.stderr.decode()
    options = ("--to", "oscar", "--on-bad-record", "quarantine")
    done = run_cli("convert", tmp_path / "dolma", tmp_path / "rest", *options)
    assert (done.returncode, done.stdout.decode().partition("\n")[0]) == (
        0,
        f"1 shard -> {tmp_path / 'rest'}: 3 documents in 6 files",
    )
    (line,) = (tmp_path / "rest-quarantine/000000.jsonl").read_bytes().split(b"\n")[:-1]
    rejected = json.loads(line)
    assert (rejected["rule"], rejected["line"], json.loads(rejected["record"])) == (code, 3, rows[2])
    assert sorted(path.name for path in (tmp_path / "rest").iterdir()) == [
        "MANIFEST.json",
        "README.md",
        "croissant.json",
        "de",
        "en",
    ]


def test_a_document_of_another_language_than_its_folder(tmp_path: Path) -> None:
    rows = [document(1, "en"), document(2, "de")]
    write_rows(tmp_path / "dolma/documents/en/en.jsonl.gz", rows)
    with pytest.raises(
        BadInput, match=r"en\.jsonl\.gz:2: CNV102 language is `de`, expected `en` as in the shard's name"
    ):
        corpusfmt.convert(tmp_path / "dolma", tmp_path / "out", to="oscar")
    report = corpusfmt.convert(tmp_path / "dolma", tmp_path / "rest", to="oscar", on_bad_record="quarantine")
    assert (report.coverage.documents, report.results["rejected"]) == (1, 1)


@pytest.mark.parametrize(
    ("language", "label"),
    [
        ("de", "de"),
        ("DE", "de"),
        ("deu", "de"),
        ("German", "de"),
        ("deu_Latn", "de"),
        ("zh-Hant-TW", "zh"),
        ("zh-cn", "zh"),
        ("cmn_Hani", "zh"),
        ("yue_Hant", "yue"),
        ("nob_Latn", "no"),
        ("arb", "ar"),
        ("arz_Arab", "arz"),
        ("Filipino", "tl"),
        ("kin_Latn", "rw"),
        ("quc_Latn", "quc"),
        ("iw", "he"),
        # ISO calls Tosk Albanian `als`, lid.176 Alemannic.
        ("als", "als"),
        ("als_Latn", "sq"),
        ("gsw", "als"),
        ("x-eml", "eml"),
        *dict.fromkeys(
            ("not_en", "not_eng", "not_DE", "non-english", "other", "multi", "mul", "und_Latn", "xx", "", "a\n"), None
        ).items(),
    ],
)
def test_languages_by_any_name(language: str, label: str | None) -> None:
    assert label_of(language) == label


def test_other_names_of_languages_are_kept_and_shown_before(tmp_path: Path) -> None:
    names = ("deu_Latn", "de", "English", "multi")
    rows = [document(number, name) for number, name in enumerate(names)]
    write_rows(tmp_path / "dolma/documents/a.jsonl.gz", rows)
    command = ("convert", tmp_path / "dolma", tmp_path / "out", "--to", "oscar")
    assert run_cli(*command, "--dry-run").stdout.decode().splitlines() == [
        "dry run, nothing is written; the first documents of each shard have:",
        "  source `test`: 4 documents",
        "  language `deu_Latn`: 1 document; label `de`",
        "  language `de`: 1 document; label `de`",
        "  language `English`: 1 document; label `en`",
        "  language `multi`: 1 document; label none, such documents are rejected",
    ]
    assert not (tmp_path / "out").exists()
    assert run_cli(*command, "--on-bad-record", "quarantine").returncode == 0
    corpusfmt.convert(tmp_path / "out", tmp_path / "back", to="dolma")
    assert read_rows(tmp_path / "back", "documents/de") == rows[:2]
    assert read_rows(tmp_path / "back", "documents/en") == rows[2:3]


def test_documents_in_a_folder_that_is_no_language_are_sorted_by_their_own(tmp_path: Path) -> None:
    write_rows(tmp_path / "dolma/documents/EN/EN.jsonl.gz", [document(1, "en"), document(2, "de")])
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "out", to="oscar")
    written = ["MANIFEST.json", "README.md", "croissant.json", "de", "en"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == written


def test_what_goes_to_quarantine_takes_its_attributes_along(tmp_path: Path) -> None:
    root = dataset(tmp_path / "dolma")
    corpusfmt.convert(root, tmp_path / "out", to="oscar", on_bad_record="quarantine", merge_attributes=True)
    (line,) = (tmp_path / "out-quarantine/000000.jsonl").read_bytes().split(b"\n")[:-1]
    rows = [lines_of(root / name / "a.jsonl.gz")[2] for name in ("documents", "attributes/lid", "attributes/more/pii")]
    assert list(map(json.loads, json.loads(line)["record"].split("\n"))) == list(map(json.loads, rows))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"language_attribute": "nope/m"},
            "`language_attribute`: attribute set `nope` not found; found: `lid`, `more/pii`",
        ),
        ({"language_attribute": "../lid/m"}, "`language_attribute` is '../lid/m', expected SET/KEY"),
        ({"language_attribute": "/lid/m"}, "`language_attribute` is '/lid/m', expected SET/KEY"),
        (
            {"merge_attributes": True, "prefer_attributes": ["embedded", "nope"]},
            "`prefer_attributes`: attribute set `nope` not found; found: `lid`, `more/pii`",
        ),
        (
            {"to": "dolma", "language_attribute": "lid/m"},
            "`language_entry` and `language_attribute` are only for OSCAR",
        ),
        ({"to": "parquet", "language_entry": "lang"}, "`language_entry` and `language_attribute` are only for OSCAR"),
    ],
)
def test_names_that_mean_nothing_are_refused(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        corpusfmt.convert(dataset(tmp_path / "dolma"), tmp_path / "out", **{"to": "oscar"} | options)
    assert message in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_an_attribute_of_two_values_is_told_by_its_place(tmp_path: Path) -> None:
    root = dataset(tmp_path / "dolma")
    rows = [beside(document(number), m__en=[[0, 5, 1.0 if number == 1 else 0.5]]) for number in (1, 2, 3)]
    write_rows(root / "attributes/more/pii/a.jsonl.gz", rows)
    with pytest.raises(BadInput, match=r"documents/a\.jsonl\.gz:2: CNV103 .*\(document `d2`\)"):
        corpusfmt.convert(root, tmp_path / "out", to="dolma", merge_attributes=True)
