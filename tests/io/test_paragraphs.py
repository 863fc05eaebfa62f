"""Where loaders of text by paragraph split documents; the rows were read with `datasets` 5.2.0."""

from __future__ import annotations

import pytest

from corpusfmt.io.lines import first_split, split_at

SPLIT = [
    (b"a\n\rb\n\n", (2, 2)),  # rows `a`, `b`
    (b"a\r\r\nb\n\n", (1, 0)),
    (b"x\n\na\r\rb\n\n", (3, 3)),
    (b"x\n\na\r\n\r\nb\n\n", (4, 6)),
    (b"x\n\n\r\r\n\ny\n\n", (3, 3)),  # rows `x`, `y`
    (b"a\r\r\n\n", (1, 0)),  # rows `a` and a line feed
]
WHOLE = [b"a\rb\r\nc\r\n\nd\n\n", b"a\n\n\rb\n\n", b"a\r\r\n\nb\n\n", b"\r\ra\n\n", b"a\nb\n\n\nc\n\n", b"", b"\n\n"]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize(("text", "place"), [*SPLIT, *((text, None) for text in WHOLE)])
def test_the_first_split_is_found_wherever_chunks_end(text: bytes, place: tuple[int, int] | None, size: int) -> None:
    chunks = (text[start : start + size] for start in range(0, len(text), size))
    assert first_split(chunks) == place


@pytest.mark.parametrize(
    ("document", "place"), [(b"a\n\rb", 2), (b"a\r\rb", 2), (b"\r\n\r", 0), (b"a\r\r", 2), (b"\r\ra\rb", -1), (b"", -1)]
)
def test_a_document(document: bytes, place: int) -> None:
    assert split_at(document) == place
