"""Examples of rules, taken from the fixtures: a case that fires, and the most similar case that does not.

`tests/test_fixtures.py` validates each of them and compares all findings; the messages are those pinned in `findings.jsonl`.
"""

from __future__ import annotations

import difflib
import gzip
import json
import sys
import zlib
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FIXTURES = Path(__file__).parents[2] / "tests" / "fixtures"
#: A fixed version that differs in more lines than this explains nothing.
_MOST_CHANGES = 60
_WIDEST = 240


class Case:
    """A fixture: its files, and what validation reports about them."""

    def __init__(self, path: Path, messages: dict[str, list[dict[str, Any]]]) -> None:
        expected = json.loads((path / "expected.json").read_text("utf-8"))
        self.path = path
        self.format, self.version, _, self.name = path.relative_to(FIXTURES).parts
        self.arguments: dict[str, Any] = expected["arguments"]
        self.codes = {finding["rule"] for finding in expected["findings"]}
        self.severities = {finding["rule"]: finding["severity"] for finding in expected["findings"]}
        self.near = set(expected.get("near_misses", ()))
        self.findings = messages.get(path.relative_to(FIXTURES / self.format).as_posix(), [])

    @cached_property
    def texts(self) -> dict[str, list[str] | None]:
        """The lines of each file by path; `None` for a file that is not text, even decompressed."""
        inputs = sorted(self.path.glob("input*"))
        files = [each for root in inputs for each in (sorted(root.rglob("*")) if root.is_dir() else [root])]
        base = self.path if inputs and inputs[0].is_file() else self.path / "input"
        return {each.relative_to(base).as_posix(): lines_of(each) for each in files if each.is_file()}

    @cached_property
    def content(self) -> frozenset[int]:
        """Hashes of the lines, numbered where they are repeated, for fast comparison."""
        found = set()
        for path, lines in self.texts.items():
            seen: dict[str, int] = {}
            for line in lines if lines is not None else ["", self.path.name]:
                seen[line] = seen.get(line, 0) + 1
                found.add(hash((path, seen[line], line)))
        return frozenset(found)


def lines_of(path: Path) -> list[str] | None:
    """Return the lines of a file, decompressed as its name says; `None` if it is not UTF-8 text."""
    data = path.read_bytes()
    try:
        if path.suffix == ".gz":
            data = gzip.decompress(data)
        elif path.suffix in {".zst", ".zstd"}:
            data = zstd.decompress(data)
        text = data.decode()
    except (OSError, EOFError, zlib.error, zstd.ZstdError, UnicodeDecodeError):
        return None
    return None if "\0" in text else text.removesuffix("\n").split("\n")


@cache
def cases() -> list[Case]:
    """Return all cases, those with the fewest findings and the shortest input first."""
    found = []
    for folder in sorted(each for each in FIXTURES.iterdir() if (each / "cases.py").exists()):
        pinned = folder / "findings.jsonl"
        rows = map(json.loads, pinned.read_text("utf-8").split("\n")[:-1]) if pinned.exists() else ()
        messages = {row["case"]: row["findings"] for row in rows}
        found += [Case(path.parent, messages) for path in sorted(folder.glob("*/*/*/expected.json"))]
    return sorted(found, key=lambda case: (len(case.codes), len(case.findings), len(case.content)))


@cache
def example(code: str) -> tuple[Case, Case | None] | None:
    """Return the case that shows a rule best, if any, with its fixed version: few other findings, and a short input."""
    firing = [case for case in cases() if code in case.codes][:12]
    pairs = ((case, _fixed(code, case)) for case in firing)
    return next((pair for pair in pairs if pair[1]), (firing[0], None) if firing else None)


def _fixed(code: str, case: Case) -> Case | None:
    """Return the most similar case in which a rule does not fire, and no other rule that does not fire in both."""

    def distance(other: Case) -> int:
        files = len(other.texts.keys() ^ case.texts.keys())
        return len(other.content ^ case.content) + 4 * files + 4 * (other.arguments != case.arguments)

    others = [
        each
        for each in cases()
        if (each.format, each.version) == (case.format, case.version)
        and each.codes <= case.codes - {code}
        and each.content != case.content
    ]
    nearest = min(others, key=distance, default=None)
    return nearest if nearest and distance(nearest) <= _MOST_CHANGES else None


def difference(old: Case, new: Case) -> Iterator[str]:
    """Yield a unified diff of two cases: decompressed, with long lines shortened."""
    for path in sorted(old.texts.keys() | new.texts.keys()):
        before, after = old.texts.get(path, []), new.texts.get(path, [])
        if before is None or after is None:
            if before != after or (old.path / "input" / path).read_bytes() != (new.path / "input" / path).read_bytes():
                yield f"# {path}: binary files differ"
        elif before != after:
            yield from map(shortened, difflib.unified_diff(before, after, path, path, n=2, lineterm=""))


def shortened(line: str) -> str:
    """Return a line of at most 240 characters, its control characters escaped."""
    plain = "".join(each if each.isprintable() or each == "\t" else repr(each)[1:-1] for each in line)
    return plain if len(plain) <= _WIDEST else plain[: _WIDEST - 1] + "…"
