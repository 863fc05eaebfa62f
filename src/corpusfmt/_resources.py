"""Internal: Data shipped with the package: `schemas/` and `pipeline/`, top-level folders of a checkout."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

_CHECKOUT = Path(__file__).resolve().parents[2]


def resource(kind: Literal["schemas", "pipeline"], path: str) -> Traversable:
    """Return a shipped file or folder, from the wheel or, in an editable install, the checkout."""
    shipped = files("corpusfmt") / "_data" / kind
    root = shipped if shipped.is_dir() else _CHECKOUT / kind
    return root.joinpath(*path.split("/")) if path else root
