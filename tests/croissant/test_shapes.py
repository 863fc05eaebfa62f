"""The published shapes and schema say what the rules say."""

from __future__ import annotations

import json
import re
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import make_shapes
import pytest
from croissant.documents import CASES, SAMPLES, SCHEMAS, VALID_SAMPLES
from support import every

import corpusfmt
from corpusfmt.formats.croissant.model.contexts import appendix
from corpusfmt.formats.croissant.model.nodes import local_name
from corpusfmt.formats.croissant.model.shapes import FIELD, RECORD_SET, SHAPES, TRANSFORM, Shape

VERSIONS = ("1.0", "1.1")
JUDGED_BY_SHAPES = {f"CRO{number}" for number in (203, *range(205, 216), 301, 401, 402, 420, 501, 811)} - {"CRO204"}

# Where RDF cannot tell what the author's text does: nodes of one @id are merged, and no graph is made of bad JSON-LD.
NOT_SEEN_IN_RDF = {"id-twice", "context-bundled", "context-of-schema-org", "two-datasets"}
CASE_FOLDERS = [
    path
    for path in sorted(CASES.glob("1.0/*/*"))
    if path.name.endswith("-strict") and path.name.removesuffix("-strict") not in NOT_SEEN_IN_RDF
] + [
    CASES / "1.0" / "invalid" / name
    for name in (
        "live-yes", "name-a-number", "creator-a-string", "creator-an-event", "conformsto-missing",
        "conformsto-in-schema-org", "distribution-a-download", "record-set-misspelt", "field-without-type",
        "data-type-a-string", "data-not-json",
    )
] + [
    CASES / "1.0" / "valid" / name
    for name in ("file-name-a-number", "keyword-a-term", "creators", "license-a-work", "schema-org-http", "a-list-of-one", "parts-of-schema-org")
] + [
    path
    for path in sorted(CASES.glob("1.1/*/*"))
    if (path.parent.name == "invalid" and (path / "input.json").exists()) or path.name in (
        "complete-strict", "constants", "fields-and-records-annotated", "geo", "manifest", "provenance", "repeated",
        "replace", "set-with-a-size", "terms-with-numbers", "transforms", "version-of-the-metadata",
    )
    # Of one node in RDF, of no graph or IRI, and of classes that no shape targets.
    if path.name not in ("annotation-of-a-known-id", "name-by-language-a-number", "equivalentproperty-a-node")
    and not path.name.startswith(("manifest-typed", "source-of-another-class"))
]  # fmt: skip


@cache
def shapes_of(version: str) -> Any:
    from rdflib import Graph

    return Graph(store="SimpleMemory").parse(SCHEMAS.parent / version / "shapes.ttl")


def shape_codes(path: Path, version: str) -> set[str]:
    """Return the rules whose shapes a description breaks, by rdflib and pySHACL."""
    import pyshacl
    from rdflib import SH, Graph

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of rdflib, by itself and by pySHACL
        data = Graph().parse(data=path.read_text("utf-8"), format="json-ld", publicID="https://document.invalid/")
        _, results, _ = pyshacl.validate(data, shacl_graph=shapes_of(version), advanced=False)
    sources = results.objects(None, SH.sourceShape)
    found = (re.match(re.escape(make_shapes.shapes_iri(version)) + r"(CRO\d+)", str(source)) for source in sources)
    return {match.group(1) for match in found if match is not None}


@pytest.mark.parametrize("case", every(4, CASE_FOLDERS), ids=lambda case: f"{case.parent.parent.name}-{case.name}")
def test_pyshacl_agrees(case: Path) -> None:
    path = case / "input.json"
    ours = corpusfmt.validate(path, format="croissant", profile="strict").by_rule.keys()
    assert shape_codes(path, case.parent.parent.name) & JUDGED_BY_SHAPES == ours & JUDGED_BY_SHAPES


TASKS = sorted(CASES.glob("1.0/*/task-*"))


