"""Repairs of corpora: checksum lists, names, what writers left. No text is touched."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from support import run_cli, tree, zstd
from test_fixtures import CASES, expected_of, input_of, name_of

import corpusfmt

LISTS = {"OSC201", "OSC202", "OSC203", "OSC204", "OSC206", "OSC207"}
CORPORA = [
    case
    for case in CASES
    if {"oscar", "dolma"} & set(case.parts)
    and (LISTS | {"DOL102", "DOL103", "DOL401"}) & {each["rule"] for each in expected_of(case)["findings"]}
]


@pytest.mark.parametrize("case", CORPORA, ids=name_of)
def test_what_is_repaired_is_not_found_again(case: Path, tmp_path: Path) -> None:
    path = tmp_path / "corpus"
    shutil.copytree(input_of(case), path)
    how = {name: value for name, value in expected_of(case)["arguments"].items() if name in ("format", "profile")}
    data = {name: content for name, content in tree(path).items() if not name.endswith("_sha256.txt")}
    fixed = corpusfmt.fix(path, **how)
    report = corpusfmt.validate(path, **how)
    assert not fixed.repaired.keys() & report.by_rule.keys()
    assert corpusfmt.fix(path, **how).changes == []
    after = {name: content for name, content in tree(path).items() if not name.endswith("_sha256.txt")}
    assert sorted(after.values()) == sorted(data.values())
    renamed = {change.path: change.to for change in fixed.changes if change.to}
    assert after == {renamed.get(name, name): content for name, content in data.items()}


def case_named(name: str) -> Path:
    return next(case for case in CORPORA if name_of(case) == name)


def test_a_digest_that_is_listed_stays(tmp_path: Path) -> None:
    """A list is repaired, not written anew: a file that was damaged since is still found."""
    path = tmp_path / "corpus"
    shutil.copytree(input_of(case_named("oscar/1.1/valid/one-space")), path)
    (listing,) = path.rglob("*_sha256.txt")
    wrong = b"0" * 64
    name = listing.read_bytes().split(b"\n")[0].split()[1]
    listing.write_bytes(wrong + b" " + name + b"\n")
    assert corpusfmt.fix(path).repaired.keys() == {"OSC207", "OSC204"}
    assert listing.read_bytes().startswith(wrong + b"  " + name + b"\n")
    assert "OSC205" in corpusfmt.validate(path).by_rule


def test_a_line_that_cannot_be_read_stays_until_its_removal_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "corpus"
    shutil.copytree(input_of(case_named("oscar/1.1/valid/one-space")), path)
    (listing,) = path.rglob("*_sha256.txt")
    lines = listing.read_bytes().splitlines(keepends=True)
    listing.write_bytes(b"".join([b"# written by hand\n", *lines, b"insert_hash_here"]))
    portable = [line.replace(b" ", b"  ") for line in lines]
    fixed = corpusfmt.fix(path)
    assert (set(fixed.repaired), fixed.unsafe) == ({"OSC207"}, {"OSC202": 1})
    assert listing.read_bytes() == b"".join([b"# written by hand\n", *portable, b"insert_hash_here\n"])
    assert corpusfmt.fix(path).changes == []
    assert corpusfmt.validate(path).by_rule["OSC202"] == 2
    listing.write_bytes(b"".join([b"# written by hand\n", *lines]))
    assert set(corpusfmt.fix(path, unsafe=True).repaired) == {"OSC202", "OSC207"}
    assert listing.read_bytes() == b"".join(portable)
    assert corpusfmt.fix(path, unsafe=True).changes == []


def test_a_list_that_is_missing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "corpus"
    shutil.copytree(input_of(case_named("oscar/1.1/invalid/no-list")), path)
    shown = run_cli("fix", "corpus", "--diff", cwd=tmp_path)
    assert shown.returncode == 1
    assert shown.stdout.startswith(b"--- /dev/null\n+++ b/corpus/af/af_sha256.txt\n@@ -0,0 +1,2 @@\n+")
    done = run_cli("fix", "corpus", cwd=tmp_path)
    assert (done.returncode, done.stdout.split(b"\n")[0]) == (0, b"changed corpus/af/af_sha256.txt")
    assert corpusfmt.fix(path, ignore=["OSC2"]).changes == []


def test_what_a_writer_left_is_removed_when_that_is_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    row = b'{"id":"1","text":"one","source":"a","added":"2024-01-01T00:00:00.000Z"}\n'
    (folder / "a.jsonl").write_bytes(row)
    (folder / "b.jsonl.tmp").write_bytes(row)
    assert corpusfmt.fix(tmp_path).unsafe == {"DOL103": 1}
    assert corpusfmt.fix(tmp_path, unsafe=True, ignore=["DOL103"]).changes == []
    assert sorted(tree(tmp_path)) == ["documents/a.jsonl", "documents/b.jsonl.tmp"]
    done = run_cli("fix", tmp_path, "--unsafe")
    assert done.stdout.startswith(f"removed {tmp_path}/documents/b.jsonl.tmp\n".encode())
    assert sorted(tree(tmp_path)) == ["documents/a.jsonl"]


def test_two_files_do_not_get_one_name(tmp_path: Path) -> None:
    folder = tmp_path / "d" / "documents"
    folder.mkdir(parents=True)
    for number, name in enumerate(("a.ndjson", "b.json.zstd", "c.ndjson.zst", "c.jsonl.zstd")):
        row = f'{{"id":"{number}","text":"one","source":"a","added":"2024-01-01T00:00:00.000Z"}}\n'.encode()
        (folder / name).write_bytes(zstd.compress(row) if "zst" in name else row)
    shown = run_cli("fix", "d", "--diff", cwd=tmp_path)
    assert (shown.returncode, shown.stdout.count(b"\nrename to ")) == (1, 3)
    subprocess.run(["git", "apply", "-"], input=shown.stdout, cwd=tmp_path, check=True)
    assert sorted(tree(tmp_path / "d")) == [
        f"documents/{name}" for name in ("a.jsonl", "b.json.zst", "c.jsonl.zst", "c.ndjson.zst")
    ]
    assert run_cli("fix", "d", "--diff", cwd=tmp_path).returncode == 0


def test_no_file_is_renamed_over_another(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    row = b'{"id":"1","text":"one","source":"a","added":"2024-01-01T00:00:00.000Z"}\n'
    for name in ("a.ndjson", "a.jsonl", "b.ndjson"):
        (folder / name).write_bytes(row)
    (folder / "b.jsonl").symlink_to("nowhere")
    with pytest.raises(corpusfmt.CorpusfmtError):
        corpusfmt.fix(tmp_path)
    assert sorted(each.name for each in folder.iterdir()) == ["a.jsonl", "a.ndjson", "b.jsonl", "b.ndjson"]
