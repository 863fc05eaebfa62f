"""The profile `hub` says of generated folders what `datasets` does with them (`make hub`)."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
from hub.folders import Files, folders, shapes, write
from hub.load import shown
from hub.loader import MEMORY, loaded, needs_datasets
from hub.test_outputs import content, same
from support import zstd

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


def _is_unchanged(root: Path, answer: dict[str, Any]) -> bool:
    """Return whether `datasets` loads a folder, and the rows are those of its files, unless these have no types."""
    if "error" in answer:
        return False
    rows: list[Any] = [row for path in root.glob("data/*.parquet") for row in pq.read_table(path).to_pylist()]
    try:
        rows += [json.loads(line) for path in root.glob("data/*.jsonl*") for line in content(path).split("\n")[:-1]]
    except (EOFError, zstd.ZstdError):
        return False  # some versions load what there is of a file that is cut
    found = [row for split in answer["configs"][""].values() for row in split]
    return not rows or sorted(map(json.dumps, rows)) == sorted(map(json.dumps, found))


@needs_datasets
def test_a_shape_is_valid_if_datasets_loads_it() -> None:
    cases = dict(shapes())
    assert len(cases) == 240
    with TemporaryDirectory(dir=MEMORY) as work:
        roots = [write(files, Path(work) / str(number)) for number, files in enumerate(cases.values())]
        loads = [_is_unchanged(root, answer) for root, answer in zip(roots, loaded(roots), strict=True)]
        reports = [corpusfmt.validate(root, profile="hub") for root in roots]
    found = [(name, does, report.verdict.value) for name, does, report in zip(cases, loads, reports, strict=True)]
    assert not [each for each in found if each[1] and each[2] != "valid"]
    wrong = [each for each in found if each[1] != (each[2] == "valid")]
    assert len(wrong) <= len(found) // 100, wrong
