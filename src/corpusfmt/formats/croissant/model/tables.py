"""Internal: The form of the specification's tables: class, property, range, cardinality, requirement, by version."""

from __future__ import annotations

from functools import cache
from typing import Any
from typing import Literal as OneOf

from msgspec import Struct
from msgspec.structs import replace

#: The range of a value: a schema.org data type, a class, JSON, or a reference to a node of the document.
Kind = str

Requirement = OneOf["required", "recommended", "optional"]


class Property(Struct, frozen=True):
    """One row of a table, with a column for each version of Croissant.

    `missing` and `mistyped` are the rules that report an absent value and a value outside `kinds`. Published descriptions,
    including the specification's, treat a `loose` row as a recommendation. The row applies in `versions`; `later` has its
    changes in 1.1, and `successor` its replacement if 1.1 removed it, in the words of a hint. `form` names the form of its texts
    in `FORMS`.
    """

    name: str
    kinds: tuple[Kind, ...]
    many: bool = False
    requirement: Requirement = "optional"
    missing: str = ""
    mistyped: str = "CRO214"
    loose: bool = False
    versions: tuple[str, ...] = ("1.0", "1.1")
    later: dict[str, Any] = {}
    successor: str = ""
    form: str = ""

    def in_version(self, version: str) -> Property:
        """Return the row in a version."""
        return replace(self, **self.later) if version == "1.1" and self.later else self


class Shape(Struct, frozen=True):
    """One class of a specification: its properties, and the section with its table."""

    name: str
    section: str
    properties: tuple[Property, ...]

    def __hash__(self) -> int:
        return hash(self.name)

    @cache  # noqa: B019 - the shapes are a few constants
    def in_version(self, version: str) -> tuple[Property, ...]:
        """Return the rows of a version."""
        return tuple(row.in_version(version) for row in self.properties if version in row.versions)
