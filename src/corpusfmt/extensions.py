"""Internal: Formats and reports of other distributions, by their entry points. For the modules that look them up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct

from corpusfmt.model import Incomplete
from corpusfmt.wording import clipped_message

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class Extensions(Struct, Generic[T], frozen=True):
    """What was loaded, by the name of its entry point, and of what was not a sentence that says why."""

    loaded: Mapping[str, T]
    refused: tuple[str, ...]

    def explained(self) -> str:
        """Return what a message that lacks a name adds: what was not loaded, and why."""
        return "".join(f"; {each}" for each in self.refused)


def extensions(group: str, fault_of: Callable[[str, Any], str | None]) -> Extensions[Any]:
    """Load the entry points of a group.

    `fault_of` returns what is wrong with what an entry point of a name gave. One with a fault, or that raises, is refused;
    the others are loaded. Raises `Incomplete` where a bound of the run ends it.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415 - most commands look for none

    loaded: dict[str, Any] = {}
    refused: list[str] = []
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, _owner(point))):
        try:
            found = point.load()
            fault = "the name is taken" if point.name in loaded else fault_of(point.name, found)
        except Incomplete:
            raise
        except (Exception, SystemExit) as error:
            fault = f"loading it failed: {type(error).__name__}: {error}"
        if fault is None:
            loaded[point.name] = found
        else:
            refused.append(f"`{point.name}` of {_owner(point)} is not used: {clipped_message(fault)}")
    return Extensions(loaded, tuple(refused))


def _owner(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown distribution"
