"""Internal: The types in which Parquet and JSON store values, against those that fields declare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from corpusfmt.formats.croissant.data.batches import Batch
from corpusfmt.formats.croissant.data.findings import DATA_TYPE_DIFFERS
from corpusfmt.formats.croissant.data.leaves import Leaf
from corpusfmt.formats.croissant.data.tables import Accepted
from corpusfmt.formats.croissant.model.casts import CASTS, DATES, NUMBERS
from corpusfmt.model import Fault, Problem

_FRACTIONS = frozenset({"sc:Float", "sc:Number", "cr:Float16", "cr:Float32", "cr:Float64"})
_WHOLE = frozenset(name for name in CASTS if name.startswith(("cr:Int", "cr:UInt")))
# The type to declare for each kind of stored values, and all types that these have as they are. Whether a whole number is
# in the range of its type is checked value by value.
_DECLARED = {
    "number": ("sc:Number", _FRACTIONS | _WHOLE | NUMBERS),
    "integer": ("sc:Integer", _FRACTIONS | _WHOLE | NUMBERS),
    "fraction": ("sc:Float", _FRACTIONS),
    "boolean": ("sc:Boolean", frozenset({"sc:Boolean"})),
    "text": ("sc:Text", frozenset({"sc:Text", "sc:String", "sc:URL", "sc:Time", "cr:BoundingBox"}) | DATES),
    "time": ("sc:DateTime", DATES),
}
_OF_JSON = {int: "number", float: "number", bool: "boolean", str: "text"}


class StoredTypes:
    """Compares the stored with the declared types of the columns of one source: one fault for each field."""

    def __init__(self, leaves: Iterable[Leaf]) -> None:
        self._leaves = [leaf for leaf in leaves if _is_as_stored(leaf)]
        self._differs: dict[int, Fault] = {}
        #: By field, the kinds of its JSON values, and the first file that has them.
        self._of_json: dict[int, tuple[set[str], str]] = {}
        self._rejected: set[int] = set()

    def see(self, part: Accepted | Batch) -> None:
        """Take the types of a block of rows."""
        if part.stored is None:
            return
        for leaf in self._leaves:
            if leaf.take in part.stored:
                kind, name = _of_arrow(part.stored[leaf.take], is_list=leaf.repeated)
                if id(leaf) not in self._differs and _differ(leaf, kind):
                    self._differs[id(leaf)] = _fault(leaf, kind, f"`{name}`", part.path)
            elif isinstance(part, Batch):
                kinds, _ = self._of_json.setdefault(id(leaf), (set(), part.path))
                kinds |= _kinds_in(part.columns[leaf.take], is_list=leaf.repeated)

    def reject(self, leaves: Iterable[int]) -> None:
        """Leave out fields with values that do not fit their type: those are reported themselves."""
        self._rejected.update(leaves)

    def faults(self) -> Iterator[Fault]:
        """Yield the faults after all rows; JSON values of one field must all be of one kind."""
        for leaf in self._leaves:
            kinds, path = self._of_json.get(id(leaf), (set(), ""))
            if id(leaf) in self._rejected:
                continue
            if id(leaf) in self._differs:
                yield self._differs[id(leaf)]
            elif len(kinds) == 1 and _differ(leaf, kind := next(iter(kinds))):
                yield _fault(leaf, kind, f"JSON {kind if kind == 'text' else kind + 's'}", path)


def _is_as_stored(leaf: Leaf) -> bool:
    """Return whether a field has the values of a file, without a transformation or format that makes others of them."""
    return (
        leaf.take.kind in ("column", "jsonPath", "jsonPaths") and not leaf.steps and leaf.cast is CASTS.get(leaf.type)
    )


def _differ(leaf: Leaf, kind: str) -> bool:
    return kind in _DECLARED and _DECLARED[kind][1].isdisjoint(leaf.field.data_types)


def _fault(leaf: Leaf, kind: str, stored: str, path: str) -> Fault:
    message = f"{leaf.field.title}: stored as {stored} in `{path}`, declared as `{leaf.type}`"
    hint = f"declare `{_DECLARED[kind][0]}`, or store the values as declared"
    return Fault(DATA_TYPE_DIFFERS, Problem(message, leaf.field.place("cr:dataType"), hint))


def _of_arrow(stored: Any, *, is_list: bool) -> tuple[str, str]:
    """Return the kind and the name of an Arrow type, or of the items of its lists; no kind if any type may be declared."""
    from pyarrow import types  # noqa: PLC0415 - large, and an extra

    while is_list and (types.is_list(stored) or types.is_large_list(stored) or types.is_fixed_size_list(stored)):
        stored = stored.value_type
    if types.is_dictionary(stored):
        stored = stored.value_type
    tests = {
        "integer": types.is_integer(stored),
        "fraction": types.is_floating(stored),
        "boolean": types.is_boolean(stored),
        "text": types.is_string(stored) or types.is_large_string(stored),
        "time": types.is_timestamp(stored) or types.is_date(stored),
    }
    return next((kind for kind, holds in tests.items() if holds), ""), str(stored)


def _kinds_in(values: Sequence[Any], *, is_list: bool) -> set[str]:
    """Return the kinds of JSON values, or of the items of lists; null has none, and what may be anything has "any"."""
    types = set(map(type, values)) - {type(None)}
    if is_list and list in types:
        items = (item for value in values if isinstance(value, list) for item in value)
        return {_OF_JSON.get(each, "any") for each in types - {list}} | _kinds_in(list(items), is_list=True)
    return {_OF_JSON.get(each, "any") for each in types}
