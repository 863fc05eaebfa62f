"""Internal: The features of a table for the card of a release, so that loaders need not infer its types.

A column that a loader would refuse or change is declared as JSON, which keeps its values.
"""

from __future__ import annotations

from corpusfmt.io.loading import (
    BOOL,
    FLOAT,
    FRACTION,
    INEXACT,
    INT,
    LIST,
    LONG,
    OBJECT,
    QUOTING,
    TEXT,
    TIME,
    WIDE,
    Seen,
)
from corpusfmt.model import Json

_JSON: Json = {"dtype": "json"}
_PLAIN = {
    0: "string",
    BOOL: "bool",
    INT: "int64",
    INT | WIDE: "int64",
    INT | WIDE | INEXACT: "int64",
    FLOAT: "float64",
    INT | FLOAT: "float64",
    TIME: "timestamp[s]",
    TEXT: "string",
}
# What makes no difference to the type.
_OF_VALUES = FRACTION | LONG | QUOTING
# These columns are texts, even if all of them are times.
_TEXTS = frozenset({"id", "text", "source"})


def features_of(columns: Seen) -> list[Json]:
    """Return the features of all columns, as in the `dataset_info` of a card."""
    return [{"name": name, **_feature(name, seen)} for name, seen in columns.members.items()]


def _feature(name: str, seen: Seen) -> Json:
    if seen.settled & ~_OF_VALUES == TIME and name in _TEXTS:
        return _JSON
    return _of(seen) or _JSON


def _of(seen: Seen) -> Json | None:
    """Return the feature of a column whose values have one type; None if no type keeps them all."""
    kinds = seen.settled & ~_OF_VALUES
    if kinds in _PLAIN:
        return {"dtype": _PLAIN[kinds]}
    if kinds == LIST and seen.items is not None and seen.items.settled:
        inner = _of(seen.items)
        return inner and {"list": inner.get("dtype", inner)}
    if kinds == OBJECT and seen.members:
        members = {name: _of(member) for name, member in seen.members.items()}
        return (
            {"struct": [{"name": name, **of} for name, of in members.items() if of]} if all(members.values()) else None
        )
    return None