@pytest.mark.parametrize("case", every(4, TASKS), ids=lambda case: case.name)
def test_pyshacl_agrees_on_tasks(case: Path) -> None:
    of_shapes = {"CRO213", "CRO214", "CRO811"}  # the other rules are about several properties
    ours = corpusfmt.validate(case / "input.json", format="croissant", profile="strict").by_rule.keys()
    assert shape_codes(case / "input.json", "1.1") & of_shapes == ours & of_shapes


def test_pyshacl_agrees_on_a_sample() -> None:
    path = SAMPLES / "valid" / "titanic" / "metadata.json"
    ours = corpusfmt.validate(path, profile="strict").by_rule.keys()
    assert shape_codes(path, "1.0") & JUDGED_BY_SHAPES == ours & JUDGED_BY_SHAPES == {"CRO209", "CRO210", "CRO212"}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_published_shapes_are_the_table(version: str) -> None:
    assert (SCHEMAS.parent / version / "shapes.ttl").read_text("utf-8") == make_shapes.export(version), "run make rules"


LEFT_OUT = {
    "1.0": ["containedIn", "delimiter", "equivalentProperty", "excludes", "jsonQuery", "samplingRate"],
    "1.1": ["samplingRate"],
}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_context_maps_what_the_tables_name(version: str) -> None:
    croissant = {row.name for shape in SHAPES.values() for row in shape.in_version(version)}
    mapped = {value if isinstance(value, str) else value["@id"] for value in appendix(version).values()}
    missing = {name for name in croissant if name.startswith("cr:")} - mapped
    assert missing == {f"cr:{name}" for name in LEFT_OUT[version]}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("name", "shape"), [("recordSet", RECORD_SET), ("field", FIELD), ("transform", TRANSFORM)])
def test_the_schema_has_the_rows_of_the_tables(name: str, shape: Shape, version: str) -> None:
    rows = {local_name(row.name) for row in shape.in_version(version) if row.name.startswith(("cr:", "sc:"))}
    properties = {each for each in loaded(version)["$defs"][name]["properties"] if not each.startswith("@")}
    assert properties == rows - {"samplingRate"}


def loaded(version: str) -> Any:
    return json.loads((SCHEMAS.parent / version / "croissant.schema.json").read_text("utf-8"))


def schema(version: str) -> Any:
    import jsonschema

    jsonschema.Draft202012Validator.check_schema(loaded(version))
    return jsonschema.Draft202012Validator(loaded(version))


@pytest.mark.parametrize("path", VALID_SAMPLES, ids=lambda path: path.relative_to(SAMPLES / "valid").as_posix())
def test_the_schema_accepts_the_samples(path: Path) -> None:
    assert [error.message for error in schema("1.0").iter_errors(json.loads(path.read_bytes()))] == []


@pytest.mark.parametrize(
    "name",
    ["live-yes", "conformsto-https", "reference-a-string", "extract-empty", "transform-empty", "file-property-unknown",
     "record-set-misspelt", "id-with-spaces", "creator-a-string", "name-a-number", "conformsto-missing"],
)  # fmt: skip
def test_the_schema_rejects_what_it_can_see(name: str) -> None:
    value = json.loads((CASES / "1.0" / "invalid" / name / "input.json").read_bytes())
    assert not schema("1.0").is_valid(value)


@pytest.mark.parametrize(
    "name",
    ["constants", "fields-and-records-annotated", "manifest", "transforms", "geo", "provenance", "conformsto-1.0-and-1.1",
     "version-of-the-metadata", "complete"],
)  # fmt: skip
def test_the_schema_of_1_1_accepts(name: str) -> None:
    value = json.loads((CASES / "1.1" / "valid" / name / "input.json").read_bytes())
    assert [error.message for error in schema("1.1").iter_errors(value)] == []


@pytest.mark.parametrize(
    "name",
    ["value-and-source", "array-shape-in-words", "array-shape-of-no-array", "annotation-a-string", "manifest-of-nothing",
     "annotation-without-type", "manifest-with-lines-in-words"],
)  # fmt: skip
def test_the_schema_of_1_1_rejects_what_it_can_see(name: str) -> None:
    value = json.loads((CASES / "1.1" / "invalid" / name / "input.json").read_bytes())
    assert not schema("1.1").is_valid(value)
