"""Repairs of descriptions: the resulting text, what stays unchanged, and that no repair is left afterwards."""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
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
    field,
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


PARTS = {DAYS: "days", f"{DAYS}/field/0": "days/number", f"{DAYS}/field/1": "days/mood"}
NAMELESS: Json = {
    f"{each}/{key}": value
    for each, name in PARTS.items()
    for key, value in {"@id": DELETE, "name": name.rpartition("/")[2]}.items()
}
ARRAY: Json = {
    **LATER,
    "/@context/isArray": "cr:isArray",
    "/@context/arrayShape": "cr:arrayShape",
    f"{FILMS}/field/0/isArray": True,
}


def written(folder: Path, document: Any, text: str | None = None) -> Path:
    path = folder / NAME
    path.write_text(rendered(document)[0] if text is None else text, "utf-8")
    return path


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())


SAFE: list[tuple[str, Json, Json]] = [
    ("CRO114", {"/@context/cr": "https://mlcommons.org/croissant/"}, {"/@context/cr": "http://mlcommons.org/croissant/"}),
    ("CRO114", {"/@context/sc": "http://schema.org/"}, {"/@context/sc": "https://schema.org/"}),
    ("CRO114", {"/@context/rai": "https://example.org/rai#", "/rai:dataBiases": "none known"}, {"/@context/rai": "http://mlcommons.org/croissant/RAI/"}),
    ("CRO316", {f"{ZIP}/contentUrl": "https://huggingface.co/datasets/example/films/blob/main/all.zip"},
     {f"{ZIP}/contentUrl": "https://huggingface.co/datasets/example/films/resolve/main/all.zip"}),
    ("CRO115", {"/prov:wasDerivedFrom": {"@id": "https://example.org/x"}}, {"/@context/prov": "http://www.w3.org/ns/prov#"}),
    ("CRO117", {"/rai:useCases": "x"}, {"/rai:useCases": DELETE, "/rai:dataUseCases": "x"}),
    ("CRO117", {"/rai:useCases": "A: x.", "/rai:dataUsecases": "B: y."},
     {"/rai:useCases": DELETE, "/rai:dataUsecases": DELETE, "/rai:dataUseCases": ["A: x.", "B: y."]}),
    ("CRO117", {"/rai:useCases": ["A: x.", "B: y."], "/rai:dataUseCases": "B: y."},
     {"/rai:useCases": DELETE, "/rai:dataUseCases": ["B: y.", "A: x."]}),
    ("CRO117", {"/rai:useCases": "A: x.", "/rai:dataUseCases": "A: x."}, {"/rai:useCases": DELETE}),
    ("CRO119", {"/@context": without(CONTEXT, "column", "key")}, {"/@context/column": "cr:column", "/@context/key": "cr:key"}),
    ("CRO119", {**LATER, f"{FILMS}/field/0": {**field("films/id", "sc:Integer"), "value": 7}}, {"/@context/value": "cr:value"}),
    ("CRO121", {f"{IMAGES}/@id": 7, f"{IMAGES}/field": []}, {f"{IMAGES}/@id": "7"}),
    ("CRO123", {f"{IMAGES}/@id": DELETE}, {f"{IMAGES}/@id": "images"}),
    ("CRO123", NAMELESS, {f"{each}/@id": name for each, name in PARTS.items()}),
    ("CRO123", {f"{ZIP}/@id": DELETE, f"{ZIP}/name": "all.zip"}, {f"{ZIP}/@id": "all.zip"}),
    ("CRO126", {**LATER, f"{FILMS}/field/1/repeated": True, "/@context/repeated": "cr:repeated"},
     {f"{FILMS}/field/1/repeated": DELETE, f"{FILMS}/field/1/isArray": True, "/@context/isArray": "cr:isArray"}),
    ("CRO132", {f"{IMAGES}/field/0/source": {"fileObject": {"@id": "pictures"}, "extract": {"fileProperty": "content"}}},
     {f"{IMAGES}/field/0/source": {"fileSet": {"@id": "pictures"}, "extract": {"fileProperty": "content"}}}),
    ("CRO133", {f"{FILMS}/field/0/source/fileObject": "films.csv"}, {f"{FILMS}/field/0/source/fileObject": {"@id": "films.csv"}}),
    ("CRO201", {"/@type": "sc:DataSet"}, {"/@type": "sc:Dataset"}),
    ("CRO203", {"/conformsTo": DELETE}, {"/conformsTo": "http://mlcommons.org/croissant/1.0"}),
    ("CRO203", {"/conformsTo": DELETE, "/@context/isArray": "cr:isArray", f"{FILMS}/field/0/isArray": True}, LATER),
    ("CRO204", {"/conformsTo": {"@id": "https://mlcommons.org/croissant/1.0"}},
     {"/conformsTo": {"@id": "http://mlcommons.org/croissant/1.0"}}),
    ("CRO204", {"/conformsTo": "http://mlcommons.org/croissant/RAI/1.0"},
     {"/conformsTo": ["http://mlcommons.org/croissant/RAI/1.0", "http://mlcommons.org/croissant/1.0"]}),
    ("CRO214", {"/isLiveDataset": "yes"}, {"/isLiveDataset": True}),
    *(("CRO214", {**ARRAY, f"{FILMS}/field/0/arrayShape": shape}, {f"{FILMS}/field/0/arrayShape": "1550,1195"})
      for shape in ("[1550, 1195]", [1550, 1195], "1550x1195")),
    ("CRO213", {**ARRAY, f"{FILMS}/field/0/arrayShape": ["3", "4"]}, {f"{FILMS}/field/0/arrayShape": "3,4"}),
    ("CRO214", {**ARRAY, f"{FILMS}/field/0/arrayShape": 3}, {f"{FILMS}/field/0/arrayShape": "3"}),
    ("CRO216", {f"{ZIP}/contentUrl": "https://example.org/all files.zip"}, {f"{ZIP}/contentUrl": "https://example.org/all%20files.zip"}),
    ("CRO217", {"/datePublished": "31/12/2023"}, {"/datePublished": "2023-12-31"}),
    ("CRO217", {"/datePublished": "March 5, 2023"}, {"/datePublished": "2023-03-05"}),
    ("CRO217", {"/rai:dataCollectionTimeframe": {"@type": "sc:DateTime", "startDate": "2026-02-01", "endDate": "2026-05-01"}},
     {"/rai:dataCollectionTimeframe": "2026-02-01/2026-05-01"}),
    ("CRO217", {"/rai:dataCollectionTimeframe": 2026}, {"/rai:dataCollectionTimeframe": "2026"}),
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
    ("CRO117", {"/rai:dataCollectionTypeOthers": "Letters.", "/rai:dataCollectionTimeframe": "2020-01-01"},
     {"/rai:dataCollectionTypeOthers": DELETE, "/rai:dataCollectionType": "Letters."}),
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


#: The rules among these whose repair removes a value.
RAI = (
    "rai:useCases",
    "rai:limitations",
    "rai:dataBiases",
    "rai:dataLimitations",
    "rai:dataUseCases",
    "rai:dataUsecases",
)
REMOVALS = {"CRO202", "CRO213", "CRO314", "CRO410"}


def titled(rows: list[tuple[str, Json, Json]]) -> list[Any]:
    return [pytest.param(*row, id=f"{row[0]}-{number}") for number, row in enumerate(rows)]


@pytest.mark.parametrize(("code", "edits", "repaired"), titled(SAFE))
def test_a_repair_changes_this_and_nothing_else(code: str, edits: Json, repaired: Json, tmp_path: Path) -> None:
    path = written(tmp_path, edited(BASE, edits))
    before = corpusfmt.validate(path)
    assert code in before.by_rule
    fixed = corpusfmt.fix(path)
    assert read(path) == edited(edited(BASE, edits), repaired)
    assert code in fixed.repaired | fixed.removed
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
    fixed = corpusfmt.fix(path, unsafe=True, select=[code])
    assert (fixed.repaired | fixed.removed).keys() == {code}
    assert set(fixed.removed) <= REMOVALS
    assert read(path) == edited(document, repaired)


# What has a form of its own, which a repair corrects; anything else of several words is said by the author.
FORMAL = {
    "@id", "@type", "arrayShape", "contentSize", "contentUrl", "dateCreated", "dateModified", "datePublished", "dataType",
    "encodingFormat", "excludes", "format", "includes", "license", "md5", "rai:dataCollectionTimeframe", "sdVersion", "sha256", "url", "version",
}  # fmt: skip


def said(path: Path) -> tuple[set[str], list[str], int]:
    """Return what the author of a description says in words, its other values, and how often a name is repeated."""
    words, values, repeated = set(), [], 0

    def counted(pairs: list[tuple[str, Any]]) -> Json:
        nonlocal repeated
        repeated += len(pairs) - len(dict(pairs))
        return dict(pairs)

    pending = [("", json.loads(path.read_bytes(), object_pairs_hook=counted))]
    while pending:
        name, value = pending.pop()
        if isinstance(value, dict) and value.keys() - {"@type"} == {"startDate", "endDate"}:
            value = f"{value['startDate']}/{value['endDate']}"  # as `fix` writes an object of two dates
        if isinstance(value, dict):
            pending += [each for each in value.items() if each[0] != "@context"]
        elif isinstance(value, list):
            pending += [(name, each) for each in value]
        elif isinstance(value, str) and " " in value.strip() and name not in FORMAL:
            words.add(value)
        elif value is not None and value == value:  # noqa: PLR0124 - NaN becomes null
            values.append(str(value))
    return words, values, repeated


def repaired_twice(path: Path, **how: Any) -> None:
    """Repair a description: nothing that its author says is lost, no name occurs twice, and no repair is left."""
    document = path / NAME if path.is_dir() else path
    try:
        before = said(document)
    except (ValueError, RecursionError):
        before = set(), [], 0
    fixed = corpusfmt.fix(path, unsafe=True, **how)
    assert corpusfmt.fix(path, unsafe=True, write=False, **how).changes == []
    report = corpusfmt.validate(path, max_per_rule=10_000, **how)
    assert [each.code for each in report.findings if each.fix] == []
    assert "GEN000" not in report.by_rule
    if before[0] and fixed.changes:
        after = said(document)
        assert [each for each in before[0] if not any(each in value for value in (*after[0], *after[1]))] == []
        # Values of two names of one property that are equal, perhaps once repaired, become one.
        assert (
            len(before[1]) <= len(after[1]) + fixed.repaired["CRO117"]
            or set(before[1]) <= set(after[1])
            or fixed.removed
        )
        assert before[2] >= after[2]


@pytest.mark.parametrize("case", every(4, DESCRIBED), ids=name_of)
def test_a_second_run_changes_nothing_and_nothing_is_lost(case: Path, tmp_path: Path) -> None:
    source = input_of(case)
    path = tmp_path / source.name
    (shutil.copytree if source.is_dir() else shutil.copy)(source, path)
    names = ("format", "profile", "data")
    how = {name: value for name, value in expected_of(case)["arguments"].items() if name in names}
    repaired_twice(path, **how)


PARSED = [path for case in DESCRIBED if (path := case / "input.json").is_file() and b"@graph" not in path.read_bytes()]


def slip(rng: random.Random, name: str) -> str:
    """Return a name with a slip of the pen, or in other words that begin with it."""
    at = rng.randrange(len(name))
    forms = [name[:at] + name[at + 1 :], name[:at] + name[at].swapcase() + name[at + 1 :], f"{name}s", f"{name}Others"]
    return rng.choice(forms)


def mutate(rng: random.Random, tree: Any) -> None:
    """Change one member of a description: lost, twice, under another name or elsewhere, or of another form."""
    objects, pending = [], [tree]
    while pending:
        value = pending.pop()
        objects += [value] if isinstance(value, dict) and value else []
        pending += list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    holder = rng.choice([each for each in objects if each is not tree.get("@context")])
    name = rng.choice(sorted(holder))
    other = rng.choice(objects)
    match rng.randrange(6):
        case 0:
            del holder[name]
        case 1:
            holder[slip(rng, name) or "x"] = rng.choice(
                [holder[name], "Words of the author.", ["More words.", "And more."]]
            )
        case 2:
            holder[slip(rng, name) or "x"] = holder.pop(name)
        case 3:
            holder[name] = rng.choice(FORMS)(holder[name])
        case 4:
            holder[name] = copy.deepcopy(other.get(name, "Words instead."))
        case 5:
            holder[rng.choice(RAI)] = "Words about the data."


@pytest.mark.parametrize("first", every(100, range(0, 2000, 20)))
def test_nothing_is_lost_of_what_is_wrong_in_several_ways(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 20):
        rng = random.Random(seed)
        try:
            tree = read(rng.choice(PARSED))
            for _ in range(rng.randrange(1, 5)):
                mutate(rng, tree)
        except (ValueError, RecursionError, AttributeError, IndexError):
            continue  # bytes that are no object
        repaired_twice(written(tmp_path, tree), format="croissant")


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
    assert repaired >= 48
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


def test_an_extract_of_terms_that_mean_others_is_kept(tmp_path: Path) -> None:
    path = written(tmp_path, edited(BASE, {"/@context/column": "sc:Text"}))
    before = path.read_bytes()
    assert "CRO408" in corpusfmt.validate(path).by_rule
    assert corpusfmt.fix(path, unsafe=True, select=["CRO408", "CRO427"]).changes == []
    assert path.read_bytes() == before


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


def test_the_description_in_a_corpus_is_repaired_with_it(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    shutil.copytree(FIXTURES / "dolma/1.0/valid/attributes-gz/input", corpus)
    described = run_cli("describe", corpus, "-o", corpus / "croissant.json", "--name", "x")
    assert described.returncode == 0, described.stderr
    good = (corpus / "croissant.json").read_bytes()
    (corpus / "croissant.json").write_bytes(
        good.replace(b'"http://mlcommons.org/croissant/1.1"', b'"https://mlcommons.org/croissant/1.1"')
    )
    assert b" 1 fixable: `corpusfmt fix corpus`." in run_cli("validate", "corpus", cwd=tmp_path).stdout
    assert b"+++ b/corpus/croissant.json\n" in run_cli("fix", "corpus", "--diff", cwd=tmp_path).stdout
    assert run_cli("fix", "corpus", cwd=tmp_path).returncode == 0
    assert (corpus / "croissant.json").read_bytes() == good


def test_a_description_on_one_line_has_a_diff_of_its_values(tmp_path: Path) -> None:
    text = (FIXTURES / "croissant/1.0/invalid/container-dangling/input.json").read_text("utf-8")
    (tmp_path / "a.json").write_text(json.dumps(json.loads(text)))
    diff = run_cli("fix", "a.json", "--diff", "--unsafe", cwd=tmp_path).stdout.decode().splitlines()
    assert [line for line in diff if line[0] in "+-"][2:] == ['-"@id": "al.zip"},', '+"@id": "all.zip"},']
    assert len(diff) == 11
