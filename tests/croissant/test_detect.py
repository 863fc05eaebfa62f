"""What the format claims, what it leaves to others, and how it is named in a report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from croissant.documents import document, errors

import corpusfmt
from corpusfmt.formats.croissant.format import FORMAT
from corpusfmt.io.paths import entry_of
from corpusfmt.model import UsageError

DESCRIPTION = json.dumps(document()).encode()


def write(root: Path, *paths: str) -> Path:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(DESCRIPTION if path.endswith("json") else b"x\n")
    return root


@pytest.mark.parametrize("name", ["a.json", "a.jsonld", "a.html", "metadata.json"])
def test_a_file_is_claimed(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(DESCRIPTION)
    claim = FORMAT.detect(entry_of(str(tmp_path / name)))
    assert claim is not None
    assert claim.version == "1.0"


@pytest.mark.parametrize(
    "content", [b"{}", b'{"@type": "Person", "@context": {}}', b"", b'{"text": "a"}\n', b"\xff\xfe"]
)
def test_other_json_is_not(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(content)
    assert FORMAT.detect(entry_of(str(tmp_path / "a.json"))) is None


@pytest.mark.parametrize(
    ("paths", "claimed"),
    [
        (["croissant.json"], True),
        (["metadata.json", "data/a.csv", "data/deep/b.csv"], True),
        (["other.json"], False),
        (["croissant.json", "documents/a.jsonl.gz"], False),
        (["croissant.json", "af/af.txt.gz", "af/af_meta.jsonl.gz"], False),
        (["croissant.json", "af/af_sha256.txt"], False),
        (["croissant.json", "en_meta/en_meta_part_1.jsonl.zst"], False),
    ],
)
def test_a_folder_is_claimed_unless_it_is_a_corpus(paths: list[str], claimed: bool, tmp_path: Path) -> None:
    root = write(tmp_path / "root", *paths)
    assert (FORMAT.detect(entry_of(str(root))) is not None) is claimed


def test_the_description_of_a_corpus_is_claimed_by_itself(tmp_path: Path) -> None:
    write(tmp_path, "croissant.json", "documents/a.jsonl.gz")
    assert FORMAT.detect(entry_of(str(tmp_path / "croissant.json"))) is not None


def test_every_description_of_a_folder_is_checked(tmp_path: Path) -> None:
    write(tmp_path, "a.json", "b.json")
    (tmp_path / "c.json").write_bytes(b"{}")
    report = corpusfmt.validate(tmp_path, format="croissant")
    assert report.coverage.shards_seen == 2
    assert {finding.location.path for finding in report.findings} == {"a.json", "b.json"}


def test_a_folder_without_is_a_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no croissant\.json"):
        corpusfmt.validate(tmp_path, format="croissant")


@pytest.mark.parametrize("version", ["0.8", "1.0", "1.1"])
def test_the_version_is_named(version: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document(conformsTo=f"http://mlcommons.org/croissant/{version}")))
    report = corpusfmt.validate(path)
    assert report.version == version
    assert errors(report) == []
    assert ("CRO301" in report.coverage.rules_not_run) is (version == "0.8")


def test_places_are_those_of_the_author(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    text = json.dumps(document(description="ä\n", license="mit", **{"sc:version": "1"}), indent=1, ensure_ascii=False)
    path.write_text(text, "utf-8")
    found = {finding.code: finding.location for finding in corpusfmt.validate(path).findings}
    at = found["CRO219"]
    lines = text.split("\n")
    assert at.line is not None
    assert at.column is not None
    assert at.byte is not None
    assert at.pointer == "/license"
    assert lines[at.line - 1][at.column - 1 :].startswith('"mit"')
    assert path.read_bytes()[at.byte :].startswith(b'"mit"')
    assert found["CRO218"].pointer == "/sc:version"


def test_nothing_slow_is_imported(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(DESCRIPTION)
    program = (
        "import sys; from corpusfmt.formats.croissant.format import FORMAT as f; from corpusfmt.formats import CheckOptions;"
        "from corpusfmt.io.paths import entry_of; o = CheckOptions();"
        f"f.check(f.plan(entry_of({str(path)!r}), o).shards[0], o);"
        "print(sorted({'pyld', 'rdflib', 'numpy', 'jsonschema', 'lxml'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"[]\n"
