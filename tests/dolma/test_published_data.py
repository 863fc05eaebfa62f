"""Data that the toolkit ships or writes is valid. Opt-in: the data and the toolkit are not part of this project.

CORPUSFMT_DOLMA_DATA names a folder with the toolkit's test data (`provided`, `multiple_files`), CORPUSFMT_DOLMA the
`dolma` command of a virtual environment: `pip install dolma==1.2.1 "smart-open<7.2"`.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from dolma.corpus import check, codes, documents, encoded, write

from corpusfmt.model import Report

DATA = os.environ.get("CORPUSFMT_DOLMA_DATA")
DOLMA = os.environ.get("CORPUSFMT_DOLMA")
needs_data = pytest.mark.skipif(DATA is None, reason="CORPUSFMT_DOLMA_DATA is not set")
needs_toolkit = pytest.mark.skipif(DOLMA is None, reason="CORPUSFMT_DOLMA is not set")


@needs_data
@pytest.mark.parametrize(
    "path",
    [
        "provided",
        "provided/documents",
        "provided/documents/000.json.gz",
        *(f"multiple_files/cc_en_head-{number}.jsonl{suffix}" for number in ("0091", "0174") for suffix in ("", ".gz")),
    ],
)
def test_the_toolkits_own_data(path: str) -> None:
    assert DATA is not None
    report = check(Path(DATA) / path)
    assert not report.findings
    assert report.coverage.documents == 10


def dolma(root: Path, *arguments: str) -> None:
    assert DOLMA is not None
    done = subprocess.run([DOLMA, *arguments], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def errors(report: Report) -> list[str]:
    return [f"{each.location} {each.code} {each.message}" for each in report.findings if each.severity == "error"]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Documents of several scripts in two folders, some paragraphs of which occur in others too."""
    rows = documents(60)
    for row in rows:
        row["text"] = f"{row['text']}\nid {row['id']} 😀\nA line that all documents share, naïve or not."
    return write(tmp_path, {"documents/a/0.jsonl.gz": encoded(rows[:30]), "documents/b/1.jsonl.gz": encoded(rows[30:])})


@needs_toolkit
def test_taggers(dataset: Path) -> None:
    taggers = [
        "char_length_v1",
        "char_length_with_paragraphs_v1",
        "c4_v2",
        "gopher_v2",
        "pii_regex_v1",
        "uniseg_length_paragraphs_v1",
    ]
    where = ["--documents", "documents/*/*.jsonl.gz", "--destination", "attributes/exp"]
    dolma(dataset, "tag", *where, "--taggers", *taggers, "--experiment", "exp", "--processes", "1")
    report = check(dataset)
    assert report.coverage.documents == 60
    assert not errors(report)


@needs_toolkit
@pytest.mark.parametrize("kind", ["paragraphs", "documents"])
def test_deduplication(kind: str, dataset: Path) -> None:
    """The last paragraph of a text that is not ASCII ends one behind it: a warning, never an error."""
    key = {"paragraphs": {"attribute_name": "dups"}, "documents": {"key": "$.id", "attribute_name": "dups"}}[kind]
    config = {
        "documents": [f"{dataset}/documents/*/*.jsonl.gz"],
        "dedupe": {"name": "dedupe", kind: key, "skip_empty": True},
        "bloom_filter": {
            "file": f"{dataset}/filter.bin",
            "size_in_bytes": 1_000_000,
            "read_only": False,
            "estimated_doc_count": 1000,
            "desired_false_positive_rate": 0.001,
        },
        "processes": 1,
    }
    (dataset / "dedupe.json").write_text(json.dumps(config))
    dolma(dataset, "-c", "dedupe.json", "dedupe")
    assert len(list(dataset.glob("attributes/dedupe/*/*.jsonl.gz"))) == 2
    report = check(dataset)
    assert not errors(report)
    if kind == "paragraphs":
        assert set(codes(report)) == {"DOL606"}
