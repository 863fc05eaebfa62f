"""What names mean: the vocabularies that are judged, those that are not, and what a context does to them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from croissant.documents import CONTEXT, check, document

from corpusfmt.formats.croissant.shapes import DATASET

RAI = {row.name for row in DATASET.properties if row.name.startswith("rai:")}


def messages(tmp_path: Path, content: Any, *codes: str) -> list[tuple[str, str, str]]:
    report = check(tmp_path / "a.json", content)
    return [(each.code, each.message, each.hint) for each in report.findings if each.code in codes]


def test_every_property_of_rai_is_known(tmp_path: Path) -> None:
    assert len(RAI) == 20
    used = dict.fromkeys(RAI, "2024")
    claims = ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"]
    assert messages(tmp_path, document(conformsTo=claims, **used), "CRO117", "CRO213", "CRO214", "CRO217") == []


@pytest.mark.parametrize(
    ("written", "owner", "meant"),
    [
        ("rai:dataLimitation", "the RAI vocabulary", "rai:dataLimitations"),
        ("rai:dataCollectionTimeFrame", "the RAI vocabulary", "rai:dataCollectionTimeframe"),
        ("rai:socialImpact", "the RAI vocabulary", "rai:dataSocialImpact"),
        ("rai:useCases", "the RAI vocabulary", "rai:dataUseCases"),
        ("rai:annotationPlatform", "the RAI vocabulary", "rai:dataAnnotationPlatform"),
        ("rai:dataReleaseMaintenance", "the RAI vocabulary", "rai:dataReleaseMaintenancePlan"),
        ("personalSensitiveInformation", "schema.org", "rai:personalSensitiveInformation"),
        ("cr:dataBiases", "Croissant", "rai:dataBiases"),
        ("recordsets", "schema.org", "recordSet"),
    ],
)
def test_a_name_that_is_nearly_known(written: str, owner: str, meant: str, tmp_path: Path) -> None:
    message = f'dataset "a": {owner} has no property `{written}`'
    expected = [("CRO117", message, f"did you mean `{meant}`?")]
    assert messages(tmp_path, document(**{written: "x"}), "CRO117") == expected


def test_nobody_is_told_to_remove_what_is_unknown(tmp_path: Path) -> None:
    found = messages(tmp_path, document(**{"rai:usedPlatform": "x"}), "CRO117")
    assert [hint for _, _, hint in found] == ["correct the name, or use a vocabulary that has it"]


@pytest.mark.parametrize(
    ("prefix", "namespace"),
    [("prov", "http://www.w3.org/ns/prov#"), ("geocr", "http://mlcommons.org/croissant/geo/")],
)
def test_an_undeclared_prefix_of_another_vocabulary(prefix: str, namespace: str, tmp_path: Path) -> None:
    found = messages(tmp_path, document(**{f"{prefix}:x": "y"}), "CRO115", "CRO117")
    hint = f'add `"{prefix}": "{namespace}"` to the context'
    assert found == [("CRO115", f"prefix `{prefix}` is not declared", hint)]


@pytest.mark.parametrize(
    ("term", "definition", "reason"),
    [
        ("x", 5, "invalid term definition"),
        ("x", {"@id": 5}, "invalid IRI mapping"),
        ("x", {"@id": "no iri"}, "invalid IRI mapping"),
        ("x", {"@id": "sc:x", "@type": 7}, "invalid type mapping"),
        ("x", {"@id": "sc:x", "@container": "@bogus"}, "invalid container mapping"),
        ("x", {"@id": "sc:x", "@bogus": 5}, "invalid term definition"),
        ("@vocab", 5, "invalid vocab mapping"),
        ("@language", 5, "invalid default language"),
        ("@version", 2, "invalid @version value"),
        ("@type", "sc:kind", "keyword redefinition"),
        ("x", "x:y", "cyclic IRI mapping"),
    ],
)
def test_the_term_that_a_context_fails_by(term: str, definition: Any, reason: str, tmp_path: Path) -> None:
    report = check(tmp_path / "a.json", {**document(), "@context": {**CONTEXT, term: definition}})
    (finding,) = report.findings
    assert (finding.code, finding.location.pointer) == ("CRO112", f"/@context/{term}")
    assert finding.message == f"the context cannot be processed: {reason} (`{term}`)"
    assert "Appendix 1" in finding.hint


def test_two_terms_that_a_context_fails_by(tmp_path: Path) -> None:
    wrong = {**CONTEXT, "one": {"@id": "sc:one", "@type": 7}, "two": {"@id": "sc:two", "@container": "@bogus"}}
    report = check(tmp_path / "a.json", {**document(), "@context": wrong})
    assert [each.location.pointer for each in report.findings] == ["/@context/one"]


def test_a_large_context_is_not_searched(tmp_path: Path) -> None:
    many = {f"t{number}": f"https://example.org/{number}" for number in range(5000)}
    report = check(tmp_path / "a.json", {**document(), "@context": {**CONTEXT, **many, "x": 5}})
    assert [(each.code, each.location.pointer) for each in report.findings] == [("CRO112", "/@context")]


def test_a_context_that_is_not_croissant(tmp_path: Path) -> None:
    fields = [{"@type": "cr:Field", "@id": f"r/{name}", "dataType": "sc:Text", "source": "x"} for name in "ab"]
    records = {"@type": "cr:RecordSet", "@id": "r", "field": fields}
    content = {**document(recordSet=records, citeAs="x"), "@context": "https://schema.org/"}
    found = messages(tmp_path, content, "CRO115", "CRO117", "CRO119", "CRO203", "CRO405", "CRO419")
    terms = "`citeAs`, `conformsTo`, `recordSet`, `field`, `dataType`, `source`"
    hint = "take the context of Appendix 1 of the specification, or add the terms"
    assert found == [("CRO119", f"the context does not map 6 terms of Croissant: {terms}", hint)]


def test_a_class_of_another_namespace_is_named_with_it(tmp_path: Path) -> None:
    found = messages(tmp_path, document(distribution={"@type": "sc:FileObject"}), "CRO301")
    assert [message for _, message, _ in found] == [
        "`distribution` holds `sc:FileObject`, expected `cr:FileObject` or `cr:FileSet`"
    ]


@pytest.mark.parametrize(
    ("written", "meant"), [("string", "Text"), ("int", "Integer"), ("float", "Float"), ("Txt", "Text")]
)
def test_a_data_type_that_is_nearly_known(written: str, meant: str, tmp_path: Path) -> None:
    each = {"@type": "cr:Field", "@id": "r/a", "dataType": f"sc:{written}"}
    content = document(recordSet={"@type": "cr:RecordSet", "@id": "r", "field": each})
    ((_, message, hint),) = messages(tmp_path, content, "CRO421")
    assert message.endswith(f"no data type `sc:{written}`")
    assert hint == f"did you mean `sc:{meant}`?"


@pytest.mark.parametrize("source", [{}, {"extract": {"column": "a"}}])
def test_a_source_that_names_nothing(source: dict[str, Any], tmp_path: Path) -> None:
    each = {"@type": "cr:Field", "@id": "r/a", "dataType": "sc:Text", "source": source}
    records = {"@type": "cr:RecordSet", "@id": "r", "field": each}
    ((_, message, hint),) = messages(tmp_path, document(recordSet=records), "CRO133")
    assert re.sub(".*: ", "", message) == "`source` names no file, record set or field"
    assert hint == "add `fileObject`, `fileSet`, `recordSet` or `field`"


@pytest.mark.parametrize(
    ("moment", "codes"),
    [
        ("2016-12-31T23:59:60Z", []),
        ("20161231T235960.5Z", []),
        ("2017-01-01 05:29:60+05:30", []),
        ("2016-12-31T23:59:61Z", ["CRO217"]),
        ("2016-12-31T12:30:60Z", ["CRO217"]),
        ("2016-12-31T23:59:600Z", ["CRO217"]),
    ],
)
def test_a_leap_second_is_a_moment_of_iso_8601(moment: str, codes: list[str], tmp_path: Path) -> None:
    assert [code for code, _, _ in messages(tmp_path, document(datePublished=moment), "CRO217")] == codes
