"""A kind of damage: one small change to valid data, and the rules that report it or the reason why none can."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

Tree = dict[str, bytes]
GROUPS = (
    "OSCAR 1.0",
    "OSCAR 1.1",
    "OSCAR 22.01 and 23.01",
    "Dolma",
    "JSON Lines",
    "Parquet",
    "Croissant",
    "Croissant data",
)


@dataclass(frozen=True)
class Kind:
    """One kind of damage. `make` returns a damaged tree; `undetectable` says why no reader can tell."""

    group: str
    name: str
    make: Callable[[random.Random], Tree]
    rules: frozenset[str] = frozenset()
    undetectable: str = ""


KINDS: list[Kind] = []
#: Changes that leave data valid: nothing may be said of them.
HARMLESS: list[Kind] = []
