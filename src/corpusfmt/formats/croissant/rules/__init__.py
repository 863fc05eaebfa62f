"""Internal: The Croissant rules that check a description, one module for each group of codes."""

from corpusfmt.formats.croissant.rules import (
    data,
    dataset,
    distribution,
    document,
    extensions,
    profiles,
    records,
)

__all__ = ["data", "dataset", "distribution", "document", "extensions", "profiles", "records"]
