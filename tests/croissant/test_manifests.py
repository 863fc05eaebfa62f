"""Manifests and constants of version 1.1: the records that they give, and how far a reader follows them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from croissant.documents import SCHEMAS, errors
from hypothesis import given
from hypothesis import strategies as st
from support import every, gzipped, run_cli, tarred, zipped

import corpusfmt
from corpusfmt.formats.croissant.model.arrays import parsed_shape, shape_fault
from corpusfmt.model import Finding

Json = dict[str, Any]
LATER = json.loads((SCHEMAS.parent / "1.1" / "context.jsonld").read_text("utf-8"))["@context"]


def described(
    folder: Path, contained_in: Json, *fields: Json, kind: str = "text/plain", name: str = "list.txt"
) -> Path:
    listing = {"@type": "cr:FileObject", "@id": "list", "contentUrl": name, "encodingFormat": kind}
    files = {"@type": "cr:FileSet", "@id": "files", "containedIn": contained_in}
    document = {
        "@context": LATER,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "isLiveDataset": True,
        "distribution": [listing, files],
        "recordSet": [{"@type": "cr:RecordSet", "@id": "r", "field": list(fields)}],
    }
    path = folder / "metadata.json"
    path.write_text(json.dumps(document), "utf-8")
    return path


def of_files(name: str, file_property: str) -> Json:
    source = {"fileSet": {"@id": "files"}, "extract": {"fileProperty": file_property}}
    return {"@type": "cr:Field", "@id": f"r/{name}", "dataType": "sc:Text", "source": source}


LISTED = {"fileObject": {"@id": "list"}, "transform": {"readLines": True}}
PATH, TEXT = of_files("path", "fullpath"), of_files("text", "content")


def test_the_records_of_listed_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "b.txt").write_text("two")
    (tmp_path / "list.txt").write_bytes(b"b.txt\n\na.txt\r\n")
    language = {"@type": "cr:Field", "@id": "r/language", "dataType": "sc:Text", "value": "en"}
    size = {"@type": "cr:Field", "@id": "r/size", "isArray": True, "arrayShape": "2", "dataType": "sc:Integer"}
    path = described(tmp_path, LISTED, PATH, TEXT, language, {**size, "value": [3, 4]})
    records = list(corpusfmt.records(path))
    same = {"r/language": "en", "r/size": [3, 4]}
    assert [dict(each) for each in records] == [
        {"r/path": "b.txt", "r/text": "two", **same},
        {"r/path": "a.txt", "r/text": "one", **same},
    ]
    assert errors(corpusfmt.validate(path, data=True)) == []


def test_paths_of_a_manifest_whose_files_are_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "paths.gz").write_bytes(gzipped(b"crawl/1.warc.gz\ncrawl/2.warc.gz\n"))
    url = "https://data.example.org/paths.gz"
    path = described(tmp_path, LISTED, PATH, kind="application/gzip", name=url)
    copy = {"list": str(tmp_path / "paths.gz")}
    assert [each["r/path"] for each in corpusfmt.records(path, maps=copy)] == ["crawl/1.warc.gz", "crawl/2.warc.gz"]
    report = corpusfmt.validate(path, data=True, maps=copy)
    assert errors(report) == []
    assert "2 of the files that its manifest names are on the web" in str(report.coverage.gaps)


def test_a_file_in_a_manifest(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    (tmp_path / "list.txt").write_text("b.csv\n./a.csv\n")
    source = {"fileObject": {"@id": "a"}, "extract": {"column": "x"}}
    path = described(tmp_path, LISTED, {"@type": "cr:Field", "@id": "r/x", "dataType": "sc:Integer", "source": source})
    document = json.loads(path.read_bytes())
    file = {"@type": "cr:FileObject", "@id": "a", "contentUrl": "a.csv", "encodingFormat": "text/csv"}
    document["distribution"][1] = {**file, "containedIn": LISTED, "sha256": "0" * 64}
    path.write_text(json.dumps(document))
    assert [each["r/x"] for each in corpusfmt.records(path)] == [1, 2]
    report = corpusfmt.validate(path, data=True)
    assert [each.code for each in errors(report)] == ["CRO603"]
    assert not report.coverage.gaps
    path.write_text(json.dumps(document).replace("a.csv", "c.csv"))
    (told,) = errors(corpusfmt.validate(path, data=True))
    assert (told.code, told.message) == ("CRO601", 'distribution "a": no manifest names `c.csv`')
    path.write_text(json.dumps(document).replace("a.csv", "b.csv"))
    (told,) = errors(corpusfmt.validate(path, data=True))
    assert (told.code, told.location.path, told.location.line) == ("CRO601", "list.txt", 1)


def test_a_file_in_a_manifest_on_the_web_or_in_itself_is_a_gap(tmp_path: Path) -> None:
    path = described(tmp_path, LISTED, name="https://example.org/list.txt")
    document = json.loads(path.read_bytes())
    file = {"@type": "cr:FileObject", "contentUrl": "a.csv", "encodingFormat": "text/csv"}
    document["distribution"][1] = {**file, "@id": "a", "containedIn": LISTED}
    itself = {"fileObject": {"@id": "b"}, "transform": {"readLines": True}}
    document["distribution"].append({**file, "@id": "b", "containedIn": itself})
    path.write_text(json.dumps(document))
    report = corpusfmt.validate(path, data=True)
    assert not {"CRO601", "GEN000"} & report.by_rule.keys()
    assert "its manifest is in itself" in str(report.coverage.gaps)


_DAMAGED = {
    "a cut tar.gz": ("list.tar.gz", gzipped(tarred({"list.txt": b"a.txt\n" * 5000}))[:-30]),
    "a tar cut in a member": ("list.tar", tarred({"list.txt": b"a.txt\n" * 500})[:1000]),
    "a cut zip": ("list.zip", zipped({"list.txt": b"a.txt\n"})[:-10]),
    "no archive": ("list.tar.gz", b"<html>"),
    "a zip with a damaged directory": ("list.zip", zipped({"list.txt": b"a.txt\n"}).replace(b"PK\1\2", b"PK\1\3")),
}
_COMMANDS = (
    "validate metadata.json --data",
    "records metadata.json",
    "convert metadata.json out --to dolma --field text=r/text",
    "stats metadata.json --field text=r/text",
    "show metadata.json",
    "datasheet metadata.json -o out.html --field text=r/text",
    "compare metadata.json metadata.json --field text=r/text",
    "describe .",
    "seal .",
)


@pytest.mark.parametrize("command", _COMMANDS, ids=lambda command: command.split()[0])
@pytest.mark.parametrize("damage", every(4, list(_DAMAGED)))
def test_a_damaged_manifest_is_no_crash(damage: str, command: str, tmp_path: Path) -> None:
    name, data = _DAMAGED[damage]
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / name).write_bytes(data)
    described(tmp_path, LISTED, PATH, TEXT, kind="application/octet-stream", name=name)
    ran = run_cli(*command.split(), cwd=tmp_path)
    page = tmp_path / "out.html"
    said = (ran.stdout + ran.stderr).decode() + (page.read_text("utf-8") if page.exists() else "")
    assert "Traceback" not in said
    assert re.search("CRO604|does not (read to its end|begin like an archive)", said)
    assert (ran.returncode == 0) is (command in ("describe .", "seal ."))


@pytest.mark.parametrize("damage", _DAMAGED)
def test_a_manifest_in_a_damaged_archive(damage: str, tmp_path: Path) -> None:
    name, data = _DAMAGED[damage]
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / name).write_bytes(data)
    path = described(tmp_path, LISTED, PATH, TEXT)
    description = json.loads(path.read_bytes())
    archive = {"@type": "cr:FileObject", "@id": "archive", "contentUrl": name, "encodingFormat": "application/zip"}
    description["distribution"][0]["containedIn"] = {"@id": "archive"}
    description["distribution"].append(archive)
    path.write_text(json.dumps(description))
    assert {each.code for each in errors(corpusfmt.validate(path, data=True))} == {"CRO604"}
    found: list[Finding] = []
    list(corpusfmt.records(path, on_finding=found.append))
    assert [each.code for each in found] == ["CRO604"]


@pytest.mark.parametrize("end", ["", '"'])
def test_a_set_is_listed_again_after_only_its_first_rows_were_read(end: str, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("a.csv\nb.csv\nc.csv\n")
    for name, cells in (("a.csv", f"1\n{end}"), ("b.csv", "1\n"), ("c.csv", "2\n")):
        (tmp_path / name).write_text(f"n\n{cells}")
    source = {"fileSet": {"@id": "files"}, "extract": {"column": "n"}}
    number = {"@type": "cr:Field", "@id": "r/n", "dataType": "sc:Integer", "source": source}
    path = described(tmp_path, LISTED, number)
    description = json.loads(path.read_bytes())
    description["distribution"][1]["encodingFormat"] = "text/csv"
    again = {"@type": "cr:RecordSet", "@id": "s", "field": {**number, "@id": "s/n"}}
    description["recordSet"] = [{**description["recordSet"][0], "key": {"@id": "r/n"}}, again]
    path.write_text(json.dumps(description))
    report = corpusfmt.validate(path, data=True)
    assert {each.code for each in errors(report)} == {"CRO611", *(["CRO604"] if end else [])}
    assert not report.coverage.gaps


def test_of_many_missing_files_the_first_are_told(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("".join(f"{number}.txt\n" for number in range(100)))
    report = corpusfmt.validate(described(tmp_path, LISTED, TEXT), data=True, max_per_rule=100)
    assert report.by_rule["CRO601"] == 100
    assert len([each for each in report.findings if each.code == "CRO601"]) == 10


def test_a_data_source_without_lines_is_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("one")
    path = described(tmp_path, {"fileObject": {"@id": "list"}}, TEXT, kind="inode/directory", name="folder")
    assert [each["r/text"] for each in corpusfmt.records(path)] == ["one"]


SHAPES = [("3", (3,)), ("(-1,)", (-1,)), ("2, -1", (2, -1)), (" 4 ", (4,)), ("(2,3,)", (2, 3)), ("0", (0,))]
NO_SHAPES = ["", "a", "-2", "1.5", "(2", "2)", "2;3", ",", "2,,3", "--1", "1" * 30, ",".join("1" * 65)]


@pytest.mark.parametrize(("text", "shape"), SHAPES)
def test_a_shape(text: str, shape: tuple[int, ...]) -> None:
    assert parsed_shape(text) == shape


@pytest.mark.parametrize("text", NO_SHAPES)
def test_no_shape(text: str) -> None:
    assert parsed_shape(text) is None


def array(shape: list[int]) -> Any:
    return [array(shape[1:]) for _ in range(shape[0])] if shape else 0


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.data())
def test_an_array_has_its_shape_and_no_other(sizes: list[int], data: st.DataObject) -> None:
    unknown = data.draw(st.sets(st.integers(0, len(sizes) - 1)))
    shape = tuple(-1 if number in unknown else size for number, size in enumerate(sizes))
    value = array(sizes)
    assert shape_fault(value, shape) is None
    changed = data.draw(st.integers(0, len(sizes) - 1))
    assert shape_fault(value, (*sizes[:changed], sizes[changed] + 1, *sizes[changed + 1 :])) is not None
    if len(sizes) > 1:  # a flat list stands for more dimensions
        assert shape_fault(value, (*shape, 1)) is not None
        assert shape_fault(value, tuple(sizes[:-1])) is not None
