"""Local copies of what a description only refers to: repositories, files on the web, members of archives."""

from __future__ import annotations

import io
import json
import os
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from croissant.documents import document
from support import run_cli

import corpusfmt
from corpusfmt.model import UsageError

Json = dict[str, Any]
TABLE = b"id\n1\n2\nthree\n"


def column(record_set: str, **source: Json) -> Json:
    field: Json = {"@type": "cr:Field", "@id": f"{record_set}/id", "dataType": "sc:Integer"}
    field["source"] = {**source, "extract": {"column": "id"}}
    return {"@type": "cr:RecordSet", "@id": record_set, "field": [field]}


def described(folder: Path, url: str = "https://huggingface.co/datasets/a/b") -> Path:
    """Return the path of a description like those of the Hub: a repository with tables, and an archive in it."""
    kind = {"encodingFormat": "text/csv"}
    distribution = [
        {"@type": "cr:FileObject", "@id": "repo", "contentUrl": url, "encodingFormat": "git+https"},
        {"@type": "cr:FileSet", "@id": "tables", "containedIn": {"@id": "repo"}, "includes": "data/*.csv", **kind},
        {
            "@type": "cr:FileObject",
            "@id": "archive",
            "contentUrl": "packed.zip",
            "containedIn": {"@id": "repo"},
            "encodingFormat": "application/zip",
            "sha256": sha256(packed()).hexdigest(),
        },
        {"@type": "cr:FileSet", "@id": "members", "containedIn": {"@id": "archive"}, "includes": "*.csv", **kind},
    ]
    sets = [column("rows", fileSet={"@id": "tables"}), column("packed", fileSet={"@id": "members"})]
    path = folder / "croissant.json"
    path.write_text(json.dumps(document(isLiveDataset=True, distribution=distribution, recordSet=sets)), "utf-8")
    return path


def packed() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo("part.csv"), TABLE)
    return file.getvalue()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A clone, with what git keeps of it."""
    folder = tmp_path / "clone"
    (folder / "data").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_bytes(b"ref: refs/heads/main\n")
    (folder / "data" / "a.csv").write_bytes(TABLE)
    (folder / "packed.zip").write_bytes(packed())
    return folder


def found(report: corpusfmt.Report) -> list[str]:
    return [f"{each.location} {each.code}" for each in report.findings if each.severity == "error"]


@pytest.mark.parametrize("url", ["hf://datasets/a/b", "git+https://example.org/a.git", "git@example.org:a/b.git"])
def test_without_a_copy_repositories_are_gaps(url: str, tmp_path: Path) -> None:
    report = corpusfmt.validate(described(tmp_path, url), data=True)
    assert (found(report), report.verdict) == ([], "incomplete")
    assert "1 file is on the web, and nothing is fetched: --map names local copies" in str(report.coverage.gaps)
    with pytest.raises(UsageError, match=r"nothing is fetched.*`maps`"):
        list(corpusfmt.records(described(tmp_path, url), "rows"))


def test_a_repository_is_checked_and_read_in_a_clone(tmp_path: Path, copy: Path) -> None:
    path = described(tmp_path)
    report = corpusfmt.validate(path, data=True, maps={"repo": copy})
    assert found(report) == [f"{copy}/data/a.csv:4 CRO609", f"{copy}/packed.zip/part.csv:4 CRO609"]
    assert report.verdict == "invalid"
    assert not report.coverage.gaps
    for name in ("rows", "packed"):
        findings: list[corpusfmt.Finding] = []
        records = list(corpusfmt.records(path, name, maps={"repo": copy}, on_finding=findings.append))
        assert [each[f"{name}/id"] for each in records] == [1, 2]
        assert [each.code for each in findings] == ["CRO609"]


@pytest.mark.parametrize(("name", "part"), [("tables", "."), ("archive", "packed.zip"), ("members", "unpacked")])
def test_a_part_of_a_repository_is_read_without_the_rest(name: str, part: str, tmp_path: Path, copy: Path) -> None:
    (copy / "unpacked").mkdir()
    (copy / "unpacked" / "part.csv").write_bytes(TABLE)
    report = corpusfmt.validate(described(tmp_path), data=True, maps={name: copy / part})
    assert [each.split(" ")[1] for each in found(report)] == ["CRO609"]
    assert report.coverage.documents == 2
    assert report.coverage.gaps


def test_a_copy_that_is_not_the_same_is_an_error(tmp_path: Path, copy: Path) -> None:
    (copy / "packed.zip").write_bytes(packed() + b"\n")
    report = corpusfmt.validate(described(tmp_path), data=True, maps={"repo": copy})
    assert "CRO603" in report.by_rule
    (copy / "packed.zip").unlink()
    report = corpusfmt.validate(described(tmp_path), data=True, maps={"repo": copy})
    assert "CRO601" in report.by_rule


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_link_out_of_a_copy_is_not_followed_unasked(tmp_path: Path, copy: Path) -> None:
    blob = tmp_path / "blob"
    (copy / "data" / "a.csv").rename(blob)
    (copy / "data" / "a.csv").symlink_to(blob)
    report = corpusfmt.validate(described(tmp_path), data=True, maps={"repo": copy})
    assert f"{copy}/data/a.csv GEN002" in found(report)
    report = corpusfmt.validate(described(tmp_path), data=True, maps={"repo": copy}, follow_links=True)
    assert f"{copy}/data/a.csv:4 CRO609" in found(report)


def test_settings_name_copies_beside_them(tmp_path: Path, copy: Path) -> None:
    path = described(tmp_path)
    settings = tmp_path / "settings.toml"
    settings.write_text('[map]\nrepo = "clone"\n', "utf-8")
    done = run_cli("validate", path, "--data", "--config", settings, "--output-format", "concise")
    assert done.returncode == 1
    assert f"{copy}/data/a.csv:4: CRO609".encode() in done.stdout
    # A copy that the command line names wins, and has the data read.
    done = run_cli("validate", path, "--config", settings, "--map", f"repo={tmp_path}", "--output-format", "concise")
    assert b"CRO605" in done.stdout


@pytest.mark.parametrize(
    ("maps", "message"),
    [
        (["repo"], "--map is 'repo', expected ID=PATH"),
        (["rope={copy}"], "--map rope: no such FileObject or FileSet; known: repo, tables, archive, members"),
        (["repo={copy}/nothing"], "does not exist"),
        (["repo={copy}", "repo={copy}"], "name it once"),
        (["tables={copy}/packed.zip"], "is a file, expected the folder of the file set"),
        (["repo=hf://datasets/a/b"], "is a URL, expected a local path"),
    ],
)
def test_a_copy_that_cannot_be_meant_is_wrong_usage(maps: list[str], message: str, tmp_path: Path, copy: Path) -> None:
    options = [part for each in maps for part in ("--map", each.format(copy=copy))]
    path = described(tmp_path)
    for command in ("validate", "records"):
        done = run_cli(command, path, *(["--record-set", "rows"] if command == "records" else []), *options)
        assert (done.returncode, done.stdout) == (2, b"")
        assert message in done.stderr.decode()


def test_a_corpus_has_no_copies_of_files(copy: Path) -> None:
    (copy / "data" / "a.jsonl").write_bytes(b'{"text": "a"}\n')
    with pytest.raises(UsageError, match="`maps` applies only to Croissant"):
        corpusfmt.validate(copy / "data" / "a.jsonl", format="jsonl", maps={"repo": copy})
