"""Values that hit boundaries: drawn at random, LF, limits and last bytes hardly ever come up."""

from __future__ import annotations

import os

from hypothesis import settings
from hypothesis import strategies as st
from support import DEEP

#: `make properties` tries several times as many examples, and others every time.
MORE = int(os.environ.get("CORPUSFMT_PROPERTIES", "0"))


def examples(number: int) -> settings:
    """Return the settings of a test that needs so many examples, of which `make test` tries a third."""
    return settings(max_examples=number * (MORE or 1) if MORE or DEEP else number // 3)


# What ends a line, what looks as if it did, what takes several bytes, and what is cut in the middle.
_PIECES = (
    b"a",
    b"bb",
    b"\n",
    b"\n\n",
    b"\r",
    b"\r\n",
    b"\0",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"\x0b",
    b"\xe2\x82",
    b"\xff",
)


def lines_of(*lengths: int) -> st.SearchStrategy[bytes]:
    """Return bytes made of lines, many of which have one of these lengths, with and without an LF at the end."""
    near = st.sampled_from(lengths).flatmap(lambda length: st.sampled_from((length - 1, length, length + 1)))
    line = near.map(lambda length: b"x" * max(length, 0)) | st.lists(st.sampled_from(_PIECES), max_size=4).map(b"".join)
    return st.lists(line, max_size=8).map(b"\n".join)


def texts() -> st.SearchStrategy[bytes]:
    """Return bytes in which lines end often, in every way that there is and in those that there only seem to be."""
    return st.lists(st.sampled_from(_PIECES), max_size=40).map(b"".join)


def damaged(*whole: bytes) -> st.SearchStrategy[bytes]:
    """Return one of these with a byte changed, bytes lost or the end cut off, more often near where it begins or ends."""
    return st.sampled_from(whole).flatmap(_damaged)


def _damaged(data: bytes) -> st.SearchStrategy[bytes]:
    last = len(data) - 1
    places = st.integers(0, min(32, last)) | st.integers(max(0, last - 32), last) | st.integers(0, last)
    # What stands there instead, and of how many bytes.
    instead = st.tuples(st.binary(min_size=1, max_size=1), st.just(1)) | st.tuples(
        st.just(b""), st.integers(1, 16) | st.just(len(data))
    )
    return st.builds(lambda place, new: data[:place] + new[0] + data[place + new[1] :], places, instead)
