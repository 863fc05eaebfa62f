"""Repairs of corpora: checksum lists, names, LF at the end, what writers left. No line of a text is touched."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support import gzipped, of_data, run_cli, tree, zstd
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
    assert (done.returncode, done.stdout.split(b"\n")[0]) == (0, b"wrote corpus/af/af_sha256.txt")
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


LINE = (
    "Niemand mag in slawerny of knegskap gehou word nie; slawerny en die slawehandel moet in alle vorme verbied word. "
)
TEXT = "\n\n".join(f"{LINE}{n}a\n{LINE}{n}b" for n in range(20)) + "\n"


def unportable(root: Path) -> Path:
    """Write OSCAR 1.0 with one space between digest and name in its checksum list."""
    folder = root / "c" / "af"
    folder.mkdir(parents=True)
    data = gzipped(TEXT.encode())
    (folder / "af.txt.gz").write_bytes(data)
    (folder / "af_sha256.txt").write_text(f"{hashlib.sha256(data).hexdigest()} af.txt.gz\n")
    return root / "c"


PACKED: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "": (bytes, bytes), ".gz": (gzipped, gzip.decompress), ".zst": (zstd.compress, zstd.decompress),
}  # fmt: skip


@pytest.mark.parametrize(("suffix", "tail"), [("", 1), (".gz", 21), (".zst", 10)])
def test_rows_get_lf_at_their_end_and_no_byte_before_it_changes(suffix: str, tail: int, tmp_path: Path) -> None:
    rows = b'{"id":"1","text":"one","source":"a","added":"2024-01-01T00:00:00.000Z"}'
    path = tmp_path / "documents" / f"a.jsonl{suffix}"
    path.parent.mkdir()
    packed = PACKED[suffix][0](rows)
    path.write_bytes(packed)
    assert corpusfmt.validate(tmp_path).by_rule == {"DOL110": 1}
    fixed = corpusfmt.fix(tmp_path)
    assert [(each.path, each.note) for each in fixed.changes] == [
        (f"documents/a.jsonl{suffix}", "LF appended; what was there before stays, byte by byte")
    ]
    data = path.read_bytes()
    assert (data[:-tail], data[-tail:] != b"") == (packed, True)
    assert PACKED[suffix][1](data) == rows + b"\n"
    assert corpusfmt.validate(tmp_path).by_rule == {}
    assert corpusfmt.fix(tmp_path).changes == []


def test_half_a_row_is_not_ended(tmp_path: Path) -> None:
    path = tmp_path / "documents" / "a.jsonl"
    path.parent.mkdir()
    path.write_bytes(b'{"id":"1","text":"one","source":"a"}\n{"id":"2","te')
    assert "DOL110" not in corpusfmt.validate(tmp_path).by_rule
    assert corpusfmt.fix(tmp_path).changes == []


def test_a_file_is_ended_and_renamed_at_once(tmp_path: Path) -> None:
    path = tmp_path / "documents" / "a.ndjson"
    path.parent.mkdir()
    path.write_bytes(b'{"id":"1","text":"one","source":"a","added":"2024-01-01T00:00:00.000Z"}')
    assert corpusfmt.fix(tmp_path).repaired == {"DOL110": 1, "DOL102": 1}
    assert [*tree(tmp_path)] == ["documents/a.jsonl"]
    assert corpusfmt.fix(tmp_path).changes == []


def test_what_writers_of_oscar_left_is_removed_at_once_if_it_is_empty(tmp_path: Path) -> None:
    corpus = unportable(tmp_path)
    for name, data in {
        "af.txt.gz.tmp": b"half",
        "af_meta.jsonl.gz.part": b"",
        ".corpusfmt-1f.partial": b"x" * 2_000_000,
    }.items():
        (corpus / "af" / name).write_bytes(data)
    (corpus / "x.txt.gz.tmp").write_bytes(b"half")
    fixed = corpusfmt.fix(corpus, select=["OSC1"])
    assert ([each.path for each in fixed.changes], fixed.unsafe) == (
        ["af/af_meta.jsonl.gz.part"],
        {"OSC108": 2, "OSC109": 1},
    )
    shown = run_cli("fix", "c", "--diff", "--unsafe", "--select", "OSC109", cwd=tmp_path)
    left = b"c/af/.corpusfmt-1f.partial"
    assert shown.stdout == b"diff --git a/" + left + b" b/" + left + b"\ndeleted file mode 100644\n"
    corpusfmt.fix(corpus, unsafe=True)
    assert sorted(tree(corpus)) == ["af/af.txt.gz", "af/af_sha256.txt"]
    assert corpusfmt.validate(corpus).by_rule == {}


def test_a_sealed_release_says_what_to_write_again(tmp_path: Path) -> None:
    corpus = unportable(tmp_path)
    for command in (("describe", "c", "-o", "c/croissant.json"), ("seal", "c")):
        assert run_cli(*command, cwd=tmp_path).returncode == 0
    done = run_cli("fix", "c", cwd=tmp_path)
    assert done.stderr.endswith(
        b"\ncroissant.json and MANIFEST.json list the files as they were: afterwards run "
        b"`corpusfmt fix c/croissant.json --data --unsafe`, then `corpusfmt seal c`\n"
    )
    report = corpusfmt.validate(corpus)
    assert {each.code for each in of_data(report)} == {"MAN204"}
    assert {each.code for each in report.findings if each.severity == "error"} == {"MAN204"}
    for command in (("fix", "c/croissant.json", "--data", "--unsafe"), ("seal", "c")):
        run_cli(*command, cwd=tmp_path)
    report = corpusfmt.validate(corpus)
    assert (of_data(report), report.verdict) == ([], "valid")
    assert "MANIFEST.json" not in run_cli("fix", "c", cwd=tmp_path).stderr.decode()
