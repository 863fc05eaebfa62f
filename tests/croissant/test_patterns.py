"""Regular expressions of transformations: what their helper process answers, and the bounds that it is held to."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import tracemalloc

import pytest

from corpusfmt.formats.croissant.data import _matching, patterns
from corpusfmt.formats.croissant.data.patterns import PatternFault, Patterns

TOO_LONG = {"error": "the replaced texts are too long"}


def answer(pattern: str, replacement: str | None, texts: list[str], most: int) -> object:
    return json.loads(_matching._reply(json.dumps([pattern, replacement, texts, most]).encode()))


@pytest.mark.parametrize(
    ("pattern", "replacement", "texts", "becomes"),
    [
        ("a", "bb", ["aaa", "ca"], ["bbbbbb", "cbb"]),
        ("", "bbb", ["xx"], ["bbbxbbbxbbb"]),
        ("(a)", "\\1b", ["aaa", "ca"], ["ababab", "cab"]),
        ("(?=(a*))", "\\1", ["aaa"], ["aaaaaaaaa"]),
        ("a", "", ["aab"], ["b"]),
    ],
)
def test_replaced_texts_are_bounded(pattern: str, replacement: str, texts: list[str], becomes: list[str]) -> None:
    size = sum(map(len, becomes))
    assert answer(pattern, replacement, texts, size) == {"values": becomes}
    for most in range(size):
        assert answer(pattern, replacement, texts, most) == TOO_LONG


def test_a_text_that_becomes_too_long_is_not_made() -> None:
    tracemalloc.start()
    try:
        assert answer("(?=(a*))", "\\1", ["a" * 3000], 10_000) == TOO_LONG
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_an_answer_that_is_too_long_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_MOST_REPLY_BYTES", 30)
    with Patterns(60) as running:
        with pytest.raises(PatternFault, match=r"^the replaced texts are too long$"):
            running.first_groups("a+", ["a" * 100])
        assert running.first_groups("a+", ["aab"]) == ["aa"]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is not bounded elsewhere")
def test_a_pattern_that_takes_much_memory() -> None:
    with Patterns(60) as running, pytest.raises(PatternFault, match=r"^the pattern needs too much memory$"):
        running.first_groups("(?:a|(b))*", ["a" * 5_000_000])


def test_no_timer_outlives_an_answer() -> None:
    with Patterns(60) as running:
        running.first_groups("a", ["a"])
        timers = [each for each in threading.enumerate() if isinstance(each, threading.Timer)]
        assert all(each.finished.is_set() for each in timers)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts the memory that is asked for")
def test_the_helper_answers_where_memory_ends() -> None:
    asked = json.dumps(["a", "x" * 1_000_000, ["a" * 600], 1 << 40]).encode()
    code = f"from {_matching.__name__} import main; main()"
    done = subprocess.run([sys.executable, "-c", code], input=asked + b"\n", capture_output=True, check=True)
    assert json.loads(done.stdout) == {"error": "the pattern needs too much memory"}
