"""The places of a description's values in its file."""

from __future__ import annotations

import pytest

from corpusfmt.formats.croissant.model.jsontree import Places
from corpusfmt.model import Location

TEXT = '{\n"a/b~c": ["é 𝄞", {"\\u0064": 1}],\n"e": 2, "e": null\n}\n'


def place(text: str, offset: int, pointer: str | None) -> Location:
    before = text[:offset]
    column = offset - before.rfind("\n")
    return Location("a.json", before.count("\n") + 1, len(before.encode()), column, pointer)


@pytest.mark.parametrize("before", ["", "\n", "\r\n\n ", "<!-- é -->\n<script>", "é" * 10_000 + "\n"])
@pytest.mark.parametrize(
    ("pointer", "token"),
    [
        ("", "{"),
        ("/a~1b~0c", "["),
        ("/a~1b~0c/0", '"é 𝄞"'),
        ("/a~1b~0c/1", '{"\\u'),
        ("/a~1b~0c/1/d", "1}"),
        ("/e", "null"),
        ("/a~1b~0c/7/x", "["),
        ("/nowhere", "{"),
    ],
)
def test_places_by_pointer(before: str, pointer: str, token: str) -> None:
    page = f"{before}{TEXT}</script>"
    places = Places("a.json", page, start=len(before), end=len(before) + len(TEXT))
    assert places.of(pointer) == place(page, len(before) + TEXT.index(token), pointer)


@pytest.mark.parametrize("before", ["", "\n", "é\n\n"])
def test_places_by_offset(before: str) -> None:
    page = before + TEXT
    places = Places("a.json", page, start=len(before))
    for offset in (len(TEXT), 0, 3, TEXT.index("𝄞") + 1, len(TEXT) - 1):
        assert places.at_offset(offset) == place(page, len(before) + offset, None)


def test_a_name_that_stands_twice() -> None:
    ((first, again),) = Places("a.json", TEXT).repeated()
    assert (first.pointer, again.pointer) == ("/e", "/e")
    assert (first.start, again.start) == (TEXT.index('"e"'), TEXT.rindex('"e"'))
