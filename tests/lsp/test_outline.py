"""The outline of a description that is being written, and what is offered at a cursor in it."""

from __future__ import annotations

import json
from typing import ClassVar, SupportsIndex

import pytest

from corpusfmt._resources import resource
from corpusfmt.lsp.assist import Schema, complete, definition, outline, place_at, references, show, values
from corpusfmt.lsp.server import Encoding, Positions

SCHEMA = Schema(
    {
        "properties": {
            "name": {"description": "Required: the name."},
            "live": {"type": "boolean"},
            "files": {"anyOf": [{"$ref": "#/$defs/file"}, {"type": "array", "items": {"$ref": "#/$defs/file"}}]},
            "field": {"properties": {"@type": {"enum": ["cr:Field"]}, "source": {"$ref": "#/$defs/source"}}},
        },
        "patternProperties": {"^rai:": {"description": "Of RAI."}},
        "$defs": {
            "file": {
                "title": "FileObject",
                "properties": {"@type": {"enum": ["cr:FileObject"]}, "@id": {}, "md5": {"description": "A digest."}},
            },
            "source": {"properties": {"fileObject": {"properties": {"@id": {}}}, "format": {"enum": ["b", "a"]}}},
        },
    }
)
DOCUMENT = """{
  "name": "Films é 𝄞",
  "files": [
    {"@type": "cr:FileObject", "@id": "films.csv", "name": "All films"},
    {"@type": "cr:FileSet", "@id": "images"}
  ],
  "field": {"@type": "cr:Field", "@id": "title", "source": {"fileObject": {"@id": "films.csv"}}}
}
"""


def at(text: str) -> tuple[str, int]:
    """Return a text without its bar, and the offset of that."""
    return text.replace("|", ""), text.index("|")


def offered(text: str) -> list[str]:
    text, offset = at(text)
    return [f"{text[each.start : each.end]}→{each.text}" for each in complete(text, offset, SCHEMA)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{|}", ['→"name": ', '→"live": ', '→"files": ', '→"field": ']),
        ('{"name": "x", |}', ['→"live": ', '→"files": ', '→"field": ']),
        ('{"name": "x",\n "l|\n}', ['"l→"live": ', '"l→"files": ', '"l→"field": ']),
        ('{"na|me": "x"}', ['"name"→"name"', '"name"→"live"', '"name"→"files"', '"name"→"field"']),
        ('{"live": |', ["→true", "→false"]),
        ('{"live": t|}', ["t→true", "t→false"]),
        ('{"live": true, "name": |', []),
        ('{"files": [{"@type": "|"}]}', ['""→"cr:FileObject"']),
        ('{"files": [{"md5": "x", |', ['→"@type": ', '→"@id": ']),
        ('{"files": {"|', ['"→"@type": ', '"→"@id": ', '"→"md5": ']),
        ('{"files": [{"@type": "cr:FileSet", |}]}', []),
        ('{"field": {"source": {"format": |\n"fileObject": {}}}}', ['→"b"', '→"a"']),
        ('{"files": [{"@type": "cr:FileSet", "@id": "b"}, {"@type": "cr:FileObject", "@id": "a"}],"fileObject":{"@id":"|', ['"→"a"']),
        ("|{}", []),
        ("{}|", []),
        ("|", []),
        ("nul|l", []),
    ],
)  # fmt: skip
def test_completion(text: str, wanted: list[str]) -> None:
    assert offered(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"na|me": "x"}', '"name": **name**\n\nRequired: the name.'),
        ('{"files": [{"m|d5": 1}]}', '"md5": **md5**\n\nA digest.\n\n*FileObject*'),
        ('{"rai:dataBiases|": 1}', '"rai:dataBiases": **rai:dataBiases**\n\nOf RAI.'),
        ('{"unknown|": 1}', None),
        ('{"name": "x|"}', None),
        (DOCUMENT.replace('"films.csv"}', '"films|.csv"}'), '"films.csv": **films.csv** (FileObject)\n\nAll films'),
        (DOCUMENT.replace('"films.csv"}', '"film|.csv"}'), None),
    ],
)
def test_hover(text: str, wanted: str | None) -> None:
    text, offset = at(text)
    found = show(text, offset, SCHEMA)
    assert (None if found is None else f"{text[found.start : found.end]}: {found.markdown}") == wanted


def test_definition_and_references() -> None:
    text, offset = at(DOCUMENT.replace('"films.csv"}', '"films|.csv"}'))
    defined, used = text.index('"films.csv"'), text.rindex('"films.csv"')
    assert definition(text, offset) == (defined, defined + 11)
    assert references(text, offset) == references(text, defined + 1) == [(defined, defined + 11), (used, used + 11)]
    assert definition(text, text.index('"name"') + 1) is None
    assert references(text, text.index("Films")) == []


def test_every_state_of_a_text_that_is_typed_or_cut_has_an_outline() -> None:
    whole = outline(DOCUMENT)
    assert whole is not None
    assert [each.name.text for each in whole.members] == list(json.loads(DOCUMENT))
    for end in range(len(DOCUMENT) + 1):
        for text in (DOCUMENT[:end], DOCUMENT[:end] + DOCUMENT[end + 1 :]):
            root = outline(text)
            if root is None:
                assert "{" not in text
                continue
            place_at(root, end)
            assert all(0 <= each.start < each.end <= len(text) + 1 for each in values(root))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "]" * 100_000, '"\\' * 100_000, "{" + '"a",' * 20_000]
)
def test_hostile_texts_are_bounded(text: str) -> None:
    assert complete(text, len(text), SCHEMA) == complete(text, len(text) // 2, SCHEMA) == [] or text.startswith('{"a",')


@pytest.mark.parametrize(("encoding", "units"), [("utf-8", 16), ("utf-16", 9), ("utf-32", 7)])
def test_positions_count_units(encoding: Encoding, units: int) -> None:
    text = 'x\r\n\u2028é"a 𝄞𝄞b"\ry\n'
    positions = Positions(text, encoding)
    offset = text.index('b"')
    assert positions.of(offset) == (1, units)
    assert positions.offset(1, units) == offset
    assert positions.of(len(text)) == (3, 0)
    assert positions.offset(1, 1_000) == text.index("\ry")
    assert positions.offset(9, 0) == len(text)
    assert positions.of(text.index("y")) == (2, 0)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_units_count_what_is_no_character(encoding: Encoding) -> None:
    positions = Positions("é\ud800a𝄞\udc00b", encoding)
    assert [positions.offset(*positions.of(offset)) for offset in range(7)] == list(range(7))


class Cut(str):
    """A text that notes the longest part that was taken of it."""

    __slots__ = ()
    longest: ClassVar[int] = 0

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        part = super().__getitem__(key)
        Cut.longest = max(Cut.longest, len(part))
        return part


def test_a_position_in_a_long_line_is_found_without_counting_all_of_it() -> None:
    positions = Positions(Cut("é" * 100_000), "utf-16")
    Cut.longest = 0
    assert [positions.of(99_999), positions.offset(0, 99_999)] == [(0, 99_999), 99_999]
    assert Cut.longest < 2_000


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_every_property_of_croissant_is_described(version: str) -> None:
    schema = json.loads(resource("schemas", f"croissant/{version}/croissant.schema.json").read_text("utf-8"))
    tables = [
        schema,
        *schema["$defs"].values(),
        *(each for part in schema["$defs"].values() for each in part.get("anyOf", ())),
    ]
    named = [(name, own) for table in tables for name, own in table.get("properties", {}).items()]
    assert [name for name, own in named if "description" not in own and not name.startswith("@")] == []
