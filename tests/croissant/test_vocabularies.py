"""The meaning of names: vocabularies that are checked, others that are not, and the effect of a context."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from croissant.documents import CONTEXT, check, document
from rdflib.namespace import SDO

from corpusfmt._resources import resource
from corpusfmt.formats.croissant.model.nodes import MISTAKEN_NAMESPACES, NAMESPACES
from corpusfmt.formats.croissant.model.shapes import DATASET, EXTENSION_SHAPES, VOCABULARIES

RAI = {row.name for row in DATASET.properties if row.name.startswith("rai:")}


def messages(tmp_path: Path, content: Any, *codes: str) -> list[tuple[str, str, str]]:
    report = check(tmp_path / "a.json", content)
    return [(each.code, each.message, each.hint) for each in report.findings if each.code in codes]


def test_every_property_of_rai_is_known(tmp_path: Path) -> None:
    assert len(RAI) == 20
    used = dict.fromkeys(RAI, "2024")
    claims = ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"]
    assert messages(tmp_path, document(conformsTo=claims, **used), "CRO117", "CRO213", "CRO214", "CRO217") == []


# Names in docs/croissant_geo.ttl and tasks/croissant-tasks.ttl of mlcommons/croissant, July 2026.
GEO = """
    bandConfiguration bandNamesList bandwidth centerWavelength channelList coordinateReferenceSystem instrument
    multiWavelengthConfiguration observatory recordEndpoint samplingStrategy solarInstrumentCharacteristics spatialBias
    spatialIndex spatialResolution spectralBandMetadata temporalResolution timeSeriesIndex totalBands
    """.split()  # noqa: SIM905 - a word list reads best as words
CLASSES_OF_GEO = {
    "BandConfiguration", "SpectralBand", "MultiWavelengthConfiguration", "SolarInstrumentCharacteristics",
}  # fmt: skip
TASKS = """
    environment evaluatedSolution evaluation evaluationResults execution implementation input metric output schema subTask
    tests value
    """.split()  # noqa: SIM905 - as above
CLASSES_OF_TASKS = {
    "EvaluationResult", "EvaluationSpec", "EvaluationTask", "ExecutionSpec", "ImplementationSpec", "InputSpec", "OutputSpec",
    "Task", "TaskProblem", "TaskSolution",
}  # fmt: skip


def test_the_names_of_geocroissant_and_tasks_are_those_of_their_vocabulary_files() -> None:
    assert VOCABULARIES["geocr"].properties == {f"geocr:{name}" for name in [*GEO, "bandNameList"]}
    assert VOCABULARIES["geocr"].classes == {f"geocr:{name}" for name in CLASSES_OF_GEO}
    tasks = [shape for shape in EXTENSION_SHAPES.values() if shape.section == "Tasks"]
    assert {row.name for shape in tasks for row in shape.properties} == {
        *(f"cr:{name}" for name in TASKS),
        "sc:isBasedOn",
    }
    # The file only mentions the other two, as ranges.
    assert {shape.name for shape in tasks} == {f"cr:{name}" for name in (*CLASSES_OF_TASKS, "ExecutionInfo", "Test")}


@pytest.mark.parametrize(
    ("kind", "name", "spec", "codes"),
    [
        ("TaskProblem", "output", "OutputSpec", []),
        ("TaskProblem", "output", "InputSpec", ["CRO812"]),
        ("TaskSolution", "input", "InputSpec", ["CRO813"]),
        ("TaskSolution", "input", "OutputSpec", []),
    ],
)
def test_a_property_is_left_open_by_its_own_spec(
    kind: str, name: str, spec: str, codes: list[str], tmp_path: Path
) -> None:
    task = {
        "@type": f"cr:{kind}",
        "sc:isBasedOn": {"@id": "https://example.org/p"},
        f"cr:{name}": {"@type": f"cr:{spec}"},
    }
    if kind == "TaskSolution":
        task["cr:implementation"] = {"@type": "sc:SoftwareSourceCode", "name": "x"}
    assert [code for code, _, _ in messages(tmp_path, {"@context": CONTEXT, **task}, "CRO812", "CRO813")] == codes


@pytest.mark.parametrize(
    ("written", "owner", "meant"),
    [
        ("rai:dataLimitation", "the RAI vocabulary", "rai:dataLimitations"),
        ("rai:dataCollectionTimeFrame", "the RAI vocabulary", "rai:dataCollectionTimeframe"),
        ("rai:useCases", "the RAI vocabulary", "rai:dataUseCases"),
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


@pytest.mark.parametrize("written", ["rai:usedPlatform", "rai:dataLimitat"])
def test_nobody_is_told_to_remove_what_is_unknown(written: str, tmp_path: Path) -> None:
    found = messages(tmp_path, document(**{written: "x"}), "CRO117")
    assert [hint for _, _, hint in found] == ["correct the name, or use a vocabulary that has it"]


@pytest.mark.parametrize("name", ["prov:wasQuotedFrom", "geocr:spatialBias"])
def test_an_undeclared_prefix_of_another_vocabulary(name: str, tmp_path: Path) -> None:
    prefix = name.partition(":")[0]
    hint = f'add `"{prefix}": "{NAMESPACES[prefix]}"` to the context'
    expected = [("CRO115", f"prefix `{prefix}` is not declared", hint)]
    assert messages(tmp_path, document(**{name: "y"}), "CRO115", "CRO117") == expected


@pytest.mark.parametrize(
    ("term", "definition", "reason"),
    [
        ("x", 5, "invalid term definition"),
        ("x", {"@id": 5}, "invalid IRI mapping"),
        ("x", {"@id": "no iri"}, "invalid IRI mapping"),
        ("x", {"@id": "sc:x", "@type": 7}, "invalid type mapping"),
        ("x", {"@id": "sc:x", "@container": "@bogus"}, "invalid container mapping"),
        ("x", {"@id": "sc:x", "@bogus": 5}, "invalid term definition"),
        ("x", {"@id": "sc:x", "@prefix": 5}, "invalid @prefix value"),
        ("x", {"@id": "sc:x", "@nest": 5}, "invalid @nest value"),
        ("x", "Doe et al. A corpus. https://example.org/paper", "invalid IRI mapping"),
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


@pytest.mark.parametrize(
    ("terms", "place"),
    [
        ({"one": {"@id": "sc:one", "@type": 7}, "two": {"@id": "sc:two", "@container": "@bogus"}}, "one"),
        ({"title": "name", "label": "sc", "x": {"@id": "no iri"}}, "x"),
    ],
    ids=["two that fail", "terms that need others"],
)
def test_the_first_term_that_a_context_fails_by(terms: dict[str, Any], place: str, tmp_path: Path) -> None:
    report = check(tmp_path / "a.json", {**document(), "@context": {**CONTEXT, **terms}})
    assert [each.location.pointer for each in report.findings] == [f"/@context/{place}"]


def test_a_large_context_is_not_searched(tmp_path: Path) -> None:
    many = {f"t{number}": f"https://example.org/{number}" for number in range(5000)}
    report = check(tmp_path / "a.json", {**document(), "@context": {**CONTEXT, **many, "x": 5}})
    assert [(each.code, each.location.pointer) for each in report.findings] == [("CRO112", "/@context")]


@pytest.mark.parametrize("context", [{}, [], None, [{}], [None, {}]])
def test_a_context_that_holds_nothing_is_none(context: Any, tmp_path: Path) -> None:
    content = {"@context": context, "@type": "https://schema.org/Dataset"}
    hint = "add the context of Appendix 1 of the specification"
    assert messages(tmp_path, content, "CRO111") == [("CRO111", "`@context` is missing", hint)]


@pytest.mark.parametrize("wrong", [iri for iri, prefix in MISTAKEN_NAMESPACES.items() if prefix in CONTEXT])
def test_a_mistaken_namespace_is_told_once_and_read_as_meant(wrong: str, tmp_path: Path) -> None:
    prefix = MISTAKEN_NAMESPACES[wrong]
    right = NAMESPACES[prefix]
    used = document(isLiveDataset="no", **{"rai:dataBiases": 5, "sc:description": ["x", "y"]})
    expected = check(tmp_path / "right.json", used).by_rule
    report = check(tmp_path / "a.json", {**used, "@context": {**CONTEXT, prefix: wrong}})
    (told,) = (each for each in report.findings if each.code == "CRO114")
    assert (told.message, told.hint) == (f"the namespace is `{wrong}`, expected `{right}`", f"write `{right}`")
    assert told.location.pointer == f"/@context/{prefix}"
    assert report.by_rule == {**expected, "CRO114": 1}


def test_no_term_that_the_appendix_leaves_out_is_lost(tmp_path: Path) -> None:
    packed = {"@type": "cr:FileObject", "@id": "z", "contentUrl": "z.zip", "encodingFormat": "application/zip"}
    inside = {"@type": "cr:FileSet", "@id": "s", "includes": "*", "excludes": "*.md", "containedIn": {"@id": "z"}}
    steps = [{"delimiter": "/"}, {"jsonQuery": "a"}]
    source = {"fileSet": {"@id": "s"}, "extract": {"fileProperty": "fullpath"}, "transform": steps, "samplingRate": 8}
    each = {"@type": "cr:Field", "@id": "r/a", "dataType": "sc:Text", "source": source}
    each["equivalentProperty"] = "sc:name"
    records = {"@type": "cr:RecordSet", "@id": "r", "field": each}
    content = document(distribution=[packed, inside], recordSet=records)
    for left_out in ("containedIn", "excludes", "delimiter", "jsonQuery", "samplingRate", "equivalentProperty"):
        assert left_out not in CONTEXT
    assert messages(tmp_path, content, "CRO117", "CRO118", "CRO119", "CRO131", "CRO313", "CRO416") == []


def test_a_context_that_is_not_croissant(tmp_path: Path) -> None:
    fields = [{"@type": "cr:Field", "@id": f"r/{name}", "dataType": "sc:Text", "source": "x"} for name in "ab"]
    records = {"@type": "cr:RecordSet", "@id": "r", "field": fields}
    content = {**document(recordSet=records, citeAs="x"), "@context": "https://schema.org/"}
    found = messages(tmp_path, content, "CRO115", "CRO117", "CRO119", "CRO203", "CRO405", "CRO419")
    terms = "`citeAs`, `conformsTo`, `recordSet`, `field`, `dataType`, `source`"
    hint = "use the context of Appendix 1 of the specification, or add the terms"
    assert found == [("CRO119", f"the context does not map 6 Croissant terms: {terms}", hint)]


def test_a_second_claim_under_schema_org_is_no_loss(tmp_path: Path) -> None:
    table = {"@type": "cr:FileObject", "@id": "f", "contentUrl": "f.csv", "sc:conformsTo": "x"}
    source = {"fileObject": {"@id": "f"}, "extract": {"column": "a"}}
    each = {"@type": "cr:Field", "@id": "r/a", "dataType": "sc:Text", "source": source}
    content = document(distribution=table, recordSet={"@type": "cr:RecordSet", "@id": "r", "field": each})
    content["@context"] = {name: value for name, value in CONTEXT.items() if name != "column"}
    ((_, message, _),) = messages(tmp_path, {**content, "sc:conformsTo": "x"}, "CRO119")
    assert message.endswith("the context does not map `column`, which becomes `sc:column`")


def test_a_class_of_another_namespace_is_named_with_it(tmp_path: Path) -> None:
    found = messages(tmp_path, document(distribution={"@type": "sc:FileObject"}), "CRO301")
    assert [message for _, message, _ in found] == [
        "`distribution` contains `sc:FileObject`, expected `cr:FileObject` or `cr:FileSet`"
    ]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("sc:string", "Text"),
        ("sc:int", "Integer"),
        ("sc:float", "Float"),
        ("sc:Txt", "Text"),
        ("string", "Text"),
        ("int", "Integer"),
    ],
)
def test_a_data_type_that_is_nearly_known(written: str, meant: str, tmp_path: Path) -> None:
    each = {"@type": "cr:Field", "@id": "r/a", "dataType": {"@id": written}}
    content = document(recordSet={"@type": "cr:RecordSet", "@id": "r", "field": each})
    ((_, message, hint),) = messages(tmp_path, content, "CRO421")
    assert message.endswith(f"unknown data type `{written}`")
    assert hint == f"did you mean `sc:{meant}`?"


def test_numbers_of_croissant_are_data_types(tmp_path: Path) -> None:
    kinds = {f"Float{bits}": f"a number of {bits} bits" for bits in (16, 32, 64)}
    for bits in (8, 16, 32, 64):
        kinds[f"Int{bits}"] = f"an integer from {-(2 ** (bits - 1))} to {2 ** (bits - 1) - 1}"
        kinds[f"UInt{bits}"] = f"an integer from 0 to {2**bits - 1}"
    fields = [{"@type": "cr:Field", "@id": f"r/{name}", "dataType": f"cr:{name}"} for name in kinds]
    records = {"@type": "cr:RecordSet", "@id": "r", "field": fields, "data": [{f"r/{name}": "x" for name in kinds}]}
    report = check(tmp_path / "a.json", document(recordSet=records), max_per_rule=len(kinds))
    assert [each.message for each in report.findings if each.code in ("CRO421", "CRO506")] == [
        f'recordSet "r" › field "r/{name}": `x` in `data`, expected {kind}' for name, kind in kinds.items()
    ]


def test_the_formats_of_a_bounding_box(tmp_path: Path) -> None:
    known = ["XYXY", "YXYX", "XYWH", "CENTER_XYWH", "CENTER_YXHW", "REL_XYXY", "REL_YXYX", "REL_XYWH"]
    known += ["REL_CENTER_XYWH", "xyxy"]
    fields = [
        {"@type": "cr:Field", "@id": f"r/{name}", "dataType": "cr:BoundingBox", "source": {"format": name}}
        for name in [*known, "XYWH_REL"]
    ]
    found = messages(tmp_path, document(recordSet={"@type": "cr:RecordSet", "@id": "r", "field": fields}), "CRO527")
    assert [message.rpartition(": ")[2] for _, message, _ in found] == ["unknown bounding box format `XYWH_REL`"]


@pytest.mark.parametrize(("name", "codes"), [("accessibilityAPI", []), ("Person", ["CRO117"]), ("api", ["CRO117"])])
def test_a_property_of_schema_org_that_is_seldom_used(name: str, codes: list[str], tmp_path: Path) -> None:
    assert [code for code, _, _ in messages(tmp_path, document(**{name: "x"}), "CRO117")] == codes


def test_a_hundred_wrong_names_get_a_suggestion(tmp_path: Path) -> None:
    report = check(tmp_path / "a.json", document(**{f"keywords{n}": "x" for n in range(102)}), max_per_rule=102)
    hints = [each.hint for each in report.findings if each.code == "CRO117"]
    assert hints == ["did you mean `keywords`?"] * 100 + ["correct the name, or use a vocabulary that has it"] * 2


LICENCES = """
    AFL-3.0 Apache-2.0 BSD-2-Clause BSD-3-Clause BSL-1.0 CC0-1.0 CC-BY-2.0 CC-BY-3.0 CC-BY-4.0 CC-BY-NC-4.0 CC-BY-NC-ND-4.0
    CC-BY-NC-SA-4.0 CC-BY-ND-4.0 CC-BY-SA-3.0 CC-BY-SA-4.0 CDLA-Permissive-2.0 ECL-2.0 GPL-2.0-only GPL-3.0-only ISC
    LGPL-3.0-only MIT MPL-2.0 ODbL-1.0 ODC-By-1.0 PDDL-1.0 Unlicense WTFPL Zlib
    """.split()  # noqa: SIM905 - a word list reads best as words


@pytest.mark.parametrize("written", [str, str.lower, str.upper])
def test_a_licence_by_its_name_is_led_to_its_page(written: Callable[[str], str], tmp_path: Path) -> None:
    names = [written(each) for each in LICENCES]
    report = check(tmp_path / "a.json", document(license=names), max_per_rule=len(names))
    found = [each for each in report.findings if each.code == "CRO219"]
    expected = "`license` is `{}`, expected a URL or a CreativeWork"
    assert [each.message for each in found] == [expected.format(name) for name in names]
    assert [each.hint for each in found] == [f"write `https://spdx.org/licenses/{name}.html`" for name in LICENCES]


@pytest.mark.parametrize("kind", ["Person", "Organization"])
def test_who_gives_a_licence_is_none(kind: str, tmp_path: Path) -> None:
    ((_, message, hint),) = messages(tmp_path, document(license={"@type": f"sc:{kind}", "name": "x"}), "CRO214")
    assert re.fullmatch(f'dataset "a": `license` is an? {kind}, expected a URL or a CreativeWork', message)
    assert hint == "write a URL or a CreativeWork"


@pytest.mark.parametrize("source", [{}, {"extract": {"column": "a"}}])
def test_a_source_that_names_nothing(source: dict[str, Any], tmp_path: Path) -> None:
    each = {"@type": "cr:Field", "@id": "r/a", "dataType": "sc:Text", "source": source}
    records = {"@type": "cr:RecordSet", "@id": "r", "field": each}
    ((_, message, hint),) = messages(tmp_path, document(recordSet=records), "CRO133")
    assert re.sub(".*: ", "", message) == "`source` names no file, record set or field"
    assert hint == "add `fileObject`, `fileSet`, `recordSet` or `field`"


DATES = ["2024", "2024-01", "2024-12", "2016-12-31T23:59:60Z", "20161231T235960.5Z", "2017-01-01 05:29:60+05:30"]
NO_DATES = [
    "2024-00",
    "2024-13",
    "24",
    "2024-",
    "2016-12-31T23:59:61Z",
    "2016-12-31T12:30:60Z",
    "2016-12-31T23:59:600Z",
]


@pytest.mark.parametrize("day", [*DATES, *NO_DATES])
def test_a_year_a_month_and_a_leap_second_are_dates(day: str, tmp_path: Path) -> None:
    codes = [code for code, _, _ in messages(tmp_path, document(datePublished=day), "CRO217")]
    assert codes == ["CRO217"] * (day in NO_DATES)


def test_the_names_of_schema_org_are_those_of_rdflib() -> None:
    assert resource("schemas", "croissant/schema.org.txt").read_text("utf-8").split() == sorted(SDO.__annotations__)
