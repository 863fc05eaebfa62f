"""Internal: Formats and reports from entry points of other distributions."""

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
    """Loaded objects by entry point name, and a sentence for each refused entry point."""

    loaded: Mapping[str, T]
    refused: tuple[str, ...]

    def explained(self) -> str:
        """Return the refusals as the end of a message about an unknown name."""
        return "".join(f"; {each}" for each in self.refused)


def extensions(group: str, fault_of: Callable[[str, Any], str | None]) -> Extensions[Any]:
    """Load the entry points of a group.

    `fault_of` returns what is wrong with a name and its loaded object, or None. An entry point that has a fault or raises
    is refused. Raises `Incomplete` if a limit of the run is reached.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415 - most commands do not need it

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
