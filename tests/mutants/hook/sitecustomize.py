"""Serve one module of corpusfmt from another file, in every process with `CORPUSFMT_MUTANT` and this folder on its path."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from types import ModuleType


class _Finder(MetaPathFinder):
    def __init__(self, name: str, path: str) -> None:
        self._name = name
        self._path = path

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        # Of a package, its other modules are where they always were.
        original = PathFinder.find_spec(fullname, path)
        below = original.submodule_search_locations if original else None
        return spec_from_file_location(fullname, self._path, submodule_search_locations=below)


def install() -> None:
    """Read `CORPUSFMT_MUTANT`, which is like `corpusfmt.model=/path/of/mutant.py`."""
    name, _, path = os.environ.get("CORPUSFMT_MUTANT", "").partition("=")
    if name:
        sys.meta_path.insert(0, _Finder(name, path))


install()
