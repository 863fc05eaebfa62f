"""A listing has the entries of a list, however few bytes it keeps of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusfmt.io import listing
from corpusfmt.io.listing import Listing
from corpusfmt.io.paths import Entry, EntryKind, Root

#: A name, a size, a kind.
Found = tuple[str, int, EntryKind]

NAMES = st.one_of(
    st.from_regex(r"(en_part_|de-|)(0{0,3}[1-9]?[0-9]{0,2}|999999999|1234567890)(\.txt\.gz|\.jsonl|)", fullmatch=True),
    st.text("a_-.0129é/", max_size=6),
    st.sampled_from(["en_sha256.txt", "part_1_of_2.txt", "x1y2", "٣.txt"]),
)
ENTRIES = st.lists(
    st.tuples(
        NAMES.map(lambda name: name.replace("/", "")), st.integers(0, 9), st.sampled_from(["file"] * 9 + ["other"])
    ),
    max_size=30,
    unique_by=lambda each: each[0],
)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "_MOST_IN_MEMORY", 2)
    monkeypatch.setattr(listing, "_A_RUN", 3)


def entries(found: list[Found]) -> list[Entry]:
    root = Root("/data")
    return [Entry(f"a/{name}", f"/data/a/{name}", kind, size, "", root) for name, size, kind in found]


@given(ENTRIES, ENTRIES)
def test_entries_are_those_of_a_list(found: list[Found], others: list[Found]) -> None:
    expected = entries(found)
    made = Listing(expected)
    assert (list(made), len(made), made[1:4]) == (expected, len(expected), expected[1:4])
    places = {entry.name: place for place, entry in enumerate(expected)}
    for name in (*places, *(name for name, _, _ in others)):
        assert made.place_of(name) == places.get(name)
    assert sum(number for _, number in made.alike()) == len(expected)


@given(ENTRIES)
def test_a_series_has_the_files_that_differ_by_number(found: list[Found]) -> None:
    expected = entries(found)
    made = Listing(expected)
    usual = {
        int(match[1]): place
        for place, entry in enumerate(expected)
        if place >= 2
        and entry.kind == "file"
        and (match := re.fullmatch(r"en_part_([1-9][0-9]{0,8})\.txt\.gz", entry.name))
    }
    series = made.series("en_part_7.txt.gz")
    assert list(series) == sorted(usual)
    assert {number: series.place_of(number) for number in usual} == usual
    assert series.place_of(10**9) is None


def test_numbered_files_take_few_bytes() -> None:
    root = Root("/data")
    made = Listing(
        Entry(f"a/en_part_{each}.txt.gz", f"/data/a/en_part_{each}.txt.gz", "file", 9, "", root) for each in range(999)
    )
    assert len(made.alone) == 2
