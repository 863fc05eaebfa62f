"""What the format claims, what it leaves to others, and how it is named in a report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from croissant.documents import CONTEXT, check, document, errors

import corpusfmt
from corpusfmt.formats import detect
from corpusfmt.formats.croissant.format import FORMAT
from corpusfmt.formats.croissant.model.version import VERSION_IRI
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


@pytest.mark.parametrize("value", [b"", b",", b"[", b"]"])
def test_a_description_that_is_cut_in_its_version_is_claimed(value: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"@context": {}, "@type": "Dataset", "conformsTo":' + value + b"}")
    assert FORMAT.detect(entry_of(str(tmp_path / "a.json"))) is not None


@pytest.mark.parametrize(
    "content", [b"{}", b'{"@type": "Person", "@context": {}}', b"", b'{"text": "a"}\n', b"\xff\xfe"]
)
def test_other_json_is_not(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(content)
    assert FORMAT.detect(entry_of(str(tmp_path / "a.json"))) is None


@pytest.mark.parametrize(("beyond", "claimed"), [(0, True), (1, False), (100, False)])
def test_what_stands_far_behind_is_not_looked_at(beyond: int, claimed: bool, tmp_path: Path) -> None:
    kind = b'"@type": "Dataset"'
    start = b'{"@context": {}, "name": "'
    size = 8 * 1024 * 1024 - len(start) - len(b'", ') - len(kind)
    (tmp_path / "a.json").write_bytes(start + b"x" * (size + beyond) + b'", ' + kind + b"}")
    assert (FORMAT.detect(entry_of(str(tmp_path / "a.json"))) is not None) is claimed


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["croissant.json"], "croissant"),
        (["metadata.json", "data/a.csv", "data/deep/b.csv"], "croissant"),
        (["croissant.json", "data/a.csv", "README.txt", "LICENSE"], "croissant"),
        (["croissant.json", "images/a.jpg", "notes.txt"], "croissant"),
        (["other.json"], ""),
        (["croissant.json/a.csv"], ""),
        (["croissant.json/a.csv", "metadata.json"], "croissant"),
        (["croissant.json", "documents/a.jsonl.gz"], "dolma"),
        (["croissant.json", "af/af.txt.gz", "af/af_meta.jsonl.gz"], "oscar"),
        (["metadata.json", "af/af.txt"], "text"),
        (["croissant.json", "a.txt", "b.txt"], "text"),
        (["metadata.json", "a.txt"], "text"),
    ],
)
def test_a_folder_is_a_description_only_without_a_corpus(paths: list[str], found: str, tmp_path: Path) -> None:
    entry = entry_of(str(write(tmp_path / "root", *paths)))
    if found:
        assert detect(entry)[0].name == found
    else:
        with pytest.raises(UsageError, match="no known format recognises"):
            detect(entry)


def test_the_description_of_a_corpus_is_claimed_by_itself(tmp_path: Path) -> None:
    write(tmp_path, "croissant.json", "documents/a.jsonl.gz")
    assert FORMAT.detect(entry_of(str(tmp_path / "croissant.json"))) is not None


def test_every_description_of_a_folder_is_checked(tmp_path: Path) -> None:
    write(tmp_path, "a.json", "b.json")
    (tmp_path / "c.json").write_bytes(b"{}")
    report = corpusfmt.validate(tmp_path, format="croissant")
    assert report.coverage.shards_seen == 2
    assert {finding.location.path for finding in report.findings} == {"a.json", "b.json"}


def test_the_version_of_a_folder_is_that_of_its_first_description(tmp_path: Path) -> None:
    for name, version in (("a.json", "1.1"), ("b.json", "1.0")):
        (tmp_path / name).write_text(json.dumps(document(conformsTo=VERSION_IRI + version)))
    assert corpusfmt.validate(tmp_path, format="croissant").version == "1.1"


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


def test_the_version_is_that_of_a_typed_reference(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document(conformsTo={"@type": "sc:CreativeWork", "@id": f"{VERSION_IRI}1.1"})))
    report = corpusfmt.validate(path)
    assert (report.version, "CRO204" in report.by_rule) == ("1.1", False)


def test_no_version_is_asked_for_where_one_is_found(tmp_path: Path) -> None:
    content = document(ct=f"{VERSION_IRI}1.1", **{"@context": {**CONTEXT, "ct": "dct:conformsTo"}})
    del content["conformsTo"]
    (tmp_path / "a.json").write_text(json.dumps(content))
    assert "CRO204" not in corpusfmt.validate(tmp_path / "a.json").by_rule
    assert "CRO204" in corpusfmt.validate(tmp_path / "a.json", format="croissant-1.0").by_rule


@pytest.mark.parametrize(
    ("more", "version"),
    [
        ({"conformsTo": None}, "1.0"),
        ({"conformsTo": "https://example.org/profile"}, "1.0"),
        ({"conformsTo": "http://mlcommons.org/croissant/9.9"}, "1.0"),
        ({"conformsTo": None, "@context": {**CONTEXT, "ml": "http://mlcommons.org/schema/"}}, "0.8"),
    ],
)
def test_the_version_of_a_description_that_claims_none(more: Any, version: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**document(), **more}))
    claim = FORMAT.detect(entry_of(str(path)))
    assert claim is not None
    assert (claim.version, corpusfmt.validate(path).version) == (version, version)


@pytest.mark.parametrize(("claimed", "codes"), [("1.0", {"CRO120", "CRO204"}), ("1.1", {"CRO204"})])
def test_a_description_is_judged_as_what_it_claims_whatever_is_asked_for(
    claimed: str, codes: set[str], tmp_path: Path
) -> None:
    each = {"@type": "cr:Field", "@id": "r/a", "dataType": "sc:Text", "isArray": True}
    content = document(conformsTo=VERSION_IRI + claimed, recordSet={"@type": "cr:RecordSet", "@id": "r", "field": each})
    report = check(tmp_path / "a.json", content, format="croissant-0.8", select=["CRO120", "CRO204"])
    assert {finding.code for finding in report.findings} == codes


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


SCRIPT = '<script type="application/ld+json">{}</script>'


@pytest.mark.parametrize(
    ("page", "found"),
    [
        (SCRIPT.format(DESCRIPTION.decode()), []),
        (f"<!-- {SCRIPT.format('[')} -->\n{SCRIPT.format(DESCRIPTION.decode())}", []),
        (SCRIPT.format('{"@type": "Person"}') + SCRIPT.format(DESCRIPTION.decode()), []),
        (f"<!-- {SCRIPT.format(DESCRIPTION.decode())} -->", ["the page has no JSON-LD script"]),
        (f"<script>{DESCRIPTION.decode()}</script>", ["the page has no JSON-LD script"]),
        (SCRIPT.format('{"@type": "Person"}'), ["the page has no JSON-LD script with a Dataset"]),
        (SCRIPT.format('{"@type": "Dataset"'), ["not JSON"]),
    ],
)
def test_the_scripts_of_a_page(page: str, found: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(page, "utf-8")
    report = corpusfmt.validate(tmp_path / "a.html", format="croissant")
    assert [each.message.partition(":")[0] for each in errors(report)] == found


def test_nothing_slow_is_imported(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(DESCRIPTION)
    program = (
        "import sys; from corpusfmt.formats.croissant.format import FORMAT as f; from corpusfmt.formats import CheckOptions;"
        "from corpusfmt.io.paths import entry_of; o = CheckOptions();"
        f"f.check(f.plan(entry_of({str(path)!r}), o).shards[0], o);"
        "print(sorted({'pyld', 'numpy', 'jsonschema', 'lxml'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"[]\n"
