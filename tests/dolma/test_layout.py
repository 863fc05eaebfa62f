"""Kinds of paths, the files found below them, and effects of the file system."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import fsspec
import pytest
from dolma.corpus import Files, attributes, check, codes, documents, encoded, packed, write

import corpusfmt
from corpusfmt.formats import CheckOptions, detect
from corpusfmt.formats.dolma.format import FORMAT
from corpusfmt.io.paths import entry_of
from corpusfmt.model import UsageError

ROWS = documents(3)
TAGS = attributes(ROWS)
MORE = documents(3, start=10)


def dataset() -> Files:
    return {
        "documents/x/a.jsonl.gz": encoded(ROWS),
        "documents/y/a.jsonl.gz": encoded(MORE),
        "attributes/pii/x/a.jsonl.gz": encoded(TAGS),
        "attributes/pii/y/a.jsonl.gz": encoded(attributes(MORE)),
        "attributes/exp/lang/x/a.jsonl.gz": encoded(attributes(ROWS, "lang")),
        "attributes/exp/lang/y/a.jsonl.gz": encoded(attributes(MORE, "lang")),
    }


def test_a_dataset_by_any_of_its_paths(tmp_path: Path) -> None:
    root = write(tmp_path / "set", dataset())
    expected = {
        "": {"documents/x/a.jsonl.gz", "attributes/pii/x/a.jsonl.gz", "attributes/exp/lang/x/a.jsonl.gz"},
        "documents": {"x/a.jsonl.gz", "../attributes/pii/x/a.jsonl.gz", "../attributes/exp/lang/x/a.jsonl.gz"},
        "attributes": {"../documents/x/a.jsonl.gz", "pii/x/a.jsonl.gz", "exp/lang/x/a.jsonl.gz"},
    }
    for path, files in expected.items():
        plan = FORMAT.plan(entry_of(str(root / path)), CheckOptions())
        assert {entry.path for entry in plan.shards[0].files.values()} == files
        assert len(plan.shards) == 2
        assert [sorted(shard.files) for shard in plan.shards] == [
            ["attributes/exp/lang", "attributes/pii", "documents"]
        ] * 2
        assert check(root / path).verdict == "valid"


@pytest.mark.parametrize("path", ["documents/x/a.jsonl.gz", "attributes/pii/x/a.jsonl.gz"])
def test_one_file_of_a_dataset_brings_its_shard(path: str, tmp_path: Path) -> None:
    files = dataset()
    del files["attributes/pii/y/a.jsonl.gz"]
    root = write(tmp_path, files)
    plan = FORMAT.plan(entry_of(str(root / path)), CheckOptions())
    assert [sorted(shard.files) for shard in plan.shards] == [["attributes/exp/lang", "attributes/pii", "documents"]]
    report = check(root / path)
    assert (report.verdict, report.coverage.documents) == ("valid", 3)
    assert codes(check(root / "documents/y/a.jsonl.gz")) == ["DOL401"]


@pytest.mark.parametrize(
    "name", ["a.jsonl", "a.json", "a.jsonl.gz", "a.json.gz", "a.jsonl.zst", "a.json.zst", "a.ndjson.gz"]
)
def test_one_file_alone(name: str, tmp_path: Path) -> None:
    root = write(tmp_path, {name: encoded(ROWS)})
    report = check(root / name)
    assert report.coverage.documents == 3
    assert codes(report) == (["DOL102"] if "ndjson" in name else [])


def test_sources_side_by_side_pair_within_themselves(tmp_path: Path) -> None:
    files = {f"{source}/{path}": data for source in ("c4", "wiki") for path, data in dataset().items()}
    for path in [path for path in files if path.startswith("wiki/")]:
        files[path] = files[path].replace(b'"web"', b'"wiki"')
    plan = FORMAT.plan(entry_of(str(write(tmp_path, files))), CheckOptions())
    assert len(plan.shards) == 4
    assert all(len({entry.path.split("/")[0] for entry in shard.files.values()}) == 1 for shard in plan.shards)
    assert check(tmp_path).verdict == "valid"


def test_a_set_that_lost_the_folder_which_all_files_share(tmp_path: Path) -> None:
    """`dolma tag` drops the folder that all documents share; the mixer then finds no attributes, and says nothing."""
    files = {f"documents/all/{name}.jsonl.gz": encoded(documents(2, start=at)) for name, at in (("a", 0), ("b", 5))}
    files |= {path.replace("documents/all", "attributes/pii"): data for path, data in files.items()}
    report = check(write(tmp_path, files))
    assert codes(report) == ["DOL401", "DOL401"]
    assert "attributes/pii/all/a.jsonl.gz" in report.findings[0].message
    assert report.findings[0].hint == "move `attributes/pii/a.jsonl.gz` there"


@pytest.mark.parametrize(
    "suffix", [".json", ".ndjson", ".ndjson.gz", ".ndjson.zst", ".jsonl.zstd", ".json.zstd", ".gz", ".zst", ".zstd"]
)
def test_attributes_of_another_suffix_than_their_documents_are_found(suffix: str, tmp_path: Path) -> None:
    files = {"documents/x/a.jsonl.gz": encoded(ROWS), f"attributes/pii/x/a{suffix}": encoded(TAGS)}
    (finding, *_) = [each for each in check(write(tmp_path, files)).findings if each.code == "DOL401"]
    assert finding.location.path == "documents/x/a.jsonl.gz"
    assert finding.hint == f"move `attributes/pii/x/a{suffix}` there"


@pytest.mark.parametrize(("count", "named"), [(2, "`a`, `b`"), (3, "`a`, `b`, `c`"), (4, "`a`, `b`, `c`, …")])
def test_a_documents_file_that_is_lost_is_told_with_three_of_its_sets(count: int, named: str, tmp_path: Path) -> None:
    files = {"documents/x.jsonl": encoded(MORE)} | {
        f"attributes/{name}/x.jsonl": encoded(attributes(MORE, name)) for name in "abcd"[:count]
    }
    files |= {f"attributes/{name}/y/lost.jsonl": encoded(attributes(ROWS, name)) for name in "abcd"[:count]}
    (finding,) = check(write(tmp_path, files)).findings
    assert (finding.code, finding.location.path) == ("DOL109", "documents/y/lost.jsonl")
    assert finding.message == f"the file is missing, and {count} attribute sets have its attributes: {named}"


def test_a_remote_dataset(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    for path, data in dataset().items():
        memory.pipe(f"/corpus/{path}", packed(path, data))
    try:
        assert check("memory://corpus").verdict == "valid"
        assert check("memory://corpus/documents").coverage.shards_seen == 2
        report = check("memory://corpus/documents/x/a.jsonl.gz")
        assert (report.verdict, report.coverage.documents) == ("valid", 3)
    finally:
        memory.rm("/corpus", recursive=True)


def test_what_is_claimed_as_dolma(tmp_path: Path) -> None:
    write(tmp_path / "set", dataset())
    write(tmp_path / "flat", {"README.md": b"", "croissant.json": b"{}", "part.jsonl.zst": encoded(ROWS)})
    write(tmp_path / "other", {"meta.jsonl": b'{"offset": 0}\n', "x.json": b"[]", "y.json": b"", "z.jsonl": b"\xff{"})
    for name in ("set", "set/documents/x", "flat", "flat/part.jsonl.zst"):
        found, detection = detect(entry_of(str(tmp_path / name)))
        assert (found.name, detection.version) == ("dolma", "1.0")
    for name in ("other", "other/meta.jsonl", "other/x.json", "other/y.json", "other/z.jsonl", "flat/croissant.json"):
        assert FORMAT.detect(entry_of(str(tmp_path / name))) is None


def test_a_first_row_of_any_length_is_claimed(tmp_path: Path) -> None:
    wide = b'{"id": "1", "text": "' + b"x" * 10_000_000 + b'"}\n'
    found, _ = detect(entry_of(str(write(tmp_path, {"part.jsonl": wide}))))
    assert found.name == "dolma"


@pytest.mark.skipif(os.name == "nt", reason="sockets and permissions are those of POSIX")
def test_what_is_no_file(tmp_path: Path) -> None:
    root = write(tmp_path, dataset())
    for name, target in {"dangling.jsonl.gz": "nowhere", "loop.jsonl.gz": "loop.jsonl.gz", "x/up": ".."}.items():
        (root / "documents" / name).symlink_to(target)
    (root / "documents" / "folder.jsonl.gz").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(root / "documents")  # the name of a socket has at most some 100 bytes
        try:
            server.bind("socket.jsonl.gz")
        finally:
            os.chdir(here)
        report = check(root)
    names = {finding.location.path for finding in report.findings}
    assert names == {f"documents/{name}.jsonl.gz" for name in ("dangling", "loop", "socket")}
    assert set(codes(report)) == {"GEN001"}
    assert report.verdict == "incomplete"


@pytest.mark.skipif(os.name == "nt", reason="links are those of POSIX")
def test_attributes_that_cannot_be_had_are_told_where_one_file_is_asked_for(tmp_path: Path) -> None:
    root = write(tmp_path, dataset())
    for path in ("attributes/pii/y/a.jsonl.gz", "documents/y/a.jsonl.gz"):
        (root / path).unlink()
        (root / path).symlink_to("nowhere")
    found = check(root / "documents/x/a.jsonl.gz").findings
    assert [(each.code, each.location.path) for each in found] == [("GEN001", "../../attributes/pii/y/a.jsonl.gz")]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may read everything")
def test_what_may_not_be_read(tmp_path: Path) -> None:
    root = write(tmp_path, dataset())
    (root / "documents/x/a.jsonl.gz").chmod(0)
    (root / "attributes/exp").chmod(0)
    try:
        report = check(root)
    finally:
        (root / "attributes/exp").chmod(0o755)
    assert {finding.location.path for finding in report.findings} == {"documents/x/a.jsonl.gz", "attributes/exp"}
    assert set(codes(report)) == {"GEN001"}


def test_a_file_that_vanishes_while_it_is_checked(tmp_path: Path) -> None:
    root = write(tmp_path, dataset())
    plan = FORMAT.plan(entry_of(str(root)), CheckOptions())
    (root / "attributes/pii/x/a.jsonl.gz").unlink()
    result = FORMAT.check(plan.shards[0], CheckOptions())
    assert [finding.code for finding in result.tally.findings] == ["GEN001"]
    assert result.coverage.documents == 3
    assert "DOL501" in result.coverage.rules_not_run


def test_a_missing_path_is_the_callers_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        corpusfmt.validate(tmp_path / "nowhere", format="dolma")


@pytest.mark.parametrize("base", ["", "wiki/", "wiki/en/"])
def test_an_attribute_set_that_is_an_empty_folder(base: str, tmp_path: Path) -> None:
    write(tmp_path, {f"{base}documents/a.jsonl": encoded(documents(1))})
    (tmp_path / base / "attributes/qa/deep").mkdir(parents=True)
    (tmp_path / base / "attributes/.cache").mkdir()
    report = check(tmp_path)
    assert [(each.code, each.location.path) for each in report.findings] == [("DOL410", f"{base}attributes/qa")]


@pytest.mark.parametrize(
    ("path", "found", "rows"),
    [("documents/a.jsonl", [], 3), ("attributes/pii/a.jsonl", ["DOL108", "DOL402"], 0)],
)
def test_one_side_of_a_dataset_without_the_other(path: str, found: list[str], rows: int, tmp_path: Path) -> None:
    write(tmp_path, {path: encoded(ROWS if rows else TAGS)})
    report = check(tmp_path / path.partition("/")[0])
    assert (codes(report), report.coverage.documents) == (found, rows)


def test_the_end_of_a_span_in_lower_case(tmp_path: Path) -> None:
    row = {"id": "1", "text": "İstanbul İzmir", "source": "web"}
    spans = {"id": "1", "attributes": {"a": [[0, len("İstanbul İzmir".lower()), 1.0]]}, "source": "web"}
    write(tmp_path, {"documents/a.jsonl": encoded([row]), "attributes/c4/a.jsonl": encoded([spans])})
    (finding,) = check(tmp_path).findings
    assert finding.code == "DOL604"
    assert "in lower case, where `İ` becomes two code points" in finding.hint


def test_attributes_alone(tmp_path: Path) -> None:
    rows = [
        {"id": "1", "attributes": {"a__b__c": [[5, 9, 1.0]]}},
        {"id": "2", "attributes": {"a__b__c": [[9, 5, 1.0]]}},
    ]
    write(tmp_path, {"part-0.jsonl.gz": encoded(rows)})
    path = tmp_path / "part-0.jsonl.gz"
    fmt, detection = detect(entry_of(str(path)))
    assert (fmt.name, detection.evidence) == ("dolma", "rows with an id and attributes, without a text")
    report = corpusfmt.validate(path)
    assert [(finding.code, finding.location.line) for finding in report.findings] == [("DOL605", 2)]
    reason = "needs the documents of part-0.jsonl.gz"
    assert report.coverage.gaps == {("part-0.jsonl.gz", "attributes", reason): 1}
    assert corpusfmt.validate(path, format="dolma").by_rule == report.by_rule
    with pytest.raises(UsageError, match="name the dataset that it belongs to"):
        corpusfmt.convert(path, tmp_path / "out", to="dolma")


def test_a_remote_folder_may_be_called_anything() -> None:
    store = fsspec.filesystem("memory")
    rows = {"documents": {"id": "1", "text": "t", "source": "s"}, "attributes/pii": {"id": "1", "attributes": {}}}
    for folder, row in rows.items():
        store.pipe(f"/anyX/{folder}/enX/a.jsonl", json.dumps(row).encode() + b"\n")
    for place in ("", "/documents", "/documents/enX", "/documents/enX/a.jsonl"):
        report = corpusfmt.validate(f"memory://anyX{place}", format="dolma")
        assert (place, report.by_rule, report.coverage.bytes) == (place, {}, 70)
