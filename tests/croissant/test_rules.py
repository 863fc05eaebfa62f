"""Edge cases of rules: what a rule reports apart from its plainest case, and what it leaves to another rule."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from croissant.documents import CONTEXT, check, document
from croissant.test_records import field, file, files, record_set

from corpusfmt.formats import Detection
from corpusfmt.formats.croissant.format import FORMAT
from corpusfmt.formats.croissant.model.values import FORMS, has_form
from corpusfmt.io.paths import entry_of

Json = dict[str, Any]

NEWER = "http://mlcommons.org/croissant/1.1"


SPECIFICATION = re.compile(
    r"croissant-(1\.[01]|geo-1\.0|rai-1\.0|tasks)(#[a-z0-9-]+)?|the source in the message|RFC 8259, section [0-9.]+|JSON-LD 1\.1( API)?, section [0-9.]+"
    r"|RDF 1\.1 Turtle, section [0-9.]+; RDF 1\.1 XML Syntax, section [0-9.]+"
)


def found(tmp_path: Path, content: Json, *codes: str) -> list[tuple[str, str | None, str]]:
    """Return rule, place and message of the findings by some rules."""
    report = check(tmp_path / "a.json", content)
    return [(each.code, each.location.pointer, each.message) for each in report.findings if each.code in codes]


def inline(name: str, **more: Any) -> Json:
    """Return a field without a source, of record set `r`."""
    return {"@type": "cr:Field", "@id": f"r/{name}", "dataType": "sc:Text", **more}


def test_what_a_rule_rests_on_can_be_looked_up() -> None:
    named = {rule.code: rule.spec for rule in FORMAT.rules if rule.spec}
    assert named.pop("CRO290") == "the source in the message"  # the requirement of a profile
    assert {code: spec for code, spec in named.items() if not SPECIFICATION.fullmatch(spec)} == {}


@pytest.mark.parametrize(
    ("creator", "name"),
    [
        ({"@type": ["sc:Person", 5]}, "type"),
        ({"@type": 5}, "type"),
        ({"@reverse": "x"}, "@reverse"),
        ({"@index": 5}, "@index"),
    ],
)
def test_the_place_of_what_is_no_json_ld(creator: Json, name: str, tmp_path: Path) -> None:
    place = f"/creator/{next(iter(creator))}"
    expected = [("CRO103", place, f"invalid {name} value")]
    assert found(tmp_path, document(creator=creator), "CRO103") == expected


@pytest.mark.parametrize("claim", [5, True])
def test_a_claim_that_is_no_text(claim: Any, tmp_path: Path) -> None:
    written = "true" if claim is True else "5"
    message = f"`conformsTo` is `{written}`, expected `http://mlcommons.org/croissant/1.0`"
    assert found(tmp_path, document(conformsTo=claim), "CRO203", "CRO204") == [("CRO204", "/conformsTo", message)]


def test_a_reference_where_text_is_expected(tmp_path: Path) -> None:
    message = 'dataset "a": `description` is a reference, expected a string'
    expected = [("CRO214", "/description", message)]
    assert found(tmp_path, document(description={"@id": "x"}), "CRO206", "CRO214") == expected


@pytest.mark.parametrize("kind", ["cr:FileObject", "cr:FileSet", "cr:RecordSet", "cr:Field", "sc:Thing"])
def test_an_id_that_is_defined_again_outside_of_the_lists(kind: str, tmp_path: Path) -> None:
    content = document(distribution=file("f", "text/csv"), about={"@id": "f", "@type": kind})
    told = [("CRO124", "/about/@id", "`f` is defined again, first defined on line 1")]
    assert found(tmp_path, content, "CRO124") == told * kind.startswith("cr:")


def test_an_id_under_another_name(tmp_path: Path) -> None:
    content = {**document(id="a b", creator={"id": 7}), "@context": {**CONTEXT, "id": "@id"}}
    assert found(tmp_path, content, "CRO121", "CRO122") == [
        ("CRO121", "/creator/id", "`@id` is `7`, expected a string"),
        ("CRO122", "/@id", 'dataset "a b": `a b` is not an IRI'),
    ]


ABSOLUTE = ["/a.csv", "C:\\data\\a.csv", "c:/a.csv", "\\\\host\\a.csv"]


@pytest.mark.parametrize("path", [*ABSOLUTE, "data/C:/a.csv", "c:a.csv"])
def test_absolute_paths(path: str, tmp_path: Path) -> None:
    inside = file("f", "text/csv", contentUrl=path, containedIn={"@id": "z"})
    content = document(distribution=[file("z", "application/zip"), inside, files("s", path)])
    expected = [
        ("CRO304", "/distribution/1/contentUrl", f'distribution "f": `contentUrl` `{path}` is absolute'),
        ("CRO312", "/distribution/2/includes", f'distribution "s": `includes` `{path}` is absolute'),
    ]
    assert found(tmp_path, content, "CRO304", "CRO312") == expected * (path in ABSOLUTE)


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("[jpg", "has an unclosed bracket"),
        ("[a]/[b", "has an unclosed bracket"),
        ("[]", "has an unclosed bracket"),
        ("*.\\", "ends with an escape"),
        ("a**/b", "has `**` next to other characters of a path segment, where it means the same as `*`"),
        ("[ab]*", ""),
        ("[]a]", ""),
        ("**/a", ""),
        ("['']", ""),
    ],
)
def test_patterns_that_are_not_well_formed(pattern: str, fault: str, tmp_path: Path) -> None:
    content = document(distribution=files("s", pattern))
    message = f'distribution "s": `includes` `{pattern}` {fault}'
    assert found(tmp_path, content, "CRO311") == ([("CRO311", "/distribution/includes", message)] if fault else [])


@pytest.mark.parametrize(
    ("source", "codes"),
    [
        ({"@id": "f"}, ["CRO419"]),
        ({"fileObject": {"@id": "f"}}, ["CRO419"]),
        ({"fileObject": {"@id": "gone"}}, ["CRO131", "CRO419"]),
        ({"@id": "gone"}, ["CRO131"]),
        ({"recordSet": {"@id": "gone"}}, ["CRO131"]),
        ({"field": {"@id": "gone"}}, ["CRO131"]),
        ({"@id": "r/b"}, []),
    ],
)
def test_a_field_without_data_type_takes_it_from_a_field(source: Json, codes: list[str], tmp_path: Path) -> None:
    untyped = {"@type": "cr:Field", "@id": "r/a", "source": source}
    records = record_set(untyped, field("b", "f", {"column": "b"}))
    content = document(distribution=file("f", "text/csv"), recordSet=records)
    assert sorted(code for code, _, _ in found(tmp_path, content, "CRO131", "CRO419")) == codes


@pytest.mark.parametrize(
    ("reference", "codes"),
    [
        ({"@id": "q/a"}, ["CRO405"]),
        ({"field": {"@id": "q/a"}}, ["CRO405"]),
        ({"fileObject": {"@id": "f"}, "extract": {"column": "a"}}, []),
        ({"fileSet": {"@id": "s"}, "extract": {"fileProperty": "filename"}}, []),
    ],
)
def test_a_reference_to_files_is_a_source(reference: Json, codes: list[str], tmp_path: Path) -> None:
    other = record_set({**field("a", "f", {"column": "a"}), "@id": "q/a"}, name="q")
    records = record_set(inline("a", references=reference))
    content = document(distribution=[file("f", "text/csv"), files("s", "*.txt")], recordSet=[records, other])
    assert [code for code, _, _ in found(tmp_path, content, "CRO131", "CRO132", "CRO405")] == codes


@pytest.mark.parametrize(("target", "codes"), [("s", []), ("r", []), ("gone", ["CRO131"]), ("r/a", ["CRO132"])])
def test_examples_that_stand_elsewhere(target: str, codes: list[str], tmp_path: Path) -> None:
    records = record_set(field("a", "s-set", {"fileProperty": "content"}), examples=[{"@id": target}])
    content = document(distribution=[files("s", "*.txt"), files("s-set", "*.md")], recordSet=records)
    assert [code for code, _, _ in found(tmp_path, content, "CRO131", "CRO132", "CRO133")] == codes


def test_fields_that_inline_records_may_lack(tmp_path: Path) -> None:
    nested = inline("nested", subField={**inline("x"), "@id": "r/nested/x"})
    drawn = field("drawn", "f", {"column": "a"})
    fields = [inline("a"), inline("b"), inline("fixed", **{"cr:value": "x"}), nested, drawn]
    content = document(recordSet=record_set(*fields, data=[{"r/a": "x"}, {"r/a": "y", "r/b": "z"}]))
    content |= {"conformsTo": NEWER, "distribution": file("f", "text/csv")}
    message = 'recordSet "r" › field "r/b": missing from 1 of the records in `data`'
    assert found(tmp_path, content, "CRO504") == [("CRO504", "/recordSet/data/0", message)]


def test_an_id_that_looks_like_a_keyword_still_names_a_field(tmp_path: Path) -> None:
    fields = [inline("a"), {**inline("b"), "@id": "@name"}]
    content = document(recordSet=record_set(*fields, data=[{"r/a": "x"}, {"r/a": "y", "@name": "z"}]))
    message = 'recordSet "r" › field "@name": missing from 1 of the records in `data`'
    assert found(tmp_path, content, "CRO504") == [("CRO504", "/recordSet/data/0", message)]


@pytest.mark.parametrize("target", ["q/a", "r/a", "s/a"])
def test_only_inline_records_of_others_are_looked_up(target: str, tmp_path: Path) -> None:
    of_file = record_set({**field("a", "f", {"column": "a"}), "@id": "q/a"}, name="q")
    of_data = record_set({**inline("a"), "@id": "s/a"}, name="s", data=[{"s/a": "x"}, {"s/a": None}])
    above = inline("above", references={"@id": target})
    records = record_set(inline("a"), above, data=[{"r/a": "x", "r/above": "z"}, {"r/a": "y", "r/above": None}])
    content = document(distribution=file("f", "text/csv"), recordSet=[records, of_file, of_data])
    message = 'recordSet "r" › field "r/above": `z` is not a value of `s/a`'
    expected = [("CRO509", "/recordSet/0/data/0", message)] if target == "s/a" else []
    assert found(tmp_path, content, "CRO509") == expected


@pytest.mark.parametrize(
    ("parent", "expected"),
    [
        ({"@id": "r/a"}, []),
        ({"source": {"@id": "r/a"}}, []),
        ("r/a", ["CRO133: `parentField` is `r/a`, expected a reference"]),
        (5, ["CRO133: `parentField` is `5`, expected a reference"]),
        ({"@id": "gone"}, ["CRO131: `parentField` names `gone`, but no node has this `@id`"]),
    ],
)
def test_what_a_parent_field_names(parent: Any, expected: list[str], tmp_path: Path) -> None:
    below = {**field("b", "f", {"column": "b"}), "@id": "r/n/b"}
    nested = {"@type": "cr:Field", "@id": "r/n", "dataType": "cr:RecordSet", "parentField": parent, "subField": below}
    content = document(
        distribution=file("f", "text/csv"), recordSet=record_set(field("a", "f", {"column": "a"}), nested)
    )
    report = check(tmp_path / "a.json", content)
    told = [each for each in report.findings if each.severity == "error" and each.code != "CRO307"]
    assert [f"{each.code}: {each.message.rpartition(': ')[2]}" for each in told] == expected
    assert {each.location.pointer for each in told} <= {"/recordSet/field/1/parentField"}


def test_a_type_that_looks_like_a_keyword_is_none(tmp_path: Path) -> None:
    expected = check(tmp_path / "plain.json", document()).by_rule
    assert check(tmp_path / "a.json", document(**{"@type": ["sc:Dataset", "@foo"]})).by_rule == expected


def test_what_looks_like_a_keyword_is_no_class_of_schema_org(tmp_path: Path) -> None:
    report = check(tmp_path / "a.json", document(recordSet=record_set(inline("a", dataType=["@text", "sc:Text"]))))
    assert not [each.message for each in report.findings if "sc:@text" in each.message]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("lineNumber", "did you mean `lineNumbers`?"),
        ("size", "write `fullpath`, `filename`, `content`, `lines` or `lineNumbers`"),
    ],
)
def test_a_property_that_files_do_not_have(name: str, hint: str, tmp_path: Path) -> None:
    records = record_set(field("a", "s-set", {"fileProperty": name}))
    report = check(tmp_path / "a.json", document(distribution=files("s-set", "*.txt"), recordSet=records))
    (told,) = (each for each in report.findings if each.code == "CRO411")
    assert told.message.endswith(f"extract: unknown file property `{name}`")
    assert told.hint == hint


VALUES = [True, 1, 1.0, 1.5, "x", "2024-02-29", "2024-02-30", "2024-02-29T10:00:00Z", None, [1]]


@pytest.mark.parametrize(
    ("kind", "fitting"),
    [
        ("sc:Boolean", ["True"]),
        ("sc:Integer", ["1", "1.0"]),
        ("sc:Number", ["1", "1.0", "1.5"]),
        ("sc:Float", ["1", "1.0", "1.5"]),
        ("sc:Date", ["'2024-02-29'", "'2024-02-29T10:00:00Z'"]),
        ("sc:DateTime", ["'2024-02-29'", "'2024-02-29T10:00:00Z'"]),
        ("sc:Text", [repr(each) for each in VALUES if isinstance(each, str)]),
        ("sc:ImageObject", [repr(each) for each in VALUES if each is not None]),
    ],
)
def test_inline_values_by_type(kind: str, fitting: list[str], tmp_path: Path) -> None:
    fields = [inline(str(number), dataType=kind) for number in range(len(VALUES))]
    row = {f"r/{number}": value for number, value in enumerate(VALUES)}
    report = check(tmp_path / "a.json", document(recordSet=record_set(*fields, data=row)), max_per_rule=len(VALUES))
    told = {each.message.partition('"r/')[2].partition('"')[0] for each in report.findings if each.code == "CRO506"}
    fits = [repr(value) for number, value in enumerate(VALUES) if str(number) not in told]
    assert fits == [repr(each) for each in VALUES if repr(each) in fitting or each is None]


@pytest.mark.parametrize(
    ("more", "codes"),
    [
        ({"data": "x"}, ["CRO501"]),
        ({"data": 5}, ["CRO501"]),
        ({"data": {"r/a": "x"}}, ["CRO501"]),
        ({"examples": "https://example.org/rows"}, []),
        ({"examples": 5}, ["CRO501"]),
        ({"examples": [{"r/a": "x"}, {"r/a": "y"}]}, ["CRO501"]),
    ],
)
def test_records_that_are_not_mapped_as_json(more: Json, codes: list[str], tmp_path: Path) -> None:
    context = {**CONTEXT, "data": "cr:data", "examples": "cr:examples"}
    content = {**document(recordSet=record_set(inline("a"), **more)), "@context": context}
    assert [code for code, _, _ in found(tmp_path, content, "CRO133", "CRO501", "CRO502")] == codes


@pytest.mark.parametrize("context", [CONTEXT, {**CONTEXT, "url": {"@type": "@id"}, "sameAs": {"@type": "@id"}}])
def test_addresses_that_are_none(context: Json, tmp_path: Path) -> None:
    content = {**document(url="my data", sameAs=["https://example.org/a", "my page"]), "@context": context}
    assert found(tmp_path, content, "CRO216") == [
        ("CRO216", "/url", "`url` is `my data`, expected a URL"),
        ("CRO216", "/sameAs/1", "`sameAs` is `my page`, expected a URL"),
    ]


@pytest.mark.parametrize(
    ("name", "more", "codes"),
    [
        ("name", {}, []),
        ("label", {}, ["CRO521"]),
        ("label", {"cr:equivalentProperty": "sc:name"}, []),
        ("label", {"cr:equivalentProperty": {"@id": "sc:name"}}, []),
        ("label", {"cr:equivalentProperty": "https://schema.org/name"}, []),
        ("label", {"cr:equivalentProperty": "sc:alternateName"}, ["CRO521"]),
        ("label", {"dataType": ["sc:Text", "sc:name"]}, []),
        ("first/name", {}, []),
        ("names", {}, ["CRO521"]),
    ],
)
def test_what_is_the_name_of_an_enumeration(name: str, more: Json, codes: list[str], tmp_path: Path) -> None:
    fields = [inline(name, **more), inline("url", dataType="sc:URL")]
    content = document(recordSet=record_set(*fields, dataType="sc:Enumeration", key={"@id": f"r/{name}"}))
    assert [code for code, _, _ in found(tmp_path, content, "CRO521", "CRO522", "CRO523")] == codes


LEAVING = ["../a.csv", "./../a.csv", "a//../../b.csv", "a\\..\\..\\b.csv", "a/b/../../../c.csv"]


@pytest.mark.parametrize("path", [*LEAVING, "a/../b.csv", "a/./b/../../c.csv", "..a/b..csv"])
def test_paths_that_leave_their_container(path: str, tmp_path: Path) -> None:
    inside = file("f", "text/csv", contentUrl=path, containedIn={"@id": "z"})
    content = document(distribution=[file("z", "application/zip"), inside])
    message = f'distribution "f": `contentUrl` `{path}` points outside its container'
    assert found(tmp_path, content, "CRO304") == [("CRO304", "/distribution/1/contentUrl", message)] * (path in LEAVING)


@pytest.mark.parametrize(
    ("nodes", "place", "message"),
    [
        ([{"@type": "sc:Person"}], "/@graph/0/@type", "the type is `sc:Person`"),
        ([{"@type": ["sc:Thing", "sc:Person"]}], "/@graph/0/@type", "the type is `sc:Person` or `sc:Thing`"),
        ([{"@type": "sc:Person"}, {"@type": "sc:Thing"}], "", "no node has type Dataset"),
        ([{"name": "a"}], "", "no node has type Dataset"),
    ],
)
def test_what_is_no_data_set(nodes: list[Json], place: str, message: str, tmp_path: Path) -> None:
    content = {"@context": CONTEXT, "@graph": nodes}
    assert found(tmp_path, content, "CRO201") == [("CRO201", place, f"{message}, expected `sc:Dataset`")]


TABLES = [
    "text/csv",
    "text/tsv",
    "text/tab-separated-values",
    "application/x-parquet",
    "application/vnd.apache.parquet",
]


@pytest.mark.parametrize("kind", ["image/x-any", "audio/x-any", "video/x-any", *TABLES, "application/json"])
def test_what_files_of_a_type_do_not_have(kind: str, tmp_path: Path) -> None:
    column = kind.endswith("/x-any")
    path = column or kind in TABLES
    for extract, misfits in (({"jsonPath": "$.a"}, path), ({"column": "a"}, column)):
        content = document(distribution=[file("f", kind)], recordSet=record_set(field("a", "f", extract)))
        assert bool(found(tmp_path, content, "CRO410")) is misfits


@pytest.mark.parametrize("name", ["repeated", "isArray"])
def test_each_of_several_inline_values_is_of_the_type(name: str, tmp_path: Path) -> None:
    for several, values in ((True, [1, 2]), (False, [1, 2]), (True, [1, "x"])):
        records = record_set(inline("a", dataType="sc:Integer", **{name: several}), data=[{"r/a": values}])
        context = {**CONTEXT, "isArray": "cr:isArray"}
        content = document(recordSet=records) | {"@context": context}
        expected = [] if several and "x" not in values else ["CRO506"]
        assert [code for code, *_ in found(tmp_path, content, "CRO506")] == expected


def test_a_kind_of_creative_work_is_one(tmp_path: Path) -> None:
    works = {"@type": "sc:DigitalDocument", "name": "Terms"}, {"@type": "sc:Person", "name": "Jane"}
    report = [check(tmp_path / "a.json", document(license=each)).by_rule for each in works]
    assert "CRO208" not in report[0]
    assert "GEN000" not in report[0]
    assert report[0] != report[1]


def test_of_several_claims_the_first_is_told_of(tmp_path: Path) -> None:
    claims = ["http://example.org/1", "http://example.org/2"]
    ((code, place, message),) = found(tmp_path, document(conformsTo=claims), "CRO204")
    assert (code, place) == ("CRO204", "/conformsTo/0")
    assert message.startswith("`conformsTo` is `http://example.org/1`")


def test_what_is_excluded_stays_in_its_container_too(tmp_path: Path) -> None:
    content = document(distribution=[files("s", "*.txt", excludes=["a/*", "../b/*"])])
    ((code, place, _),) = found(tmp_path, content, "CRO304")
    assert (code, place) == ("CRO304", "/distribution/0/excludes/1")


@pytest.mark.parametrize("kind", ["application/jsonl", "application/x-jsonl", "application/x-ndjson", "text/csv"])
def test_rows_are_no_value_without_an_extract(kind: str, tmp_path: Path) -> None:
    content = document(distribution=[file("f", kind)], recordSet=record_set(field("a", "f", None)))
    ((_, _, message),) = found(tmp_path, content, "CRO427")
    assert message.endswith(f"`extract` is missing: each value is a whole file of type `{kind}`")


def test_a_description_that_leads_out_of_its_folder_is_one(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "croissant.json").write_text("{}", "utf-8")
    (tmp_path / "data/croissant.json").symlink_to("../croissant.json")
    assert FORMAT.detect(entry_of(str(tmp_path / "data"))) == Detection("", "the name croissant.json")


def test_a_field_without_an_id_is_asked_for_nowhere(tmp_path: Path) -> None:
    unnamed = {name: value for name, value in inline("b").items() if name != "@id"} | {"name": "b"}
    content = document(recordSet=record_set(inline("a"), unnamed, data=[{"r/a": "x"}]))
    assert found(tmp_path, content, "CRO504") == []


LONG = [
    "://" * 1_000_000,
    " " * 1_000_000 + "x",
    "a " * 1_000_000 + "://x",
    "1" + " " * 1_000_000 + "x",
    "a:" * 1_000_000,
]


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_a_long_text_is_decided(form: str) -> None:
    """A pattern that takes the square of the length would not end."""
    for text in LONG:
        has_form(text, form, ("Text", "URL"))
