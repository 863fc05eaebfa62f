"""No input gives a traceback, a hang or a network request."""

from __future__ import annotations

import gc
import json
import time
from pathlib import Path
from typing import Any

import pytest
from croissant.documents import CONTEXT, VALID_SAMPLES, check, document, errors
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import damaged

import corpusfmt
from corpusfmt.formats.croissant.model.graph import Description, View
from corpusfmt.formats.croissant.model.nodes import Node

FILE = {"@type": "cr:FileObject", "contentUrl": "a", "encodingFormat": "text/csv", "sha256": "0" * 64}


def ring(size: int) -> list[dict[str, Any]]:
    return [{**FILE, "@id": f"f{n}", "containedIn": {"@id": f"f{(n + 1) % size}"}} for n in range(size)]


def fields(*sources: Any) -> list[dict[str, Any]]:
    made = [
        {"@type": "cr:Field", "@id": f"r/{n}", "dataType": "sc:Text", "source": source}
        for n, source in enumerate(sources)
    ]
    return [{"@type": "cr:RecordSet", "@id": "r", "field": made}]


def transformed(regex: str) -> dict[str, Any]:
    return {"fileObject": {"@id": "f"}, "extract": {"column": "a"}, "transform": {"regex": regex}}


def globs(*patterns: str) -> dict[str, Any]:
    return {"@type": "cr:FileSet", "@id": "s", "encodingFormat": "a/b", "includes": list(patterns)}


HOSTILE: dict[str, tuple[Any, set[str]]] = {
    "arrays": (b"[" * 100_000, {"CRO104"}),
    "closed arrays": (b"[" * 100_000 + b"]" * 100_000, {"CRO104"}),
    "objects": (b'{"a":' * 100_000, {"CRO104"}),
    "an array inside": (json.dumps(document()).encode()[:-1] + b',"a":' + b"[" * 5000 + b"]" * 5000 + b"}", {"CRO104"}),
    "utf-16": (json.dumps(document()).encode("utf-16"), {"CRO102"}),
    "utf-16 without mark": (json.dumps(document()).encode("utf-16-le"), {"CRO102"}),
    "a lone surrogate": (b'{"a": "\\ud800"}', {"CRO101"}),
    "a paired surrogate": (json.dumps(document(keywords="\U0001f950")), set()),
    "terms in a chain": ({**document(), "@context": {f"t{n}": f"t{n + 1}:x" for n in range(5000)}}, {"CRO112"}),
    "terms in a ring": ({**document(), "@context": {"a": "b:x", "b": "a:y"}}, {"CRO112"}),
    "a type like a keyword": ({**document(), "@type": ["sc:Dataset", "@foo"]}, set()),
    "containers in a ring": (document(distribution=ring(3000)), {"CRO314"}),
    "sources in a ring": (document(recordSet=fields(*({"@id": f"r/{(n + 1) % 3000}"} for n in range(3000)))), {"CRO407"}),
    "regexes": (
        document(distribution={**FILE, "@id": "f"}, recordSet=fields(*map(transformed, ["(" * 5000, "a{99999999999}", "[", "(a)(?P<b>c)(?P<b>d)"]))),
        {"CRO413"},
    ),
    "a regex that backtracks forever": (
        document(distribution={**FILE, "@id": "f"}, recordSet=fields(transformed("(a+)+$"))), set()
    ),
    "a million stars": (document(distribution=globs("*" * 1_000_000, "[" * 100_000, "**/" * 100_000)), set()),
    "many of one id": (document(distribution=[{**FILE, "@id": "f"}] * 5000), {"CRO124"}),
    "a name 20,000 times": (b'{"a":' + b',"a":'.join([b"1"] * 20_000) + b"}", {"CRO111"}),
    "scripts without end": (b"<html>" + b"<script>" * 200_000, {"CRO106"}),
    "comments without end": (b"<html>" + b"<!--" * 200_000, {"CRO106"}),
    "a field that holds itself": (
        {"@context": CONTEXT, "@graph": [
            {**document(recordSet={"@id": "r"}), "@context": {}},
            {"@id": "r", "@type": "cr:RecordSet", "field": {"@id": "r/f"}},
            {"@id": "r/f", "@type": "cr:Field", "subField": {"@id": "r/f"}},
        ]},
        {"CRO405", "CRO419"},
    ),
    "columns of no table": (
        document(recordSet={"@type": "cr:RecordSet", "@id": "r", "field": [
            {"@type": "cr:Field", "@id": "r/a", "dataType": "sc:Text", "source": {"fileObject": {"@id": "data.csv"}, "extract": 5}},
            {"@type": "cr:Field", "@id": "r/b", "dataType": "sc:Text"},
        ]}, distribution={**FILE, "@id": "data.csv"}),
        {"CRO214", "CRO405"},
    ),
    "parents": (document(distribution={**FILE, "@id": "f", "contentUrl": "../../../etc/passwd", "containedIn": {"@id": "f"}}), {"CRO304", "CRO314"}),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name: str, tmp_path: Path) -> None:
    content, expected = HOSTILE[name]
    started = time.process_time()
    content = content.encode() if isinstance(content, str) else content
    report = check(tmp_path / ("a.html" if name.startswith(("scripts", "comments")) else "a.json"), content)
    assert {finding.code for finding in errors(report)} == expected
    assert time.process_time() - started < 10


