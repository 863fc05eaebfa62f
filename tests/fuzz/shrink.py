"""Look for less of a failing case that fails for the same cause."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from fuzz import trees
from fuzz.cases import Case, Failure, run_case
from fuzz.trees import Tree

_MOST_RUNS = 600


def shrunk(case: Case, failure: Failure, base: Path) -> Case:
    """Return the smallest case found that still fails as the given one."""
    runs = 0

    def fails(tree: Tree) -> bool:
        nonlocal runs
        runs += 1
        if runs > _MOST_RUNS:
            return False
        outcome = run_case(replace(case, tree=tree), base)
        trees.remove(base)
        return any((each.kind, each.cause) == (failure.kind, failure.cause) for each in outcome.failures)

    tree = dict(case.tree)
    for path in list(tree):
        if len(tree) > 1 and fails(less := {name: data for name, data in tree.items() if name != path}):
            tree = less
    for path, data in list(tree.items()):
        if isinstance(data, bytes):
            rest = dict(tree)
            tree[path] = _shorter(data, partial(_with_file, fails, rest, path))
    return replace(case, tree=tree)


def _with_file(fails: Callable[[Tree], bool], rest: Tree, path: str, data: bytes) -> bool:
    return fails(rest | {path: data})


def _shorter(data: bytes, fails: Callable[[bytes], bool]) -> bytes:
    try:
        inner = gzip.decompress(data)
    except Exception:
        return _cut(data, fails)
    if not fails(gzip.compress(inner, mtime=0)):
        return _cut(data, fails)
    return gzip.compress(_cut(inner, lambda new: fails(gzip.compress(new, mtime=0))), mtime=0)


def _cut(data: bytes, fails: Callable[[bytes], bool]) -> bytes:
    size = len(data) // 2
    while size:
        for piece in _without(data, size):
            if fails(piece):
                data = piece
                break
        else:
            size //= 2
    return data


def _without(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[:start] + data[start + size :]
