"""Internal: Values and lists of nodes in messages."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from corpusfmt.formats.croissant.model.nodes import Literal, Node, Value, local_name
from corpusfmt.wording import clipped

if TYPE_CHECKING:
    from corpusfmt.formats.croissant.model.graph import View


def clip(value: Any) -> str:
    """Return a value as JSON (strings without quotes), shortened in the middle."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return clipped(" ".join(text.split()))


def typed(value: Any) -> str:
    """Return a value of the wrong type for a message: text that looks like another type is in quotes."""
    text = clip(value)
    return f'"{text}"' if isinstance(value, str) and re.fullmatch(r"|true|false|null|-?\d+(\.\d+)?", text) else text


def shown(value: Value) -> str:
    """Return an unexpected value for a message: the value of a literal, or the class of a node."""
    if isinstance(value, Literal):
        return f"`{typed(value.value)}`"
    return article(kind_of(value))


def kind_of(node: Node) -> str:
    """Return the types of a node for a message."""
    if node.types:
        return " and ".join(local_name(kind) for kind in node.types)
    return "reference" if node.is_reference else "node without a type"


def article(name: str) -> str:
    """Return a name with its indefinite article."""
    return f"{'an' if name[:1] in 'AEIOaeio' else 'a'} {name}"


def around(ring: Sequence[View]) -> str:
    """Return a cycle of nodes as `a → b → a`, shortened if it is long."""
    labels = [view.label for view in ring]
    if len(labels) > 6:
        labels[3:-2] = ["…"]
    return " → ".join([*labels, labels[0]])


def one_of(names: Sequence[str]) -> str:
    """Return names as "a, b or c"."""
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