def test_nothing_is_left_to_collect(tmp_path: Path) -> None:
    """Thousands of descriptions may be checked in one process: what was made of one goes when it is done."""
    content = document(distribution={**FILE, "@id": "f"}, recordSet=fields(transformed("(a)"), {"@id": "f"}))

    def parts() -> set[int]:
        return {id(each) for each in gc.get_objects() if isinstance(each, Node | View | Description)}

    gc.collect()
    gc.disable()
    try:
        of_other_tests = parts()
        assert not errors(check(tmp_path / "a.json", content))
        assert not parts() - of_other_tests
    finally:
        gc.enable()


STRICT = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@STRICT
@given(damaged(json.dumps(document()).encode()) | st.binary(max_size=200))
def test_arbitrary_bytes(tmp_path: Path, data: bytes) -> None:
    assert "GEN000" not in check(tmp_path / "a.json", data).by_rule


def test_what_pyld_remarks_on_a_context_is_not_passed_on(tmp_path: Path) -> None:
    # Warnings are errors in tests.
    assert check(tmp_path / "a.json", {"@context": {"@foo": [], "containedIn": []}}).by_rule == {"CRO112": 1}


KEYS = st.sampled_from([
    "@context", "@id", "@type", "@value", "@list", "@set", "@graph", "@reverse", "@nest", "@included", "@index",
    "@language", "@base", "@vocab", "@import", "@foo", "name", "creator", "conformsTo", "distribution", "recordSet",
    "field", "subField", "parentField", "source", "references", "fileObject", "extract", "transform", "regex", "column",
    "jsonPath", "key", "data", "examples", "dataType", "containedIn", "includes", "contentUrl", "sha256", "x:y", "",
    "annotation", "value", "isArray", "arrayShape", "readLines", "unArchive", "separator", "sdVersion", "usageInfo",
])  # fmt: skip
WORDS = st.sampled_from([
    "", "a", "a/b", "sc:Dataset", "cr:FileObject", "cr:FileSet", "cr:RecordSet", "cr:Field", "sc:Text", "sc:Integer",
    "@id", "@json", "@vocab", "@language", "http://mlcommons.org/croissant/1.0",
    "http://mlcommons.org/croissant/1.1", "-1,2", "../x", "$[", "(", "*", "_:b", " ", "a b",
])  # fmt: skip
TREES = st.recursive(
    WORDS | st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=25,
)


@STRICT
@given(TREES, st.sampled_from(["standard", "strict"]))
def test_arbitrary_trees(tmp_path: Path, tree: Any, profile: str) -> None:
    wrapped = document(**tree) if isinstance(tree, dict) and "@context" not in tree else tree
    content = json.dumps(wrapped).encode("utf-8", "surrogatepass")
    assert "GEN000" not in check(tmp_path / "a.json", content, profile=profile).by_rule


SMALL_SAMPLES = [json.loads(path.read_bytes()) for path in VALID_SAMPLES if path.stat().st_size < 5000]


@STRICT
@given(st.data())
def test_samples_with_a_part_replaced(tmp_path: Path, data: st.DataObject) -> None:
    tree = json.loads(json.dumps(data.draw(st.sampled_from(SMALL_SAMPLES))))
    node = tree
    for _ in range(data.draw(st.integers(0, 6))):
        choices = [key for key, value in items_of(node) if isinstance(value, dict | list) and value]
        if not choices:
            break
        node = node[data.draw(st.sampled_from(choices))]
    key = data.draw(st.sampled_from([key for key, _ in items_of(node)]))
    node[key] = data.draw(TREES)
    content = json.dumps(tree).encode("utf-8", "surrogatepass")
    assert "GEN000" not in check(tmp_path / "a.json", content).by_rule


def items_of(node: Any) -> list[tuple[Any, Any]]:
    return list(node.items()) if isinstance(node, dict) else list(enumerate(node))


def test_a_document_beyond_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "croissant.json"
    path.write_text(json.dumps(document(), indent=1))
    (found,) = corpusfmt.validate(path, format="croissant", max_line_bytes=1024).findings
    assert found.message == f"the document has {path.stat().st_size:,} bytes, the limit is 1,024"
