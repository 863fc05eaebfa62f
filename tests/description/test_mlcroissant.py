"""mlcroissant accepts what `describe`, `build` and `convert` write, and loads the records: `make mlcroissant`.

CORPUSFMT_MLCROISSANT names the Python of an environment that has it, and nothing of this project.
"""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from damage import run as damage
from description.corpora import CHANGED, CORPORA, SOURCE, TABLES, TEXTS, Files, metadata_of_oscar, text_of_oscar
from description.folders import FOLDERS, Folder, write
from description.kinds import KINDS
from support import FIXTURES, LONG_LINE, SAMPLE, gzipped, wet_file, wet_record

import corpusfmt

PYTHON = os.environ.get("CORPUSFMT_MLCROISSANT")
pytestmark = pytest.mark.skipif(PYTHON is None, reason="CORPUSFMT_MLCROISSANT is not set")
DETAILS: dict[str, Any] = {
    "license": "https://opensource.org/license/mit",
    "creator": "Example",
    "url": "https://example.org",
    "date_published": "2024-01-31",
}


# Required properties that only the owner knows.
_OF_THE_OWNER = {"CRO207", "CRO208", "CRO209", "CRO210"}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return {name: _plain(each) for name, each in value.items()} if isinstance(value, dict) else value


def records_of(folder: Path) -> dict[str, list[Any]]:
    """Return the records of each record set of a folder's description."""
    path = folder / "croissant.json"
    names = [each["@id"] for each in json.loads(path.read_bytes())["recordSet"]]
    return {name: [_plain(dict(each)) for each in corpusfmt.records(path, name)] for name in names}


def expected_of(folder: Path, version: str) -> dict[str, list[Any]]:
    """Describe a folder in its own; return the records of each record set."""
    description = corpusfmt.describe(folder, base=folder, croissant=version, **DETAILS)
    (folder / "croissant.json").write_text(json.dumps(description))
    return records_of(folder)


def put(files: Files, root: Path) -> Path:
    return write(Folder(files, {}), root)


def differences(expected: Mapping[Path, Mapping[str, list[Any]]], tmp_path: Path) -> dict[str, list[str]]:
    """Return by folder what mlcroissant has otherwise than expected."""
    assert PYTHON is not None
    asked = [(str(folder / "croissant.json"), records) for folder, records in expected.items()]
    (tmp_path / "asked.json").write_text(json.dumps(asked))
    command = [PYTHON, str(Path(__file__).with_name("compare.py")), str(tmp_path / "asked.json")]
    environment = os.environ | {"CROISSANT_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    answers = zip(expected, json.loads(done.stdout), strict=True)
    return {folder.name: found for folder, found in answers if found}


def errors_of(folder: Path) -> set[str]:
    report = corpusfmt.validate(folder / "croissant.json", profile="strict", data=True)
    return {each.code for each in report.findings if each.severity == "error"}


@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_every_record_set_of_any_folder_is_loaded_and_has_the_same_records(version: str, tmp_path: Path) -> None:
    folders = [write(made, tmp_path / name) for name, made in FOLDERS.items()]
    assert differences({each: expected_of(each, version) for each in folders}, tmp_path) == {}


def test_folders_of_the_kinds_that_people_publish_are_loaded(tmp_path: Path) -> None:
    assert len(KINDS) >= 20
    folders = [put(kind.files, tmp_path / name) for name, kind in KINDS.items()]
    assert differences({each: expected_of(each, "1.1") for each in folders}, tmp_path) == {}


@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_every_record_set_of_corpora_is_loaded_and_has_the_same_records(version: str, tmp_path: Path) -> None:
    made = CORPORA | {name: files for name, (files, _) in TABLES.items()}
    expected = {
        each: expected_of(each, version) for each in (put(files, tmp_path / name) for name, files in made.items())
    }
    assert {each.name: errors for each in expected if (errors := errors_of(each))} == {}
    assert differences(expected, tmp_path) == {}
    # All corpora have records, of documents wherever mlcroissant reads their files.
    assert {each.name for each, records in expected.items() if not records} == {
        f"{name}{suffix}" for name in ("csv", "jsonl") for suffix in (".zst", ".bz2", ".xz")
    } | {"text.gz", "text.zst", "text.bz2", "text.xz"}
    assert {each.name for each, records in expected.items() if "documents" in records} >= {
        "dolma", "dolma.gz", "dolma with odd dates", "dolma with other columns in each file", "mc4", "mc4 with odd dates",
        "oscar-22.01", "oscar-22.01.gz", "oscar-23.01", "oscar-23.01.gz",
    }  # fmt: skip


READS = """
import json, logging, sys
import mlcroissant
logging.disable(logging.CRITICAL)
def reads(path):
    try:
        return not mlcroissant.Dataset(path).metadata.ctx.issues.errors
    except Exception:
        return False
print(json.dumps([reads(each) for each in json.load(sys.stdin)]))
"""


def descriptions(folder: Path) -> Iterator[Path]:
    """Write the descriptions of all fixtures and 500 damaged ones, of which mlcroissant reads the undamaged one."""
    for number, path in enumerate(sorted((FIXTURES / "croissant").glob("1.[01]/**/*.json"))):
        if path.name != "expected.json":
            yield Path(shutil.copy(path, folder / f"{path.parents[1].name}-{number}.json"))
    kinds = [kind for kind in damage.KINDS if kind.group == "Croissant"]
    for number in range(500):
        kind = kinds[number % len(kinds)]
        path = folder / f"{number}.json"
        path.write_bytes(kind.make(random.Random(number))["metadata.json"])
        yield path


@pytest.mark.parametrize("is_repaired", [False, True])
def test_the_profile_says_what_mlcroissant_does(is_repaired: bool, tmp_path: Path) -> None:
    """Of what it refuses, 99 % have an error; whatever has CRO293 is refused, or not loaded, as the next test shows.

    A description that breaks the specification, and that mlcroissant reads all the same, is none of the profile's.
    """
    assert PYTHON is not None
    paths = list(descriptions(tmp_path))
    for path in paths if is_repaired else ():
        corpusfmt.fix(path, format="croissant", profile="mlcroissant")
    command, asked = [PYTHON, "-c", READS], json.dumps([str(path) for path in paths])
    answers = json.loads(subprocess.run(command, input=asked, capture_output=True, text=True, check=True).stdout)
    missed, wrong = [], []
    for path, reads in zip(paths, answers, strict=True):
        report = corpusfmt.validate(path, format="croissant", profile="mlcroissant")
        errors = {(each.code, each.message) for each in report.findings if each.severity == "error"}
        if not (reads or errors):
            missed.append(path.name)
        if reads and (refused := {m for code, m in errors if code == "CRO293" and "not loaded" not in m}):
            wrong.append((path.name, refused))
    assert wrong == []
    assert len(missed) < sum(not reads for reads in answers) / 100, missed


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("sha256", str.upper),
        ("encodingFormat", {"application/x-parquet": "application/vnd.apache.parquet"}.get),
        ("containedIn", None),
    ],
)
def test_what_the_profile_calls_not_loaded_is_loaded_once_it_is_fixed(
    name: str, change: Callable[[str], str | None] | None, tmp_path: Path
) -> None:
    folder = write(FOLDERS["archives" if change is None else "tables_of_parquet"], tmp_path / "data")
    expected = expected_of(folder, "1.0")
    path = folder / "croissant.json"
    tree = json.loads(path.read_bytes())
    if change is None:
        tree["@context"]["containedIn"] = "cr:containedIn"
    for each in tree["distribution"]:
        if change is not None and name in each:
            each[name] = change(each[name]) or each[name]
    path.write_text(json.dumps(tree))
    found = corpusfmt.validate(path, profile="mlcroissant").by_rule
    assert found.get("CRO293"), found
    assert differences({folder: expected}, tmp_path)
    corpusfmt.fix(path, profile="mlcroissant")
    assert differences({folder: expected}, tmp_path) == {}


