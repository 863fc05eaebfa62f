"""Repairs of descriptions: the resulting text, what stays unchanged, and that no repair is left afterwards."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fixtures.croissant.builders import (
    BASE,
    CONTEXT,
    DAYS,
    DELETE,
    FILES,
    FILMS,
    IMAGES,
    MOODS,
    PICTURES,
    RATINGS,
    SPLITS,
    TABLE,
    ZIP,
    Json,
    edited,
    rendered,
    without,
)
from support import FIXTURES, REPOSITORY, every, run_cli
from test_fixtures import CASES, expected_of, input_of, name_of, report_of

import corpusfmt
from corpusfmt.formats.croissant.repairs.registry import repaired_codes
from corpusfmt.io.publish import publish_bytes

DESCRIBED = [case for case in CASES if "croissant" in case.parts]
NAME = "metadata.json"
LATER = {"/conformsTo": "http://mlcommons.org/croissant/1.1"}
MEMBER_SHA256 = "4301e379d850bd957784b94fe13cce6aeaebd10dcbf304856e3bf4b16fee1fe2"
TERM: Json = {"@type": "sc:DefinedTerm", "name": "General research use", "termCode": "DUO_0000042"}


def written(folder: Path, document: Any, text: str | None = None) -> Path:
    path = folder / NAME
    path.write_text(rendered(document)[0] if text is None else text, "utf-8")
    return path


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())


SAFE: list[tuple[str, Json, Json]] = [
    ("CRO114", {"/@context/cr": "https://mlcommons.org/croissant/"}, {"/@context/cr": "http://mlcommons.org/croissant/"}),
    ("CRO114", {"/@context/sc": "http://schema.org/"}, {"/@context/sc": "https://schema.org/"}),
    ("CRO115", {"/prov:wasDerivedFrom": {"@id": "https://example.org/x"}}, {"/@context/prov": "http://www.w3.org/ns/prov#"}),
    ("CRO117", {"/rai:useCases": "x"}, {"/rai:useCases": DELETE, "/rai:dataUseCases": "x"}),
    ("CRO119", {"/@context": without(CONTEXT, "column", "key")}, {"/@context/column": "cr:column", "/@context/key": "cr:key"}),
    ("CRO121", {f"{IMAGES}/@id": 7, f"{IMAGES}/field": []}, {f"{IMAGES}/@id": "7"}),
    ("CRO123", {f"{IMAGES}/@id": DELETE}, {f"{IMAGES}/@id": "images"}),
    ("CRO126", {**LATER, f"{FILMS}/field/1/repeated": True, "/@context/repeated": "cr:repeated"},
     {f"{FILMS}/field/1/repeated": DELETE, f"{FILMS}/field/1/isArray": True, "/@context/isArray": "cr:isArray"}),
    ("CRO132", {f"{IMAGES}/field/0/source": {"fileObject": {"@id": "pictures"}, "extract": {"fileProperty": "content"}}},
     {f"{IMAGES}/field/0/source": {"fileSet": {"@id": "pictures"}, "extract": {"fileProperty": "content"}}}),
    ("CRO133", {f"{FILMS}/field/0/source/fileObject": "films.csv"}, {f"{FILMS}/field/0/source/fileObject": {"@id": "films.csv"}}),
    ("CRO201", {"/@type": "sc:DataSet"}, {"/@type": "sc:Dataset"}),
    ("CRO203", {"/conformsTo": DELETE}, {"/conformsTo": "http://mlcommons.org/croissant/1.0"}),
    ("CRO204", {"/conformsTo": {"@id": "https://mlcommons.org/croissant/1.0"}},
     {"/conformsTo": {"@id": "http://mlcommons.org/croissant/1.0"}}),
    ("CRO214", {"/isLiveDataset": "yes"}, {"/isLiveDataset": True}),
    ("CRO216", {f"{ZIP}/contentUrl": "https://example.org/all files.zip"}, {f"{ZIP}/contentUrl": "https://example.org/all%20files.zip"}),
    ("CRO217", {"/datePublished": "31/12/2023"}, {"/datePublished": "2023-12-31"}),
    ("CRO217", {"/datePublished": "March 5, 2023"}, {"/datePublished": "2023-03-05"}),
    ("CRO218", {"/version": 2}, {"/version": "2.0.0"}),
    ("CRO218", {"/version": "v1.2"}, {"/version": "1.2.0"}),
    ("CRO219", {"/license": "mit"}, {"/license": "https://spdx.org/licenses/MIT.html"}),
    ("CRO305", {f"{TABLE}/encodingFormat": DELETE}, {f"{TABLE}/encodingFormat": "text/csv"}),
    ("CRO306", {f"{TABLE}/encodingFormat": "csv"}, {f"{TABLE}/encodingFormat": "text/csv"}),
    ("CRO308", {f"{ZIP}/sha256": "sha256:" + "AB" * 32}, {f"{ZIP}/sha256": "ab" * 32}),
    ("CRO308", {f"{ZIP}/sha256": "ab" * 16}, {f"{ZIP}/sha256": DELETE, f"{ZIP}/md5": "ab" * 16}),
    ("CRO311", {f"{PICTURES}/includes": "['a/*.jpg', 'b/*.jpg']"}, {f"{PICTURES}/includes": ["a/*.jpg", "b/*.jpg"]}),
    ("CRO311", {f"{PICTURES}/includes": "a**/*.jpg"}, {f"{PICTURES}/includes": "a*/*.jpg"}),
    ("CRO312", {f"{PICTURES}/includes": "/a/*.jpg"}, {f"{PICTURES}/includes": "a/*.jpg"}),
    ("CRO404", {f"{FILMS}/key/@id": "id"}, {f"{FILMS}/key/@id": "films/id"}),
    ("CRO411", {f"{IMAGES}/field/1/source/extract/fileProperty": "fileName"}, {f"{IMAGES}/field/1/source/extract/fileProperty": "filename"}),
    ("CRO415", {f"{FILMS}/field/1/source/transform": {}}, {f"{FILMS}/field/1/source/transform": DELETE}),
    ("CRO420", {"/@context/dataType": "cr:dataType"}, {"/@context/dataType": {"@id": "cr:dataType", "@type": "@vocab"}}),
    ("CRO421", {f"{FILMS}/field/1/dataType": "sc:Str"}, {f"{FILMS}/field/1/dataType": "sc:Text"}),
    ("CRO501", {"/@context/data": "cr:data"}, {"/@context/data": {"@id": "cr:data", "@type": "@json"}}),
    ("CRO504", {f"{MOODS}/data/0/moods~1weight": DELETE}, {f"{MOODS}/data/0/moods~1weight": None}),
    ("CRO505", {f"{MOODS}/data/0/moods~1weight": DELETE, f"{MOODS}/data/0/weight": 1},
     {f"{MOODS}/data/0/weight": DELETE, f"{MOODS}/data/0/moods~1weight": 1}),
    ("CRO505", {f"{MOODS}/data/0/weight": 1}, {f"{MOODS}/data/0/weight": DELETE}),
    ("CRO506", {f"{MOODS}/data/0/moods~1weight": "3"}, {f"{MOODS}/data/0/moods~1weight": 3}),
    ("CRO510", {f"{DAYS}/examples/0/days~1mood": DELETE, f"{DAYS}/examples/0/mood": "gay"},
     {f"{DAYS}/examples/0/mood": DELETE, f"{DAYS}/examples/0/days~1mood": "gay"}),
    ("CRO511", {f"{DAYS}/examples/0/days~1number": "12"}, {f"{DAYS}/examples/0/days~1number": 12}),
    ("CRO801", {**LATER, "/rai:dataBiases": "few"}, {"/conformsTo": [LATER["/conformsTo"], "http://mlcommons.org/croissant/RAI/1.0"]}),
    ("CRO804", {**LATER, "/usageInfo": {**TERM, "termCode": "DUO_42"}}, {"/usageInfo/termCode": "DUO_0000042"}),
]  # fmt: skip
REVIEWED: list[tuple[str, Json, Json]] = [
    ("CRO116", {"/@context/publisher": None}, {"/@context/publisher": DELETE}),
    ("CRO117", {"/keywrds": ["x"], "/keywords": DELETE}, {"/keywrds": DELETE, "/keywords": ["x"]}),
    ("CRO311", {f"{PICTURES}/includes": "[ab]/[]/[c[d.jpg"}, {f"{PICTURES}/includes": "[ab]/[[]]/[[]c[[]d.jpg"}),
    ("CRO120", {f"{FILMS}/field/0/isArray": True},
     {"/conformsTo": "http://mlcommons.org/croissant/1.1", "/@context/isArray": "cr:isArray"}),
    ("CRO122", {f"{MOODS}/@id": "my moods"}, {f"{MOODS}/@id": "my_moods"}),
    ("CRO126", {**LATER, f"{FILMS}/field/1/source/transform": {"jsonQuery": "$.a"}, "/@context/jsonQuery": "cr:jsonQuery"},
     {f"{FILMS}/field/1/source/transform": {"jsonPath": "$.a"}}),
    ("CRO131", {f"{TABLE}/containedIn/@id": "al.zip"}, {f"{TABLE}/containedIn/@id": "all.zip"}),
    ("CRO202", {"/@type": ["sc:Dataset", "sc:CreativeWork"]}, {"/@type": "sc:Dataset"}),
    ("CRO213", {"/version": ["1.0.0", "2.0.0"]}, {"/version": "1.0.0"}),
    ("CRO215", {"/creator": "Jane Doe"}, {"/creator": {"@type": "sc:Person", "name": "Jane Doe"}}),
    ("CRO217", {"/rai:dataCollectionTimeframe": "from 2020 to 2022"}, {"/rai:dataCollectionTimeframe": "2020/2022"}),
    ("CRO304", {f"{TABLE}/contentUrl": "../.././etc/passwd"}, {f"{TABLE}/contentUrl": "etc/passwd"}),
    ("CRO304", {f"{PICTURES}/includes": ["a/*.jpg", "../*.jpg"]}, {f"{PICTURES}/includes": ["a/*.jpg", "*.jpg"]}),
    ("CRO309", {f"{ZIP}/contentSize": "a lot"}, {f"{ZIP}/contentSize": DELETE}),
    ("CRO310", {f"{PICTURES}/includes": DELETE}, {f"{PICTURES}/includes": "*.jpg"}),
    ("CRO313", {f"{PICTURES}/containedIn": DELETE}, {f"{PICTURES}/containedIn": {"@id": "all.zip"}}),
    ("CRO314", {f"{ZIP}/containedIn": {"@id": "ratings.csv"}}, {f"{ZIP}/containedIn": DELETE}),
    ("CRO410", {f"{IMAGES}/field/0/source/extract": {"column": "a"}}, {f"{IMAGES}/field/0/source/extract": {"fileProperty": "content"}}),
    ("CRO410", {f"{FILMS}/field/0/source/extract/jsonPath": "$.id"}, {f"{FILMS}/field/0/source/extract/jsonPath": DELETE}),
    ("CRO412", {f"{FILMS}/field/0/source/extract": {"jsonPath": "$['id'"}}, {f"{FILMS}/field/0/source/extract": {"jsonPath": "$['id']"}}),
    ("CRO414", {f"{IMAGES}/field/1/source/transform/regex": "[0-9]+"}, {f"{IMAGES}/field/1/source/transform/regex": "([0-9]+)"}),
    ("CRO418", {f"{RATINGS}/field/3/source/format": "%d.%m.%Y"}, {f"{RATINGS}/field/3/source/format": "dd.MM.yyyy"}),
    ("CRO419", {f"{FILMS}/field/1/dataType": DELETE}, {f"{FILMS}/field/1/dataType": "sc:Text"}),
    ("CRO427", {f"{FILMS}/field/1/source/extract": DELETE}, {f"{FILMS}/field/1/source/extract": {"column": "title"}}),
    ("CRO505", {f"{MOODS}/data/0/moods~1weight": DELETE, f"{MOODS}/data/0/moods~1wieght": 1},
     {f"{MOODS}/data/0/moods~1wieght": DELETE, f"{MOODS}/data/0/moods~1weight": 1}),
    ("CRO510", {f"{DAYS}/examples/0/days~1mood": DELETE, f"{DAYS}/examples/0/days~1modo": "gay"},
     {f"{DAYS}/examples/0/days~1modo": DELETE, f"{DAYS}/examples/0/days~1mood": "gay"}),
    ("CRO522", {f"{MOODS}/key": DELETE}, {f"{MOODS}/key": {"@id": "moods/name"}}),
    ("CRO526", {f"{SPLITS}/data/0/splits~1url": "cr:DevSplit"}, {f"{SPLITS}/data/0/splits~1url": "cr:ValidationSplit"}),
    ("CRO804", {**LATER, "/usageInfo": {**TERM, "url": "http://purl.obolibrary.org/obo/DUO_0000018"}},
     {"/usageInfo/url": "http://purl.obolibrary.org/obo/DUO_0000042"}),
]  # fmt: skip


def titled(rows: list[tuple[str, Json, Json]]) -> list[Any]:
    return [pytest.param(*row, id=f"{row[0]}-{number}") for number, row in enumerate(rows)]


@pytest.mark.parametrize(("code", "edits", "repaired"), titled(SAFE))
def test_a_repair_changes_this_and_nothing_else(code: str, edits: Json, repaired: Json, tmp_path: Path) -> None:
    path = written(tmp_path, edited(BASE, edits))
    before = corpusfmt.validate(path)
    assert code in before.by_rule
    fixed = corpusfmt.fix(path)
    assert read(path) == edited(edited(BASE, edits), repaired)
    assert fixed.repaired.keys() == {code}
    assert code not in corpusfmt.validate(path).by_rule


@pytest.mark.parametrize(("code", "edits", "repaired"), titled(REVIEWED))
def test_a_repair_that_needs_a_review_is_made_when_asked_for(
    code: str, edits: Json, repaired: Json, tmp_path: Path
) -> None:
    document = edited(BASE, edits)
    path = written(tmp_path, document)
    fixed = corpusfmt.fix(path, select=[code])
    assert (fixed.changes, set(fixed.unsafe)) == ([], {code})
    assert read(path) == document
    assert corpusfmt.fix(path, unsafe=True, select=[code]).repaired.keys() == {code}
    assert read(path) == edited(document, repaired)


@pytest.mark.parametrize("case", every(4, DESCRIBED), ids=name_of)
def test_no_repair_is_left_and_a_second_run_changes_nothing(case: Path, tmp_path: Path) -> None:
    source = input_of(case)
    path = tmp_path / source.name
    (shutil.copytree if source.is_dir() else shutil.copy)(source, path)
    how = {
        name: value for name, value in expected_of(case)["arguments"].items() if name in ("format", "profile", "data")
    }
    corpusfmt.fix(path, unsafe=True, **how)
    assert corpusfmt.fix(path, unsafe=True, write=False, **how).changes == []
    report = corpusfmt.validate(path, max_per_rule=10_000, **how)
    assert [each.code for each in report.findings if each.fix] == []
    assert "GEN000" not in report.by_rule


def test_no_null_is_written_next_to_a_key_that_may_be_meant(tmp_path: Path) -> None:
    document = edited(BASE, {f"{MOODS}/data/0/moods~1weight": DELETE, f"{MOODS}/data/0/moods~1wieght": 1})
    path = written(tmp_path, document)
    assert corpusfmt.validate(path).by_rule.keys() >= {"CRO504", "CRO505"}
    assert corpusfmt.fix(path).changes == []
    corpusfmt.fix(path, unsafe=True)
    assert read(path)["recordSet"][3]["data"] == BASE["recordSet"][3]["data"]


@pytest.mark.deep
def test_the_page_says_how_many_findings_have_a_repair() -> None:
    findings = [each for case in DESCRIBED for each in report_of(case, max_per_rule=10_000).findings]
    fixes = [each.fix for each in findings if each.fix]
    repaired, by_default = (100 * each // len(findings) for each in (len(fixes), sum(fix.safe for fix in fixes)))
    page = " ".join((REPOSITORY / "docs/fix.md").read_text("utf-8").split())
    assert repaired >= 60
    assert f"Of the findings in the fixtures of this repository {repaired} % have a repair, {by_default} % one" in page


STYLES: list[tuple[str, Callable[[str], str]]] = [
    ("one line", lambda text: json.dumps(json.loads(text))),
    ("dense", lambda text: json.dumps(json.loads(text), separators=(",", ":"))),
    ("tabs", lambda text: json.dumps(json.loads(text), indent="\t")),
    ("CRLF", lambda text: text.replace("\n", "\r\n")),
    ("no newline at the end", lambda text: text.rstrip("\n")),
    ("a mark", lambda text: "\ufeff" + text),
    ("a page", lambda text: f'<!doctype html><p>é</p>\n<script type="application/ld+json">\n{text}</script>\n'),
]
TROUBLE = {
    "/version": "1.0",
    "/license": "mit",
    "/name": "Bewertungen für Filme 🎬",
    f"{TABLE}/encodingFormat": DELETE,
    f"{FILMS}/field/1/source/transform": {},
    "/prov:wasDerivedFrom": {"@id": "https://example.org/x"},
}


@pytest.mark.parametrize(("style", "write"), STYLES, ids=[name for name, _ in STYLES])
def test_the_rest_of_the_text_stays_as_its_author_wrote_it(
    style: str, write: Callable[[str], str], tmp_path: Path
) -> None:
    document = edited(BASE, TROUBLE)
    path = tmp_path / ("index.html" if style == "a page" else NAME)
    path.write_bytes(write(rendered(document)[0]).encode())
    assert sum(corpusfmt.fix(path).repaired.values()) == 5 + (style == "a mark")
    repaired = {
        "/version": "1.0.0",
        "/license": "https://spdx.org/licenses/MIT.html",
        f"{TABLE}/encodingFormat": "text/csv",
        f"{FILMS}/field/1/source/transform": DELETE,
        "/@context/prov": "http://www.w3.org/ns/prov#",
    }
    expected = write(rendered(edited(document, repaired))[0])
    assert path.read_bytes().decode() == expected.removeprefix("\ufeff")


def test_a_diff_is_what_git_applies(tmp_path: Path) -> None:
    path = written(tmp_path, edited(BASE, TROUBLE))
    before = path.read_bytes()
    done = run_cli("fix", NAME, "--diff", cwd=tmp_path)
    assert (done.returncode, path.read_bytes()) == (1, before)
    applied = subprocess.run(
        ["git", "apply", "--verbose"], input=done.stdout, cwd=tmp_path, capture_output=True, check=False
    )
    assert applied.returncode == 0, applied.stderr
    preview = path.read_bytes()
    path.write_bytes(before)
    done = run_cli("fix", NAME, cwd=tmp_path)
    assert (done.returncode, path.read_bytes()) == (0, preview)
    assert done.stdout.startswith(b"changed metadata.json\n")
    assert done.stderr == b"repaired 1 CRO115, 1 CRO218, 1 CRO219, 1 CRO305, 1 CRO415\n"
    assert run_cli("fix", NAME, "--diff", cwd=tmp_path).returncode == 0


def test_reports_carry_the_edits(tmp_path: Path) -> None:
    path = written(tmp_path, edited(BASE, {"/version": "1.0", "/@type": ["sc:Dataset", "sc:CreativeWork"]}))
    report = corpusfmt.validate(path)
    found = {each.code: each for each in report.findings}
    data = path.read_bytes()
    assert found["CRO202"].fix is not None
    assert not found["CRO202"].fix.safe
    assert found["CRO218"].fix is not None
    ((edit,), safe) = found["CRO218"].fix.edits, found["CRO218"].fix.safe
    assert (data[edit.start : edit.end], edit.text, safe) == (b'"1.0"', '"1.0.0"', True)
    (result,) = [
        each
        for each in json.loads(corpusfmt.render(report, "sarif"))["runs"][0]["results"]
        if each["ruleId"] == "CRO218"
    ]
    ((change,),) = (fix["artifactChanges"] for fix in result["fixes"])
    assert change["replacements"] == [
        {"deletedRegion": {"byteOffset": edit.start, "byteLength": 5}, "insertedContent": {"text": '"1.0.0"'}}
    ]
    saved = tmp_path / "run.json"
    saved.write_text(corpusfmt.render(report, "json"), "utf-8")
    again = run_cli("report", "render", saved, "--output-format", "json")
    assert json.loads(again.stdout)["findings"] == json.loads(saved.read_bytes())["findings"]


def test_sizes_and_digests_are_those_of_the_files_beside(tmp_path: Path) -> None:
    (tmp_path / "films.csv").write_bytes(b"id,title\n1,Alien\n")
    file = {"@type": "cr:FileObject", "@id": "films.csv", "contentUrl": "films.csv", "encodingFormat": "text/csv"}
    document = {**BASE, "distribution": [{**file, "contentSize": "a lot", "sha256": "to do"}], "recordSet": []}
    path = written(tmp_path, document)
    corpusfmt.fix(path)
    (repaired,) = read(path)["distribution"]
    assert repaired["contentSize"] == "17 B"
    assert corpusfmt.validate(path, data=True).counts["error"] == 0
    (tmp_path / "films.csv").write_bytes(b"id,title\n2,Brazil\n")
    assert corpusfmt.fix(path, data=True).changes == []
    assert corpusfmt.fix(path, data=True, unsafe=True).repaired.keys() == {"CRO602", "CRO603"}
    assert corpusfmt.validate(path, data=True).counts["error"] == 0


@pytest.mark.parametrize(
    ("claim", "repaired"),
    [
        ({"contentSize": "17 units"}, {"contentSize": "17 B"}),
        ({"contentSize": "about 3 GB"}, {}),
        ({"sha256": "ab" * 16}, {"md5": "ab" * 16}),
        ({"sha256": "ab" * 20}, {}),
    ],
)
def test_a_claim_about_another_file_is_not_replaced(claim: Json, repaired: Json, tmp_path: Path) -> None:
    (tmp_path / "films.csv").write_bytes(b"id,title\n1,Alien\n")
    file = {"@type": "cr:FileObject", "@id": "films.csv", "contentUrl": "films.csv", "encodingFormat": "text/csv"}
    code = "CRO309" if "contentSize" in claim else "CRO308"
    path = written(tmp_path, {**BASE, "distribution": [{**file, **claim}], "recordSet": []})
    fixed = corpusfmt.fix(path, select=[code])
    assert read(path)["distribution"] == [{**file, **(repaired or claim)}]
    assert (set(fixed.repaired), set(fixed.unsafe)) == (({code}, set()) if repaired else (set(), {code}))


def test_a_repair_that_changes_nothing_is_none(tmp_path: Path) -> None:
    path = written(tmp_path, edited(BASE, {f"{FILMS}/field/1/dataType": 1.5}))
    assert "CRO420" in corpusfmt.validate(path).by_rule
    fixed = corpusfmt.fix(path, select=["CRO420"])
    assert (fixed.changes, fixed.repaired) == ([], {})


@pytest.mark.parametrize(
    ("term", "place"),
    [("key", f"{MOODS}/key"), ("includes", f"{PICTURES}/includes"), ("dataType", f"{FILMS}/field/1/dataType")],
)
def test_a_term_of_another_meaning_is_not_written_again_and_again(term: str, place: str, tmp_path: Path) -> None:
    path = written(tmp_path, edited(BASE, {f"/@context/{term}": "cr:x", place: DELETE}))
    corpusfmt.fix(path, unsafe=True)
    text = path.read_text("utf-8")
    assert "CRO105" not in corpusfmt.validate(path).by_rule
    assert corpusfmt.fix(path, unsafe=True).changes == []
    assert path.read_text("utf-8") == text


FORMS: list[Callable[[Any], Any]] = [
    lambda value: [value],
    lambda value: {"@value": value},
    lambda value: [""],
    lambda value: {"@list": [value]},
    lambda _: None,
    lambda value: {"@id": value},
    lambda _: {},
    lambda value: [[value]],
    lambda _: 0,
    lambda value: {"@set": [value]},
    lambda _: [],
    lambda _: True,
    lambda _: "",
]


def with_other_forms(tree: Any, pointer: str) -> Iterator[Any]:
    """Yield a document with one value near a place in each form that JSON-LD has for it, in turn."""
    turn = 0
    for place in (pointer.rpartition("/")[0], pointer):
        holder = tree
        for step in place.split("/")[1:]:
            holder = holder[int(step) if isinstance(holder, list) else step.replace("~1", "/").replace("~0", "~")]
        places = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in places:
            old, holder[key] = holder[key], FORMS[turn % len(FORMS)](holder[key])
            yield tree
            holder[key] = old
            turn += 1


REPORTED = [json.loads(line) for line in (FIXTURES / "croissant" / "findings.jsonl").read_bytes().splitlines()]
REPAIRED = {
    found["rule"]: (f"{each['case']}/{found['path']}", found["pointer"])
    for each in REPORTED
    for found in each["findings"]
    if found["rule"] in repaired_codes() and found.get("pointer") and found["path"] == "input.json"
}


def test_a_description_that_only_lacks_recommended_properties_does_not_import_repairs(tmp_path: Path) -> None:
    assert "CRO212" not in repaired_codes()
    path = written(tmp_path, edited(BASE, {"/keywords": DELETE}))
    code = (
        "import corpusfmt, sys\n"
        f"print(dict(corpusfmt.validate({str(path)!r}).by_rule))\n"
        "print([name for name in sys.modules if '.repairs' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "{'CRO212': 1}\n[]\n"


@pytest.mark.parametrize("code", every(3, sorted(REPAIRED)))
def test_a_value_in_another_form_has_no_repair_that_breaks_the_text(code: str, tmp_path: Path) -> None:
    case, pointer = REPAIRED[code]
    for tree in islice(with_other_forms(read(FIXTURES / "croissant" / case), pointer), 10):
        path = written(tmp_path, tree)
        report = corpusfmt.validate(path, format="croissant")
        assert "GEN000" not in report.by_rule
        for fix in filter(None, (each.fix for each in report.findings)):
            data = path.read_bytes()
            for edit in sorted(fix.edits, key=lambda edit: edit.start, reverse=True):
                data = data[: edit.start] + edit.text.encode() + data[edit.end :]
            json.loads(data)


def test_a_context_in_lists_has_no_repair(tmp_path: Path) -> None:
    path = written(tmp_path, {**BASE, "@context": [[]]})
    assert "GEN000" not in corpusfmt.validate(path, format="croissant").by_rule


@pytest.mark.parametrize("text", ["202411", "2024111"])
def test_digits_that_are_not_a_day_are_left(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, edited(BASE, {"/datePublished": text}))
    assert corpusfmt.fix(path, unsafe=True).changes == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"version": 1.10', '"version": "1.10.0"'),
        ('"name": 1.10', '"name": "1.10"'),
        ('"name": 123456789012345678901234', '"name": "123456789012345678901234"'),
        ('"isLiveDataset": "0"', '"isLiveDataset": false'),
    ],
)
def test_a_number_keeps_its_digits(old: str, new: str, tmp_path: Path) -> None:
    name, text = old.split('"')[1], json.dumps({**BASE, "isLiveDataset": True})
    member = f'"{name}": {json.dumps(json.loads(text)[name])}'
    path = written(tmp_path, BASE, text.replace(member, old, 1))
    corpusfmt.fix(path)
    assert path.read_text("utf-8") == text.replace(member, new, 1)


REPEATED = [
    ('"z": 1, "z": 1', '"z": 1'),
    ('"z": 1, "z": 1, "z": 1, "z": 1', '"z": 1'),
    ('"z": 1, "z": 2, "z": 1', ""),
    ('"z": {"y": 1}, "z": {"y": 1}', ""),
    ('"z": ",", "y": {"z": ","}, "z": ","', '"z": ",", "y": {"z": ","}'),
]


@pytest.mark.parametrize(("old", "new"), REPEATED)
def test_a_repeated_name_goes_only_if_all_its_values_are_one(old: str, new: str, tmp_path: Path) -> None:
    text = rendered(BASE)[0].replace("{", f'{{"keywords": [{{{old}}}],', 1)
    path = written(tmp_path, BASE, text)
    corpusfmt.fix(path, select=["CRO105"])
    assert path.read_text("utf-8") == text.replace(old, new or old)


SLIPS = [
    ("[" + "[1,]," * 200 + "]", "[" + "[1]," * 199 + "[1]]", False),
    ('["NaN, ]", NaN, ",]", -Infinity,]', '["NaN, ]", null, ",]", null]', True),
    ("[" + "NaN," * 200 + "0]", "[" + "null," * 200 + "0]", True),
    ("[1,]" + ', "x": [2,] 3, "y": [",]"]', "[1]" + ', "x": [2] 3, "y": [",]"]', False),
]


@pytest.mark.parametrize(("old", "new", "unsafe"), SLIPS)
def test_slips_are_repaired_at_once_and_strings_stay(old: str, new: str, unsafe: bool, tmp_path: Path) -> None:
    text = rendered(BASE)[0].replace("{", '{"keywords": LIST,', 1)
    path = written(tmp_path, BASE, "\ufeff" * 70 + text.replace("LIST", old))
    corpusfmt.fix(path, unsafe=unsafe)
    assert path.read_text("utf-8") == text.replace("LIST", new)
    assert corpusfmt.fix(path, unsafe=unsafe, write=False).changes == []


@pytest.mark.parametrize(
    ("case", "code", "edit"),
    [
        ("invalid/member-of-another-digest", "CRO603", {f"{FILES}/2/sha256": MEMBER_SHA256}),
        ("valid/set-by-name", "CRO614", {f"{PICTURES}/includes": "**/*.png"}),
    ],
)
def test_what_the_data_shows_is_written(case: str, code: str, edit: Json, tmp_path: Path) -> None:
    path = tmp_path / NAME
    shutil.copytree(FIXTURES / "croissant/1.0" / case / "input", tmp_path, dirs_exist_ok=True)
    before = read(path)
    assert corpusfmt.fix(path, data=True, select=[code]).changes == []
    assert corpusfmt.fix(path, data=True, select=[code], unsafe=True).repaired.keys() == {code}
    assert read(path) == edited(before, edit)


@pytest.mark.parametrize("target", ["../films.csv", "/etc/hostname", "link.csv"])
def test_no_file_elsewhere_is_measured(target: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "films.csv").write_bytes(b"secret\n")
    (folder / "link.csv").symlink_to(tmp_path / "films.csv")
    file = {"@type": "cr:FileObject", "@id": "films.csv", "contentUrl": target, "encodingFormat": "text/csv"}
    path = written(folder, {**BASE, "distribution": [file], "recordSet": []})
    assert corpusfmt.fix(path, unsafe=True).changes == []


def test_a_link_is_not_followed_and_what_is_remote_is_left(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "here").mkdir()
    path = written(tmp_path / "there", edited(BASE, {"/version": "1.0"}))
    before = path.read_bytes()
    (tmp_path / "here" / NAME).symlink_to(path)
    (tmp_path / "there" / "other.json").symlink_to(path)
    for link in (tmp_path / "here" / NAME, tmp_path / "there" / "other.json"):
        with pytest.raises(corpusfmt.CorpusfmtError):
            corpusfmt.fix(link, format="croissant")
    fsspec.filesystem("memory").pipe("/fix/metadata.json", before)
    with pytest.raises(corpusfmt.UsageError, match="is remote: copy it"):
        corpusfmt.fix("memory://fix/metadata.json")
    assert path.read_bytes() == before


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    path = written(tmp_path, edited(BASE, {"/version": "1.0"}))
    path.chmod(0o640)
    corpusfmt.fix(path)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_write_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, edited(BASE, {"/version": "1.0"}))
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        publish_bytes(path, b"x")
    with pytest.raises(OSError, match="No space left"):
        corpusfmt.fix(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [NAME]


SAMPLES = sorted((FIXTURES / "croissant" / "samples" / "valid").rglob("*.json"))
SAMPLES = [each for each in SAMPLES if b"mlcommons.org/croissant/1.0" in each.read_bytes()]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: "-".join(sample.parts[-2:]))
def test_a_sample_is_brought_to_1_1(sample: Path, tmp_path: Path) -> None:
    path = tmp_path / NAME
    shutil.copy(sample, path)
    corpusfmt.fix(path, to="1.1")
    report = corpusfmt.validate(path)
    assert (report.version, report.counts["error"]) == ("1.1", 0)
    assert corpusfmt.fix(path, to="1.1").changes == []


PEER = os.environ.get("CORPUSFMT_MLCROISSANT", "")
LOADED = "import sys, mlcroissant; sys.exit(bool(mlcroissant.Dataset(sys.argv[1]).metadata.ctx.issues.errors))"


@pytest.mark.skipif(not PEER, reason="CORPUSFMT_MLCROISSANT names the Python of an environment with mlcroissant")
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: "-".join(sample.parts[-2:]))
def test_mlcroissant_loads_a_sample_that_was_brought_to_1_1(sample: Path, tmp_path: Path) -> None:
    path = tmp_path / NAME
    shutil.copy(sample, path)
    corpusfmt.fix(path, to="1.1")
    done = subprocess.run([PEER, "-c", LOADED, path], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


OLD: Json = {
    "@context": {
        "@vocab": "https://schema.org/",
        "sc": "https://schema.org/",
        "ml": "http://mlcommons.org/schema/",
        "data": {"@id": "ml:data", "@type": "@json"},
        "dataType": {"@id": "ml:dataType", "@type": "@vocab"},
        "wd": "https://www.wikidata.org/wiki/",
        **{name: f"ml:{name}" for name in ("recordSet", "field", "source", "extract", "column", "references", "key")},
    },
    "@type": "sc:Dataset",
    "name": "Films",
    "citation": "Doe 2020",
    "dataBiases": "few",
    "distribution": [
        {"@type": "sc:FileObject", "name": "all.zip", "contentUrl": "all.zip", "encodingFormat": "application/zip"},
        {"@type": "sc:FileSet", "name": "my films", "containedIn": "all.zip", "encodingFormat": "text/csv"},
    ],
    "recordSet": [
        {
            "@type": "ml:RecordSet",
            "name": "films",
            "key": "id",
            "field": [
                {"@type": "ml:Field", "name": "id", "dataType": "sc:Integer",
                 "source": {"distribution": "my films", "extract": {"column": "id"}}},
                {"@type": "ml:Field", "name": "mood", "dataType": "sc:Text", "ml:source": "#{my films/mood}",
                 "references": {"field": "moods/name"}},
            ],
        },
        {
            "@type": "ml:RecordSet",
            "name": "moods",
            "isEnumeration": True,
            "field": [{"@type": "ml:Field", "name": "name", "dataType": "sc:Str"}],
            "data": [{"name": "gay"}],
        },
    ],
}  # fmt: skip


def test_a_description_of_0_8_gets_identifiers_and_the_vocabulary_of_1_0(tmp_path: Path) -> None:
    path = written(tmp_path, OLD)
    assert corpusfmt.fix(path).changes == []
    corpusfmt.fix(path, to="1.0")
    found = read(path)
    films, moods = found["recordSet"]
    assert (found["conformsTo"], found["citeAs"], found["rai:dataBiases"]) == (
        "http://mlcommons.org/croissant/1.0",
        "Doe 2020",
        "few",
    )
    assert [(each["@type"], each["@id"]) for each in found["distribution"]] == [
        ("cr:FileObject", "all.zip"),
        ("cr:FileSet", "my_films"),
    ]
    assert found["distribution"][1]["containedIn"] == {"@id": "all.zip"}
    assert films["key"] == {"@id": "films/id"}
    assert films["field"][0]["source"] == {"fileSet": {"@id": "my_films"}, "extract": {"column": "id"}}
    assert films["field"][1]["source"] == {"fileSet": {"@id": "my_films"}, "extract": {"column": "mood"}}
    assert films["field"][1]["references"] == {"field": {"@id": "moods/name"}}
    assert (moods["dataType"], moods["data"]) == ("sc:Enumeration", [{"moods/name": "gay"}])
    assert moods["field"][0]["dataType"] == "sc:Text"
    assert "ml" not in found["@context"]
    assert corpusfmt.validate(path).version == "1.0"
    corpusfmt.fix(path, to="1.1")
    assert corpusfmt.validate(path).version == "1.1"


FILMS_OF_0_8 = b"id,title,tags,seen,mood\n1,Alien,dark;cold,05.12.2003,tense\n2,Brazil,odd,28.02.1999,\n"
OLD_WITH_DATA: Json = {
    "@context": {
        **OLD["@context"],
        **{name: f"ml:{name}" for name in ("includes", "isEnumeration", "fileProperty", "transform", "regex", "separator", "format", "repeated", "subField")},
        "@language": "en",
    },
    "@type": "sc:Dataset",
    "name": "Films",
    "description": "Films and notes.",
    "url": "https://example.org/films",
    "citation": "Doe 2020",
    "distribution": [
        {"@type": "sc:FileObject", "name": "films.csv", "contentUrl": "films.csv", "encodingFormat": "text/csv",
         "sha256": hashlib.sha256(FILMS_OF_0_8).hexdigest()},
        {"@type": "sc:FileObject", "name": "all-notes", "contentUrl": "notes.zip", "encodingFormat": "application/zip",
         "sha256": DELETE},
        {"@type": "sc:FileSet", "name": "notes", "containedIn": "all-notes", "encodingFormat": "text/plain", "includes": "*.txt"},
    ],
    "recordSet": [
        {"@type": "ml:RecordSet", "name": "moods", "isEnumeration": True, "key": "name",
         "field": [{"@type": "ml:Field", "name": "name", "dataType": "sc:Text"}], "data": [{"name": "tense"}, {"name": "gay"}]},
        {
            "@type": "ml:RecordSet",
            "name": "films_seen",
            "key": "id",
            "field": [
                {"@type": "ml:Field", "name": "id", "dataType": "sc:Integer",
                 "source": {"distribution": "films.csv", "extract": {"column": "id"}}},
                {"@type": "ml:Field", "name": "title", "dataType": "sc:Text",
                 "source": {"distribution": "films.csv", "extract": {"column": "title"}}},
                {"@type": "ml:Field", "name": "tags", "dataType": "sc:Text", "repeated": True,
                 "source": {"distribution": "films.csv", "extract": {"column": "tags"}, "transform": {"separator": ";"}}},
                {"@type": "ml:Field", "name": "seen", "dataType": "sc:Date",
                 "source": {"distribution": "films.csv", "extract": {"column": "seen"}, "transform": {"format": "%d.%m.%Y"}}},
                {"@type": "ml:Field", "name": "mood", "dataType": "sc:Text", "references": {"field": "moods/name"},
                 "source": {"distribution": "films.csv", "extract": {"column": "mood"}}},
            ],
        },
        {
            "@type": "ml:RecordSet",
            "name": "notes_read",
            "field": [
                {"@type": "ml:Field", "name": "film", "dataType": "sc:Integer",
                 "source": {"distribution": "notes", "extract": {"fileProperty": "filename"}, "transform": {"regex": "^(\\d+)[.]txt$"}}},
                {"@type": "ml:Field", "name": "note", "dataType": "sc:Text",
                 "source": {"distribution": "notes", "extract": {"fileProperty": "content"}}},
            ],
        },
    ],
}  # fmt: skip
RECORDS = """
import sys, mlcroissant
for path in sys.argv[1:]:
    dataset = mlcroissant.Dataset(path)
    assert not dataset.metadata.ctx.issues.errors
    print([[*map(str, row.values())] for each in dataset.metadata.record_sets for row in dataset.records(each.uuid)])
