"""Expansion: the short way and PyLD give the same nodes, and nothing is ever fetched."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from croissant.documents import CASES, CONTEXT, VALID_SAMPLES, document
from hypothesis import given
from hypothesis import strategies as st

from corpusfmt.formats.croissant.model.contexts import NotSimple
from corpusfmt.formats.croissant.model.expand import Expansion, ExpansionFault, _Simple, expand, expand_fully
from corpusfmt.formats.croissant.model.nodes import Node, Value

CASE_FILES = sorted(CASES.glob("*/valid/*/input.json"))


def plain(value: Value) -> Any:
    """Return a node as something that compares and prints."""
    if isinstance(value, Node):
        values = {name: [plain(each) for each in found] for name, found in value.values.items()}
        return (value.pointer, value.id, value.written_id, value.types, values, value.keys, value.dropped, value.role)
    return (value.pointer, repr(value.value), value.type, value.language)


def both_ways(tree: Any) -> tuple[Any, Any]:
    ways: list[Expansion] = [_Simple(tree).expansion, expand_fully(tree)]
    # PyLD takes the properties of a node in alphabetical order, so that the first use of a namespace may be another.
    first, second = (
        (
            [plain(node) for node in way.nodes],
            {prefix: sorted(places) for prefix, places in way.undeclared.items()},
            sorted(way.namespaces),
        )
        for way in ways
    )
    return first, second


@pytest.mark.parametrize("path", [*VALID_SAMPLES, *CASE_FILES], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_real_documents(path: Path) -> None:
    tree = json.loads(path.read_text("utf-8-sig"))
    try:
        short, full = both_ways(tree)
    except NotSimple:
        assert path in CASE_FILES, "the samples are all of the plain kind"
        return
    assert short == full


NAMES = st.sampled_from(
    ["name", "source", "data", "dataType", "cr:x", "sc:y", "q:z", "rai:a", "unknown", "http://a/b", "a:b:c", ":", "é"],
)
TEXTS = st.sampled_from(
    ["", "a", "a/b", "sc:Text", "q:x", "name", "a b", "x:y:z", "../a", "http://h/p", "_:b", "a?b", "ü"]
)
SCALARS = TEXTS | st.integers(-5, 5) | st.booleans() | st.none() | st.floats(allow_nan=False, allow_infinity=False)
NODES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(NAMES, inner, max_size=4)
        | st.builds(lambda name, more: {"@id": name, **more}, TEXTS, st.dictionaries(NAMES, inner, max_size=2))
        | st.builds(lambda name, more: {"@type": name, **more}, TEXTS, st.dictionaries(NAMES, inner, max_size=2))
    ),
    max_leaves=12,
)
CONTEXTS = st.fixed_dictionaries(
    {},
    optional={
        "@vocab": st.just("https://schema.org/"),
        "@language": st.just("EN"),
        "sc": st.just("http://schema.org/"),
        "q": st.sampled_from(["http://q/", "http://q", "sc:q"]),
        "name": st.sampled_from(["sc:name", {"@id": "sc:name", "@type": "@id"}, {"@id": "sc:name", "@type": "@vocab"}]),
        "data": st.just({"@id": "http://c/data", "@type": "@json"}),
        "source": st.just("http://c/source"),
    },
)


@given(CONTEXTS, st.dictionaries(NAMES, NODES, max_size=4))
def test_any_plain_document(context: dict[str, Any], body: dict[str, Any]) -> None:
    tree = {"@context": context, "@type": "http://t/T", "http://keep/it": "x", **body}
    try:
        short, full = both_ways(tree)
    except (NotSimple, ExpansionFault):
        return
    assert short == full


@pytest.mark.parametrize(
    "context",
    [
        "https://example.org/c",
        [CONTEXT, "c.jsonld"],
        {"@import": "https://example.org/c"},
        {"a": {"@id": "x:y", "@context": "u:v"}},
    ],
)
def test_nothing_is_fetched(context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(ExpansionFault) as caught:
        expand({**document(), "@context": context})
    assert caught.value.kind == "remote"


FORMS = {
    "prefixed": {"sc:name": "x", "cr:source": {"@id": "y"}},
    "absolute": {"https://schema.org/name": "x", "http://mlcommons.org/croissant/source": {"@id": "y"}},
    "expanded": {
        "https://schema.org/name": [{"@value": "x", "@language": "en"}],
        "http://mlcommons.org/croissant/source": [{"@id": "y"}],
    },
    "aliased": {"title": "x", "source": {"id": "y"}},
    "scoped": {"@context": {"title": "sc:name"}, "title": "x", "source": {"@id": "y"}},
    "based": {"@context": {"@base": "https://document.invalid/"}, "name": "x", "source": {"@id": "y"}},
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_one_node(form: str) -> None:
    context = {**CONTEXT, "title": "sc:name", "id": "@id"}
    node = expand({"@context": context, "@id": "n", "inner": FORMS[form]}).nodes[0]
    inner = next(iter(node.nodes("sc:inner")))
    assert {name: [getattr(v, "value", None) or v.id for v in values] for name, values in inner.values.items()} == {  # type: ignore[union-attr]
        "sc:name": ["x"],
        "cr:source": ["y"],
    }


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a", "a"),
        ("./a", "a"),
        ("a/../b", "b"),
        ("/a", "a"),
        ("a/./b", "a/b"),
        ("?q", "?q"),
        ("//h/p", "https://h/p"),
        ("://a/./b", "://a/b"),
        ("x://a/./b", "x://a/./b"),
        ("sc:a", "https://schema.org/a"),
        ("x:a", "x:a"),
    ],
)
def test_ids_are_resolved(written: str, meant: str) -> None:
    tree = document(**{"@id": written, "inner": {"@id": written, "name": "b"}})
    for expanded in (expand(tree), expand_fully(tree)):
        assert [each.id for each in expanded.every] == [meant, meant]
        assert [each.written_id for each in expanded.every] == [written, written]


def test_flattened_documents_are_put_together(tmp_path: Path) -> None:
    from croissant.documents import check

    flat = {
        "@context": CONTEXT,
        "@graph": [
            {**document(distribution={"@id": "f"}, recordSet=[{"@id": "r"}]), "@context": {}},
            {"@id": "f", "@type": "cr:FileObject", "contentUrl": "a.csv", "encodingFormat": "text/csv", "md5": "0"},
            {"@id": "r", "@type": "cr:RecordSet", "field": {"@id": "r/a"}},
            {"@id": "r/a", "@type": "cr:Field", "dataType": "sc:Text", "source": {"fileObject": {"@id": "g"}}},
        ],
    }
    found = [finding for finding in check(tmp_path / "a.json", flat).findings if finding.severity == "error"]
    assert [finding.code for finding in found] == ["CRO131"]
    assert found[0].message.startswith('recordSet "r" › field "r/a" › source: `fileObject` names `g`')
