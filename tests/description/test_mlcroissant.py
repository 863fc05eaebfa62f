"""mlcroissant accepts what `describe` writes, and loads the records: `make mlcroissant`.

CORPUSFMT_MLCROISSANT names the Python of an environment that has it, and nothing of this project.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from description.folders import FOLDERS, write
from support import LONG_LINE, gzipped

import corpusfmt

PYTHON = os.environ.get("CORPUSFMT_MLCROISSANT")
pytestmark = pytest.mark.skipif(PYTHON is None, reason="CORPUSFMT_MLCROISSANT is not set")

LOADER = """
import json, sys
import mlcroissant
dataset = mlcroissant.Dataset(jsonld=sys.argv[1])
assert not dataset.metadata.ctx.issues.errors
shown = lambda value: value.decode() if isinstance(value, bytes) else str(value)
for name in sys.argv[2:]:
    rows = [{field: shown(value) for field, value in row.items()} for row in dataset.records(name)]
    print(json.dumps([name, rows]))
"""


def loaded(corpus: Path, *record_sets: str) -> dict[str, list[dict[str, Any]]]:
    """Describe a corpus in its own folder; return what mlcroissant reads of some record sets."""
    assert PYTHON is not None
    details: dict[str, Any] = {
        "license": "https://opensource.org/license/mit",
        "creator": "Example",
        "url": "https://example.org/corpus",
        "date_published": "2024-01-31",
        "dataset_version": "1.0.0",
        "cite_as": "Example (2024)",
    }
    description = corpus / "croissant.json"
    description.write_text(json.dumps(corpusfmt.describe(corpus, **details)))
    done = subprocess.run(
        [PYTHON, "-c", LOADER, description, *record_sets], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "during the validation" not in done.stderr
    return dict(json.loads(line) for line in done.stdout.split("\n")[:-1])


@pytest.fixture
def real(oscar_corpus: Path, dolma_corpus: Path, tmp_path: Path) -> dict[str, Path]:
    """Copies of the sample's corpora."""
    sources = {"oscar": oscar_corpus, "dolma": dolma_corpus}
    return {name: Path(shutil.copytree(source, tmp_path / name)) for name, source in sources.items()}


def test_dolma(real: dict[str, Path]) -> None:
    report = corpusfmt.validate(real["dolma"])
    rows = loaded(real["dolma"], "documents")["documents"]
    assert len(rows) == report.coverage.documents
    assert {row["documents/source"] for row in rows} == {"oscar"}
    assert "my" in {row["documents/language"] for row in rows}


def test_parquet(real: dict[str, Path], tmp_path: Path) -> None:
    corpusfmt.convert(real["dolma"], tmp_path / "parquet", to="parquet")
    rows = loaded(tmp_path / "parquet", "data")["data"]
    assert len(rows) == corpusfmt.validate(real["dolma"]).coverage.documents
    assert json.loads(rows[0]["data/metadata"])["language"] == "af"


def test_oscar_metadata(real: dict[str, Path]) -> None:
    rows = loaded(real["oscar"], "metadata")["metadata"]
    assert len(rows) == corpusfmt.validate(real["oscar"]).coverage.documents
    assert all(row["metadata/record_id"].startswith("<urn:uuid:") for row in rows)


def oscar(root: Path, version: str) -> Path:
    """Write text without commas or quotation marks: mlcroissant 1.1.1 reads lines with a CSV parser."""
    for code in ("de", "fr"):
        (root / code).mkdir(parents=True)
        (root / code / f"{code}.txt.gz").write_bytes(gzipped(f"{LONG_LINE}\né 1\n\n{LONG_LINE}\n\n".encode()))
        if version == "1.1":
            records = [
                {"headers": {"warc-record-id": f"<{code}-{n}>"}, "offset": 3 * n, "nb_sentences": 2 - n} for n in (0, 1)
            ]
            data = "".join(json.dumps(record) + "\n" for record in records)
            (root / code / f"{code}_meta.jsonl.gz").write_bytes(gzipped(data.encode()))
    return root


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_oscar(version: str, tmp_path: Path) -> None:
    found = loaded(oscar(tmp_path / "corpus", version), "lines", *(["metadata"] if version == "1.1" else []))
    assert [row["lines/line"] for row in found["lines"]] == [LONG_LINE, "é 1", LONG_LINE] * 2
    if version == "1.1":
        assert [row["metadata/record_id"] for row in found["metadata"]] == ["<de-0>", "<de-1>", "<fr-0>", "<fr-1>"]
        assert [row["metadata/offset"] for row in found["metadata"]] == ["0", "3", "0", "3"]


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return {name: _plain(each) for name, each in value.items()} if isinstance(value, dict) else value


def expected_of(folder: Path, version: str) -> dict[str, list[Any]]:
    """Describe a folder in its own; return the records of each record set."""
    description = corpusfmt.describe(folder, base=folder, croissant=version, creator="E", url="https://example.org")
    (folder / "croissant.json").write_text(json.dumps(description))
    expected = {}
    for name in [each["@id"] for each in description["recordSet"]]:
        expected[name] = [_plain(dict(each)) for each in corpusfmt.records(folder / "croissant.json", name)]
    return expected


@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_every_record_set_of_any_folder_is_loaded_and_has_the_same_records(version: str, tmp_path: Path) -> None:
    assert PYTHON is not None
    asked = []
    for name, made in FOLDERS.items():
        folder = write(made, tmp_path / name)
        asked.append((str(folder / "croissant.json"), expected_of(folder, version)))
    (tmp_path / "asked.json").write_text(json.dumps(asked))
    command = [PYTHON, str(Path(__file__).with_name("compare.py")), str(tmp_path / "asked.json")]
    environment = os.environ | {"CROISSANT_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert {name: found for name, found in zip(FOLDERS, json.loads(done.stdout), strict=True) if found} == {}