"""


@pytest.mark.skipif(not PEER, reason="CORPUSFMT_MLCROISSANT names the Python of an environment with mlcroissant")
def test_mlcroissant_reads_the_same_records_of_0_8_and_what_it_was_brought_to(tmp_path: Path) -> None:
    (tmp_path / "films.csv").write_bytes(FILMS_OF_0_8)
    with zipfile.ZipFile(tmp_path / "notes.zip", "w") as archive:
        archive.writestr("1.txt", "loud")
        archive.writestr("2.txt", "long")
    digest = hashlib.sha256((tmp_path / "notes.zip").read_bytes()).hexdigest()
    old = written(tmp_path, edited(OLD_WITH_DATA, {"/distribution/1/sha256": digest}))
    paths = [old]
    for name, steps in {"1.0.json": ["1.0"], "1.1.json": ["1.1"], "stepwise.json": ["1.0", "1.1"]}.items():
        paths.append(tmp_path / name)
        shutil.copy(old, paths[-1])
        for step in steps:
            corpusfmt.fix(paths[-1], to=step, format="croissant")
        report = corpusfmt.validate(paths[-1], format="croissant", data=True)
        assert (report.version, report.counts["error"]) == (steps[-1], 0)
    done = subprocess.run([PEER, "-c", RECORDS, *paths], capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    found = done.stdout.split("\n")[:-1]
    assert all(text in found[0] for text in ("Brazil", "2003-12-05", "long"))
    assert found == [found[0]] * len(paths)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--to", "2.0"), b"error: --to is '2.0', expected a version of croissant: 0.8, 1.0, 1.1\n"),
        (("--to", "1.1", "--format", "dolma"), b"error: --to is '1.1', expected a version of dolma: 1.0\n"),
        (("--format", "nope"), b"error: unknown format 'nope'"),
        (("--profile", "nope"), b"error: unknown profile 'nope'"),
    ],
)
def test_wrong_usage_says_what_is_right(options: tuple[str, ...], says: bytes, tmp_path: Path) -> None:
    done = run_cli("fix", written(tmp_path, BASE), *options)
    assert done.returncode == 2
    assert done.stderr.startswith(says)
