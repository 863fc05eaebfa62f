"""The content of a manifest, the commands that write it, and that readers verify it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support import SAMPLE, run_cli, tree

import corpusfmt
from corpusfmt._resources import resource
from corpusfmt.formats import formats
from corpusfmt.manifest.rules import RULES as MANIFEST_RULES
from corpusfmt.model import BadInput, UsageError

NAME = "MANIFEST.json"
Json = dict[str, Any]


def manifest_of(root: Path) -> Json:
    found: Json = json.loads((root / NAME).read_bytes())
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "corpus"
    corpusfmt.build(SAMPLE / "commoncrawl-one-record.warc.wet.gz", folder)
    return folder


@pytest.fixture
def corpus(built: Path, tmp_path: Path) -> Path:
    """A corpus that a test may change."""
    shutil.copytree(built, tmp_path / "corpus")
    return tmp_path / "corpus"


def found(root: Path) -> list[tuple[str, str]]:
    return [(each.code, each.location.path) for each in corpusfmt.validate(root).findings if each.severity == "error"]


def test_a_manifest_lists_every_file_and_follows_its_schema(built: Path) -> None:
    manifest = manifest_of(built)
    schema = json.loads(resource("schemas", "manifest/manifest.schema.json").read_bytes())
    jsonschema.Draft202012Validator(schema).validate(manifest)
    files = {path: data for path, data in tree(built).items() if path != NAME}
    assert {path: (each["size"], each["sha256"]) for path, each in manifest["files"].items()} == {
        path: (len(data), hashlib.sha256(data).hexdigest()) for path, data in files.items()
    }
    assert {each["role"] for each in manifest["files"].values()} == {
        "card", "checksums", "description", "metadata", "statistics", "text",
    }  # fmt: skip
    documents = corpusfmt.validate(built).coverage.documents
    assert manifest["tree"]["documents"] == sum(each.get("documents", 0) for each in manifest["files"].values())
    assert manifest["tree"]["documents"] == documents > 0


def test_a_manifest_names_the_rules_of_its_format(built: Path, tmp_path: Path) -> None:
    known = {rule.code: rule for rule in (*MANIFEST_RULES, *formats()["oscar"].rules)}
    grades = {code: rule.severity_for(version="1.1") for code, rule in sorted(known.items())}
    lines = [f"{code} {grade}\n" for code, grade in grades.items() if grade]
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    assert manifest_of(built)["rules"] == {"count": len(lines), "sha256": digest}
    corpusfmt.convert(built, tmp_path / "older", to="oscar-1.0", on_loss="allow")
    assert manifest_of(tmp_path / "older")["rules"] != manifest_of(built)["rules"]
    corpusfmt.build(SAMPLE / "commoncrawl-one-record.warc.wet.gz", tmp_path / "plain", recipe="goclassy-2019")
    assert "rules" not in manifest_of(tmp_path / "plain")


@pytest.mark.skipif(not shutil.which("sha256sum"), reason="needs sha256sum")
def test_the_tree_digest_is_what_common_tools_compute(built: Path) -> None:
    command = f"find . -type f ! -name {NAME} -printf '%P\\n' | LC_ALL=C sort | xargs sha256sum | sha256sum"
    printed = subprocess.run(command, shell=True, cwd=built, check=True, capture_output=True).stdout
    assert printed.decode().split()[0] == manifest_of(built)["tree"]["sha256"]


@pytest.mark.parametrize("target", ["oscar-1.0", "dolma", "parquet", "jsonl"])
def test_a_conversion_is_sealed_and_seals_nothing_of_where_it_was_made(
    target: str, built: Path, tmp_path: Path
) -> None:
    for name in ("one", "another/folder"):
        corpusfmt.convert(built, tmp_path / name, to=target, on_loss="allow")
    assert tree(tmp_path / "one") == tree(tmp_path / "another/folder")
    manifest = manifest_of(tmp_path / "one")
    assert {each["name"]: each["sha256"] for each in manifest["inputs"]}.items() <= {
        path: each["sha256"] for path, each in manifest_of(built)["files"].items()
    }.items()
    assert manifest["inputs"]
    before = tree(tmp_path / "one")
    corpusfmt.seal(tmp_path / "one")
    assert tree(tmp_path / "one") == before


def test_a_corpus_with_a_card_of_its_owner_keeps_what_it_was_made_of(corpus: Path) -> None:
    (corpus / "README.md").write_text("# A corpus\n")
    assert found(corpus) == [("MAN205", "README.md")]
    report = corpusfmt.seal(corpus)
    assert found(corpus) == []
    manifest = manifest_of(corpus)
    assert manifest["files"]["README.md"]["role"] == "card"
    assert manifest["inputs"][0]["name"] == "commoncrawl-one-record.warc.wet.gz"
    assert report.results["tree"] == manifest["tree"]


def test_documents_that_changed_are_not_said_to_be_made_of_the_same(corpus: Path, tmp_path: Path) -> None:
    corpusfmt.convert(corpus, tmp_path / "rows", to="dolma")
    path = next((tmp_path / "rows").glob("documents/*/*"))
    path.write_bytes(path.read_bytes() + path.read_bytes())
    corpusfmt.seal(tmp_path / "rows")
    assert "inputs" not in manifest_of(tmp_path / "rows")


def test_what_cannot_be_sealed(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        corpusfmt.seal(corpus / NAME)
    with pytest.raises(UsageError, match="expected a local path"):
        corpusfmt.seal("s3://bucket/corpus")
    (corpus / "a\\b.md").write_text("")
    with pytest.raises(UsageError, match="has a control character or a backslash: rename the file"):
        corpusfmt.seal(corpus)
    not_utf8 = (corpus / "a\\b.md").rename(corpus / os.fsdecode(b"\xff.md"))
    with pytest.raises(UsageError, match=r"`\\xff.md` is not UTF-8: rename the file"):
        corpusfmt.seal(corpus)
    not_utf8.unlink()
    (corpus / "LICENSE").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadInput):
        corpusfmt.seal(corpus)
    (corpus / "LICENSE").unlink()
    for name in (NAME, "MANIFEST.provenance.json", "MANIFEST.verification.json", "model.sig"):
        (corpus / name).unlink(missing_ok=True)
        (corpus / name).mkdir()
        before = tree(corpus)
        with pytest.raises(UsageError, match=f"{name} is a folder, expected a file: rename it"):
            corpusfmt.seal(corpus, attest=True)
        assert tree(corpus) == before
        (corpus / name).rmdir()
    (corpus / ".corpusfmt").mkdir()
    (corpus / ".corpusfmt/run").write_text("x")
    with pytest.raises(UsageError, match="holds an unfinished run"):
        corpusfmt.seal(corpus)


def test_a_sample_is_not_said_to_have_changed(corpus: Path, tmp_path: Path) -> None:
    corpusfmt.convert(corpus, tmp_path / "rows", to="dolma")
    (tmp_path / "rows/croissant.json").unlink()
    for number in range(4):
        row = {"id": f"x{number}", "text": "a text", "source": "s", "added": "2024-01-01"}
        (tmp_path / f"rows/documents/{number}.jsonl").write_text(json.dumps(row) + "\n")
    corpusfmt.seal(tmp_path / "rows")
    report = corpusfmt.validate(tmp_path / "rows", sample=0.01)
    assert (report.counts["error"], report.coverage.sampled) == (0, True)


def edited(edit: Callable[[Json], object]) -> Callable[[bytes], bytes]:
    def change(data: bytes) -> bytes:
        manifest = json.loads(data)
        edit(manifest)
        return json.dumps(manifest).encode()

    return change


def entries(count: int) -> Callable[[bytes], bytes]:
    """Return a change to a manifest of so many files that are not there."""
    entry = '{"size":0,"sha256":"' + "0" * 64 + '"}'
    listed = ",".join(f'"f/{number}":{entry}' for number in range(count))
    return lambda _: (
        f'{{"schema":"corpusfmt-manifest/1","tree":{{"sha256":"{"0" * 64}","files":0,"bytes":0,"documents":0}},'
        f'"files":{{{listed}}}}}'
    ).encode()


HOSTILE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _: b"", "MAN101"),
    "not UTF-8": (lambda _: b"\xff{}", "MAN101"),
    "a list": (lambda _: b"[]", "MAN101"),
    "null": (lambda _: b"null", "MAN101"),
    "cut": (lambda data: data[: len(data) // 2], "MAN101"),
    "deep": (lambda _: b"[" * 100_000, "MAN101"),
    "a number without end": (lambda data: data.replace(b'"size": ', b'"size": 1e999', 1), "MAN101"),
    "a negative size": (edited(lambda each: each["files"]["stats.md"].update(size=-1)), "MAN101"),
    "a digest in capitals": (edited(lambda each: each["files"]["stats.md"].update(sha256="A" * 64)), "MAN101"),
    "no files": (edited(lambda each: each.pop("files")), "MAN101"),
    "files in a list": (edited(lambda each: each.update(files=[])), "MAN101"),
    "no tree": (edited(lambda each: each.pop("tree")), "MAN101"),
    "another schema": (edited(lambda each: each.update(schema="x")), "MAN101"),
    "schema is no text": (edited(lambda each: each.update(schema=1)), "MAN101"),
    "later schema": (edited(lambda each: each.update(schema="corpusfmt-manifest/99")), "MAN102"),
    "up": (edited(lambda each: each["files"].update({"a/../../x": each["files"]["stats.md"]})), "MAN103"),
    "absolute": (edited(lambda each: each["files"].update({"/x": each["files"]["stats.md"]})), "MAN103"),
    "drive": (edited(lambda each: each["files"].update({"C:/x": each["files"]["stats.md"]})), "MAN103"),
    "backslash": (edited(lambda each: each["files"].update({"a\\x": each["files"]["stats.md"]})), "MAN103"),
    "line end": (edited(lambda each: each["files"].update({"a\nVALID": each["files"]["stats.md"]})), "MAN103"),
    "no name": (edited(lambda each: each["files"].update({"": each["files"]["stats.md"]})), "MAN103"),
    "itself": (edited(lambda each: each["files"].update({NAME: each["files"]["stats.md"]})), "MAN103"),
    "a name twice": (lambda data: data.replace(b'"stats.md": {', b'"stats.md": {}, "stats.md": {'), "MAN104"),
    "one entry less": (edited(lambda each: each["files"].pop("stats.md")), "MAN203"),
    "too many entries": (entries(400_000), "MAN101"),
    "many entries": (entries(20_000), "MAN202"),
    "excludes all": (edited(lambda each: each.update(unlisted=["**"], files={})), "MAN203"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_manifest_is_a_finding(name: str, corpus: Path) -> None:
    change, code = HOSTILE[name]
    (corpus / NAME).write_bytes(change((corpus / NAME).read_bytes()))
    report = corpusfmt.validate(corpus)
    assert code in report.by_rule
    assert "GEN000" not in report.by_rule
    assert report.verdict is corpusfmt.Verdict.INVALID


def test_folders_without_end_in_a_name_take_no_memory(corpus: Path) -> None:
    entry = {"size": 1, "sha256": "0" * 64}
    change = edited(lambda each: each["files"].update({"a/" * 15_000 + "x": entry}))
    (corpus / NAME).write_bytes(change((corpus / NAME).read_bytes()))
    tracemalloc.start()
    try:
        report = corpusfmt.verify(corpus)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert report.by_rule["MAN201"] == 1
    assert most < 128 * 1024 * 1024


@pytest.mark.parametrize("size", ["9" * 5_000 + " B", "1 B"])
def test_a_described_size_is_compared_whatever_its_digits(size: str, corpus: Path) -> None:
    path = corpus / "croissant.json"
    description = json.loads(path.read_bytes())
    described = next(each for each in description["distribution"] if each["contentUrl"] in manifest_of(corpus)["files"])
    del described["sha256"]
    for said in (f"00{described['contentSize']}", size):
        described["contentSize"] = said
        path.write_text(json.dumps(description))
        differs = corpusfmt.seal(corpus).by_rule.get("MAN303", 0)
        assert differs == (said == size)


def test_a_manifest_that_leads_elsewhere_is_not_followed(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes((corpus / NAME).read_bytes())
    (corpus / NAME).unlink()
    (corpus / NAME).symlink_to(tmp_path / NAME)
    assert {code for code, _ in found(corpus)} == {"GEN002"}


def test_rules_of_manifests_are_graded_like_all_others(corpus: Path) -> None:
    (corpus / "stats.md").write_text("")
    assert corpusfmt.validate(corpus, select=["MAN"]).by_rule == {"MAN205": 1}
    ignored = corpusfmt.validate(corpus, ignore=["release-file-truncated"])
    assert (ignored.verdict.value, ignored.suppressed[0]["count"]) == ("valid", 1)


def test_the_command_seals(corpus: Path) -> None:
    done = run_cli("seal", corpus)
    tree_digest = manifest_of(corpus)["tree"]["sha256"]
    assert (done.returncode, done.stderr) == (0, b"")
    assert f"tree sha256:{tree_digest}" in done.stdout.decode()
