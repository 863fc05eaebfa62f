"""The profile `hub` says of generated folders what `datasets` does with them (`make hub`)."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
from hub.folders import Files, folders, write
from hub.load import shown
from hub.loader import MEMORY, loaded, needs_datasets
from hub.test_outputs import content, same

import corpusfmt

#: What each folder gives: its name, what `datasets` does, our verdict and the codes of our findings.
VERDICTS = Path(__file__).with_name("verdicts.tsv")


def expected(root: Path) -> list[dict[str, Any]]:
    """Return the documents of a folder by id."""
    found = [shown(row) for path in root.glob("data/*.parquet") for row in pq.read_table(path).to_pylist()]
    for path in (*root.glob("documents/**/*.jsonl*"), *root.glob("documents/**/*.JSONL")):
        found += map(json.loads, content(path).split("\n")[:-1])
    return sorted(found, key=lambda row: str(row["id"]))


def done(root: Path, answer: dict[str, Any]) -> str:
    """Return what `datasets` did with a folder."""
    if "error" in answer:
        return f"fails ({answer['error']})"
    found = [row for split in answer["configs"][""].values() for row in split]
    found.sort(key=lambda row: str(row.get("id")))
    documents = expected(root)
    return "unchanged" if len(found) == len(documents) and all(map(same, found, documents)) else "changed"


def judged(cases: dict[str, Files]) -> list[tuple[str, str, str, list[str]]]:
    """Return of each folder its name, what `datasets` did, our verdict, and the codes of our findings."""
    found = []
    with TemporaryDirectory(dir=MEMORY) as work:
        roots = [write(files, Path(work) / str(number)) for number, files in enumerate(cases.values())]
        for name, root, answer in zip(cases, roots, loaded(roots), strict=True):
            report = corpusfmt.validate(root, profile="hub")
            codes = sorted(code for code in report.by_rule if code.startswith("HUB"))
            found.append((name, done(root, answer), report.verdict.value, codes))
    return found


@needs_datasets
def test_verdicts_match_what_datasets_does() -> None:
    found = judged(folders())
    wrong = [each for each in found if (each[1] == "unchanged") != (each[2] == "valid")]
    assert len(found) >= 100
    assert len(wrong) <= len(found) // 100, wrong
    table = [f"{name}\t{did.partition(' (')[0]}\t{', '.join([said, *codes])}" for name, did, said, codes in found]
    assert sorted(VERDICTS.read_text("utf-8").split("\n")[1:-1]) == sorted(table)