def test_pandas_changes_these_values_and_no_others(tmp_path: Path) -> None:
    expected = {}
    for name, (files, changed) in CHANGED.items():
        folder = put(files, tmp_path / name)
        assert expected_of(folder, "1.1").keys() == changed.keys()
        expected[folder] = {
            table: [{f"{table}/{field}": value for field, value in row.items()} for row in rows]
            for table, rows in changed.items()
        }
    assert differences(expected, tmp_path) == {}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What `build` and `convert` write, by recipe or format, from lines and documents that are unusual."""
    root = tmp_path_factory.mktemp("written")
    lines = [f'{LONG_LINE}, "{number}"' for number in range(3)]
    wet_file(root / "wet" / "a.warc.wet.gz", [wet_record(0, "\n".join([*lines, *TEXTS])), wet_record(1, lines[0])])
    made = {
        recipe: root / recipe for recipe in ("oscar-1.0", "oscar-1.1", "oscar-1.0-shuffled", "dolma", "goclassy-2019")
    }
    for recipe, folder in made.items():
        corpusfmt.build([SAMPLE, root / "wet"], folder, recipe=recipe)
    put(SOURCE, root / "source")
    put(
        {
            "de/de.txt.gz": gzipped(text_of_oscar()),
            "de/de_meta.jsonl.gz": gzipped(metadata_of_oscar("2021-02-24T17:55:29Z", "soon", "2016-12-31T23:59:60Z")),
        },
        root / "oscar",
    )
    for source in ("source", "oscar"):
        for target in ("oscar-1.0", "oscar-1.1", "dolma", "jsonl", "parquet", "text"):
            made[f"{source} to {target}"] = root / f"{source} to {target}"
            corpusfmt.convert(
                root / source, made[f"{source} to {target}"], to=target, on_loss="allow", on_bad_record="quarantine"
            )
    return made


def test_what_is_built_or_converted_is_loaded(written: dict[str, Path], tmp_path: Path) -> None:
    expected = {folder: records_of(folder) for folder in written.values()}
    assert all(map(any, (each.values() for each in expected.values())))
    assert differences(expected, tmp_path) == {}
    assert {each.name: errors for each in expected if (errors := errors_of(each) - _OF_THE_OWNER)} == {}


@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_what_is_built_or_converted_is_described_and_loaded(
    version: str, written: dict[str, Path], tmp_path: Path
) -> None:
    expected = {}
    for name, folder in written.items():
        copy = tmp_path / name
        copy.symlink_to(folder, target_is_directory=True)
        expected[copy] = expected_of(copy, version)
    assert differences(expected, tmp_path) == {}
