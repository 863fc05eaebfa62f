"""A checkout without its data: pointers of Git LFS and Xet are named in every format, and never read as data."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import corpusfmt
from corpusfmt.model import BadInput, UsageError

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 123456\n" % (b"0123456789abcdef" * 4)
XET = b"# xet version 0\nfilesize = 123456\nhash = '0123456789abcdef'\n"
CARD = b"---\nlanguage: [de]\nconfigs:\n- config_name: default\n  data_files: data/*\n---\n# Corpus\n"


def checkout(root: Path, *paths: str, pointer: bytes = LFS, **more: bytes) -> Path:
    files = {"README.md": CARD, ".gitattributes": b"* filter=lfs\n", **more} | dict.fromkeys(paths, pointer)
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root


def found(root: Path) -> list[str]:
    findings = corpusfmt.validate(root).findings
    assert {each.code for each in findings if each.code.startswith("GEN")} == {"GEN105"}
    return sorted(each.location.path for each in findings if each.code == "GEN105")


@pytest.mark.parametrize("pointer", [LFS, XET], ids=["lfs", "xet"])
@pytest.mark.parametrize(
    "paths",
    [
        ["documents/a.jsonl.gz", "documents/b.jsonl.zst"],
        ["documents/a.jsonl.gz", "attributes/tags/a.jsonl.gz"],
        ["data/a.jsonl", "data/b.json.gz"],
        ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"],
        ["de.txt", "more/text.txt.xz"],
        ["de/de_part_1.txt.gz", "de/de_part_2.txt.gz"],
        ["de/de_part_1.txt.gz", "de/de_meta_part_1.jsonl.gz"],
        ["c4-de.tfrecord-00000-of-00001.json.gz"],
        ["data/a.csv", "data/b.arrow"],
        ["data/a.tsv", "more/b.csv.gz"],
    ],
    ids=lambda paths: paths[0],
)
def test_each_pointer_is_named(paths: list[str], pointer: bytes, tmp_path: Path) -> None:
    assert found(checkout(tmp_path / "corpus", *paths, pointer=pointer)) == sorted(paths)


def test_what_is_said(tmp_path: Path) -> None:
    for pointer, kind in ((LFS, "Git LFS"), (XET, "Xet")):
        (finding,) = corpusfmt.validate(checkout(tmp_path / kind, "data/a.parquet", pointer=pointer)).findings
        assert finding.message == f"the file is a pointer of {kind}, expected data"
        assert finding.hint == "run `git lfs pull`, or download the data"


def test_what_looks_almost_like_a_pointer_is_read(tmp_path: Path) -> None:
    root = tmp_path / "corpus"
    checkout(root, "data/a.txt", pointer=b"A page about Git LFS.\n" + LFS)
    checkout(root, "data/b.txt", pointer=b"Another page about Git LFS.\n" + LFS)
    (root / "data" / "c.txt").write_bytes(LFS + b"More text follows.\n" * 60)
    report = corpusfmt.validate(root)
    assert (report.verdict, report.findings, report.coverage.documents) == ("valid", [], 3)


def test_data_behind_a_description(tmp_path: Path) -> None:
    data = b'{"text": "One document"}\n'
    corpus = checkout(tmp_path / "corpus", **{"data.jsonl": data})
    described = corpusfmt.describe(corpus, name="corpus")
    (corpus / "croissant.json").write_text(json.dumps(described))
    assert hashlib.sha256(data).hexdigest() in json.dumps(described)
    (corpus / "data.jsonl").write_bytes(LFS)
    messages = {
        each.code: (each.message, each.hint)
        for each in corpusfmt.validate(corpus / "croissant.json", data=True).findings
    }
    assert messages["CRO601"] == (
        'distribution "data.jsonl": `data.jsonl` cannot be read: a pointer of Git LFS, expected data',
        "run `git lfs pull`, or download the data",
    )


def test_pointers_are_not_converted(tmp_path: Path) -> None:
    for number, path in enumerate(("data/a.parquet", "data/a.jsonl.gz", "de/de.txt.gz", "a.txt")):
        corpus = checkout(tmp_path / str(number), path)
        with pytest.raises(BadInput, match=r"GEN105 the file is a pointer of Git LFS, expected data"):
            corpusfmt.convert(corpus, tmp_path / "out", to="dolma", source_name="web", added="2024-01-01T00:00:00.000Z")


def test_a_card_without_data(tmp_path: Path) -> None:
    for name, more in {
        "alone": {},
        "code": {"load.py": b"1", "dataset_infos.json": b"{}", "docs/more.md": b"x"},
    }.items():
        report = corpusfmt.validate(checkout(tmp_path / name, **more))
        (finding,) = report.findings
        assert (finding.code, str(finding.location)) == ("GEN104", "README.md")
        assert finding.message == "the card has no data files next to it"
        assert report.verdict == "invalid"


def test_other_folders_are_still_not_recognised(tmp_path: Path) -> None:
    checkout(tmp_path / "csv", **{"data/a.csv": b"a,b\n"})
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/README.md").write_bytes(b"# No card\n")
    for name in ("csv", "plain"):
        with pytest.raises(UsageError, match="no known format recognises"):
            corpusfmt.validate(tmp_path / name)


def test_a_pointer_in_a_store(tmp_path: Path) -> None:
    import fsspec

    fsspec.filesystem("memory").pipe_file("/pointers/a.parquet", LFS)
    assert [each.code for each in corpusfmt.validate("memory://pointers").findings] == ["GEN105"]
