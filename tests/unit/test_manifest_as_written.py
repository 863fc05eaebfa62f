"""A manifest that is exactly as it was written has no defects of form, and is read at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusfmt.io.paths import entry_of
from corpusfmt.manifest import read
from corpusfmt.manifest.model import ListedFile, pieces_of
from corpusfmt.manifest.rules import RULES
from corpusfmt.model import Finding, Json
from corpusfmt.rules import Grading, Judge

Found = tuple[Json, list[tuple[str, ListedFile]], frozenset[str]] | None

NAMES = st.one_of(
    st.sampled_from(["../a", "/a", "a//b", ".a", "MANIFEST.json", 'a"', "\\", "\U0001f600", "é{", "a,b}", "files"]),
    st.text("abc/", min_size=1, max_size=9),
)
FILES = st.dictionaries(
    NAMES,
    st.builds(ListedFile, st.integers(0, 99), st.just("0" * 64), documents=st.none() | st.integers(0, 9)),
    max_size=40,
)
MADE_OF = st.sampled_from([{}, {"tool": {}}, {"inputs": [{"name": "x" * 200}]}, {"tool": {"files": {"a": {}}}}])
PARTS = [
    b"", b"}", b"{", b",", b" ", b"\n", b"\n    },\n", b"\n    }\n  }\n}\n", b'\n  "files": {\n', b'},\n"x": {"y": {', b'"size": 1e999,',
    b'"size": NaN,', b'"a": {"size": 1},', b'"\\ud800": {},', b"\xff", b'"schema": "corpusfmt-manifest/2",', b"[" * 126 + b"]" * 126, b"null",
]  # fmt: skip


def found_in(path: Path) -> tuple[Found, list[Finding]]:
    judge = Judge(RULES, Grading(), version="", path=".", cap=99)
    found = read.read_manifest(entry_of(str(path)), judge)
    if found is None:
        return None, judge.tally.findings
    return (found.whole, list(found.files.items()), found.unusable), judge.tally.findings


@given(
    FILES,
    MADE_OF,
    st.lists(st.tuples(st.integers(0), st.integers(0, 9), st.sampled_from(PARTS)), max_size=2),
    st.booleans(),
)
def test_a_manifest_that_is_as_written_is_read_at_once(
    tmp_path_factory: pytest.TempPathFactory,
    files: dict[str, ListedFile],
    made_of: Json,
    changes: list[tuple[int, int, bytes]],
    is_sorted: bool,
) -> None:
    listed = dict(sorted(files.items())) if is_sorted else files
    data = b"".join(pieces_of(listed, made_of, "dolma", "1"))
    for place, removed, added in changes:
        # Most of them at the begin of a line.
        lines = data.split(b"\n")
        at = len(b"\n".join(lines[: place % len(lines)])) + (place // len(lines)) % 2 * 9
        data = data[:at] + added + data[at + removed :]
    path = tmp_path_factory.getbasetemp() / "m.json"
    path.write_bytes(data)
    found = found_in(path)
    assert changes or read._as_written(data) is not None
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(read, "_as_written", lambda _: None)
        assert found_in(path) == found
