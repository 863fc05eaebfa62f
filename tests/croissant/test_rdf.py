"""Descriptions in Turtle, RDF/XML and N-Triples are judged like the same in JSON-LD, and written as JSON-LD."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from croissant.documents import CASES, SAMPLES, VALID_SAMPLES
from rdflib import RDF, Graph
from support import every, run_cli

import corpusfmt
from corpusfmt.model import UsageError

#: The syntaxes by suffix, as rdflib writes them.
SYNTAXES = {"ttl": "turtle", "rdf": "xml", "nt": "nt"}

# Rules about JSON, about contexts, and about nodes that RDF merges: a graph does not have what they are about.
NOT_IN_A_GRAPH = {
    *("CRO101", "CRO102", "CRO103", "CRO104", "CRO105", "GEN303"),
    *("CRO111", "CRO112", "CRO113", "CRO114", "CRO116"),
    *("CRO121", "CRO122", "CRO124"),
}
# An IRI of an undeclared prefix or with a space, a character that XML does not have; contexts that rdflib would fetch; what is
# the same in RDF: an IRI and a reference; integers of more digits than all readers of JSON have; keys of rows without a base.
NO_GRAPH = {
    *("refused-with-an-undeclared-prefix", "refused-of-an-id-with-a-space", "refused-with-a-context-by-address"),
    *("content-url-with-a-control", "content-url-with-a-control-strict"),
    *("context-bundled", "context-of-schema-org", "context-of-schema-org-strict"),
    *("equivalentproperty-a-node", "values-within-their-range", "data-with-short-names"),
}
FOLDERS = [*CASES.glob("1.[01]/*/*"), *SAMPLES.glob("*/*"), *SAMPLES.glob("valid/recipes")]
DOCUMENTS = sorted(
    each
    for folder in FOLDERS
    for name in ("input.json", "metadata.json")
    if (each := folder / name).exists() and folder.name not in NO_GRAPH
)


def graph_of(path: Path, base: str) -> Graph:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of rdflib by itself
        return Graph().parse(data=path.read_text("utf-8"), format="json-ld", publicID=base)


def codes(path: Path) -> set[str]:
    return set(corpusfmt.validate(path, format="croissant", profile="strict").by_rule)


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:rdflib")
@pytest.mark.parametrize("path", every(5, DOCUMENTS), ids=lambda path: f"{path.parent.parent.name}-{path.parent.name}")
def test_a_graph_is_judged_like_its_json(path: Path, tmp_path: Path) -> None:
    expected = codes(path)
    if not NOT_IN_A_GRAPH.isdisjoint(expected):
        return
    bases = ("https://document.invalid/", "https://example.org/of/a/portal/")
    for base, suffix in zip(bases * 2, SYNTAXES, strict=False):
        file = tmp_path / f"croissant.{suffix}"
        graph_of(path, base).serialize(file, format=SYNTAXES[suffix], encoding="utf-8")
        assert codes(file) == expected, suffix
        corpusfmt.fix(file, to="json-ld")
        written = tmp_path / "croissant.json"
        assert codes(written) == expected, suffix
        written.unlink()


HEAD = """
@prefix cr: <http://mlcommons.org/croissant/> . @prefix dct: <http://purl.org/dc/terms/> .
@prefix sc: <https://schema.org/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
<films> a sc:Dataset ; dct:conformsTo <http://mlcommons.org/croissant/1.0> ; sc:name "Films"@en .
"""


def in_json_ld(folder: Path, text: str, name: str = "croissant.ttl") -> Any:
    (folder / name).write_text(text, "utf-8")
    corpusfmt.fix(folder / name, to="json-ld")
    return json.loads((folder / name).with_suffix(".json").read_bytes())


@pytest.mark.parametrize("between", range(0, 420, 20))
def test_claims_are_found_at_any_distance(between: int, tmp_path: Path) -> None:
    """rdflib writes N-Triples in the order of a set: the claim of an extension may be anywhere before that of the version."""
    claim = "<a> <http://purl.org/dc/terms/conformsTo> <http://mlcommons.org/croissant/{}> ."
    lines = ["<a> a <https://schema.org/Dataset> .", claim.format("RAI/1.0"), "#" * between, claim.format("1.1")]
    (tmp_path / "croissant.ttl").write_text("\n".join(lines))
    assert "CRO204" not in codes(tmp_path / "croissant.ttl")


VALUES = [
    ('sc:datePublished "2024-03-01"^^xsd:date', {"datePublished": {"@type": "xsd:date", "@value": "2024-03-01"}}),
    ("cr:isLiveDataset true", {"isLiveDataset": True}),
    ('cr:isLiveDataset "0"^^xsd:boolean', {"isLiveDataset": False}),
    ('cr:isLiveDataset "maybe"^^xsd:boolean', {"isLiveDataset": {"@type": "xsd:boolean", "@value": "maybe"}}),
    ("sc:version 2", {"version": 2}),
    ("sc:version 2.50", {"version": 2.5}),
    ('sc:version "02"^^xsd:integer', {"version": {"@type": "xsd:integer", "@value": "02"}}),
    ('sc:version "1_0"^^xsd:integer', {"version": {"@type": "xsd:integer", "@value": "1_0"}}),
    ('sc:version "INF"^^xsd:double', {"version": {"@type": "xsd:double", "@value": "INF"}}),
    ("sc:version 12345678901234567890", {"version": {"@type": "xsd:integer", "@value": "12345678901234567890"}}),
    ('sc:version "1"^^<http://example.org/v>', {"version": {"@type": "http://example.org/v", "@value": "1"}}),
    ('sc:description "a"@en, "b"@fr', {"description": ["a", {"@language": "fr", "@value": "b"}]}),
    ('sc:version "1.0.0"', {"version": {"@value": "1.0.0"}}),
    ('sc:keywords ( "b"@en "a"@en "b"@en ), ()', {"keywords": [{"@list": ["b", "a", "b"]}, {"@list": []}]}),
    ("sc:license <https://example.org/l>", {"license": "https://example.org/l"}),
    ("sc:creator <https://example.org/c>", {"creator": {"@id": "https://example.org/c"}}),
    ("sc:creator [ ]", {"creator": {}}),
    ("sc:creator _:a ; sc:funder _:a", {"creator": {"@id": "_:b0"}, "funder": {"@id": "_:b0"}}),
    ("sc:isPartOf <films>", {"isPartOf": {"@id": "films"}}),
    ("rdf:rest ( 1 )", {f"{RDF}rest": {"@list": [1]}}),
    ("rdf:first _:a ; rdf:rest rdf:nil", {f"{RDF}first": {}}),
    ('cr:recordSet [ cr:data "[{}, 1]"^^rdf:JSON ]', {"recordSet": [{"data": [{}, 1]}]}),
    ('cr:recordSet [ cr:data "[{"^^rdf:JSON ]', {"recordSet": [{"data": "[{"}]}),
]


@pytest.mark.parametrize(("turtle", "expected"), VALUES, ids=lambda each: each if isinstance(each, str) else "")
def test_values_keep_their_meaning(turtle: str, expected: dict[str, Any], tmp_path: Path) -> None:
    written = in_json_ld(tmp_path, f"{HEAD} <films> {turtle} .")
    assert {name: written[name] for name in expected} == expected
    assert (written["@id"], written["name"], written["@context"]["@language"]) == ("films", "Films", "en")


def test_nodes_are_where_the_specification_has_them(tmp_path: Path) -> None:
    """A reference comes first, the archive is of a file, and the catalogue is no part of the description."""
    written = in_json_ld(
        tmp_path,
        f"{HEAD}<portal> sc:dataset <films> ."
        "<r> a cr:RecordSet ; cr:key <r/b> ; cr:field <r/a>, <r/b> ."
        "<r/a> cr:source [ cr:fileObject <a.csv> ] ; cr:references [ cr:field <r/b> ] ; cr:subField <r/a/c> ."
        "<r/b> cr:parentField <r/a/c> . <a.csv> cr:containedIn <a.zip> . <r/a/c> a cr:Field . <a.zip> a cr:FileObject ."
        "<films> cr:recordSet <r> ; sc:distribution <a.csv> .",
    )
    films, portal = written["@graph"]
    (record_set,), (file,) = films["recordSet"], films["distribution"]
    first, second = record_set["field"]
    assert portal == {"@id": "portal", "dataset": {"@id": "films"}}
    assert record_set["key"] == {"@id": "r/b"}
    assert first["source"] == {"fileObject": {"@id": "a.csv"}}
    assert first["references"] == {"field": {"@id": "r/b"}}
    assert first["subField"] == {"@id": "r/a/c", "@type": "cr:Field"}
    assert second == {"@id": "r/b", "parentField": {"@id": "r/a/c"}}
    assert file["cr:containedIn"] == {"@id": "a.zip", "@type": "cr:FileObject"}


def findings(path: Path) -> Iterator[tuple[str, str]]:
    return ((each.code, str(each.location)) for each in corpusfmt.validate(path, format="croissant").findings)


def test_places_are_nodes(tmp_path: Path) -> None:
    path = tmp_path / "croissant.ttl"
    path.write_text(
        f"{HEAD} <films> cr:recordSet <https://example.org/r> . <https://example.org/r> a cr:RecordSet ; cr:field [ a cr:Field ]."
    )
    assert dict(findings(path)).items() >= {
        ("CRO206", "croissant.ttl <films>"),
        ("CRO123", "croissant.ttl <https://example.org/r>"),
    }


FAULTS = [
    ("a.ttl", f"{HEAD}\n<films> sc:name .", "CRO108", "a.ttl:7", "not Turtle: objectList expected"),
    ("a.ttl", "<films> a sc:Dataset .", "CRO108", "a.ttl:1", 'not Turtle: Prefix "sc:" not bound'),
    ("a.nt", "<d> <t> <sc:Dataset> .\n<d> <sc:name> <d> .", "CRO108", "a.nt", "`sc:Dataset` has a prefix"),
    ("a.rdf", "<a>\n<b></a>", "CRO108", "a.rdf:2", "not XML: mismatched tag"),
    (
        "a.rdf",
        '<!DOCTYPE a [<!ENTITY b SYSTEM "c">]><a>&b;</a>',
        "CRO108",
        "a.rdf:1",
        "the entity `b` is in another file",
    ),
    ("a.ttl", "\0", "CRO108", "a.ttl:1", "not Turtle"),
    ("a.ttl", "", "CRO201", "a.ttl", "no node has type Dataset"),
    ("a.ttl", HEAD.replace("croissant/> .", "croissant> ."), "CRO114", "a.ttl", "the namespace is"),
]


@pytest.mark.parametrize(("name", "text", "code", "place", "message"), FAULTS)
def test_what_cannot_be_read_is_a_finding(
    name: str, text: str, code: str, place: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    report = corpusfmt.validate(tmp_path / name, format="croissant")
    first = next(each for each in report.findings if each.code == code)
    assert (str(first.location).partition(" ")[0], first.message[: len(message)]) == (place, message)


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "utf-16"])
def test_xml_has_the_encoding_that_it_says(encoding: str, tmp_path: Path) -> None:
    xml = (
        f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE rdf:RDF [<!ENTITY sc "https://schema.org/">]>'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:sc="&sc;">'
        '<sc:Dataset rdf:about="films"><sc:name>Été</sc:name></sc:Dataset></rdf:RDF>'
    )
    (tmp_path / "films.xml").write_bytes(xml.encode(encoding))
    corpusfmt.fix(tmp_path / "films.xml", to="json-ld")
    assert json.loads((tmp_path / "films.json").read_bytes())["name"] == "Été"


def test_folders_have_descriptions_in_rdf(tmp_path: Path) -> None:
    sample = SAMPLES / "valid" / "simple-join"
    graph_of(sample / "metadata.json", "https://example.org/").serialize(
        tmp_path / "croissant.ttl", format="turtle", encoding="utf-8"
    )
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "publications.csv").write_text("title,by\nA,b@example.org\n")
    report = corpusfmt.validate(tmp_path)
    assert (report.format, report.version, set(report.by_rule)) == (
        "croissant",
        "1.0",
        {"CRO209", "CRO210", "CRO212", "CRO603", "CRO613"},
    )
    users = [dict(each) for each in corpusfmt.records(tmp_path, "users")]
    assert users[0] == {"users/email": "john.smith@gmail.com", "users/fullname": "John Smith"}


def test_what_is_written_is_new(tmp_path: Path) -> None:
    (tmp_path / "croissant.ttl").write_text(HEAD)
    shown = run_cli("fix", "--to", "json-ld", "--diff", "croissant.ttl", cwd=tmp_path)
    assert (shown.returncode, shown.stdout[:37]) == (1, b"--- /dev/null\n+++ b/croissant.json\n@@")
    done = run_cli("fix", "--to", "json-ld", "croissant.ttl", cwd=tmp_path)
    assert done.stdout.startswith(b"wrote croissant.json\n")
    for arguments, message in (
        (("croissant.ttl", "--to", "json-ld"), b"croissant.json exists: move it, and run the same command again"),
        (("croissant.json", "--to", "json-ld"), b"croissant.json is JSON-LD"),
        (("croissant.ttl", "--to", "1.1"), b"croissant.ttl is RDF: write it with --to json-ld, and bring that to 1.1"),
    ):
        refused = run_cli("fix", *arguments, cwd=tmp_path)
        assert (refused.returncode, refused.stderr) == (2, b"error: " + message + b"\n")
    assert (tmp_path / "croissant.ttl").read_text() == HEAD


def test_without_rdflib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == "rdflib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "corpusfmt.formats.croissant.model.rdf", raising=False)
    (tmp_path / "a.ttl").write_text(HEAD)
    with pytest.raises(UsageError, match=r"^a.ttl is RDF, which needs rdflib: pip install 'corpusfmt\[rdf\]'$"):
        corpusfmt.validate(tmp_path / "a.ttl")


PEER = os.environ.get("CORPUSFMT_MLCROISSANT")
LOADED = "import sys, mlcroissant; sys.exit(bool(mlcroissant.Dataset(sys.argv[1]).metadata.ctx.issues.errors))"


@pytest.mark.skipif(not PEER, reason="CORPUSFMT_MLCROISSANT names the Python of an environment with mlcroissant")
@pytest.mark.parametrize("sample", VALID_SAMPLES, ids=lambda path: path.parent.name)
def test_mlcroissant_loads_what_is_written(sample: Path, tmp_path: Path) -> None:
    graph_of(sample, "https://example.org/").serialize(tmp_path / "croissant.nt", format="nt", encoding="utf-8")
    corpusfmt.fix(tmp_path / "croissant.nt", to="json-ld")
    assert subprocess.run([str(PEER), "-c", LOADED, tmp_path / "croissant.json"], check=False).returncode == 0
